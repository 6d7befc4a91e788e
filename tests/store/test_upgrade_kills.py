"""A kill at every statement of an upgrade: the next opening finishes it, and every row is there."""

from __future__ import annotations

import os
import shutil
import signal

import apsw
import pytest

from foreword.store import backups, schema
from foreword.store.conformance.suite import HERE, item, views
from foreword.store.sqlite import SqliteStore

pytestmark = pytest.mark.slow

ROWS = 40


@pytest.fixture
def old_database(tmp_path, monkeypatch):
    """A folder with a database of the first version, which holds something."""
    folder = tmp_path / "old"
    with monkeypatch.context() as before:
        before.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        with SqliteStore(folder, views) as store:
            store.put(HERE, [item(f"harbour {number}", id=f"i{number}") for number in range(ROWS)])
    return folder


def is_killed_at(folder, statement):
    """Open a database in a process that kills itself before a statement; gives whether it came so far."""
    child = os.fork()
    if not child:
        try:
            left = [statement]

            def count(*_):
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                return True

            apsw.connection_hooks.append(lambda db: setattr(db, "exec_trace", count))
            SqliteStore(folder, views).get(HERE, "i1")
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize("step", [25, pytest.param(1, marks=pytest.mark.soak)])
def test_an_upgrade_that_is_killed_at_any_statement_is_finished_by_the_next(
    old_database, tmp_path, step, report_fault
):
    kills = kept = lost = 0
    statement = 1
    folder = tmp_path / "copy"
    shutil.copytree(old_database, folder)
    while is_killed_at(folder, statement):
        kills += 1
        with SqliteStore(folder, views) as store:
            rows = {one.id for one in store.scan(HERE)}
            assert store.check(HERE) == ()
            assert [one.label for one in backups.list_backups(store.path_of_database(HERE))]
            assert store.put(HERE, [item("one more")])[0].new
        kept += ROWS
        lost += ROWS - len(rows)
        statement += step
        shutil.rmtree(folder)
        shutil.copytree(old_database, folder)
    assert kills > len(schema.MIGRATIONS) / step
    report_fault(10, {"kills of an upgrade": kills}, acknowledged=kept, lost=lost)
