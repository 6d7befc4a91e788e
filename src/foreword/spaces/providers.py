"""Turn text into vectors: with the bundled model, over HTTP, or with a package the user already has.

A provider knows one model and nothing of items, spaces or stores. Whatever its source, a vector that has the
wrong size or holds something other than finite numbers is refused here, so nobody behind this module has to
look again. The bundled model never touches the network.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import threading
import time
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable
from urllib.parse import urlsplit

from foreword.errors import EmbeddingError, MissingExtra, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from importlib.resources.abc import Traversable
    from urllib.error import HTTPError
    from urllib.request import OpenerDirector

    from tokenizers import Tokenizer

PREPROCESSING = 1
"""Counts the changes to what happens to a text before its encoder sees it; part of every digest."""

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
"""What the bundled model was trained to see in front of a question, and never in front of an answer."""


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Anything that gives vectors. One that treats questions apart also has `embed_query(text)`."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        ...

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    def embed(self, text: str) -> list[float]:
        """The vector of one text."""
        ...

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of many texts, in their order."""
        ...


def embed_query(provider: EmbeddingProvider, text: str) -> list[float]:
    """The vector of a question, asked as the provider's model wants questions to be asked."""
    ask = getattr(provider, "embed_query", provider.embed)
    return checked([ask(text)], 1, provider.dimensions)[0]


def digest(provider: EmbeddingProvider) -> str:
    """Name the encoder; vectors of two digests must never be compared."""
    fingerprint = getattr(provider, "fingerprint", "")
    parts = (provider.model, str(provider.dimensions), str(fingerprint), str(PREPROCESSING))
    return "b2:" + hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


def checked(vectors: Iterable[Iterable[float]], count: int, dimensions: int | None) -> list[list[float]]:
    """The vectors as plain lists, once they are known to be `count`, all of one size, and finite.

    With `dimensions` None the first vector says what the size is.
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


# The bundled model ---------------------------------------------------------------------------------------

_NAME = "bge-small-en-v1.5"
_WEIGHTS, _VOCABULARY = "model.onnx", "tokenizer.json"
_SHA256 = {
    _WEIGHTS: "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    _VOCABULARY: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
_MAX_TOKENS = 512
_MAX_CHARACTERS = 20_000
# Small batches are the fastest: larger ones leave the processor's caches. Measured on two cores, threads not
# spinning, turns and abstracts a second: 16 texts of 512 tokens 321 and 21.8, of 4,096 tokens 321 and 16.2,
# one text at a time 176 and 21.0. The larger ones also cost 400 MB more memory.
_BATCH_TEXTS = 16
_BATCH_TOKENS = 512
_MAX_THREADS = 4


@dataclass(frozen=True, slots=True)
class _Encoder:
    """What is loaded once: the words and the graph."""

    tokenizer: Tokenizer
    session: Any


def _folder() -> Traversable:
    return resources.files("foreword.spaces").joinpath("models", _NAME)


def _read(name: str) -> bytes:
    """A bundled file, once it is known to be the one that was bundled."""
    advice = "reinstall it: pip install --force-reinstall foreword"
    try:
        data = _folder().joinpath(name).read_bytes()
    except OSError as error:
        raise EmbeddingError(f"cannot read {name} of the bundled model ({error}); {advice}") from error
    # A flipped bit would load and give vectors that are quietly wrong; 20 ms buy certainty.
    if hashlib.sha256(data).hexdigest() != _SHA256[name]:
        raise EmbeddingError(f"{name} of the bundled model is damaged; {advice}")
    return data


def _runtime_errors() -> tuple[type[Exception], ...]:
    """What onnxruntime raises; its errors share no ancestor but Exception."""
    import onnxruntime

    state = onnxruntime.capi.onnxruntime_pybind11_state
    names = (
        "Fail",
        "RuntimeException",
        "InvalidProtobuf",
        "InvalidGraph",
        "InvalidArgument",
        "NotImplemented",
    )
    return (RuntimeError, *(getattr(state, name) for name in names))


def _session(weights: bytes, threads: int) -> Any:  # noqa: ANN401  (onnxruntime has no types)
    """The graph, ready to run."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Spinning gains 7 % on batches by burning cores while idle; we are a guest on this machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    except _runtime_errors() as error:
        raise EmbeddingError(
            f"onnxruntime cannot run the bundled model: {error}; upgrade onnxruntime"
        ) from error


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group positions by like length, so that little is padded: int8 vectors drift with their padding."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = len(batch) == _BATCH_TEXTS or lengths[position] * (len(batch) + 1) > _BATCH_TOKENS
        if batch and full:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class BundledEmbeddingProvider:
    """bge-small-en-v1.5 in int8, from the package itself: no key, no network; loaded on first use."""

    model: str = _NAME
    dimensions: int = 384
    fingerprint: str = f"sha256:{_SHA256[_WEIGHTS]}"

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ValidationError(
                f"threads must be 1 or more, not {threads}; leave it out for a good default"
            )
        self._threads = threads or min(_MAX_THREADS, _available_cores())
        self._lock = threading.Lock()
        self._encoder: _Encoder | None = None

    def load(self) -> None:
        """Load the model now rather than on first use; loading twice is harmless."""
        self._loaded()

    def embed(self, text: str) -> list[float]:
        """The vector of one item's text."""
        return self.embed_batch([text])[0]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.embed_batch([QUERY_PREFIX + text])[0]

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of many items' texts, in their order; each has length 1."""
        if not texts:
            return []
        encoder = self._loaded()
        # One by one: `encode_batch` would start threads of its own, and costs next to nothing here.
        tokens = [encoder.tokenizer.encode(_clean(text)).ids for text in texts]
        vectors: list[list[float]] = [[]] * len(texts)
        for batch in _batches([len(ids) for ids in tokens]):
            for position, vector in zip(batch, _run(encoder, [tokens[at] for at in batch]), strict=True):
                vectors[position] = vector
        return checked(vectors, len(texts), self.dimensions)

    def _loaded(self) -> _Encoder:
        with self._lock:
            if self._encoder is None:
                from tokenizers import Tokenizer

                tokenizer = Tokenizer.from_str(_read(_VOCABULARY).decode())
                tokenizer.enable_truncation(_MAX_TOKENS)
                self._encoder = _Encoder(tokenizer, _session(_read(_WEIGHTS), self._threads))
            return self._encoder


