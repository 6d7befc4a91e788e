"""The agents that Foreword can be installed in: their files, what these should hold, what the user must do.

Claude Code, Codex and Gemini CLI run commands as hooks; opencode has no such hooks, so a small plugin runs
Foreword's client there. All four reach the memory tools as an MCP server. Claude Code can have all of it as a
plugin instead; like the settings, that holds paths of this machine, so it is written here and not shared.

A hook runs the plain interpreter behind the virtual environment, without site packages, on one file: that
starts in ten milliseconds where a full start takes a hundred. Every path is absolute, because an agent's PATH
and folder are its own.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import foreword
from foreword.edges.install import settings_text
from foreword.edges.install.changes import JsonFile, TomlFile, WholeFile, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from foreword.edges.install.changes import Parts, TargetFile

CLIENT = Path(foreword.__file__).resolve().parent / "edges" / "hook_client.py"
_DEADLINE_MS = 250
_SESSION_START_DEADLINE_MS = 3000  # it may have to wait for the service to start

CLAUDE_CODE, CODEX, GEMINI, OPENCODE = "claude-code", "codex", "gemini", "opencode"

_CLAUDE_TIMEOUTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 5,
    "PreToolUse": 5,
    "PostToolUse": 5,
    "PostToolUseFailure": 5,
    "Stop": 5,
    "PreCompact": 5,
    "SessionEnd": 3,
}
_NOT_FOR_CLAUDE_CODE = ("PreCompact",)
"""Claude Code shows the model the command of such a hook after a compact. The session start that follows
reports the compact as well."""
_NOT_FOR_CODEX = ("PostToolUseFailure",)
"""Codex has no such event: it reports a tool that failed as a tool that was used."""
_MATCHERS = {
    "SessionStart": "startup|resume|clear|compact",
    "PreToolUse": "Bash|Task|Agent|Edit|MultiEdit|Write|NotebookEdit",
}
"""For which tools and which session starts Claude Code runs a hook: those that can have an answer."""
_MATCHERS_FOR_CODEX = {**_MATCHERS, "PreToolUse": "Bash|shell|exec_command|apply_patch"}
"""Codex calls every shell "Bash" and every edit "apply_patch"; before it did so, a shell had its own name."""
_GEMINI_TIMEOUTS = {"SessionStart": 10_000, "BeforeAgent": 5_000, "AfterTool": 5_000, "SessionEnd": 3_000}
_OPENCODE_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")
_TRUST_HOOKS = "start codex, open /hooks, review Foreword's hooks and trust them: until then Codex skips them"
_ABOUT = (
    "Gives the agent the right context before it reads the prompt: local, in milliseconds, with a receipt."
)
_PLUGIN_FOLDERS = (
    *(".claude-plugin", "foreword/.claude-plugin", "foreword/hooks", "foreword/skills/recall"),
    *("foreword/commands", "foreword/skills", "foreword", ""),
)
"""The folders that the plugin creates, each before its parent."""
_MCP_SERVER = ("mcpServers", "foreword")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlace:
    """Where to install: whose settings to change, with which parts, and which Foreword they will call."""

    home: Path
    user: Path = field(default_factory=Path.home)
    project: Path | None = None
    mcp: bool = True
    """Whether to install the memory tools, too."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    python: str = field(default_factory=lambda: str(Path(sys.executable).absolute()))

    def settings_folder(self, variable: str, name: str) -> Path:
        """An agent's settings folder: in the project, or the one in its variable, or in the user's home."""
        if self.project is not None:
            return self.project / name
        path = self.environment.get(variable)
        return Path(path).expanduser().absolute() if path else self.user / name

    def hook_command(self, agent: str, event: str) -> str:
        """The shell command that passes one event to Foreword.

        It never fails: an interpreter that does not find its file exits with 2, on which an agent refuses the
        prompt, and a Foreword that was removed must not cause that.
        """
        return f"{shlex.join(self.hook_command_words(agent, event))} || true"

    def hook_command_words(self, agent: str, event: str) -> list[str]:
        """The hook's command as a list of words, without the shell."""
        return [
            os.path.realpath(self.python),
            *("-I", "-S", str(CLIENT)),
            *("--home", str(self.home.absolute())),
            *("--agent", agent),
            *("--event", event),
            *("--deadline-ms", str(_SESSION_START_DEADLINE_MS if event == "SessionStart" else _DEADLINE_MS)),
            *("--python", self.python),
        ]

    def foreword_command(self, *words: str) -> list[str]:
        """A Foreword command as a list of words; a folder named `foreword` cannot shadow the package."""
        return [self.python, "-I", "-m", "foreword", *words]

    @property
    def command_environment(self) -> dict[str, str]:
        """The environment that a Foreword command needs to find its data."""
        return {"FOREWORD_HOME": str(self.home.absolute())}


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: the files that its installation changes, the first of which holds the hooks."""

    name: str
    targets: Callable[[InstallPlace], list[TargetFile]]
    next_steps: tuple[str, ...]
    """What the user still has to do."""
    next_steps_in_project: tuple[str, ...] = ()
    timeout_unit: float = 1.0
    """How many seconds one unit of the agent's timeouts is."""

    def advice(self, place: InstallPlace) -> list[str]:
        """What the user still has to do after an installation at this place."""
        return [*self.next_steps, *(self.next_steps_in_project if place.project is not None else ())]


