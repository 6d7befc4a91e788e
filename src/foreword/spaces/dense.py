"""Meaning: an encoder over the searchable view of an item, compared by cosine.

Vectors are bound to the digest of the encoder that made them; those of another digest are never looked at.
Query vectors are cached by model and text; item vectors are kept by the store.
"""

from __future__ import annotations

import math
import threading
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import combinations
from typing import TYPE_CHECKING

from foreword.errors import EmbeddingError, ForewordError
from foreword.spaces.cache import EmbeddingCache
from foreword.spaces.providers import checked, digest, embed_query
from foreword.text.question import angles
from foreword.types import VectorProbe, text_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foreword.spaces.providers import EmbeddingProvider
    from foreword.types import Item, Query


ECHO = "echo"
"""The name under which what is like the best answers is ranked."""

_STRANGERS = (
    "The invoice was paid on Thursday.",
    "Whales sleep with one half of their brain.",
    "How do I rename a branch in git?",
    "She practises the violin every morning.",
    "def parse(line): return line.split(',')",
    "The soup needs more salt.",
)


class DenseSpace:
    """Finds items that mean the same in other words."""

    name = "semantic"
    slow = True

    def __init__(self, provider: EmbeddingProvider, cache: EmbeddingCache | None = None) -> None:
        self.provider = provider
        self.cache = cache if cache is not None else EmbeddingCache()
        self._digest: str | None = None
        self._unrelated: float | None = getattr(provider, "unrelated", None)
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[list[float]]] = {}

    @property
    def digest(self) -> str:
        """Which encoder makes these vectors, down to its weights."""
        if self._digest is None:
            self._digest = digest(self.provider)
        return self._digest

    @property
    def unrelated(self) -> float | None:
        """The cosine that this encoder gives to strangers; None until a question has been encoded."""
        return self._unrelated

    def _measure(self) -> None:
        """Learn what strangers are to this encoder: it says so itself, or a few are encoded, once."""
        if self._unrelated is None:
            with _translated(self.provider):
                vectors = self.provider.embed_batch(list(_STRANGERS))
            pairs = list(combinations(checked(vectors, len(_STRANGERS), self.provider.dimensions), 2))
            self._unrelated = sum(map(_cosine, pairs)) / len(pairs)

    def probe(self, query: Query) -> VectorProbe | None:
        """The question as a vector: the one it came with, or the encoder's."""
        if query.vector is None and not query.text.strip():
            return None
        self._measure()
        if query.vector is not None:
            return VectorProbe(self.name, self.digest, query.vector, ECHO)
        vectors = [self.embed_question(angle) for angle in angles(query.text)]
        middle = tuple(sum(values) / len(vectors) for values in zip(*vectors, strict=True))
        return VectorProbe(self.name, self.digest, middle, ECHO)

    def embed_question(self, text: str) -> list[float]:
        """The vector of a question, from the cache when it was asked before.

        Who asks what another is asking just now waits for the same answer, or the same failure.
        """
        key = self.cache.generate_key(text, self.provider.model)
        with self._lock:
            if (known := self.cache.get(key)) is not None:
                return known
            answer = self._under_way.get(key)
            if asks := answer is None:
                answer = self._under_way[key] = Future()
        if asks:
            self._encode(key, text, answer)
        return list(answer.result())

    def _encode(self, key: str, text: str, answer: Future[list[float]]) -> None:
        """Encode a question for all who wait for it, whatever happens on the way."""
        try:
            with _translated(self.provider):
                vector = embed_query(self.provider, text)
            self.cache.set(key, vector)
            # What comes out of the cache is rounded; the first answer must be the same as the next.
            answer.set_result(self.cache.get(key) or vector)
        except BaseException as error:
            failure = (
                error if isinstance(error, Exception) else EmbeddingError("the encoding was interrupted")
            )
            answer.set_exception(failure)
            raise
        finally:
            with self._lock:
                del self._under_way[key]

    def embed_items(self, items: Sequence[Item]) -> list[list[float]]:
        """The vectors of items, in order."""
        with _translated(self.provider):
            vectors = self.provider.embed_batch([item.searchable for item in items])
        return checked(vectors, len(items), self.provider.dimensions)

    def view_hash(self, item: Item) -> str:
        """The name of the text that this space embeds of an item."""
        return text_hash(item.searchable)

    def refuse_misfit(self, vector: Sequence[float]) -> None:
        """A given vector must have the encoder's dimensions and hold numbers."""
        try:
            checked([list(vector)], 1, self.provider.dimensions)
        except EmbeddingError as error:
            raise EmbeddingError(f"the given vector does not fit {self.provider.model}: {error}") from error


def _cosine(pair: tuple[list[float], list[float]]) -> float:
    one, other = pair
    return sum(a * b for a, b in zip(one, other, strict=True)) / (
        math.hypot(*one) * math.hypot(*other) or 1.0
    )


@contextmanager
def _translated(provider: EmbeddingProvider) -> Iterator[None]:
    """A provider may be anybody's code; whatever it raises is an `EmbeddingError` to us."""
    try:
        yield
    except ForewordError:
        raise
    except Exception as error:
        raise EmbeddingError(f"the encoder {provider.model!r} failed: {error!r}") from error
