"""Serve, stop, status, hook and mcp: the resident process behind the hooks, one hook by hand, and MCP.

Starts the service as a hook would, and talks to it over the same socket. Missing vectors are counted here,
not in the service, which has hooks to answer.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import signal
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foreword.capture.folder.workspace import workspace_of
from foreword.capture.privacy import reason_to_keep_nothing
from foreword.config import find_data_folder
from foreword.edges import hook_client
from foreword.edges.cli import show
from foreword.edges.cli.common import CliCall, OptionValue, command, load_settings, open_engine, port_type
from foreword.edges.hook_client import HookEvent, NoAnswer
from foreword.edges.install.examine import Finding
from foreword.edges.service.run_folder import RunFolder
from foreword.edges.shared import hook_fallback
from foreword.edges.shared.private_files import make_private_folder
from foreword.edges.shared.trouble import explain_why_service_cannot_run, read_start_failure
from foreword.errors import ForewordError, MissingExtra, StorageError
from foreword.text.numbers import number_with_noun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foreword.config import Settings
    from foreword.engine.context_engine import ContextEngine

_START_SECONDS = 20.0
_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.05
_STATUS_DEADLINE_MS = 2000.0
_PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"
"""The variable by which an agent that starts us in another folder names its project."""


# Serve ---------------------------------------------------------------------------------------------------


@command(
    "serve",
    "foreword serve\nforeword serve --foreground --idle-minutes 0\n"
    "foreword serve --team --host 0.0.0.0 --port 8443 --cert team.crt --key team.key",
)
@click.option("-f", "--foreground", is_flag=True, help="Serve in this process until it is stopped.")
@click.option("--port", type=port_type, default=0, show_default=True, help="For HTTP; 0 is any.")
@click.option("--team", "is_team", is_flag=True, help="Serve members of a team, in the foreground, on HTTP.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="H", help="Where a team's listens.")
@click.option("--cert", type=click.Path(path_type=Path), metavar="F", help="A team's certificate, PEM.")
@click.option("--key", type=click.Path(path_type=Path), metavar="F", help="Its private key, PEM.")
@click.option(
    "--max-items", type=click.IntRange(0), default=0, metavar="N", help="Quota of a team's workspace."
)
@click.option(
    "--max-rate", type=click.FloatRange(0.1), default=50.0, metavar="N", help="A member's requests a second."
)
@click.option(
    "--drain", type=click.FloatRange(0), default=0.0, metavar="S", help="Seconds unready before the end."
)
@click.option(
    "--idle-minutes",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    metavar="N",
    help="Leave when nothing was asked for so long; 0 is never.",
)
def serve(
    call: CliCall, foreground: bool, port: int, idle_minutes: float, is_team: bool, **team: OptionValue
) -> int:
    """Answer hooks, and HTTP on this machine.

    A hook that finds no service starts one, so this is seldom needed. There is one a user and data folder.
    With --team, answer the members that `foreword team add` names, from other machines, with TLS.
    """
    settings = load_settings()
    if is_team:
        return _serve_team(settings, port, team)
    if foreground:
        from foreword.edges.service.__main__ import main
        from foreword.edges.service.process import ServiceOptions

        code = main(ServiceOptions(port, idle_minutes), settings=settings)
        if code == 1:
            show.print_note("another process serves this data folder already; see: foreword status")
        return code
    start, status = ensure_service(settings, "--port", str(port), "--idle-minutes", f"{idle_minutes:g}")
    verb = "serving" if start else "serving already"
    text = f"{verb} {settings.home} as process {status['pid']}; stop it with: foreword stop"
    call.answer({"started": start, **status}, text)
    return 0


def ensure_service(settings: Settings, *options: str) -> tuple[bool, dict[str, Any]]:
    """Start a service unless one runs; return whether it was started, and its status.

    Raises ForewordError with the reason if none can run.
    """
    if trouble := explain_why_service_cannot_run(str(settings.home.absolute())):
        raise ForewordError(trouble)
    start = RunFolder(settings.home).running_pid() is None
    began = time.time()
    if start:
        starting = settings.home / "run" / hook_fallback.STARTING_NAME
        starting.unlink(missing_ok=True)  # a user who asks for a start need not wait like a retry
        hook_fallback.start_service(str(settings.home.absolute()), sys.executable, *options)
    return start, _wait_for_service_status(settings, began)


def _serve_team(settings: Settings, port: int, team: dict[str, OptionValue]) -> int:
    """Serve a team in this process until it is stopped; return the exit code."""
    from foreword.edges.http.team.api import build_team_api
    from foreword.edges.http.team.gate import Limits
    from foreword.edges.service.team_process import TeamOptions, run_team_service

    limits = Limits(team["max_rate"], max(1, int(4 * team["max_rate"])), team["max_items"])
    return run_team_service(
        TeamOptions(team["host"], port or 8443, team["cert"], team["key"], team["drain"]),
        functools.partial(build_team_api, limits=limits),
        settings,
        lambda address: show.print_note(f"serving the team on {address}; stop it with Ctrl-C or SIGTERM"),
    )


def _wait_for_service_status(settings: Settings, began: float) -> dict[str, Any]:
    """The status of a service that may still be starting; ForewordError if it does not start."""
    until = time.monotonic() + _START_SECONDS
    while True:
        try:
            return _ask_service_status(settings)
        except (OSError, NoAnswer) as error:
            if failure := read_start_failure(str(settings.home.absolute()), began):
                raise ForewordError(f"the service cannot run: {failure}") from error
            if time.monotonic() > until:
                log = settings.home / "run" / "service.log"
                raise ForewordError(f"the service does not answer ({error}); its log is {log}") from error
        time.sleep(_POLL_SECONDS)


# Stop ----------------------------------------------------------------------------------------------------


@command("stop", "foreword stop")
def stop(call: CliCall) -> int:
    """Stop the service, once it has finished what it was asked."""
    pid = stop_service(find_data_folder())
    note = "no service is running" if pid is None else f"process {pid} has stopped"
    call.answer({"stopped": pid}, note=note)
    return 0


def stop_service(home: Path) -> int | None:
    """Stop the service and wait for its end; return its process id, or None if none was running."""
    pid = RunFolder(home).running_pid()
    if pid:
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + _STOP_SECONDS
    while (still := RunFolder(home).running_pid()) is not None and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
    if still is not None:
        raise ForewordError(f"process {still} does not stop; end it with: kill -9 {still}")
    return pid


# Status --------------------------------------------------------------------------------------------------


@command("status", "foreword status\nforeword status --json")
def show_status(call: CliCall) -> int:
    """Say how the service is, and what still waits.

    The exit code is 1 when no service is running, or when it does not answer.
    """
    settings = load_settings()
    facts: dict[str, Any] = {"running": False, "home": str(settings.home)}
    pid = RunFolder(settings.home).running_pid()
    if pid is not None:
        try:
            facts |= {"running": True, **_ask_service_status(settings)}
        except (OSError, NoAnswer) as error:
            facts |= {"pid": pid, "error": f"process {pid} does not answer: {error}"}
    facts["pending_vectors"] = _count_missing_vectors_by_workspace(settings)
    facts["keeps_nothing"] = reason_to_keep_nothing(settings.home, call.workspace)
    if call.as_json:
        show.print_json(facts)
    else:
        _show_service_status(facts)
    return 0 if facts["running"] else 1


def _count_missing_vectors_by_workspace(settings: Settings) -> dict[str, int]:
    """The number of items without a vector in each workspace that has any; none if they cannot be read."""
    try:
        with open_engine(settings, embedding=False) as engine:
            counts = {name: engine.count(name) for name in engine.store.workspaces()}
    except StorageError as error:
        show.print_note(str(error))
        return {}
    pending = {name: count.items - count.vectors.get("semantic", 0) for name, count in counts.items()}
    return {name: number for name, number in pending.items() if number > 0}


def _show_service_status(facts: dict[str, Any]) -> None:
    if facts["running"]:
        spool, port, megabytes = facts["spool"], facts["http_port"], facts["resident_bytes"] / 1e6
        show.print_text(f"process {facts['pid']}, version {facts['version']}, serving {facts['home']}")
        uptime = f"up {facts['uptime_seconds']:,.0f} s, {megabytes:,.0f} MB"
        show.print_text(f"{uptime}, {facts['in_flight']} in flight")
        show.print_text(f"http://127.0.0.1:{port}" if port else "no HTTP (yet)")
        show.print_text(
            f"spool: {number_with_noun(spool['files'], 'event')}, {number_with_noun(spool['bytes'], 'byte')}"
        )
        for event, each in facts["events"].items():
            times = f"p50 {each['p50_ms']:.1f} ms, p99 {each['p99_ms']:.1f} ms"
            show.print_text(f"{event}: {each['count']:,} asked, {times}")
        names = ("refused", "late", "failed", "strangers", "malformed")
        if failures := [f"{facts[name]:,} {name}" for name in names if facts[name]]:
            show.print_text(", ".join(failures))
    else:
        none = "no service is running; a hook will start one, and so does: foreword serve"
        show.print_note(facts.get("error", none))
    if facts["keeps_nothing"]:
        show.print_text(facts["keeps_nothing"])
    for workspace, number in facts["pending_vectors"].items():
        show.print_text(f"{workspace}: {number_with_noun(number, 'item')} without a vector")


# Hook ----------------------------------------------------------------------------------------------------


@command("hook", "foreword hook --event UserPromptSubmit < event.json\nforeword hook --direct < event.json")
@click.option("--event", default="", metavar="E", help="The event's name [default: what the JSON says].")
@click.option("--agent", default="-", metavar="A", help="claude-code, codex, gemini, opencode, or another.")
@click.option("--deadline-ms", type=click.FloatRange(1), default=2000.0, show_default=True, metavar="MS")
@click.option("--direct", is_flag=True, help="Answer in this process, without the service.")
def answer_one_hook(call: CliCall, event: str, agent: str, deadline_ms: float, direct: bool) -> int:
    """Answer one hook event by hand, as an agent would be answered.

    The event is JSON on stdin. Prints the answer, if there is one; what happened is said on stderr. An agent
    runs hook_client.py, which is quicker, and silent.
    """
    payload = sys.stdin.buffer.read()
    settings = load_settings()
    name = event or str(_parse_event_json(payload).get("hook_event_name", ""))
    began = time.monotonic()
    if direct:
        with _answer_in_this_process(settings, payload, began + deadline_ms / 1000) as answer:
            _print_hook_answer(call, name, answer, "in this process", began)
        return 0
    try:
        answer = _ask_service(settings, payload, name, agent, deadline_ms)
    except (OSError, NoAnswer) as error:
        advice = "see: foreword status, or try: foreword hook --direct"
        raise ForewordError(f"the service gave no answer ({error}); {advice}") from error
    _print_hook_answer(call, name, answer, "by the service", began)
    return 0


def _print_hook_answer(call: CliCall, event: str, answer: bytes, answered_by: str, began: float) -> None:
    """Print the answer on stdout, and on stderr who gave it and how long it took."""
    taken = (time.monotonic() - began) * 1000
    if call.as_json:
        content = json.loads(answer) if answer else None
        show.print_json({"event": event, "answer": content, "milliseconds": round(taken, 1)})
    elif answer:
        click.echo(answer.decode())
    length = number_with_noun(len(answer.decode()), "character") if answer else "nothing to say"
    show.print_note(f"{event or 'an event'} was answered {answered_by} in {taken:.0f} ms: {length}")


def _parse_event_json(payload: bytes) -> dict[str, Any]:
    """The event as a JSON object; raises a usage error for anything else."""
    try:
        event = json.loads(payload)
    except ValueError as error:
        raise click.UsageError(f"the event on stdin is not JSON: {error}") from error
    if not isinstance(event, dict):
        raise click.UsageError("the event on stdin is not a JSON object")
    return event


@contextlib.contextmanager
def _answer_in_this_process(settings: Settings, payload: bytes, deadline: float) -> Iterator[bytes]:
    """Yield the answer, so that it can be printed in time, and then store the event."""
    from foreword.edges.service.responder import HookResponder

    with open_engine(settings) as engine:
        responder, at = HookResponder(engine), datetime.now(UTC)
        reply = responder.answer(payload, at, max(1.0, (deadline - time.monotonic()) * 1000))
        yield reply.body
        responder.store_answered_event(payload, at, reply)


# Asking the service --------------------------------------------------------------------------------------


def check_service(settings: Settings) -> Finding:
    """A finding about whether the service answers an event; the event leaves nothing in memory."""
    if not hook_fallback.is_service_running(str(settings.home.absolute())):
        return Finding("service", "not running; the next hook starts it")
    began = time.monotonic()
    try:
        _ask_service(settings, b'{"hook_event_name": "Doctor"}', "", "-", _STATUS_DEADLINE_MS)
    except (OSError, NoAnswer) as error:
        log = settings.home / "run" / "service.log"
        advice = f"see {log}; run: foreword stop"
        return Finding("service", f"does not answer: {error}", ok=False, advice=advice)
    return Finding("service", f"answers an event in {(time.monotonic() - began) * 1000:.0f} ms")


def _ask_service_status(settings: Settings) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(_ask_service(settings, b"", "", "status", _STATUS_DEADLINE_MS))
    return status


def _ask_service(settings: Settings, payload: bytes, event: str, agent: str, deadline_ms: float) -> bytes:
    """The service's answer to one event; raises OSError or NoAnswer if there is none."""
    options = ["--home", str(settings.home), "--agent", agent, "--event", event]
    options += ["--deadline-ms", str(deadline_ms), "--python", sys.executable]
    with contextlib.chdir(os.curdir):  # connecting changes to the folder of the socket; this changes back
        return hook_client.ask_service(HookEvent(options, time.monotonic()), payload)


