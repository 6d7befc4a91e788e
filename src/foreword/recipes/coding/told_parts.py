"""What an agent's context was told of items that it does not hold whole: an excerpt, a count, first words.

Such an item does not count as shown, because a later question may be about the rest of it. The words that
were told are not told a second time. They are kept in memory only: after a restart they may be told again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from foreword.text.words import fold_case_accents_and_spaces

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MAX_CONTEXTS, _MAX_PARTS = 64, 512
_GAP = " … "
"""Stands between the statements of an excerpt."""

ToldPart = tuple[str, str]
"""The id of an item, and what was told of it."""


class ToldParts:
    """The parts of items that each context was told, for the latest contexts. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts_by_context: OrderedDict[tuple[str, str], list[ToldPart]] = OrderedDict()

    def add(self, workspace: str, context: str, parts: Iterable[ToldPart]) -> None:
        """Record what a context of a workspace was told."""
        with self._lock:
            known = self._parts_by_context.setdefault((workspace, context), [])
            self._parts_by_context.move_to_end((workspace, context))
            known += parts
            del known[:-_MAX_PARTS]
            if len(self._parts_by_context) > _MAX_CONTEXTS:
                self._parts_by_context.popitem(last=False)

    def list_shown_parts_by_item(self, workspace: str, context: str) -> dict[str, tuple[str, ...]]:
        """What a context was told of each item, by the item's id."""
        told: dict[str, tuple[str, ...]] = {}
        with self._lock:
            for item_id, words in self._parts_by_context.get((workspace, context), ()):
                told[item_id] = (*told.get(item_id, ()), words)
        return told

    def clear(self, workspace: str, context: str) -> None:
        """Delete the record of a context, because it was emptied."""
        with self._lock:
            self._parts_by_context.pop((workspace, context), None)


def was_told_before(told: Mapping[str, tuple[str, ...]], item_id: str, words: str) -> bool:
    """Whether all of these words of an item were told before, together or one statement at a time."""
    before = [fold_case_accents_and_spaces(part) for part in told.get(item_id, ())]
    return bool(before) and all(
        any(fold_case_accents_and_spaces(one) in part for part in before) for one in words.split(_GAP)
    )


def tells_whole_text(words: str, text: str) -> bool:
    """Whether the words that are told have the whole of a text, whatever its case and spacing."""
    return fold_case_accents_and_spaces(text) in fold_case_accents_and_spaces(words)
