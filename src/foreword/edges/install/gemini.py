"""Gemini CLI: hooks and the memory tools in settings.json, which may hold comments.

Timeouts are in milliseconds, and a hook may print nothing but JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foreword.edges.install.targets import JsonFile

if TYPE_CHECKING:
    from foreword.edges.install.commands import Place
    from foreword.edges.install.targets import Target

NAME = "gemini"
SECONDS = 0.001
_TIMEOUTS = {"SessionStart": 10_000, "BeforeAgent": 5_000, "AfterTool": 5_000, "SessionEnd": 3_000}


def targets(place: Place, *, mcp: bool) -> list[Target]:
    """The settings, with the hooks and the MCP server."""
    wanted: dict[tuple[str, ...], Any] = {}
    for event, milliseconds in _TIMEOUTS.items():
        command = place.hook(NAME, event)
        hook = {"name": "foreword", "type": "command", "command": command, "timeout": milliseconds}
        wanted["hooks", event] = {"hooks": [hook]}
    member = ("mcpServers", "foreword")
    if mcp:
        command, *arguments = place.foreword("mcp")
        wanted[member] = {"command": command, "args": arguments, "env": place.variables}
    folder = place.folder("", ".gemini")
    return [JsonFile(folder / "settings.json", wanted, (member,), comments=True)]


def advice(place: Place) -> list[str]:  # noqa: ARG001
    """What is left to the user."""
    return ["restart Gemini CLI; /hooks panel shows whether hooks are switched on"]
