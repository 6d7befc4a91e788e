"""Shorten a text in its middle, to a number of tokens, with a mark that says how much is missing.

How a turn begins says what it is about, and how it ends says what comes of it; the middle is what can go. No
character is cut in two, and no accent from its letter. Counts are exact.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foreword.text.tokens import Tokenizer

CHARACTERS = 16
"""More characters than a token has, but for runs of white space: a longer text is taken not to fit."""

LEAST = 16
"""With fewer tokens, nothing sensible would be left around the mark."""

_GUESSES = 12
_NEAR_A_WORD = 24


def fits(text: str, tokens: int, tokenizer: Tokenizer) -> bool:
    """Whether a text is within so many tokens; one that is far too long is not counted to the end."""
    return len(text) <= tokens * CHARACTERS and tokenizer.count(text) <= tokens


def shortened_in_middle(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    """The text within so many tokens, its middle left out if need be; empty when there is no room."""
    if fits(text, tokens, tokenizer):
        return text
    if tokens < LEAST:
        return ""
    kept = min(len(text) - 1, tokens * CHARACTERS)
    for _ in range(_GUESSES):
        made = _around(text, kept)
        count = tokenizer.count(made)
        if count <= tokens:
            return made
        kept = min(kept - 1, int(kept * tokens / count * 0.97))
    return ""


def _around(text: str, kept: int) -> str:
    """So many characters of a text, half from its beginning and half from its end, and the mark."""
    head = _word_end(text, (kept + 1) // 2)
    tail = _word_start(text, len(text) - kept // 2)
    return f"{text[:head]} [… {tail - head:,} characters left out …] {text[tail:]}"


def _word_end(text: str, at: int) -> int:
    """The last place up to `at` where a word ends, if there is one near; else one between characters."""
    near = range(at, max(0, at - _NEAR_A_WORD), -1)
    at = next((place for place in near if text[place].isspace()), at)
    while at and _hangs_on(text[at : at + 2].lstrip()):
        at -= 1
    return at


def _word_start(text: str, at: int) -> int:
    """The first place from `at` on where a word begins, if there is one near; else one between characters."""
    near = range(at, min(len(text), at + _NEAR_A_WORD))
    at = next((place for place in near if text[place - 1].isspace()), at)
    while _hangs_on(text[at : at + 1]):
        at += 1
    return at


def _hangs_on(text: str) -> bool:
    """Whether a text begins with what belongs to the character before it: an accent, a shade of skin."""
    first = text[:1]
    return bool(first) and (unicodedata.category(first)[0] == "M" or "\U0001f3fb" <= first <= "\U0001f3ff")
