"""Whether what was installed still works, as far as the agents' settings say.

Looks only: nothing is started, stored or repaired. An agent in which nothing was installed is no problem.
"""

from __future__ import annotations

import itertools
import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.edges.install.agents import AGENTS, CLAUDE_CODE, InstallPlace, hook_groups, plugin_folder
from foreword.edges.install.changes import CLIENT_MARK, JsonFile, WholeFile, installed_parts
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


def examine(home: Path, project: Path | None = None) -> list[Finding]:
    """What there is to say of every agent that Foreword was installed in; none when it is in none."""
    user = InstallPlace(home=home)
    plugin = _examine_plugin(user)
    findings = [finding for agent in AGENTS.values() for finding in _examine_agent(agent, user, project)]
    return [*findings, plugin] if plugin is not None else findings


def _examine_agent(agent: Agent, user: InstallPlace, project: Path | None) -> list[Finding]:
    """What was found in one agent's settings, the user's and the project's, where these are two files."""
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
    """What was found in one agent's settings, if anything of ours was."""
    name = agent.name if place.project is None else f"{agent.name}, this project"
    install = f"foreword install {agent.name}" + ("" if place.project is None else " --scope project")
    try:
        targets = agent.targets(place)
        parts = {target.path: installed_parts(target) for target in targets}
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
    """What was found in Claude Code's plugin, if it runs ours."""
    name = f"{CLAUDE_CODE} plugin"
    try:
        folder = plugin_folder(place)
        if folder is None:
            return None
        file = JsonFile(folder / "foreword" / "hooks" / "hooks.json", hook_groups(place))
        unit = AGENTS[CLAUDE_CODE].timeout_unit
        problems = list(_find_file_problems(file, installed_parts(file), place, unit))
    except (ValidationError, OSError):
        return None  # said already, of the same file
    if problems:
        advice = f"run: foreword install {CLAUDE_CODE} --plugin {shlex.quote(str(folder))}"
        return Finding(name, "; ".join(dict.fromkeys(problems)), ok=False, advice=advice)
    return Finding(name, f"{len(file.wanted)} hooks in {folder}")


def _describe_installed_parts(targets: list[TargetFile], parts: dict[Path, Parts]) -> str:
    """What is installed, in a few words."""
    hooks = sum(path[0] == "hooks" for ours in parts.values() for path in ours)
    plugin = any(isinstance(target, WholeFile) and parts[target.path] for target in targets)
    tools = any(path[0] not in ("hooks", "") for ours in parts.values() for path in ours)
    words = ["a plugin"] if plugin else [f"{hooks} hooks"] if hooks else []
    return ", ".join([*words, "memory tools" if tools else "no memory tools"])


def _find_file_problems(
    target: TargetFile, parts: Parts, place: InstallPlace, timeout_unit: float
) -> Iterator[str]:
    """What is wrong with our parts of one file."""
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
            yield from _find_server_problems(part)


def _find_hook_problems(event: str, group: Json, place: InstallPlace, timeout_unit: float) -> Iterator[str]:
    """What is wrong with our hook for one event."""
    if not isinstance(group, dict):
        yield f"{event} has more than one hook of ours"
        return
    for hook in group["hooks"]:
        command = read_command(hook["command"]) if isinstance(hook.get("command"), str) else None
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
            continue  # the agent has a timeout of its own
        # A timeout in the wrong unit is a hook that never runs, or an agent that waits for half an hour.
        if not deadline / 1000 < timeout * timeout_unit <= _MAX_TIMEOUT_SECONDS:
            unit = "s" if timeout_unit == 1 else "ms"
            yield f"the timeout of {event}, {timeout:g} {unit}, does not fit its deadline, {deadline:g} ms"


def _find_server_problems(server: dict[str, Json]) -> Iterator[str]:
    """What is wrong with the entry of our MCP server."""
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


def read_command(command: str) -> HookCommand | None:
    """The parts of an installed hook command, or None if somebody has changed its shape."""
    try:
        words = shlex.split(command)
        options = dict(itertools.pairwise(words))
        deadline = float(options["--deadline-ms"])
        client = next(word for word in words if word.endswith(CLIENT_MARK))
    except (ValueError, KeyError, StopIteration):
        return None
    python = options.get("--python", words[0])
    return HookCommand(words[0], client, options.get("--home", ""), python, deadline)
