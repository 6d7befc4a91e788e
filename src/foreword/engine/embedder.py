"""Makes vectors in the background: an item is found by words at once, by meaning when it has its vector.

A thread takes the items that were stored, reuses vectors of the same text, encodes the rest in batches and
stores the vectors. Many items at once are sorted by length, since a batch costs what its longest text costs;
of identical texts one is encoded. Each batch is stored as soon as it is made: items that a killed process
left without vectors are found the next time their workspace is opened. Failures are logged and tried again
with the next write. Nothing waits for this thread; it waits itself while questions with a deadline are asked.

Besides the whole item, views of it may be encoded: another text, made from the item alone, whose vector is
stored in a space of its own. An item for which a view gives no text has no vector there.

Services that share a store share this work: each claims the items that it is about to encode, so that no item
is encoded twice, and each is notified when another has stored something.

Before the vector of a new item is stored, the relations to the items that it replaces are judged and stored.
After it, turns and memories get the codes of their tokens; if these cannot be made, a warning is logged, and
the items are found without them.
"""

from __future__ import annotations

import atexit
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from foreword.errors import EmbeddingError, ForewordError
from foreword.log import get_logger
from foreword.store.base import (
    GetVectors,
    ListUnembedded,
    ListWithoutTokenCodes,
    PutRelations,
    PutTokenCodes,
    PutVectors,
    Vector,
)
from foreword.store.exchange import ClaimUnembedded
from foreword.types import Item

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.knowledge.replacement import ReplacementJudge
    from foreword.spaces.base import TokenSpace, VectorSpace
    from foreword.store.base import Store

_log = get_logger("foreword.embedder")

BATCH = 64
MAX_LISTED = 16 * BATCH
"""How many items without vectors are read from the store at once, to be sorted by length."""

CLOSE_TIMEOUT_SECONDS = 10.0
"""How many seconds `close` waits for the current batch; an encoder that hangs must not block its user."""


_QUIET_SECONDS = 1.0
_MAX_POSTPONED_SECONDS = 3.0
"""How long ago the last question with a deadline must be, and at most how long the thread waits for that."""

TALK = ("turn", "memory")
"""The kinds of item that are compared token by token."""

Progress = Callable[[int], None]
"""Called with the number of vectors made so far."""

View = tuple[str, tuple[str, ...], Callable[[Item], str]]
"""The name of a space, the kinds of item that may have a vector there, and the text to embed of an item."""


def no_progress(_made: int) -> None:
    """A `Progress` that does nothing."""