def hook_settings_for_events(place: InstallPlace, agent: str = CLAUDE_CODE) -> Parts:
    """The hooks for Claude Code or Codex, one group for each event; timeouts are in seconds."""
    groups: Parts = {}
    left_out = _NOT_FOR_CODEX if agent == CODEX else _NOT_FOR_CLAUDE_CODE
    matchers = _MATCHERS_FOR_CODEX if agent == CODEX else _MATCHERS
    for event, seconds in _CLAUDE_TIMEOUTS.items():
        if event in left_out:
            continue
        hook = {"type": "command", "command": place.hook_command(agent, event), "timeout": seconds}
        matcher = {"matcher": matchers[event]} if event in matchers else {}
        groups["hooks", event] = {**matcher, "hooks": [hook]}
    return groups


def _mcp_server_entry(place: InstallPlace, **first: str) -> dict[str, Any]:
    """The entry of our MCP server in an agent's settings; `first` are keys to put before the usual ones."""
    command, *arguments = place.foreword_command("mcp")
    return {**first, "command": command, "args": arguments, "env": place.command_environment}


def _claude_code_targets(place: InstallPlace) -> list[TargetFile]:
    folder = place.settings_folder("CLAUDE_CONFIG_DIR", ".claude")
    if place.project is None:
        settings = folder / "settings.json"
        named = place.environment.get("CLAUDE_CONFIG_DIR")
        servers = (folder if named else place.user) / ".claude.json"
    else:
        settings = folder / "settings.local.json"  # which is personal: commands hold paths of this machine
        servers = place.project / ".mcp.json"
    server = _mcp_server_entry(place, type="stdio")
    return [
        JsonFile(settings, hook_settings_for_events(place)),
        JsonFile(servers, {_MCP_SERVER: server} if place.mcp else {}, (_MCP_SERVER,)),
    ]


def _codex_targets(place: InstallPlace) -> list[TargetFile]:
    folder, table = place.settings_folder("CODEX_HOME", ".codex"), ("mcp_servers", "foreword")
    return [
        JsonFile(folder / "hooks.json", hook_settings_for_events(place, CODEX)),
        TomlFile(folder / "config.toml", {table: _mcp_server_entry(place)} if place.mcp else {}, table),
    ]


def _gemini_targets(place: InstallPlace) -> list[TargetFile]:
    """The one file for hooks and tools, which may hold comments; timeouts are in milliseconds."""
    wanted: Parts = {}
    for event, milliseconds in _GEMINI_TIMEOUTS.items():
        hook = {"name": "foreword", "type": "command", "command": place.hook_command(GEMINI, event)}
        wanted["hooks", event] = {"hooks": [{**hook, "timeout": milliseconds}]}
    if place.mcp:
        wanted[_MCP_SERVER] = _mcp_server_entry(place)
    settings = place.settings_folder("", ".gemini") / "settings.json"
    return [JsonFile(settings, wanted, (_MCP_SERVER,), comments=True)]


