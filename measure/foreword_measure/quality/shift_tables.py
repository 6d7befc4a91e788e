"""What was measured of changes of subject, as a report: the runs beside each other, intervals, severities.

Knows guesses, truths and the names of numbers; nothing of how a guess came about.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from foreword_measure.quality import boundaries, metrics
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from foreword.recall.divergence import DivergenceDetector
    from foreword_measure.quality.boundaries import Tally

    Truths = Sequence[Sequence[bool]]
    Values = Mapping[str, float | None]

OURS = "foreword"
BETA = 0.5
"""An alert interrupts: precision weighs twice as much as recall."""

_COUNTED: Mapping[str, Callable[[Tally], float | None]] = {
    "precision": lambda counted: counted.precision,
    "recall": lambda counted: counted.recall,
    "F1": lambda counted: counted.f(1),
    "F0.5": lambda counted: counted.f(BETA),
}
_WINDOWED = {"Pk": boundaries.pk, "WindowDiff": boundaries.window_diff}
_COLUMNS = (*_COUNTED, *_WINDOWED, "ROC-AUC")
_SEVERITY = ("alerts", "right", "right or one turn off")


@dataclass(frozen=True, slots=True)
class Guessed:
    """What one run guessed, dialogue by dialogue, and the scores behind it, if it has any."""

    guesses: Truths
    scores: Sequence[Sequence[float]] | None = None


def report(name: str, truths: Truths, guessed: Mapping[str, Guessed], judge: DivergenceDetector) -> Report:
    """The whole measurement; one of the runs must be `OURS`."""
    runs = {run: _measures(one, truths) for run, one in guessed.items()}
    intervals = _intervals(guessed[OURS], truths)
    severities = _severities(guessed[OURS], truths, judge)
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
        Table(f"{name}: changes of subject", ("run", *_COLUMNS), _rows(runs), notes),
        Table(f"{name}: {OURS}, in 95 of 100 such sets", ("measure", "from", "to"), _rows(intervals)),
        Table(f"{name}: alerts by severity", ("severity", *_SEVERITY), _rows(severities)),
    )
    data = {"set": name, **facts, "runs": runs, "intervals": intervals, "severities": severities}
    return Report(tables, data)


def _rows(told: Mapping[str, Values]) -> tuple[tuple[str | float | None, ...], ...]:
    return tuple((name, *values.values()) for name, values in told.items())


def _measures(guessed: Guessed, truths: Truths) -> dict[str, float | None]:
    counted = boundaries.tally(guessed.guesses, truths)
    area = _area(guessed.scores, truths) if guessed.scores else None
    return {
        **{name: measure(counted) for name, measure in _COUNTED.items()},
        **{
            name: _mean(list(_windowed(guessed, truths, measure).values()))
            for name, measure in _WINDOWED.items()
        },
        "ROC-AUC": area,
    }


def _windowed(
    guessed: Guessed, truths: Truths, measure: Callable[[Sequence[bool], Sequence[bool]], float | None]
) -> dict[str, float]:
    """The measure of every dialogue that is long enough for it."""
    values = map(measure, guessed.guesses, truths)
    return {str(number): value for number, value in enumerate(values) if value is not None}


def _intervals(guessed: Guessed, truths: Truths) -> dict[str, dict[str, float | None]]:
    found = {
        name: boundaries.interval(guessed.guesses, truths, measure) for name, measure in _COUNTED.items()
    }
    for name, measure in _WINDOWED.items():
        values = _windowed(guessed, truths, measure)
        found[name] = metrics.interval(list(values.values()), list(values))
    return {
        name: dict(zip(("from", "to"), ends or (None, None), strict=True)) for name, ends in found.items()
    }


def _severities(
    guessed: Guessed, truths: Truths, judge: DivergenceDetector
) -> dict[str, dict[str, float | None]]:
    """How many alerts there are of each severity, how many are right, and how many within a turn."""
    seen: dict[str, list[tuple[bool, bool]]] = {"low": [], "medium": [], "high": []}
    for alarms, chances, truth in zip(guessed.guesses, guessed.scores or (), truths, strict=True):
        for at, alarm in enumerate(alarms):
            if alarm:
                nearly = any(truth[max(0, at - 1) : at + 2])
                seen[judge.severity(chances[at])].append((truth[at], nearly))
    return {severity: _shares(inside) for severity, inside in seen.items()}


def _shares(inside: Sequence[tuple[bool, bool]]) -> dict[str, float | None]:
    right, nearly = _mean([float(one) for one, _ in inside]), _mean([float(one) for _, one in inside])
    return dict(zip(_SEVERITY, (len(inside), right, nearly), strict=True))


def _area(scores: Sequence[Sequence[float]], truths: Truths) -> float | None:
    return boundaries.roc_auc([*chain.from_iterable(scores)], [*chain.from_iterable(truths)])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
