"""How good a ranking is: pure functions from what was found, and what is relevant, to numbers.

A ranking is a list of document ids, best first; only the first mention of an id counts. `gains` has a number
above 0 for each relevant document; documents that it does not list are not relevant. A question to which
nothing is relevant is refused: its score has no meaning. Random draws have a fixed seed: the same numbers
give the same intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

CUTS = (5, 10, 20, 50)
SHORT_CUTS = CUTS[:2]
BUDGETS = (500, 1000, 2000, 4000)
METRICS = (
    *(f"R@{cut}" for cut in CUTS),
    *(f"hit@{cut}" for cut in SHORT_CUTS),
    *(f"all@{cut}" for cut in SHORT_CUTS),
    "NDCG@10",
    "MRR",
    *(f"T@{budget}" for budget in BUDGETS),
)

SEED = 7
RESAMPLES = 1000
BINS = 10

_RRF_K = 60
_MIN_GROUPS = 5
"""With fewer scopes than this, intervals resample questions instead of whole scopes."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place of an answer: the documents in it, how many tokens it takes, and its score."""

    documents: tuple[str, ...]
    tokens: float
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Bin:
    """The answers whose score is between two bounds: their mean score, and the share that is relevant."""

    low: float
    high: float
    predicted: float | None
    observed: float | None
    count: int


def recall(ranking: Iterable[str], gains: Mapping[str, float], cut: int) -> float:
    """The share of the relevant documents among the first `cut`."""
    return sum(document in gains for document in _first_distinct(ranking, cut)) / _count_relevant(gains)


def ndcg(ranking: Iterable[str], gains: Mapping[str, float], cut: int) -> float:
    """The gains of the first `cut`, each divided by log2(rank + 1), as a share of the best possible."""
    _count_relevant(gains)
    best = sorted(gains.values(), reverse=True)[:cut]
    found = [gains.get(document, 0.0) for document in _first_distinct(ranking, cut)]
    return _discounted_gain(found) / _discounted_gain(best)


def reciprocal_rank(ranking: Iterable[str], gains: Mapping[str, float], cut: int) -> float:
    """One over the rank of the first relevant document, or 0 if none is among the first `cut`."""
    _count_relevant(gains)
    return next((1 / rank for rank, one in enumerate(_first_distinct(ranking, cut), 1) if one in gains), 0.0)


def hit(ranking: Iterable[str], gains: Mapping[str, float], cut: int) -> float:
    """1 if any of the first `cut` is relevant, else 0."""
    return float(recall(ranking, gains, cut) > 0)


def complete(ranking: Iterable[str], gains: Mapping[str, float], cut: int) -> float:
    """1 if all relevant documents are among the first `cut`, else 0."""
    _count_relevant(gains)
    return float(gains.keys() <= set(_first_distinct(ranking, cut)))


def evidence_recall(places: Iterable[Place], gains: Mapping[str, float], budget: float) -> float:
    """The share of the relevant documents among the places that fit into `budget` tokens, in order."""
    seen: set[str] = set()
    for place in places:
        budget -= place.tokens
        if budget < 0:
            break
        seen.update(place.documents)
    return len(seen & gains.keys()) / _count_relevant(gains)


def score_ranking(places: Sequence[Place], gains: Mapping[str, float]) -> dict[str, float]:
    """The value of each of `METRICS` for one answer."""
    ranking = distinct_documents(places)
    values = [recall(ranking, gains, cut) for cut in CUTS]
    values += [hit(ranking, gains, cut) for cut in SHORT_CUTS]
    values += [complete(ranking, gains, cut) for cut in SHORT_CUTS]
    values += [ndcg(ranking, gains, 10), reciprocal_rank(ranking, gains, CUTS[-1])]
    values += [evidence_recall(places, gains, budget) for budget in BUDGETS]
    return dict(zip(METRICS, values, strict=True))


def distinct_documents(places: Iterable[Place]) -> list[str]:
    """The documents of an answer, in order, each once."""
    return list(dict.fromkeys(document for place in places for document in place.documents))


def mean_by_measure(rows: Sequence[Mapping[str, float]]) -> dict[str, float | None]:
    """The mean of each metric; None if there are no rows."""
    return {name: sum(row[name] for row in rows) / len(rows) if rows else None for name in METRICS}


def confidence_interval(values: Sequence[float], groups: Sequence[str]) -> tuple[float, float] | None:
    """The 95 % interval of the mean, by the bootstrap; None if there is only one value.

    Questions of one scope are not independent: with enough scopes, whole scopes are resampled.
    """
    clusters: dict[str, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        clusters.setdefault(group, []).append(value)
    drawn = list(clusters.values()) if has_enough_groups(groups) else [[value] for value in values]
    if len(drawn) < 2:
        return None
    sums, sizes = np.array([sum(one) for one in drawn]), np.array([len(one) for one in drawn])
    chosen = np.random.default_rng(SEED).integers(len(drawn), size=(RESAMPLES, len(drawn)))
    low, high = np.percentile(sums[chosen].sum(axis=1) / sizes[chosen].sum(axis=1), [2.5, 97.5])
    return float(low), float(high)


def has_enough_groups(groups: Sequence[str]) -> bool:
    """Whether there are enough groups to resample whole groups."""
    return len(set(groups)) >= _MIN_GROUPS


def sample_positions(count: int, most: int) -> list[int]:
    """At most `most` of the positions below `count`, drawn at random, in ascending order."""
    if count <= most:
        return list(range(count))
    return sorted(np.random.default_rng(SEED).choice(count, most, replace=False).tolist())


def bin_by_score(judged: Iterable[tuple[float, bool]]) -> list[Bin]:
    """Bins of equal width from 0 to 1, from pairs of a score and whether the answer was right."""
    held: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for score, right in judged:
        held[min(BINS - 1, max(0, int(score * BINS)))].append((score, right))
    return [_make_bin(place, inside) for place, inside in enumerate(held)]


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """The mean distance between score and share of relevant answers (expected calibration error)."""
    total = sum(group.count for group in bins)
    gaps = [abs((group.predicted or 0.0) - (group.observed or 0.0)) * group.count for group in bins]
    return sum(gaps) / total if total else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of all values does not exceed; None without values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def fuse_rankings(rankings: Iterable[Sequence[str]], k: int = _RRF_K) -> list[str]:
    """Reciprocal rank fusion with equal weights; of ties, the one that was seen first comes first."""
    totals: dict[str, float] = {}
    for ranking in rankings:
        for rank, one in enumerate(ranking, 1):
            totals[one] = totals.get(one, 0.0) + 1 / (k + rank)
    return sorted(totals, key=lambda one: -totals[one])


def _make_bin(place: int, inside: Sequence[tuple[float, bool]]) -> Bin:
    count = len(inside)
    predicted = sum(score for score, _ in inside) / count if count else None
    observed = sum(right for _, right in inside) / count if count else None
    return Bin(place / BINS, (place + 1) / BINS, predicted, observed, count)


def _first_distinct(ranking: Iterable[str], cut: int) -> list[str]:
    return list(dict.fromkeys(ranking))[:cut]


def _discounted_gain(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _count_relevant(gains: Mapping[str, float]) -> int:
    if not gains:
        raise ValidationError("nothing is relevant to this question; leave it out of the means")
    return len(gains)