def _opencode_targets(place: InstallPlace) -> list[TargetFile]:
    base = place.environment.get("XDG_CONFIG_HOME")
    user_folder = (Path(base) if base else place.user / ".config") / "opencode"
    if place.project is not None:
        folder, plugins = place.project, place.project / ".opencode"
    else:
        named = place.environment.get("OPENCODE_CONFIG_DIR")
        folder = plugins = Path(named).expanduser().absolute() if named else user_folder
    commented = folder / "opencode.jsonc"
    settings = commented if commented.exists() else folder / "opencode.json"
    server = {
        "type": "local",
        "command": place.foreword_command("mcp"),
        "environment": place.command_environment,
        "enabled": True,
    }
    commands = {event: place.hook_command_words(OPENCODE, event) for event in _OPENCODE_EVENTS}
    words = f"const COMMANDS = {json.dumps(commands, indent=2)}"
    plugin = _read_template("opencode.js").replace("const COMMANDS = {}", words)
    member, mark = ("mcp", "foreword"), "foreword install opencode"
    return [
        WholeFile(plugins / "plugin" / "foreword.js", {("",): plugin}, mark),
        JsonFile(settings, {member: server} if place.mcp else {}, (member,), comments=True),
    ]


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            CLAUDE_CODE,
            _claude_code_targets,
            ("restart running Claude Code sessions: hooks are read when a session starts",),
            ("Claude Code will ask once whether this project's MCP server may be used",),
        ),
        Agent(
            CODEX,
            _codex_targets,
            (_TRUST_HOOKS,),
            ("Codex reads a project's .codex folder only when the project itself is trusted",),
        ),
        Agent(
            GEMINI,
            _gemini_targets,
            ("restart Gemini CLI; /hooks panel shows whether hooks are switched on",),
            timeout_unit=0.001,
        ),
        Agent(OPENCODE, _opencode_targets, ("restart opencode: plugins are read when it starts",)),
    )
}


# The plugin of Claude Code -------------------------------------------------------------------------------


def find_enabled_plugin_folder(place: InstallPlace) -> Path | None:
    """The folder of Claude Code's plugin, if the user's settings enable it; None otherwise."""
    folder = replace(place, project=None).settings_folder("CLAUDE_CONFIG_DIR", ".claude")
    settings = settings_text.read_json(read_text(folder / "settings.json").text)
    if settings_text.find_value_at_path(settings, ("enabledPlugins", "foreword@foreword")) is not True:
        return None
    path = settings_text.find_value_at_path(
        settings, ("extraKnownMarketplaces", "foreword", "source", "path")
    )
    return Path(path if isinstance(path, str) else "")


def plugin_targets(place: InstallPlace, folder: Path) -> list[TargetFile]:
    """Every file of Claude Code's plugin: the folder is a marketplace with this one plugin."""
    variables = (f"{name}={shlex.quote(value)}" for name, value in place.command_environment.items())
    command = " ".join([*variables, shlex.join(place.foreword_command())])
    version = foreword.__version__
    manifest = {"name": "foreword", "version": version, "description": _ABOUT}
    author = {"name": "Foreword"}
    marketplace = {
        "name": "foreword",
        "owner": author,
        "metadata": {"description": _ABOUT},
        "plugins": [{"name": "foreword", "source": "./foreword", "description": _ABOUT, "version": version}],
    }
    hooks = {path[1]: [group] for path, group in hook_settings_for_events(place).items()}
    texts = {
        ".claude-plugin/marketplace.json": _to_json_text(marketplace),
        "foreword/.claude-plugin/plugin.json": _to_json_text(
            {**manifest, "author": author, "license": "Apache-2.0"}
        ),
        "foreword/hooks/hooks.json": _to_json_text({"description": _ABOUT, "hooks": hooks}),
        "foreword/README.md": _read_template("README.md"),
        "foreword/skills/recall/SKILL.md": _read_template("recall.md").format(search=f"{command} search"),
        "foreword/commands/status.md": _read_template("status.md").format(foreword=command),
    }
    if place.mcp:
        server = _mcp_server_entry(place, type="stdio")
        texts["foreword/.mcp.json"] = _to_json_text({"mcpServers": {"foreword": server}})
    return [WholeFile(folder / name, {("",): text}, "foreword") for name, text in texts.items()]


def remove_empty_plugin_folders(folder: Path) -> None:
    """Remove the folders that the plugin created, unless other files are in them."""
    for path in (folder / name for name in _PLUGIN_FOLDERS):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def list_remaining_plugin_steps(folder: Path) -> list[str]:
    """What the user still has to do after the plugin was written."""
    return [
        f"claude plugin marketplace add {shlex.quote(str(folder))}",
        "claude plugin install foreword@foreword",
        "restart running Claude Code sessions: hooks are read when a session starts",
    ]


def _to_json_text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _read_template(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")
