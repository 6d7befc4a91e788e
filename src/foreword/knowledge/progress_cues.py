"""The words of `progress_cues.toml`: how people say, and ask, what is open, done, cancelled or decided.

There is one expression for each purpose, over all the languages of the table, since a project mixes them.
What a cue means for a statement is decided by the callers.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from foreword.text.clean import plain_line
from foreword.text.words import STOPWORDS, content_words, fold_case, split_words

_STEM_CHARACTERS = 6
_MAX_CACHED_TEXTS = 8_192
_ENDING = re.compile(r"(?<=\w{3})(?:ings?|ed|ions?|es|s|e|en|er)\Z")
"""The endings that are cut off a word: deleting, deletion and deleted count as one."""

QUESTION_WORDS = r"what|which|why|when|where|who|how|did|do|does|can|could|should|shall|would|is|are|have|has"
"""The words that a question begins with, as alternatives of a pattern."""

_QUESTION_END = re.compile(r"[?？؟][\"'”’»)\]*_]*\s*\Z")
_QUESTION_BEGINNING = re.compile(
    rf"\W*(?:{QUESTION_WORDS}) (?:we|i|you|it|they|he|she|there|this|that|the)\b", re.IGNORECASE
)
_LEADS = "so|ok|okay|now|and|then|also|noted|right|well|i have|we have|things|also|und|dann|noch|et|y"
"""Words that may stand before the head of a list."""


@cache
def cue_pattern(name: str) -> re.Pattern[str]:
    """The expression that finds any cue of a list."""
    return _compile("|".join(f"(?:{one})" for one in _expressions_of_list(name)))


@cache
def cues(name: str) -> tuple[re.Pattern[str], ...]:
    """The expressions of a list one by one, for lists with named groups."""
    return tuple(_compile(one) for one in _expressions_of_list(name))


@cache
def open_tasks_heading_pattern() -> re.Pattern[str]:
    """The expression for the head of a list of what is open: words and a colon that begin a clause."""
    heads, tasks, details = ("|".join(_expressions_of_list(name)) for name in ("heads", "tasks", "details"))
    begins = rf"(?:^|[.;,–—-] ?)[*_#>\- ]*(?:(?:{_LEADS}),? ){{0,2}}"
    head = rf"(?:(?:{heads})|(?:{tasks}) (?:{details}))"
    return _compile(rf"{begins}{head}(?: \([^)]{{1,30}}\))?[*_]* ?:(?!\w)")


def is_question(sentence: str) -> bool:
    """Whether a sentence asks, with a question mark or without one."""
    return bool(_QUESTION_END.search(sentence) or _QUESTION_BEGINNING.match(sentence))


def lists_what_is_open(sentence: str) -> bool:
    """Whether a sentence lists what is open, or names all that is left."""
    said = plain_line(sentence)
    return bool(open_tasks_heading_pattern().search(said) or cue_pattern("rest").search(said))


def says_something_is_done(sentence: str) -> bool:
    """Whether a sentence says that something is done."""
    return bool(cue_pattern("done").search(plain_line(sentence)))


def takes_back(text: str) -> bool:
    """Whether a text revokes or cancels something."""
    said = plain_line(text)
    return bool(cue_pattern("revokes").search(said) or cue_pattern("cancels").search(said))


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def task_words(text: str) -> frozenset[str]:
    """The stems of a text's words, without words that say nothing about a task."""
    words = [
        word
        for word in content_words(text)
        if word not in _words_irrelevant_to_tasks() and (len(word) > 1 or word.isdigit())
    ]
    return frozenset(_ENDING.sub("", word)[:_STEM_CHARACTERS] for word in words)


def task_words_without_stopwords(text: str) -> frozenset[str]:
    """The task words of a text without stop words, even if it has no others."""
    return task_words(" ".join(word for word in split_words(text) if word not in STOPWORDS))


def translate_past_time_words(text: str) -> str:
    """The text with past times of other languages ("gestern") in English, for the grammar of dates."""
    times = _read_english_of_time_words()
    return _foreign_time_words_pattern().sub(lambda match: times[match.group().lower()], text)


@cache
def _read_english_of_time_words() -> dict[str, str]:
    """The words for past times in other languages, each with its English."""
    return {
        said: english
        for one in _read_table().values()
        for said, english in dict(one.get("times", {})).items()
    }


@cache
def _foreign_time_words_pattern() -> re.Pattern[str]:
    longest_first = sorted(_read_english_of_time_words(), key=len, reverse=True)
    return _compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")


def _compile(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)


@cache
def _words_irrelevant_to_tasks() -> frozenset[str]:
    """The words that say nothing about a task, in all languages."""
    lists = [fold_case(one) for one in _texts_in_every_language("empty")]
    return frozenset(word for one in lists for word in one.split())


def _expressions_of_list(name: str) -> list[str]:
    """The expressions of a list, in all languages."""
    return [entry for language in _read_table().values() for entry in language.get(name, ())]


def _texts_in_every_language(name: str) -> list[str]:
    """The texts under a name, one for each language that has it."""
    return [str(language[name]) for language in _read_table().values() if name in language]


@cache
def _read_table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
