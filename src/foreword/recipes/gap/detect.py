"""Detects that an agent lacks context: looks for five signs of it, and reports all it finds, surest first.

The signs: an explicit flag, a request for clarification that was not answered, a gate that failed because
something is not known, agents that go round in circles, an agent that is unusually slow. Only the newest
messages of the state are read, and no store; models are used only if they are passed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from foreword.capture.redact import redact
from foreword.recipes.gap.circles import find_newest_repeated_round
from foreword.recipes.gap.message_text import sentences_in_own_words
from foreword.recipes.gap.request_judge import CLEAR_MARGIN, request_margins
from foreword.recipes.gap.state import (
    MAX_MESSAGE_CHARACTERS,
    fields_by_name,
    get_value,
    read_messages,
    state_keys,
    value_as_text,
)
from foreword.recipes.gap.types import ContextGap, GapSign, new_gap_id
from foreword.recipes.gap.vocabulary import (
    NO_ANSWER,
    PROGRESS_REPORT,
    remove_quotations,
    text_similarity,
    word_prefixes,
)
from foreword.text.clean import join_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foreword.recipes.gap.circles import CompareTexts
    from foreword.recipes.gap.request_judge import ReadSentences
    from foreword.recipes.gap.state import Message

MAX_MESSAGES_READ = 40
"""At most how many messages, the newest, are looked at for signs of a gap."""

MAX_QUERY_CHARACTERS = 500
"""At most how long a query is: more words blur what is asked."""

MIN_QUERY_WORDS = 4
"""A need of fewer content words than this is searched for together with the task."""

FLAG_CONFIDENCE, GATE_CONFIDENCE, SLOW_CONFIDENCE = 0.95, 0.85, 0.6
CLEAR_CONFIDENCE, LIKELY_CONFIDENCE = 0.9, 0.75
"""For a message that clearly asks for something, and for one that only just passes the threshold."""

CIRCLE_CONFIDENCE, SHORT_CIRCLE_CONFIDENCE = 0.8, 0.75

MAX_FLAG_AGE, MAX_REQUEST_AGE, MAX_CIRCLE_AGE, MAX_PROGRESS_AGE = 6, 12, 16, 6
"""At most how many messages back a sign is looked for; for the last two, only agents' messages count."""

MAX_READ_MESSAGES = 2
"""At most how many messages, the newest, the reader reads."""

MIN_CIRCLE_MESSAGES = 4
"""At least how many messages make a circle."""

SLOW_FACTOR, MIN_HISTORY = 2.0, 3
"""How many times the usual cycle a slow one exceeds; from how many earlier cycles the usual is known."""

MIN_PROGRESS_REPORTS = 2
"""At least how many different reports of progress show that an agent is not stuck."""

UNKNOWN_AGENT = "unknown"
_TASK_KEYS = ("current_task", "current_story", "task", "story", "goal", "objective", "description", "title")
_CURRENT_AGENT_KEYS = ("current_agent", "active_agent", "agent")
_NEXT_AGENT_KEYS = ("next_agent", "handoff_to", "handoff_target", "target_agent")
_RECEIVER_KEYS = ("target_agent", "to_agent", "target", "to")
_TOPIC_KEYS = ("topic", "issue", "patterns_found", "topic_exchanges", "cycles", "patterns")