# MCP -----------------------------------------------------------------------------------------------------


@command("mcp", "claude mcp add foreword -- foreword mcp\nforeword mcp --http --port 8765")
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 instead of stdin and stdout.")
@click.option("--port", type=port_type, default=0, metavar="N", help="With --http; 0 is any free one.")
def serve_mcp(call: CliCall, http: bool, port: int) -> int:
    """Serve memory to an agent that speaks the Model Context Protocol.

    An agent starts this itself and talks to it on stdin and stdout. With --http it serves HTTP on 127.0.0.1
    to whoever holds the token; where both are is said first.
    """
    try:
        for module in ("mcp.server", *(["uvicorn"] if http else [])):
            importlib.import_module(module)
    except ImportError:
        raise MissingExtra("mcp", "server") from None
    project = os.environ.get(_PROJECT_VARIABLE, "")
    if call.workspace_option is None and project and Path(project).is_dir():
        call = CliCall(workspace_of(Path(project)), call.as_json)
    workspace, settings = call.workspace, load_settings()
    if http:
        _serve_mcp_on_http(call, settings, workspace, port)
    else:
        _serve_mcp_on_stdio(settings, workspace)
    return 0


def _serve_mcp_on_stdio(settings: Settings, workspace: str) -> None:
    from foreword.edges.mcp import server

    if sys.stdin.isatty():
        show.print_note(
            "an agent is expected on stdin, not a person; see: foreword mcp --help (Ctrl-D ends this)"
        )
    with contextlib.ExitStack() as stack:
        server(_open_engine_lazily(settings, stack), workspace).run("stdio")


