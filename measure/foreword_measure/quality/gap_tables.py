"""What was measured of gaps, as a report: found and missed in each half, by reason, beside the plain rule.

Knows labels, guesses and the names of numbers; nothing of how a guess came about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreword.recall.gaps.types import VALID_GAP_REASONS
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foreword_measure.report import Cell

OURS, ENCODED, PLAIN = "foreword", "foreword with encoder", "keywords"
PRECISION, RECALL = 0.95, 0.90
"""What is aimed at, in each half."""

_COLUMNS = ("states", "right", "wrong", "missed", "precision", "recall")


@dataclass(frozen=True, slots=True)
class Judged:
    """One state: what shows a gap in it, what was seen, and how long that took in milliseconds."""

    id: str
    half: str
    reasons: frozenset[str]
    seen: frozenset[str]
    milliseconds: float


def report(judged: Mapping[str, Sequence[Judged]]) -> Report:
    """The whole measurement; one of the runs must be `OURS`."""
    halves = sorted({one.half for one in judged[OURS]}, reverse=True)
    runs = {
        f"{run}, {half}": counted((bool(one.reasons), bool(one.seen)) for one in inside if one.half == half)
        for run, inside in judged.items()
        for half in halves
    }
    reasons = {
        f"{reason}, {half}": counted(
            (reason in one.reasons, reason in one.seen) for one in judged[OURS] if one.half == half
        )
        for reason in sorted(VALID_GAP_REASONS)
        for half in halves
    }
    errors = [one for one in judged[OURS] if bool(one.reasons) != bool(one.seen)]
    slowest = max((one.milliseconds for one in judged[OURS]), default=0.0)
    notes = (
        f"{len(judged[OURS])} states, {sum(bool(one.reasons) for one in judged[OURS])} of them with a gap",
        f"aims: precision {PRECISION:.2f}, recall {RECALL:.2f}; the tune half's requests are lessons",
        "the blind states are by a hand that knew nothing of the detector; the others are by one hand",
        f"the slowest state took {slowest:.2f} ms without the encoder",
    )
    tables = (
        Table("Gaps in context", ("run", *_COLUMNS), _rows(runs), notes),
        Table(f"Gaps by reason: {OURS}", ("reason", *_COLUMNS), _rows(reasons)),
        Table("States judged wrongly", ("state", "half", "shows", "seen"), tuple(map(_error, errors))),
    )
    data: dict[str, Any] = {"states": len(judged[OURS]), "runs": runs, "reasons": reasons}
    return Report(tables, data | {"wrong": [one.id for one in errors], "slowest_ms": slowest})


def counted(pairs: Iterable[tuple[bool, bool]]) -> dict[str, float | None]:
    """How many pairs of truth and guess there are of each sort, and what that makes."""
    every = list(pairs)
    right = sum(true and guess for true, guess in every)
    wrong = sum(guess and not true for true, guess in every)
    missed = sum(true and not guess for true, guess in every)
    precision = right / (right + wrong) if right + wrong else None
    recall = right / (right + missed) if right + missed else None
    return dict(zip(_COLUMNS, (len(every), right, wrong, missed, precision, recall), strict=True))


def _rows(told: Mapping[str, Mapping[str, float | None]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple((name, *values.values()) for name, values in told.items())


def _error(one: Judged) -> tuple[Cell, ...]:
    return one.id, one.half, ", ".join(sorted(one.reasons)) or "-", ", ".join(sorted(one.seen)) or "-"
