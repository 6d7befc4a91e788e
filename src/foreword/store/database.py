"""One workspace's database: its connections, its transactions, and the erasing of deleted text.

What an operation does inside a transaction is in `operations`.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import random
import re
import secrets
import threading
import time
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import apsw

from foreword.errors import StorageError, StoreBusy, StoreDamaged, StoreFull, StoreReadOnly, ValidationError
from foreword.log import get_logger
from foreword.store import base, outbox, schema
from foreword.store.backups import make_backup, make_daily_backup, remove_backups
from foreword.store.indexes import IndexQueue, add_items_to_indexes, reindex_names_after_upgrade
from foreword.store.operations import run_operations
from foreword.store.rows import COLUMNS, as_stored_with_hash, item_from_row, item_to_row
from foreword.store.vectors import CodeFile, update_vector_code_file
from foreword.store.writer import Writer
from foreword.types import VectorProbe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from foreword.store.vector_part import VectorPart
    from foreword.types import Filters, Item, Views

_log = get_logger("foreword.store")

_CHECKPOINT_SECONDS = 0.1
"""How many seconds a checkpoint waits for readers: a reader that hangs must not keep writers waiting."""

_ERRORS_BY_NUMBER = {
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
    errno.EFBIG: StoreFull,
    errno.EROFS: StoreReadOnly,
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait for a lock, and how much is stored of receipts and of what sessions were shown.

    `open_databases` is how many databases stay open when nobody uses them; None means as many as the system's
    limit on files allows.
    """

    busy_seconds: float = 15.0
    receipt_days: int = 30
    receipt_bytes: int = 8_000_000
    shown_days: int = 30
    open_databases: int | None = None


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """In the block, errors of SQLite and of the system become our own, each with advice in its message."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(
            f"{path} is damaged ({error}); run: foreword doctor --repair, "
            "or foreword restore, which lists the backups"
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
        kind = _ERRORS_BY_NUMBER.get(error.errno or 0, StorageError)
        raise kind(f"cannot use {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise StoreDamaged(
            f"{path} is damaged: a text in it is not text ({error}); restore a backup"
        ) from error
    except apsw.Error as error:
        raise StorageError(f"the database {path} refused: {error}") from error


class WorkspaceDatabase:
    """The database of one workspace, with a writer thread, a pool of read connections and the code files."""

    def __init__(
        self,
        path: Path,
        workspace: str,
        views: Callable[[Item], Views],
        limits: Limits,
        vectors: VectorPart[Any] | None = None,
    ) -> None:
        self.path = path
        self.workspace = workspace
        self.views = views
        self.limits = limits
        self.vectors = vectors
        self.is_read_only = not _can_be_written(path)
        self._readers: list[apsw.Connection] = []
        self._code_files: dict[tuple[str, str, int], CodeFile] = {}
        self._has_deleted = self._wants_vacuum = False
        self._posted_receipt: Future[Any] | None = None
        self._posted_shown: dict[str, Future[Any]] = {}
        self._posted_shown_lock = threading.Lock()
        db = self._open_connection()
        self._migrate(db)
        owner = db.execute("SELECT value FROM facts WHERE key = 'workspace'").get
        if owner != workspace:
            raise StorageError(f"{path} belongs to the workspace {owner!r}, not {workspace!r}")
        if not self.is_read_only:
            reindex_names_after_upgrade(Transaction(self, db))
            self._erase_traces_of_deleted(db)
        self._writer = Writer(db, self._erase_deleted_and_notify_sender)

    def _migrate(self, db: apsw.Connection) -> None:
        """Bring the database up to date; raises `StoreReadOnly` if it is outdated and cannot be written."""
        if not self.is_read_only:
            schema.migrate(db, self.workspace, datetime.now(UTC).isoformat())
        elif schema.pending_migrations(db):
            raise StoreReadOnly(
                f"{self.path} was written by an older Foreword, and cannot be written to bring it up to "
                "date; change its permissions, or copy its folder and set FOREWORD_HOME to the copy"
            )

    @staticmethod
    def read_workspace_name(path: Path, limits: Limits) -> str | None:
        """The name of a database's workspace; None if the database is empty or is just being made."""
        db = _open_to_read(path)
        try:
            db.set_busy_handler(_LockWaiter(limits.busy_seconds))
            if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'facts'").fetchall():
                return None
            owner: str | None = db.execute(
                "SELECT value FROM facts WHERE key = 'workspace' "
                "AND (EXISTS(SELECT 1 FROM items) OR EXISTS(SELECT 1 FROM receipts))"
            ).get
            return owner
        finally:
            db.close()

    @staticmethod
    def read_tenant_name(path: Path, limits: Limits) -> str:
        """The name of a database's workspace on vector servers; empty if it was never sent to one."""
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            db.set_busy_handler(_LockWaiter(limits.busy_seconds))
            if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'facts'").fetchall():
                return ""
            facts: dict[Any, Any] = dict(db.execute("SELECT key, value FROM facts").fetchall())  # type: ignore[arg-type]
            return outbox.make_tenant_name(facts.get("store"), facts.get("workspace", ""))
        finally:
            db.close()

    def batch(self, ops: list[base.Operation[Any]]) -> list[Any]:
        """Carry out operations in one transaction or, if none writes, in one snapshot."""
        if any(isinstance(op, base.Write | base.Check) for op in ops):  # full-text engines check by an INSERT
            results: list[Any] = self._submit_to_writer(ops).result()
            return results
        for op in ops:
            if isinstance(op, base.Search):
                self._update_vector_code_files(op)
            elif isinstance(op, base.GetReceipt):
                self._await_posted_receipt()
            elif isinstance(op, base.GetShown):
                self._await_writes_on_shown_items(op.session)
        with self._open_snapshot_transaction() as tx:
            return run_operations(tx, ops)

    def post(self, op: base.Write[Any]) -> None:
        """Queue a write that nobody waits for; a failure is logged."""
        if self.is_read_only:
            _log.warning("read-only: nothing of this use is recorded", path=str(self.path))
            return
        done = self._submit_to_writer([op], can_wait=True)
        done.add_done_callback(_log_failed_write)
        if isinstance(op, base.PutReceipt):
            self._posted_receipt = done
        if isinstance(op, base.MarkShown | base.ClearShown):
            with self._posted_shown_lock:
                unfinished = {key: write for key, write in self._posted_shown.items() if not write.done()}
                self._posted_shown = unfinished | {op.session: done}

    def close(self) -> None:
        """Carry out what is queued, overwrite what was deleted, and release files and connections."""
        if self._has_deleted:
            self._writer.submit(self._request_vacuum).add_done_callback(_log_failed_write)
        self._writer.close()
        for db in self._readers:
            db.close()
        for file in self._code_files.values():
            file.close()

    def back_up(self, label: str) -> Path | None:
        """Back the database up under a label; see `make_backup`."""
        with self._borrow_connection() as db:
            return make_backup(db, self.path, label)

    def back_up_daily(self, day: str, keep: int) -> Path | None:
        """Back the database up unless it has a backup of this day; see `make_daily_backup`."""
        with self._borrow_connection() as db:
            return make_daily_backup(db, self.path, day, keep)

    def get_vector_code_file(self, space: str, digest: str, dimensions: int) -> CodeFile:
        """The code file of one space and one encoder; always the same object."""
        key = (space, digest, dimensions)
        if key not in self._code_files:
            suffix = hashlib.blake2b(f"{space}\0{digest}".encode(), digest_size=8).hexdigest()
            name = f"{re.sub('[^a-z0-9]+', '-', space.lower())[:40]}-{suffix}.codes"
            self._code_files[key] = CodeFile(self.path.with_name(name), dimensions)
        return self._code_files[key]

    def _submit_to_writer(self, ops: list[base.Operation[Any]], *, can_wait: bool = False) -> Future[Any]:
        """Queue operations as one job of the writer. The future gets their results."""
        if any(isinstance(op, base.Delete) for op in ops):
            self._has_deleted = True

        def run_in_transaction(db: apsw.Connection) -> list[Any]:
            if any(isinstance(op, base.Check | base.Repair) for op in ops):
                self._request_vacuum(db)  # after a check, no deleted text may be left
            return run_operations(Transaction(self, db), ops)

        return self._writer.submit(run_in_transaction, can_wait=can_wait)

    def _await_posted_receipt(self) -> None:
        """Wait until the receipt that was posted last is written; returns at once if it is."""
        if self._posted_receipt is not None and not self._posted_receipt.done():
            self._submit_to_writer([]).result()  # a job that is waited for ends the lingering of posted ones

    def _await_writes_on_shown_items(self, session: str) -> None:
        """Wait until the posted writes on what a session was shown are done, and for no other write."""
        with self._posted_shown_lock:
            done = self._posted_shown.get(session)
        if done is not None:
            wait([done])

    def _update_vector_code_files(self, op: base.Search) -> None:
        """Update code files before the snapshot is taken: an old snapshot would bring back deleted codes."""
        if op.expires is not None and time.monotonic() > op.expires:
            return
        for probe in op.probes if self.vectors is None and not self.is_read_only else ():
            if isinstance(probe, VectorProbe):
                try:
                    with self._borrow_connection() as db:
                        update_vector_code_file(Transaction(self, db), probe.space, probe.digest)
                except (OSError, StoreDamaged) as error:  # the search reads the missing codes from the rows
                    _log.warning("a vector file is behind", path=str(self.path), error=str(error))

    def _request_vacuum(self, _: apsw.Connection) -> None:
        """Ask for the database to be rewritten after this commit, if something was deleted from it."""
        self._wants_vacuum = True

    def _erase_deleted_and_notify_sender(self, db: apsw.Connection) -> None:
        """After a commit, erase what was deleted, and tell the vector server's part of changes to send."""
        self._erase_traces_of_deleted(db)
        if self.vectors is not None and db.execute("SELECT 1 FROM outbox LIMIT 1").get:
            self.vectors.after_commit(self.workspace)

    def _erase_traces_of_deleted(self, db: apsw.Connection) -> None:
        """Overwrite the traces of deleted items; what fails now is tried again at the next write.

        The fact 'unswept' means that pages of the database may still have deleted text. The table `erased`
        has the items that may still be in code files.
        """
        vacuum, self._wants_vacuum = self._wants_vacuum, False
        try:
            erased = [number for (number,) in db.execute("SELECT no FROM erased")]
            if not erased and not vacuum:
                return
            unswept = db.execute("SELECT value FROM facts WHERE key = 'unswept'").get
            if erased:
                for file in CodeFile.list_in_folder(self.path.parent):
                    file.erase_codes_of_items(erased)
            if db.execute("SELECT 1 FROM facts WHERE key = 'outdated copies'").get:
                remove_backups(self.path)
                db.execute("DELETE FROM facts WHERE key = 'outdated copies'")
            if vacuum and unswept is not None:
                db.execute("VACUUM")
            # Items that were only replaced by a file's new content may stay in the log until a checkpoint.
            if unswept is None or self._try_checkpoint(db):
                # Only these: another process may have deleted more since, and still has to erase it.
                done = "DELETE FROM erased WHERE no IN (SELECT value FROM json_each(?))"
                db.execute(done, (json.dumps(erased),))
                if vacuum:
                    db.execute("DELETE FROM facts WHERE key = 'unswept' AND value = ?", (unswept,))
        except (OSError, apsw.Error) as error:
            _log.warning("erasing is unfinished", path=str(self.path), error=str(error))

    def _try_checkpoint(self, db: apsw.Connection) -> bool:
        """Move the write-ahead log into the database and empty it; False if a reader still needs the log."""
        db.set_busy_handler(_LockWaiter(_CHECKPOINT_SECONDS))
        try:
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
        finally:
            db.set_busy_handler(_LockWaiter(self.limits.busy_seconds))
        return not busy

    @contextmanager
    def _open_snapshot_transaction(self) -> Iterator[Transaction]:
        """A transaction that reads one snapshot."""
        with self._borrow_connection() as db:
            db.execute("BEGIN")
            try:
                yield Transaction(self, db)
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    @contextmanager
    def _borrow_connection(self) -> Iterator[apsw.Connection]:
        """A connection for the caller alone while the block lasts; list operations are atomic: no lock."""
        try:
            db = self._readers.pop()
        except IndexError:
            db = self._open_connection()
        try:
            yield db
        finally:
            self._readers.append(db)

    def _open_connection(self) -> apsw.Connection:
        """A new connection, durable and with a write-ahead log; or one that only reads."""
        if self.is_read_only:
            return _open_to_read(self.path)
        db = apsw.Connection(str(self.path), statementcachesize=200)
        db.set_busy_handler(_LockWaiter(self.limits.busy_seconds))
        _switch_to_wal(db, _LockWaiter(self.limits.busy_seconds))
        for pragma in (
            "synchronous = FULL",  # a commit is on the disk when it returns
            "secure_delete = ON",  # what is deleted is overwritten
            "journal_size_limit = 16000000",
            "cache_size = -32000",
            "temp_store = MEMORY",
        ):
            db.execute(f"PRAGMA {pragma}")
        return db


