"""Backups: one state of the database, sound, private, let go in time, never of what was forgotten."""

from __future__ import annotations

import os
import shutil
import stat
import threading
from datetime import UTC, datetime

import apsw
import pytest

from foreword.errors import StoreDamaged, StoreFull, ValidationError
from foreword.store import backups
from foreword.store.base import Delete
from foreword.store.conformance.suite import HERE, item
from foreword.store.sqlite import SqliteStore

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "workspaces") as store:
        yield store


def labels(store):
    return [backup.label for backup in backups.list_backups(store.path_of_database(HERE))]


def texts(store):
    return sorted(one.text for one in store.scan(HERE))


def test_a_day_of_use_leaves_one_backup_and_the_last_days_are_kept(store):
    store.put(HERE, [item("a")])
    for day in ("2026-11-10", "2026-11-11", "2026-11-11", "2026-11-12", "2026-11-13"):
        store.back_up_daily(day, 3)
    store.back_up(HERE, "by-hand-1")
    assert sorted(labels(store)) == ["by-hand-1", "daily-2026-11-11", "daily-2026-11-12", "daily-2026-11-13"]
    assert store.back_up_daily("2026-11-14", 0) == []


def test_only_what_is_in_use_is_backed_up(store, tmp_path):
    store.put(HERE, [item("a")])
    with SqliteStore(tmp_path / "workspaces") as other:
        other.put("elsewhere", [item("b")])
        assert [path.parent for path in other.back_up_daily("2026-11-16", 7)] == [
            other.path_of_database("elsewhere").parent
        ]


def test_a_backup_is_one_sound_file_for_its_owner_alone(store):
    store.put(HERE, [item(f"text {number}") for number in range(200)])
    path = store.back_up(HERE, "by-hand-1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert backups.check_backup_and_count_items(path, HERE) == 200
    assert not list(path.parent.glob("*.backup-*"))
    assert not list(path.parent.glob("*.backup.*"))


def test_a_backup_made_while_others_write_is_one_state(store):
    """Every transaction writes two items: a backup that mixed two states would have an odd number."""
    store.put(HERE, [item("a 0"), item("b 0")])
    stop = threading.Event()

    def write():
        number = 0
        while not stop.is_set():
            number += 1
            store.put(HERE, [item(f"a {number}"), item(f"b {number}")])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        made = [store.back_up(HERE, f"by-hand-{number}") for number in range(8)]
    finally:
        stop.set()
        writer.join(120)
    assert not writer.is_alive(), "the writer does not stop"
    counts = [backups.check_backup_and_count_items(path, HERE) for path in made]
    assert all(count % 2 == 0 for count in counts)
    assert counts == sorted(counts)


def test_what_is_forgotten_is_in_no_backup(store, tmp_path):
    gone, _ = store.put(HERE, [item("the word is zanzibar"), item("tuesdays")])
    store.back_up_daily("2026-11-15", 7)
    store.back_up(HERE, "by-hand-1")
    store.delete(Delete(HERE, (gone.item.id,)))
    store.check(HERE)
    assert labels(store) == []
    store.back_up_daily("2026-11-15", 7)
    store.close()
    held = [path.name for path in tmp_path.rglob("*") if path.is_file() and b"zanzibar" in path.read_bytes()]
    assert held == []


def test_what_is_forgotten_while_a_backup_is_made_is_not_in_it(store, monkeypatch):
    gone, _ = store.put(HERE, [item("the word is zanzibar"), item("tuesdays")])
    check = backups.check_soundness

    def forget_meanwhile(db, path):
        check(db, path)
        store.delete(Delete(HERE, (gone.item.id,)))

    monkeypatch.setattr(backups, "check_soundness", forget_meanwhile)
    assert store.back_up(HERE, "by-hand-1") is None
    assert not list(store.path_of_database(HERE).parent.glob("*.backup*"))


def test_what_is_forgotten_in_the_midst_of_a_copy_ends_it_without_an_error(store, monkeypatch):
    """The copy's files are removed while SQLite still writes to them."""
    store.put(HERE, [item(f"a {number} " + "b" * 5000, id=f"i{number}") for number in range(30)])

    def copy_slowly(source, target):
        with target.backup("main", source, "main") as backup:
            backup.step(1)
            store.delete(Delete(HERE, ("i1",)))
            while not backup.done:
                backup.step(1)

    monkeypatch.setattr(backups, "_copy_database", copy_slowly)
    assert store.back_up(HERE, "by-hand") is None
    assert backups.list_backups(store.path_of_database(HERE)) == []
    assert not list(store.path_of_database(HERE).parent.glob("*.backup*"))


def test_copies_removed_late_end_a_backup_that_began_after_the_forget(store, monkeypatch):
    """Whoever forgets removes the copies after its commit, and a backup may have begun by then."""
    store.put(HERE, [item(f"a {number} " + "b" * 5000, id=f"i{number}") for number in range(30)])

    def copy_slowly(source, target):
        with target.backup("main", source, "main") as backup:
            backup.step(1)
            backups.remove_backups(store.path_of_database(HERE))
            while not backup.done:
                backup.step(1)

    monkeypatch.setattr(backups, "_copy_database", copy_slowly)
    assert store.back_up(HERE, "by-hand") is None
    assert not list(store.path_of_database(HERE).parent.glob("*.backup*"))


def test_a_finished_backup_leaves_the_unfinished_one_of_another_process(store):
    store.put(HERE, [item("tuesdays")])
    other = store.path_of_database(HERE).with_name(f"memory.by-hand.backup.{os.getpid()}7")
    other.write_bytes(b"begun")
    assert store.back_up(HERE, "by-hand") is not None
    assert other.exists()


def test_what_is_only_replaced_stays_in_backups(store):
    (old,) = store.put(HERE, [item("a summary")])
    store.back_up_daily("2026-11-15", 7)
    store.delete(Delete(HERE, (old.item.id,), keep_copies=True))
    store.check(HERE)
    assert labels(store) == ["daily-2026-11-15"]


def _damage_a_page(path):
    """Overwrite what is in the middle of a database."""
    with path.open("r+b") as file:
        for page in range(4, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xde\xad\xbe\xef" * 600)


def test_a_damaged_database_pushes_no_sound_backup_out(store, tmp_path):
    store.put(HERE, [item(f"text {number} {'x' * 500}") for number in range(300)])
    store.back_up_daily("2026-11-14", 1)
    store.close()
    path = store.path_of_database(HERE)
    page = path.read_bytes().index(b"text 150 ") // 4096 * 4096
    with path.open("r+b") as file:
        file.seek(page)
        file.write(b"\xde\xad\xbe\xef" * 100)
    with SqliteStore(tmp_path / "workspaces") as again:
        assert again.count(HERE).items == 300, "nobody has met the damage yet"
        assert again.back_up_daily("2026-11-15", 1) == []
        assert labels(again) == ["daily-2026-11-14"]


def test_without_room_there_is_no_backup_and_it_is_said(store, monkeypatch, caplog):
    store.put(HERE, [item("a")])
    monkeypatch.setattr(backups, "_MIN_FREE_BYTES", 1 << 60)
    assert store.back_up_daily("2026-11-15", 7) == []
    assert "free some" in caplog.text
    assert StoreFull.__name__ not in caplog.text


# Restoring


def test_a_restore_brings_back_what_was_there_and_keeps_what_is(store):
    store.put(HERE, [item("old")])
    path = store.back_up(HERE, "by-hand-1")
    (later,) = store.put(HERE, [item("new")])
    kept = backups.restore_backup(store.path_of_database(HERE), path, HERE, NOW)
    assert texts(store) == ["old"], "a process that has the database open sees it"
    assert kept.name == "memory.before-restore-20261116T120000Z.backup"
    (again,) = store.put(HERE, [item("newer")])
    assert store.check(HERE) == ()
    numbers = _numbers(store, again.item.id, later.item.id)
    assert numbers[0] > 2, "no number is used twice"
    backups.restore_backup(store.path_of_database(HERE), kept, HERE, NOW)
    assert texts(store) == ["new", "old"]


def _numbers(store, *ids):
    with apsw.Connection(str(store.path_of_database(HERE))) as db:
        return [db.execute("SELECT no FROM items WHERE id = ?", (one,)).get for one in ids]


@pytest.mark.parametrize("damage", ["no database", "empty", "half", "pages"])
def test_a_database_that_was_damaged_is_restored(store, tmp_path, damage):
    store.put(HERE, [item(f"text {number}") for number in range(100)])
    path = store.back_up(HERE, "by-hand-1")
    store.close()
    database = store.path_of_database(HERE)
    match damage:
        case "no database":
            database.write_bytes(b"this is not a database " * 500)
        case "empty":
            database.write_bytes(b"")
        case "half":
            database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])
        case "pages":
            _damage_a_page(database)
    damaged = database.read_bytes()
    kept = backups.restore_backup(database, path, HERE, NOW)
    assert kept is not None
    assert kept.exists()
    if damage != "empty":
        assert kept.read_bytes()[:4096] == damaged[:4096]
    with SqliteStore(tmp_path / "workspaces") as again:
        assert len(texts(again)) == 100
        assert again.check(HERE) == ()
    assert stat.S_IMODE(database.stat().st_mode) == 0o600


