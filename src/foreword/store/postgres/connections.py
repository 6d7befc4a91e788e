"""Connections to PostgreSQL: a pool, deadlines that hold even if the server hangs, and translated errors.

The server stops a statement when its time is over. If the server does not even answer, the connection is
closed when its deadline passes.
"""

from __future__ import annotations

import re
import select
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from foreword.errors import (
    MissingExtra,
    StorageError,
    StoreAway,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    ValidationError,
)

try:
    import psycopg
    from psycopg import errors as pg
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:  # pragma: no cover  (the tests have it)
    raise MissingExtra("psycopg", "postgres") from error

if TYPE_CHECKING:
    from collections.abc import Iterator

EF_SEARCH = 800
"""How many vectors an index of pgvector compares before it returns the nearest."""

_SETTINGS = {
    "connect_timeout": 5,
    # A server whose machine vanished is noticed after a minute, not after hours.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""How connections are made, unless the address says otherwise."""

_OPTIONS = (
    "-c statement_timeout=0 -c idle_in_transaction_session_timeout=60000 "
    f"-c hnsw.ef_search={EF_SEARCH} -c hnsw.iterative_scan=relaxed_order"
)
_PASSWORD_OPTION = re.compile(r"[?&](ssl)?password=.*", re.DOTALL)
_IDLE_SECONDS_BEFORE_CHECK = 1.0
"""A connection that was idle for longer is tested before it is used."""

CONNECTION_LOST = (psycopg.OperationalError, psycopg.InterfaceError)
"""What psycopg raises when the server is away, stops, or does not answer."""


class ServerSilent(psycopg.OperationalError):
    """The server did not answer before the deadline of the connection."""


class Connection(psycopg.Connection[Any]):
    """A connection that stops waiting for the server at `deadline`, a value of `time.monotonic()`."""

    deadline: float | None = None
    used_at: float = 0.0

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401  (psycopg's own)
        """Wait for the server's answer as psycopg does, but raise `ServerSilent` at the deadline."""
        if self.deadline is None:
            return super().wait(gen, *arguments, **options)
        try:
            state = next(gen)
            while True:
                state = gen.send(self._poll(int(state)))
        except StopIteration as done:
            return done.value

    def _poll(self, wanted: int) -> int:
        """Whether the socket is ready for reading (1), writing (2), both (3) or neither (0).

        Waits a moment for it. At the deadline, closes the connection and raises `ServerSilent`.
        """
        left = (self.deadline or 0.0) - time.monotonic()
        if left <= 0:
            self.close()
            raise ServerSilent("the server did not answer in time")
        poll = select.poll()  # not select(), which refuses files numbered above 1023
        kinds = {1: select.POLLIN, 2: select.POLLOUT}
        poll.register(self.pgconn.socket, sum(event for bit, event in kinds.items() if wanted & bit))
        found = sum(event for _, event in poll.poll(min(left, 0.1) * 1000))
        if found & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
            return wanted  # to read or to write says what is wrong
        return sum(bit for bit, event in kinds.items() if found & event)


def hide_password(url: str) -> str:
    """The address without its password, to be shown or logged; also if the password has stray signs in it."""
    scheme, _, rest = _PASSWORD_OPTION.sub("", url).partition("://")
    user, at, host = rest.rpartition("@")
    name, colon, _ = user.partition(":")
    hidden = f"{name}:***" if colon else name
    return f"{scheme}://{hidden}{at}{host.partition('?')[0] if colon else host}"


def _read_url(url: str) -> dict[str, Any]:
    """The settings of a connection that an address gives, and ours for what it does not say."""
    try:
        given = conninfo_to_dict(url)
        [int(port) for port in str(given.get("port", 0)).split(",") if port]  # several hosts have several
    except (psycopg.ProgrammingError, ValueError):  # their messages repeat the password
        raise ValidationError(
            f"the address {hide_password(url)} cannot be read; in a password, "
            "write / as %2F, # as %23, ? as %3F, @ as %40, % as %25, and a blank as %20"
        ) from None
    return {**_SETTINGS, **given, "options": f"{given.get('options', '')} {_OPTIONS}".strip()}


class Pool:
    """A pool of at most `size` connections: idle ones are reused, new ones are made when needed."""

    def __init__(self, url: str, schema: str, size: int) -> None:
        self.shown_url = hide_password(url)
        self._settings = _read_url(url)
        self._schema = schema
        self._idle: list[Connection] = []
        self._places = threading.Semaphore(size)
        self._closed = False

    @contextmanager
    def borrow(self, deadline: float | None = None) -> Iterator[Connection]:
        """A connection for the caller alone while the block lasts, outside any transaction."""
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not self._places.acquire(timeout=left):
            raise ServerSilent("all connections are in use")
        try:
            connection = self._take_idle(deadline) or self._connect_before(deadline)
            connection.deadline = deadline
            try:
                yield connection
            finally:
                self._release(connection)
        finally:
            self._places.release()

    def connect(self) -> Connection:
        """A new connection outside the pool, which the caller closes."""
        connection = Connection.connect(autocommit=True, **self._settings)
        connection.execute("SELECT set_config('search_path', %s, false)", (f'"{self._schema}", public',))
        connection.prepare_threshold = 3
        return connection

    def close(self) -> None:
        """Close the idle connections; those in use are closed when they are released."""
        self._closed = True
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def close_idle_connections(self) -> None:
        """Close the idle connections after the server was away: they are no longer usable."""
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def _take_idle(self, deadline: float | None) -> Connection | None:
        """An idle connection that still works, if there is one."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if time.monotonic() - connection.used_at < _IDLE_SECONDS_BEFORE_CHECK:
                return connection
            connection.deadline = deadline
            try:
                connection.execute("SELECT 1")
            except ServerSilent:
                raise
            except CONNECTION_LOST:
                connection.close()
            else:
                return connection

    def _connect_before(self, deadline: float | None) -> Connection:
        """A new connection; raises `ServerSilent` at the deadline. A late one is put into the pool."""
        if deadline is None:
            return self.connect()
        future: Future[Connection] = Future()

        def connect() -> None:
            try:
                future.set_result(self.connect())
            except Exception as error:  # noqa: BLE001  (raised where the future's result is read)
                future.set_exception(error)

        threading.Thread(target=connect, name="foreword-connect", daemon=True).start()
        try:
            return future.result(max(0.0, deadline - time.monotonic()))
        except FutureTimeout:
            future.add_done_callback(self._put_late_connection_in_pool)
            raise ServerSilent("the server did not answer in time") from None

    def _put_late_connection_in_pool(self, future: Future[Connection]) -> None:
        """Put a connection that was made after its deadline into the pool."""
        if future.exception() is None:
            self._release(future.result())

    def _release(self, connection: Connection) -> None:
        """Put a connection back into the pool, or close it if it cannot be used again."""
        connection.deadline, connection.used_at = None, time.monotonic()
        if self._closed or connection.closed or connection.info.transaction_status != 0:
            connection.close()
        else:
            self._idle.append(connection)


_ERRORS: tuple[tuple[type[psycopg.Error] | tuple[type[psycopg.Error], ...], type[StorageError], str], ...] = (
    ((pg.DiskFull, pg.OutOfMemory, pg.InsufficientResources), StoreFull, "has no room left"),
    ((pg.ReadOnlySqlTransaction, pg.InsufficientPrivilege), StoreReadOnly, "does not let this user write"),
    ((pg.DataCorrupted, pg.IndexCorrupted), StoreDamaged, "is damaged; restore a backup"),
    ((pg.LockNotAvailable, pg.DeadlockDetected, pg.QueryCanceled), StoreBusy, "is busy; try again"),
    (pg.UndefinedTable, StoreDamaged, "lacks a table; run: foreword doctor"),
)


@contextmanager
def translate_errors(shown_url: str) -> Iterator[None]:
    """In the block, errors of psycopg become our own, with advice and without a password in the message."""
    try:
        yield
    except (pg.ProgramLimitExceeded, psycopg.DataError, UnicodeEncodeError) as error:
        raise ValidationError(f"PostgreSQL cannot keep this: {_first_line(error)}") from error
    except psycopg.Error as error:
        for kinds, ours, meaning in _ERRORS:
            if isinstance(error, kinds):
                raise ours(f"{shown_url} {meaning} ({_first_line(error)})") from error
        if isinstance(error, CONNECTION_LOST):
            raise StoreAway(
                f"{shown_url} cannot be reached ({_first_line(error)}); is the server running?"
            ) from error
        raise StorageError(f"{shown_url} refused: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
