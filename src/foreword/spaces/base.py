"""The contracts of spaces, and of the models that compare texts directly.

A space knows how to compare and not where items are stored: it turns a question into a probe, a value that
any store can answer. Spaces of time give no probe; they order what the others found.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from foreword.types import Item, Probe, Query


class Space(Protocol):
    """One way of finding items for a question."""

    @property
    def name(self) -> str:
        """The name under which receipts list this space."""

    @property
    def slow(self) -> bool:
        """Whether making a probe may take long (an encoder, a network), so that a deadline must watch it."""

    def probe(self, query: Query) -> Probe | None:
        """The probe for a question, or None if this space cannot help with it."""


class TimeSpace(Protocol):
    """One way of ordering items by their time."""

    @property
    def name(self) -> str:
        """The name under which receipts list this space."""

    def closeness(self, created_at: datetime, now: datetime) -> float:
        """How near the two moments are in this space: 1 at best, 0 if not at all."""


class VectorSpace(Space, Protocol):
    """A space that finds by vectors; they take long to make, so they are made after the write returned."""

    @property
    def digest(self) -> str:
        """The name of the encoder that makes these vectors; it changes with the encoder's weights."""

    @property
    def unrelated_cosine(self) -> float | None:
        """The cosine of texts that have nothing in common; None until a question has been encoded."""

    def hash_of_embedded_text(self, item: Item) -> str:
        """The hash of the text that this space embeds of an item."""

    def embed_items(self, items: Sequence[Item]) -> list[list[float]]:
        """The vectors of items, in order."""


class TokenSpace(Protocol):
    """Compares a question with items token by token. The codes of items are made once and stored."""

    @property
    def name(self) -> str:
        """The name under which receipts list this space."""

    @property
    def digest(self) -> str:
        """The name of the encoder that makes these codes; it changes with the encoder's weights."""

    def encode_items(self, items: Sequence[Item]) -> list[bytes]:
        """The codes of items, in order."""

    def encode_soon(self, question: str) -> None:
        """Begin to encode a question, which will be compared in a moment, without waiting for it."""

    def compare(
        self, question: str, codes: Sequence[bytes], expires: float | None = None
    ) -> list[float] | None:
        """How well the items with these codes answer: 1 at best; None if time runs out first."""

    def clear_question_cache(self) -> None:
        """Clear the cache of questions."""


class Reranker(Protocol):
    """Reads a question and a text together: slower than comparing vectors, and better on talk."""

    def scores(self, query: str, texts: Sequence[str], expires: float | None = None) -> list[float]:
        """How well each text answers, as logits; of the leading texts only, if time runs out."""


@runtime_checkable
class ReplacementReader(Protocol):
    """Reads two statements together and judges whether the newer one makes the older one untrue."""

    def replacement_chances(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each pair of a newer and an older statement: how probably the newer replaces the older."""


@runtime_checkable
class RequestReader(Protocol):
    """Reads sentences within their passage and judges whether they ask for what their speaker lacks."""

    def request_logits(self, passage: str, sentences: Sequence[str]) -> list[float]:
        """For each sentence of a passage, how surely it asks for something, as a logit."""


def cosine_similarity(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors of one length; 0 if one of them is zero."""
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other) or 1.0)
