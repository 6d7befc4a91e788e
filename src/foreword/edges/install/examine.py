"""Whether what was installed still works, from the agents' settings through to an answer of the service.

Looks only: nothing is started, stored or mended. An agent in which nothing was installed is no problem.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.edges import hook_client
from foreword.edges.finding import Finding
from foreword.edges.hook import aside
from foreword.edges.install import claude_code, codex, gemini, opencode
from foreword.edges.install.commands import Place, read_command
from foreword.edges.install.plan import installed
from foreword.edges.install.targets import JsonFile, WholeFile
from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from foreword.config import Settings
    from foreword.edges.install.json_text import Json
    from foreword.edges.install.targets import Parts, Target

AGENTS = (claude_code, codex, gemini, opencode)
_LONGEST_TIMEOUT = 60.0
_SAMPLE = b'{"hook_event_name": "Doctor"}'
_PATIENCE_MS = 2000


def examine(settings: Settings, project: Path | None = None) -> list[Finding]:
    """What there is to say of every agent that Foreword was installed in, and of the service behind it."""
    user = Place(home=settings.home)
    findings = [one for agent in AGENTS for one in _scopes(agent, user, project)]
    plugin = _plugin(user)
    findings += [] if plugin is None else [plugin]
    if not findings:
        return [Finding("agents", "installed in none; the first step: foreword install claude-code")]
    return [*findings, _service(settings)]


def _scopes(agent: ModuleType, user: Place, project: Path | None) -> list[Finding]:
    """What was found in one agent's settings, the user's and the project's."""
    places = [user, replace(user, project=project)]
    files = {agent.targets(place, mcp=True)[0].path: place for place in reversed(places)}
    found = [one for place in reversed(files.values()) if (one := _agent(agent, place)) is not None]
    if len(found) > 1:
        advice = f"run: foreword uninstall {agent.NAME} --scope project"
        found.append(
            Finding(agent.NAME, "installed twice, so it is told everything twice", ok=False, advice=advice)
        )
    return found


def _agent(agent: ModuleType, place: Place) -> Finding | None:
    """What was found in one agent's settings, if anything of ours was."""
    name = agent.NAME if place.project is None else f"{agent.NAME}, this project"
    again = f"foreword install {agent.NAME}" + ("" if place.project is None else " --scope project")
    try:
        targets = agent.targets(place, mcp=True)
        parts = {target.path: installed(target) for target in targets}
    except (ValidationError, OSError) as error:
        return Finding(name, str(error), ok=False, advice=f"put the file right, then run: {again}")
    if not any(parts.values()):
        return None
    problems = [
        problem
        for target in targets
        for problem in _problems(target, parts[target.path], place, agent.SECONDS)
    ]
    if problems:
        return Finding(name, "; ".join(dict.fromkeys(problems)), ok=False, advice=f"run: {again}")
    return Finding(name, _described(targets, parts))


def _plugin(place: Place) -> Finding | None:
    """What was found in Claude Code's plugin, if it runs ours."""
    name = f"{claude_code.NAME} plugin"
    try:
        folder = claude_code.plugin_folder(place)
        if folder is None:
            return None
        file = JsonFile(folder / "foreword" / "hooks" / "hooks.json", claude_code.hook_groups(place))
        problems = list(_problems(file, installed(file), place, claude_code.SECONDS))
    except (ValidationError, OSError):
        return None  # said already, of the same file
    if problems:
        advice = f"run: foreword install {claude_code.NAME} --plugin {shlex.quote(str(folder))}"
        return Finding(name, "; ".join(dict.fromkeys(problems)), ok=False, advice=advice)
    return Finding(name, f"{len(file.wanted)} hooks in {folder}")


def _described(targets: list[Target], parts: dict[Path, Parts]) -> str:
    """What is installed, in a few words."""
    hooks = sum(path[0] == "hooks" for one in parts.values() for path in one)
    plugin = any(isinstance(target, WholeFile) and parts[target.path] for target in targets)
    tools = any(path[0] not in ("hooks", "") for one in parts.values() for path in one)
    said = ["a plugin"] if plugin else [f"{hooks} hooks"] if hooks else []
    return ", ".join([*said, "memory tools" if tools else "no memory tools"])


def _problems(target: Target, parts: Parts, place: Place, second: float) -> Iterator[str]:
    """What is wrong with our parts of one file."""
    events = {path for path in target.wanted if path[0] == "hooks"}
    missing = sorted(path[1] for path in events if path not in parts)
    if missing:
        yield f"no hook for {', '.join(missing)} in {target.path}"
    for path, part in parts.items():
        if path[0] == "hooks":
            yield from _hook_problems(path[1], part, place, second)
        elif path == ("",):
            if part != target.wanted[path]:
                yield f"{target.path} is not the plugin of this Foreword"
        elif isinstance(part, dict):
            yield from _server_problems(part)


def _hook_problems(event: str, group: Json, place: Place, second: float) -> Iterator[str]:
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
        yield from _timeout_problems(event, hook.get("timeout"), command.deadline_ms, second)


def _timeout_problems(event: str, timeout: object, deadline_ms: float, second: float) -> Iterator[str]:
    """A timeout in the wrong unit is a hook that never runs, or an agent that waits for half an hour."""
    if not isinstance(timeout, int | float):
        return  # the agent's own
    if not deadline_ms / 1000 < timeout * second <= _LONGEST_TIMEOUT:
        unit = "s" if second == 1 else "ms"
        yield f"the timeout of {event}, {timeout:g} {unit}, does not fit its deadline, {deadline_ms:g} ms"


def _server_problems(server: dict[str, Json]) -> Iterator[str]:
    command = server.get("command")
    program = command[0] if isinstance(command, list) and command else command
    if not isinstance(program, str) or (Path(program).is_absolute() and not os.access(program, os.X_OK)):
        yield f"the memory tools' program is not there: {program}"


def _service(settings: Settings) -> Finding:
    """Whether the service answers an event, if it runs."""
    home = str(settings.home.absolute())
    if not aside.running(home):
        return Finding("service", "not running; the next hook starts it")
    told = ["--home", home, "--deadline-ms", str(_PATIENCE_MS), "--python", sys.executable]
    began = time.monotonic()
    try:
        with contextlib.chdir(os.curdir):  # connecting goes to the folder of the socket; this comes back
            hook_client.ask(hook_client.Hook(told, began), _SAMPLE)
    except (OSError, hook_client.Trouble) as error:
        log = settings.home / "run" / "service.log"
        return Finding(
            "service", f"does not answer: {error}", ok=False, advice=f"see {log}; run: foreword stop"
        )
    return Finding("service", f"answers an event in {(time.monotonic() - began) * 1000:.0f} ms")
