"""Whether a gap in an agent's context is noticed, and whether nothing else is taken for one.

    gaps.jsonl    id, half (tune, held or blind), reasons (what shows the gap; none if there is none), state

Half of the states are hard to tell from gaps: questions that a user is meant to answer, questions that
answer themselves, question marks in code, quotations, requests that were answered since, reviews, slow work
that gets on. The detector is measured by words alone, and with the bundled encoder for what words leave
undecided; beside it stands a plain rule: keywords, and two question marks.

The judge of requests was taught by `tools/gap_messages.jsonl`. The requests of the tune half are among its
lessons, so that its score there says little. The held half is by the same hand; the blind states were written
by somebody who knew nothing of the detector. Neither is a lesson, but what was judged wrongly in them was
read, and lessons of the kind were written. What to expect of strangers is told by the writers of the lessons,
each judged by a judge that never read them. Of the 1,199 messages by the first two, half of which ask, words
alone find 0.82 with a precision of 0.96, and with the encoder 0.86 with the same. Of 106 calm remarks, in a
prose unlike any lesson, 16 are taken for requests, with the encoder 12.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.recall.gaps.asking import request
from foreword.recall.gaps.detect import READ, find_gap
from foreword.recall.gaps.state import messages, plain, value
from foreword.recall.gaps.types import VALID_GAP_REASONS
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword_measure.quality import gap_tables
from foreword_measure.quality.gap_tables import ENCODED, OURS, PLAIN, Judged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from foreword.recall.gaps.listener import Encode
    from foreword_measure.report import Report

FILE = "gaps.jsonl"
ASKED = "clarification_requested"
HALVES = ("tune", "held", "blind")

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
_RECENT, _MARKS, _SLOW = 5, 2, 2.0
_GATE = ("missing", "context", "information", "unclear")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A state, and what shows a gap in it."""

    id: str
    half: str
    reasons: frozenset[str]
    state: Mapping[str, Any]


def read(path: Path | None = None) -> list[Labelled]:
    """The labelled states of a file; without one, those that come with Foreword."""
    try:
        file = resources.files("foreword_measure.quality").joinpath(FILE) if path is None else path
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"cannot read {path or FILE}: {error}") from error
    return [
        _labelled(f"{path or FILE}, line {number}: ", line) for number, line in enumerate(lines, 1) if line
    ]


def measure_gaps(path: Path | None = None) -> Report:
    """How well gaps are noticed in each half of the labelled states, beside the plain rule."""
    labelled = read(path)
    encoder = BundledEmbeddingProvider()
    encoder.load()  # or the first state would seem slow
    judged = {
        OURS: _judged(labelled, found),
        ENCODED: _judged(labelled, lambda state: found(state, encoder.embed)),
        PLAIN: _judged(labelled, by_keywords),
    }
    return gap_tables.report(judged)


def found(state: Mapping[str, Any], encode: Encode | None = None) -> frozenset[str]:
    """The reasons for which the detector sees a gap in a state."""
    gap = find_gap(state)
    reasons = frozenset() if gap is None else frozenset(sign.reason for sign in gap.reasons)
    if encode is None:
        return reasons
    asked = request(messages(state, READ).messages, encode) is not None
    return reasons | {ASKED} if asked else reasons - {ASKED}


def by_keywords(state: Mapping[str, Any]) -> frozenset[str]:
    """The reasons for which the plain rule sees one."""
    said = " ".join(message.text for message in messages(state, _RECENT).messages).casefold()
    gate = plain(value(state, "gate_failure")).casefold() if value(state, "gate_blocked") else ""
    metrics = value(value(state, "health_status"), "metrics")
    times, overall = value(metrics, "agent_cycle_times"), value(metrics, "overall_cycle_time")
    taken = value(times, str(value(state, "current_agent")))
    numbers = isinstance(taken, int | float) and isinstance(overall, int | float)
    signs = {
        ASKED: said.count("?") >= _MARKS or any(word in said for word in _KEYWORDS),
        "circular_logic": bool(value(value(state, "cycle_analysis"), "circular_detected")),
        "gate_failure": any(word in gate for word in _GATE),
        "explicit_flag": bool(value(state, "missing_context")),
        "long_cycle_time": numbers and overall > 0 and taken > _SLOW * overall,
    }
    return frozenset(reason for reason, shown in signs.items() if shown)


def _judged(
    labelled: Sequence[Labelled], detect: Callable[[Mapping[str, Any]], frozenset[str]]
) -> list[Judged]:
    judged = []
    for one in labelled:
        started = time.perf_counter()
        reasons = detect(one.state)
        judged.append(Judged(one.id, one.half, one.reasons, reasons, (time.perf_counter() - started) * 1000))
    return judged


def _labelled(where: str, line: str) -> Labelled:
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
    return Labelled(str(row.get("id", "")), row["half"], frozenset(reasons), state)
