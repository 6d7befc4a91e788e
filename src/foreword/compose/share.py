"""Divide a number of tokens among sources by weight, so that what one does not need goes to the others.

No item may take more than a quarter of what its source has, however long it is: several shorter ones tell
more than one long one. Knows numbers only; what the items say and how they are cut is told elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WEIGHTS: Mapping[str, int] = {"experience": 3, "code": 2, "commit": 2, "value": 1, "memory": 1}
"""How much of a context each source may fill, as against the others: rich items need more room."""

MAX_ITEM_FRACTION = 0.25
"""How much of its source's tokens one item may take."""

LEAST_ITEM = 32
"""An item is not cut to fewer tokens than this: nothing sensible would be left of it."""


def item_cap(allowance: float) -> int:
    """The most tokens that one item may have, when its source has so many."""
    return max(LEAST_ITEM, int(allowance * MAX_ITEM_FRACTION))


def allowances(
    weights: Mapping[str, float], costs: Mapping[str, Sequence[int]], budget: float
) -> dict[str, float]:
    """What each source may spend, by weight; what a source cannot use is shared among those that can.

    A source is content when all its items fit, none of them cut. Contented ones keep the share they had then,
    of which they spend what they need. The others never have less than their weight's share of the whole.
    """
    given: dict[str, float] = {source: 0.0 for source in costs}
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
    costs: Mapping[str, Sequence[int]],
    ranks: Mapping[str, Sequence[float]],
    given: Mapping[str, float],
    budget: int,
) -> dict[str, list[int]]:
    """The places of the items that fit, by source: a source's own tokens first, then what is left of all.

    What is too long is passed over and the rest goes on. What is left goes to what was passed over, best
    first whatever its source.
    """
    taken: dict[str, list[int]] = {source: [] for source in costs}
    passed: list[tuple[float, str, int]] = []
    left = budget
    for source, each in costs.items():
        own = given[source]
        for place, cost in enumerate(each):
            if cost <= min(own, left):
                own, left = own - cost, left - cost
                taken[source].append(place)
            else:
                passed.append((-ranks[source][place], source, place))
    for _, source, place in sorted(passed):
        if costs[source][place] <= left:
            left -= costs[source][place]
            taken[source].append(place)
    return {source: sorted(places) for source, places in taken.items()}


def _wanted(costs: Sequence[int]) -> float:
    """What a source needs for all its items to fit, none of them cut."""
    longest = max(costs)
    return max(sum(costs), longest / MAX_ITEM_FRACTION if longest > LEAST_ITEM else 0.0)
