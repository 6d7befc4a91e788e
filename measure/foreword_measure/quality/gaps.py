"""Whether a gap in an agent's context is noticed, and nothing else is mistaken for one.

    gaps.jsonl    id, half (tune, held or blind), reasons (the signs of the gap; empty without one), state

Half of the states only look like gaps: questions that a user is meant to answer, questions that answer
themselves, question marks in code, quotations, requests that were answered since, reviews, slow work that
makes progress. The detector is measured by words alone, and with the bundled models. It is compared with a
plain rule: keywords, and two question marks.

The judge of requests was trained on `tools/gap_messages.jsonl` and the lessons in `measure/lacks`. The
requests of the tune half are among its lessons, so its score there says little. The held half has the same
writer; the blind states were written by somebody who knew nothing of the detector. Neither is a lesson, but
errors in them were read, and similar lessons were written.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.recipes.gap.detect import WORDS_ALONE, GapModels, find_context_gap
from foreword.recipes.gap.state import get_value, read_messages, value_as_text
from foreword.recipes.gap.types import VALID_GAP_REASONS
from foreword.spaces.base import cosine_similarity
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.reader import BundledReader
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from foreword_measure.report import Cell

FILE = "gaps.jsonl"
ASKED = "clarification_requested"
HALVES = ("tune", "held", "blind")

OURS, WITH_MODELS, PLAIN = "foreword", "foreword with models", "keywords"
MIN_PRECISION, MIN_RECALL = 0.95, 0.90

_COLUMNS = ("states", "right", "wrong", "missed", "precision", "recall")
_KEYWORDS = (
    "unclear",
    "need more info",
    "need clarification",
    "what do you mean",
    "can you clarify",
    "please explain",
    "i don't understand",
    "missing information",
    "need context",
    "not sure what",
)
_RECENT_MESSAGES, _MIN_QUESTION_MARKS, _SLOW_FACTOR = 5, 2, 2.0
_GATE_WORDS = ("missing", "context", "information", "unclear")


@dataclass(frozen=True, slots=True)
class LabelledState:
    """A state, and the reasons that show a gap in it."""

    id: str
    half: str
    reasons: frozenset[str]
    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JudgedState:
    """One state: its labelled reasons, the reasons that were seen, and how many milliseconds that took."""

    id: str
    half: str
    reasons: frozenset[str]
    seen: frozenset[str]
    milliseconds: float


def read_states(path: Path | None = None) -> list[LabelledState]:
    """The labelled states of a file, or those that come with Foreword; ValidationError if a line is wrong."""
    try:
        file = resources.files("foreword_measure.quality").joinpath(FILE) if path is None else path
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"cannot read {path or FILE}: {error}") from error
    return [
        _parse_state(f"{path or FILE}, line {number}: ", line) for number, line in enumerate(lines, 1) if line
    ]


def measure_gaps(path: Path | None = None) -> Report:
    """How well gaps are noticed in each part of the labelled states, compared with the plain rule."""
    labelled = read_states(path)
    models = bundled_models()
    judged = {
        OURS: _judge_states(labelled, detected_reasons),
        WITH_MODELS: _judge_states(labelled, lambda state: detected_reasons(state, models)),
        PLAIN: _judge_states(labelled, keyword_reasons),
    }
    return _report(judged)


def bundled_models() -> GapModels:
    """The reader and the encoder that come with Foreword, loaded."""
    reader, encoder = BundledReader(), BundledEmbeddingProvider()
    reader.load()
    encoder.load()
    return GapModels(
        reader.request_logits, lambda *texts: cosine_similarity(*(encoder.embed(text) for text in texts))
    )


def detected_reasons(state: Mapping[str, Any], models: GapModels = WORDS_ALONE) -> frozenset[str]:
    """The reasons why the detector sees a gap in a state; empty if it sees none."""
    gap = find_context_gap(state, models)
    return frozenset() if gap is None else frozenset(sign.reason for sign in gap.reasons)


def keyword_reasons(state: Mapping[str, Any]) -> frozenset[str]:
    """The reasons why the plain rule sees a gap in a state; empty if it sees none."""
    text = " ".join(message.text for message in read_messages(state, _RECENT_MESSAGES).messages).casefold()
    gate = (
        value_as_text(get_value(state, "gate_failure")).casefold() if get_value(state, "gate_blocked") else ""
    )
    metrics = get_value(get_value(state, "health_status"), "metrics")
    times, overall = get_value(metrics, "agent_cycle_times"), get_value(metrics, "overall_cycle_time")
    taken = get_value(times, str(get_value(state, "current_agent")))
    numbers = isinstance(taken, int | float) and isinstance(overall, int | float)
    signs = {
        ASKED: text.count("?") >= _MIN_QUESTION_MARKS or any(word in text for word in _KEYWORDS),
        "circular_logic": bool(get_value(get_value(state, "cycle_analysis"), "circular_detected")),
        "gate_failure": any(word in gate for word in _GATE_WORDS),
        "explicit_flag": bool(get_value(state, "missing_context")),
        "long_cycle_time": numbers and overall > 0 and taken > _SLOW_FACTOR * overall,
    }
    return frozenset(reason for reason, shown in signs.items() if shown)


def _judge_states(
    labelled: Sequence[LabelledState], detect: Callable[[Mapping[str, Any]], frozenset[str]]
) -> list[JudgedState]:
    judged = []
    for one in labelled:
        started = time.perf_counter()
        reasons = detect(one.state)
        taken = (time.perf_counter() - started) * 1000
        judged.append(JudgedState(one.id, one.half, one.reasons, reasons, taken))
    return judged


def _parse_state(where: str, line: str) -> LabelledState:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValidationError(f"{where}not JSON: {error}") from None
    reasons, state = (row.get("reasons"), row.get("state")) if isinstance(row, dict) else (None, None)
    if not isinstance(reasons, list) or not VALID_GAP_REASONS.issuperset(reasons):
        raise ValidationError(f"{where}'reasons' must be a list of {', '.join(sorted(VALID_GAP_REASONS))}")
    if not isinstance(state, dict):
        raise ValidationError(f"{where}'state' must be an object")
    if row.get("half") not in HALVES:
        raise ValidationError(f"{where}'half' must be one of {', '.join(HALVES)}")
    return LabelledState(str(row.get("id", "")), row["half"], frozenset(reasons), state)


# The report ----------------------------------------------------------------------------------------------


def _report(judged: Mapping[str, Sequence[JudgedState]]) -> Report:
    """The whole measurement; one of the runs must be `OURS`."""
    halves = sorted({one.half for one in judged[OURS]}, reverse=True)
    runs = {
        f"{run}, {half}": count_guesses(
            (bool(one.reasons), bool(one.seen)) for one in inside if one.half == half
        )
        for run, inside in judged.items()
        for half in halves
    }
    reasons = {
        f"{reason}, {half}": count_guesses(
            (reason in one.reasons, reason in one.seen) for one in judged[OURS] if one.half == half
        )
        for reason in sorted(VALID_GAP_REASONS)
        for half in halves
    }
    errors = [one for one in judged[OURS] if bool(one.reasons) != bool(one.seen)]
    slowest = max((one.milliseconds for one in judged[OURS]), default=0.0)
    notes = (
        f"{len(judged[OURS])} states, {sum(bool(one.reasons) for one in judged[OURS])} of them with a gap",
        f"aims: precision {MIN_PRECISION:.2f}, recall {MIN_RECALL:.2f}; the tune half's requests are lessons",
        "the blind states are by a hand that knew nothing of the detector; the others are by one hand",
        f"the slowest state took {slowest:.2f} ms without models",
    )
    tables = (
        Table("Gaps in context", ("run", *_COLUMNS), _table_rows(runs), notes),
        Table(f"Gaps by reason: {OURS}", ("reason", *_COLUMNS), _table_rows(reasons)),
        Table("States judged wrongly", ("state", "half", "shows", "seen"), tuple(map(_error_row, errors))),
    )
    data: dict[str, Any] = {"states": len(judged[OURS]), "runs": runs, "reasons": reasons}
    return Report(tables, data | {"wrong": [one.id for one in errors], "slowest_ms": slowest})


def count_guesses(pairs: Iterable[tuple[bool, bool]]) -> dict[str, float | None]:
    """The counts, precision and recall of pairs of truth and guess."""
    every = list(pairs)
    right = sum(true and guess for true, guess in every)
    wrong = sum(guess and not true for true, guess in every)
    missed = sum(true and not guess for true, guess in every)
    precision = right / (right + wrong) if right + wrong else None
    recall = right / (right + missed) if right + missed else None
    return dict(zip(_COLUMNS, (len(every), right, wrong, missed, precision, recall), strict=True))


def _table_rows(table: Mapping[str, Mapping[str, float | None]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple((name, *values.values()) for name, values in table.items())


def _error_row(judged: JudgedState) -> tuple[Cell, ...]:
    return (
        judged.id,
        judged.half,
        ", ".join(sorted(judged.reasons)) or "-",
        ", ".join(sorted(judged.seen)) or "-",
    )