class Transaction:
    """A connection inside a transaction, with the settings of its workspace that operations need."""

    def __init__(self, database: WorkspaceDatabase, db: apsw.Connection) -> None:
        self.database, self.db = database, db
        self.workspace, self.views, self.limits = database.workspace, database.views, database.limits
        self.vectors = database.vectors
        self.expires: float | None = None
        self.unindexed = IndexQueue(self.views, lambda waiting: add_items_to_indexes(self, waiting))

    def execute(self, sql: str, *values: Any) -> apsw.Cursor:  # noqa: ANN401  (whatever SQLite can bind)
        """Run a statement."""
        return self.db.execute(sql, values)

    def select_value(self, sql: str, *values: Any) -> Any:  # noqa: ANN401  (whatever a column has)
        """The only value of the first row, or None if there is no row."""
        return self.db.execute(sql, values).get

    def select_items(self, sql_rest: str, *values: object) -> tuple[Item, ...]:
        """The items that a statement selects, given the part after `SELECT … FROM items i`."""
        rows = self.execute(f"SELECT {COLUMNS} FROM items i {sql_rest}", *values)
        return tuple(item_from_row(self.workspace, row) for row in rows)

    def select_numbered_items(self, sql_rest: str, *values: object) -> list[tuple[int, Item]]:
        """The items that a statement selects, as `select_items`, each with its number."""
        rows: list[Any] = self.execute(f"SELECT i.no, {COLUMNS} FROM items i {sql_rest}", *values).fetchall()
        return [(row[0], item_from_row(self.workspace, row[1:])) for row in rows]

    def tenant_name(self) -> str:
        """The name of the workspace on the server, different from those of all other stores."""
        return outbox.tenant_name(self)

    def add_to_outbox(self, numbers: Iterable[int]) -> None:
        """Note that these items have changed and have to be sent to the vector server."""
        outbox.add_to_outbox(self, numbers)

    def unsent_and_passing_numbers(self, filters: Filters, limit: int) -> tuple[set[int], list[int]]:
        """The newest items in the outbox, at most `limit`, and those of them that pass the filters."""
        return outbox.unsent_and_passing_numbers(self, filters, limit)

    def unsent_among(self, numbers: Sequence[int]) -> set[int]:
        """Those of these items that are in the outbox."""
        return outbox.unsent_among(self, numbers)

    def numbers_with_vectors(self) -> list[int]:
        """The numbers of all items that have a vector."""
        return [int(number) for (number,) in self.execute("SELECT DISTINCT no FROM vectors ORDER BY no")]

    def codes_of_items(self, space: str, digest: str, numbers: Iterable[int]) -> dict[int, bytes]:
        """The codes of these items by number, for those that have one."""
        return outbox.codes_of_items(self, space, digest, numbers)

    def all_codes(self) -> list[tuple[int, str, str, bytes]]:
        """Rows of an item's number, space, digest and code, for every vector."""
        return self.execute("SELECT no, space, digest, code FROM vectors").fetchall()  # type: ignore[return-value]

    def put_items(self, items: tuple[Item, ...], views: tuple[Views, ...] = ()) -> tuple[base.Stored, ...]:
        """Store items that are not there yet; see `Put`. `views` are those of the items, if known."""
        pairs = zip(items, views or (None,) * len(items), strict=True)
        return tuple(self._put_item_if_new(item, its_views) for item, its_views in pairs)

    def _put_item_if_new(self, item: Item, views: Views | None) -> base.Stored:
        """Store an item, unless one with the same content is there: then that one is returned."""
        item = as_stored_with_hash(self.workspace, item)
        if known := self.select_items("WHERE hash = ?", item.hash):
            return base.Stored(known[0], new=False)
        item = replace(item, id=item.id or secrets.token_hex(8))
        try:
            self.execute(f"INSERT INTO items({COLUMNS}) VALUES({', '.join('?' * 17)})", *item_to_row(item))
        except apsw.ConstraintError as error:
            raise ValidationError(
                f"another item has the id {item.id!r}; forget it first, or leave the id out"
            ) from error
        self.unindexed.add(self.db.last_insert_rowid(), item, views)
        return base.Stored(item, new=True)


