"""Which earlier statements a new one makes untrue, as the reader sees it when the new one gets its vector.

A new statement is read beside the few earlier ones that are nearest in meaning. Where the reader thinks that
it replaces one, a relation is kept between the two, with the probability as its confidence; both items stay
as they are. Contexts then tell the newer one, and the older one as history; where the newer one is trusted
less, they tell it beside the older. What a tool printed or a page says is compared with its like alone.
Statements are turns, memories and commits; code and documents change with their files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.store.base import ListRecent, Search
from foreword.text.provenance import may_replace
from foreword.text.statements import describe_statement, only_asks, speaker_of, split_statements
from foreword.types import REPLACES, Filters, Relation, VectorProbe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.spaces.base import ReplacementReader
    from foreword.store.base import Store, Vector
    from foreword.types import Item

MIN_CHANCE = 0.3
"""The least probability with which a replacement is kept."""

_KINDS = ("turn", "memory", "commit")
_MAX_COMPARED = 6
"""At most how many earlier statements a new one is read beside."""

_MIN_COSINE = 0.5
_MAX_STATEMENTS = 2
"""An item of more statements than this is about several things; none of them replaces it as a whole."""

_MAX_CHARACTERS, _MAX_CHARACTERS_BEFORE = 400, 160


@dataclass(frozen=True, slots=True)
class _Pair:
    newer: Item
    older: Item
    before: Item | None
    """The item before the newer one in its session: "no, Thursday" means nothing without it."""


class ReplacementJudge:
    """Finds what the new items of a workspace replace."""

    def __init__(self, store: Store, reader: ReplacementReader) -> None:
        self._store = store
        self._reader = reader

    def find_replacements(
        self, workspace: str, space: str, digest: str, items: Sequence[Item], vectors: Sequence[Vector]
    ) -> tuple[Relation, ...]:
        """The relations from these items to the earlier ones that they replace.

        The vectors are those of the items, in the space and of the encoder named; they need not be stored.
        """
        values = {vector.item_id: vector.values for vector in vectors}
        new = [item for item in items if item.id in values and _may_take_part(item)]
        new.sort(key=lambda item: item.created_at)
        pairs: list[_Pair] = []
        for place, item in enumerate(new):
            stored = self._nearest_stored(workspace, item, VectorProbe(space, digest, values[item.id]))
            beside = [(_cosine(values[item.id], values[one.id]), one) for one in new[:place]]
            older = [one for one in _nearest(stored + beside) if _may_contradict(item, one)]
            before = self._item_before(workspace, item) if older else None
            pairs += [_Pair(item, one, before) for one in older]
        chances = self._reader.replacement_chances([_describe_pair(pair) for pair in pairs])
        return tuple(
            Relation(pair.newer.id, pair.older.id, REPLACES, round(chance, 3), pair.newer.created_at)
            for pair, chance in zip(pairs, chances, strict=True)
            if chance >= MIN_CHANCE
        )

    def _nearest_stored(self, workspace: str, item: Item, probe: VectorProbe) -> list[tuple[float, Item]]:
        filters = Filters(kinds=_KINDS, until=item.created_at)
        found = self._store.run(Search(workspace, (probe,), filters, _MAX_COMPARED + 1))
        ranked = found.lists.get(probe.space, ())
        return [(cosine, found.items[one]) for one, cosine in ranked if one != item.id]

    def _item_before(self, workspace: str, item: Item) -> Item | None:
        """What was said just before an item in its session."""
        if item.kind != "turn" or not item.session:
            return None
        said = Filters(kinds=("turn",), session=item.session, until=item.created_at)
        recent = self._store.run(ListRecent(workspace, said, 3))
        return next((one for one in recent if one.id != item.id), None)


def _may_take_part(item: Item) -> bool:
    """Whether an item can replace another, or be replaced."""
    if item.kind not in _KINDS or item.superseded_by or only_asks(item.text):
        return False
    return 1 <= len(split_statements(item.text)) <= _MAX_STATEMENTS


def _may_contradict(newer: Item, older: Item) -> bool:
    """Whether one's word can be held against the other's: a tool's or a page's never against a person's."""
    heard = newer.source.trust not in ("tool", "web") or may_replace(newer.source, older.source)
    return heard and older.created_at <= newer.created_at and _may_take_part(older)


def _nearest(candidates: Sequence[tuple[float, Item]]) -> list[Item]:
    """The nearest, each once, as many as are compared."""
    by_id = {item.id: (cosine, item) for cosine, item in candidates if cosine >= _MIN_COSINE}
    return [item for _, item in sorted(by_id.values(), key=lambda one: -one[0])[:_MAX_COMPARED]]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _describe_pair(pair: _Pair) -> tuple[str, str]:
    """The two statements in the words that the reader was taught with."""
    now = pair.newer.created_at
    newer = describe_statement(pair.newer, pair.newer.text[:_MAX_CHARACTERS], now)
    if pair.before is not None:
        newer += f" (after {speaker_of(pair.before)}: {pair.before.text[:_MAX_CHARACTERS_BEFORE]})"
    return newer, describe_statement(pair.older, pair.older.text[:_MAX_CHARACTERS], now)
