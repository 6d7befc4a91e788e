"""The contracts of spaces and of what compares texts directly.

A space knows how to compare and nothing of where items are kept: it turns a question into a probe, a value
that any store can answer. Spaces of time give no probe; they order what the others found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from foreword.types import Item, Probe, Query


class Space(Protocol):
    """A way of finding."""

    @property
    def name(self) -> str:
        """What receipts call it."""

    @property
    def slow(self) -> bool:
        """Whether making a probe may take long (an encoder, a network), so that a deadline must watch it."""

    def probe(self, query: Query) -> Probe | None:
        """How to look for an answer, or None when this space cannot help with this question."""


class TimeSpace(Protocol):
    """A way of ordering by when things happened."""

    @property
    def name(self) -> str:
        """What receipts call it."""

    def closeness(self, created_at: datetime, now: datetime) -> float:
        """How near the two moments are in this sense: 1 at best, 0 when not at all."""


class VectorSpace(Space, Protocol):
    """A way of finding by vectors. They are dear to make, so they are made after the write has returned."""

    @property
    def digest(self) -> str:
        """Which encoder makes these vectors, down to its weights."""

    @property
    def unrelated(self) -> float | None:
        """The cosine of texts that have nothing in common; None until a question has been encoded."""

    def view_hash(self, item: Item) -> str:
        """The name of the text that this space embeds of an item."""

    def embed_items(self, items: Sequence[Item]) -> list[list[float]]:
        """The vectors of items, in order."""


class TokenSpace(Protocol):
    """Compares a question with items token by token. The codes of items are made once; a store keeps them."""

    @property
    def name(self) -> str:
        """What receipts call it."""

    @property
    def digest(self) -> str:
        """Which encoder makes these codes, down to its weights."""

    def encode_items(self, items: Sequence[Item]) -> list[bytes]:
        """The codes of items, in order."""

    def encode_soon(self, question: str) -> None:
        """Begin to encode a question, which will be compared in a moment, without waiting for it."""

    def compare(
        self, question: str, codes: Sequence[bytes], expires: float | None = None
    ) -> list[float] | None:
        """How well the items with these codes answer: 1 at best; None if time runs out first."""

    def clear(self) -> None:
        """Forget the questions that were asked."""


class Reranker(Protocol):
    """Reads a question and a text together: slower than comparing vectors, and better on talk."""

    def scores(self, query: str, texts: Sequence[str], expires: float | None = None) -> list[float]:
        """How well each text answers, as logits; of the leading texts only, if time runs out."""


@runtime_checkable
class ReplacementReader(Protocol):
    """Reads two statements together, to see whether the newer one makes the older one untrue."""

    def replacement_chances(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each pair of a newer and an older statement: how probably the newer replaces the older."""
