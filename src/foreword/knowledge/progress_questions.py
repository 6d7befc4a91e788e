"""Whether a prompt asks what is left, where the work stopped, what was done at some time, or was decided.

Reads the prompt alone, by the cues of `progress_cues.toml`; finding the answers is left to others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from foreword.knowledge.progress_cues import (
    cue_pattern,
    cues,
    task_words,
    task_words_without_stopwords,
    translate_past_time_words,
)
from foreword.text.clean import plain_line
from foreword.text.dates import find_dates, find_time_asked_about
from foreword.text.sentences import split_sentences
from foreword.text.words import STOPWORDS

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.text.date_meaning import TimeSpan

_MAX_CHARACTERS = 1_000
"""Only the beginning of a prompt is read: such a question stands there."""

_TOPIC = re.compile(
    r"^[^.?!]{0,20}?\b(?:for|with|on|in|about|from|of|regarding|at|für|bei|mit|am|vom|pour|sur|avec|dans|para|con|sobre|de)"
    r" (?:the |my |our |der |die |das |dem |den |le |la |les |el |los |las )?(?P<topic>[^.?!,;]{2,60})",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"\b(?:ok(?:ay)?|so|thanks?|thank you|hey|hi|hello|good (?:morning|afternoon|evening|day)"
    r"|show|tell|give|list|continue|guten (?:morgen|tag|abend)|hallo|moin|danke|zeig|sag"
    r"|bonjour|salut|merci|hola|buen[oa]s \w+|gracias)\b",
    re.IGNORECASE,
)
"""Words around such a question that name nothing."""

_NEXT_CLAUSE = re.compile(r"\s+(?:and|und|et|y)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProgressQuestion:
    """What is asked: what is `left`, `where` the work stopped, what somebody `did` within a time, or what was
    `decided`, within a time or ever.

    `topic` are the words that narrow it; `subject` are all words of the prompt that name something, in the
    question or beside it.
    """  # noqa: D205  (one sentence)

    asked: Literal["left", "where", "did", "decided"]
    topic: frozenset[str] = frozenset()
    span: TimeSpan | None = None
    subject: frozenset[str] = frozenset()


def read_progress_question(text: str, now: datetime) -> ProgressQuestion | None:
    """The question about the course of the work that a prompt asks; None if it asks none."""
    for sentence in split_sentences(text[:_MAX_CHARACTERS]):
        line = plain_line(sentence)
        found = (
            _read_question_about_past(line, now)
            or _read_question_about_decisions(line)
            or _read_question_about_remaining_work(line, now)
            or _read_question_about_resuming(line)
        )
        if found is not None:
            return replace(found, subject=(found.topic - STOPWORDS) | _read_subject(text, now))
    return None


def _read_subject(text: str, now: datetime) -> frozenset[str]:
    """The words of a prompt without those that ask for the course of the work, dates and courtesies."""
    line = translate_past_time_words(plain_line(text[:_MAX_CHARACTERS]))
    for pattern in (_COURTESY, *(cue_pattern(name) for name in ("recall", "did", "left", "where"))):
        line = pattern.sub(" ", line)
    return task_words_without_stopwords(_drop_dates(line, now))


def _read_question_about_past(line: str, now: datetime) -> ProgressQuestion | None:
    """A question about what was done or decided at a time that has begun; None for other sentences."""
    if not (cue_pattern("did").search(line) or cue_pattern("where").search(line)):
        return None
    english = translate_past_time_words(line)
    span = find_time_asked_about(english, now)
    if span is None or span.since > now:
        return None
    asked: Literal["did", "decided"] = "decided" if cue_pattern("settled").search(line) else "did"
    return ProgressQuestion(asked, task_words(_drop_dates(english, now)), span)


def _read_question_about_decisions(line: str) -> ProgressQuestion | None:
    """A question about what was decided at any time; None for other sentences."""
    return ProgressQuestion("decided", task_words(line)) if cue_pattern("recall").search(line) else None


def _read_question_about_remaining_work(line: str, now: datetime) -> ProgressQuestion | None:
    """A question about what is left to do, on a topic or of some time; None for other sentences."""
    match = cue_pattern("left").search(line)
    if match is None:
        return None
    english = translate_past_time_words(line[match.end() :])
    topic = _TOPIC.match(_drop_dates(english, now))
    words = task_words(_NEXT_CLAUSE.split(topic["topic"])[0]) if topic else frozenset()
    span = find_time_asked_about(english, now) if topic or find_dates(english, now) else None
    return ProgressQuestion("left", words, span if span and span.since <= now and span.until <= now else None)


def _read_question_about_resuming(line: str) -> ProgressQuestion | None:
    """A question about where the work, or that on a topic, stopped; None for other sentences."""
    for pattern in cues("resume"):
        match = pattern.search(line)
        if match is not None:
            topic = next(words for words in match.groups() if words)
            words = task_words(topic)
            return ProgressQuestion("where", words) if words else None
    return ProgressQuestion("where") if cue_pattern("where").search(line) else None


def _drop_dates(text: str, now: datetime) -> str:
    for mention in reversed(find_dates(text, now)):
        text = f"{text[: mention.start]} {text[mention.end :]}"
    return text
