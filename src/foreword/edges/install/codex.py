"""Codex: hooks in hooks.json, of the same shape as Claude Code's; the memory tools in config.toml.

Timeouts are in seconds. Codex skips hooks that its user has not trusted, and says nothing about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.edges.install.claude_code import hook_groups
from foreword.edges.install.targets import JsonFile, TomlFile

if TYPE_CHECKING:
    from foreword.edges.install.commands import Place
    from foreword.edges.install.targets import Target

NAME = "codex"
SECONDS = 1.0
_TABLE = ("mcp_servers", "foreword")
_UNKNOWN = ("PostToolUseFailure",)
"""Events of Claude Code that Codex does not have: there a tool that failed is a tool that was used."""


def targets(place: Place, *, mcp: bool) -> list[Target]:
    """The hooks, and the settings that name MCP servers."""
    folder = place.folder("CODEX_HOME", ".codex")
    command, *arguments = place.foreword("mcp")
    table = {"command": command, "args": arguments, "env": place.variables}
    return [
        JsonFile(folder / "hooks.json", hook_groups(place, NAME, _UNKNOWN)),
        TomlFile(folder / "config.toml", {_TABLE: table} if mcp else {}, _TABLE),
    ]


def advice(place: Place) -> list[str]:
    """What is left to the user."""
    lines = ["start codex, open /hooks, review Foreword's hooks and trust them: until then Codex skips them"]
    if place.project is not None:
        lines.append("Codex reads a project's .codex folder only when the project itself is trusted")
    return lines