class _LockWaiter:
    """Waits for a lock in short random steps: SQLite's own waits grow long and are unfair to latecomers."""

    def __init__(self, max_seconds: float) -> None:
        self._max_seconds = max_seconds
        self._started_at = 0.0

    def __call__(self, tries: int) -> bool:
        if tries == 0:
            self._started_at = time.monotonic()
        time.sleep(random.uniform(0.0005, 0.004))  # noqa: S311  (jitter, not a secret)
        return time.monotonic() - self._started_at < self._max_seconds


def _can_be_written(path: Path) -> bool:
    """Whether this user may write a database and make files beside it, as a write-ahead log needs."""
    return all(os.access(place, os.W_OK) for place in (path, path.parent))


def _open_to_read(path: Path) -> apsw.Connection:
    """A connection that only reads, also where SQLite cannot make the files of a write-ahead log.

    There, a database without a log is read as one that nobody changes: the connection must not be kept.
    """
    log = path.with_name(f"{path.name}-wal")
    is_fixed = not _can_be_written(path) and not (log.exists() and log.stat().st_size)
    address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_fixed else ''}"
    return apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def _switch_to_wal(db: apsw.Connection, lock_wait: _LockWaiter) -> None:
    """Switch a database to a write-ahead log; waits for the lock that this needs, as SQLite does not."""
    for tries in itertools.count():
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if not lock_wait(tries):
                raise
        else:
            return


def _log_failed_write(done: Future[Any]) -> None:
    """Log the failure of a posted write, if it failed."""
    if error := done.exception():
        _log.warning("a posted write failed", error=str(error))
