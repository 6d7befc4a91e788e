"""Foreword in a LangGraph graph: its long-term memory, context for its agents, and a node that fills gaps."""

from __future__ import annotations

from foreword.edges.langgraph_store import ForewordStore

__all__ = ["ForewordStore"]
