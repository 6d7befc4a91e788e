"""The embedded store: one SQLite database for each workspace, in a folder of its own.

A workspace cannot leak into another, because no connection sees two. Writes to a workspace go through one
queue in each process and `BEGIN IMMEDIATE`, and are on the disk before they are acknowledged; readers never
wait for them. Only SQLite opens the database files: Python must not open one even to read its header, because
closing the file would drop SQLite's locks.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, Any

from foreword.errors import StorageError, StorePaused, StoreReadOnly
from foreword.log import get_logger
from foreword.options import check_workspace
from foreword.store import base, batches
from foreword.store.base import Operation, Store, Write
from foreword.store.database import Limits, WorkspaceDatabase, translate_errors
from foreword.store.open_databases import OpenDatabases
from foreword.store.owner_files import create_private_file, make_private_durable_folder
from foreword.types import Item, Views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from foreword.store.qdrant import QdrantVectors

_log = get_logger("foreword.store")

_DATABASE = "memory.db"


class SqliteStore(Store):
    """Items on this machine, one database for each workspace, under one folder.

    `views` computes the code names and named things of an item; see `Views`. `reason_to_keep_nothing` gives
    for a workspace the reason why nothing new may be stored in it now, empty if it may. `vectors` is a server
    that compares vectors; without one, files beside the databases are used.
    """

    def __init__(
        self,
        folder: Path,
        views: Callable[[Item], Views] = lambda _: Views(),
        limits: Limits = Limits(),  # noqa: B008  (frozen)
        reason_to_keep_nothing: Callable[[str], str] = lambda _: "",
        *,
        vectors: QdrantVectors | None = None,
    ) -> None:
        self.folder = folder
        self._views = views
        self._limits = limits
        self._reason_to_keep_nothing = reason_to_keep_nothing
        self._open = OpenDatabases(limits.open_databases)
        self.vector_server = self._vectors = vectors
        if vectors is not None:
            vectors.bind_to_store(self.run)

    def batch(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Carry out operations; those on one workspace are one transaction, or one snapshot."""
        return batches.run_by_workspace(operations, self._run_batch_in_workspace)

    def _run_batch_in_workspace(self, workspace: str, operations: list[Operation[Any]]) -> list[Any]:
        """Carry out operations on one workspace; raises `StorePaused` if they store words and must not."""
        if any(map(batches.stores_spoken_or_written_words, operations)) and (
            reason := self._reason_to_keep_nothing(workspace)
        ):
            raise StorePaused(f"{reason}; nothing was kept")
        creates = any(map(batches.creates_workspace, operations))
        with self._borrow_database(workspace, create=creates) as database:
            if database is None:
                return [batches.result_in_empty_workspace(operation) for operation in operations]
            if self._vectors is not None and any(isinstance(op, base.Check) for op in operations):
                self._vectors.flush(workspace, base.FLUSH_SECONDS)
            with translate_errors(database.path):
                return database.batch(operations)

    def post(self, operation: Write[Any]) -> None:
        """Queue a write; `close` waits for it. A write that must not be stored now is ignored."""
        if batches.stores_spoken_or_written_words(operation) and self._reason_to_keep_nothing(
            operation.workspace
        ):
            return
        workspace = check_workspace(operation.workspace)
        with self._borrow_database(workspace, create=batches.creates_workspace(operation)) as database:
            if database is not None:
                database.post(operation)

    def workspaces(self) -> list[str]:
        """The names of the workspaces that hold something, sorted."""
        if not self.folder.is_dir():
            return []
        names = []
        for path in sorted(self.folder.glob(f"*/{_DATABASE}")):
            with translate_errors(path):
                names.append(WorkspaceDatabase.read_workspace_name(path, self._limits))
        return sorted(name for name in names if name is not None)

    def list_databases_and_tenant_names(self) -> Iterator[tuple[Path, str | None]]:
        """Every database, and the name of its workspace on vector servers: empty if it has none there.

        None if the database cannot be read.
        """
        for path in sorted(self.folder.glob(f"*/{_DATABASE}")):
            try:
                with translate_errors(path):
                    yield path, WorkspaceDatabase.read_tenant_name(path, self._limits)
            except StorageError:
                yield path, None

    def close(self) -> None:
        """Finish what is queued and close every database."""
        if self._vectors is not None:
            self._vectors.close()
        self._open.close()

    def back_up(self, workspace: str, label: str) -> Path | None:
        """Back a workspace up under a label. Returns the file, or None if no backup was made."""
        with self._borrow_database(check_workspace(workspace), create=False) as database:
            if database is None:
                return None
            with translate_errors(database.path):
                return database.back_up(label)

    def back_up_daily(self, day: str, keep: int) -> list[Path]:
        """Back up every open workspace that has no backup of this day. Returns the new backups.

        Of each workspace the newest `keep` daily backups stay. A failure is logged, and the others go on.
        """
        backups: list[Path] = []
        for workspace in self._open.names_of_open_workspaces():
            try:
                backup = self._back_up_once_per_day(workspace, day, keep)
            except StorageError as error:
                _log.warning("a backup failed", workspace=workspace, error=str(error))
            else:
                backups += [] if backup is None else [backup]
        return backups

    def _back_up_once_per_day(self, workspace: str, day: str, keep: int) -> Path | None:
        """Back one workspace up unless it has a backup of this day. Returns the file, if one was made."""
        with self._borrow_database(workspace, create=False) as database:
            if database is None:
                return None
            with translate_errors(database.path):
                return database.back_up_daily(day, keep)

    def path_of_database(self, workspace: str) -> Path:
        """The path of a workspace's database, which need not exist; its folder has a hash of the name."""
        last = workspace.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
        readable = re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-")[:40] or "workspace"
        digest = hashlib.blake2b(workspace.encode(), digest_size=6).hexdigest()
        return self.folder / f"{readable}-{digest}" / _DATABASE

    def check_writable(self, workspace: str) -> None:
        """Raise `StoreReadOnly` if this user may not write to a workspace's database, or not make it."""
        path = self.path_of_database(workspace)
        folder = next(folder for folder in path.parents if folder.exists())
        for place in (folder, path) if path.exists() else (folder,):
            if not os.access(place, os.W_OK):
                raise StoreReadOnly(f"{place} cannot be written to; change its owner or its permissions")

    def _borrow_database(
        self, workspace: str, *, create: bool
    ) -> AbstractContextManager[WorkspaceDatabase | None]:
        """A workspace's database for the length of a block; None if there is none and `create` is False."""
        return self._open.borrow(workspace, lambda: self._open_database(workspace, create=create))

    def _open_database(self, workspace: str, *, create: bool) -> WorkspaceDatabase | None:
        """Open a workspace's database; None if there is none and `create` is False."""
        path = self.path_of_database(workspace)
        with translate_errors(path):
            if not path.exists():
                if not create:
                    return None
                make_private_durable_folder(path.parent)
                create_private_file(path)
            return WorkspaceDatabase(path, workspace, self._views, self._limits, self._vectors)