def test_a_database_whose_folder_is_gone_is_restored(store, tmp_path):
    store.put(HERE, [item("old")])
    saved = tmp_path / "saved.backup"
    saved.write_bytes(store.back_up(HERE, "by-hand-1").read_bytes())
    database = store.path_of_database(HERE)
    store.close()
    shutil.rmtree(database.parent)
    assert backups.restore_backup(database, saved, HERE, NOW) is None
    with SqliteStore(tmp_path / "workspaces") as again:
        assert texts(again) == ["old"]


def test_a_database_that_is_gone_is_restored(store, tmp_path):
    store.put(HERE, [item("old")])
    path = store.back_up(HERE, "by-hand-1")
    store.close()
    store.path_of_database(HERE).unlink()
    assert backups.restore_backup(store.path_of_database(HERE), path, HERE, NOW) is None
    with SqliteStore(tmp_path / "workspaces") as again:
        assert texts(again) == ["old"]


def test_a_backup_that_is_not_sound_changes_nothing(store):
    store.put(HERE, [item(f"text {number}") for number in range(300)])
    path = store.back_up(HERE, "by-hand-1")
    _damage_a_page(path)
    with pytest.raises(StoreDamaged):
        backups.restore_backup(store.path_of_database(HERE), path, HERE, NOW)
    assert len(texts(store)) == 300
    assert labels(store) == ["by-hand-1"]


def test_a_backup_of_another_workspace_is_refused(store):
    store.put(HERE, [item("mine")])
    store.put("elsewhere", [item("theirs")])
    path = store.back_up("elsewhere", "by-hand-1")
    with pytest.raises(ValidationError, match="elsewhere"):
        backups.restore_backup(store.path_of_database(HERE), path, HERE, NOW)
    assert texts(store) == ["mine"]
