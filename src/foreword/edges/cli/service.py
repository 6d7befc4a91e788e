"""Serve, stop, status and hook: the resident process behind the hooks, and one hook by hand.

Starts the service as a hook would, and asks it over the same socket. What still lacks vectors is counted
here, not in the service, which has hooks to answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from foreword.edges import hook_client
from foreword.edges.cli.common import Call, command, counted, emit, opened, say, settings, tell
from foreword.edges.hook import aside
from foreword.edges.hook_client import Hook, Trouble
from foreword.errors import ForewordError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.config import Settings

_START_SECONDS = 20.0
_STOP_SECONDS = 15.0
_LOOK_EVERY = 0.05


# Serve ---------------------------------------------------------------------------------------------------


@command("serve", "foreword serve\nforeword serve --foreground --idle-minutes 0")
@click.option("-f", "--foreground", is_flag=True, help="Serve in this process until it is stopped.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="For HTTP; 0 is any."
)
@click.option(
    "--idle-minutes",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    metavar="N",
    help="Leave when nothing was asked for so long; 0 is never.",
)
def serve(call: Call, foreground: bool, port: int, idle_minutes: float) -> int:
    """Answer hooks, and HTTP on this machine.

    A hook that finds no service starts one, so this is seldom needed. There is one a user and data folder.
    """
    chosen = settings()
    if foreground:
        from foreword.edges.service.process import Plan, main

        code = main(Plan(port, idle_minutes), settings=chosen)
        if code == 1:
            tell("another process serves this data folder already; see: foreword status")
        return code
    fresh = _running(chosen) is None
    if fresh:
        _start(chosen, port, idle_minutes)
    facts = _facts_when_up(chosen)
    if call.as_json:
        emit({"started": fresh, **facts})
    else:
        said = "serving" if fresh else "serving already"
        say(f"{said} {chosen.home} as process {facts['pid']}; stop it with: foreword stop")
    return 0


def _start(chosen: Settings, port: int, idle_minutes: float) -> None:
    options = ("--port", str(port), "--idle-minutes", f"{idle_minutes:g}")
    (chosen.home / "run" / aside.STARTING).unlink(missing_ok=True)  # a person's wish is not an attempt
    aside.start(str(chosen.home.absolute()), sys.executable, *options)


def _facts_when_up(chosen: Settings) -> dict[str, Any]:
    """The status of a service that may still be starting."""
    until = time.monotonic() + _START_SECONDS
    while True:
        try:
            return _facts(chosen)
        except (OSError, Trouble) as error:
            if time.monotonic() > until:
                log = chosen.home / "run" / "service.log"
                raise ForewordError(f"the service does not answer ({error}); its log is {log}") from error
        time.sleep(_LOOK_EVERY)


# Stop ----------------------------------------------------------------------------------------------------


@command("stop", "foreword stop")
def stop(call: Call) -> int:
    """Stop the service, once it has finished what it was asked."""
    chosen = settings()
    pid = _running(chosen)
    if pid:
        with contextlib.suppress(ProcessLookupError):  # it left by itself
            os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + _STOP_SECONDS
    while (still := _running(chosen)) is not None and time.monotonic() < until:
        time.sleep(_LOOK_EVERY)
    if still is not None:
        raise ForewordError(f"process {still} does not stop; end it with: kill -9 {still}")
    if call.as_json:
        emit({"stopped": pid})
    else:
        tell("no service is running" if pid is None else f"process {pid} has stopped")
    return 0


# Status --------------------------------------------------------------------------------------------------


@command("status", "foreword status\nforeword status --json")
def status(call: Call) -> int:
    """Say how the service is, and what still waits.

    The exit code is 1 when no service is running, or when it does not answer.
    """
    chosen = settings()
    facts: dict[str, Any] = {"running": False, "home": str(chosen.home)}
    pid = _running(chosen)
    if pid is not None:
        try:
            facts |= {"running": True, **_facts(chosen)}
        except (OSError, Trouble) as error:
            facts |= {"pid": pid, "error": f"process {pid} does not answer: {error}"}
    facts["pending_vectors"] = _pending(chosen)
    if call.as_json:
        emit(facts)
    else:
        _show(facts)
    return 0 if facts["running"] else 1


def _pending(chosen: Settings) -> dict[str, int]:
    """How many items of each workspace have no vector yet; those that lack none are left out."""
    with opened(embedding=False, at=chosen) as engine:
        counts = {name: engine.count(name) for name in engine.store.workspaces()}
    lacking = {name: count.items - count.vectors.get("semantic", 0) for name, count in counts.items()}
    return {name: number for name, number in lacking.items() if number > 0}


def _show(facts: dict[str, Any]) -> None:
    if facts["running"]:
        spool = facts["spool"]
        port = facts["http_port"]
        megabytes = facts["resident_bytes"] / 1e6
        say(f"process {facts['pid']}, version {facts['version']}, serving {facts['home']}")
        say(f"up {facts['uptime_seconds']:,.0f} s, {megabytes:,.0f} MB, {facts['in_flight']} in flight")
        say(f"http://127.0.0.1:{port}" if port else "no HTTP (yet)")
        say(f"spool: {counted(spool['files'], 'event')}, {counted(spool['bytes'], 'byte')}")
        for event, each in facts["events"].items():
            say(f"{event}: {each['count']:,} asked, p50 {each['p50_ms']:.1f} ms, p99 {each['p99_ms']:.1f} ms")
        wrong = {name: facts[name] for name in ("refused", "late", "failed", "strangers", "malformed")}
        if any(wrong.values()):
            say(", ".join(f"{number:,} {name}" for name, number in wrong.items() if number))
    else:
        tell(facts.get("error", "no service is running; a hook will start one, and so does: foreword serve"))
    for workspace, number in facts["pending_vectors"].items():
        say(f"{workspace}: {counted(number, 'item')} without a vector")


# Hook ----------------------------------------------------------------------------------------------------


@command("hook", "foreword hook --event UserPromptSubmit < event.json\nforeword hook --direct < event.json")
@click.option("--event", default="", metavar="E", help="The event's name [default: what the JSON says].")
@click.option("--agent", default="-", metavar="A", help="claude-code, codex, gemini, opencode, or another.")
@click.option("--deadline-ms", type=click.FloatRange(1), default=2000.0, show_default=True, metavar="MS")
@click.option("--direct", is_flag=True, help="Answer in this process, without the service.")
def hook(call: Call, event: str, agent: str, deadline_ms: float, direct: bool) -> int:
    """Answer one hook event by hand, as an agent would be answered.

    The event is JSON on stdin. Prints the answer, if there is one; what happened is said on stderr. An agent
    runs hook_client.py, which is quicker, and silent.
    """
    payload = sys.stdin.buffer.read()
    chosen = settings()
    name = event or str(_parsed(payload).get("hook_event_name", ""))
    began = time.monotonic()
    if direct:
        with _directly(chosen, payload, began + deadline_ms / 1000) as answer:
            _say_answer(call, name, answer, "in this process", began)
    else:
        answer = _over_the_socket(chosen, payload, name, agent, deadline_ms)
        _say_answer(call, name, answer, "by the service", began)
    return 0


def _say_answer(call: Call, name: str, answer: bytes, way: str, began: float) -> None:
    taken = (time.monotonic() - began) * 1000
    if call.as_json:
        emit(
            {"event": name, "answer": json.loads(answer) if answer else None, "milliseconds": round(taken, 1)}
        )
    elif answer:
        click.echo(answer.decode())
    length = counted(len(answer.decode()), "character") if answer else "nothing to say"
    tell(f"{name or 'an event'} was answered {way} in {taken:.0f} ms: {length}")


def _parsed(payload: bytes) -> dict[str, Any]:
    try:
        read = json.loads(payload)
    except ValueError as error:
        raise click.UsageError(f"the event on stdin is not JSON: {error}") from error
    if not isinstance(read, dict):
        raise click.UsageError("the event on stdin is not a JSON object")
    return read


@contextlib.contextmanager
def _directly(chosen: Settings, payload: bytes, ends: float) -> Iterator[bytes]:
    """The answer, in time to be given; what was begun besides is finished before this is left."""
    from foreword.edges.hook.responder import Responder

    with opened(at=chosen) as engine, contextlib.closing(Responder(engine)) as responder:
        left = (ends - time.monotonic()) * 1000
        yield responder.respond(payload, datetime.now(UTC), max(1.0, left))


def _over_the_socket(chosen: Settings, payload: bytes, event: str, agent: str, deadline_ms: float) -> bytes:
    try:
        return _asked(chosen, payload, event, agent, deadline_ms)
    except (OSError, Trouble) as error:
        raise ForewordError(
            f"the service gave no answer ({error}); see: foreword status, or try: foreword hook --direct"
        ) from error


# Over the socket -----------------------------------------------------------------------------------------


def _running(chosen: Settings) -> int | None:
    from foreword.edges.service.run_folder import RunFolder

    return RunFolder(chosen.home).running()


def _facts(chosen: Settings) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(_asked(chosen, b"", "", "status", 2000.0))
    return facts


def _asked(chosen: Settings, payload: bytes, event: str, agent: str, deadline_ms: float) -> bytes:
    told = ["--home", str(chosen.home), "--agent", agent, "--event", event, "--deadline-ms", str(deadline_ms)]
    with contextlib.chdir(os.curdir):  # connecting goes to the folder of the socket; this comes back
        return hook_client.ask(Hook([*told, "--python", sys.executable], time.monotonic()), payload)


COMMANDS = (serve, stop, status, hook)
