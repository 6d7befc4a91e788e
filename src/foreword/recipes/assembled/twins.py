"""What several sources say is said once; what only looks alike is kept.

Two items are twins if one of them says all that the other says (`recall.same`, to which different days, names
and numbers are different things), or if an experience is there as the value it became. Nothing else makes
twins: a commit says why a file was changed and the code says what it does now, so they are two, and so are
two functions, however alike their bodies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.recall.dedupe import find_containing_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.compose.assembled import ContextItem

_STORIES = ("experience", "value")


def find_twins(items: Sequence[ContextItem], texts: Sequence[str]) -> dict[int, int]:
    """For the place of each item that need not be told: the place of the one that is told for it.

    Of those that say the same, the most relevant is told; of equals the first.
    """
    kept = _KeptItems(items, find_containing_texts(texts))
    best_first = sorted(range(len(items)), key=lambda at: (-items[at].relevance, at))
    return {at: twin for at in best_first if (twin := kept.twin_or_keep(at)) is not None}


class _KeptItems:
    """What has been kept so far, looked up by everything that makes two items say the same."""

    def __init__(self, items: Sequence[ContextItem], holders: Mapping[int, set[int]]) -> None:
        self._items = items
        self._holders = holders
        self._places: set[int] = set()
        self._stories: dict[tuple[str, object], int] = {}

    def twin_or_keep(self, at: int) -> int | None:
        """The place of a kept item that says the same; None when there was none, and this one is kept."""
        twin = self._find_alike(at)
        twin = self._find_same_experience(self._items[at]) if twin is None else twin
        if twin is None:
            self._add(at)
        return twin

    def _add(self, at: int) -> None:
        item = self._items[at]
        self._places.add(at)
        if item.source in _STORIES and item.metadata.get("id"):
            self._stories.setdefault((item.source, item.metadata["id"]), at)

    def _find_alike(self, at: int) -> int | None:
        """A kept item whose text says all of it."""
        candidates = sorted(self._holders.get(at, set()) & self._places)
        return next((other for other in candidates if not self._are_two(at, other)), None)

    def _are_two(self, at: int, other: int) -> bool:
        """Whether items are two things whatever their words: a commit and code, or two units of one file."""
        one, another = self._items[at], self._items[other]
        if {one.source, another.source} == {"code", "commit"}:
            return True
        return one.source == another.source == "code" and _are_units_of_one_file(one, another)

    def _find_same_experience(self, item: ContextItem) -> int | None:
        """An experience that is there as a value, or the other way round."""
        if item.source not in _STORIES or not item.metadata.get("id"):
            return None
        other = "value" if item.source == "experience" else "experience"
        return self._stories.get((other, item.metadata["id"]))


def _are_units_of_one_file(one: ContextItem, other: ContextItem) -> bool:
    paths = [_normalise_path(item.metadata.get("file_path") or "") for item in (one, other)]
    names = [item.metadata.get("qualified_name") for item in (one, other)]
    return bool(paths[0]) and paths[0] == paths[1] and names[0] != names[1]


def _normalise_path(name: object) -> str:
    return str(name).replace("\\", "/").removeprefix("./")
