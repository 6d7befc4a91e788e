"""Vectors are made behind the write: an item is found by words at once, by meaning when its vector is there.

A thread takes what was stored, looks for vectors of the same text first, has the rest encoded in batches and
hands them to the store. What a killed process left without vectors is found again the next time its
workspace is opened. Failures are logged and tried again with the next write; nothing waits for this thread.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, cast

from foreword.log import get_logger
from foreword.store.base import KnownVectors, PutVectors, Unembedded, Vector

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.spaces.base import VectorSpace
    from foreword.store.base import Store
    from foreword.types import Item

_log = get_logger("foreword.embedder")

BATCH = 64
PATIENCE = 10.0
"""How many seconds `close` waits for the batch in hand; an encoder that hangs must not hang its user."""


class Embedder:
    """Keeps one space's vectors in step with the items of every workspace that is used."""

    def __init__(self, store: Store, space: VectorSpace) -> None:
        self._store = store
        self._space = space
        self._queue: queue.SimpleQueue[tuple[str, Sequence[Item]] | None] = queue.SimpleQueue()
        self._opened: set[str] = set()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._encoding = threading.Lock()

    def notice(self, workspace: str, items: Sequence[Item] = ()) -> None:
        """Embed these soon; and, the first time a workspace is seen, whatever else it lacks."""
        with self._lock:
            first = workspace not in self._opened
            self._opened.add(workspace)
            if not (first or items) or self._stopping.is_set():
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="foreword-embedder", daemon=True)
                self._thread.start()
        if first:
            self._queue.put((workspace, ()))
        if items:
            self._queue.put((workspace, items))

    def catch_up(self, workspace: str, progress: Callable[[int], None] = lambda _: None) -> int:
        """Embed everything a workspace lacks, here and now; gives how many."""
        total = 0
        while items := self._lacking(workspace):
            kept = self.embed(workspace, items)
            if not kept:
                break  # all of them were forgotten meanwhile
            total += kept
            progress(total)
        return total

    def embed(self, workspace: str, items: Sequence[Item]) -> int:
        """Give these items their vectors; those of a text that is known already cost nothing."""
        with self._encoding:  # so that two threads never encode the same text
            return self._embed(workspace, items)

    def _embed(self, workspace: str, items: Sequence[Item]) -> int:
        space = self._space
        hashes = {item.id: space.view_hash(item) for item in items}
        known = self._store.batch([KnownVectors(workspace, space.digest, tuple(hashes.values()))])[0]
        fresh = [item for item in items if hashes[item.id] not in known]
        vectors = [Vector(i.id, hashes[i.id], known[hashes[i.id]]) for i in items if hashes[i.id] in known]
        for item, values in zip(fresh, space.embed_items(fresh) if fresh else (), strict=True):
            vectors.append(Vector(item.id, hashes[item.id], tuple(values)))
        stored = self._store.batch([PutVectors(workspace, space.name, space.digest, tuple(vectors))])[0]
        return cast(int, stored)

    def close(self) -> None:
        """Stop after the batch in hand. What is left will be found again."""
        with self._lock:
            self._stopping.set()
            thread = self._thread
        if thread is not None:
            self._queue.put(None)
            thread.join(PATIENCE)

    def _lacking(self, workspace: str) -> tuple[Item, ...]:
        op = Unembedded(workspace, self._space.name, self._space.digest, BATCH)
        return cast("tuple[Item, ...]", self._store.batch([op])[0])

    def _run(self) -> None:
        while (task := self._queue.get()) is not None and not self._stopping.is_set():
            workspace, items = task
            try:
                self._work(workspace, items)
            except Exception as error:  # noqa: BLE001  (a user's encoder may raise anything; the thread lives on)
                _log.warning("embedding failed", workspace=workspace, error=str(error))
                with self._lock:  # look again for what was left, at the next occasion
                    self._opened.discard(workspace)

    def _work(self, workspace: str, items: Sequence[Item]) -> None:
        for start in range(0, len(items), BATCH):
            if self._stopping.is_set():
                return
            self.embed(workspace, items[start : start + BATCH])
        while not items and not self._stopping.is_set() and (lacking := self._lacking(workspace)):
            if not self.embed(workspace, lacking):
                return
