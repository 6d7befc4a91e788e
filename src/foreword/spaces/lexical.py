"""Words: BM25 over stemmed words, and the same through typos for words nobody has written before."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.text.words import telling
from foreword.text.words import words as split
from foreword.types import TypoProbe, WordsProbe

if TYPE_CHECKING:
    from foreword.types import Query

MAX_WORDS = 64
"""A pasted stack trace has hundreds of words; the first that tell something are enough to rank by."""


SHORT = 12


_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]{3,120})[\"“”«»]")


def phrases(text: str) -> tuple[str, ...]:
    """What a question quotes, if it is more than a word."""
    quoted = (" ".join(split(quote)) for quote in _QUOTED.findall(text))
    return tuple(dict.fromkeys(quote for quote in quoted if " " in quote))


class LexicalSpace:
    """Finds items that share words with the question."""

    name = "lexical"
    slow = False

    def probe(self, query: Query) -> WordsProbe | None:
        """The words of the question that tell what it is about; what it quotes counts once more, whole."""
        words = (*phrases(query.text), *telling(query.text))[:MAX_WORDS]
        return WordsProbe(self.name, words) if words else None


class TrigramSpace:
    """Finds items through misspelt words: only those the workspace does not know are looked up."""

    name = "trigram"
    slow = False

    def probe(self, query: Query) -> TypoProbe | None:
        """The words of a short question; the store knows which of them are unknown.

        A long text has many words that nobody has written before, and few of them are mistakes.
        """
        words = telling(query.text)
        return TypoProbe(self.name, words) if 0 < len(words) <= SHORT else None
