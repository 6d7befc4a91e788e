"""Asks every space for its probe, and the store once for what all probes find.

A space that fails or is late becomes a note; the rest still answer. It is an error only if a space failed and
none gave a probe.
"""

from __future__ import annotations

import atexit
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakSet

from foreword.errors import ContextError, SearchError, ValidationError
from foreword.log import get_logger
from foreword.store.base import Search
from foreword.text.words import content_words, has_all_words
from foreword.types import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.spaces.base import Space
    from foreword.store.base import Store
    from foreword.types import Findings, Item, Probe, Query

_log = get_logger("foreword.recall")

_MAX_TIME_SHARE = 0.6
"""The share of the remaining time that a slow space may take: the store needs some for the others."""

_EXIT_WAIT_SECONDS = 2.0
"""For how many seconds the process waits at its end for late spaces."""


def retrieve(query: Query, store: Store, spaces: Sequence[Space], depth: int) -> Findings:
    """The findings of all spaces, down to `depth` places, in one round trip to the store."""
    probes, notes = _collect_probes(query, spaces)
    found = store.search(Search(query.workspace, probes, query.filters, depth, query.expires))
    for note in (*notes, *found.notes):
        _log.warning(
            "a space did not answer", space=note.part, problem=note.message, workspace=query.workspace
        )
    return replace(found, notes=(*notes, *found.notes))


def _collect_probes(query: Query, spaces: Sequence[Space]) -> tuple[tuple[Probe, ...], list[Note]]:
    """The probes of the spaces, and notes on failed or late ones; SearchError if no space can answer."""
    probes: list[Probe] = []
    notes: list[Note] = []
    failure: ContextError | None = None
    for space in sorted(spaces, key=lambda space: space.slow):
        try:
            probe = _probe_within_deadline(space, query)
        except ContextError as error:
            failure = error
            notes.append(Note(space.name, f"failed: {error}"))
        except TimeoutError:
            notes.append(Note(space.name, "late: the deadline passed"))
        else:
            if probe is not None:
                probes.append(probe)
    if failure is not None and not probes:
        raise SearchError(f"no space can answer: {failure}") from failure
    return tuple(probes), notes


def _probe_within_deadline(space: Space, query: Query) -> Probe | None:
    """The probe of a space; TimeoutError if a slow one takes more than its share, in its own thread."""
    if query.expires is None or not space.slow:
        return space.probe(query)
    outcome: list[Probe | None] = []
    failure: list[ContextError] = []

    def probe_space() -> None:
        try:
            outcome.append(space.probe(query))
        except ContextError as error:
            failure.append(error)

    thread = threading.Thread(target=probe_space, name=f"foreword-{space.name}", daemon=True)
    thread.start()
    thread.join(max(0.0, _MAX_TIME_SHARE * (query.expires - time.monotonic())))
    if failure:
        raise failure[0]
    if not outcome:
        _late.add(thread)
        raise TimeoutError
    return outcome[0]


_late: WeakSet[threading.Thread] = WeakSet()


@atexit.register
def _wait_for_late_spaces() -> None:
    """Wait a little for late spaces at exit: one that is torn down inside a native encoder aborts."""
    until = time.monotonic() + _EXIT_WAIT_SECONDS
    for thread in list(_late):
        thread.join(max(0.0, until - time.monotonic()))


def find_items_with_all_words(store: Store, workspace: str, words: str) -> list[Item]:
    """Every item that has all the words: in its text, in what surrounds it or in the values of its metadata.

    Reads all items of the workspace; ValidationError if there is no word to look for.
    """
    wanted = content_words(words)
    if not wanted:
        raise ValidationError(f"{words!r} has no word to look for")
    return [item for item in store.scan(workspace) if has_all_words(_searched_text(item), wanted)]


def _searched_text(item: Item) -> str:
    """The text, what surrounds it and the values of the metadata, in which words are looked for."""
    values = (str(value) for value in item.metadata.values())  # not the keys, which are ours
    return "\n".join((item.text, item.about, item.type, *values))