_NO_WORDS = frozenset({"", "no", "none", "false", "null", "n/a", "nothing", "0"})
_YES_WORDS = frozenset({"yes", "true", "1"})
_FLAG_LINE = re.compile(
    r"^[ \t*_>\"'-]{0,8}missing[_ ]context[ *_\"']{0,4}[:=][ \t]*(?P<need>\S.*)$",
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
_KNOWLEDGE_MISSING = re.compile(
    rf"missing[_-]context|\b{_UNKNOWN}\b(?:[\s:,]+\w+){{0,3}}?[\s:,]+{_KNOWLEDGE}\b"
    rf"|\b{_KNOWLEDGE}\b(?:[\s:,]+\w+){{0,8}}?[\s:,]+{_UNKNOWN}\b",
    re.IGNORECASE,
)
_ABOUT_CODE = re.compile(
    r"\b(?:argument|parameter|import|attribute|variable|docstring|call to)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class GapModels:
    """The models that help to detect gaps; where one is missing, words decide alone."""

    read: ReadSentences | None = None
    compare: CompareTexts | None = None


WORDS_ALONE = GapModels()


async def detect_context_gap(state: object, models: GapModels = WORDS_ALONE) -> ContextGap | None:
    """The gap in an agent's context, with every sign of it found in the state; None when there is none."""
    return find_context_gap(state, models)


def find_context_gap(state: object, models: GapModels = WORDS_ALONE) -> ContextGap | None:
    """The same as `detect_context_gap`, for callers that do not await."""
    conversation = read_messages(state, MAX_MESSAGES_READ)
    messages = conversation.messages
    found = (
        find_missing_context_flag(state, messages),
        find_unanswered_request(messages, models.read),
        find_gate_lacking_knowledge(state),
        find_circular_exchange(state, messages, models.compare),
        find_slow_agent(state, current_agent(state), messages),
    )
    signs = sorted((sign for sign in found if sign is not None), key=lambda sign: -sign.confidence)
    if not signs:
        return None
    surest = signs[0]
    return ContextGap(
        gap_id=new_gap_id(),
        agent=_agent_lacking_context(state, surest),
        reason=surest.reason,
        context_query=_build_context_query(state, surest, messages),
        confidence=surest.confidence,
        indicators=tuple(f"{sign.reason}: {sign.evidence}" for sign in signs),
        reasons=tuple(signs),
        notes=conversation.notes,
    )


def current_agent(state: object) -> str:
    """The agent whose turn it is."""
    return _first_nonempty_string(state, _CURRENT_AGENT_KEYS) or UNKNOWN_AGENT


def receiving_agent(state: object) -> str:
    """The agent that the work is about to be handed to; empty when there is none."""
    receiver = _first_nonempty_string(state, _NEXT_AGENT_KEYS) or _first_nonempty_string(
        get_value(state, "handoff_context"), _RECEIVER_KEYS
    )
    return "" if receiver.casefold() == current_agent(state).casefold() else receiver


def _agent_lacking_context(state: object, sign: GapSign) -> str:
    """The agent that lacks context: the one that asked; after a circle or gate the next; or the current."""
    if sign.agent:
        return sign.agent
    goes_on = receiving_agent(state) if sign.reason in ("circular_logic", "gate_failure") else ""
    return goes_on or current_agent(state)


def _build_context_query(state: object, sign: GapSign, messages: tuple[Message, ...]) -> str:
    """The query for a gap: the need in the agent's own words, with the task if these are few."""
    need = remove_quotations(sign.needs)
    parts = [need]
    if len(word_prefixes(need)) < MIN_QUERY_WORDS:
        parts.append(_first_plain_text(state, _TASK_KEYS))
    if not word_prefixes(" ".join(parts)):
        parts += [message.text for message in messages[-2:]]
    query = join_lines(" ".join(filter(None, parts)))
    return redact(query)[:MAX_QUERY_CHARACTERS] or current_agent(state)


def _first_nonempty_string(holder: object, keys: Sequence[str]) -> str:
    """The first value under these keys that is a string with something in it; else empty."""
    values = (get_value(holder, key) for key in keys)
    return next((name for name in values if isinstance(name, str) and name.strip()), "")


def _first_plain_text(holder: object, keys: Sequence[str]) -> str:
    """The text of the first value under these keys that has any; else empty."""
    return next((text for key in keys if (text := value_as_text(get_value(holder, key)))), "")


def _newest_with_later_messages(
    messages: Sequence[Message], count: int
) -> Iterator[tuple[Message, Sequence[Message]]]:
    """At most `count` messages, the newest first, each with those that came after it."""
    for index in range(len(messages) - 1, max(-1, len(messages) - 1 - count), -1):
        yield messages[index], messages[index + 1 :]


# Explicit flags and gates ---------------------------------------------------------------------------------


def find_missing_context_flag(state: object, messages: Sequence[Message]) -> GapSign | None:
    """The sign of an explicit flag in the state, in an agent's output, or in an unanswered message."""
    declared = get_value(state, "missing_context")
    if declared is not None:
        if (need := _read_missing_context(declared)) is None:
            return None
        return GapSign("explicit_flag", FLAG_CONFIDENCE, "state.missing_context", need)
    for name, output in _named_agent_outputs(state):
        if (need := _read_missing_context(get_value(output, "missing_context"))) is not None:
            return GapSign("explicit_flag", FLAG_CONFIDENCE, f"{name}.missing_context", need)
    for message, later in _newest_with_later_messages(messages, MAX_FLAG_AGE):
        need = _read_missing_context_of_message(message)
        if need is not None and not is_answered(message, later):
            evidence, position = "message.missing_context", message.position
            return GapSign("explicit_flag", FLAG_CONFIDENCE, evidence, need, message.name, position)
    return None


def find_gate_lacking_knowledge(state: object) -> GapSign | None:
    """The sign of a quality gate that failed for lack of knowledge, not for a fault in the code."""
    blocked, failure = get_value(state, "gate_blocked"), get_value(state, "gate_failure")
    if blocked is False or not (blocked or failure):
        return None
    text = "\n".join(filter(None, (value_as_text(failure), value_as_text(blocked))))[:MAX_MESSAGE_CHARACTERS]
    flagged = any(
        _read_missing_context(get_value(one, "missing_context")) is not None for one in (failure, blocked)
    )
    lines = [
        line for line in text.splitlines() if _KNOWLEDGE_MISSING.search(line) and not _ABOUT_CODE.search(line)
    ]
    if not flagged and not lines:
        return None
    return GapSign("gate_failure", GATE_CONFIDENCE, "gate_wants_context", "\n".join(lines) or text)


def _read_missing_context(flag: object) -> str | None:
    """What a flag says is missing: empty if it does not say what, None if nothing is missing."""
    if not flag:
        return None
    if isinstance(flag, str):
        answer = flag.strip().strip(".").casefold()
        return None if answer in _NO_WORDS else "" if answer in _YES_WORDS else flag.strip()
    return "" if flag is True else value_as_text(flag) or None


def _read_missing_context_of_message(message: Message) -> str | None:
    """What a message's flag says is missing; None when the message has no such flag."""
    if message.role not in ("agent", "tool"):
        return None
    if (need := _read_missing_context(message.flags.get("missing_context"))) is not None:
        return need
    if "missing" not in message.text.casefold():
        return None
    if message.text.startswith("{"):
        try:
            return _read_missing_context(json.loads(message.text).get("missing_context"))
        except ValueError:
            return None
    line = _FLAG_LINE.search(remove_quotations(message.text))
    return None if line is None else _read_missing_context(line["need"])


def _named_agent_outputs(state: object) -> Iterator[tuple[str, object]]:
    """The outputs of agents: `output`, everything named `…_output`, and each of `agent_outputs`."""
    for key in state_keys(state):
        if key == "output" or key.endswith("_output"):
            yield key, get_value(state, key)
    for name, output in fields_by_name(get_value(state, "agent_outputs")).items():
        yield f"agent_outputs.{name}", output


# Requests for clarification -------------------------------------------------------------------------------


def find_unanswered_request(messages: Sequence[Message], read: ReadSentences | None = None) -> GapSign | None:
    """The sign of the newest request for clarification that was not answered since."""
    for message, later in _newest_with_later_messages(messages, MAX_REQUEST_AGE):
        if is_answered(message, later):  # quicker to check than whether it asks for anything
            continue
        sign = find_request_in_message(message, read if len(later) < MAX_READ_MESSAGES else None)
        if sign is not None:
            return sign
    return None


def find_request_in_message(message: Message, read: ReadSentences | None = None) -> GapSign | None:
    """The request that an agent's message makes for what it lacks; None when it makes none.

    One sentence is enough, however much is said around it. A question mark alone is no request: agents also
    offer, ask for permission, interview a user, and answer their own questions.
    """
    if message.role != "agent":
        return None
    if str(message.flags.get("clarification_needed") or "no").casefold() not in ("no", "none", "false"):
        confidence, evidence, need = FLAG_CONFIDENCE, "clarification_needed_flag", message.text
    else:
        sentences = sentences_in_own_words(message.text)
        margins = request_margins(sentences, read)
        if not sentences or message.calls_tools:  # an agent that calls a tool is looking for the answer
            return None
        surest = max(margins)
        if surest < 0:
            return None
        asking = [one for one, margin in zip(sentences, margins, strict=True) if margin >= 0]
        evidence = "question_to_peers" if asking[-1].endswith("?") else "lack_stated"
        confidence = CLEAR_CONFIDENCE if surest >= CLEAR_MARGIN else LIKELY_CONFIDENCE
        need = _asking_sentences(sentences, margins)
    return GapSign("clarification_requested", confidence, evidence, need, message.name, message.position)


def is_answered(request: Message, later: Sequence[Message]) -> bool:
    """Whether a later message answers a request, or shows that its speaker went on without an answer."""
    return any(_answers_or_goes_on(request, message) for message in later)


def _asking_sentences(sentences: Sequence[str], margins: Sequence[float]) -> str:
    """The sentences that best state what is lacking; if these are short, with their neighbours."""
    around = [-math.inf, *margins, -math.inf]
    asking = {at for at, margin in enumerate(margins) if margin >= max(0.0, around[at], around[at + 2])}
    text = " ".join(sentences[at] for at in sorted(asking))
    if len(word_prefixes(text)) > 2:
        return text
    near = {other for at in asking for other in (at - 1, at, at + 1)}
    return " ".join(sentence for at, sentence in enumerate(sentences) if at in near)


def _answers_or_goes_on(request: Message, message: Message) -> bool:
    """Whether one message answers a request, or shows that its speaker went on without an answer."""
    if message.role == "system" or not message.text:
        return False
    if message.role == "agent" and message.speaker == request.speaker:
        return not message.calls_tools and find_request_in_message(message) is None
    text = " ".join(sentences_in_own_words(message.text)).casefold()
    if NO_ANSWER.search(message.text.casefold()) or text.endswith("?"):
        return False
    common = word_prefixes(request.text) & word_prefixes(message.text)
    return bool(common) or message.role == "user" or not PROGRESS_REPORT.search(text)


# Circles --------------------------------------------------------------------------------------------------


def find_circular_exchange(
    state: object, messages: Sequence[Message], compare: CompareTexts | None = None
) -> GapSign | None:
    """The sign of agents that repeat themselves; if the state has a `cycle_analysis`, that decides."""
    analysis = get_value(state, "cycle_analysis")
    if analysis is not None:
        if get_value(analysis, "circular_detected") is not True:
            return None
        topic = _first_plain_text(analysis, _TOPIC_KEYS)
        return GapSign("circular_logic", CIRCLE_CONFIDENCE, "cycle_analysis", topic)
    spoken = [message for message in messages if message.role == "agent" and message.text]
    turns = find_newest_repeated_round(spoken[-MAX_CIRCLE_AGE:], compare)
    if not turns:
        return None
    confidence = SHORT_CIRCLE_CONFIDENCE if len(turns) == MIN_CIRCLE_MESSAGES else CIRCLE_CONFIDENCE
    need = f"{turns[-2].text}\n{turns[-1].text}"
    return GapSign("circular_logic", confidence, "agents_repeat_themselves", need)


# Slow agents ----------------------------------------------------------------------------------------------


def find_slow_agent(state: object, agent: str, messages: Sequence[Message]) -> GapSign | None:
    """The sign of an agent whose cycle takes over twice its usual time, or if unknown, that of all agents.

    An agent that has been about as slow before, or that reports progress, is not stuck.
    """
    metrics = get_value(get_value(state, "health_status"), "metrics")
    current, history = _current_and_past_cycle_times(get_value(metrics, "agent_cycle_times"), agent)
    has_history = len(history) >= MIN_HISTORY
    usual = (
        median(history) if has_history else _read_positive_seconds(get_value(metrics, "overall_cycle_time"))
    )
    if current is None or not usual or current <= SLOW_FACTOR * usual:
        return None
    if (has_history and current <= max(history) * (1 + 1 / 4)) or _has_reported_progress(agent, messages):
        return None
    return GapSign("long_cycle_time", SLOW_CONFIDENCE, f"cycle_time_{current / usual:.1f}x_baseline")


def _current_and_past_cycle_times(times: object, agent: str) -> tuple[float | None, list[float]]:
    """The seconds of an agent's current cycle, None if unknown, and those of its earlier ones."""
    named = fields_by_name(times).items()
    own = next((value for name, value in named if str(name).casefold() == agent.casefold()), None)
    if isinstance(own, Mapping):
        return _read_positive_seconds(own.get("current")), _read_list_of_seconds(own.get("history"))
    if isinstance(own, list | tuple):
        every = _read_list_of_seconds(own)
        return (every[-1], every[:-1]) if every else (None, [])
    return _read_positive_seconds(own), []


def _read_list_of_seconds(value: object) -> list[float]:
    values = value if isinstance(value, list | tuple) else ()
    return [seconds for one in values if (seconds := _read_positive_seconds(one)) is not None]


def _read_positive_seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) if value > 0 else None


def _has_reported_progress(agent: str, messages: Sequence[Message]) -> bool:
    """Whether the last messages of an agent have at least two different reports of progress."""
    own = [m.text for m in messages if m.role == "agent" and m.speaker in (agent.casefold(), "agent")]
    recent = own[-MAX_PROGRESS_AGE:]
    reports = [text for text in recent if PROGRESS_REPORT.search(remove_quotations(text).casefold())]
    different = sum(
        not any(text_similarity(text, earlier) > 1 / 2 for earlier in reports[:index])
        for index, text in enumerate(reports)
    )
    return different >= MIN_PROGRESS_REPORTS
