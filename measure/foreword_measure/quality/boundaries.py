"""Measures of how good guesses of boundaries are, and a report of them.

A dialogue of n turns has n - 1 places where a boundary can be, one before each turn but the first. Guesses
and truths are True or False for each place. `shifts` makes the guesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from foreword_measure.quality import metrics
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from foreword.recall.divergence import DivergenceDetector

    Truths = Sequence[Sequence[bool]]
    Values = Mapping[str, float | None]
    Interval = tuple[float, float]

OURS = "foreword"
BETA = 0.5
"""The beta of F: an alert interrupts, so precision weighs twice as much as recall."""

_MIN_WINDOW = 2


@dataclass(frozen=True, slots=True)
class Tally:
    """How many guessed boundaries are right, how many were guessed, and how many there are."""

    right: int
    guessed: int
    true: int

    @property
    def precision(self) -> float | None:
        """The share of the guesses that are right; None if nothing was guessed."""
        return self.right / self.guessed if self.guessed else None

    @property
    def recall(self) -> float | None:
        """The share of the boundaries that were guessed; None if there are none."""
        return self.right / self.true if self.true else None

    def f_score(self, beta: float) -> float:
        """Precision and recall in one number, recall weighing `beta` times as much."""
        weight = beta * beta
        return (1 + weight) * self.right / ((weight * self.true + self.guessed) or 1)


def tally_guesses(guesses: Iterable[Sequence[bool]], truths: Iterable[Sequence[bool]]) -> Tally:
    """The counts over many dialogues together."""
    right = guessed = true = 0
    for guess, truth in zip(guesses, truths, strict=True):
        right += sum(map(min, guess, truth))
        guessed += sum(guess)
        true += sum(truth)
    return Tally(right, guessed, true)


def window_size(truth: Sequence[bool]) -> int:
    """The size of a window: half the mean length of a dialogue's true segments."""
    return max(_MIN_WINDOW, round((len(truth) + 1) / (2 * (sum(truth) + 1))))


def pk(guess: Sequence[bool], truth: Sequence[bool]) -> float | None:
    """The share of windows in which guess and truth disagree whether there is a boundary; 0 is best."""
    return _share_of_differing_windows(guess, truth, lambda guessed, true: bool(guessed) != bool(true))


def window_diff(guess: Sequence[bool], truth: Sequence[bool]) -> float | None:
    """The share of windows in which guess and truth disagree how many boundaries there are; 0 is best."""
    return _share_of_differing_windows(guess, truth, lambda guessed, true: guessed != true)