def _clean(text: str) -> str:
    """What the tokenizer can read: no lone surrogates, and no more than 512 tokens can ever come from."""
    return text[:_MAX_CHARACTERS].encode(errors="replace").decode()


def _run(encoder: _Encoder, tokens: Sequence[Sequence[int]]) -> list[list[float]]:
    """One batch through the graph: the first token's vector of each text, at length 1."""
    import numpy as np

    width = max(map(len, tokens))
    ids = np.zeros((len(tokens), width), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(tokens):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    try:
        hidden = encoder.session.run(["last_hidden_state"], inputs)[0]
    except _runtime_errors() as error:
        raise EmbeddingError(f"the bundled model failed: {error}; is there enough free memory?") from error
    first = hidden[:, 0]
    return cast(list[list[float]], (first / np.linalg.norm(first, axis=1, keepdims=True)).tolist())


# Over HTTP -----------------------------------------------------------------------------------------------

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
                    return cast(bytes, response.read())
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


# Packages the user may have ------------------------------------------------------------------------------

_FOREIGN_ERRORS = (OSError, ValueError, RuntimeError)


class SentenceTransformersProvider:
    """A model run by sentence-transformers, which may download it."""

    def __init__(self, model: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra("sentence-transformers", "sentence-transformers") from error
        self.model = model
        try:
            self._encoder = SentenceTransformer(model)
        except _FOREIGN_ERRORS as error:
            raise EmbeddingError(f"sentence-transformers cannot load {model!r}: {error}") from error
        self.dimensions: int = len(self._encode(["dimensions"], "document", None)[0])

    def embed(self, text: str) -> list[float]:
        """The vector of one item's text."""
        return self.embed_batch([text])[0]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, with the model's own prompt for questions where it has one."""
        return self._encode([text], "query", self.dimensions)[0]

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of many items' texts, in their order."""
        return self._encode(texts, "document", self.dimensions) if texts else []

    def _encode(self, texts: Sequence[str], role: str, dimensions: int | None) -> list[list[float]]:
        prompt = (getattr(self._encoder, "prompts", None) or {}).get(role)
        try:
            vectors = self._encoder.encode(
                list(texts), prompt=prompt or None, normalize_embeddings=True, show_progress_bar=False
            )
        except _FOREIGN_ERRORS as error:
            raise EmbeddingError(f"sentence-transformers failed on {self.model!r}: {error}") from error
        return checked(vectors, len(texts), dimensions)


class FastEmbedProvider:
    """A model run by fastembed, which may download it."""

    def __init__(self, model: str) -> None:
        try:
            from fastembed import TextEmbedding
        except ImportError as error:
            raise MissingExtra("fastembed", "fastembed") from error
        self.model = model
        try:
            self._encoder = TextEmbedding(model_name=model)
        except _FOREIGN_ERRORS as error:
            raise EmbeddingError(f"fastembed cannot load {model!r}: {error}") from error
        self.dimensions: int = len(self._collect(self._encoder.passage_embed, ["dimensions"], None)[0])

    def embed(self, text: str) -> list[float]:
        """The vector of one item's text."""
        return self.embed_batch([text])[0]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, as fastembed asks it of this model."""
        return self._collect(self._encoder.query_embed, [text], self.dimensions)[0]

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of many items' texts, in their order."""
        return self._collect(self._encoder.passage_embed, texts, self.dimensions) if texts else []

    def _collect(
        self, encode: Callable[[list[str]], Iterable[Any]], texts: Sequence[str], dimensions: int | None
    ) -> list[list[float]]:
        try:
            vectors = list(encode(list(texts)))
        except _FOREIGN_ERRORS as error:
            raise EmbeddingError(f"fastembed failed on {self.model!r}: {error}") from error
        return checked(vectors, len(texts), dimensions)
