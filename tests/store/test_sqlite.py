"""The SQLite engine: transactions, locks, and errors that say what is wrong."""

from __future__ import annotations

import select
import shutil
import subprocess
import sys
import threading
from contextlib import closing, contextmanager

import apsw
import pytest

from foreword.errors import (
    StorageError,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    ValidationError,
)
from foreword.store import schema
from foreword.store.base import (
    Amend,
    Delete,
    Get,
    MarkShown,
    Put,
    PutReceipt,
    PutRelations,
    PutVectors,
    Repair,
    Search,
    Vector,
)
from foreword.store.conformance.suite import DIGEST, HERE, PROBES, THERE, item, receipt, views
from foreword.store.database import Limits, translate_errors
from foreword.store.sqlite import SqliteStore
from foreword.store.vector_part import vector_to_code
from foreword.types import Filters, Relation

TIMEOUT_SECONDS = 120


def _raw(path):
    return closing(apsw.Connection(str(path)))


def _join(thread):
    thread.join(TIMEOUT_SECONDS)
    assert not thread.is_alive(), f"a thread has not ended within {TIMEOUT_SECONDS} seconds"


# Transactions


def test_every_connection_logs_ahead_and_flushes_each_commit(store):
    store.put(HERE, [item("a")])
    store.get(HERE, "a")
    shard = store._open.take(HERE, lambda: None)
    for db in (shard._writer._db, *shard._readers):
        assert db.execute("PRAGMA journal_mode").get == "wal"
        assert db.execute("PRAGMA synchronous").get == 2
        assert db.execute("PRAGMA secure_delete").get == 1


def test_no_transaction_is_left_open_after_any_write_even_a_failing_one(store):
    store.put(HERE, [item("a", id="a"), item("b", id="b")])
    good = [
        Put(HERE, (item("c", id="c"),)),
        Amend(HERE, "a", confidence=0.5),
        PutRelations(HERE, (Relation("a", "b"),)),
        PutVectors(HERE, "vectors", DIGEST, (Vector("a", "t", (1.0, 0.0)),)),
        PutReceipt(HERE, receipt("r")),
        Delete(HERE, ("b",)),
        Delete(HERE, filters=Filters(session="s")),
        Repair(HERE),
        Search(HERE, PROBES),
        Get(HERE, ("a",)),
    ]
    bad = [
        Put(HERE, (item("d", id="a"),)),
        PutRelations(HERE, (Relation("a", "nobody"),)),
        PutVectors(HERE, "vectors", DIGEST, (Vector("a", "t", (1.0,)),)),
    ]
    for operation in good:
        store.batch([operation])
        _assert_nothing_open(store)
    for operation in bad:
        with pytest.raises(ValidationError):
            store.batch([good[0], operation])
        _assert_nothing_open(store)
    for nonsense in (item("e", metadata={"not": object()}), item("e", confidence=object())):
        with pytest.raises(TypeError):
            store.put(HERE, [nonsense])
        _assert_nothing_open(store)


def _assert_nothing_open(store):
    """Nobody holds the write lock, and nobody's snapshot keeps the log from being folded in."""
    with _raw(store.path_of_database(HERE)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def test_a_write_that_fails_does_not_take_its_neighbours_with_it(store):
    store.put(HERE, [item("taken", id="taken")])
    refused = []

    def write(number):
        try:
            store.put(HERE, [item(f"text {number}", id="taken" if number % 4 == 0 else f"i{number}")])
        except ValidationError:
            refused.append(number)

    with _raw(store.path_of_database(HERE)) as other:
        other.execute("BEGIN IMMEDIATE")  # so that the writes gather behind it
        threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(40)]
        for thread in threads:
            thread.start()
        other.execute("ROLLBACK")
        for thread in threads:
            _join(thread)
    assert sorted(refused) == list(range(0, 40, 4))
    assert store.count(HERE).items == 31


def test_a_posted_write_that_fails_is_said_in_the_log(store, caplog):
    store.put(HERE, [item("a", id="a")])
    store.post(PutRelations(HERE, (Relation("a", "nobody"),)))
    store.close()
    assert "nobody" in caplog.text


def test_an_error_while_erasing_neither_stops_the_writer_nor_loses_the_erasing(store, folder, caplog, sample):
    sample.fill(store)
    codes = sample.codes(folder)
    kept = codes.read_bytes()
    codes.unlink()
    codes.mkdir()
    assert store.delete(Delete(HERE, ("i3",))) == ("i3",)
    assert "unfinished" in caplog.text
    store.put(HERE, [item("life goes on", id="more")])
    codes.rmdir()
    codes.write_bytes(kept)
    assert store.check(HERE) == ()
    store.put(HERE, [item("and on")])
    assert vector_to_code(sample.encoder.embed(sample.text(3))) not in codes.read_bytes()


