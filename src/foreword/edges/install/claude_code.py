"""Claude Code: hooks in settings.json, the memory tools beside them.

A project's hooks go to `settings.local.json`, which is personal: the commands hold paths of this machine.
Timeouts are in seconds.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.edges.install import json_text
from foreword.edges.install.files import Written, contents
from foreword.edges.install.targets import JsonFile

if TYPE_CHECKING:
    from foreword.edges.install.commands import Place
    from foreword.edges.install.targets import Target

NAME = "claude-code"
SECONDS = 1.0
_SOURCES = "startup|resume|clear|compact"
_TIMEOUTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 5,
    "PreToolUse": 5,
    "PostToolUse": 5,
    "PostToolUseFailure": 5,
    "Stop": 5,
    "PreCompact": 5,
    "SessionEnd": 3,
}


def targets(place: Place, *, mcp: bool) -> list[Target]:
    """The settings with the hooks, and the file that names MCP servers."""
    folder = place.folder("CLAUDE_CONFIG_DIR", ".claude")
    name = "settings.json" if place.project is None else "settings.local.json"
    member = ("mcpServers", "foreword")
    return [
        JsonFile(folder / name, hook_groups(place)),
        JsonFile(_servers(place), {member: server(place)} if mcp else {}, (member,)),
    ]


def hook_groups(place: Place, agent: str = NAME, without: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """A group of one hook for each event, but for those that the agent does not have."""
    groups: dict[tuple[str, ...], Any] = {}
    for event, seconds in _TIMEOUTS.items():
        if event in without:
            continue
        hook = {"type": "command", "command": place.hook(agent, event), "timeout": seconds}
        group: dict[str, Any] = {"matcher": _SOURCES} if event == "SessionStart" else {}
        groups["hooks", event] = {**group, "hooks": [hook]}
    return groups


def server(place: Place) -> dict[str, Any]:
    """The MCP server, as Claude Code names it."""
    command, *arguments = place.foreword("mcp")
    return {"type": "stdio", "command": command, "args": arguments, "env": place.variables}


def plugin_folder(place: Place) -> Path | None:
    """The folder of the plugin, if Claude Code runs Foreword as one: its user's settings say so."""
    user = replace(place, project=None).folder("CLAUDE_CONFIG_DIR", ".claude")
    said = json_text.value(Written.read(contents(user / "settings.json") or b"").text)
    if json_text.at(said, ("enabledPlugins", "foreword@foreword")) is not True:
        return None
    folder = json_text.at(said, ("extraKnownMarketplaces", "foreword", "source", "path"))
    return Path(folder if isinstance(folder, str) else "")


def advice(place: Place) -> list[str]:
    """What is left to the user."""
    lines = ["restart running Claude Code sessions: hooks are read when a session starts"]
    if place.project is not None:
        lines.append("Claude Code will ask once whether this project's MCP server may be used")
    return lines


def _servers(place: Place) -> Path:
    if place.project is not None:
        return place.project / ".mcp.json"
    named = place.environment.get("CLAUDE_CONFIG_DIR")
    return (place.folder("CLAUDE_CONFIG_DIR", "") if named else place.user) / ".claude.json"
