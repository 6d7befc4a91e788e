"""The store for teams: all workspaces in one PostgreSQL database, used by many services at once.

Writes to one workspace are done one after the other, under a lock on the server; writes to different
workspaces do not wait for each other, and readers never wait. When a connection is lost, the batch is carried
out again on another. Each transaction writes a token into the table `commits`, so that it is known whether
the lost one was committed.
"""

from __future__ import annotations

import math
import queue
import random
import threading
import time
import uuid
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from foreword.errors import ForewordError, StorageError, StorePaused
from foreword.log import get_logger
from foreword.options import check_workspace
from foreword.store import base, batches, exchange
from foreword.store.base import Operation, Store, Write
from foreword.store.database import Limits
from foreword.store.postgres import nearest, schema
from foreword.store.postgres.connections import (
    CONNECTION_LOST,
    Pool,
    ServerSilent,
    hide_password,
    translate_errors,
)
from foreword.store.postgres.operations import run_operations
from foreword.store.postgres.outbox import TransactionBesideQdrant
from foreword.store.postgres.transaction import Transaction
from foreword.types import Findings, Item, Note, Views
from foreword.types.deadlines import current_deadline, earliest_deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.store.postgres.connections import Connection
    from foreword.store.qdrant import QdrantVectors
    from foreword.store.vector_part import VectorPart

_log = get_logger("foreword.store")

_T = TypeVar("_T")

_MAX_CONNECTIONS = 16
_GRACE_SECONDS = 0.05
"""How long after a search's deadline its findings may still be fetched."""

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 1.0
_COMMITS_BETWEEN_CLEANINGS = 500
_GROWTH_BEFORE_INDEX = 1.5
"""A workspace gets an index by itself when it has this many times `nearest.EXACT_BELOW` items."""

_WRITES_TO_ONE_WORKSPACE = 0x4657
"""The first half of the advisory lock on writes to a workspace; the second half is the workspace's number."""


@dataclass(slots=True)
class _BatchAttempt:
    """A batch on one workspace that is being carried out, perhaps not for the first time."""

    workspace: str
    operations: list[Operation[Any]]
    deadline: float | None
    token: uuid.UUID = field(default_factory=uuid.uuid4)
    results: list[Any] | None = None
    """The results of the last transaction whose commit was sent, whether or not it was confirmed."""

    @property
    def writes(self) -> bool:
        """Whether the batch has an operation that writes."""
        return any(isinstance(operation, Write) for operation in self.operations)


@dataclass(frozen=True, slots=True)
class ServerState:
    """The versions of PostgreSQL and pgvector, and whether row-level security applies to our user."""

    version: str
    pgvector: str
    is_bound_by_row_security: bool


