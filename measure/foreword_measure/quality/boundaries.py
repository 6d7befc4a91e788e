"""How good guesses of boundaries are: pure functions from guesses and truths to numbers.

A dialogue of n turns has n - 1 places where a boundary can be, one before each turn but the first. Guesses
and truths are a yes or no for each place. Knows nothing of how a guess was made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foreword_measure.quality import metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Interval = tuple[float, float]

_SMALLEST = 2


@dataclass(frozen=True, slots=True)
class Tally:
    """How many guesses were right, how many were made, and how many boundaries there are."""

    right: int
    guessed: int
    true: int

    @property
    def precision(self) -> float | None:
        """The share of the guesses that are right; None when nothing was guessed."""
        return self.right / self.guessed if self.guessed else None

    @property
    def recall(self) -> float | None:
        """The share of the boundaries that were guessed."""
        return self.right / self.true if self.true else None

    def f(self, beta: float) -> float:
        """Precision and recall in one number, recall weighing `beta` times as much."""
        weight = beta * beta
        return (1 + weight) * self.right / ((weight * self.true + self.guessed) or 1)


def tally(guesses: Iterable[Sequence[bool]], truths: Iterable[Sequence[bool]]) -> Tally:
    """Guesses and truths of many dialogues, counted together."""
    right = guessed = true = 0
    for guess, truth in zip(guesses, truths, strict=True):
        right += sum(map(min, guess, truth))
        guessed += sum(guess)
        true += sum(truth)
    return Tally(right, guessed, true)


def window(truth: Sequence[bool]) -> int:
    """Half the mean length of a dialogue's true segments: how far apart the ends of a window are."""
    return max(_SMALLEST, round((len(truth) + 1) / (2 * (sum(truth) + 1))))


def pk(guess: Sequence[bool], truth: Sequence[bool]) -> float | None:
    """How often guess and truth disagree on whether the two ends of a window belong together; 0 is best."""
    return _windows(guess, truth, lambda one, other: bool(one) != bool(other))


def window_diff(guess: Sequence[bool], truth: Sequence[bool]) -> float | None:
    """How often guess and truth disagree on how many boundaries a window holds; 0 is best."""
    return _windows(guess, truth, lambda one, other: one != other)


def roc_auc(scores: Sequence[float], truth: Sequence[bool]) -> float | None:
    """How often a true boundary scores above a place that is none; equals count half."""
    marks, labels = np.asarray(scores, dtype=float), np.asarray(truth, dtype=bool)
    positives, negatives = int(labels.sum()), int((~labels).sum())
    if not positives or not negatives:
        return None
    _, places, counts = np.unique(marks, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return float((ranks[labels].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def best_cut(scores: Sequence[float], truth: Sequence[bool], beta: float) -> float:
    """The threshold whose guesses have the best F; of equals, the highest."""
    marks, labels = np.asarray(scores, dtype=float), np.asarray(truth, dtype=bool)
    cuts = np.unique(marks)[::-1]
    guessed = len(marks) - np.searchsorted(np.sort(marks), cuts)
    right = labels.sum() - np.searchsorted(np.sort(marks[labels]), cuts)
    values = (1 + beta**2) * right / (beta**2 * labels.sum() + guessed)
    return float(cuts[int(values.argmax())])


def interval(
    guesses: Sequence[Sequence[bool]],
    truths: Sequence[Sequence[bool]],
    measure: Callable[[Tally], float | None],
) -> Interval | None:
    """Where a measure lies in 95 of 100 sets like this one: whole dialogues are drawn, from a fixed seed."""
    counts = [tally([guess], [truth]) for guess, truth in zip(guesses, truths, strict=True)]
    table = np.array([(one.right, one.guessed, one.true) for one in counts])
    drawn = np.random.default_rng(metrics.SEED).integers(len(table), size=(metrics.RESAMPLES, len(table)))
    values = [measure(Tally(*map(int, table[rows].sum(axis=0)))) for rows in drawn]
    known = [value for value in values if value is not None]
    if len(table) < 2 or not known:
        return None
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)


def _windows(
    guess: Sequence[bool], truth: Sequence[bool], differ: Callable[[int, int], bool]
) -> float | None:
    """The share of windows where they differ; None when a dialogue is shorter than its window."""
    size = window(truth)
    starts = range(len(truth) - size + 1)
    wrong = sum(differ(sum(guess[at : at + size]), sum(truth[at : at + size])) for at in starts)
    return wrong / len(starts) if starts else None
