"""The space of meaning: vectors of the searchable text of items, compared by cosine.

Vectors are bound to the digest of the encoder that made them; those of another digest are never compared. The
vectors of recent questions are cached here, in memory, by model and text; those of items are in the store.
"""

from __future__ import annotations

import re
import threading
import time
from array import array
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from foreword.errors import EmbeddingError, ForewordError, ValidationError
from foreword.spaces.base import cosine_similarity
from foreword.spaces.providers import check_vectors, embed_query, encoder_digest
from foreword.types import VectorProbe, text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from foreword.spaces.providers import EmbeddingProvider
    from foreword.types import Item, Query


ECHO = "echo"
"""The name of the second ranking: by similarity to the best answers of the first."""

_UNRELATED_TEXTS = (
    "The invoice was paid on Thursday.",
    "Whales sleep with one half of their brain.",
    "How do I rename a branch in git?",
    "She practises the violin every morning.",
    "def parse(line): return line.split(',')",
    "The soup needs more salt.",
)


class EmbeddingCache:
    """A cache of the most recently used vectors, each for at most `ttl` seconds; safe between threads."""

    def __init__(
        self, max_size: int = 10_000, ttl: float = 3600.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if max_size < 0:
            raise ValidationError(f"max_size must be 0 (no cache) or more, not {max_size}")
        if not ttl >= 0:
            raise ValidationError(f"ttl must be 0 seconds or more, not {ttl}")
        self._max_size = max_size
        self._ttl = ttl
        self._clock = clock
        self._lock = threading.Lock()
        # Least recently used first. Four bytes a number: encoders give no more than that.
        self._entries: OrderedDict[str, tuple[float, array[float]]] = OrderedDict()

    def get(self, key: str) -> list[float] | None:
        """The vector stored under this key, or None if there is none or it is too old."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            expires, vector = entry
            if self._clock() >= expires:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return vector.tolist()

    def set(self, key: str, embedding: Sequence[float]) -> None:
        """Store a vector; if the cache is full, the least recently used one is removed."""
        if self._max_size == 0:
            return
        vector = array("f", embedding)
        with self._lock:
            self._entries[key] = (self._clock() + self._ttl, vector)
            self._entries.move_to_end(key)
            if len(self._entries) > self._max_size:
                self._entries.popitem(last=False)

    def generate_key(self, text: str, model: str) -> str:
        """The key of a text under a model: the model's name, and the hash of the text."""
        return f"{model}:{text_hash(text)}"

    def clear(self) -> None:
        """Remove all vectors."""
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)


