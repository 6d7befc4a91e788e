from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from foreword.config import Settings
from foreword.edges import hook_client
from foreword.edges.cli.main import run as run_command
from foreword.edges.hook_client import HookEvent, NoAnswer
from foreword.edges.service.loopback import listen_on_loopback, make_uvicorn_server
from foreword.edges.service.run_folder import RunFolder
from foreword.engine.context_engine import ContextEngine

DOUBLE = Path(__file__).parent / "service" / "double.py"
CLIENT = [os.path.realpath(sys.executable), "-I", "-S", hook_client.__file__]
SECONDS = 120.0
"""How many seconds anything is waited for before a test fails: no test is about speed."""

# The command line


@dataclass(frozen=True)
class Ran:
    """What a command did: its exit code, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self, typed: str = "") -> None:
        super().__init__(io.BytesIO(typed.encode()), encoding="utf-8")

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal():
    return Terminal


@pytest.fixture
def foreword(tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own, without a model; gives exit code, stdout and stderr."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FOREWORD_EMBEDDING", "none")

    def run(*arguments: str, stdin: bytes | Terminal = b"") -> Ran:
        piped = (
            stdin if isinstance(stdin, Terminal) else io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
        )
        monkeypatch.setattr("sys.stdin", piped)
        capsys.readouterr()
        code = run_command(list(arguments))
        return Ran(code, *capsys.readouterr())

    yield run
    logger = logging.getLogger("foreword")
    logger.handlers = []
    logger.setLevel(logging.NOTSET)


@pytest.fixture
def shop(foreword):
    """A workspace with three items; gives their ids."""
    texts = {
        "postgres": ("We chose Postgres over MySQL for its JSON operators.", "decision"),
        "tuesday": ("Deploys happen on Tuesdays, never on Fridays.", "workflow"),
        "timeout": ("The session timeout for staff is thirty minutes.", "fact"),
    }
    return {
        name: foreword("remember", text, "--type", label, "--session", name, "--source", "mara").out.strip()
        for name, (text, label) in texts.items()
    }


# The service and its hooks


def until(condition, reason):
    """Wait until a condition holds; gives its value, or fails with the reason after two minutes."""
    ends = time.monotonic() + SECONDS
    while not (value := condition()):
        assert time.monotonic() < ends, reason
        time.sleep(0.01)
    return value


def until_none(list_left, reason):
    """Wait until nothing is left; fails with the reason if for two minutes nothing becomes less."""
    left, ends = len(list_left()), time.monotonic() + SECONDS
    while left:
        assert time.monotonic() < ends, f"{reason}: {left} left"
        time.sleep(0.01)
        if (now := len(list_left())) < left:
            left, ends = now, time.monotonic() + SECONDS


@pytest.fixture(name="until")
def _until():
    return until


@pytest.fixture(name="until_none")
def _until_none():
    return until_none


@dataclass(frozen=True)
class HookResult:
    """What a hook did: its exit code, and what it wrote."""

    code: int
    out: bytes


@dataclass
class Running:
    """A service that was started, as a process of ours."""

    process: subprocess.Popen[bytes]
    home: Path

    @property
    def pid(self):
        return self.process.pid

    def status(self):
        return status(self.home)

    def kill(self):
        self.process.kill()
        self.process.wait(SECONDS)

    def stop(self):
        self.process.terminate()
        return self.process.wait(SECONDS)


def status(home):
    """What the service of a home says of itself."""
    options = ["--home", str(home), "--agent", "status", "--deadline-ms", "5000"]
    with contextlib.chdir("."):
        return json.loads(hook_client.ask_service(HookEvent(options, time.monotonic()), b""))


def start_double(home, *options, **environment):
    """Start the double's service; gives it when it is ready."""
    process = subprocess.Popen([sys.executable, str(DOUBLE), *options], env={**os.environ, **environment})

    def is_ready():
        assert process.poll() is None, "the service has ended"
        with contextlib.suppress(OSError, NoAnswer):
            return status(home)

    until(is_ready, "the service was never ready")
    return Running(process, home)


@pytest.fixture
def service_status(home):
    """Ask the service of this home for its status."""
    return lambda: status(home)


@pytest.fixture
def no_model(monkeypatch):
    """What is started makes no vectors."""
    monkeypatch.setenv("FOREWORD_EMBEDDING", "none")


@pytest.fixture
def home(home):
    """A home whose service, whoever started it, does not outlive the test."""
    yield home

    def is_gone():
        pids = {RunFolder(home).running_pid() or 0, *_services_of(home)}
        pids -= {0, os.getpid()}  # (a test that failed may hold the lock itself)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids

    until(is_gone, "a service outlives its test")


