"""Real servers, started once for all tests of a process and stopped at its end."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from foreword_measure.servers import PostgresServer, QdrantServer, find_free_port

# Tests have a home of their own; Qdrant lies under the user's.
os.environ.setdefault("FOREWORD_SERVERS_CACHE", str(Path("~/.cache/foreword-servers").expanduser()))

_names = itertools.count(1)


@pytest.fixture(scope="session")
def postgres():
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def qdrant():
    with QdrantServer() as server:
        yield server


@pytest.fixture
def schema():
    """The name of a schema that no other test uses."""
    return f"test_{next(_names)}"


class TeamService:
    """`foreword serve --team` on these servers, in a process of its own."""

    def __init__(self, home, postgres, qdrant=None, *options):
        self._port = find_free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._options = options
        self._environment = os.environ | {
            "FOREWORD_HOME": str(home), "FOREWORD_STORE": postgres.url,
            "FOREWORD_EMBEDDING": "none", "FOREWORD_READER": "none",
        }  # fmt: skip
        if qdrant is not None:
            self._environment["FOREWORD_VECTORS"] = qdrant.url
        self.start()

    def start(self):
        command = [sys.executable, "-m", "foreword", "serve", "--team", "--port", str(self._port)]
        self.process = subprocess.Popen(
            [*command, "--max-rate", "10000", *self._options],
            env=self._environment, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        line = self.process.stderr.readline()
        assert self.url in line, line + self.process.stderr.read()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


@pytest.fixture
def start_team_service(home):
    """Starts a team's service, which is killed at the end: `start_team_service(postgres, qdrant)`."""
    started = []

    def start(*servers_and_options):
        started.append(TeamService(home, *servers_and_options))
        return started[-1]

    yield start
    for service in started:
        if service.process.returncode is None:
            service.kill()
