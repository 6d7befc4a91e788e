"""Backups of a workspace's database: made, listed, let go, checked and restored.

They lie beside the database: `memory.before-<migration>.backup` and `memory.daily-<day>.backup`, those made
by hand, and what a restore put aside. Each is made by SQLite's own backup, so that it is one state of the
database whoever writes meanwhile; it is checked before it gets its name; only its owner can read it. Whoever
forgets something has all of them removed, and none that was begun before that is finished after it.

A restore goes through SQLite, too, so that processes that have the database open see the restored state. Only
a database that SQLite itself cannot open any more is moved aside. Numbers of items and vectors go on from
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

if TYPE_CHECKING:
    from pathlib import Path

APPLICATION_ID = 0x46574431  # "FWD1", so that `file` can tell
_BUSY_MILLISECONDS = 15_000
_MIN_FREE_BYTES = 200_000_000
_MAX_PROBLEM_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup as it lies on the disk; `label` is what its name tells of it: `daily-2026-11-16`."""

    path: Path
    label: str
    made_at: datetime
    bytes: int


def list_backups(database: Path) -> list[Backup]:
    """The finished backups of a database, oldest first."""
    found = []
    for path in database.parent.glob(f"{database.stem}.*.backup"):
        with suppress(FileNotFoundError):  # it was let go this moment
            state = path.stat()
            made_at = datetime.fromtimestamp(state.st_mtime, UTC)
            label = path.name.removeprefix(f"{database.stem}.").removesuffix(".backup")
            found.append(Backup(path, label, made_at, state.st_size))
    return sorted(found, key=lambda backup: (backup.made_at, backup.label))


def remove_backups(database: Path) -> None:
    """Remove every backup of a database, finished or not, and what restores put aside."""
    for path in database.parent.glob(f"{database.stem}.*.backup*"):
        path.unlink(missing_ok=True)


# Making --------------------------------------------------------------------------------------------------


def make_backup(db: apsw.Connection, database: Path, label: str, *, check: bool = True) -> Path | None:
    """Back a database up under a label; None if something was forgotten in it meanwhile.

    Raises StoreDamaged if the copy is not sound: then nothing is left of it, and what was there before stays.
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
        return target if _rename_unless_something_forgotten(db, fresh, target, before) else None
    except (apsw.Error, StorageError, OSError):
        # Whoever forgets removes every copy a moment after its commit, perhaps one begun in between.
        if fresh.exists() and _read_fact(db, "forgets") == before:
            raise
        return None
    finally:
        for left in [fresh, *fresh.parent.glob(f"{fresh.name}-*")]:
            left.unlink(missing_ok=True)


def _copy_database(source: apsw.Connection, target: apsw.Connection) -> None:
    """Copy all of one database into another in one step: one state, and nobody waits for it to write."""
    with target.backup("main", source, "main") as backup:
        backup.step(-1)


def _read_fact(db: apsw.Connection, key: str) -> str:
    """What a database notes of itself; empty if it notes nothing."""
    if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'facts'").get:
        return ""
    return str(db.execute("SELECT value FROM facts WHERE key = ?", (key,)).get or "")


def _rename_unless_something_forgotten(db: apsw.Connection, fresh: Path, target: Path, forgets: str) -> bool:
    """Give a finished copy its name, unless something was forgotten since it was begun."""
    db.execute("BEGIN IMMEDIATE")  # who forgets now removes the backup once it has its name
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
    """The backup of a day, if there is none yet; then lets go all but the newest `keep` daily ones.

    None if there is one, or nothing to back up, or something was forgotten meanwhile. StoreFull without room.
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
    made = make_backup(db, database, label)
    if made is not None:
        for old in sorted(daily, key=lambda backup: backup.label)[: len(daily) + 1 - keep]:
            old.path.unlink(missing_ok=True)
    return made


# Checking ------------------------------------------------------------------------------------------------


def check_soundness(db: apsw.Connection, path: Path) -> None:
    """Raise StoreDamaged unless SQLite finds every page of a database in order.

    What is wrong with a word index alone does not count: `doctor --repair` makes it again.
    """
    try:
        found = [str(row[0]) for row in db.execute("PRAGMA integrity_check(20)")]
        problems = [one for one in found if "FTS5" not in one] or ["ok"]
    except apsw.Error as error:
        raise StoreDamaged(f"{path} is damaged: {error}") from error
    if problems != ["ok"]:
        raise StoreDamaged(f"{path} is damaged: {'; '.join(problems)[:_MAX_PROBLEM_CHARACTERS]}")


def check_backup_and_count_items(path: Path, workspace: str) -> int:
    """How many items a backup has; StorageError or ValidationError if it is not sound or not of here."""
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
    """Make a database what a backup has; gives where the present one is kept, None if there was none.

    The backup is checked before anything is changed; StorageError if it cannot be used.
    """
    check_backup_and_count_items(backup, workspace)
    stamp = _choose_unused_stamp(database, now)
    kept = None
    if database.exists():
        try:
            kept = _restore_into_existing(database, backup, stamp)
        except (apsw.NotADBError, apsw.CorruptError, apsw.IOError, apsw.SQLError, StoreDamaged):
            kept = _move_damaged_aside(database, stamp)
    if not database.exists():
        _restore_into_new(database, backup)
    for codes in database.parent.glob("*.codes"):
        codes.unlink(missing_ok=True)  # they repeat vectors, and are made again
    return kept


def _choose_unused_stamp(database: Path, now: datetime) -> str:
    """The time, for a name that no backup has yet: the one that is restored may be of this very second."""
    stamp = f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    taken = [one.label for one in list_backups(database) if stamp in one.label]
    return f"{stamp}-{len(taken)}" if taken else stamp


def _restore_into_existing(database: Path, backup: Path, stamp: str) -> Path:
    """Copy the present database aside and the backup into it, as one write."""
    with closing(apsw.Connection(str(database))) as db:
        db.set_busy_timeout(_BUSY_MILLISECONDS)
        numbers = db.execute("SELECT seq, name FROM sqlite_sequence").fetchall()
        kept = make_backup(db, database, f"before-restore-{stamp}")
        if kept is None:
            raise StorageError("something was forgotten this moment; nothing was restored, try again")
        forgets = _read_fact(db, "forgets")
        with closing(apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)) as source:
            _copy_database(source, db)
        db.executemany("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", numbers)
        db.execute("INSERT OR REPLACE INTO facts VALUES('forgets', ?)", (forgets or "0",))
    return kept


def _move_damaged_aside(database: Path, stamp: str) -> Path:
    """Move a database that cannot be opened out of the way, with the log beside it."""
    aside = database.with_name(f"{database.stem}.damaged-{stamp}.backup")
    database.with_name(f"{database.name}-shm").unlink(missing_ok=True)
    log = database.with_name(f"{database.name}-wal")
    if log.exists():
        log.replace(f"{aside}-wal")
    database.replace(aside)
    aside.chmod(0o600)
    return aside


def _restore_into_new(database: Path, backup: Path) -> None:
    """Copy a backup into a database that is not there yet; it gets its name when it is complete."""
    fresh = database.with_name(f"{database.stem}.restoring-{os.getpid()}")
    fresh.unlink(missing_ok=True)
    os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with (
        closing(apsw.Connection(str(fresh))) as db,
        closing(apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)) as source,
    ):
        _copy_database(source, db)
    fresh.replace(database)
