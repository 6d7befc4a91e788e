"""How good a ranking is: pure functions from what was found, and what should have been, to numbers.

A ranking is a list of document ids, best first; only the first mention of an id counts. `gains` says how
relevant each relevant document is, above 0; what it does not name is not relevant. How a ranking was
made is left to others. A question to which nothing is relevant is refused: its score has no meaning.
What is drawn by chance is drawn from a fixed seed: the same numbers give the same intervals.
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
"""With fewer scopes than this, drawing scopes says little; then questions are drawn."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place of an answer: the documents it stands for, what it costs to show, and its score."""

    documents: tuple[str, ...]
    tokens: float
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Bin:
    """The answers whose score lies between two bounds: how sure they were, and how often rightly so."""

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
    """One over the rank of the first relevant document, or 0 when it is not among the first `cut`."""
    _count_relevant(gains)
    return next((1 / rank for rank, one in enumerate(_first_distinct(ranking, cut), 1) if one in gains), 0.0)


def hit(ranking: Iterable[str], gains: Mapping[str, float], cut: int) -> float:
    """1 when any of the first `cut` is relevant, else 0."""
    return float(recall(ranking, gains, cut) > 0)


def complete(ranking: Iterable[str], gains: Mapping[str, float], cut: int) -> float:
    """1 when everything that is relevant is among the first `cut`, else 0."""
    _count_relevant(gains)
    return float(gains.keys() <= set(_first_distinct(ranking, cut)))


def evidence_recall(places: Iterable[Place], gains: Mapping[str, float], budget: float) -> float:
    """The share of the relevant documents among the places before the first that does not fit."""
    seen: set[str] = set()
    for place in places:
        budget -= place.tokens
        if budget < 0:
            break
        seen.update(place.documents)
    return len(seen & gains.keys()) / _count_relevant(gains)


def scores(places: Sequence[Place], gains: Mapping[str, float]) -> dict[str, float]:
    """All of `METRICS` for one answer."""
    ranking = documents(places)
    values = [recall(ranking, gains, cut) for cut in CUTS]
    values += [hit(ranking, gains, cut) for cut in SHORT_CUTS]
    values += [complete(ranking, gains, cut) for cut in SHORT_CUTS]
    values += [ndcg(ranking, gains, 10), reciprocal_rank(ranking, gains, CUTS[-1])]
    values += [evidence_recall(places, gains, budget) for budget in BUDGETS]
    return dict(zip(METRICS, values, strict=True))


def documents(places: Iterable[Place]) -> list[str]:
    """The documents of an answer, each where it is first met."""
    return list(dict.fromkeys(document for place in places for document in place.documents))


def means(rows: Sequence[Mapping[str, float]]) -> dict[str, float | None]:
    """The mean of each metric; None where there is nothing to take a mean of."""
    return {name: sum(row[name] for row in rows) / len(rows) if rows else None for name in METRICS}


def interval(values: Sequence[float], groups: Sequence[str]) -> tuple[float, float] | None:
    """Where the mean lies in 95 of 100 sets like this one, by the bootstrap; None when there is one value.

    Questions of one scope are no independent draws: with enough scopes, whole scopes are drawn.
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
    """Whether there are enough groups to draw whole ones."""
    return len(set(groups)) >= _MIN_GROUPS


def sample_positions(count: int, most: int) -> list[int]:
    """At most `most` of the positions below `count`, drawn by chance, in their order."""
    if count <= most:
        return list(range(count))
    return sorted(np.random.default_rng(SEED).choice(count, most, replace=False).tolist())


def reliability(judged: Iterable[tuple[float, bool]]) -> list[Bin]:
    """Scores, each with whether it was right, in bins of equal width from 0 to 1."""
    held: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for score, right in judged:
        held[min(BINS - 1, max(0, int(score * BINS)))].append((score, right))
    return [_bin(place, inside) for place, inside in enumerate(held)]


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """How far apart sureness and truth are, on average over all answers (expected calibration error)."""
    total = sum(one.count for one in bins)
    gaps = [abs((one.predicted or 0.0) - (one.observed or 0.0)) * one.count for one in bins]
    return sum(gaps) / total if total else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of all values does not exceed."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def fuse_rankings(rankings: Iterable[Sequence[str]], k: int = _RRF_K) -> list[str]:
    """Reciprocal rank fusion with equal weights; of equals, the one met first comes first."""
    totals: dict[str, float] = {}
    for ranking in rankings:
        for rank, one in enumerate(ranking, 1):
            totals[one] = totals.get(one, 0.0) + 1 / (k + rank)
    return sorted(totals, key=lambda one: -totals[one])


def _bin(place: int, inside: Sequence[tuple[float, bool]]) -> Bin:
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
