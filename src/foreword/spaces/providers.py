"""The contract of an encoder, the check of its vectors, and encoders from packages a user may have installed.

A provider knows one model and nothing of items, spaces or stores. A vector of the wrong size, or with
anything but finite numbers, is refused here, whatever encoder made it, so that no caller has to check. The
encoder that comes with the package is in `bundled`, those behind HTTP in `remote`.
"""

from __future__ import annotations

import hashlib
import importlib
import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from foreword.errors import EmbeddingError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PREPROCESSING = 1
"""Part of every digest; to be raised whenever texts are prepared differently for their encoder."""


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Anything that makes vectors. One that encodes questions differently also has `embed_query(text)`."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    @property
    def model(self) -> str:
        """The model's name."""

    def embed(self, text: str) -> list[float]:
        """The vector of one text."""

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of many texts, in their order."""


def embed_query(provider: EmbeddingProvider, text: str) -> list[float]:
    """The vector of a question, encoded as the provider's model encodes questions."""
    ask = getattr(provider, "embed_query", provider.embed)
    return check_vectors([ask(text)], 1, provider.dimensions)[0]


def encoder_digest(provider: EmbeddingProvider) -> str:
    """The name of an encoder, down to its weights; vectors of two digests must never be compared."""
    fingerprint = getattr(provider, "fingerprint", "")
    parts = (provider.model, str(provider.dimensions), str(fingerprint), str(PREPROCESSING))
    return "b2:" + hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


def check_vectors(
    vectors: Iterable[Iterable[float]], count: int, dimensions: int | None
) -> list[list[float]]:
    """The vectors as plain lists, if they are `count`, all of one size, and finite; EmbeddingError if not.

    With `dimensions` None all must have the size of the first.
    """
    try:
        rows = [[float(value) for value in vector] for vector in vectors]
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingError(
            "the encoder gave something other than vectors of numbers; check the model"
        ) from error
    if len(rows) != count:
        raise EmbeddingError(f"the encoder gave {len(rows)} vectors for {count} texts; it cannot be used")
    size = dimensions or (len(rows[0]) if rows else 0)
    for row in rows:
        if len(row) != size or not row:
            raise EmbeddingError(
                f"the encoder gave a vector of {len(row)} numbers where {size} were expected; "
                "check the model's name and its dimensions"
            )
        if not all(map(math.isfinite, row)):
            raise EmbeddingError("the encoder gave a vector with NaN or infinity in it; check the model")
    return rows


_LIBRARY_ERRORS = (OSError, ValueError, RuntimeError)


class _LibraryProvider(ABC):
    """A model run by a class of a package that a user may have installed."""

    def __init__(self, model: str, package: str, class_name: str) -> None:
        try:
            load = getattr(importlib.import_module(package.replace("-", "_")), class_name)
        except ImportError as error:
            raise MissingExtra(package, package) from error
        self.model = model
        self._package = package
        try:
            self._encoder = load(model)
        except _LIBRARY_ERRORS as error:
            raise EmbeddingError(f"{package} cannot load {model!r}: {error}") from error
        self.dimensions: int = len(self._encode_and_check(["dimensions"], "document", None)[0])

    def embed(self, text: str) -> list[float]:
        """The vector of one item's text."""
        return self.embed_batch([text])[0]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, encoded as the package encodes questions with this model."""
        return self._encode_and_check([text], "query", self.dimensions)[0]

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of many items' texts, in their order."""
        return self._encode_and_check(texts, "document", self.dimensions) if texts else []

    def _encode_and_check(self, texts: Sequence[str], role: str, dimensions: int | None) -> list[list[float]]:
        """The vectors of texts that are a `query` or a `document`; EmbeddingError if the package fails."""
        try:
            vectors = list(self._encode(list(texts), role))
        except _LIBRARY_ERRORS as error:
            raise EmbeddingError(f"{self._package} failed on {self.model!r}: {error}") from error
        return check_vectors(vectors, len(texts), dimensions)

    @abstractmethod
    def _encode(self, texts: list[str], role: str) -> Any:  # noqa: ANN401  (the packages have no types)
        """The vectors of texts that are a `query` or a `document`, as the package gives them."""


class SentenceTransformersProvider(_LibraryProvider):
    """A model run by sentence-transformers, which may download it."""

    def __init__(self, model: str) -> None:
        super().__init__(model, "sentence-transformers", "SentenceTransformer")

    def _encode(self, texts: list[str], role: str) -> Any:  # noqa: ANN401  (the packages have no types)
        prompt = (getattr(self._encoder, "prompts", None) or {}).get(role) or None
        return self._encoder.encode(texts, prompt=prompt, normalize_embeddings=True, show_progress_bar=False)


class FastEmbedProvider(_LibraryProvider):
    """A model run by fastembed, which may download it."""

    def __init__(self, model: str) -> None:
        super().__init__(model, "fastembed", "TextEmbedding")

    def _encode(self, texts: list[str], role: str) -> Any:  # noqa: ANN401  (the packages have no types)
        return self._encoder.query_embed(texts) if role == "query" else self._encoder.passage_embed(texts)
