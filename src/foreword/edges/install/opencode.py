"""opencode: a small plugin in JavaScript, and the memory tools in opencode.json, which may hold comments.

opencode has no hooks that run commands; the plugin runs Foreword's client instead and passes its answer on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.edges.install.targets import JsonFile, WholeFile

if TYPE_CHECKING:
    from foreword.edges.install.commands import Place
    from foreword.edges.install.targets import Target

NAME = "opencode"
SECONDS = 1.0
_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")
_TEMPLATE = Path(__file__).with_name("opencode.js")
_BLANK = "const COMMANDS = {}"
_MARK = "foreword install opencode"


def targets(place: Place, *, mcp: bool) -> list[Target]:
    """The plugin, and the settings that name MCP servers."""
    folder = _folder(place)
    plugins = folder if place.project is None else folder / ".opencode"
    member = ("mcp", "foreword")
    server = {
        "type": "local",
        "command": place.foreword("mcp"),
        "environment": place.variables,
        "enabled": True,
    }
    return [
        WholeFile(plugins / "plugin" / "foreword.js", {("",): plugin(place)}, _MARK),
        JsonFile(_settings(folder), {member: server} if mcp else {}, (member,), comments=True),
    ]


def plugin(place: Place) -> str:
    """The plugin's text, with this machine's commands in it."""
    commands = {event: place.hook_words(NAME, event) for event in _EVENTS}
    return _TEMPLATE.read_text(encoding="utf-8").replace(
        _BLANK, f"const COMMANDS = {json.dumps(commands, indent=2)}"
    )


def advice(place: Place) -> list[str]:  # noqa: ARG001
    """What is left to the user."""
    return ["restart opencode: plugins are read when it starts"]


def _folder(place: Place) -> Path:
    if place.project is not None:
        return place.project
    if named := place.environment.get("OPENCODE_CONFIG_DIR"):
        return Path(named).expanduser().absolute()
    base = place.environment.get("XDG_CONFIG_HOME")
    return (Path(base) if base else place.user / ".config") / "opencode"


def _settings(folder: Path) -> Path:
    """The settings file that is there, else the one to make."""
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"