class PostgresStore(Store):
    """Items in PostgreSQL, for many machines.

    `url` is `postgres://user:password@host/database`; missing tables are made in the schema `schema_name`.
    The other arguments are those of the embedded store. Without `vectors`, pgvector compares vectors.
    """

    is_shared = True

    def __init__(
        self,
        url: str,
        views: Callable[[Item], Views] = lambda _: Views(),
        limits: Limits = Limits(),  # noqa: B008  (frozen)
        reason_to_keep_nothing: Callable[[str], str] = lambda _: "",
        *,
        schema_name: str = "foreword",
        vectors: QdrantVectors | None = None,
    ) -> None:
        self.shown_url = hide_password(url)
        self._views = views
        self._limits = limits
        self._reason_to_keep_nothing = reason_to_keep_nothing
        self._schema = schema_name
        self.vector_server = vectors
        self._vectors: VectorPart[Any] = nearest.PgvectorTables()
        self._transaction_class = Transaction
        if vectors is not None:
            self._vectors, self._transaction_class = vectors, TransactionBesideQdrant
            vectors.bind_to_store(self.run)
        self._pool = Pool(url, schema_name, _MAX_CONNECTIONS)
        self._numbers: dict[str, int] = {}
        self._is_ready = False
        self._prepare_lock = threading.Lock()
        self._posted_writes = _PostedWrites(self._run_and_log_failure)
        self._closed = threading.Event()
        self._indexed_workspaces: set[str] = set()
        self._listener: threading.Thread | None = None

    # Carrying out

    def batch(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Carry out operations; those on one workspace are one transaction, or one snapshot."""
        if self._closed.is_set():
            raise StorageError("the store is closed; open another")
        return batches.run_by_workspace(operations, self._run_batch_in_workspace)

    def _run_batch_in_workspace(self, workspace: str, operations: list[Operation[Any]]) -> list[Any]:
        """Carry out operations on one workspace; raises `StorePaused` if they store words and must not."""
        if any(map(batches.stores_spoken_or_written_words, operations)) and (
            reason := self._reason_to_keep_nothing(workspace)
        ):
            raise StorePaused(f"{reason}; nothing was kept")
        if any(isinstance(operation, base.Check) for operation in operations):
            self._vectors.flush(workspace, base.FLUSH_SECONDS)
        deadline = earliest_deadline(_deadline_if_all_expire(operations), current_deadline())
        attempt = _BatchAttempt(workspace, operations, deadline)
        with translate_errors(self.shown_url):
            try:
                if any(isinstance(operation, base.GetReceipt | base.GetShown) for operation in operations):
                    self._posted_writes.wait_for(workspace, attempt.deadline)
                return self._run_with_reconnects(
                    lambda connection: self._run_in_transaction(connection, attempt), attempt.deadline
                )
            except ServerSilent:
                if attempt.deadline is None or not all(isinstance(one, base.Search) for one in operations):
                    raise
                return [_findings_for_unanswered_search(operation) for operation in operations]

    def _run_with_reconnects(self, run: Callable[[Connection], _T], deadline: float | None = None) -> _T:
        """Use a connection; if it is lost, try again with another until the time is over."""
        deadline = earliest_deadline(deadline, current_deadline())
        if deadline is not None and deadline < time.monotonic():
            raise ServerSilent("the deadline passed")
        busy_until = time.monotonic() + self._limits.busy_seconds
        give_up = busy_until if deadline is None else min(deadline, busy_until)
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                with self._pool.borrow(_add_grace_period(deadline)) as connection:
                    self._make_tables_once(connection)
                    return run(connection)
            except CONNECTION_LOST as error:
                if not self._is_worth_another_try(error) or time.monotonic() + pause > give_up:
                    raise
                self._pool.close_idle_connections()
                time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  (jitter, not a secret)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _is_worth_another_try(self, error: Exception) -> bool:
        """Whether an error means that a server which has answered before may only be away for a moment."""
        state = getattr(error, "sqlstate", None) or ""
        is_lost = not state or state.startswith(("57P", "08"))
        return self._is_ready and is_lost and not isinstance(error, ServerSilent)

    def _make_tables_once(self, connection: Connection) -> None:
        """Make the tables, unless this store has done so before."""
        if self._is_ready:
            return
        if not self._prepare_lock.acquire(timeout=_seconds_to_wait_for_lock(connection.deadline)):
            raise ServerSilent("the tables are still being made")
        try:
            if not self._is_ready:
                schema.migrate(connection, self._schema)
                self._is_ready = True
        finally:
            self._prepare_lock.release()

    def _run_in_transaction(self, connection: Connection, attempt: _BatchAttempt) -> list[Any]:
        """Carry out a batch in one transaction, which is rolled back if anything fails."""
        creates = any(map(batches.creates_workspace, attempt.operations))
        ws = self._find_workspace(connection, attempt.workspace, create=creates)
        if not ws:
            return [batches.result_in_empty_workspace(operation) for operation in attempt.operations]
        try:
            if not attempt.writes:
                connection.execute(
                    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
                    f"SET LOCAL foreword.ws = '{ws}'{_timeout_suffix_sql(attempt.deadline)}"
                )
                return run_operations(self._new_transaction(connection, ws, attempt), attempt.operations)
            return self._run_write_once(connection, ws, attempt)
        finally:
            if not connection.closed and connection.info.transaction_status != 0:
                with suppress(*CONNECTION_LOST):
                    connection.execute("ROLLBACK")

    def _run_write_once(self, connection: Connection, ws: int, attempt: _BatchAttempt) -> list[Any]:
        """Carry out a batch that writes; one that an earlier try has committed is not carried out again."""
        connection.execute(
            f"BEGIN; SET LOCAL foreword.ws = '{ws}'{_timeout_suffix_sql(attempt.deadline)}; "
            f"SET LOCAL lock_timeout = '{int(self._limits.busy_seconds * 1000)}ms'; "
            f"SELECT pg_advisory_xact_lock({_WRITES_TO_ONE_WORKSPACE}, {ws})"
        )
        # We have the lock, so an earlier try of this batch has ended: it was committed or rolled back.
        if attempt.results is not None and _was_committed(connection, attempt.token):
            return attempt.results
        attempt.results = None
        tx = self._new_transaction(connection, ws, attempt)
        results = run_operations(tx, attempt.operations)
        tx.execute(
            "UPDATE workspaces SET holds = NOT holds WHERE ws = ? AND holds IS DISTINCT FROM "
            "(EXISTS(SELECT 1 FROM items WHERE ws = ?) OR EXISTS(SELECT 1 FROM receipts WHERE ws = ?))",
            *(ws, ws, ws),
        )
        tx.execute("INSERT INTO commits(token) VALUES(?)", attempt.token)
        if random.random() * _COMMITS_BETWEEN_CLEANINGS < 1:  # noqa: S311
            tx.execute("DELETE FROM commits WHERE made_at < now() - interval '1 hour'")
        if tx.has_new_items:
            tx.execute("SELECT pg_notify(?, ?)", self._new_items_channel, str(ws))
        attempt.results = results
        connection.execute("COMMIT")
        if not all(isinstance(operation, exchange.ClearOutbox) for operation in attempt.operations):
            self._vectors.after_commit(attempt.workspace)
        if any(isinstance(operation, base.PutVectors) for operation in attempt.operations):
            self._index_vectors_if_many(connection, ws, attempt.workspace)
        return results

    def _index_vectors_if_many(self, connection: Connection, ws: int, workspace: str) -> None:
        """Index the vectors of a workspace that has become large, once, in a thread of its own."""
        if workspace in self._indexed_workspaces or not isinstance(self._vectors, nearest.PgvectorTables):
            return
        row = connection.execute("SELECT items FROM workspaces WHERE ws = %s", (ws,)).fetchone()
        if row is not None and row[0] > nearest.EXACT_BELOW * _GROWTH_BEFORE_INDEX:
            self._indexed_workspaces.add(workspace)
            threading.Thread(
                target=self._make_indexes_and_log_failure,
                args=(workspace,),
                name="foreword-indexer",
                daemon=True,
            ).start()

    def _make_indexes_and_log_failure(self, workspace: str) -> None:
        """Build the missing vector indexes of a workspace; a failure is logged."""
        try:
            self.make_vector_indexes(workspace)
        except ForewordError as error:
            _log.warning("vectors not indexed", workspace=workspace, error=str(error))

    def _new_transaction(self, connection: Connection, ws: int, attempt: _BatchAttempt) -> Transaction:
        return self._transaction_class(
            *(connection, ws, attempt.workspace, self._views, self._limits, self._vectors),
            writes=attempt.writes,
        )

    def _find_workspace(self, connection: Connection, name: str, *, create: bool) -> int:
        """The number of a workspace; 0 if it does not exist and `create` is False."""
        if name in self._numbers:
            return self._numbers[name]
        query = "SELECT ws FROM workspaces WHERE md5(name) = md5(%s)"
        row = connection.execute(query, (name,)).fetchone()
        if row is None and create:
            connection.execute("INSERT INTO workspaces(name) VALUES(%s) ON CONFLICT DO NOTHING", (name,))
            row = connection.execute(query, (name,)).fetchone()
        if row is None:
            return 0
        self._numbers[name] = row[0]
        return int(row[0])

    # The rest of the contract

    def post(self, operation: Write[Any]) -> None:
        """Queue a write; `close` waits for it. A write that must not be stored now is ignored."""
        check_workspace(operation.workspace)
        if self._closed.is_set():
            raise StorageError("the store is closed; open another")
        if not (
            batches.stores_spoken_or_written_words(operation)
            and self._reason_to_keep_nothing(operation.workspace)
        ):
            self._posted_writes.add(operation)

    def _run_and_log_failure(self, operation: Write[Any]) -> None:
        """Carry out a posted write; a failure is logged."""
        try:
            self._run_batch_in_workspace(operation.workspace, [operation])
        except ForewordError as error:
            _log.warning("a posted write failed", error=str(error))

    def workspaces(self) -> list[str]:
        """The names of the workspaces that hold something, sorted."""
        query = "SELECT name FROM workspaces WHERE holds"
        with translate_errors(self.shown_url):
            rows = self._run_with_reconnects(lambda connection: connection.execute(query).fetchall())
        return sorted(name for (name,) in rows)

    def close(self) -> None:
        """Finish what was posted and close every connection."""
        self._posted_writes.close()
        self._vectors.close()
        self._closed.set()
        self._pool.close()
        if self._listener is not None:
            self._listener.join()

    def make_vector_indexes(self, workspace: str) -> list[str]:
        """Build the missing vector indexes of a large workspace. Returns the names of the new ones."""
        with translate_errors(self.shown_url), self._pool.borrow() as connection:
            self._make_tables_once(connection)
            ws = self._find_workspace(connection, workspace, create=False)
            try:
                return nearest.make_missing_indexes(connection, ws) if ws else []
            finally:
                connection.execute("RESET foreword.ws")

    def read_server_state(self) -> ServerState:
        """The versions of the server, and whether row-level security applies to our user."""
        query = (
            "SELECT current_setting('server_version'), "
            "(SELECT extversion FROM pg_extension WHERE extname = 'vector'), "
            "(SELECT NOT (rolsuper OR rolbypassrls) FROM pg_roles WHERE rolname = current_user)"
        )
        with translate_errors(self.shown_url):
            row: Any = self._run_with_reconnects(lambda connection: connection.execute(query).fetchone())
        return ServerState(*row)

    # What others have stored

    @property
    def _new_items_channel(self) -> str:
        """The channel on which services tell each other of new items."""
        return f"foreword_{self._schema}"

    def watch(self, on_new_items: Callable[[str], None]) -> None:
        """Call `on_new_items` with the name of a workspace when any service has stored items in it."""
        if self._listener is None:
            self._listener = threading.Thread(
                target=self._listen_until_closed, args=(on_new_items,), name="foreword-listener", daemon=True
            )
            self._listener.start()

    def _listen_until_closed(self, on_new_items: Callable[[str], None]) -> None:
        """Wait for notices of new items until the store is closed; reconnect when the server was away."""
        while not self._closed.is_set():
            try:
                with self._pool.connect() as connection:
                    connection.execute(f'LISTEN "{self._new_items_channel}"')
                    while not self._closed.is_set():
                        # All notices first: the connection cannot be used while they are being read.
                        notices = list(connection.notifies(timeout=0.5, stop_after=1))
                        for ws in {int(notice.payload) for notice in notices}:
                            if name := self._workspace_name(connection, ws):
                                on_new_items(name)
            except CONNECTION_LOST as error:
                _log.warning("not listening for new items", error=type(error).__name__)
                self._closed.wait(_LONGEST_PAUSE_SECONDS)

    def _workspace_name(self, connection: Connection, ws: int) -> str | None:
        row = connection.execute("SELECT name FROM workspaces WHERE ws = %s", (ws,)).fetchone()
        return None if row is None else str(row[0])


class _PostedWrites:
    """A queue of posted writes, which a thread carries out one after the other."""

    def __init__(self, run: Callable[[Write[Any]], None]) -> None:
        self._run = run
        self._queue: queue.SimpleQueue[tuple[Write[Any], Future[None]] | None] = queue.SimpleQueue()
        self._last: dict[str, Future[None]] = {}
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def add(self, operation: Write[Any]) -> None:
        """Queue a write."""
        done: Future[None] = Future()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run_until_closed, name="foreword-posted", daemon=True
                )
                self._thread.start()
            self._last[operation.workspace] = done
            self._queue.put((operation, done))

    def wait_for(self, workspace: str, deadline: float | None) -> None:
        """Wait until all writes posted to a workspace are done or have failed; ServerSilent at a deadline."""
        with self._lock:
            done = self._last.get(workspace)
        if (
            done is not None
            and not wait([done], None if deadline is None else _seconds_to_wait_for_lock(deadline)).done
        ):
            raise ServerSilent("what was posted is not written yet")

    def close(self) -> None:
        """Carry out what is queued, and stop the thread."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join()

    def _run_until_closed(self) -> None:
        """Carry out queued writes until the queue is closed."""
        while (job := self._queue.get()) is not None:
            operation, done = job
            try:
                self._run(operation)
            finally:
                done.set_result(None)


def _deadline_if_all_expire(operations: Sequence[Operation[Any]]) -> float | None:
    """The earliest deadline of a batch that only searches; None if something in it has no deadline."""
    expiries = [operation.expires for operation in operations if isinstance(operation, base.Search)]
    given = [expires for expires in expiries if expires is not None]
    return min(given) if given and len(given) == len(operations) else None


def _seconds_to_wait_for_lock(deadline: float | None) -> float:
    """How long a lock may be waited for: until the deadline, or for ever (-1)."""
    return -1.0 if deadline is None else max(0.0, deadline - time.monotonic())


def _timeout_suffix_sql(deadline: float | None) -> str:
    """The part of a command that begins a transaction which has the server stop it at the deadline."""
    if deadline is None:
        return ""
    return f"; SET LOCAL statement_timeout = {max(1, math.ceil(_seconds_to_wait_for_lock(deadline) * 1000))}"


def _add_grace_period(deadline: float | None) -> float | None:
    """The deadline of a search's connection: a little later than its own, so that findings can be fetched."""
    return None if deadline is None else deadline + _GRACE_SECONDS


def _findings_for_unanswered_search(operation: Operation[Any]) -> Findings:
    """The findings of a search that the server did not answer in time: a note for each probe."""
    probes = operation.probes if isinstance(operation, base.Search) else ()
    return Findings({}, {}, tuple(Note(probe.space, "late: the deadline passed") for probe in probes))


def _was_committed(connection: Connection, token: uuid.UUID) -> bool:
    """Whether the transaction with this token was committed."""
    return connection.execute("SELECT 1 FROM commits WHERE token = %s", (token,)).fetchone() is not None
