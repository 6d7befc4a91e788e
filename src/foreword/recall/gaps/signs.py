"""What a state says of itself: a flag that context is missing, a gate that failed for it, a slow agent.

A failed gate is a gap only if it failed because somebody did not know something: a missing semicolon is none.
A slow agent is compared with itself, where its history is known; one that visibly gets on is not stuck.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

from foreword.recall.gaps.asking import answered
from foreword.recall.gaps.phrases import PROGRESS
from foreword.recall.gaps.state import READ_CHARACTERS, as_fields, keys, plain, value
from foreword.recall.gaps.types import Sign
from foreword.recall.gaps.words import likeness, own_voice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foreword.recall.gaps.state import Message

SLOW = 2.0
"""So many times its baseline an agent's cycle takes when something is wrong."""

HISTORY = 3
"""So many earlier cycles make a baseline of an agent's own."""

GETTING_ON = 2
"""So many different reports of progress, of the last few messages, show that an agent gets on."""

FLAG, GATE, CYCLE = 0.95, 0.85, 0.6
_RECENT = 6
_NO = frozenset({"", "no", "none", "false", "null", "n/a", "nothing", "0"})
_YES = frozenset({"yes", "true", "1"})
_FLAG_LINE = re.compile(
    r"^[ \t*_>\"'-]{0,8}missing[_ ]context[ *_\"']{0,4}[:=][ \t]*(?P<what>\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)

_UNKNOWN = (
    r"(?:missing|lack(?:s|ing)?|insufficient|absent|undefined|unspecified|unknown|unclear|ambiguous|incomplete"
    r"|not (?:\w+ )?(?:provided|specified|defined|documented|known|given|stated|found|clear)|no)"
)
_KNOWLEDGE = (
    r"(?:contexts?|information|requirements?|acceptance criteria|specifications?|specs?|decisions?"
    r"|rationale|definitions?|background|scope|constraints?|targets?|documentation|story)"
)
_WANTING = re.compile(
    rf"missing[_-]context|\b{_UNKNOWN}\b(?:[\s:,]+\w+){{0,3}}?[\s:,]+{_KNOWLEDGE}\b"
    rf"|\b{_KNOWLEDGE}\b(?:[\s:,]+\w+){{0,8}}?[\s:,]+{_UNKNOWN}\b",
    re.IGNORECASE,
)
_OF_CODE = re.compile(
    r"\b(?:argument|parameter|import|attribute|variable|docstring|call to)\b", re.IGNORECASE
)


def flagged(state: object, messages: Sequence[Message]) -> Sign | None:
    """An explicit flag: of the state, of an agent's output, or of a message that nobody answered since."""
    declared = value(state, "missing_context")
    if declared is not None:
        what = _flag(declared)
        return None if what is None else Sign("explicit_flag", FLAG, "state.missing_context", what)
    for name, output in _outputs(state):
        if (what := _flag(value(output, "missing_context"))) is not None:
            return Sign("explicit_flag", FLAG, f"{name}.missing_context", what)
    for at in range(len(messages) - 1, max(-1, len(messages) - 1 - _RECENT), -1):
        what = _flag_of_message(messages[at])
        if what is not None and not answered(messages[at], messages[at + 1 :]):
            return Sign(
                "explicit_flag", FLAG, "message.missing_context", what, messages[at].name, messages[at].at
            )
    return None


def gate(state: object) -> Sign | None:
    """A quality gate that was not passed because something is not known."""
    blocked, failure = value(state, "gate_blocked"), value(state, "gate_failure")
    if blocked is False or not (blocked or failure):
        return None
    said = "\n".join(filter(None, (plain(failure), plain(blocked))))[:READ_CHARACTERS]
    flag = any(_flag(value(held, "missing_context")) is not None for held in (failure, blocked))
    lines = [line for line in said.splitlines() if _WANTING.search(line) and not _OF_CODE.search(line)]
    if not flag and not lines:
        return None
    return Sign("gate_failure", GATE, "gate_wants_context", "\n".join(lines) or said)


def slow(state: object, agent: str, messages: Sequence[Message]) -> Sign | None:
    """An agent whose cycle takes more than twice as long as its own usually do, or else as all agents' do."""
    metrics = value(value(state, "health_status"), "metrics")
    current, history = _times(value(metrics, "agent_cycle_times"), agent)
    overall = _number(value(metrics, "overall_cycle_time"))
    usual = median(history) if len(history) >= HISTORY else overall
    if current is None or not usual or current <= SLOW * usual or _unsteady(current, history):
        return None
    if _gets_on(agent, messages):
        return None
    return Sign("long_cycle_time", CYCLE, f"cycle_time_{current / usual:.1f}x_baseline")


def _flag(held: object) -> str | None:
    """What a flag says is missing, empty when it does not say; None when it says that nothing is."""
    if not held:
        return None
    if isinstance(held, str):
        said = held.strip().strip(".").casefold()
        return None if said in _NO else "" if said in _YES else held.strip()
    if held is True:
        return ""
    return plain(held) or None


def _outputs(state: object) -> Iterator[tuple[str, object]]:
    """What agents gave out: `output`, everything named `…_output`, and each of `agent_outputs`."""
    for key in keys(state):
        if key == "output" or key.endswith("_output"):
            yield key, value(state, key)
    for name, output in as_fields(value(state, "agent_outputs")).items():
        yield f"agent_outputs.{name}", output


def _flag_of_message(message: Message) -> str | None:
    if message.role not in ("agent", "tool"):
        return None
    if (what := _flag(message.flags.get("missing_context"))) is not None:
        return what
    if "missing" not in message.text.casefold():
        return None
    if message.text.startswith("{"):
        return _flag(_json(message.text).get("missing_context"))
    line = _FLAG_LINE.search(own_voice(message.text))
    return None if line is None else _flag(line["what"])


def _json(text: str) -> Mapping[str, Any]:
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, Mapping) else {}


def _times(told: object, agent: str) -> tuple[float | None, list[float]]:
    """How long an agent's cycle takes now, and how long its earlier ones took, as far as that is told."""
    own = next(
        (held for name, held in as_fields(told).items() if str(name).casefold() == agent.casefold()), None
    )
    if isinstance(own, Mapping):
        return _number(own.get("current")), _numbers(own.get("history"))
    if isinstance(own, list | tuple):
        every = _numbers(own)
        return (every[-1], every[:-1]) if every else (None, [])
    return _number(own), []


def _numbers(held: object) -> list[float]:
    given = held if isinstance(held, list | tuple) else ()
    return [number for one in given if (number := _number(one)) is not None]


def _number(held: object) -> float | None:
    if isinstance(held, bool) or not isinstance(held, int | float) or not math.isfinite(held):
        return None
    return float(held) if held > 0 else None


def _unsteady(current: float, history: Sequence[float]) -> bool:
    """Whether an agent has been as slow before: then this is how it works."""
    return len(history) >= HISTORY and current <= max(history) * (1 + 1 / 4)


def _gets_on(agent: str, messages: Sequence[Message]) -> bool:
    """Whether an agent's last messages report progress, each of them another."""
    own = [m.text for m in messages if m.role == "agent" and m.speaker in (agent.casefold(), "agent")]
    reports = [text for text in own[-_RECENT:] if PROGRESS.search(own_voice(text).casefold())]
    different = [
        text
        for at, text in enumerate(reports)
        if not any(likeness(text, earlier) > 1 / 2 for earlier in reports[:at])
    ]
    return len(different) >= GETTING_ON