def roc_auc(scores: Sequence[float], truth: Sequence[bool]) -> float | None:
    """How often a true boundary scores above a place without one; ties count half. None if all are alike."""
    marks, labels = np.asarray(scores, dtype=float), np.asarray(truth, dtype=bool)
    positives, negatives = int(labels.sum()), int((~labels).sum())
    if not positives or not negatives:
        return None
    _, places, counts = np.unique(marks, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return float((ranks[labels].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def best_threshold(scores: Sequence[float], truth: Sequence[bool], beta: float) -> float:
    """The threshold whose guesses have the best F; the highest one if several do."""
    marks, labels = np.asarray(scores, dtype=float), np.asarray(truth, dtype=bool)
    cuts = np.unique(marks)[::-1]
    guessed = len(marks) - np.searchsorted(np.sort(marks), cuts)
    right = labels.sum() - np.searchsorted(np.sort(marks[labels]), cuts)
    values = (1 + beta**2) * right / (beta**2 * labels.sum() + guessed)
    return float(cuts[int(values.argmax())])


def confidence_interval(
    guesses: Sequence[Sequence[bool]],
    truths: Sequence[Sequence[bool]],
    measure: Callable[[Tally], float | None],
) -> Interval | None:
    """The 95 % interval of a measure, by resampling whole dialogues from a fixed seed."""
    counts = [tally_guesses([guess], [truth]) for guess, truth in zip(guesses, truths, strict=True)]
    table = np.array([(one.right, one.guessed, one.true) for one in counts])
    drawn = np.random.default_rng(metrics.SEED).integers(len(table), size=(metrics.RESAMPLES, len(table)))
    values = [measure(Tally(*map(int, table[rows].sum(axis=0)))) for rows in drawn]
    known = [value for value in values if value is not None]
    if len(table) < 2 or not known:
        return None
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)


def _share_of_differing_windows(
    guess: Sequence[bool], truth: Sequence[bool], differ: Callable[[int, int], bool]
) -> float | None:
    """The share of windows whose boundaries differ; None if the dialogue is shorter than its window."""
    size = window_size(truth)
    starts = range(len(truth) - size + 1)
    wrong = sum(differ(sum(guess[at : at + size]), sum(truth[at : at + size])) for at in starts)
    return wrong / len(starts) if starts else None


# The report ----------------------------------------------------------------------------------------------

_COUNTED: Mapping[str, Callable[[Tally], float | None]] = {
    "precision": lambda counted: counted.precision,
    "recall": lambda counted: counted.recall,
    "F1": lambda counted: counted.f_score(1),
    "F0.5": lambda counted: counted.f_score(BETA),
}
_WINDOWED = {"Pk": pk, "WindowDiff": window_diff}
_COLUMNS = (*_COUNTED, *_WINDOWED, "ROC-AUC")
_SEVERITY = ("alerts", "right", "right or one turn off")


@dataclass(frozen=True, slots=True)
class Guesses:
    """The guesses of one run for each dialogue, and the scores they come from, if any."""

    guesses: Truths
    scores: Sequence[Sequence[float]] | None = None


def build_report(
    name: str, truths: Truths, guessed: Mapping[str, Guesses], judge: DivergenceDetector
) -> Report:
    """The whole measurement; one of the runs must be `OURS`."""
    runs = {run: _measure_run(one, truths) for run, one in guessed.items()}
    intervals = _intervals(guessed[OURS], truths)
    severities = _measure_severities(guessed[OURS], truths, judge)
    facts = {
        "dialogues": len(truths),
        "places": sum(map(len, truths)),
        "boundaries": sum(map(sum, truths)),
        "threshold": judge.threshold,
    }
    notes = (
        f"{facts['dialogues']:,} dialogues; {facts['boundaries']:,} of {facts['places']:,} turns after the "
        "first open a subject, and each is judged by what came before it",
        "random: at the true rate; cosine: to the turn before; stretched: the same with strangers at 0; best "
        "cut: that of the best F0.5 on this very set",
        f"an alert is given from a chance of {judge.threshold:.2f} on; Pk and WindowDiff: lower is better",
    )
    tables = (
        Table(f"{name}: changes of subject", ("run", *_COLUMNS), _table_rows(runs), notes),
        Table(f"{name}: {OURS}, in 95 of 100 such sets", ("measure", "from", "to"), _table_rows(intervals)),
        Table(f"{name}: alerts by severity", ("severity", *_SEVERITY), _table_rows(severities)),
    )
    data = {"set": name, **facts, "runs": runs, "intervals": intervals, "severities": severities}
    return Report(tables, data)


def _table_rows(table: Mapping[str, Values]) -> tuple[tuple[str | float | None, ...], ...]:
    return tuple((name, *values.values()) for name, values in table.items())


def _measure_run(guessed: Guesses, truths: Truths) -> dict[str, float | None]:
    counted = tally_guesses(guessed.guesses, truths)
    area = _roc_auc_of_all(guessed.scores, truths) if guessed.scores else None
    return {
        **{name: measure(counted) for name, measure in _COUNTED.items()},
        **{
            name: _mean(list(_measure_dialogues(guessed, truths, measure).values()))
            for name, measure in _WINDOWED.items()
        },
        "ROC-AUC": area,
    }


def _measure_dialogues(
    guessed: Guesses, truths: Truths, measure: Callable[[Sequence[bool], Sequence[bool]], float | None]
) -> dict[str, float]:
    """The measure of each dialogue that is long enough, by the dialogue's number."""
    values = map(measure, guessed.guesses, truths)
    return {str(number): value for number, value in enumerate(values) if value is not None}


def _intervals(guessed: Guesses, truths: Truths) -> dict[str, dict[str, float | None]]:
    found = {
        name: confidence_interval(guessed.guesses, truths, measure) for name, measure in _COUNTED.items()
    }
    for name, measure in _WINDOWED.items():
        values = _measure_dialogues(guessed, truths, measure)
        found[name] = metrics.confidence_interval(list(values.values()), list(values))
    return {
        name: dict(zip(("from", "to"), ends or (None, None), strict=True)) for name, ends in found.items()
    }


def _measure_severities(
    guessed: Guesses, truths: Truths, judge: DivergenceDetector
) -> dict[str, dict[str, float | None]]:
    """For each severity, how many alerts there are, and which shares are right, and right within a turn."""
    seen: dict[str, list[tuple[bool, bool]]] = {"low": [], "medium": [], "high": []}
    for alarms, chances, truth in zip(guessed.guesses, guessed.scores or (), truths, strict=True):
        for at, alarm in enumerate(alarms):
            if alarm:
                nearly = any(truth[max(0, at - 1) : at + 2])
                seen[judge.severity(chances[at])].append((truth[at], nearly))
    return {severity: _severity_row(inside) for severity, inside in seen.items()}


def _severity_row(inside: Sequence[tuple[bool, bool]]) -> dict[str, float | None]:
    right, nearly = _mean([float(exact) for exact, _ in inside]), _mean([float(near) for _, near in inside])
    return dict(zip(_SEVERITY, (len(inside), right, nearly), strict=True))


def _roc_auc_of_all(scores: Sequence[Sequence[float]], truths: Truths) -> float | None:
    return roc_auc([*chain.from_iterable(scores)], [*chain.from_iterable(truths)])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
