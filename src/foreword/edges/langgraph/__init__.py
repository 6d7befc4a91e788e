"""Foreword in a LangGraph graph: its long-term memory, context for its agents, and nodes that fill gaps."""

from __future__ import annotations

from foreword.errors import MissingExtra

try:
    from foreword.edges.langgraph.gap import (
        GapState,
        gap_node,
        get_outcome,
        injected_text,
        merge_contexts,
        merge_outcomes,
    )
    from foreword.edges.langgraph.gap_middleware import GapMiddleware
    from foreword.edges.langgraph.handoff import handoff_node, handoff_tool
    from foreword.edges.langgraph.history import ForewordChatHistory
    from foreword.edges.langgraph.middleware import ContextMiddleware
    from foreword.edges.langgraph.store import ForewordStore
except ModuleNotFoundError as error:
    raise MissingExtra("langgraph", "langgraph") from error

__all__ = [
    "ContextMiddleware",
    "ForewordChatHistory",
    "ForewordStore",
    "GapMiddleware",
    "GapState",
    "gap_node",
    "get_outcome",
    "handoff_node",
    "handoff_tool",
    "injected_text",
    "merge_contexts",
    "merge_outcomes",
]