def _services_of(home):
    """The processes that are becoming a service of this home, and do not hold its lock yet."""
    if not (home / "run").exists() or not Path("/proc/self/environ").exists():
        return
    ours = f"FOREWORD_HOME={home}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            is_service = b"foreword.edges.service" in (entry / "cmdline").read_bytes()
            if is_service and ours in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)


@pytest.fixture
def python(tmp_path):
    """What a hook takes for the service's interpreter: it starts the double, while the test lasts."""
    path, started = tmp_path / "python", tmp_path / "started"
    path.write_text(f'#!/bin/sh\necho $$ >> "{started}"\nexec "{sys.executable}" "{DOUBLE}" "$@"\n')
    path.chmod(0o700)
    yield str(path)
    path.unlink()  # a hook may still be about to start it
    for pid in started.read_text().split() if started.exists() else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


@pytest.fixture
def serve(home):
    """Start the double's service and wait until it is ready."""
    started = []

    def start(*options):
        started.append(start_double(home, *options))
        return started[-1]

    yield start
    for running in started:
        running.kill()


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory):
    """One service for tests that leave it as it was."""
    home = tmp_path_factory.mktemp("shared") / "home"
    running = start_double(home, FOREWORD_HOME=str(home), FOREWORD_EMBEDDING="none")
    yield running
    running.kill()


@pytest.fixture
def serve_application():
    """Serve an application on loopback while a block lasts: `with served(build) as port`.

    `build` is given the port, and gives the application.
    """

    @contextlib.contextmanager
    def serve_while(build):
        with listen_on_loopback() as listening:
            port = listening.getsockname()[1]
            server = make_uvicorn_server(build(port))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
            thread.start()
            try:
                yield port
            finally:
                server.should_exit = True
                thread.join(SECONDS)
                assert not thread.is_alive(), "the server does not stop"

    return serve_while


@pytest.fixture
def first_json():
    """The JSON object that a process prints first; one that prints none in time is killed."""

    def read(process):
        too_late = threading.Timer(SECONDS, process.kill)
        too_late.start()
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, f"the process ended after printing {text!r}"
            text += line
        too_late.cancel()
        return json.loads(text)

    return read


@pytest.fixture
def hook(home, python):
    """Run the hook as an agent does; with `answered`, under a deadline that a busy machine cannot miss.

    Only tests that expect an answer ask for that: starting an interpreter counts, and it can take longer
    than the 250 ms that an agent waits when every core is taken.
    """

    def run(event="UserPromptSubmit", payload=None, interpreter=python, answered=False, **fields):
        event_json = {"hook_event_name": event, "session_id": "s1", "cwd": "/nowhere", **fields}
        sent = json.dumps(event_json).encode() if payload is None else payload
        command = [
            *CLIENT, "--home", str(home), "--agent", "claude-code", "--event", event, "--python", interpreter,
            *(("--deadline-ms", "30000") if answered else ()),
        ]  # fmt: skip
        done = subprocess.run(command, input=sent, capture_output=True, timeout=SECONDS, check=False)
        assert done.stderr == b""
        return HookResult(done.returncode, done.stdout)

    return run


@pytest.fixture
def stranger(home):
    """Listen where the service would, and do something else with whoever connects; gives what ends it."""
    stopping = threading.Event()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    threads, connections = [], []

    def start(behaviour):
        (home / "run").mkdir(parents=True, mode=0o700)
        with contextlib.chdir(home / "run"):
            listening.bind("service.sock")
        listening.listen(128)
        listening.settimeout(0.05)

        def loop():
            while not stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    connection = listening.accept()[0]
                    connection.settimeout(SECONDS / 2)
                    connections.append(connection)
                    behaviour(connection)

        threads.append(threading.Thread(target=loop, daemon=True))
        threads[-1].start()
        return stop

    def stop():
        stopping.set()
        for thread in threads:
            thread.join(SECONDS)
            assert not thread.is_alive(), "the stranger is still busy"
        for connection in (*connections, listening):
            connection.close()

    yield start
    stop()


@pytest.fixture
def stored_texts(home):
    """The texts that the store of this home holds, each as often as it does."""

    def texts(workspace="shop"):
        with ContextEngine(settings=Settings(home=home, embedding="none")) as engine:
            return sorted(item.text for item in engine.store.scan(workspace))

    return texts


@pytest.fixture
def spool_files(home):
    """The files that wait in the spool."""
    return lambda: sorted((home / "spool").glob("*.event"))


@pytest.fixture
def wait_for_log(home):
    """Wait until the hook's log says something; gives all it says."""
    log = home / "run" / "hook.log"

    def wait(text):
        until(lambda: log.exists() and text in log.read_text(), f"the hook's log never said {text!r}")
        return log.read_text()

    return wait


@pytest.fixture
def wait_until_settled(spool_files, stored_texts):
    """Wait until nothing waits in the spool; gives what is stored."""

    def wait():
        until(lambda: not spool_files(), "the spool is never empty")
        return stored_texts()

    return wait
