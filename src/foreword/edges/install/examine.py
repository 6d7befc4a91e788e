"""Whether an installation still works, as far as the agents' settings show.

Only reads: nothing is started, stored or repaired. An agent without an installation is no problem.
"""

from __future__ import annotations

import itertools
import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.edges.install.agents import (
    AGENTS,
    CLAUDE_CODE,
    InstallPlace,
    find_enabled_plugin_folder,
    hook_settings_for_events,
)
from foreword.edges.install.changes import CLIENT_MARK, JsonFile, WholeFile, find_installed_parts
from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.edges.install.agents import Agent
    from foreword.edges.install.changes import Parts, TargetFile
    from foreword.edges.install.settings_text import Json

_MAX_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was examined: its name, its state, whether it is fine, and what to do if not."""

    name: str
    value: str
    ok: bool = True
    advice: str = ""


def examine_installed_agents(home: Path, project: Path | None = None) -> list[Finding]:
    """The findings about every agent that Foreword was installed in; empty if it is in none."""
    user = InstallPlace(home=home)
    plugin = _examine_plugin(user)
    findings = [finding for agent in AGENTS.values() for finding in _examine_agent(agent, user, project)]
    return [*findings, plugin] if plugin is not None else findings


def _examine_agent(agent: Agent, user: InstallPlace, project: Path | None) -> list[Finding]:
    """The findings in one agent's settings: the user's, and the project's if that is another file."""
    places = [user, replace(user, project=project)]
    files = {agent.targets(place)[0].path: place for place in reversed(places)}
    found = (_examine_agent_at_place(agent, place) for place in reversed(files.values()))
    findings = [finding for finding in found if finding is not None]
    if len(findings) > 1:
        problem = "installed twice, so it is told everything twice"
        advice = f"run: foreword uninstall {agent.name} --scope project"
        findings.append(Finding(agent.name, problem, ok=False, advice=advice))
    return findings


def _examine_agent_at_place(agent: Agent, place: InstallPlace) -> Finding | None:
    """The finding in one agent's settings at a place; None if Foreword is not installed there."""
    name = agent.name if place.project is None else f"{agent.name}, this project"
    install = f"foreword install {agent.name}" + ("" if place.project is None else " --scope project")
    try:
        targets = agent.targets(place)
        parts = {target.path: find_installed_parts(target) for target in targets}
    except (ValidationError, OSError) as error:
        return Finding(name, str(error), ok=False, advice=f"put the file right, then run: {install}")
    if not any(parts.values()):
        return None
    problems = [
        problem
        for target in targets
        for problem in _find_file_problems(target, parts[target.path], place, agent.timeout_unit)
    ]
    if problems:
        return Finding(name, "; ".join(dict.fromkeys(problems)), ok=False, advice=f"run: {install}")
    return Finding(name, _describe_installed_parts(targets, parts))


def _examine_plugin(place: InstallPlace) -> Finding | None:
    """The finding in Claude Code's plugin; None if it is not enabled."""
    name = f"{CLAUDE_CODE} plugin"
    try:
        folder = find_enabled_plugin_folder(place)
        if folder is None:
            return None
        file = JsonFile(folder / "foreword" / "hooks" / "hooks.json", hook_settings_for_events(place))
        unit = AGENTS[CLAUDE_CODE].timeout_unit
        problems = list(_find_file_problems(file, find_installed_parts(file), place, unit))
    except (ValidationError, OSError):
        return None  # already reported by the examination of the same settings
    if problems:
        advice = f"run: foreword install {CLAUDE_CODE} --plugin {shlex.quote(str(folder))}"
        return Finding(name, "; ".join(dict.fromkeys(problems)), ok=False, advice=advice)
    return Finding(name, f"{len(file.wanted)} hooks in {folder}")


def _describe_installed_parts(targets: list[TargetFile], parts: dict[Path, Parts]) -> str:
    """What is installed, such as `7 hooks, memory tools`."""
    hooks = sum(path[0] == "hooks" for ours in parts.values() for path in ours)
    plugin = any(isinstance(target, WholeFile) and parts[target.path] for target in targets)
    tools = any(path[0] not in ("hooks", "") for ours in parts.values() for path in ours)
    words = ["a plugin"] if plugin else [f"{hooks} hooks"] if hooks else []
    return ", ".join([*words, "memory tools" if tools else "no memory tools"])


def _find_file_problems(
    target: TargetFile, parts: Parts, place: InstallPlace, timeout_unit: float
) -> Iterator[str]:
    """The problems of our parts of one file, each in words."""
    missing = sorted(path[1] for path in target.wanted if path[0] == "hooks" and path not in parts)
    if missing:
        yield f"no hook for {', '.join(missing)} in {target.path}"
    for path, part in parts.items():
        if path[0] == "hooks":
            yield from _find_hook_problems(path[1], part, place, timeout_unit)
        elif path == ("",):
            if part != target.wanted[path]:
                yield f"{target.path} is not the plugin of this Foreword"
        elif isinstance(part, dict):
            yield from _find_mcp_server_problems(part)


def _find_hook_problems(event: str, group: Json, place: InstallPlace, timeout_unit: float) -> Iterator[str]:
    """The problems of our hook for one event, each in words."""
    if not isinstance(group, dict):
        yield f"{event} has more than one hook of ours"
        return
    for hook in group["hooks"]:
        command = parse_hook_command(hook["command"]) if isinstance(hook.get("command"), str) else None
        if command is None:
            yield f"the hook for {event} cannot be read"
            continue
        for file in (command.interpreter, command.client, command.python):
            if not os.access(file, os.R_OK):
                yield f"{file} is not there"
        if Path(command.home) != place.home.absolute():
            yield f"the hooks use the data in {command.home}, not in {place.home.absolute()}"
        timeout, deadline = hook.get("timeout"), command.deadline_ms
        if not isinstance(timeout, int | float):
            continue  # the agent's own default timeout applies
        # With a timeout in the wrong unit, a hook never finishes in time, or an agent waits for half an hour.
        if not deadline / 1000 < timeout * timeout_unit <= _MAX_TIMEOUT_SECONDS:
            unit = "s" if timeout_unit == 1 else "ms"
            yield f"the timeout of {event}, {timeout:g} {unit}, does not fit its deadline, {deadline:g} ms"


def _find_mcp_server_problems(server: dict[str, Json]) -> Iterator[str]:
    """The problems of the entry of our MCP server, each in words."""
    command = server.get("command")
    program = command[0] if isinstance(command, list) and command else command
    if not isinstance(program, str) or (Path(program).is_absolute() and not os.access(program, os.X_OK)):
        yield f"the memory tools' program is not there: {program}"


@dataclass(frozen=True, slots=True)
class HookCommand:
    """The parts of an installed hook command."""

    interpreter: str
    client: str
    home: str
    python: str
    deadline_ms: float


def parse_hook_command(command: str) -> HookCommand | None:
    """The parts of an installed hook command, or None if somebody has changed its form."""
    try:
        words = shlex.split(command)
        options = dict(itertools.pairwise(words))
        deadline = float(options["--deadline-ms"])
        client = next(word for word in words if word.endswith(CLIENT_MARK))
    except (ValueError, KeyError, StopIteration):
        return None
    python = options.get("--python", words[0])
    return HookCommand(words[0], client, options.get("--home", ""), python, deadline)
