"""Vectors over HTTP, from any endpoint that speaks OpenAI's embeddings API."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

from foreword.errors import EmbeddingError, ValidationError
from foreword.spaces.providers import check_vectors
from foreword.spaces.remote_model import RemoteModel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_KNOWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


class OpenAIEmbeddingProvider:
    """Any endpoint that speaks OpenAI's embeddings API. The key is sent to that endpoint and nowhere else."""

    def __init__(
        self,
        api_key: str | None = None,
        model: str = "text-embedding-3-small",
        base_url: str = "https://api.openai.com/v1",
        dimensions: int | None = None,
        timeout: float = 30.0,
        batch: int = 128,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if batch < 1 or not timeout > 0 or (dimensions is not None and dimensions < 1):
            raise ValidationError("batch, timeout and dimensions must be above 0")
        self.model = model
        self._endpoint = RemoteModel(base_url, api_key, timeout, error=EmbeddingError, sleep=sleep)
        self._requested_dimensions = dimensions
        self._dimensions = dimensions or _KNOWN_DIMENSIONS.get(model)
        self._batch = batch

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; for an unknown model, the endpoint is asked once."""
        return self._dimensions or len(self.embed("dimensions"))

    def embed(self, text: str) -> list[float]:
        """The vector of one text."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of many texts, in their order, in as few requests as `batch` allows."""
        starts = range(0, len(texts), self._batch)
        chunks = (self._embed_chunk(texts[start : start + self._batch]) for start in starts)
        return list(itertools.chain.from_iterable(chunks))

    def _embed_chunk(self, texts: Sequence[str]) -> list[list[float]]:
        # OpenAI refuses an empty input; a blank one says as little.
        body: dict[str, object] = {"model": self.model, "input": [text or " " for text in texts]}
        if self._requested_dimensions is not None:
            body["dimensions"] = self._requested_dimensions
        answer = self._endpoint.post_json("/embeddings", body)
        try:
            vectors = _vectors_in_order(answer)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            raise self._endpoint.unusable("a list of embeddings", error) from error
        checked_vectors = check_vectors(vectors, len(texts), self._dimensions)
        self._dimensions = len(checked_vectors[0])
        return checked_vectors


def _vectors_in_order(answer: Any) -> list[Any]:  # noqa: ANN401  (what an endpoint said)
    """The vectors of an answer, in the order of the question; endpoints may answer in any order."""
    entries = answer["data"]
    by_index = {int(entry.get("index", at)): entry["embedding"] for at, entry in enumerate(entries)}
    return [by_index[at] for at in range(len(entries))]
