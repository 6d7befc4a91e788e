"""Models behind an OpenAI-compatible API over HTTP: a client that posts JSON, and the encoder that uses it.

The key goes to that endpoint and nowhere else: no redirects, no error message that repeats it. What else is
asked of a model and what its answer should look like is left to the callers.
"""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from foreword.errors import ContextError, EmbeddingError, ValidationError
from foreword.spaces.providers import check_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from urllib.error import HTTPError
    from urllib.request import OpenerDirector

MAX_ANSWER_BYTES = 64_000_000
_FIRST_PAUSE_SECONDS = 0.5
_MAX_PAUSE_SECONDS = 10.0
_ADVICE = {
    401: "check the API key",
    403: "check what the API key may do",
    404: "check {address} and the model's name",
    429: "the endpoint limits the rate, or the account's quota is spent",
}


class RemoteModel:
    """An endpoint and its key. Error messages call its URL `address`; failures are raised as `error`."""

    def __init__(
        self,
        url: str,
        key: str | None,
        timeout_seconds: float = 30.0,
        *,
        tries: int = 3,
        error: type[ContextError] = ContextError,
        address: str = "base_url",
        key_name: str = "api_key",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        _check_model_server_url(url, address, key_name)
        _check_key_fits_header(key, key_name)
        if not timeout_seconds > 0:
            raise ValidationError("the timeout must be above 0")
        self._url = url.rstrip("/")
        self._key = key
        self._timeout_seconds = timeout_seconds
        self._tries = tries
        self._error = error
        self._address = address
        self._sleep = sleep
        self._opener = _make_opener_without_redirects()

    def post_json(self, path: str, body: object) -> Any:  # noqa: ANN401  (whatever the endpoint says)
        """The endpoint's JSON answer to a body posted to `path`; tries again if the failure may pass."""
        answer = self._post_with_retries(self._url + path, json.dumps(body).encode())
        try:
            return json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise self.bad_answer_error("JSON", error) from error

    def bad_answer_error(self, wanted: str, error: Exception) -> ContextError:
        """The error that says that an answer is not what was wanted."""
        return self._error(
            f"the endpoint's answer is not {wanted} ({type(error).__name__}); "
            f"check that {self._address} is an OpenAI-compatible API, usually ending in /v1"
        )

    def _post_with_retries(self, url: str, body: bytes) -> bytes:
        """The answer to a posted body; tries again after failures that may pass, and raises the others."""
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        headers = {"Content-Type": "application/json", "User-Agent": "foreword"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(url, body, headers)  # noqa: S310  (the scheme was checked)
        for attempt in range(self._tries):
            cause: Exception
            try:
                return self._read_answer(request)
            except HTTPError as error:
                cause, problem = error, self._describe_refusal(url, error)
                pause = _pause_seconds(attempt, error.headers.get("Retry-After"))
                if error.code != 429 and error.code < 500:
                    raise self._error(problem) from error
            except (OSError, HTTPException) as error:
                cause, pause = error, _pause_seconds(attempt, None)
                problem = self._hide_key(f"no answer from {url} ({error}); is it reachable?")
            if attempt + 1 < self._tries:
                self._sleep(pause)
        tried = f" (tried {self._tries} times)" if self._tries > 1 else ""
        raise self._error(problem + tried) from cause

    def _read_answer(self, request: Any) -> bytes:  # noqa: ANN401  (urllib is imported on first use)
        from http.client import IncompleteRead

        with self._opener.open(request, timeout=self._timeout_seconds) as response:
            """The answer to a request; IncompleteRead if a part of it is missing."""
            answer = cast("bytes", response.read(MAX_ANSWER_BYTES))
            if response.length:  # what is still missing of a length that was announced
                raise IncompleteRead(answer, response.length)
            return answer

    def _describe_refusal(self, url: str, error: HTTPError) -> str:
        """The error message for an answer with an error status; closes the answer."""
        from http.client import HTTPException

        with error:
            try:
                answer = error.read(500).decode(errors="replace").strip()
            except (OSError, HTTPException):
                answer = ""
        advice = _ADVICE.get(error.code, "see the endpoint's own words").format(address=self._address)
        if 300 <= error.code < 400:
            advice = f"it redirects, which is refused to keep the key safe; give the final {self._address}"
        return self._hide_key(f"{url} answered {error.code}; {advice}: {answer}")

    def _hide_key(self, message: str) -> str:
        """The message without the key, which an endpoint may have repeated."""
        return message.replace(self._key, "***") if self._key else message


def _check_model_server_url(url: str, address: str, key_name: str) -> None:
    """Raise ValidationError unless a URL is plain HTTP or HTTPS, without password, query or fragment."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise ValidationError(f"{address} must be a plain http:// or https:// address")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValidationError(f"{address} must not hold a password, a query or a fragment; use {key_name}")


def _check_key_fits_header(key: str | None, key_name: str) -> None:
    """Refuse a key that no header can carry, before an error further down would print it."""
    if key is not None and not (key and key.isascii() and key.isprintable() and " " not in key):
        raise ValidationError(
            f"{key_name} is empty or has a blank, a line break or a non-ASCII character in it"
        )


def _make_opener_without_redirects() -> OpenerDirector:
    """An opener for HTTP and HTTPS without redirects: urllib would send the key on to another host."""
    from urllib import request

    opener = request.OpenerDirector()
    opener.add_handler(request.ProxyHandler())
    opener.add_handler(request.HTTPHandler())
    opener.add_handler(request.HTTPSHandler())
    opener.add_handler(request.HTTPDefaultErrorHandler())
    opener.add_handler(request.HTTPErrorProcessor())
    return opener


def _pause_seconds(attempt: int, retry_after: str | None) -> float:
    """The seconds to wait: as many as the endpoint asks for, within reason, else twice as many each time."""
    try:
        asked = float(retry_after or "")
    except ValueError:
        asked = _FIRST_PAUSE_SECONDS * 2**attempt
    return max(0.0, min(_MAX_PAUSE_SECONDS, asked))


# Vectors -------------------------------------------------------------------------------------------------

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
        chunks = (self._embed_in_one_request(texts[start : start + self._batch]) for start in starts)
        return list(itertools.chain.from_iterable(chunks))

    def _embed_in_one_request(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of as many texts as one request may have."""
        # OpenAI refuses an empty input; a blank one says as little.
        body: dict[str, object] = {"model": self.model, "input": [text or " " for text in texts]}
        if self._requested_dimensions is not None:
            body["dimensions"] = self._requested_dimensions
        answer = self._endpoint.post_json("/embeddings", body)
        try:
            vectors = _vectors_in_order(answer)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            raise self._endpoint.bad_answer_error("a list of embeddings", error) from error
        checked_vectors = check_vectors(vectors, len(texts), self._dimensions)
        self._dimensions = len(checked_vectors[0])
        return checked_vectors


def _vectors_in_order(answer: Any) -> list[Any]:  # noqa: ANN401  (what an endpoint said)
    """The vectors of an answer, in the order of the texts; endpoints may answer in any order."""
    entries = answer["data"]
    by_index = {int(entry.get("index", at)): entry["embedding"] for at, entry in enumerate(entries)}
    return [by_index[at] for at in range(len(entries))]
