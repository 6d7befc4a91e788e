"""Finds items of several sources that say the same, so that only one of them is included.

Two items are twins if one of them says all that the other says (`recall.same`, for which different days,
names and numbers are different things), or if one is an experience and the other the value it became. A
commit and code are never twins, since one says why a file was changed and the other what it does now; nor are
two functions of one file, however alike their bodies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.recall.dedupe import find_containing_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.compose.assembled import ContextItem

_EXPERIENCE_SOURCES = ("experience", "value")


def find_twins(items: Sequence[ContextItem], texts: Sequence[str]) -> dict[int, int]:
    """From the index of each item to be left out to the index of the twin that is kept instead.

    Of twins, the most relevant is kept; of equally relevant ones the first.
    """
    kept = _KeptItems(items, find_containing_texts(texts))
    best_first = sorted(range(len(items)), key=lambda at: (-items[at].relevance, at))
    return {at: twin for at in best_first if (twin := kept.find_twin_or_keep(at)) is not None}


class _KeptItems:
    """The items kept so far, which finds the twin of another item among them."""

    def __init__(self, items: Sequence[ContextItem], holders: Mapping[int, set[int]]) -> None:
        self._items = items
        self._holders = holders
        self._places: set[int] = set()
        self._stories: dict[tuple[str, object], int] = {}

    def find_twin_or_keep(self, at: int) -> int | None:
        """The index of a kept item that says the same; if there is none, keep this one and return None."""
        twin = self._find_item_that_covers(at)
        twin = self._find_same_experience(self._items[at]) if twin is None else twin
        if twin is None:
            self._record_as_kept(at)
        return twin

    def _record_as_kept(self, at: int) -> None:
        item = self._items[at]
        self._places.add(at)
        if item.source in _EXPERIENCE_SOURCES and item.metadata.get("id"):
            self._stories.setdefault((item.source, item.metadata["id"]), at)

    def _find_item_that_covers(self, at: int) -> int | None:
        """The index of a kept item whose text says all that this one says; None without one."""
        candidates = sorted(self._holders.get(at, set()) & self._places)
        return next((other for other in candidates if not self._cannot_be_twins(at, other)), None)

    def _cannot_be_twins(self, at: int, other: int) -> bool:
        """Whether two items can be no twins: a commit and code, or two units of one file."""
        one, another = self._items[at], self._items[other]
        if {one.source, another.source} == {"code", "commit"}:
            return True
        return one.source == another.source == "code" and _are_units_of_one_file(one, another)

    def _find_same_experience(self, item: ContextItem) -> int | None:
        """The index of a kept value that this experience became, or the other way round; None without one."""
        if item.source not in _EXPERIENCE_SOURCES or not item.metadata.get("id"):
            return None
        other = "value" if item.source == "experience" else "experience"
        return self._stories.get((other, item.metadata["id"]))


def _are_units_of_one_file(one: ContextItem, other: ContextItem) -> bool:
    paths = [_normalise_path(item.metadata.get("file_path") or "") for item in (one, other)]
    names = [item.metadata.get("qualified_name") for item in (one, other)]
    return bool(paths[0]) and paths[0] == paths[1] and names[0] != names[1]


def _normalise_path(name: object) -> str:
    return str(name).replace("\\", "/").removeprefix("./")
