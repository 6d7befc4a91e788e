"""How much each candidate matters to a coding agent: relevance × recency × agreement of the spaces.

Then the order: by category, by priority within it, and by maximal marginal relevance, so that the next is
relevant and unlike those before it. Knows numbers and words only; how a candidate is worded and what it costs
is decided elsewhere.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Protocol, TypeVar

from foreword.errors import ValidationError
from foreword.options import check_fraction
from foreword.recall.rank import MMR_LAMBDA, make_word_overlap_function, order_by_marginal_relevance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from typing import Self


class HasPriority(Protocol):
    """A category of candidates, with a place in the order of categories."""

    @property
    def priority(self) -> int:
        """Its place in that order, from 1."""
        ...


class Weighable(Protocol):
    """A candidate that can be weighed and put in order, such as `compose.candidate.InjectionCandidate`."""

    @property
    def content(self) -> str: ...  # noqa: D102
    @property
    def created_at(self) -> datetime: ...  # noqa: D102
    @property
    def relevance_score(self) -> float: ...  # noqa: D102
    @property
    def weighted_agreement(self) -> float: ...  # noqa: D102
    @property
    def priority(self) -> float: ...  # noqa: D102
    @property
    def category(self) -> HasPriority: ...  # noqa: D102

    def with_priority(self, recency_factor: float, diversity_bonus: float) -> Self:
        """The same candidate with these factors, and the priority that follows from them."""
        ...


_Weighed = TypeVar("_Weighed", bound=Weighable)


class RecencyFactor:
    """The factor by which age changes priority: more for the last hour, less beyond a month."""

    HOUR_1 = 1.3
    DAY_1 = 1.2
    WEEK_1 = 1.1
    MONTH_1 = 1.0
    OLDER = 0.8

    @classmethod
    def compute(cls, created_at: datetime, now: datetime) -> float:
        """The factor at this age. A time ahead of the clock counts like one as far behind it."""
        age = abs(now - created_at)
        for limit, factor in (
            (timedelta(hours=1), cls.HOUR_1),
            (timedelta(days=1), cls.DAY_1),
            (timedelta(days=7), cls.WEEK_1),
            (timedelta(days=30), cls.MONTH_1),
        ):
            if age < limit:
                return factor
        return cls.OLDER


class DiversityBonus:
    """The factor by which priority rises if several spaces rank a memory high."""

    HIGH_AGREEMENT = 1.5
    MEDIUM_AGREEMENT = 1.2
    LOW_AGREEMENT = 1.0

    @classmethod
    def compute(cls, weighted_agreement: float) -> float:
        """The bonus: high from an agreement of 5, medium from 2.5, else none."""
        if weighted_agreement >= 5.0:
            return cls.HIGH_AGREEMENT
        return cls.MEDIUM_AGREEMENT if weighted_agreement >= 2.5 else cls.LOW_AGREEMENT


class PriorityRanker:
    """Weighs candidates and puts them in order."""

    @staticmethod
    def compute_weighted_agreement(space_rankings: Iterable[tuple[str, int]]) -> float:
        """The sum of 1/rank over the spaces in which a memory matches; ranks count from 1."""
        total = 0.0
        for space, position in space_rankings:
            if position < 1:
                raise ValidationError(f"ranks count from 1; {space!r} gives {position}")
            total += 1 / position
        return total

    @staticmethod
    def compute_priority(candidate: _Weighed, now: datetime) -> _Weighed:
        """The candidate with its factors, and with priority = relevance × recency × diversity."""
        return candidate.with_priority(
            RecencyFactor.compute(candidate.created_at, now),
            DiversityBonus.compute(candidate.weighted_agreement),
        )

    @staticmethod
    def rank_candidates(candidates: Iterable[_Weighed]) -> list[_Weighed]:
        """By category, then by priority, highest first; equals keep their order."""
        return sorted(candidates, key=lambda candidate: (candidate.category.priority, -candidate.priority))

    @staticmethod
    def diversify(
        ranked: Sequence[_Weighed],
        similarity: Callable[[_Weighed, _Weighed], float] | None = None,
        balance: float = MMR_LAMBDA,
    ) -> list[_Weighed]:
        """Maximal marginal relevance, category by category; nothing is left out.

        A priority counts as a share of the best, so that being different cannot outweigh it. `similarity`
        goes from 0 to 1; without one, it is the overlap of the words.
        """
        check_fraction("balance", balance)
        overlap = make_word_overlap_function(candidate.content for candidate in ranked)

        def likeness(one: int, other: int) -> float:
            return overlap(one, other) if similarity is None else similarity(ranked[one], ranked[other])

        best = max((candidate.priority for candidate in ranked), default=0.0) or 1.0
        gains = [balance * candidate.priority / best for candidate in ranked]
        order: list[int] = []
        for _, group in groupby(range(len(ranked)), key=lambda place: ranked[place].category):
            added = order_by_marginal_relevance(group, gains, likeness, 1 - balance, tuple(order))
            order += [place for place, _ in added]
        return [ranked[place] for place in order]
