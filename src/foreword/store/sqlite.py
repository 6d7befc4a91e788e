"""The embedded store: one SQLite database a workspace, in a folder of its own.

A workspace cannot leak into another, because no connection sees two. Writes go through one queue a process
and `BEGIN IMMEDIATE`, and are on the disk before they are acknowledged; readers never wait for them. The
database files are opened by SQLite alone: not even to look at the header would it be safe to open one here,
because closing it would drop SQLite's locks.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from typing import TYPE_CHECKING, Any

from foreword.errors import StorageError, ValidationError
from foreword.options import named
from foreword.store.base import (
    Amend,
    Check,
    Count,
    Counts,
    Delete,
    DropFiles,
    Expand,
    Files,
    Get,
    GetReceipt,
    KnownVectors,
    Operation,
    Put,
    PutFile,
    PutReceipt,
    PutVectors,
    Recent,
    Relate,
    Relations,
    Repair,
    Scan,
    Search,
    Store,
    Tell,
    Told,
    Unembedded,
    Untell,
)
from foreword.store.shard import Limits, Shard, translated
from foreword.types import Filters, Found, Item, Views

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from foreword.store.base import Write

_DATABASE = "memory.db"


def _no_views(_: Item) -> Views:
    return Views()


class SqliteStore(Store):
    """Items on this machine, one database a workspace, under one folder."""

    def __init__(
        self,
        folder: Path,
        views: Callable[[Item], Views] = _no_views,
        limits: Limits = Limits(),  # noqa: B008  (frozen)
    ) -> None:
        self.folder = folder
        self._views = views
        self._limits = limits
        self._shards: dict[str, Shard] = {}
        self._lock = threading.Lock()
        self._closed = False

    def batch(self, operations: Sequence[Operation]) -> list[Any]:
        """Do the operations; those on one workspace are one transaction, or one snapshot."""
        results: list[Any] = [None] * len(operations)
        places: dict[str, list[int]] = {}
        for place, operation in enumerate(operations):
            places.setdefault(named(operation.workspace), []).append(place)
        for workspace, group in places.items():
            mine = [operations[place] for place in group]
            for place, result in zip(group, self._batch_in(workspace, mine), strict=True):
                results[place] = result
        return results

    def _batch_in(self, workspace: str, operations: list[Operation]) -> list[Any]:
        shard = self._shard(workspace, create=any(map(_makes, operations)))
        if shard is None:
            return [_nothing(operation) for operation in operations]
        with translated(shard.path):
            return shard.batch(operations)

    def post(self, operation: Write) -> None:
        """Queue a write; `close` waits for it."""
        shard = self._shard(named(operation.workspace), create=_makes(operation))
        if shard is not None:
            shard.post(operation)

    def tally(self, workspace: str, filters: Filters = Filters()) -> tuple[int, Item | None]:  # noqa: B008
        """How many items pass the filters, and which was stored last; only that one is read."""
        shard = self._shard(named(workspace), create=False)
        if shard is None:
            return 0, None
        with translated(shard.path):
            return shard.tally(filters)

    def workspaces(self) -> list[str]:
        """The workspaces that have something in a database here."""
        if not self.folder.is_dir():
            return []
        names = []
        for path in sorted(self.folder.glob(f"*/{_DATABASE}")):
            with translated(path):
                names.append(Shard.workspace_of(path, self._limits))
        return sorted(name for name in names if name is not None)

    def close(self) -> None:
        """Finish what is queued and close every database."""
        with self._lock:
            self._closed = True
            shards, self._shards = list(self._shards.values()), {}
        for shard in shards:
            with translated(shard.path):
                shard.close()

    def path_of(self, workspace: str) -> Path:
        """Where a workspace's database is, or would be: a readable beginning and a hash of the whole name."""
        last = workspace.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
        readable = re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-")[:40] or "workspace"
        digest = hashlib.blake2b(workspace.encode(), digest_size=6).hexdigest()
        return self.folder / f"{readable}-{digest}" / _DATABASE

    def _shard(self, workspace: str, *, create: bool) -> Shard | None:
        with self._lock:
            if self._closed:
                raise StorageError("the store is closed; open another")
            if (shard := self._shards.get(workspace)) is not None:
                return shard
            path = self.path_of(workspace)
            with translated(path):
                if not path.exists():
                    if not create:
                        return None
                    _make_folder(path.parent)
                shard = Shard(path, workspace, self._views, self._limits)
            self._shards[workspace] = shard
            return shard


def _makes(operation: Operation) -> bool:
    """Whether an operation makes the workspace it needs."""
    return isinstance(operation, Put | PutReceipt | PutFile)


def _make_folder(folder: Path) -> None:
    """Make a private folder that survives a power cut."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    above = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(above)
    finally:
        os.close(above)


def _nothing(operation: Operation) -> Any:  # noqa: ANN401, C901  (each operation has its own kind of nothing)
    """What an operation gives in a workspace that holds nothing."""
    match operation:
        case Get(ids=ids):
            return (None,) * len(ids)
        case Search():
            return Found({}, {probe.space: () for probe in operation.probes})
        case Expand(ids=ids):
            return dict.fromkeys(ids, ())
        case KnownVectors() | Files():
            return {}
        case Count():
            return Counts()
        case PutVectors() | Tell() | Untell():
            return 0
        case Told():
            return frozenset()
        case GetReceipt() | Amend():
            return None
        case Relate():
            raise ValidationError(f"the workspace {operation.workspace!r} holds nothing to relate")
        case Scan() | Recent() | Delete() | DropFiles() | Unembedded() | Relations() | Check() | Repair():
            return ()
        case Put() | PutReceipt() | PutFile():
            raise AssertionError("these make the workspace they need")
