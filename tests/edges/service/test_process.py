"""The service as a process: one a home, answering in time, leaving no trace of itself."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.edges import hook_client
from foreword.edges.hook_client import Hook
from foreword.edges.service import measures, process, socket_server
from foreword.edges.service.run_folder import RunFolder

ROOT = os.geteuid() == 0


def tell(home, event, deadline_ms=5000.0, agent="claude-code"):
    """Ask in this process, over the socket."""
    told = ["--home", str(home), "--agent", agent, "--deadline-ms", str(deadline_ms)]
    with contextlib.chdir("."):
        return hook_client.ask(Hook(told, time.monotonic()), json.dumps(event).encode())


def connect(home):
    met = socket.socket(socket.AF_UNIX)
    met.settimeout(10)
    with contextlib.chdir(home / "run"):
        met.connect("service.sock")
    return met


# Answering


def test_an_event_is_stored_and_answered(serve, hook, stored):
    serve()
    assert json.loads(hook(prompt="Deploys are on Tuesdays.", deadline_ms=5000).out) == {
        "heard": "Deploys are on Tuesdays."
    }
    assert stored() == ["Deploys are on Tuesdays."]


def test_what_is_not_ready_by_the_deadline_is_nothing_and_is_stored_all_the_same(serve, home, stored, until):
    running = serve()
    began = time.monotonic()
    with contextlib.suppress(TimeoutError):  # a machine under load may miss both deadlines, which are near
        assert tell(home, {"prompt": "slowly", "session_id": "s", "slow": 0.8}, deadline_ms=300) == b""
    assert time.monotonic() - began < 0.8
    until(lambda: stored() == ["slowly"])
    assert running.status()["late"] == 1


def test_a_request_whose_hook_has_left_is_stored(serve, home, stored, until):
    serve()
    payload = json.dumps({"prompt": "said and gone", "session_id": "s", "slow": 0.2}).encode()
    met = connect(home)
    met.sendall(b"FWD1 5000 1760000000.0 claude-code %d\n%s" % (len(payload), payload))
    met.close()
    assert until(lambda: stored() == ["said and gone"])


def test_a_request_that_came_while_everything_stood_still_is_stored_once(serve, hook, settled, until):
    running = serve()
    os.kill(running.pid, signal.SIGSTOP)
    assert hook(prompt="said into the void", deadline_ms=150).out == b""
    os.kill(running.pid, signal.SIGCONT)
    until(lambda: running.status()["events"])
    assert settled() == ["said into the void"]


def test_an_event_that_fails_is_kept_and_set_aside_if_it_fails_for_ever(serve, home, until):
    serve()
    assert tell(home, {"session_id": "s", "fail": "a bug", "prompt": 7}) == b""  # (a prompt must be text)
    (bad,) = until(lambda: list((home / "spool").glob("bad/*.event")))
    assert json.loads(bad.read_bytes())["fail"] == "a bug"
    assert "a bug" in (home / "run" / "service.log").read_text()


def test_an_event_that_fails_once_is_stored_later(serve, home, settled):
    running = serve()
    tell(home, {"session_id": "s", "fail": "the disk was busy", "prompt": "kept"})
    assert settled() == ["kept"]
    assert running.status()["failed"] == 1


def test_an_answer_that_is_too_long_is_not_given(serve, home):
    serve()
    assert tell(home, {"long": 20_000}) == b""
    assert len(tell(home, {"long": 9_000})) > 9_000


def test_more_requests_than_there_is_room_for_are_hung_up_on(serve, home, stored, until):
    """Hung up on, a hook keeps its event; nothing grows."""
    running = serve()
    count = socket_server.MOST_REQUESTS + 8
    began = threading.Barrier(count)

    def ask(number):
        payload = json.dumps({"prompt": f"{number:03}", "session_id": "s", "slow": 1.0}).encode()
        with connect(home) as met:
            began.wait()
            with contextlib.suppress(ConnectionError):  # hung up on before all was said
                met.sendall(b"FWD1 200 1760000000.0 - %d\n%s" % (len(payload), payload))
                return met.recv(100)
        return b""

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        answers = list(pool.map(ask, range(count)))
    assert set(answers) == {b"", b"FWD1 0\n"}
    refused = answers.count(b"")
    assert refused == running.status()["refused"] >= 1
    until(lambda: running.status()["in_flight"] == 0)
    assert len(stored()) == count - refused


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"FWD1 250 now claude-code 2\n{}",
        b"FWD1 250 1760000000.0 claude-code -1\n",
        b"FWD1 250 1760000000.0 claude-code 99999999999\n",
        b"FWD1 soon 1760000000.0 claude-code 2\n{}",
        b"FWD1 250 1760000000.0 claude-code 20\n{}",
        b"\xff\xfe\n",
        b"x" * 100_000,
    ],
    ids=lambda said: repr(said[:30]),
)
def test_what_is_not_a_request_is_not_answered(shared, said):
    met = connect(shared.home)
    with contextlib.suppress(OSError):
        met.sendall(said)
        met.shutdown(socket.SHUT_WR)
    with contextlib.suppress(ConnectionError):
        assert met.recv(100) == b""
    met.close()
    assert json.loads(tell(shared.home, {"prompt": "still here", "session_id": "s"})) == {
        "heard": "still here"
    }


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One service for tests that leave it as it was."""
    home = tmp_path_factory.mktemp("shared") / "home"
    double = os.path.join(os.path.dirname(__file__), "double.py")  # noqa: PTH118, PTH120
    process = subprocess.Popen(
        [sys.executable, double], env={**os.environ, "FOREWORD_HOME": str(home), "FOREWORD_EMBEDDING": "none"}
    )
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        with contextlib.suppress(OSError, hook_client.Trouble):
            tell(home, {})
            break
        time.sleep(0.02)

    class Shared:
        pass

    Shared.home, Shared.pid = home, process.pid
    yield Shared
    process.kill()
    process.wait()


