"""Many lists become one: each item with its rank and score in every space, and one score from 0 to 1.

The score is weighted reciprocal rank fusion, as a share of what an item would get that is first in every
space that was asked. Spaces of time rank what the others found and carry no weight of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.types import Found, Hit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from foreword.spaces.base import TimeSpace

WEIGHTS: Mapping[str, float] = {
    "semantic": 1.0,
    "lexical": 1.0,
    "identifiers": 0.3,
    "entities": 0.3,
    "trigram": 0.3,
    "graph": 0.2,
    "recency": 0.0,
}
_OTHER = 0.5
"""What a space of the user's own weighs."""

_K = 20
"""How quickly a lower rank loses weight; small, because context holds few items."""


def fuse(
    found: Found, now: datetime, clocks: Sequence[TimeSpace] = (), weights: Mapping[str, float] = WEIGHTS
) -> list[Hit]:
    """One list of hits, best first."""
    ranks: dict[str, dict[str, int]] = {item: {} for item in found.items}
    scores: dict[str, dict[str, float]] = {item: {} for item in found.items}
    for space, listed in found.lists.items():
        for rank, (item, score) in enumerate(listed, 1):
            ranks[item][space] = rank
            scores[item][space] = score
    hits = [
        Hit(found.items[item], ranks[item], scores[item], _score(ranks[item], found, weights))
        for item in ranks
    ]
    hits.sort(key=lambda hit: (-hit.score, -hit.item.created_at.timestamp(), hit.item.id))
    return _timed(hits, now, clocks)


def _score(ranks: Mapping[str, int], found: Found, weights: Mapping[str, float]) -> float:
    best = sum(weights.get(space, _OTHER) for space, listed in found.lists.items() if listed) / (_K + 1)
    if not best:  # only time was asked: the order of time is the score
        return max(1 / rank for rank in ranks.values())
    return sum(weights.get(space, _OTHER) / (_K + rank) for space, rank in ranks.items()) / best


def _timed(hits: list[Hit], now: datetime, clocks: Sequence[TimeSpace]) -> list[Hit]:
    """Add each clock's ranking of the hits; being near in time is told, not counted."""
    added: list[tuple[dict[str, int], dict[str, float]]] = [(dict(h.ranks), dict(h.scores)) for h in hits]
    for clock in clocks:
        near = [(clock.closeness(hit.item.created_at, now), place) for place, hit in enumerate(hits)]
        ordered = sorted((pair for pair in near if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
        for rank, (closeness, place) in enumerate(ordered, 1):
            added[place][0].setdefault(clock.name, rank)
            added[place][1].setdefault(clock.name, closeness)
    return [Hit(h.item, ranks, scores, h.score) for h, (ranks, scores) in zip(hits, added, strict=True)]
