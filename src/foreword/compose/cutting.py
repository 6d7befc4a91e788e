"""Shorten a text to a number of tokens: keep both ends, and the lines that the question asks for.

People paste logs of thousands of lines. The beginning and the end usually say most, and so do the lines with
words of the question. A mark in the place of each gap says how many characters are left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from foreword.text.sentences import sentence_spans
from foreword.text.words import STOPWORDS, split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from foreword.text.tokens import Tokenizer

    Span = tuple[int, int]
    """The start and the end of a stretch of text."""

MAX_CHARACTERS_A_TOKEN = 16
"""More characters than any token has, except white space: a longer text is not counted, and taken not to
fit."""

MIN_CUT_TOKENS = 16
"""Texts are not shortened to fewer tokens: nothing sensible would be left around the mark."""

_MIN_TOKENS_TO_QUOTE = 48
"""With fewer tokens, only the two ends are kept, and no lines between them."""

_QUOTED_SHARE = 0.4
"""The largest share of the kept text that lines between the two ends may take."""

_MARK_CHARACTERS = 36
"""About how many characters a mark for a gap has."""

_LONG_LINE = 400
"""A text whose lines are longer than this on average is divided into sentences instead."""

_LINE = re.compile(r"[^\n]*\S[^\n]*")
_MAX_SEARCHED = 400_000
"""At most how many characters are searched for words of the question."""

_GUESSES, _FULL_SHARE, _CAUTION = 12, 0.98, 0.99
"""How often a length is guessed, the share of the tokens that is full enough, and by how much a guess is less
than the tokens of the one before suggest."""

_CHARACTERS_A_TOKEN = 4
"""The first guess at how many characters a token has."""

_NEAR_A_WORD = 24


def fits_within(text: str, tokens: int, tokenizer: Tokenizer) -> bool:
    """Whether a text has at most `tokens`; a text that is far too long is not counted."""
    return len(text) <= tokens * MAX_CHARACTERS_A_TOKEN and tokenizer.count(text) <= tokens


def extract_search_words(query: str) -> frozenset[str]:
    """The words of a query that are worth searching for: no stopwords, no single characters."""
    return frozenset(word for word in split_words(query) if len(word) > 1 and word not in STOPWORDS)


def shorten_text(
    text: str,
    tokens: int,
    tokenizer: Tokenizer,
    asked_words: Collection[str] = (),
    measure: Callable[[str], int] | None = None,
) -> str:
    """The text in at most `tokens`: its ends, and lines between them that have words of `asked_words`.

    Returns the whole text if it fits, and an empty one if there are too few tokens. `measure` counts a
    shortened text where it costs more than its own tokens, as one whose lines are indented.
    """
    count = measure or tokenizer.count
    if len(text) <= tokens * MAX_CHARACTERS_A_TOKEN and count(text) <= tokens:
        return text
    if tokens < MIN_CUT_TOKENS:
        return ""
    spans = _spans_asked_for(text, asked_words) if asked_words and tokens >= _MIN_TOKENS_TO_QUOTE else []
    return _fit_ends_and_spans(text, tokens, spans, count)


def _fit_ends_and_spans(text: str, tokens: int, spans: Sequence[Span], count: Callable[[str], int]) -> str:
    """As much of the ends and the spans as has at most `tokens`; empty if even the least has more."""
    fullest, fits, too_many = "", 0, len(text)
    kept = min(len(text) - 1, tokens * _CHARACTERS_A_TOKEN)
    for _ in range(_GUESSES):
        made = _keep_ends_and_spans(text, kept, spans)
        used = count(made)
        if used <= tokens:
            fullest, fits = made, kept
        else:
            too_many = kept
        if tokens * _FULL_SHARE <= used <= tokens or too_many - fits <= 1:
            break
        guess = int(kept * tokens / max(1, used) * _CAUTION)
        kept = guess if fits < guess < too_many else (fits + too_many) // 2
    return fullest


def _spans_asked_for(text: str, asked_words: Collection[str]) -> list[Span]:
    """The lines with words that are asked for, the best first: those with rare words, then the earliest."""
    wanted = set(asked_words)
    found = [(span, wanted.intersection(split_words(text[slice(*span)]))) for span in _line_spans(text)]
    counts = Counter(word for _, words in found for word in words)
    weighed = [(sum(1 / counts[word] for word in words), span) for span, words in found if words]
    return [span for weight, span in sorted(weighed, key=lambda one: (-one[0], one[1]))]


def _line_spans(text: str) -> list[Span]:
    """The lines of a text that are not blank; its sentences, if its lines are very long."""
    text = text[:_MAX_SEARCHED]
    if len(text) > _LONG_LINE * (text.count("\n") + 1):
        return list(sentence_spans(text))
    return [line.span() for line in _LINE.finditer(text)]


def _keep_ends_and_spans(text: str, kept: int, spans: Sequence[Span]) -> str:
    """At most `kept` characters: as many of the spans as their share allows, the rest from both ends."""
    quoted: list[Span] = []
    room = int(kept * _QUOTED_SHARE)
    for start, end in spans:
        if end - start <= room:
            quoted.append((start, end))
            room -= end - start + _MARK_CHARACTERS
    ends = kept - sum(end - start + _MARK_CHARACTERS for start, end in quoted)
    head, tail = (
        _last_word_end_up_to(text, (ends + 1) // 2),
        _first_word_start_from(text, len(text) - ends // 2),
    )
    return _join_spans(text, [(0, head), *sorted(quoted), (tail, len(text))])


def _join_spans(text: str, spans: Sequence[Span]) -> str:
    """The spans of a text, in their order, with a mark for each gap between two."""
    made, place = "", 0
    for start, end in spans:
        if start > place:
            made += f" [… {start - place:,} characters left out …] "
        made += text[max(start, place) : max(end, place)]
        place = max(place, end)
    return made


def _last_word_end_up_to(text: str, at: int) -> int:
    """The last end of a word up to `at`, if one is near; else a place that splits no character."""
    near = range(at, max(0, at - _NEAR_A_WORD), -1)
    at = next((place for place in near if text[place].isspace()), at)
    while at and _starts_with_combining_mark(text[at : at + 2].lstrip()):
        at -= 1
    return at


def _first_word_start_from(text: str, at: int) -> int:
    """The first start of a word from `at` on, if one is near; else a place that splits no character."""
    near = range(at, min(len(text), at + _NEAR_A_WORD))
    at = next((place for place in near if text[place - 1].isspace()), at)
    while _starts_with_combining_mark(text[at : at + 1]):
        at += 1
    return at


def _starts_with_combining_mark(text: str) -> bool:
    """Whether a text begins with a mark of the character before it: an accent or a skin tone."""
    first = text[:1]
    return bool(first) and (unicodedata.category(first)[0] == "M" or "\U0001f3fb" <= first <= "\U0001f3ff")
