"""One workspace's database: its connections, its transactions, and how each operation is done in SQL."""

from __future__ import annotations

import errno
import hashlib
import json
import random
import re
import threading
import time
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import apsw

from foreword.errors import (
    StorageError,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
)
from foreword.log import get_logger
from foreword.store import embedded, operations, probing, renewal, schema
from foreword.store.base import (
    Check,
    Delete,
    GetReceipt,
    Operation,
    Repair,
    Search,
    Tell,
    Told,
    Untell,
    Write,
)
from foreword.store.rows import COLUMNS, item_of
from foreword.store.vectors import CodeFile
from foreword.store.writer import Writer
from foreword.types import VectorProbe

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from foreword.store.indexes import ViewsOf
    from foreword.types import Filters, Item

_log = get_logger("foreword.store")

_FOLD_SECONDS = 0.1
_KINDS = {
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
    errno.EFBIG: StoreFull,
    errno.EROFS: StoreReadOnly,
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait for a lock, and how much to keep of receipts and of what sessions were told."""

    busy_seconds: float = 15.0
    receipt_days: int = 30
    receipt_bytes: int = 8_000_000
    told_days: int = 30


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's and the system's errors into ours, each with what to do about it."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(
            f"{path} is damaged ({error}); run: foreword doctor --repair, "
            "or move the file away and import a backup"
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
        kind = _KINDS.get(error.errno or 0, StorageError)
        raise kind(f"cannot use {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise StoreDamaged(
            f"{path} is damaged: a text in it is not text ({error}); restore a backup"
        ) from error
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
        self._has_deleted = self._sweep_wanted = False
        self._telling: dict[str, Future[Any]] = {}
        self._telling_lock = threading.Lock()
        db = self._connect()
        schema.migrate(db, workspace, datetime.now(UTC).isoformat())
        owner = db.execute("SELECT value FROM facts WHERE key = 'workspace'").get
        if owner != workspace:
            raise StorageError(f"{path} belongs to the workspace {owner!r}, not {workspace!r}")
        renewal.renew(db, workspace, views)
        self._finish_erasing(db)
        self._writer = Writer(db, self._finish_erasing)

    @staticmethod
    def workspace_of(path: Path, limits: Limits) -> str | None:
        """Whose database this is; None when it holds nothing, or is only just being made."""
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            db.set_busy_handler(_Patience(limits.busy_seconds))
            if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'facts'").fetchall():
                return None
            owner: str | None = db.execute(
                "SELECT value FROM facts WHERE key = 'workspace' "
                "AND (EXISTS(SELECT 1 FROM items) OR EXISTS(SELECT 1 FROM receipts))"
            ).get
            return owner
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
            elif isinstance(op, GetReceipt):
                self._submit([]).result()  # a receipt may have been posted and be on its way
            elif isinstance(op, Told):
                self._await_telling(op.session)
        with self._reader() as db:
            return operations.do(self, db, ops)

    def post(self, op: Write) -> None:
        """Queue a write that nobody waits for; a failure goes to the log."""
        done = self._submit([op], patient=True)
        done.add_done_callback(_log_failure)
        if isinstance(op, Tell | Untell):
            with self._telling_lock:
                self._telling = {s: wrote for s, wrote in self._telling.items() if not wrote.done()}
                self._telling[op.session] = done

    def tally(self, filters: Filters) -> tuple[int, Item | None]:
        """How many items pass the filters, and which was stored last."""
        clause, values = probing.where(filters)
        with self._reader() as db:
            count, last = db.execute(f"SELECT count(*), max(i.no) FROM items i WHERE {clause}", values).get
            row = db.execute(f"SELECT {COLUMNS} FROM items WHERE no = ?", (last,)).fetchone()
        return count, None if row is None else item_of(self.workspace, row)

    def close(self) -> None:
        """Finish the queue, sweep up after what was deleted here, fold the log in, and let go."""
        if self._has_deleted:
            self._writer.submit(self._want_sweep).add_done_callback(_log_failure)
        self._writer.close()
        for db in self._readers:
            db.close()
        for file in self._files.values():
            file.close()

    def codes(self, space: str, digest: str, dimensions: int) -> CodeFile:
        """The code file of one space and one encoder."""
        key = (space, digest, dimensions)
        if key not in self._files:
            whole = hashlib.blake2b(f"{space}\0{digest}".encode(), digest_size=8).hexdigest()
            name = f"{re.sub('[^a-z0-9]+', '-', space.lower())[:40]}-{whole}.codes"
            self._files[key] = CodeFile(self.path.with_name(name), dimensions)
        return self._files[key]

    def _submit(self, ops: list[Operation], *, patient: bool = False) -> Future[Any]:
        if any(isinstance(op, Delete) for op in ops):
            self._has_deleted = True

        def work(db: apsw.Connection) -> list[Any]:
            if any(isinstance(op, Check | Repair) for op in ops):
                self._want_sweep(db)  # whoever checks wants to see nothing left
            return operations.do(self, db, ops)

        return self._writer.submit(work, patient=patient)

    def _await_telling(self, session: str) -> None:
        """Let what was posted about a session's context be written; other writes are not waited for."""
        with self._telling_lock:
            done = self._telling.get(session)
        if done is not None:
            wait([done])

    def _want_sweep(self, _: apsw.Connection) -> None:
        """Have the database written anew after this commit, if something was deleted from it."""
        self._sweep_wanted = True

    def _refresh(self, op: Search) -> None:
        """Bring code files up to date before the snapshot is taken: what was deleted must not come back."""
        if op.expires is not None and time.monotonic() > op.expires:
            return
        for probe in op.probes:
            if isinstance(probe, VectorProbe):
                try:
                    with self._connection() as db:
                        embedded.catch_up(self, db, probe.space, probe.digest)
                except (OSError, StoreDamaged) as error:  # the search reads what the file lacks from the rows
                    _log.warning("a vector file is behind", path=str(self.path), error=str(error))

    def _finish_erasing(self, db: apsw.Connection) -> None:
        """Overwrite the traces of deleted items; what cannot be done now is done at the next write."""
        wanted, self._sweep_wanted = self._sweep_wanted, False
        try:
            erased = [no for (no,) in db.execute("SELECT no FROM erased")]
            if not erased and not wanted:
                return
            forgotten = db.execute("SELECT value FROM facts WHERE key = 'unswept'").get
            if erased:
                self._erase_files(erased, forgotten=forgotten is not None)
            if wanted and forgotten is not None:
                db.execute("VACUUM")
            # What was merely replaced may stand in the log until that is folded in at its own time.
            if forgotten is None or self._fold(db):
                # Only these: another process may have deleted more since, and has yet to erase it.
                done = "DELETE FROM erased WHERE no IN (SELECT value FROM json_each(?))"
                db.execute(done, (json.dumps(erased),))
                if wanted:
                    db.execute("DELETE FROM facts WHERE key = 'unswept' AND value = ?", (forgotten,))
        except (OSError, apsw.Error) as error:
            _log.warning("erasing is unfinished", path=str(self.path), error=str(error))

    def _erase_files(self, erased: list[int], *, forgotten: bool) -> None:
        """Overwrite the codes of deleted items; let go of backups that still have what was forgotten."""
        for file in CodeFile.existing(self.path.parent):
            file.erase(erased)
        for backup in schema.backups(self.path) if forgotten else ():
            backup.unlink(missing_ok=True)

    def _fold(self, db: apsw.Connection) -> bool:
        """Fold the log into the database and empty it; False while someone still reads what is in it."""
        db.set_busy_handler(_Patience(_FOLD_SECONDS))  # a reader that hangs must not keep writers waiting
        try:
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
        finally:
            db.set_busy_handler(_Patience(self.limits.busy_seconds))
        return not busy

    @contextmanager
    def _reader(self) -> Iterator[apsw.Connection]:
        """A connection inside one snapshot."""
        with self._connection() as db:
            db.execute("BEGIN")
            try:
                yield db
            finally:
                if db.in_transaction:
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
        _switch_to_wal(db, _Patience(self.limits.busy_seconds))
        for pragma in (
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


def _switch_to_wal(db: apsw.Connection, patience: _Patience) -> None:
    """Have the database keep a write-ahead log. SQLite does not wait for the lock this needs, so we do."""
    tries = 0
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if not patience(tries):
                raise
            tries += 1
        else:
            return


def _log_failure(done: Future[Any]) -> None:
    if error := done.exception():
        _log.warning("a posted write failed", error=str(error))
