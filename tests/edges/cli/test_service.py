"""The commands around the service, with the real one behind them."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from foreword.config import Settings
from foreword.edges.cli.service import check_service
from foreword.edges.service.run_folder import RunFolder
from foreword.recipes.coding.companion import CodingCompanion

SECONDS = 120.0
PROMPT = {
    "hook_event_name": "UserPromptSubmit",
    "session_id": "s1",
    "cwd": "/work/shop",
    "prompt": "Which day do we deploy the shop on, and who has to be asked first?",
}


def encode_event(event):
    return json.dumps(event).encode()


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch):
    """A service may take its time to start, to answer and to stop: the machine may be busy."""
    monkeypatch.setattr("foreword.edges.cli.service._START_SECONDS", SECONDS)
    monkeypatch.setattr("foreword.edges.cli.service._STOP_SECONDS", SECONDS)
    monkeypatch.setattr("foreword.edges.cli.service._STATUS_DEADLINE_MS", 20_000.0)


@pytest.fixture
def with_service(foreword, home, until):
    assert foreword("serve").code == 0
    yield foreword
    foreword("stop")


def test_a_service_is_started_asked_and_stopped(foreword, home):
    started = foreword("serve", "--json").json
    assert started["started"]
    assert started["pid"] == RunFolder(home).running_pid() != os.getpid()
    assert "already" in foreword("serve").out
    told = foreword("status", "--json")
    assert (told.code, told.json["running"], told.json["pid"]) == (0, True, started["pid"])
    assert f"process {started['pid']}" in foreword("status").out
    stopped = foreword("stop", "--json")
    assert stopped.json == {"stopped": started["pid"]}
    assert RunFolder(home).running_pid() is None
    assert foreword("status").code == 1
    assert "no service is running" in foreword("stop").err


def test_a_hook_by_hand_is_answered_by_the_service(with_service, stored_texts):
    with_service("remember", "Deploys of the shop happen on Tuesdays; ask Priya first.", "-w", "/work/shop")
    ran = with_service(
        "hook", "--event", "UserPromptSubmit", "--deadline-ms", "20000", stdin=encode_event(PROMPT)
    )
    assert ran.code == 0
    assert "UserPromptSubmit was answered by the service in" in ran.err
    assert stored_texts("/work/shop")
    assert with_service("status", "--json").json["events"]["UserPromptSubmit"]["count"] == 1


def test_a_hook_by_hand_can_be_answered_directly(foreword):
    ran = foreword("hook", "--direct", "--json", stdin=encode_event(PROMPT))
    assert (ran.code, ran.json["event"]) == (0, "UserPromptSubmit")
    assert "in this process" in ran.err


def test_a_hook_past_its_deadline_still_keeps_what_it_was_told(foreword, stored_texts):
    for number in range(5):
        event = {**PROMPT, "prompt": f"{PROMPT['prompt']} This is the question number {number}."}
        ran = foreword("hook", "--direct", "--deadline-ms", "1", stdin=encode_event(event))
        assert (ran.code, "lost" in ran.err) == (0, False)
    assert len(stored_texts("/work/shop")) == 5


def test_a_run_past_its_deadline_still_ends_the_experience_of_no_session(foreword):
    tried = {"domain": "debugging", "strategy": "read-the-error", "goal": "make test_retry pass",
             "hypothesis": "the pause is in seconds", "action": "convert it",
             "prediction": "test_retry passes"}  # fmt: skip
    options = [part for name, text in tried.items() for part in (f"--{name}", text)]
    begun = foreword("experience", "start", *options, "-w", "/work/shop").out.strip()
    ran = {"hook_event_name": "PostToolUse", "session_id": "s1", "cwd": "/work/shop", "tool_name": "Bash",
           "tool_input": {"command": "pytest -k test_retry"},
           "tool_response": "test_retry.py . [100%]\n1 passed in 0.10s"}  # fmt: skip
    change = {"file_path": "/work/shop/retry.py", "old_string": "pause", "new_string": "1000 * pause"}
    edited = {**ran, "tool_name": "Edit", "tool_response": "done", "tool_input": change}
    for event in (edited, ran):
        assert foreword("hook", "--direct", "--deadline-ms", "1", stdin=encode_event(event)).code == 0
    (told,) = foreword("experience", "list", "-w", "/work/shop", "--json").json
    assert (told["id"], told["status"]) == (begun, "confirmed")


def test_the_answer_is_given_before_the_rest_is_finished(foreword, monkeypatch):
    waiting = threading.Event()
    keep = CodingCompanion.keep

    def slowly(companion, event):
        assert waiting.wait(SECONDS), "the answer was never printed"
        keep(companion, event)

    def note_text(text):
        told.append(text)
        waiting.set()

    told = []
    monkeypatch.setattr(CodingCompanion, "keep", slowly)
    monkeypatch.setattr("foreword.edges.cli.show.print_note", note_text)
    assert foreword("hook", "--direct", "--deadline-ms", "1", stdin=encode_event(PROMPT)).code == 0
    assert "was answered in this process" in told[0]


def test_a_hook_by_hand_says_when_there_is_no_service(foreword):
    ran = foreword("hook", stdin=encode_event(PROMPT))
    assert (ran.code, ran.out) == (1, "")
    assert "no service is there" in ran.err
    assert "foreword hook --direct" in ran.err


@pytest.mark.parametrize("event", [b"", b"not json", b'["a list"]'])
def test_a_hook_by_hand_wants_json(foreword, event):
    ran = foreword("hook", "--direct", stdin=event)
    assert ran.code == 2
    assert "JSON" in ran.err


def test_what_lacks_a_vector_is_told_by_workspace(foreword):
    foreword("remember", "one", "-w", "shop")
    foreword("remember", "two", "-w", "shop")
    told = foreword("status", "--json").json
    assert told["pending_vectors"] == {"shop": 2}
    assert "shop: 2 items without a vector" in foreword("status").out


def test_a_service_that_does_not_answer_is_told(with_service, home, monkeypatch):
    monkeypatch.setattr("foreword.edges.cli.service._STATUS_DEADLINE_MS", 1_000.0)
    pid = RunFolder(home).running_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        told = with_service("status", "--json")
        assert told.code == 1
        assert f"process {pid} does not answer" in told.json["error"]
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_second_service_in_the_foreground_says_so(with_service):
    ran = with_service("serve", "--foreground")
    assert ran.code == 1
    assert "already" in ran.err


@pytest.mark.slow
def test_http_is_answered_beside_the_hooks(with_service, home, until):
    pytest.importorskip("uvicorn")
    file = home / "run" / "http.json"
    until(file.exists, "the service never wrote its file")
    told = json.loads(file.read_text())
    token = Path(told["token_file"]).read_text().strip()
    address = f"http://127.0.0.1:{told['port']}"

    def get(path, **headers):
        asked = urllib.request.Request(address + path, headers=headers)
        with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
            return answer.read().decode()

    until(
        lambda: with_service("status", "--json").json["http_port"] == told["port"],
        "the status never names the port",
    )
    assert json.loads(get("/health"))["ok"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        get("/v1/status")
    refused.value.close()
    status = json.loads(get("/v1/status", Authorization=f"Bearer {token}"))
    assert status["pid"] == RunFolder(home).running_pid()
    assert "foreword_uptime_seconds" in get("/metrics", Authorization=f"Bearer {token}")
    with_service("stop")
    assert not file.exists()


# Doctor asks the service


@pytest.fixture
def service(home):
    """A process that holds the lock and the socket of a service, and answers what it is told to."""
    run = home / "run"
    run.mkdir(parents=True, mode=0o700)
    held = (
        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print('held', flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", held, str(run / "service.lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert select.select([holder.stdout], [], [], SECONDS)[0], "the lock was not taken in time"
    assert holder.stdout.readline() == "held\n"
    listening = socket.socket(socket.AF_UNIX)
    listening.settimeout(SECONDS)
    asked, threads = [], []

    def answer(reply):
        listening.bind(os.path.relpath(run / "service.sock"))
        listening.listen()

        def serve():
            connection, _ = listening.accept()
            connection.settimeout(SECONDS)
            with connection:
                asked.append(connection.recv(1 << 16))
                connection.sendall(reply)

        threads.append(threading.Thread(target=serve, daemon=True))
        threads[0].start()
        return asked

    yield answer
    listening.close()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive(), "nobody asked the service"
    holder.send_signal(signal.SIGTERM)
    holder.communicate(timeout=SECONDS)


def test_a_service_that_answers_is_well_and_is_asked_nothing_it_would_keep(
    home, tmp_path, monkeypatch, service
):
    monkeypatch.chdir(tmp_path)
    asked = service(b"FWD2 0\n")
    found = check_service(Settings(home=home))
    assert found.ok
    assert found.value.startswith("answers an event in ")
    assert asked[0].endswith(b'{"hook_event_name": "Doctor"}')
    assert os.getcwd() == str(tmp_path)  # noqa: PTH109


def test_a_service_that_says_something_else_is_a_problem(home, tmp_path, monkeypatch, service):
    monkeypatch.chdir(tmp_path)
    service(b"HTTP/1.1 400 Bad Request\n")
    found = check_service(Settings(home=home))
    assert not found.ok
    assert "foreword stop" in found.advice


def test_a_service_without_a_socket_is_a_problem(foreword, tmp_path, monkeypatch, service):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    foreword("install", "codex")
    checks = foreword("doctor", "--json").json["environment"]
    found = next(one for one in checks if one["name"] == "service")
    assert not found["ok"]
    assert "no service is there" in found["value"]


def test_the_status_is_said_although_a_database_cannot_be_read(foreword, shop, home):
    (database,) = home.rglob("memory.db")
    database.write_bytes(b"no database" * 1_000)
    ran = foreword("status")
    assert (ran.code, "no service is running" in ran.err, "damaged" in ran.err) == (1, True, True)
