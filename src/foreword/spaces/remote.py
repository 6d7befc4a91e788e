"""Vectors over HTTP, from any endpoint that speaks OpenAI's embeddings API.

The key goes to that endpoint and nowhere else: no redirects, no error message that repeats it.
"""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from foreword.errors import EmbeddingError, ValidationError
from foreword.spaces.providers import checked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from urllib.error import HTTPError
    from urllib.request import OpenerDirector

_KNOWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
_TRIES = 3
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 10.0
_ADVICE = {
    401: "check the API key",
    403: "check what the API key may do",
    404: "check base_url and the model's name",
    429: "the endpoint limits the rate, or the account's quota is spent",
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
        _check_url(base_url)
        _check_key(api_key)
        if batch < 1 or not timeout > 0 or (dimensions is not None and dimensions < 1):
            raise ValidationError("batch, timeout and dimensions must be above 0")
        self.model = model
        self._url = base_url.rstrip("/") + "/embeddings"
        self._key = api_key
        self._asked = dimensions
        self._dimensions = dimensions or _KNOWN_DIMENSIONS.get(model)
        self._timeout = timeout
        self._batch = batch
        self._sleep = sleep
        self._opener = _opener()

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
        if self._asked is not None:
            body["dimensions"] = self._asked
        vectors = checked(_vectors(self._post(json.dumps(body).encode())), len(texts), self._dimensions)
        self._dimensions = len(vectors[0])
        return vectors

    def _post(self, body: bytes) -> bytes:
        """One request; tried again when the trouble may pass."""
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        request = Request(self._url, body, self._headers())  # noqa: S310  (the scheme was checked)
        for attempt in range(_TRIES):
            cause: Exception
            try:
                with self._opener.open(request, timeout=self._timeout) as response:
                    return cast("bytes", response.read())
            except HTTPError as error:
                cause, problem, pause = (
                    error,
                    self._refusal(error),
                    _pause(attempt, error.headers.get("Retry-After")),
                )
                if error.code != 429 and error.code < 500:
                    raise EmbeddingError(problem) from error
            except (OSError, HTTPException) as error:
                cause, pause = error, _pause(attempt, None)
                problem = self._hide(f"no answer from {self._url} ({error}); is it reachable?")
            if attempt + 1 < _TRIES:
                self._sleep(pause)
        raise EmbeddingError(f"{problem} (tried {_TRIES} times)") from cause

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "User-Agent": "foreword"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    def _refusal(self, error: HTTPError) -> str:
        """What to tell the user about an answer that is an error; closes the answer."""
        from http.client import HTTPException

        with error:
            try:
                said = error.read(500).decode(errors="replace").strip()
            except (OSError, HTTPException):
                said = ""
        advice = _ADVICE.get(error.code, "see the endpoint's own words")
        if 300 <= error.code < 400:
            advice = "it redirects, which is refused to keep the key safe; give the final base_url"
        return self._hide(f"{self._url} answered {error.code}; {advice}: {said}")

    def _hide(self, message: str) -> str:
        """The message without the key, which an endpoint may have repeated."""
        return message.replace(self._key, "***") if self._key else message


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise ValidationError("base_url must be a plain http:// or https:// address")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValidationError("base_url must not hold a password, a query or a fragment; use api_key")


def _check_key(key: str | None) -> None:
    """Refuse a key that no header can carry, before an error further down would print it."""
    if key is not None and not (key and key.isascii() and key.isprintable() and " " not in key):
        raise ValidationError("api_key is empty or has a blank, a line break or a non-ASCII character in it")


def _opener() -> OpenerDirector:
    """HTTP and HTTPS only, and no redirects: urllib would carry the key along to another host."""
    from urllib import request

    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _pause(attempt: int, retry_after: str | None) -> float:
    """How long to wait: as long as the endpoint says, within reason, else twice as long each time."""
    try:
        asked = float(retry_after or "")
    except ValueError:
        asked = _FIRST_PAUSE * 2**attempt
    return max(0.0, min(_LONGEST_PAUSE, asked))


def _vectors(answer: bytes) -> list[Any]:
    """The vectors of an answer, in the order of the question; endpoints may answer in any order."""
    try:
        entries = json.loads(answer)["data"]
        placed = {int(entry.get("index", at)): entry["embedding"] for at, entry in enumerate(entries)}
        vectors = [placed[at] for at in range(len(entries))]
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise EmbeddingError(
            f"the endpoint's answer is not a list of embeddings ({type(error).__name__}); "
            "check that base_url is an OpenAI-compatible API, usually ending in /v1"
        ) from error
    return vectors