@given(st.binary(max_size=200))
def test_a_first_line_is_a_request_or_a_value_error(line):
    with contextlib.suppress(ValueError):
        request = socket_server.read_head(line)
        assert 0 <= request.length <= hook_client.MOST_BYTES


# One a home


def test_a_second_service_leaves_the_first_alone(serve, home):
    running = serve()
    second = subprocess.run([sys.executable, "-P", "-m", "foreword.edges.service"], check=False, timeout=30)
    assert second.returncode == 1
    assert running.status()["pid"] == running.pid


def test_the_files_are_for_their_owner_alone(serve, home):
    serve()
    for path in (home / "run").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    assert (home / "run").stat().st_mode & 0o777 == 0o700


def test_a_killed_services_lock_and_socket_are_in_nobodys_way(serve, home):
    serve().kill()
    assert (home / "run" / "service.sock").exists()
    assert RunFolder(home).running() is None
    assert serve().status()["pid"]


def test_told_to_stop_it_finishes_what_it_was_asked_and_takes_its_socket_along(serve, home, stored):
    running = serve()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asking = pool.submit(tell, home, {"prompt": "last words", "session_id": "s", "slow": 0.5})
        while not running.status()["in_flight"]:
            time.sleep(0.01)
        assert running.stop() == 0
        assert json.loads(asking.result()) == {"heard": "last words"}
    assert stored() == ["last words"]
    assert not (home / "run" / "service.sock").exists()
    assert not (home / "run" / "http.json").exists()
    assert RunFolder(home).running() is None


def test_idle_it_leaves(home):
    command = [sys.executable, "-P", "-m", "foreword.edges.service", "--idle-minutes", "0.001"]
    assert subprocess.run(command, check=False, timeout=30).returncode == 0
    assert "nothing was asked for 0.001 minutes" in (home / "run" / "service.log").read_text()


def test_a_service_whose_socket_was_taken_away_leaves(serve, home):
    running = serve()
    (home / "run" / "service.sock").unlink()
    (home / "run" / "service.sock").write_text("another's")
    assert running.process.wait(20) == 0
    assert (home / "run" / "service.sock").read_text() == "another's"


def test_an_engine_that_cannot_be_opened_is_an_exit_code_and_a_line(home, monkeypatch):
    monkeypatch.setenv("FOREWORD_TEMPLATE", "no-such-template")
    done = subprocess.run([sys.executable, "-P", "-m", "foreword.edges.service"], check=False, timeout=30)
    assert done.returncode == 3
    assert "the service cannot run: " in (home / "run" / "service.log").read_text()
    assert not (home / "run" / "service.sock").exists()


# Strangers


@pytest.mark.skipif(not ROOT, reason="only root can be somebody else")
def test_another_user_is_not_answered(serve, home, until):
    running = serve()
    for folder in (home / "run", home, *(one for one in home.parents if "pytest-of-" in str(one))):
        folder.chmod(0o755)
    (home / "run" / "service.sock").chmod(0o777)
    pid = os.fork()
    if not pid:
        code = 1
        try:
            os.chdir(home / "run")
            os.setuid(65534)
            met = socket.socket(socket.AF_UNIX)
            met.connect("service.sock")
            met.sendall(b"FWD1 1000 0 status 0\n")
            code = 0 if met.recv(10) == b"" else 2
        except ConnectionResetError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert running.status()["strangers"] == 1


# What it says of itself


def test_the_status_tells_times_by_event(serve, home, asked):
    serve()
    for number in range(3):
        tell(home, {"hook_event_name": "UserPromptSubmit", "prompt": str(number), "session_id": "s"})
    told = asked()
    assert told["events"]["UserPromptSubmit"]["count"] == 3
    assert 0 < told["events"]["UserPromptSubmit"]["p50_ms"] <= told["events"]["UserPromptSubmit"]["p99_ms"]
    assert told["resident_bytes"] > 10_000_000
    assert told["spool"] == {"files": 0, "bytes": 0}
    text = measures.prometheus(told)
    assert 'foreword_requests_total{event="UserPromptSubmit"} 3' in text.splitlines()
    assert all(line.startswith(("# ", "foreword_")) for line in text.splitlines())


def test_a_plan_is_read_from_the_command_line():
    assert process.read_plan([]) == process.Plan()
    assert process.read_plan(["--idle-minutes", "0", "--port", "8123"]) == process.Plan(8123, 0.0)
