"""Real servers, started once for all tests of a process and stopped at its end."""

from __future__ import annotations

import itertools

import pytest

from foreword_measure.servers import PostgresServer, QdrantServer

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
