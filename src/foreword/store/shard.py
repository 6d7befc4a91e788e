"""One workspace's database: its connections, its transactions, and how each operation is done in SQL."""

from __future__ import annotations

import random
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import apsw
import structlog

from foreword.errors import (
    StorageError,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
)
from foreword.store import operations, schema
from foreword.store.base import Check, Operation, Repair, Search, Write
from foreword.store.vectors import CodeFile
from foreword.store.writer import Writer
from foreword.types import VectorProbe

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from foreword.store.indexes import ViewsOf

_log = structlog.get_logger("foreword.store")


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait for a lock, and how much of the receipts to keep."""

    busy_seconds: float = 15.0
    receipt_days: int = 30
    receipt_bytes: int = 8_000_000


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's and the system's errors into ours, each with what to do about it."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(
            f"{path} is damaged ({error}); run: foreword doctor --repair, or move the file away and import a backup"
        ) from error
    except apsw.FullError as error:
        raise StoreFull(
            f"no space left for {path}; free some and try again, nothing acknowledged is lost"
        ) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError, PermissionError) as error:
        raise StoreReadOnly(
            f"cannot write {path} ({error}); check its permissions or set FOREWORD_HOME to another folder"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"another process keeps {path} locked; try again") from error
    except OSError as error:
        kind = StoreFull if error.errno == 28 else StoreReadOnly if error.errno == 30 else StorageError
        raise kind(f"cannot use {path}: {error.strerror or error}") from error
    except apsw.Error as error:
        raise StorageError(f"the database {path} refused: {error}") from error


class Shard:
    """The database of one workspace."""

    def __init__(self, path: Path, workspace: str, views: ViewsOf, limits: Limits) -> None:
        self.path = path
        self.workspace = workspace
        self.views = views
        self.limits = limits
        self._readers: list[apsw.Connection] = []
        self._files: dict[tuple[str, str, int], CodeFile] = {}
        db = self._connect()
        schema.migrate(db, workspace, datetime.now(UTC).isoformat())
        owner = db.execute("SELECT value FROM facts WHERE key = 'workspace'").get
        if owner != workspace:
            raise StorageError(f"{path} belongs to the workspace {owner!r}, not {workspace!r}")
        self._finish_erasing(db)
        self._writer = Writer(db, self._finish_erasing)

    @staticmethod
    def workspace_of(path: Path) -> str:
        """Whose database this is."""
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return str(db.execute("SELECT value FROM facts WHERE key = 'workspace'").get)
        finally:
            db.close()

    def batch(self, ops: list[Operation]) -> list[Any]:
        """Do the operations in one transaction, or, when none writes, in one snapshot."""
        if any(isinstance(op, Write | Check | Repair) for op in ops):
            results: list[Any] = self._submit(ops).result()
            return results
        for op in ops:
            if isinstance(op, Search):
                self._refresh(op)
        with self._reader() as db:
            return [operations.do(self, db, op) for op in ops]

    def post(self, op: Write) -> None:
        """Queue a write that nobody waits for; a failure goes to the log."""
        self._submit([op]).add_done_callback(_log_failure)

    def close(self) -> None:
        """Finish the queue, fold the log into the database, and let go."""
        self._writer.close()
        for db in self._readers:
            db.close()
        for file in self._files.values():
            file.close()

    def codes(self, space: str, digest: str, dimensions: int) -> CodeFile:
        """The code file of one space and one encoder."""
        key = (space, digest, dimensions)
        if key not in self._files:
            name = f"{space}-{digest.removeprefix('b2:')[:12]}.codes"
            self._files[key] = CodeFile(self.path.with_name(name), dimensions)
        return self._files[key]

    def _submit(self, ops: list[Operation]) -> Future[Any]:
        return self._writer.submit(lambda db: [operations.do(self, db, op) for op in ops])

    def _refresh(self, op: Search) -> None:
        """Bring code files up to date before the snapshot is taken: what was deleted must not come back."""
        for probe in op.probes:
            if isinstance(probe, VectorProbe):
                with self._connection() as db:
                    file = self.codes(probe.space, probe.digest, len(probe.vector))
                    operations.catch_up(db, file, probe.space, probe.digest)

    def _finish_erasing(self, db: apsw.Connection) -> None:
        """Overwrite the codes of deleted items. What cannot be done now is done at the next write or start."""
        if not (erased := [no for (no,) in db.execute("SELECT no FROM erased")]):
            return
        try:
            for file in CodeFile.existing(self.path.parent):
                file.erase(erased)
                file.close()
            for backup in schema.backups(self.path):
                backup.unlink()
            db.execute("DELETE FROM erased")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (OSError, apsw.Error) as error:
            _log.warning("erasing is unfinished", path=str(self.path), items=len(erased), error=str(error))

    @contextmanager
    def _reader(self) -> Iterator[apsw.Connection]:
        """A connection inside one snapshot."""
        with self._connection() as db:
            db.execute("BEGIN")
            try:
                yield db
            finally:
                db.execute("ROLLBACK")

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        """A connection of our own for a while; list operations are atomic, so no lock is needed."""
        try:
            db = self._readers.pop()
        except IndexError:
            db = self._connect()
        try:
            yield db
        finally:
            self._readers.append(db)

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(str(self.path), statementcachesize=200)
        db.set_busy_handler(_Patience(self.limits.busy_seconds))
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",  # a commit is on the disk when it returns
            "secure_delete = ON",  # what is deleted is overwritten
            "journal_size_limit = 16000000",
            "cache_size = -32000",
            "temp_store = MEMORY",
        ):
            db.execute(f"PRAGMA {pragma}")
        return db


class _Patience:
    """Wait for a lock in short uneven steps: SQLite's own waiting grows long and is unfair to latecomers."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since = 0.0

    def __call__(self, tries: int) -> bool:
        if tries == 0:
            self._since = time.monotonic()
        time.sleep(random.uniform(0.0005, 0.004))  # noqa: S311  (jitter, not a secret)
        return time.monotonic() - self._since < self._seconds


def _log_failure(done: Future[Any]) -> None:
    if error := done.exception():
        _log.warning("a posted write failed", error=str(error))
