"""Splits a message into the sentences that its agent says itself.

What the agent only shows is left out: code, quotations, quoted lines, logs, traces, diffs. A message that is
JSON, also in a fence of its own, is read field by field, each as `name: text`; an object that has an answer
or options beside its question is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from foreword.recipes.gap.vocabulary import remove_quotations
from foreword.text.sentences import split_sentences

MAX_SENTENCE_CHARACTERS = 600
"""At most how much of a sentence is read, from its end: longer ones are seldom sentences."""

MAX_CLAUSE_WORDS, MAX_CLAUSE_CHARACTERS = 22, 160
"""A sentence with more words or characters is read clause by clause, since one clause may state a lack."""

MAX_JSON_DEPTH = 6
"""At most how many levels of a JSON message are read."""

_JSON = re.compile(
    r"\s*(?:(?P<fence>```|~~~)(?:json)?\s*\n)?(?P<value>[{\[].*[}\]])\s*(?(fence)(?P=fence)\s*)", re.DOTALL
)
_LOG_LINE = re.compile(
    r"""^[ \t]*(?:
        \[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d.* | \[?\d\d:\d\d:\d\d.*
      | \[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\b[\]:]?[ \t].*
      | Traceback\ \(most\ recent.* | File\ "[^"\n]+",\ line\ \d+.* | at\ [\w.$<>]+\(.*\)
      | [A-Za-z_.]*(?:Error|Exception|Warning):\ .*
      | (?:FAILED|PASSED|ERROR)\ \S+::.* | (?:@@\ .*|(?:\+\+\+|---)\ \S.*) | (?:\$|>>>|\.\.\.)\ .*
    )$""",
    re.VERBOSE | re.MULTILINE,
)
_CLAUSE_END = re.compile(
    r"(?<=[;:])\s+|\s+[—–-]+\s+|(?<=[，；：])"
    r"|,\s+(?=(?:but|and|so|yet|which|since|because|though|although|while|until|whether|as|aber|und|mais|et|pero|y)\b)"
)
_DENSE = 30
"""A sentence with at least this many characters to a word is taken to have no blanks between its words."""
_LONE_STOP = re.compile(r"\s\.\s+")
_MARKUP = re.compile(
    r"^\s*(?:[-*+•]\s+(?:\[[ xX]\]\s*)?|\#{1,6}\s+|\d{1,3}[.)]\s+)+|[*_]{2}|\|", re.MULTILINE
)
_ANSWER_NAMES = ("answer", "answers", "a", "options", "choices", "correct", "solution")
"""An object with one of these fields, not empty, answers itself and asks for nothing."""

_NAME_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\-.]+")


@lru_cache(maxsize=512)
def sentences_in_own_words(text: str) -> tuple[str, ...]:
    """The sentences of a message that are not code, quotation or log, in order; long ones by clause."""
    fields = _read_json_fields(text)
    shown = remove_quotations(_LOG_LINE.sub(" ", text)) if fields is None else "\n\n".join(fields)
    split = split_sentences(_LONE_STOP.sub(" .\n\n", shown))
    plain = (" ".join(_MARKUP.sub(" ", sentence).split()) for sentence in split)
    read = (sentence[-MAX_SENTENCE_CHARACTERS:] for sentence in plain)
    return tuple(clause for sentence in read for clause in _split_into_clauses(sentence) if clause)


def _split_into_clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that is long or has no blanks; a short one stays whole."""
    words = sentence.count(" ") + 1
    dense = words <= len(sentence) / _DENSE
    if len(sentence) <= MAX_CLAUSE_CHARACTERS and words <= MAX_CLAUSE_WORDS and not dense:
        return [sentence]
    return [clause.strip() for clause in _CLAUSE_END.split(sentence)]


def _read_json_fields(text: str) -> list[str] | None:
    """The fields of a JSON message, each as `name: text`; None when the text is not JSON."""
    match = _JSON.fullmatch(text)
    if match is None:
        return None
    try:
        return list(_json_fields_as_text("", json.loads(match["value"]), MAX_JSON_DEPTH))
    except (ValueError, RecursionError):
        return None


def _json_fields_as_text(name: str, value: object, depth: int) -> Iterator[str]:
    """The texts in a JSON value as `name: text`; a field that is true gives its name alone."""
    if isinstance(value, str) and value.strip():
        yield f"{name}: {remove_quotations(value)}" if name else remove_quotations(value)
    elif value is True and name:
        yield name
    elif depth and isinstance(value, Mapping):
        if any(value.get(answer) for answer in _ANSWER_NAMES):
            return
        for key, inner in value.items():
            yield from _json_fields_as_text(_split_field_name(str(key)), inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from _json_fields_as_text(name, inner, depth - 1)


def _split_field_name(key: str) -> str:
    """The name of a field in words: `open_questions` and `openQuestions` become `open questions`."""
    return " ".join(_NAME_BOUNDARY.sub(" ", key).casefold().split())
