"""Foreword in a LangGraph graph: its long-term memory, context for its agents, and a node that fills gaps."""

from __future__ import annotations

from foreword.errors import MissingExtra

try:
    from foreword.edges.langgraph.gap import gap_node, injected_text
    from foreword.edges.langgraph.history import ForewordChatHistory
    from foreword.edges.langgraph.middleware import ContextMiddleware
    from foreword.edges.langgraph.store import ForewordStore
except ModuleNotFoundError as error:
    raise MissingExtra("langgraph", "langgraph") from error

__all__ = ["ContextMiddleware", "ForewordChatHistory", "ForewordStore", "gap_node", "injected_text"]