class Embedder:
    """Makes one encoder's vectors for the items of every workspace that is used."""

    def __init__(
        self,
        store: Store,
        space: VectorSpace,
        views: Sequence[View] = (),
        make_judge: Callable[[], ReplacementJudge] | None = None,
        token_space: TokenSpace | None = None,
    ) -> None:
        self._store = store
        self._space = space
        self._make_judge = make_judge
        self._token_space = token_space
        self._views = tuple(views)
        self._queue: queue.SimpleQueue[tuple[str, Sequence[Item]] | None] = queue.SimpleQueue()
        self._workspaces_seen: set[str] = set()
        self._views_checked: set[str] = set()
        self._queued_workspaces: set[str] = set()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._encode_lock = threading.Lock()
        self._last_deadline_question = -_QUIET_SECONDS

    def pause_embedding_for_question(self) -> None:
        """Let the thread wait, because a question with a deadline was asked and needs the processor."""
        self._last_deadline_question = time.monotonic()

    def embed_soon(self, workspace: str, items: Sequence[Item] = (), *, again: bool = False) -> None:
        """Queue these items; at a workspace's first call, or with `again`, also all without vectors."""
        with self._lock:
            first = again or workspace not in self._workspaces_seen
            self._workspaces_seen.add(workspace)
            if not (first or items) or self._stopping.is_set():
                return
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work_through_queue, name="foreword-embedder", daemon=True
                )
                self._thread.start()
                # A program that ends without `close` would tear the thread down inside the encoder and abort.
                atexit.register(self.close)
                self._store.watch(self._queue_missing)
        if self._store.is_shared:
            self._queue_missing(workspace)
            return
        if first:
            self._queue.put((workspace, ()))
        if items:
            self._queue.put((workspace, items))

    def _queue_missing(self, workspace: str) -> None:
        """Queue a search for a workspace's items without vectors, unless one is queued already."""
        with self._lock:
            if workspace in self._queued_workspaces or self._stopping.is_set():
                return
            self._queued_workspaces.add(workspace)
        self._queue.put((workspace, ()))

    def embed_missing(self, workspace: str, progress: Progress = no_progress, *, wait: bool = True) -> int:
        """Make all vectors and token codes that a workspace lacks, in this thread; returns how many.

        Without `wait`, they are made in the background, and the number is 0.
        """
        if not wait:
            self.embed_soon(workspace, again=True)
            return 0
        total = 0
        for kept in self._embed_missing_batches(workspace):
            total += kept
            progress(total)
        return total

    def embed(self, workspace: str, items: Sequence[Item]) -> int:
        """Make and store the vectors of these items in every space, and token codes; returns how many.

        A text whose vector is stored already is not encoded again.
        """
        kept = self._embed_in_space(workspace, self._space.name, items)
        for name, kinds, view in self._views:
            kept += self._embed_in_space(
                workspace, name, _apply_view(view, [item for item in items if item.kind in kinds])
            )
        return kept + self._encode_tokens(workspace, [item for item in items if item.kind in TALK])

    def _embed_missing_batches(self, workspace: str) -> Iterator[int]:
        """Make all vectors and codes that a workspace lacks; yields how many each batch stored."""
        while items := self._list_without_vectors(workspace, self._space.name, MAX_LISTED):
            stored = 0
            for batch in _split_into_batches(_sort_by_length(items)):
                kept = self._embed_in_space(workspace, self._space.name, batch)
                stored += kept
                yield kept
            if not stored:
                break  # all of these items were forgotten meanwhile
        for view in self._views:
            yield from self._embed_missing_in_view(workspace, view)
        yield from self._encode_missing_tokens(workspace)

    def _embed_claimed_batches(self, workspace: str) -> Iterator[int]:
        """The same for a shared store: batches that this process has claimed; then, once, views and codes."""
        claim = ClaimUnembedded(workspace, self._space.name, self._space.digest, BATCH)
        while items := self._store.run(claim):
            yield self.embed(workspace, items)
        with self._lock:
            first = workspace not in self._views_checked
            self._views_checked.add(workspace)
        if first:
            for view in self._views:
                yield from self._embed_missing_in_view(workspace, view)
            yield from self._encode_missing_tokens(workspace)

    def _embed_missing_in_view(self, workspace: str, view: View) -> Iterator[int]:
        """The same for one view. Items without a text there stay in the list, so longer lists are read."""
        name, kinds, shown = view
        most = BATCH
        while True:
            listed = self._list_without_vectors(workspace, name, most, kinds)
            for batch in _split_into_batches(_apply_view(shown, listed)):
                yield self._embed_in_space(workspace, name, batch)
            if len(listed) < most:
                return
            most *= 16

    def _embed_in_space(self, workspace: str, name: str, items: Sequence[Item]) -> int:
        """Store the vectors of these items in the space with that name; returns how many were stored."""
        if not items:
            return 0
        space = self._space
        with self._encode_lock:  # two threads must not encode the same text
            hashes = {item.id: space.hash_of_embedded_text(item) for item in items}
            known = self._store.run(GetVectors(workspace, space.digest, tuple(hashes.values())))
            fresh = {hashes[item.id]: item for item in items if hashes[item.id] not in known}
            encoded = space.embed_items(list(fresh.values())) if fresh else ()
            by_hash = dict(known) | dict(zip(fresh, map(tuple, encoded), strict=True))
            vectors = [Vector(item.id, hashes[item.id], by_hash[hashes[item.id]]) for item in items]
            if name == space.name:  # before the vectors, since items that have one are not judged again
                self._judge_and_store_replacements(workspace, items, vectors)
            return self._store.run(PutVectors(workspace, name, space.digest, tuple(vectors)))

    def _encode_missing_tokens(self, workspace: str) -> Iterator[int]:
        """Make the token codes that a workspace lacks; yields how many each batch stored."""
        space = self._token_space
        while space is not None:
            items = self._store.run(ListWithoutTokenCodes(workspace, space.digest, BATCH, TALK))
            if not (kept := self._encode_tokens(workspace, items)):
                return  # no item lacks codes, or none can be made
            yield kept

    def _encode_tokens(self, workspace: str, items: Sequence[Item]) -> int:
        """Make and store the token codes of these items; returns how many: 0, with a warning, if it fails."""
        space = self._token_space
        if space is None or not items:
            return 0
        try:
            codes = dict(zip((item.id for item in items), space.encode_items(items), strict=True))
        except EmbeddingError as error:
            _log.warning("tokens not encoded", workspace=workspace, error=str(error))
            return 0
        return self._store.run(PutTokenCodes(workspace, space.digest, codes))

    def _judge_and_store_replacements(
        self, workspace: str, items: Sequence[Item], vectors: Sequence[Vector]
    ) -> None:
        """Store relations to the items that these replace; logs a warning if that fails."""
        judge = self._replacement_judge
        if judge is None:
            return
        space = self._space
        try:
            found = judge.find_relations_to_replaced_items(
                workspace, space.name, space.digest, items, vectors
            )
            if found:
                self._store.run(PutRelations(workspace, found))
        except ForewordError as error:
            _log.warning("replacements not kept", workspace=workspace, error=str(error))

    @cached_property
    def _replacement_judge(self) -> ReplacementJudge | None:
        """What judges new items; made with the first of them, since what it needs takes long to import."""
        return self._make_judge() if self._make_judge else None

    def close(self) -> None:
        """Stop after the current batch. The items left are found when their workspace is opened again."""
        with self._lock:
            self._stopping.set()
            thread = self._thread
        if thread is not None:
            atexit.unregister(self.close)
            self._queue.put(None)
            thread.join(CLOSE_TIMEOUT_SECONDS)

    def _list_without_vectors(
        self, workspace: str, name: str, most: int, kinds: tuple[str, ...] = ()
    ) -> tuple[Item, ...]:
        return self._store.run(ListUnembedded(workspace, name, self._space.digest, most, kinds))

    def _work_through_queue(self) -> None:
        """Work through the queue until it gives None; an error is logged and does not end the thread."""
        while (task := self._queue.get()) is not None and not self._stopping.is_set():
            workspace, items = task
            with self._lock:
                self._queued_workspaces.discard(workspace)
            try:
                self._embed_items_or_all_missing(workspace, items)
            except Exception as error:  # noqa: BLE001  (a user's encoder may raise anything; the thread lives on)
                _log.warning("embedding failed", workspace=workspace, error=str(error))
                with self._lock:  # so that the next write queues the items that were left
                    self._workspaces_seen.discard(workspace)

    def _embed_items_or_all_missing(self, workspace: str, items: Sequence[Item]) -> None:
        """Embed these items, or without any all that the workspace lacks; stops early at `close`."""
        if self._store.is_shared:
            steps = self._embed_claimed_batches(workspace)
        elif items:
            steps = (self.embed(workspace, batch) for batch in _split_into_batches(items))
        else:
            steps = self._embed_missing_batches(workspace)
        self._wait_while_questions_come()
        while not self._stopping.is_set() and next(steps, None) is not None:
            self._wait_while_questions_come()

    def _wait_while_questions_come(self) -> None:
        """Wait until no question with a deadline was asked for a moment; only seconds, or until closed."""
        until = time.monotonic() + _MAX_POSTPONED_SECONDS
        while (seconds := min(until, self._last_deadline_question + _QUIET_SECONDS) - time.monotonic()) > 0:
            if self._stopping.wait(seconds):
                return


def _split_into_batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


def _sort_by_length(items: Sequence[Item]) -> list[Item]:
    """The items, the shortest text first, identical ones beside each other."""
    return sorted(items, key=lambda item: (len(item.searchable), item.searchable))


def _apply_view(view: Callable[[Item], str], items: Sequence[Item]) -> list[Item]:
    """The items with a view's text in place of their own, less those for which it gives none."""
    return [replace(item, about="", text=text) for item in items if (text := view(item))]
