"""Orders for search results: by a blend, by similarity, by recency, by confidence, by a function, by MMR.

A ranking function takes results and gives them back in order, each with the score it was ordered by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.errors import ValidationError
from foreword.options import check_fraction
from foreword.text.words import split_words
from foreword.types import SearchResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

RankingFunction = Callable[[Sequence[SearchResult]], Sequence[SearchResult]]
"""A function that orders results; `register_ranker` takes one."""

MMR_LAMBDA = 0.7
"""How much being relevant weighs against being different."""


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """How much each part of the default ranking weighs. The weights are normalised to sum to 1."""

    similarity_weight: float = 0.5
    recency_weight: float = 0.3
    confidence_weight: float = 0.2

    def __post_init__(self) -> None:
        for name in ("similarity_weight", "recency_weight", "confidence_weight"):
            check_fraction(name, getattr(self, name))
        if not self.similarity_weight + self.recency_weight + self.confidence_weight:
            raise ValidationError("at least one ranking weight must be above 0")


class MemoryRanker:
    """The rankings that come with Foreword. `now` is needed wherever age counts."""

    @staticmethod
    def default_ranking(
        results: Sequence[SearchResult],
        now: datetime,
        options: RankingOptions = RankingOptions(),
        best: float = 1.0,
    ) -> list[SearchResult]:
        """Similarity (a score of `best` is full), recency (1 / (1 + days)) and confidence, weighed."""
        total = options.similarity_weight + options.recency_weight + options.confidence_weight

        def blended_score(result: SearchResult) -> float:
            return (
                result.score / best * options.similarity_weight
                + recency_score(result, now) * options.recency_weight
                + result.memory.confidence * options.confidence_weight
            ) / total

        return MemoryRanker.custom(results, blended_score)

    @staticmethod
    def by_similarity(results: Sequence[SearchResult]) -> list[SearchResult]:
        """Most similar first."""
        return MemoryRanker.custom(results, lambda result: result.score)

    @staticmethod
    def by_recency(results: Sequence[SearchResult]) -> list[SearchResult]:
        """Newest first."""
        newest = max((r.memory.created_at for r in results), default=None)
        return (
            []
            if newest is None
            else MemoryRanker.custom(results, lambda result: recency_score(result, newest))
        )

    @staticmethod
    def by_confidence(results: Sequence[SearchResult]) -> list[SearchResult]:
        """Surest first."""
        return MemoryRanker.custom(results, lambda result: result.memory.confidence)

    @staticmethod
    def custom(results: Sequence[SearchResult], score: Callable[[SearchResult], float]) -> list[SearchResult]:
        """Highest score first; equals keep their order."""
        ranked = [replace(result, rank=score(result)) for result in results]
        return sorted(ranked, key=lambda result: -(result.rank or 0.0))

    @staticmethod
    def by_relevance_and_variety(
        results: Sequence[SearchResult], balance: float = MMR_LAMBDA, best: float = 1.0
    ) -> list[SearchResult]:
        """Maximal marginal relevance: each next is relevant and unlike those before it."""
        gains = [balance * result.score / best for result in results]
        similarity = make_word_overlap_function([result.memory.text for result in results])
        order = order_by_marginal_relevance(range(len(gains)), gains, similarity, 1 - balance)
        return [replace(results[at], rank=relevance) for at, relevance in order]


def recency_score(result: SearchResult, now: datetime) -> float:
    """1 / (1 + days since it was created)."""
    return 1 / (1 + max(0.0, (now - result.memory.created_at).total_seconds() / 86_400))


def build_rankers(now: datetime) -> dict[str, RankingFunction]:
    """The rankings by name, with the time they count age from.

    A score is a probability, and even a good answer may have a small one. Where it is weighed against
    something else it counts as a share of the best, so that being recent or different cannot outweigh it.
    """
    return {
        "default": lambda results: MemoryRanker.default_ranking(
            results, now, best=_best_score_or_one(results)
        ),
        "similarity": MemoryRanker.by_similarity,
        "recency": MemoryRanker.by_recency,
        "confidence": MemoryRanker.by_confidence,
        "mmr": lambda results: MemoryRanker.by_relevance_and_variety(
            results, best=_best_score_or_one(results)
        ),
    }


RANKERS = ("default", "similarity", "recency", "confidence", "mmr")


def _best_score_or_one(results: Sequence[SearchResult]) -> float:
    """The best score; 1 when there is none above 0."""
    return max((result.score for result in results), default=0.0) or 1.0


def order_by_marginal_relevance(
    places: Iterable[int],
    gains: Sequence[float],
    similarity: Callable[[int, int], float],
    similarity_weight: float,
    before: Sequence[int] = (),
) -> Iterator[tuple[int, float]]:
    """The places in an order in which each adds most to those before it, with what it adds."""
    nearest = {place: max((similarity(place, one) for one in before), default=0.0) for place in places}
    while nearest:
        best = max(nearest, key=lambda place: gains[place] - similarity_weight * nearest[place])
        yield best, gains[best] - similarity_weight * nearest.pop(best)
        for place, known in nearest.items():
            nearest[place] = max(known, similarity(place, best))


def make_word_overlap_function(texts: Iterable[str]) -> Callable[[int, int], float]:
    """A function that gives the share of words (Jaccard) that two of these texts have in common, by place."""
    bags = [frozenset(split_words(text)) for text in texts]

    def overlap(one: int, other: int) -> float:
        return len(bags[one] & bags[other]) / (len(bags[one] | bags[other]) or 1)

    return overlap
