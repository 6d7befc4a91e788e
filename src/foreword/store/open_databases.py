"""The databases that a process has open: as many as it needs at once, and not many more.

Each takes eight file descriptors and a thread, and a program with a workspace for each of its users has more
workspaces than a process may have files. So the databases used longest ago are closed while nobody uses them,
after their queues are written; whoever wants one again waits for that, and opens it anew.
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
"""What a database may take, with two threads that read it; half of all files are left to the program."""

_FEWEST, _MOST = 8, 500


def max_open_databases() -> int:
    """How many databases may stay open, by what the system allows a process."""
    try:
        import resource

        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except (ImportError, OSError, ValueError):  # no such limit here
        return _MOST
    return max(_FEWEST, min(_MOST, files // (2 * _FILES_PER_DATABASE)))


class OpenDatabases:
    """Databases by workspace; those in use are never closed, the others when there are too many."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most or max_open_databases()
        self._by_workspace: OrderedDict[str, WorkspaceDatabase] = OrderedDict()
        self._users: Counter[str] = Counter()
        self._closing: set[str] = set()
        self._changed = threading.Condition()
        self._closed = False

    @contextmanager
    def borrow(
        self, workspace: str, open_database: Callable[[], WorkspaceDatabase | None]
    ) -> Iterator[WorkspaceDatabase | None]:
        """A database while a block lasts, opened if need be; None if there is none to open."""
        database = self.take(workspace, open_database)
        try:
            yield database
        finally:
            if database is not None:
                self._release(workspace)

    def take(
        self, workspace: str, open_database: Callable[[], WorkspaceDatabase | None]
    ) -> WorkspaceDatabase | None:
        """A database that stays open until the store is closed, unless it is given back."""
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

    def names(self) -> list[str]:
        """The workspaces whose databases are open."""
        with self._changed:
            return list(self._by_workspace)

    def close(self) -> None:
        """Close them all; whoever wants one from now on gets an error."""
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
        with self._changed:
            self._users[workspace] -= 1
            if not self._users[workspace]:
                del self._users[workspace]
        while (unused := self._take_out_surplus()) is not None:
            self._close_surplus(*unused)

    def _take_out_surplus(self) -> tuple[str, WorkspaceDatabase] | None:
        """The database used longest ago, if there are too many and nobody uses it."""
        with self._changed:
            if self._closed or len(self._by_workspace) <= self._most:
                return None
            name = next((name for name in self._by_workspace if not self._users[name]), None)
            if name is None:
                return None
            self._closing.add(name)
            return name, self._by_workspace.pop(name)

    def _close_surplus(self, workspace: str, database: WorkspaceDatabase) -> None:
        try:
            with translate_errors(database.path):
                database.close()
        except StorageError as error:
            _log.warning("a database was not closed as it should be", workspace=workspace, problem=str(error))
        finally:
            with self._changed:
                self._closing.discard(workspace)
                self._changed.notify_all()