@pytest.mark.parametrize("damage", ["PRAGMA user_version = 1", "ROLLBACK"])
def test_a_job_that_meddles_with_the_transaction_fails_alone(store, damage):
    store.put(HERE, [item("a", id="a")])
    writer = store._open.take(HERE, lambda: None)._writer
    failure = writer.submit(lambda db: db.execute(damage).get).exception(timeout=TIMEOUT_SECONDS)
    assert failure is None or isinstance(failure, apsw.Error)
    _assert_nothing_open(store)
    assert store.put(HERE, [item("b")])[0].new


def test_a_posted_mark_that_fails_keeps_nobody_waiting(store, caplog):
    store.put(HERE, [item("a", id="a")])
    store.post(MarkShown(HERE, "s", ("a",), None))
    assert store.shown_ids(HERE, "s") == frozenset()
    store.close()
    assert "posted write failed" in caplog.text


def test_a_database_of_another_workspace_is_not_read(store, folder):
    store.put(THERE, [item("secret", id="a")])
    store.close()
    shutil.copytree(store.path_of_database(THERE).parent, store.path_of_database(HERE).parent)
    with pytest.raises(StorageError, match="belongs to the workspace"):
        SqliteStore(folder, views).get(HERE, "a")


# Locks


def test_a_lock_that_is_held_too_long_is_an_error_and_reads_go_on(folder):
    with SqliteStore(folder, views, Limits(busy_seconds=0.2)) as store:
        store.put(HERE, [item("a", id="a")])
        with _raw(store.path_of_database(HERE)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy, match="try again"):
                store.put(HERE, [item("b")])
            assert store.get(HERE, "a")[0].text == "a"
            other.execute("ROLLBACK")
        assert store.put(HERE, [item("b")])[0].new


def test_a_lock_that_is_let_go_in_time_is_waited_for(store):
    store.put(HERE, [item("a", id="a")])
    outcome = []
    with _raw(store.path_of_database(HERE)) as other:
        other.execute("BEGIN IMMEDIATE")
        put = lambda: outcome.append(store.put(HERE, [item("b")])[0].new)  # noqa: E731
        thread = threading.Thread(target=put, daemon=True)
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
        other.execute("ROLLBACK")
        _join(thread)
    assert outcome == [True]


