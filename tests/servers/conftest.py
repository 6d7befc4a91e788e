"""Real servers, started once for all tests of a process and stopped at its end."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from foreword_measure.servers import PostgresServer, QdrantServer

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
