"""Divide a number of tokens among sources by weight, so that what one does not need goes to the others.

No item may take more than a quarter of what its source has, however long it is: several shorter ones tell
more than one long one. Knows numbers only; what the items say and how they are cut is told elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

WEIGHTS: Mapping[str, int] = {"experience": 3, "code": 2, "commit": 2, "value": 1, "memory": 1}
"""How much of a context each source may fill, as against the others: rich items need more room."""

MAX_ITEM_FRACTION = 0.25
"""How much of its source's tokens one item may take."""

LEAST_ITEM = 32
"""An item is not cut to fewer tokens than this: nothing sensible would be left of it."""

LEAST: Mapping[str, int] = dict.fromkeys(WEIGHTS, LEAST_ITEM) | {"experience": 104}
"""The same by source: an experience needs more than others, to say what came of it and why. Where room is
short, there are fewer of them instead."""

LEAST_COST = 8
"""No item costs less: with fewer tokens left, there is no use in looking."""


def item_cap(allowance: float, least: int = LEAST_ITEM) -> int:
    """The most tokens that one item may have, when its source has so many."""
    return max(least, int(allowance * MAX_ITEM_FRACTION))


def allowances(
    weights: Mapping[str, float], costs: Mapping[str, Sequence[int]], budget: float
) -> dict[str, float]:
    """What each source may spend, by weight; what a source cannot use is shared among those that can.

    A source is content when all its items fit, none of them cut. Contented ones keep the share they had then,
    of which they spend what they need. The others never have less than their weight's share of the whole.
    """
    given: dict[str, float] = dict.fromkeys(costs, 0.0)
    wanting = [source for source in costs if costs[source]]
    left = max(0.0, budget)
    while wanting:
        total = sum(weights[source] for source in wanting)
        given.update({source: left * weights[source] / total for source in wanting})
        content = [source for source in wanting if _wanted(costs[source]) <= given[source]]
        if not content:
            break
        left -= sum(sum(costs[source]) for source in content)
        wanting = [source for source in wanting if source not in content]
    return given


def chosen(
    ranks: Mapping[str, Sequence[float]],
    cost: Callable[[str, int, float], int | None],
    given: Mapping[str, float],
    budget: int,
) -> dict[str, list[int]]:
    """The places of the items that fit, by source: a source's own tokens first, then what is left of all.

    What is too long is passed over and the rest goes on. What is left goes to what was passed over, best
    first whatever its source. `cost` is asked what the item at a place of a source costs, and may say None
    as soon as it knows that this is more than the room there is.
    """
    taken: dict[str, list[int]] = {source: [] for source in ranks}
    passed: list[tuple[float, str, int]] = []
    left: float = budget
    for source, each in ranks.items():
        own = given[source]
        for place, rank in enumerate(each):
            room = min(own, left)
            spent = cost(source, place, room) if room >= LEAST_COST else None
            if spent is not None and spent <= room:
                own, left = own - spent, left - spent
                taken[source].append(place)
            else:
                passed.append((-rank, source, place))
    for _, source, place in sorted(passed):
        if left < LEAST_COST:
            break
        spent = cost(source, place, left)
        if spent is not None and spent <= left:
            left -= spent
            taken[source].append(place)
    return {source: sorted(places) for source, places in taken.items()}


def _wanted(costs: Sequence[int]) -> float:
    """What a source needs for all its items to fit, none of them cut."""
    longest = max(costs)
    return max(sum(costs), longest / MAX_ITEM_FRACTION if longest > LEAST_ITEM else 0.0)
