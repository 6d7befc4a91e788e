"""What an agent's message says once everything that is not its own voice is taken out, and in which words.

Code, quotations, addresses and quoted lines are somebody else's words, whatever they ask. Pure and quick, and
English where it must know a language.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

from foreword.text.words import STOPWORDS, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = 6
"""Two words are the same when they begin alike: retry, retries; migrate, migration."""

SENTENCE_CHARACTERS = 400
"""So much of a sentence is read, from its end on: a longer one is no sentence."""

_FENCED = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+")
_QUOTED_LINES = re.compile(r"^\s*>.*$", re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]*`")
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|‘[^’\n]{1,400}’(?!\w)|«[^»\n]{1,400}»|(?<!\w)'[^'\n]{2,400}'(?!\w)"
)
_SENTENCE = re.compile(r"(?<=[.!?…:;])[\"')\]]*\s+|\n+")
_STATEMENT = re.compile(r"\bselect\b.{1,200}?\bfrom\b.{1,200}", re.IGNORECASE)


def own_voice(text: str) -> str:
    """The text without code, quotations and addresses; apostrophes are straight."""
    text = _FENCED.sub(" ", text)
    for other in (_INDENTED, _QUOTED_LINES, _INLINE, _ADDRESS, _STATEMENT):
        text = other.sub(" ", text)
    return _QUOTED.sub(" ", text).replace("’", "'")


def sentences(text: str) -> list[str]:
    """The sentences of a text; a colon or a semicolon ends one too."""
    split = (" ".join(sentence.split()) for sentence in _SENTENCE.split(text))
    return [sentence[-SENTENCE_CHARACTERS:] for sentence in split if sentence]


def roots(text: str) -> frozenset[str]:
    """The telling words of a text, shortened to what they have in common with their inflections."""
    return frozenset(word[:ROOT] for word in words(text) if word not in STOPWORDS)


def weights(texts: Iterable[frozenset[str]], asked: frozenset[str]) -> dict[str, float]:
    """How much each word of a question tells: the fewer of the texts have it, the more, down to one."""
    held = list(texts)
    counted = Counter(word for text in held for word in text & asked)
    return {word: math.log1p((1 + len(held)) / (1 + max(1, counted[word]))) for word in asked}


def coverage(text: frozenset[str], weighed: Mapping[str, float]) -> float:
    """How much of a question a text has, 0 to 1, rare words counting more."""
    whole = sum(weighed.values())
    return sum(weight for word, weight in weighed.items() if word in text) / whole if whole else 0.0


def likeness(one: str, other: str) -> float:
    """How much two texts have in common, of all they have; nothing when their numbers differ."""
    ours, theirs = roots(one), roots(other)
    every = ours | theirs
    if not every or any(_numeric(word) for word in ours ^ theirs):
        return 0.0
    return len(ours & theirs) / len(every)


def _numeric(word: str) -> bool:
    return any(character.isdigit() for character in word)
