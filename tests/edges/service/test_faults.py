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
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest

from foreword.config import Settings
from foreword.edges import hook_client
from foreword.edges.service.run_folder import RunFolder
from foreword.store.sqlite import SqliteStore

pytestmark = pytest.mark.slow

AT_ONCE = 10


def few_and_many(few, many):
    """A number for every run, and a larger one for the long runs."""
    return [few, pytest.param(many, marks=pytest.mark.soak)]


def silent(connection):
    """Take everything and say nothing."""


def garbage(connection):
    with contextlib.suppress(OSError):
        connection.sendall(b"\x00\xff not our words\n" * 100)


def half_open(connection):
    """Promise an answer and send half of it."""
    with contextlib.suppress(OSError):
        connection.sendall(b'FWD1 100\n{"half": ')


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
            return stranger({"silent": silent, "garbage": garbage, "half open": half_open}[request.param])


@pytest.mark.parametrize("prompts", few_and_many(20, 100))
@pytest.mark.parametrize(
    "fault", ["no service", "killed", "stopped", "silent", "garbage", "half open"], indirect=True
)
def test_every_prompt_passes_while_the_fault_lasts_and_is_stored_once(
    fault, prompts, hook, wait_until_settled, until, home, processes_of, report_fault
):
    texts = [f"prompt {number:03}" for number in range(prompts)]
    waits = []

    def ask(text):
        began = time.monotonic()
        ran = hook(prompt=text)
        waits.append(time.monotonic() - began)
        return ran

    with ThreadPoolExecutor(AT_ONCE) as pool:
        ran = list(pool.map(ask, texts))
    for text, each in zip(texts, ran, strict=True):
        assert each.code == 0
        assert each.out == b"" or json.loads(each.out) == {"heard": text}
    fault()
    until(lambda: not processes_of("hook_client.py"), "a hook never leaves")
    hook("SessionStart", answered=True)  # whoever has not started a service yet does so now
    until(lambda: RunFolder(home).running_pid(), "no service was started")
    stored = wait_until_settled()
    assert set(stored) <= set(texts)
    report_fault(
        7,
        {"prompts": prompts},
        acknowledged=prompts,
        lost=len(set(texts) - set(stored)),
        doubled=sum(count > 1 for count in Counter(stored).values()),
        longest_wait=max(waits),
        saw="every prompt passes",
    )


def test_the_real_responder_stores_once_what_came_by_both_ways(hook, home, until, spool_files, stored_texts):
    """A service that stood still finds the event on its socket, and its hook's copy in the spool."""
    key = "ghp_" + secrets.token_hex(18)
    texts = [f"Please look at order {number:02} of the shop, it was paid twice." for number in range(20)]
    hook("SessionStart", answered=True, interpreter=sys.executable)
    pid = RunFolder(home).running_pid()
    os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        prompts = [f"{text} token={key}" for text in texts]
        assert {each.code for each in pool.map(lambda text: hook(prompt=text), prompts)} == {0}
    until(lambda: len(spool_files()) == len(texts), "an event did not reach the spool")
    os.kill(pid, signal.SIGCONT)
    until(lambda: not spool_files(), "the spool is never empty")
    found = stored_texts("/nowhere")
    assert [text.partition(" token")[0] for text in found] == texts
    assert key not in "".join(found)


def test_a_prompt_that_a_locked_database_keeps_out_survives_the_death_of_the_service(
    hook, home, until, stored_texts
):
    """Another process holds the write lock; the hook exits, the service is killed, and nothing is lost."""
    hook("SessionStart", answered=True, interpreter=sys.executable)
    hook(prompt="The first prompt makes the database.", answered=True, interpreter=sys.executable)
    until(lambda: stored_texts("/nowhere"), "the first prompt was not stored")
    path = SqliteStore(Settings(home=home).home / "workspaces").path_of_database("/nowhere")
    with contextlib.closing(apsw.Connection(str(path))) as other:
        other.set_busy_timeout(120_000)  # the service may still be writing its receipt
        other.execute("BEGIN IMMEDIATE")
        hook(prompt="Please look at order 12, it was paid twice.", interpreter=sys.executable)
        os.kill(RunFolder(home).running_pid(), signal.SIGKILL)
        other.execute("ROLLBACK")
    until(lambda: not RunFolder(home).running_pid(), "the service does not die")
    hook("SessionStart", answered=True, interpreter=sys.executable)
    until(lambda: len(stored_texts("/nowhere")) == 2, "the prompt was lost")
    assert "Please look at order 12, it was paid twice." in stored_texts("/nowhere")


@pytest.fixture
def session(home, python, until, processes_of):
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
                # Somewhere in its first hooks; where does not matter.
                until(lambda: processes_of("hook_client.py") or agent.poll() is not None, "no hook ever runs")
                agent.kill()
            return agent.wait(120)

    return run


@pytest.mark.parametrize("sessions", few_and_many(20, 200))
def test_many_sessions_and_kills_leave_one_service_and_nothing_else(
    home, session, hook, until, service_status, sessions, processes_of, stored_texts, report_fault
):
    """Ten sessions at a time; every tenth has its agent killed, or the service."""

    def one(number):
        agent, service = number % 20 == 5, number % 20 == 15
        if service and (pid := RunFolder(home).running_pid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return session(number, killed=agent)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        codes = list(pool.map(one, range(sessions)))
    assert {code for code in codes if code} <= {-signal.SIGKILL}
    until(lambda: not processes_of("hook_client.py"), "a hook never leaves")
    hook("SessionStart", answered=True)
    until(lambda: processes_of("double.py") == [service_status()["pid"]], "more than one service is left")
    whole = {f"said in {number:03}" for number, code in enumerate(codes) if code == 0}
    until(lambda: whole <= set(stored_texts()), "what a session said was lost")
    stored = Counter(stored_texts())
    report_fault(
        8,
        {"sessions": sessions, "kills of an agent": sum(map(bool, codes))},
        acknowledged=len(whole),
        doubled=sum(count > 1 for count in stored.values()),
        saw="one service is left",
    )


@pytest.mark.parametrize("prompts", few_and_many(20, 60))
def test_memory_stays_flat_from_session_to_session(serve, hook, service_status, prompts):
    serve()
    weights = []
    for _ in range(3):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda number: hook(prompt=f"prompt {number}", answered=True), range(prompts)))
        weights.append(service_status()["resident_bytes"])
    warm, *later = weights
    assert max(later) < 1.1 * warm, weights
