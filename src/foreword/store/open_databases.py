"""The databases that a process has open: as many as it needs at once, and not many more.

Each takes eight file descriptors and a thread, and a program with a workspace for each of its users has more
workspaces than a process may have files. So the databases used longest ago are closed when they are not in
use, after their queues are written. A caller that needs one again waits until it is closed, and reopens it.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from foreword.errors import StorageError
from foreword.log import get_logger
from foreword.store.database import translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foreword.store.database import WorkspaceDatabase

_log = get_logger("foreword.store")

_FILES_PER_DATABASE = 10
"""How many files a database may need, with two threads that read it; half of all are left to the program."""

_FEWEST, _MOST = 8, 500


def max_open_databases() -> int:
    """How many databases may stay open, by the system's limit on open files."""
    try:
        import resource

        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except (ImportError, OSError, ValueError):  # no such limit here
        return _MOST
    return max(_FEWEST, min(_MOST, files // (2 * _FILES_PER_DATABASE)))


class OpenDatabases:
    """The open databases by workspace; if there are too many, those not in use are closed."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit or max_open_databases()
        self._by_workspace: OrderedDict[str, WorkspaceDatabase] = OrderedDict()
        self._users: Counter[str] = Counter()
        self._closing: set[str] = set()
        self._changed = threading.Condition()
        self._closed = False

    @contextmanager
    def borrow(
        self, workspace: str, open_database: Callable[[], WorkspaceDatabase | None]
    ) -> Iterator[WorkspaceDatabase | None]:
        """A workspace's database for the length of the block, opened if necessary; None if there is none."""
        database = self.take(workspace, open_database)
        try:
            yield database
        finally:
            if database is not None:
                self._release(workspace)

    def take(
        self, workspace: str, open_database: Callable[[], WorkspaceDatabase | None]
    ) -> WorkspaceDatabase | None:
        """A workspace's database, opened if necessary, which stays open until `_release` or `close`."""
        with self._changed:
            while workspace in self._closing:
                self._changed.wait()
            if self._closed:
                raise StorageError("the store is closed; open another")
            if workspace not in self._by_workspace:
                database = open_database()
                if database is None:
                    return None
                self._by_workspace[workspace] = database
            self._by_workspace.move_to_end(workspace)
            self._users[workspace] += 1
            return self._by_workspace[workspace]

    def names_of_open_workspaces(self) -> list[str]:
        """The workspaces whose databases are open."""
        with self._changed:
            return list(self._by_workspace)

    def close(self) -> None:
        """Close all databases; from now on `take` raises `StorageError`."""
        with self._changed:
            self._closed = True
            while self._closing:
                self._changed.wait()
            databases = list(self._by_workspace.values())
            self._by_workspace.clear()
        for database in databases:
            with translate_errors(database.path):
                database.close()

    def _release(self, workspace: str) -> None:
        """End one use of a database, then close unused ones that are too many or must not stay open."""
        with self._changed:
            self._users[workspace] -= 1
            if not self._users[workspace]:
                del self._users[workspace]
        while (unused := self._evict_surplus_database()) is not None:
            self._close_evicted_database(*unused)

    def _evict_surplus_database(self) -> tuple[str, WorkspaceDatabase] | None:
        """If there are too many databases, take out the unused one that was used longest ago, if any.

        One that could only be opened to read is always too many: it may be writable the next time.
        """
        with self._changed:
            if self._closed:
                return None
            unused = (name for name in self._by_workspace if not self._users[name])
            if len(self._by_workspace) <= self._limit:
                unused = (name for name in unused if self._by_workspace[name].is_read_only)
            name = next(unused, None)
            if name is None:
                return None
            self._closing.add(name)
            return name, self._by_workspace.pop(name)

    def _close_evicted_database(self, workspace: str, database: WorkspaceDatabase) -> None:
        """Close a database that was taken out, then let those who wait for its workspace go on."""
        try:
            with translate_errors(database.path):
                database.close()
        except StorageError as error:
            _log.warning("a database was not closed as it should be", workspace=workspace, problem=str(error))
        finally:
            with self._changed:
                self._closing.discard(workspace)
                self._changed.notify_all()
