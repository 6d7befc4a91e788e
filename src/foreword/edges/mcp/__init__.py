"""The Model Context Protocol: `server` gives any agent that speaks it the tools to reach its memory."""

from __future__ import annotations

from foreword.edges.mcp.protocol import server

__all__ = ["server"]
