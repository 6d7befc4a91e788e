"""A text that is too long, within a number of tokens: its two ends, and what is asked for in between.

People paste logs of thousands of lines. What they begin and end with tells most, and where the question names
something, the lines that have it. What is left out is counted in a mark that stands in its place.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from foreword.text.sentences import sentence_spans
from foreword.text.words import STOPWORDS, split_words

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from foreword.text.tokens import Tokenizer

    Span = tuple[int, int]
    """Where a stretch of a text begins and ends."""

MAX_CHARACTERS_A_TOKEN = 16
"""More characters than a token has, but for runs of white space: a longer text is taken not to fit."""

MIN_CUT_TOKENS = 16
"""With fewer tokens, nothing sensible would be left around the mark."""

_MIN_TOKENS_TO_QUOTE = 48
"""With fewer tokens, all of them are for the two ends."""

_QUOTED_SHARE = 0.4
"""At most this share of what is kept is for the lines between the ends."""

_MARK_CHARACTERS = 36
"""About how many characters a mark has."""

_LONG_LINE = 400
"""A text whose lines are longer than this on average is taken sentence by sentence."""

_LINE = re.compile(r"[^\n]*\S[^\n]*")
_MAX_SEARCHED = 400_000
"""At most how many characters are searched for words that are asked for."""

_GUESSES = 12
_NEAR_A_WORD = 24


def fits_within(text: str, tokens: int, tokenizer: Tokenizer) -> bool:
    """Whether a text has at most `tokens`; one that is far too long is not counted to the end."""
    return len(text) <= tokens * MAX_CHARACTERS_A_TOKEN and tokenizer.count(text) <= tokens


def words_asked_for(query: str) -> frozenset[str]:
    """The words of a query that a line can be looked up by."""
    return frozenset(word for word in split_words(query) if len(word) > 1 and word not in STOPWORDS)


def shorten_text(text: str, tokens: int, tokenizer: Tokenizer, asked: Collection[str] = ()) -> str:
    """The text within `tokens`, if need be its ends and the lines between with words asked for.

    Empty when there is no room.
    """
    if fits_within(text, tokens, tokenizer):
        return text
    if tokens < MIN_CUT_TOKENS:
        return ""
    spans = _spans_asked_for(text, asked) if asked and tokens >= _MIN_TOKENS_TO_QUOTE else []
    kept = min(len(text) - 1, tokens * MAX_CHARACTERS_A_TOKEN)
    for _ in range(_GUESSES):
        made = _leave_out(text, kept, spans)
        count = tokenizer.count(made)
        if count <= tokens:
            return made
        kept = min(kept - 1, int(kept * tokens / count * 0.97))
    return ""


def _spans_asked_for(text: str, asked: Collection[str]) -> list[Span]:
    """The lines with words that are asked for, the best first: those with rare ones, then the earliest."""
    wanted = set(asked)
    found = [(span, wanted.intersection(split_words(text[slice(*span)]))) for span in _lines(text)]
    counts = Counter(word for _, words in found for word in words)
    weighed = [(sum(1 / counts[word] for word in words), span) for span, words in found if words]
    return [span for weight, span in sorted(weighed, key=lambda one: (-one[0], one[1]))]


def _lines(text: str) -> list[Span]:
    """The lines of a text that are not blank; its sentences, where it hardly has lines."""
    text = text[:_MAX_SEARCHED]
    if len(text) > _LONG_LINE * (text.count("\n") + 1):
        return list(sentence_spans(text))
    return [line.span() for line in _LINE.finditer(text)]


def _leave_out(text: str, kept: int, spans: Sequence[Span]) -> str:
    """At most `kept` characters of a text: of the spans as much as a share holds, the rest from both ends."""
    quoted: list[Span] = []
    room = int(kept * _QUOTED_SHARE)
    for start, end in spans:
        if end - start <= room:
            quoted.append((start, end))
            room -= end - start + _MARK_CHARACTERS
    ends = kept - sum(end - start + _MARK_CHARACTERS for start, end in quoted)
    head, tail = _word_end(text, (ends + 1) // 2), _word_start(text, len(text) - ends // 2)
    return _join_spans(text, [(0, head), *sorted(quoted), (tail, len(text))])


def _join_spans(text: str, spans: Sequence[Span]) -> str:
    """The stretches of a text in their order, with a mark for what is left out between two."""
    made, place = "", 0
    for start, end in spans:
        if start > place:
            made += f" [… {start - place:,} characters left out …] "
        made += text[max(start, place) : max(end, place)]
        place = max(place, end)
    return made


def _word_end(text: str, at: int) -> int:
    """The last place up to `at` where a word ends, if there is one near; else one between characters."""
    near = range(at, max(0, at - _NEAR_A_WORD), -1)
    at = next((place for place in near if text[place].isspace()), at)
    while at and _is_inside_word(text[at : at + 2].lstrip()):
        at -= 1
    return at


def _word_start(text: str, at: int) -> int:
    """The first place from `at` on where a word begins, if there is one near; else one between characters."""
    near = range(at, min(len(text), at + _NEAR_A_WORD))
    at = next((place for place in near if text[place - 1].isspace()), at)
    while _is_inside_word(text[at : at + 1]):
        at += 1
    return at


def _is_inside_word(text: str) -> bool:
    """Whether a text begins with what belongs to the character before it: an accent, a shade of skin."""
    first = text[:1]
    return bool(first) and (unicodedata.category(first)[0] == "M" or "\U0001f3fb" <= first <= "\U0001f3ff")
