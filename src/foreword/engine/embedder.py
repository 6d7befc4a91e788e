"""Vectors are made behind the write: an item is found by words at once, by meaning when its vector is there.

A thread takes what was stored, looks for vectors of the same text first, has the rest encoded in batches and
hands them to the store. Many items at once are taken by length, since a batch costs what its longest text
costs; of identical texts one is encoded. Each batch is kept as soon as it is made: what a killed process left
without vectors is found again the next time its workspace is opened. Failures are logged and tried again with
the next write; nothing waits for this thread, and it waits until no question is being answered in a hurry.

Beside the whole item, the encoder may be shown views of it: another text, made from the item alone, whose
vector is kept in a space of its own. An item of which a view shows nothing has no vector there.

Services that share a store share this work: each claims what it is about to encode, so that none encodes what
another does, and is told when one of the others has stored something.

Before its vector is kept, what a new item replaces is judged and kept. After it, talk gets the codes of its
tokens; if these cannot be made, the log says so, and items are found without them.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
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
LISTED = 16 * BATCH
"""How many items without vectors are read from the store at once, to be put in the order of their lengths."""

CLOSE_TIMEOUT_SECONDS = 10.0
"""How many seconds `close` waits for the batch in hand; an encoder that hangs must not hang its user."""


_QUIET_SECONDS = 0.25
_MAX_POSTPONED_SECONDS = 3.0
"""How long ago the last hurried question must have been asked, and at most how long that is waited for."""

TALK = ("turn", "memory")
"""The kinds of item that are compared token by token."""

Progress = Callable[[int], None]
"""Is told how many vectors have been made so far."""

View = tuple[str, tuple[str, ...], Callable[[Item], str]]
"""The name of a space, the kinds of item that may have a vector there, and what of an item is embedded."""


def no_progress(_made: int) -> None:
    """Tell nobody how many vectors have been made."""


class Embedder:
    """Keeps one encoder's vectors in step with the items of every workspace that is used."""

    def __init__(
        self,
        store: Store,
        space: VectorSpace,
        views: Sequence[View] = (),
        judge: ReplacementJudge | None = None,
        token_space: TokenSpace | None = None,
    ) -> None:
        self._store = store
        self._space = space
        self._judge = judge
        self._token_space = token_space
        self._views = tuple(views)
        self._queue: queue.SimpleQueue[tuple[str, Sequence[Item]] | None] = queue.SimpleQueue()
        self._opened: set[str] = set()
        self._looked_through: set[str] = set()
        self._queued: set[str] = set()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._encoding = threading.Lock()
        self._asked_at = -_QUIET_SECONDS

    def postpone(self) -> None:
        """Leave the processor to a question that is to be answered by a deadline."""
        self._asked_at = time.monotonic()

    def embed_soon(self, workspace: str, items: Sequence[Item] = (), *, again: bool = False) -> None:
        """Embed these soon; and, the first time a workspace is seen or `again`, whatever else it lacks."""
        with self._lock:
            first = again or workspace not in self._opened
            self._opened.add(workspace)
            if not (first or items) or self._stopping.is_set():
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="foreword-embedder", daemon=True)
                self._thread.start()
                self._store.watch(self._look_again)
        if self._store.is_shared:
            self._look_again(workspace)
            return
        if first:
            self._queue.put((workspace, ()))
        if items:
            self._queue.put((workspace, items))

    def _look_again(self, workspace: str) -> None:
        """Look soon for what a workspace lacks, unless that is about to be done."""
        with self._lock:
            if workspace in self._queued or self._stopping.is_set():
                return
            self._queued.add(workspace)
        self._queue.put((workspace, ()))

    def embed_missing(self, workspace: str, progress: Progress = no_progress, *, wait: bool = True) -> int:
        """Make every vector and every code that a workspace lacks, here and now; gives how many.

        Without `wait`, the thread makes them behind the write, and the number is 0.
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
        """Give these items their vectors, in every space, and talk its codes; gives how many were kept.

        Vectors of a text that is known cost nothing.
        """
        kept = self._embed(workspace, self._space.name, items)
        for name, kinds, view in self._views:
            kept += self._embed(
                workspace, name, _apply_view(view, [item for item in items if item.kind in kinds])
            )
        return kept + self._encode_tokens(workspace, [item for item in items if item.kind in TALK])

    def _embed_missing_batches(self, workspace: str) -> Iterator[int]:
        """Embed batch after batch of what a workspace lacks; gives how many vectors each brought."""
        while items := self._list_missing(workspace, self._space.name, LISTED):
            made = 0
            for batch in _split_into_batches(_shortest_first(items)):
                kept = self._embed(workspace, self._space.name, batch)
                made += kept
                yield kept
            if not made:
                break  # all of them were forgotten meanwhile
        for view in self._views:
            yield from self._embed_missing_of_view(workspace, view)
        yield from self._encode_missing_tokens(workspace)

    def _embed_claimed_batches(self, workspace: str) -> Iterator[int]:
        """Embed batch after batch of what nobody else is embedding; then, once, what else is lacking."""
        claim = ClaimUnembedded(workspace, self._space.name, self._space.digest, BATCH)
        while items := self._store.run(claim):
            yield self.embed(workspace, items)
        with self._lock:
            first = workspace not in self._looked_through
            self._looked_through.add(workspace)
        if first:
            for view in self._views:
                yield from self._embed_missing_of_view(workspace, view)
            yield from self._encode_missing_tokens(workspace)

    def _embed_missing_of_view(self, workspace: str, view: View) -> Iterator[int]:
        """The same for a view. Items of which it shows nothing stay on the list, so a longer one is read."""
        name, kinds, shown = view
        most = BATCH
        while True:
            listed = self._list_missing(workspace, name, most, kinds)
            for batch in _split_into_batches(_apply_view(shown, listed)):
                yield self._embed(workspace, name, batch)
            if len(listed) < most:
                return
            most *= 16

    def _embed(self, workspace: str, name: str, items: Sequence[Item]) -> int:
        if not items:
            return 0
        space = self._space
        with self._encoding:  # so that two threads never encode the same text
            hashes = {item.id: space.view_hash(item) for item in items}
            known = self._store.run(GetVectors(workspace, space.digest, tuple(hashes.values())))
            fresh = {hashes[item.id]: item for item in items if hashes[item.id] not in known}
            encoded = space.embed_items(list(fresh.values())) if fresh else ()
            by_hash = dict(known) | dict(zip(fresh, map(tuple, encoded), strict=True))
            vectors = [Vector(item.id, hashes[item.id], by_hash[hashes[item.id]]) for item in items]
            if name == space.name:  # first: an item with a vector is not looked at again
                self._keep_replacements(workspace, items, vectors)
            return self._store.run(PutVectors(workspace, name, space.digest, tuple(vectors)))

    def _encode_missing_tokens(self, workspace: str) -> Iterator[int]:
        """Make the codes that the talk of a workspace lacks; gives how many each batch brought."""
        space = self._token_space
        while space is not None:
            items = self._store.run(ListWithoutTokenCodes(workspace, space.digest, BATCH, TALK))
            if not (kept := self._encode_tokens(workspace, items)):
                return  # all have theirs, or cannot get them
            yield kept

    def _encode_tokens(self, workspace: str, items: Sequence[Item]) -> int:
        """Give these items the codes of their tokens; gives how many: 0, and a warning, if it fails."""
        space = self._token_space
        if space is None or not items:
            return 0
        try:
            codes = dict(zip((item.id for item in items), space.encode_items(items), strict=True))
        except EmbeddingError as error:
            _log.warning("tokens not encoded", workspace=workspace, error=str(error))
            return 0
        return self._store.run(PutTokenCodes(workspace, space.digest, codes))

    def _keep_replacements(self, workspace: str, items: Sequence[Item], vectors: Sequence[Vector]) -> None:
        """Keep what these items replace; if that fails, or one was forgotten meanwhile, the log says so."""
        if self._judge is None:
            return
        space = self._space
        try:
            found = self._judge.find_replacements(workspace, space.name, space.digest, items, vectors)
            if found:
                self._store.run(PutRelations(workspace, found))
        except ForewordError as error:
            _log.warning("replacements not kept", workspace=workspace, error=str(error))

    def close(self) -> None:
        """Stop after the batch in hand. What is left will be found again."""
        with self._lock:
            self._stopping.set()
            thread = self._thread
        if thread is not None:
            self._queue.put(None)
            thread.join(CLOSE_TIMEOUT_SECONDS)

    def _list_missing(
        self, workspace: str, name: str, most: int, kinds: tuple[str, ...] = ()
    ) -> tuple[Item, ...]:
        return self._store.run(ListUnembedded(workspace, name, self._space.digest, most, kinds))

    def _run(self) -> None:
        while (task := self._queue.get()) is not None and not self._stopping.is_set():
            workspace, items = task
            with self._lock:
                self._queued.discard(workspace)
            try:
                self._work_until_closed(workspace, items)
            except Exception as error:  # noqa: BLE001  (a user's encoder may raise anything; the thread lives on)
                _log.warning("embedding failed", workspace=workspace, error=str(error))
                with self._lock:  # look again for what was left, at the next occasion
                    self._opened.discard(workspace)

    def _work_until_closed(self, workspace: str, items: Sequence[Item]) -> None:
        if self._store.is_shared:
            steps = self._embed_claimed_batches(workspace)
        elif items:
            steps = (self.embed(workspace, batch) for batch in _split_into_batches(items))
        else:
            steps = self._embed_missing_batches(workspace)
        self._wait_until_quiet()
        while not self._stopping.is_set() and next(steps, None) is not None:
            self._wait_until_quiet()

    def _wait_until_quiet(self) -> None:
        """Wait until no hurried question was asked for a moment; at most some seconds, or until closed."""
        until = time.monotonic() + _MAX_POSTPONED_SECONDS
        while (seconds := min(until, self._asked_at + _QUIET_SECONDS) - time.monotonic()) > 0:
            if self._stopping.wait(seconds):
                return


def _split_into_batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + BATCH] for start in range(0, len(items), BATCH))


def _shortest_first(items: Sequence[Item]) -> list[Item]:
    """The items by the length of what they say, identical ones beside each other."""
    return sorted(items, key=lambda item: (len(item.searchable), item.searchable))


def _apply_view(view: Callable[[Item], str], items: Sequence[Item]) -> list[Item]:
    """The items as an encoder sees them through a view: its text in place of theirs; without, not at all."""
    return [replace(item, about="", text=text) for item in items if (text := view(item))]
