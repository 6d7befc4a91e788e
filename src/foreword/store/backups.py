"""Backups of a workspace's database: makes, lists, removes, checks and restores them.

They are files beside the database: `memory.before-<migration>.backup` and `memory.daily-<day>.backup`, those
made by hand, and the copy that a restore makes of the previous database. SQLite's own backup makes each, so
that it is one state of the database even if somebody writes meanwhile. It is checked before it gets its final
name, and only its owner can read it. When something is forgotten, all backups are removed, and a backup begun
before that is never finished.

A restore goes through SQLite, too, so that processes that have the database open see the restored state. Only
a database that SQLite itself cannot open any more is moved aside. The numbers of items and vectors go on from
where they were: a vector file that some process still has open must not take a new item for an old one.
"""

from __future__ import annotations

import os
import shutil
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import apsw

from foreword.errors import StorageError, StoreDamaged, StoreFull, ValidationError
from foreword.store.owner_files import make_private_durable_folder

if TYPE_CHECKING:
    from pathlib import Path

APPLICATION_ID = 0x46574431  # "FWD1", by which the command `file` recognizes a database of ours
_BUSY_MILLISECONDS = 15_000
_MIN_FREE_BYTES = 200_000_000
_MAX_PROBLEM_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup file; `label` is the part of its name that says what it is for, such as `daily-2026-11-16`."""

    path: Path
    label: str
    made_at: datetime
    bytes: int


def list_backups(database: Path) -> list[Backup]:
    """The finished backups of a database, oldest first."""
    found = []
    for path in database.parent.glob(f"{database.stem}.*.backup"):
        with suppress(FileNotFoundError):  # another process has just removed it
            state = path.stat()
            made_at = datetime.fromtimestamp(state.st_mtime, UTC)
            label = path.name.removeprefix(f"{database.stem}.").removesuffix(".backup")
            found.append(Backup(path, label, made_at, state.st_size))
    return sorted(found, key=lambda backup: (backup.made_at, backup.label))


def remove_backups(database: Path) -> None:
    """Remove every backup of a database, finished or not, and the copies that restores made."""
    for path in database.parent.glob(f"{database.stem}.*.backup*"):
        path.unlink(missing_ok=True)


# Making --------------------------------------------------------------------------------------------------


def make_backup(db: apsw.Connection, database: Path, label: str, *, check: bool = True) -> Path | None:
    """Back a database up under a label. Returns the file, or None if something was forgotten meanwhile.

    Raises `StoreDamaged` if the copy is damaged; it is removed, and an earlier backup of this label stays.
    """
    target = database.with_name(f"{database.stem}.{label}.backup")
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    before = _read_fact(db, "forgets")
    try:
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(apsw.Connection(str(fresh))) as copy:
            _copy_database(db, copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, readable where nothing is writable
            if _read_fact(db, "unswept"):
                copy.execute("VACUUM")  # pages may still have what was deleted
            if check:
                check_soundness(copy, fresh)
        return target if _rename_backup_unless_items_forgotten(db, fresh, target, before) else None
    except (apsw.Error, StorageError, OSError):
        # A forget removes every copy right after its commit, perhaps also this one, begun in between.
        if fresh.exists() and _read_fact(db, "forgets") == before:
            raise
        return None
    finally:
        for left in [fresh, *fresh.parent.glob(f"{fresh.name}-*")]:
            left.unlink(missing_ok=True)


def _copy_database(source: apsw.Connection, target: apsw.Connection) -> None:
    """Copy one database into another in one step: the copy is one state, and writers need not wait."""
    with target.backup("main", source, "main") as backup:
        backup.step(-1)


def _read_fact(db: apsw.Connection, key: str) -> str:
    """The value of a key in the table `facts`; empty if there is no such key or table."""
    if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'facts'").get:
        return ""
    return str(db.execute("SELECT value FROM facts WHERE key = ?", (key,)).get or "")


def _rename_backup_unless_items_forgotten(
    db: apsw.Connection, fresh: Path, target: Path, forgets: str
) -> bool:
    """Give a finished copy its final name, unless something was forgotten since it was begun.

    `forgets` is the count of forgets when the copy was begun. Returns whether the copy was renamed.
    """
    db.execute("BEGIN IMMEDIATE")  # a forget must wait, and then removes the backup under its final name
    try:
        if _read_fact(db, "forgets") != forgets:
            return False
        file = os.open(fresh, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
        fresh.replace(target)
    finally:
        db.execute("ROLLBACK")
    return True


def make_daily_backup(db: apsw.Connection, database: Path, day: str, keep: int) -> Path | None:
    """Make the backup of a day, then remove all but the newest `keep` daily backups. Returns the new file.

    Returns None if the day has a backup, there is nothing to back up, or something was forgotten meanwhile.
    Raises `StoreFull` if the disk has too little room.
    """
    label = f"daily-{day}"
    daily = [backup for backup in list_backups(database) if backup.label.startswith("daily-")]
    if keep < 1 or any(backup.label == label for backup in daily):
        return None
    if not next(db.execute("SELECT EXISTS(SELECT 1 FROM items)"))[0]:
        return None  # the day's backup is made once, so not before there is something in it
    size = database.stat().st_size
    if shutil.disk_usage(database.parent).free < 2 * size + _MIN_FREE_BYTES:
        raise StoreFull(f"no room for a backup of {database} ({size:,} bytes); free some")
    backup_path = make_backup(db, database, label)
    if backup_path is not None:
        for old in sorted(daily, key=lambda backup: backup.label)[: len(daily) + 1 - keep]:
            old.path.unlink(missing_ok=True)
    return backup_path


# Checking ------------------------------------------------------------------------------------------------


def check_soundness(db: apsw.Connection, path: Path) -> None:
    """Raise `StoreDamaged` if SQLite finds anything wrong with a database.

    A problem with a word index alone does not count: `doctor --repair` makes the index again.
    """
    try:
        messages = [str(row[0]) for row in db.execute("PRAGMA integrity_check(20)")]
        problems = [message for message in messages if "FTS5" not in message] or ["ok"]
    except apsw.Error as error:
        raise StoreDamaged(f"{path} is damaged: {error}") from error
    if problems != ["ok"]:
        raise StoreDamaged(f"{path} is damaged: {'; '.join(problems)[:_MAX_PROBLEM_CHARACTERS]}")


def check_backup_and_count_items(path: Path, workspace: str) -> int:
    """Check a backup and return how many items it has.

    Raises `StorageError` if it is damaged or unreadable, `ValidationError` if it is not of this workspace.
    """
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            check_soundness(db, path)
            if db.execute("PRAGMA application_id").get != APPLICATION_ID:
                raise ValidationError(f"{path} is a database, but no backup of Foreword's")
            owner = db.execute("SELECT value FROM facts WHERE key = 'workspace'").get
            if owner != workspace:
                raise ValidationError(f"{path} is a backup of the workspace {owner!r}, not of {workspace!r}")
            return int(db.execute("SELECT count(*) FROM items").get)
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(f"{path} is damaged: {error}") from error
    except apsw.Error as error:
        raise StorageError(f"{path} cannot be read: {error}") from error


# Restoring -----------------------------------------------------------------------------------------------


def restore_backup(database: Path, backup: Path, workspace: str, now: datetime) -> Path | None:
    """Replace a database by a backup of it. Returns the copy of the previous one, or None if there was none.

    The backup is checked before anything is changed; raises `StorageError` if it cannot be used.
    """
    check_backup_and_count_items(backup, workspace)
    stamp = _choose_unused_stamp(database, now)
    previous = None
    if database.exists():
        try:
            previous = _restore_into_existing(database, backup, stamp)
        except (apsw.NotADBError, apsw.CorruptError, apsw.IOError, apsw.SQLError, StoreDamaged):
            previous = _move_damaged_aside(database, stamp)
    if not database.exists():
        _restore_into_new(database, backup)
    for codes in database.parent.glob("*.codes"):
        codes.unlink(missing_ok=True)  # they repeat vectors, and are made again
    return previous


def _choose_unused_stamp(database: Path, now: datetime) -> str:
    """The time as text, numbered if a backup has it in its label: the restored one may be of this second."""
    stamp = f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    taken = [backup.label for backup in list_backups(database) if stamp in backup.label]
    return f"{stamp}-{len(taken)}" if taken else stamp


def _restore_into_existing(database: Path, backup: Path, stamp: str) -> Path:
    """Back the existing database up, then copy the backup into it as one write. Returns the new backup."""
    with closing(apsw.Connection(str(database))) as db:
        db.set_busy_timeout(_BUSY_MILLISECONDS)
        numbers = db.execute("SELECT seq, name FROM sqlite_sequence").fetchall()
        previous = make_backup(db, database, f"before-restore-{stamp}")
        if previous is None:
            raise StorageError("something was forgotten this moment; nothing was restored, try again")
        forgets = _read_fact(db, "forgets")
        with closing(apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)) as source:
            _copy_database(source, db)
        db.executemany("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", numbers)
        db.execute("INSERT OR REPLACE INTO facts VALUES('forgets', ?)", (forgets or "0",))
    return previous


def _move_damaged_aside(database: Path, stamp: str) -> Path:
    """Rename a database that cannot be opened, and its write-ahead log. Returns the new path."""
    aside = database.with_name(f"{database.stem}.damaged-{stamp}.backup")
    database.with_name(f"{database.name}-shm").unlink(missing_ok=True)
    log = database.with_name(f"{database.name}-wal")
    if log.exists():
        log.replace(f"{aside}-wal")
    database.replace(aside)
    aside.chmod(0o600)
    return aside


def _restore_into_new(database: Path, backup: Path) -> None:
    """Make a database from a backup where there is none; it gets its name when it is complete."""
    fresh = database.with_name(f"{database.stem}.restoring-{os.getpid()}")
    make_private_durable_folder(database.parent)
    fresh.unlink(missing_ok=True)
    os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with (
        closing(apsw.Connection(str(fresh))) as db,
        closing(apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)) as source,
    ):
        _copy_database(source, db)
    fresh.replace(database)
