"""Faults on purpose: whatever becomes of the service, prompts pass, and what was said is stored once."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from foreword.edges import hook_client
from foreword.edges.service.run_folder import RunFolder

pytestmark = pytest.mark.slow

PROMPTS = 100
AT_ONCE = 10
ENOUGH_MS, TOO_MUCH_MS = 1000, 5000
"""The deadline is 250 ms, but here ten processes share the machine with others: nearly all take less than the
first of these, and none hangs."""


def silent(met):
    """Take everything and say nothing."""


def garbage(met):
    with contextlib.suppress(OSError):
        met.sendall(b"\x00\xff not our words\n" * 100)


def half_open(met):
    """Promise an answer and send half of it."""
    with contextlib.suppress(OSError):
        met.sendall(b'FWD1 100\n{"half": ')


@pytest.fixture
def fault(request, home, serve, stranger):
    """Bring the trouble about; gives what ends it, if it does not end by itself."""
    match request.param:
        case "no service":
            return lambda: None
        case "killed":
            serve().kill()
            return lambda: None
        case "stopped":
            running = serve()
            os.kill(running.pid, signal.SIGSTOP)
            return lambda: os.kill(running.pid, signal.SIGCONT)
        case _:
            stranger({"silent": silent, "garbage": garbage, "half open": half_open}[request.param])
            return lambda: None


@pytest.mark.parametrize(
    "fault", ["no service", "killed", "stopped", "silent", "garbage", "half open"], indirect=True
)
def test_every_prompt_passes_and_is_stored_once(fault, hook, settled, until, home):
    texts = [f"prompt {number:03}" for number in range(PROMPTS)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ran = list(pool.map(lambda text: hook(prompt=text), texts))
    assert [each.code for each in ran] == [0] * PROMPTS
    for text, each in zip(texts, ran, strict=True):
        assert each.out == b"" or json.loads(each.out) == {"heard": text}
    times = sorted(each.milliseconds for each in ran)
    assert times[PROMPTS * 9 // 10] <= ENOUGH_MS
    assert times[-1] <= TOO_MUCH_MS
    fault()
    until(lambda: not _asides(home))
    hook("SessionStart", deadline_ms=10_000)  # whoever has not started a service yet does so now
    until(lambda: RunFolder(home).running())
    assert settled() == texts


def test_the_real_responder_stores_once_what_came_by_both_ways(hook, home, until, spooled, stored):
    """A service that stood still finds the event on its socket, and its hook's copy in the spool."""
    key = "ghp_" + secrets.token_hex(18)
    texts = [f"Please look at order {number:02} of the shop, it was paid twice." for number in range(20)]
    hook("SessionStart", deadline_ms=20_000, interpreter=sys.executable)
    pid = RunFolder(home).running()
    os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        told = [f"{text} token={key}" for text in texts]
        assert {each.code for each in pool.map(lambda text: hook(prompt=text), told)} == {0}
    until(lambda: len(spooled()) == len(texts))
    os.kill(pid, signal.SIGCONT)
    until(lambda: not spooled())
    found = stored("/nowhere")
    assert [text.partition(" token")[0] for text in found] == texts
    assert key not in "".join(found)


@pytest.fixture
def session(home, python):
    """One session of an agent: a shell that runs its hooks; it may be killed meanwhile."""

    def run(number, *, killed):
        client = f"{os.path.realpath(sys.executable)} -I -S {hook_client.__file__}"
        common = f"--home {home} --agent claude-code --python {python}"
        prompt = json.dumps({"prompt": f"said in {number:03}", "session_id": f"s{number}"})
        script = (
            f"echo '{{}}' | {client} {common} --event SessionStart --deadline-ms 500; "
            f"echo '{prompt}' | {client} {common} --event UserPromptSubmit --deadline-ms 250"
        )
        with subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.DEVNULL) as agent:
            if killed:
                time.sleep(0.03)
                agent.kill()
            return agent.wait()

    return run


def test_two_hundred_sessions_and_twenty_kills_leave_one_service_and_nothing_else(
    home, session, hook, until, asked
):
    """Ten sessions at a time; every tenth has its agent killed, or the service."""

    def one(number):
        agent, service = number % 20 == 5, number % 20 == 15
        if service and (pid := RunFolder(home).running()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return session(number, killed=agent)

    with ThreadPoolExecutor(10) as pool:
        codes = list(pool.map(one, range(200)))
    assert {code for code in codes if code} <= {-signal.SIGKILL}
    until(lambda: not _asides(home))
    hook("SessionStart", deadline_ms=10_000)
    assert _services(home) == [asked()["pid"]]


def test_memory_stays_flat_from_session_to_session(serve, hook, asked):
    serve()
    weights = []
    for _ in range(3):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda number: hook(prompt=f"prompt {number}", deadline_ms=5000), range(60)))
        weights.append(asked()["resident_bytes"])
    warm, *later = weights
    assert max(later) < 1.1 * warm, weights


def _processes(home, program):
    """The processes of a program that belong to a home."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            about = command + (entry / "environ").read_bytes() if program.encode() in command else b""
            if str(home).encode() in about:
                yield int(entry.name)


def _asides(home):
    """Hooks, and what they do aside, that have not left yet."""
    return list(_processes(home, "hook_client.py"))


def _services(home):
    return list(_processes(home, "double.py"))
