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
from foreword.edges.hook_client import Hook, Trouble
from foreword.edges.service.run_folder import RunFolder
from foreword.engine.context_engine import ContextEngine

DOUBLE = Path(__file__).parent / "service" / "double.py"
CLIENT = Path(hook_client.__file__)
INTERPRETER = os.path.realpath(sys.executable)
SECONDS = 20.0

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
        given = (
            stdin if isinstance(stdin, Terminal) else io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
        )
        monkeypatch.setattr("sys.stdin", given)
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


def until(true, seconds=SECONDS):
    """Wait until something holds; gives what it gave."""
    ends = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < ends, "it never came about"
        time.sleep(0.01)
    return found


@pytest.fixture(name="until")
def _until():
    return until


@dataclass(frozen=True)
class Hooked:
    """What a hook did: its exit code, what it wrote, how long it took."""

    code: int
    out: bytes
    milliseconds: float


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
        self.process.wait()

    def stop(self):
        self.process.terminate()
        return self.process.wait(SECONDS)


def status(home):
    """What the service of a home says of itself."""
    told = ["--home", str(home), "--agent", "status", "--deadline-ms", "5000"]
    with contextlib.chdir("."):
        return json.loads(hook_client.ask(Hook(told, time.monotonic()), b""))


def ready(home):
    with contextlib.suppress(OSError, Trouble):
        return status(home)
    return None


@pytest.fixture
def asked(home):
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
    while pid := RunFolder(home).running():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


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
        process = subprocess.Popen([sys.executable, str(DOUBLE), *options])
        started.append(process)
        until(lambda: ready(home))
        return Running(process, home)

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def hook(home, python):
    """Run the hook as an agent does."""

    def run(event="UserPromptSubmit", deadline_ms=250, payload=None, interpreter=python, **said):
        told = {"hook_event_name": event, "session_id": "s1", "cwd": "/nowhere", **said}
        given = json.dumps(told).encode() if payload is None else payload
        command = [
            INTERPRETER, "-I", "-S", str(CLIENT), "--home", str(home), "--agent", "claude-code",
            "--event", event, "--deadline-ms", str(deadline_ms), "--python", interpreter,
        ]  # fmt: skip
        began = time.perf_counter()
        done = subprocess.run(command, input=given, capture_output=True, timeout=30, check=False)
        taken = (time.perf_counter() - began) * 1000
        assert done.stderr == b""
        return Hooked(done.returncode, done.stdout, taken)

    return run


@pytest.fixture
def stranger(home):
    """Listen where the service would, and do something else with whoever connects."""
    stopping = threading.Event()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    held = []

    def start(behaviour):
        (home / "run").mkdir(parents=True, mode=0o700)
        with contextlib.chdir(home / "run"):
            listening.bind("service.sock")
        listening.listen(128)
        listening.settimeout(0.05)

        def loop():
            while not stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    met = listening.accept()[0]
                    met.settimeout(5)
                    held.append(met)
                    behaviour(met)

        thread = threading.Thread(target=loop)
        thread.start()
        held.append(thread)

    yield start
    stopping.set()
    for one in held:
        one.join() if isinstance(one, threading.Thread) else one.close()
    listening.close()


@pytest.fixture
def stored(home):
    """The texts that the store of this home holds, each as often as it does."""

    def texts(workspace="shop"):
        with ContextEngine(settings=Settings(home=home, embedding="none")) as engine:
            return sorted(item.text for item in engine.store.scan(workspace))

    return texts


@pytest.fixture
def spooled(home):
    """The files that wait in the spool."""
    return lambda: sorted((home / "spool").glob("*.event"))


@pytest.fixture
def logged(home, until):
    """Wait until the hook's log says something; gives all it says."""
    log = home / "run" / "hook.log"

    def wait(text):
        until(lambda: log.exists() and text in log.read_text())
        return log.read_text()

    return wait


@pytest.fixture
def settled(spooled, stored, until):
    """Wait until nothing waits in the spool; gives what is stored."""

    def wait():
        until(lambda: not spooled())
        return stored()

    return wait
