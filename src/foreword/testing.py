"""Fast, deterministic doubles, for Foreword's own tests and for yours.

An encoder by hashes in place of a model, for which texts are near each other when they share words; a
comparison by shared words in place of one by tokens; a clock that is moved by hand; a tokenizer that counts
words.
"""

from __future__ import annotations

import hashlib
import math
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from foreword.text.words import content_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Item


class HashEmbeddings:
    """An embedding provider that adds up a fixed pseudo-random direction for each word."""

    model = "hash"
    unrelated = 0.0

    def __init__(self, dimensions: int = 64) -> None:
        self.dimensions = dimensions

    def embed(self, text: str) -> list[float]:
        """The normalised sum of the words' directions; an empty text points along the first axis."""
        total = [0.0] * self.dimensions
        for word in content_words(text):
            for axis, value in enumerate(self._pseudo_random_word_vector(word)):
                total[axis] += value
        length = math.sqrt(sum(value * value for value in total))
        return [value / length for value in total] if length else [1.0] + [0.0] * (self.dimensions - 1)

    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        return [self.embed(text) for text in texts]

    def _pseudo_random_word_vector(self, word: str) -> list[float]:
        """The fixed pseudo-random vector of a word."""
        seed = hashlib.shake_128(word.encode()).digest(self.dimensions)
        return [byte - 127.5 for byte in seed]


class WordMatch:
    """A token space whose tokens are words, which match when they are equal."""

    name = "token_match"
    digest = "words"

    def encode_items(self, items: Sequence[Item]) -> list[bytes]:
        """The content words of each item, as its code."""
        return [" ".join(content_words(item.searchable)).encode() for item in items]

    def encode_soon(self, question: str) -> None:
        """Do nothing: `compare` needs no encoding."""

    def compare(
        self, question: str, codes: Sequence[bytes], expires: float | None = None
    ) -> list[float] | None:
        """The share of the question's content words that each item has; None after the deadline."""
        if expires is not None and time.monotonic() > expires:
            return None
        wanted = set(content_words(question))
        return [len(wanted & set(one.decode().split())) / (len(wanted) or 1) for one in codes]

    def clear_question_cache(self) -> None:
        """Do nothing: this space caches nothing."""


class FixedClock:
    """A clock that shows the same time until it is moved."""

    def __init__(self, now: datetime = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The time that the clock shows."""
        return self.now

    def advance(self, **by: float) -> datetime:
        """Move the clock on by the arguments of a `timedelta`, as in `clock.advance(days=3)`."""
        self.now += timedelta(**by)
        return self.now


class WordTokens:
    """A tokenizer for which a word is a token, so that budgets are easy to count."""

    def count(self, text: str) -> int:
        """How many words there are."""
        return len(text.split())

    def encode(self, text: str) -> list[int]:
        """The characters' code points."""
        return [ord(character) for character in text]

    def decode(self, tokens: list[int]) -> str:
        """The characters with these code points."""
        return "".join(map(chr, tokens))