class DenseSpace:
    """Finds items that mean the same in other words."""

    name = "semantic"
    slow = True

    def __init__(self, provider: EmbeddingProvider, cache: EmbeddingCache | None = None) -> None:
        self.provider = provider
        self.cache = cache if cache is not None else EmbeddingCache()
        self.unrelated_cosine: float | None = getattr(provider, "unrelated", None)
        """The cosine of texts that have nothing in common; None until a question has been encoded."""
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[list[float]]] = {}

    @cached_property
    def digest(self) -> str:
        """The name of the encoder that makes these vectors; it changes with the encoder's weights."""
        return encoder_digest(self.provider)

    def _measure_unrelated_cosine(self) -> None:
        """Set `unrelated_cosine` by encoding a few texts with nothing in common, if it is unknown."""
        if self.unrelated_cosine is None:
            with _raise_as_embedding_error(self.provider):
                vectors = self.provider.embed_batch(list(_UNRELATED_TEXTS))
            checked = check_vectors(vectors, len(_UNRELATED_TEXTS), self.provider.dimensions)
            cosines = [cosine_similarity(one, other) for one, other in combinations(checked, 2)]
            self.unrelated_cosine = sum(cosines) / len(cosines)

    def probe(self, query: Query) -> VectorProbe | None:
        """A probe with the question's vector: the one it came with, or the encoder's."""
        if query.vector is None and not query.text.strip():
            return None
        self._measure_unrelated_cosine()
        if query.vector is not None:
            return VectorProbe(self.name, self.digest, query.vector, ECHO)
        vectors = [self.embed_question(text) for text in question_texts_to_encode(query.text)]
        mean = tuple(sum(values) / len(vectors) for values in zip(*vectors, strict=True))
        return VectorProbe(self.name, self.digest, mean, ECHO)

    def embed_question(self, text: str) -> list[float]:
        """The vector of a question, from the cache when it was asked before.

        If another thread is encoding the same text, both get its answer, or its failure.
        """
        key = self.cache.generate_key(text, self.provider.model)
        with self._lock:
            if (known := self.cache.get(key)) is not None:
                return known
            answer = self._under_way.get(key)
            is_first = answer is None
            if answer is None:
                answer = self._under_way[key] = Future()
        if is_first:
            self._encode_into_future(key, text, answer)
        return list(answer.result())

    def _encode_into_future(self, key: str, text: str, answer: Future[list[float]]) -> None:
        """Encode a question and hand the vector, or the failure, to every thread that waits for it."""
        try:
            with _raise_as_embedding_error(self.provider):
                vector = embed_query(self.provider, text)
            self.cache.set(key, vector)
            # What comes out of the cache is rounded; the first answer must be the same as the next.
            answer.set_result(self.cache.get(key) or vector)
        except BaseException as error:
            interrupted = EmbeddingError("the encoding was interrupted")
            answer.set_exception(error if isinstance(error, Exception) else interrupted)
            raise
        finally:
            with self._lock:
                del self._under_way[key]

    def embed_items(self, items: Sequence[Item]) -> list[list[float]]:
        """The vectors of items, in order."""
        with _raise_as_embedding_error(self.provider):
            vectors = self.provider.embed_batch([text_to_embed(item) for item in items])
        return check_vectors(vectors, len(items), self.provider.dimensions)

    def hash_of_embedded_text(self, item: Item) -> str:
        """The hash of the text that this space embeds of an item."""
        return text_hash(text_to_embed(item))

    def check_vector(self, vector: Sequence[float]) -> None:
        """Raise EmbeddingError unless the vector has the encoder's dimensions and holds finite numbers."""
        try:
            check_vectors([list(vector)], 1, self.provider.dimensions)
        except EmbeddingError as error:
            raise EmbeddingError(f"the given vector does not fit {self.provider.model}: {error}") from error


MAX_CODE_CHARACTERS = 480
"""How many characters of code are embedded: its name, signature, docstring, and how it begins. The rest
costs as much again and finds nothing more (docs/LOG.md has the numbers)."""


def text_to_embed(item: Item) -> str:
    """The text of an item that is embedded: its surroundings and its text; of code, the beginning."""
    return item.searchable[:MAX_CODE_CHARACTERS] if item.kind == "code" else item.searchable


_MAX_SHORT_CHARACTERS = 200
_LANGUAGE = re.compile(
    r"\b(?:in |using |with )?(?:python|java|javascript|typescript|golang|rust|ruby|php|kotlin|swift|scala|"
    r"bash|c\+\+|c#)\s?[23]?(?![\w+#])",
    re.IGNORECASE,
)


def question_texts_to_encode(text: str) -> tuple[str, ...]:
    """One or two texts whose vectors together stand for the question.

    For a long question, its first line, usually a title, and the whole. For a short one that names a
    programming language, the question with and without that name: in a project of that language the name
    says nothing.
    """
    text = text.strip()
    title = text.partition("\n")[0].strip()
    if len(text) > _MAX_SHORT_CHARACTERS and title and len(title) < len(text) / 2:
        return (title, text)
    without = " ".join(_LANGUAGE.sub(" ", text).split())
    return (text, without) if without and without != text and len(text) <= _MAX_SHORT_CHARACTERS else (text,)


@contextmanager
def _raise_as_embedding_error(provider: EmbeddingProvider) -> Iterator[None]:
    """Raise any error of the provider, which may be anybody's code, as an `EmbeddingError`."""
    try:
        yield
    except ForewordError:
        raise
    except Exception as error:
        raise EmbeddingError(f"the encoder {provider.model!r} failed: {error!r}") from error
