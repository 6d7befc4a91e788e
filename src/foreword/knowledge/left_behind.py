"""What a statement says was left behind: "we switched from Stripe to Adyen", "Adyen instead of Stripe".

Such a statement names both what held and what holds now, so an earlier one about the former is outdated. By
wordings, in English and German; a mere range ("from Monday to Friday") is no change.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from foreword.knowledge.progress_cues import is_question
from foreword.knowledge.stated_values import read_values, values_by_kind
from foreword.text.words import STOPWORDS, split_words

_MAX_CACHED_TEXTS = 8_192
_MAX_CHARACTERS = 400
_OLD = r"([\w’'.,:€$£%+-]+(?:\ [\w’'.,:€$£%+-]+){0,3}?)"
"""What was left behind, in one to four words."""

_CHANGES = r"""(?: (?:switch|mov|chang|migrat|shift|reschedul|postpon|renam|upgrad|downgrad|rais|lower|reduc
    |increas|transition|convert|relocat|swap|gewechsel|wechsel|umgestieg|umgezog|verschob|verleg)\w*
    | cut )"""
_END = r"(?=\s*(?:[.,;!)]|$|\ (?:because|but|now|for|since|as|from|and)\b))"
_LEFT_BEHIND = re.compile(
    rf"""\b{_CHANGES}\ (?:[^\s.!?]+\ ){{0,5}}?(?:away\ )?(?:from|von|vom)\ {_OLD}
        \ (?:to|over\ to|auf|zu|nach)\ \S
      | \b(?:replac|swap|exchang|substitut)\w*\ {_OLD}\ (?:with|by|for)\ \S
      | \b(?:instead\ of|rather\ than|in\ place\ of|statt|anstelle\ von)\ {_OLD}{_END}
      | \bno\ longer\ (?:us\w+|with|on|at|in|want|need|like|hav\w+|work\w*\ (?:at|for))\ {_OLD}{_END}
      | \b(?:dropp?|ditch|abandon|scrapp?)(?:ed|ing)?\ {_OLD}\ (?:for|in\ favou?r\ of)\ \S""",
    re.IGNORECASE | re.VERBOSE,
)
_MERE_VALUES = frozenset({"day", "month", "date", "time", "number", "ordinal"})


class LeftBehind(NamedTuple):
    """The words for something that was left behind, and whether they are a mere day, time or number."""

    words: frozenset[str]
    is_value: bool


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def find_things_said_left_behind(text: str) -> tuple[LeftBehind, ...]:
    """The things that a text says were left behind."""
    if len(text) > _MAX_CHARACTERS or is_question(text):
        return ()
    found = (next(filter(None, match.groups()), "") for match in _LEFT_BEHIND.finditer(text))
    named = (
        (frozenset(_singular_content_words(old)), values_by_kind(old).keys() <= _MERE_VALUES) for old in found
    )
    return tuple(
        LeftBehind(words, is_value and bool(read_values(" ".join(words))))
        for words, is_value in named
        if words
    )


def is_topic_later_left_behind(text: str, newer: str) -> bool:
    """Whether a later text says that what a text is about was left behind.

    A day or a number is about many things, so the two must then share another word.
    """
    gone = find_things_said_left_behind(newer)
    if not gone:
        return False
    words, others = _singular_content_words(text), _singular_content_words(newer)
    return any(old <= words and (not is_value or bool(words & others - old)) for old, is_value in gone)


def _singular_content_words(text: str) -> set[str]:
    """The content words of a text, without the s of a plural."""
    return {word.removesuffix("'s").rstrip("s") for word in split_words(text) if word not in STOPWORDS}