def _open_engine_lazily(settings: Settings, stack: contextlib.ExitStack) -> Callable[[], ContextEngine]:
    """A function that opens the engine at its first call, so that starting is quick."""
    lock = threading.Lock()
    opened: list[ContextEngine] = []

    def get_engine() -> ContextEngine:
        with lock:
            if not opened:
                opened.append(stack.enter_context(open_engine(settings)))
            return opened[0]

    return get_engine


def _serve_mcp_on_http(call: CliCall, settings: Settings, workspace: str, port: int) -> None:
    """Serve MCP on 127.0.0.1 until it is stopped; print the address and the token's file first."""
    from foreword.edges.service.__main__ import build_application
    from foreword.edges.service.loopback import listen_on_loopback, make_uvicorn_server

    make_private_folder(str(settings.home.absolute()), "run")
    folder = RunFolder(settings.home)
    token = folder.read_or_create_token()
    with listen_on_loopback(port) as listening, open_engine(settings) as engine:
        bound_port = listening.getsockname()[1]
        facts = {"url": f"http://127.0.0.1:{bound_port}/mcp", "token_file": str(folder.token_file)}
        app = build_application(
            engine, token=token, port=bound_port, status=lambda: facts, workspace=workspace
        )
        call.answer(facts, note=f"MCP at {facts['url']}; the token is in {facts['token_file']}")
        make_uvicorn_server(app).run(sockets=[listening])