def test_a_receipt_is_read_while_another_process_writes_unless_one_is_on_its_way(folder):
    with SqliteStore(folder, views, Limits(busy_seconds=0.2)) as store:
        store.post(PutReceipt(HERE, receipt("r")))
        assert store.receipt(HERE, "r").id == "r", "it was posted before"
        with _raw(store.path_of_database(HERE)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert store.receipt(HERE, "r").id == "r", "nothing is on its way, so no lock is waited for"


_OPENER = """
import sys
from pathlib import Path
from foreword.store.conformance.suite import HERE, item, views
from foreword.store.sqlite import SqliteStore
me = sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for number in range(5):
    with SqliteStore(Path(sys.argv[1]), views) as store:
        store.put(HERE, [item(f"{me} {number}", id=f"{me}-{number}")])
        store.workspaces()
        assert store.count(HERE).bytes
"""


@pytest.mark.slow
def test_processes_that_make_one_workspace_at_once_all_succeed(folder):
    command = [sys.executable, "-c", _OPENER, str(folder)]
    children = [
        subprocess.Popen(
            [*command, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for n in range(6)
    ]
    for child in children:
        ready, _, _ = select.select([child.stdout], [], [], TIMEOUT_SECONDS)
        assert ready, f"a process has not started within {TIMEOUT_SECONDS} seconds"
        assert child.stdout.readline() == b"ready\n"
    for child in children:
        child.stdin.write(b"go\n")
        child.stdin.flush()
    for child in children:
        _, complaint = child.communicate(timeout=TIMEOUT_SECONDS)
        assert child.returncode == 0, complaint.decode()
    with SqliteStore(folder, views) as store:
        assert store.count(HERE).items == 30
        assert store.check(HERE) == ()
        assert store.workspaces() == [HERE]


# Paths and errors


def test_a_path_under_a_regular_file_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("x")
    with SqliteStore(tmp_path / "file" / "data", views) as store:
        assert store.workspaces() == []
        assert store.get(HERE, "a") == (None,)
        with pytest.raises(StorageError, match="file/data"):
            store.put(HERE, [item("a")])


def test_a_folder_where_the_database_should_be_is_a_clear_error(folder):
    store = SqliteStore(folder, views)
    store.path_of_database(HERE).mkdir(parents=True)
    with pytest.raises(StorageError, match=r"memory\.db"):
        store.put(HERE, [item("a")])


@contextmanager
def _small_disk(folder, size="16m"):
    """A small disk of its own, or a visible skip where mounting is not allowed."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
    )
    if made.returncode:
        pytest.skip(f"mounting is not allowed here: {made.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=TIMEOUT_SECONDS)


def test_a_read_only_disk_is_a_clear_error(tmp_path, sample):
    with _small_disk(tmp_path / "disk") as disk:
        with SqliteStore(disk / "data", views) as store:
            sample.fill(store, 5)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, timeout=TIMEOUT_SECONDS)
        with SqliteStore(disk / "data", views) as store:
            with pytest.raises(StoreReadOnly, match="FOREWORD_HOME"):
                store.put(HERE, [item("a")])
            with pytest.raises(StoreReadOnly):
                store.put("another", [item("a")])


def test_a_read_only_disk_is_read_and_written_as_soon_as_it_can_be(tmp_path, sample):
    with _small_disk(tmp_path / "disk") as disk:
        with SqliteStore(disk / "data", views) as store:
            found = sample.fill(store, 5)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, timeout=TIMEOUT_SECONDS)
        with SqliteStore(disk / "data", views) as store:
            assert store.workspaces() == [HERE]
            assert store.search(sample.question) == found
            subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True, timeout=TIMEOUT_SECONDS)
            store.put(HERE, [item("a")])
            assert store.count(HERE).items == 6


def test_what_a_killed_writer_left_in_the_log_is_read_on_a_read_only_disk(tmp_path):
    script = (
        "import os, sys; from pathlib import Path\n"
        "from foreword.store.sqlite import SqliteStore; from foreword.types import Item\n"
        "store = SqliteStore(Path(sys.argv[1])); store.put('shop', [Item('said last', 'shop')]); os._exit(9)"
    )
    with _small_disk(tmp_path / "disk") as disk:
        command = [sys.executable, "-c", script, str(disk / "data")]
        assert subprocess.run(command, check=False, timeout=TIMEOUT_SECONDS).returncode == 9
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, timeout=TIMEOUT_SECONDS)
        with SqliteStore(disk / "data", views) as store:
            assert [one.text for one in store.scan("shop")] == ["said last"]


def test_an_outdated_database_that_cannot_be_written_is_a_clear_error(tmp_path, sample, monkeypatch):
    with _small_disk(tmp_path / "disk") as disk:
        with SqliteStore(disk / "data", views) as store:
            sample.fill(store, 1)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, timeout=TIMEOUT_SECONDS)
        monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("9999-next", "SELECT 1")])
        with SqliteStore(disk / "data", views) as store, pytest.raises(StoreReadOnly, match="older Foreword"):
            store.get(HERE, "a")


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        (apsw.FullError("x"), StoreFull),
        (apsw.NotADBError("x"), StoreDamaged),
        (apsw.CorruptError("x"), StoreDamaged),
        (apsw.ReadOnlyError("x"), StoreReadOnly),
        (apsw.CantOpenError("x"), StoreReadOnly),
        (apsw.BusyError("x"), StoreBusy),
        (apsw.LockedError("x"), StoreBusy),
        (apsw.IOError("x"), StorageError),
        (PermissionError(13, "denied"), StoreReadOnly),
        (OSError(28, "No space left on device"), StoreFull),
        (OSError(30, "Read-only file system"), StoreReadOnly),
        (OSError(5, "Input/output error"), StorageError),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), StoreDamaged),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_every_foreign_error_becomes_one_of_ours_and_names_the_file(tmp_path, foreign, ours):
    with pytest.raises(ours, match=r"memory\.db") as caught, translate_errors(tmp_path / "memory.db"):
        raise foreign
    assert type(caught.value) is ours


_WATCHER = """
import sys
from pathlib import Path
opened = []
def watch(event, args):
    if event == "open" and "memory.db" in str(args[0]):
        opened.append(str(args[0]))
sys.addaudithook(watch)
from foreword.store import schema
from foreword.store.base import *
from foreword.store.conformance.suite import *
from foreword.store.sqlite import SqliteStore
folder = Path(sys.argv[1])
def live():
    with SqliteStore(folder, views) as store:
        store.put(HERE, [item("Ada saw the harbour", id="a"), item("b", id="b"), item("c", id="c")])
        vectors = tuple(Vector(name, name, unit_vector(0)) for name in "abc")
        store.batch([PutVectors(HERE, "vectors", DIGEST, vectors), PutRelations(HERE, (Relation("a", "b"),))])
        store.search(Search(HERE, PROBES))
        store.post(PutReceipt(HERE, receipt("r")))
        store.delete(Delete(HERE, ("a",)))
        store.batch([Count(HERE), Check(HERE), Repair(HERE)])
        store.workspaces()
live()
schema.MIGRATIONS.append(("9998-later", "CREATE TABLE later(x)"))
live()
open(folder / "memory.db.proof", "w").close()
print(opened)
"""


def test_the_database_is_opened_by_sqlite_alone(folder):
    command = [sys.executable, "-c", _WATCHER, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([str(folder / "memory.db.proof")])
