"""What operators are told to run: the database is made, backed up and restored as the page says."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from foreword.store.conformance.suite import HERE, item, views
from foreword.store.moving import compare_copies
from foreword.store.postgres.store import PostgresStore
from foreword_measure.servers import PostgresServer

ROOT = Path(__file__).parents[2]
PASSWORD = "it's 1/2"
SECONDS = 120


@pytest.fixture
def server():
    """A PostgreSQL of the test's own, without the user and the database of the other tests."""
    with PostgresServer() as server:
        _run(server, "psql -d postgres -c 'DROP DATABASE foreword' -c 'DROP ROLE foreword'")
        yield server


@pytest.fixture
def made(server, tmp_path):
    """The address of the database that the compose file's script has made, without its name."""
    secret = tmp_path / "password"
    secret.write_text(PASSWORD + "\n")
    _run(server, str(ROOT / "deploy" / "postgres-init.sh"), FOREWORD_PASSWORD_FILE=str(secret))
    return f"postgres://foreword:it's%201%2F2@127.0.0.1:{server.port}"


def _run(server, command, folder=None, **variables):
    """Run a command as an operator on the server's machine would, with PostgreSQL's programs."""
    own = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "operator", "PGDATABASE": "postgres"}
    path = f"{server._programs}:{os.environ['PATH']}"
    environment = {**os.environ, **own, "PATH": path, **variables}
    subprocess.run(["sh", "-c", command], env=environment, cwd=folder, check=True, timeout=SECONDS)


def _commands_of_page(first, last):
    """The commands of the page from the one that begins with `first` to the one that begins with `last`."""
    page = (ROOT / "docs" / "teams.md").read_text()
    block = re.search(rf"    \$ {first}.*?\n    \$ {last}[^\n]*", page, re.DOTALL)[0]
    return [line.removeprefix("    $ ").replace("-U postgres", "-U operator") for line in block.splitlines()]


def test_the_user_that_the_compose_file_makes_is_bound_by_row_security(made):
    with PostgresStore(f"{made}/foreword", views) as store:
        assert store.read_server_state().is_bound_by_row_security


def test_a_backup_made_and_restored_as_the_page_says_holds_the_same(server, made, tmp_path):
    with PostgresStore(f"{made}/foreword", views) as store:
        store.put(HERE, [item(f"Ada saw the harbour {n}") for n in range(5)])
        for command in _commands_of_page("pg_dump", "pg_restore"):
            _run(server, command, tmp_path)
        with PostgresStore(f"{made}/restored", views) as restored:
            assert compare_copies(store, restored, HERE).is_same
            assert restored.read_server_state().is_bound_by_row_security
            assert restored.check(HERE) == ()
