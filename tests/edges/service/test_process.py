"""The service as a process: one a home, answering in time, leaving no trace of itself."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.edges import hook_client
from foreword.edges.hook_client import HookEvent
from foreword.edges.service import measures, process, socket_server
from foreword.edges.service.run_folder import RunFolder
from foreword.edges.shared.spool_files import write_to_spool
from foreword.edges.shared.vector_requests import request_vectors

pytestmark = pytest.mark.slow

ROOT = os.geteuid() == 0
AT = "1760000000.000000"
"""When every event that `send` sends happened."""


@pytest.fixture
def gate(tmp_path):
    """A file that is not there yet: events that name it are worked on once it is."""
    return tmp_path / "gate"


def tell(home, event, deadline_ms=30_000.0, agent="claude-code"):
    """Ask in this process, over the socket."""
    options = ["--home", str(home), "--agent", agent, "--deadline-ms", str(deadline_ms)]
    with contextlib.chdir("."):
        return hook_client.ask_service(HookEvent(options, time.monotonic()), json.dumps(event).encode())


def is_noted(path):
    """Whether something was written to a file; one that was only just made is empty."""
    return path.exists() and path.stat().st_size > 0


def connect(home):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    with contextlib.chdir(home / "run"):
        connection.connect("service.sock")
    return connection


def send(home, event, deadline_ms=30_000):
    """Send an event as a hook does, and leave its answer on the connection."""
    payload = json.dumps({"session_id": "s", **event}).encode()
    connection = connect(home)
    connection.sendall(b"FWD2 %d %s - %d\n%s" % (deadline_ms, AT.encode(), len(payload), payload))
    return connection


def receive(connection):
    """The answer on a connection; the line before it that says the event is kept is passed over."""
    answer = connection.makefile("rb")
    while (head := answer.readline()) == b"FWD2 kept\n":
        pass
    return answer.read(int(head.split()[1])) if head else None


def test_requests_for_vectors_are_taken_by_the_service_that_runs_and_by_the_next_one(serve, home, until):
    requests = home / "vector-requests"
    request_vectors(home, "shop")
    request_vectors(home, "shop")
    assert len(list(requests.iterdir())) == 1
    serve()
    until(lambda: not list(requests.iterdir()), "the request was not taken")
    request_vectors(home, "museum")
    until(lambda: not list(requests.iterdir()), "the second request was not taken")


# Answering


def test_an_event_is_stored_and_answered(serve, hook, wait_until_settled):
    serve()
    answer = hook(prompt="Deploys are on Tuesdays.", answered=True).out
    assert json.loads(answer) == {"heard": "Deploys are on Tuesdays."}
    assert wait_until_settled() == ["Deploys are on Tuesdays."]


def test_what_is_not_ready_by_the_deadline_is_nothing_and_is_stored_all_the_same(
    serve, home, gate, stored_texts, until
):
    running = serve()
    with send(home, {"prompt": "slowly", "gate": str(gate)}, deadline_ms=100) as connection:
        assert receive(connection) == b""  # while the work waits at the gate
    assert running.status()["late"] == 1
    gate.touch()
    until(lambda: stored_texts() == ["slowly"], "the event was not stored")


def test_an_answer_that_its_hook_has_shown_counts_as_delivered(serve, hook, home, until):
    serve()
    hook(prompt="heard", answered=True)
    until(lambda: is_noted(home / "delivered"), "the delivery was not noted")
    assert (home / "delivered").read_text() == "heard\n"
    assert not (home / "undelivered").exists()


def test_an_answer_that_comes_too_late_counts_as_not_delivered(serve, home, gate, until):
    serve()
    with send(home, {"prompt": "too late", "gate": str(gate)}, deadline_ms=200) as connection:
        assert receive(connection) == b""
    gate.touch()
    until(lambda: is_noted(home / "undelivered"), "nothing was noted")
    assert (home / "undelivered").read_text() == "too late\n"
    assert not (home / "delivered").exists()


def test_an_answer_whose_hook_leaves_without_a_word_counts_as_not_delivered(serve, home, until):
    serve()
    with send(home, {"prompt": "half way"}) as connection:
        assert receive(connection)
    until(lambda: is_noted(home / "undelivered"), "nothing was noted")
    assert not (home / "delivered").exists()


def test_an_event_is_on_the_disk_before_its_hook_would_give_up_and_survives_a_kill(
    serve, home, gate, spool_files, wait_until_settled
):
    running = serve()
    with send(home, {"prompt": "slow disk", "gate": str(gate)}, deadline_ms=1000) as connection:
        assert connection.makefile("rb").readline() == b"FWD2 kept\n"
        running.kill()
    assert [json.loads(file.read_bytes())["prompt"] for file in spool_files()] == ["slow disk"]
    serve()
    assert wait_until_settled() == ["slow disk"]


def test_a_finished_answer_is_given_although_the_event_could_not_be_kept(serve, home, until):
    serve()

    def put_a_file_in_its_place():  # the service makes the folder again, now and then
        with contextlib.suppress(OSError):
            (home / "spool").rename(home / f"elsewhere-{time.monotonic_ns()}")
            (home / "spool").write_text("no folder")
        return (home / "spool").is_file()

    until(put_a_file_in_its_place, "the folder is always there")
    answer = json.loads(tell(home, {"session_id": "s", "prompt": "said", "unkept": True}))
    assert answer["heard"] == "said"
    assert "what was just said is not remembered: a file is in its place" in answer["systemMessage"]


def test_a_request_whose_hook_has_left_is_stored(serve, home, gate, stored_texts, until):
    serve()
    send(home, {"prompt": "said and gone", "gate": str(gate)}).close()
    gate.touch()
    until(stored_texts, "the event was not stored")
    assert stored_texts() == ["said and gone"]


def test_a_request_that_came_while_everything_stood_still_is_stored_once(
    serve, home, wait_until_settled, until
):
    """Its hook gave up and left a copy in the spool; the service finds both."""
    running = serve()
    os.kill(running.pid, signal.SIGSTOP)
    event = {"session_id": "s", "prompt": "said into the void"}
    send(home, event, deadline_ms=100).close()
    write_to_spool(str(home), AT, json.dumps(event).encode())
    os.kill(running.pid, signal.SIGCONT)
    until(lambda: running.status()["events"], "the request was not worked on")
    assert wait_until_settled() == ["said into the void"]


def test_an_event_that_fails_is_kept_and_set_aside_if_it_fails_for_ever(serve, home, until):
    serve()
    assert tell(home, {"session_id": "s", "fail": "a bug", "prompt": 7}) == b""  # (a prompt must be text)
    (bad,) = until(lambda: list((home / "spool").glob("bad/*.event")), "the event was not set aside")
    assert json.loads(bad.read_bytes())["fail"] == "a bug"
    assert "a bug" in (home / "run" / "service.log").read_text()


def test_an_event_that_fails_once_is_stored_later(serve, home, wait_until_settled):
    running = serve()
    tell(home, {"session_id": "s", "fail": "the disk was busy", "prompt": "kept"})
    assert wait_until_settled() == ["kept"]
    assert running.status()["failed"] == 1


def test_more_requests_than_there_is_room_for_are_hung_up_on(serve, home, gate, stored_texts, until):
    """Hung up on, a hook keeps its event; nothing grows."""
    running = serve()
    count = socket_server.MAX_REQUESTS
    with contextlib.ExitStack() as closing:
        taken = [send(home, {"prompt": f"{number:03}", "gate": str(gate)}) for number in range(count)]
        for connection in taken:
            closing.enter_context(connection)
        until(lambda: running.status()["in_flight"] == count, "not every request was taken")
        for _ in range(8):
            with contextlib.suppress(ConnectionError), send(home, {"prompt": "too many"}) as refused:
                assert refused.recv(100) == b""
        assert running.status()["refused"] == 8
        gate.touch()
        assert all(receive(connection) for connection in taken)
    assert running.stop() == 0
    assert stored_texts() == [f"{number:03}" for number in range(count)]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"FWD2 250 now claude-code 2\n{}",
        b"FWD2 250 1760000000.0 claude-code -1\n",
        b"FWD2 250 1760000000.0 claude-code 99999999999\n",
        b"FWD2 soon 1760000000.0 claude-code 2\n{}",
        b"FWD2 250 1760000000.0 claude-code 20\n{}",
        b"\xff\xfe\n",
        b"x" * 100_000,
    ],
    ids=lambda said: repr(said[:30]),
)
def test_what_is_not_a_request_is_not_answered(shared_service, said):
    with connect(shared_service.home) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(said)
            connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            assert connection.recv(100) == b""
    answer = tell(shared_service.home, {"prompt": "still here", "session_id": "s"})
    assert json.loads(answer) == {"heard": "still here"}


@given(st.binary(max_size=200))
def test_a_first_line_is_a_request_or_a_value_error(line):
    with contextlib.suppress(ValueError):
        request = socket_server.parse_request_line(line)
        assert 0 <= request.length <= hook_client.MAX_EVENT_BYTES


# One a home


def test_a_second_service_leaves_the_first_alone(serve, home):
    running = serve()
    second = subprocess.run([sys.executable, "-P", "-m", "foreword.edges.service"], check=False, timeout=120)
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
    assert RunFolder(home).running_pid() is None
    assert serve().status()["pid"]


def test_told_to_stop_it_finishes_what_it_was_asked_and_takes_its_socket_along(
    serve, home, gate, stored_texts, until
):
    running = serve()
    with send(home, {"prompt": "last words", "gate": str(gate)}) as connection:
        until(lambda: running.status()["in_flight"], "the request was not taken")
        running.process.terminate()
        until(lambda: not (home / "run" / "service.sock").exists(), "the socket stays")
        gate.touch()
        assert receive(connection) == b'{"heard": "last words"}'
    assert running.process.wait(120) == 0
    assert stored_texts() == ["last words"]
    assert not (home / "run" / "http.json").exists()
    assert RunFolder(home).running_pid() is None


def test_idle_it_leaves(home):
    command = [sys.executable, "-P", "-m", "foreword.edges.service", "--idle-minutes", "0.001"]
    assert subprocess.run(command, check=False, timeout=120).returncode == 0
    assert "nothing was asked for 0.001 minutes" in (home / "run" / "service.log").read_text()


def test_a_service_whose_lock_was_removed_leaves_as_nobody_could_stop_it(serve, home):
    running = serve()
    (home / "run" / "service.lock").unlink()
    assert running.process.wait(120) == 0
    assert not (home / "run" / "service.sock").exists()


def test_a_service_whose_socket_was_taken_away_leaves(serve, home):
    running = serve()
    (home / "run" / "service.sock").unlink()
    (home / "run" / "service.sock").write_text("another's")
    assert running.process.wait(120) == 0
    assert (home / "run" / "service.sock").read_text() == "another's"


def test_an_engine_that_cannot_be_opened_is_an_exit_code_and_a_line(home, monkeypatch):
    monkeypatch.setenv("FOREWORD_TEMPLATE", "no-such-template")
    done = subprocess.run([sys.executable, "-P", "-m", "foreword.edges.service"], check=False, timeout=120)
    assert done.returncode == 3
    assert "the service cannot run: " in (home / "run" / "service.log").read_text()
    assert not (home / "run" / "service.sock").exists()


# Strangers


@pytest.mark.fault
@pytest.mark.skipif(not ROOT, reason="only root can be somebody else")
def test_another_user_is_not_answered(serve, home, until, report_fault):
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
            met.settimeout(60)
            met.connect("service.sock")
            met.sendall(b"FWD2 1000 0 status 0\n")
            code = 0 if met.recv(10) == b"" else 2
        except ConnectionResetError:
            code = 0
        finally:
            os._exit(code)
    _, ended = until(lambda: (found := os.waitpid(pid, os.WNOHANG))[0] and found, "the stranger never ends")
    assert os.waitstatus_to_exitcode(ended) == 0
    assert running.status()["strangers"] == 1
    report_fault(14, {"users turned away": 1})


# What it says of itself


def test_the_status_has_times_by_event(serve, home, service_status):
    serve()
    for number in range(3):
        tell(home, {"hook_event_name": "UserPromptSubmit", "prompt": str(number), "session_id": "s"})
    said = service_status()
    assert said["events"]["UserPromptSubmit"]["count"] == 3
    assert 0 < said["events"]["UserPromptSubmit"]["p50_ms"] <= said["events"]["UserPromptSubmit"]["p99_ms"]
    assert said["resident_bytes"] > 10_000_000
    assert said["spool"] == {"files": 0, "bytes": 0}
    text = measures.prometheus_text(said)
    assert 'foreword_requests_total{event="UserPromptSubmit"} 3' in text.splitlines()
    assert all(line.startswith(("# ", "foreword_")) for line in text.splitlines())


def test_options_are_read_from_the_command_line():
    assert process.read_service_options([]) == process.ServiceOptions()
    assert process.read_service_options(["--idle-minutes", "0", "--port", "8123"]) == process.ServiceOptions(
        8123, 0.0
    )


def test_the_log_holds_no_secrets_and_is_bounded(tmp_path, monkeypatch):
    key = "ghp_" + secrets.token_hex(18)
    path = tmp_path / "service.log"
    root, ours = logging.getLogger(), logging.getLogger("foreword")
    before, levels = list(root.handlers), (root.level, ours.level)
    monkeypatch.setattr(process, "_LOG_BYTES", 10_000)
    try:
        process.set_up_log_file(path, "warning")
        log = logging.getLogger("foreword.service")
        log.warning("a key: %s", key)
        with contextlib.suppress(KeyError):
            try:
                {}[key]
            finally:
                log.exception("failed")
        for number in range(500):
            log.info("line %d of many, to make the file long", number)
    finally:
        for handler in set(root.handlers) - set(before):
            handler.close()
            root.removeHandler(handler)
        root.setLevel(levels[0])
        ours.setLevel(levels[1])
    files = sorted(tmp_path.glob("service.log*"))
    assert len(files) == 4
    assert all(file.stat().st_size <= 10_200 for file in files)
    assert key not in "".join(file.read_text() for file in files)


def test_counts_are_bounded_however_many_names_there_are():
    counted = measures.ServiceMeasures()
    for number in range(500):
        counted.count_request(f"Event{number}", 1.0)
    counts = counted.snapshot()
    assert len(counts["events"]) <= 41
    assert sum(each["count"] for each in counts["events"].values()) == 500


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        (b'{"session_id": "x", "hook_event_name" : "Stop"}', "Stop"),
        (b'{"hook_event_name": "' + b"x" * 100 + b'"}', "other"),
        (b"", "other"),
        (b'\xff\x00"hook_event_name":"A"', "A"),
    ],
)
def test_an_event_is_counted_under_its_own_name(payload, name):
    assert measures.find_event_name(payload) == name
