"""The models that come with the package, in int8: an encoder and a cross-encoder. They need no network.

The encoder (bge-small-en-v1.5) makes vectors. The cross-encoder (ms-marco-MiniLM-L-12-v2) reads a question
and a text together and says how well one answers the other: ten times as dear as comparing vectors, so it is
for the best few candidates, while the deadline allows.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, cast

from foreword.errors import ValidationError
from foreword.spaces import onnx
from foreword.spaces.providers import check_vectors
from foreword.types import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
"""What the bundled model was trained to see in front of a question, and never in front of an answer."""

BGE = onnx.BundledModel(
    "bge-small-en-v1.5",
    {
        onnx.WEIGHTS: "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        onnx.VOCABULARY: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
    },
)
_MAX_TEXT_TOKENS = 512
# Small batches are the fastest: larger ones leave the processor's caches. Measured on two cores, threads not
# spinning, turns and abstracts a second: 16 texts of 512 tokens 321 and 21.8, of 4,096 tokens 321 and 16.2,
# one text at a time 176 and 21.0. The larger ones also cost 400 MB more memory.
_BATCH_TEXTS = 16
_BATCH_TOKENS = 512


class BundledEmbeddingProvider:
    """bge-small-en-v1.5 in int8, from the package itself: no key, no network; loaded on first use."""

    model: str = BGE.name
    dimensions: int = 384
    unrelated: float = 0.53
    fingerprint: str = f"sha256:{BGE.sha256[onnx.WEIGHTS]}"

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ValidationError(
                f"threads must be 1 or more, not {threads}; leave it out for a good default"
            )
        self._threads = threads or onnx.default_threads()
        self._lock = threading.Lock()
        self._model: onnx.LoadedModel | None = None

    def load(self) -> None:
        """Load the model now rather than on first use; loading twice is harmless."""
        self._loaded_model()

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
        encoder = self._loaded_model()
        # One by one: `encode_batch` would start threads of its own, and costs next to nothing here.
        tokens = [encoder.tokenizer.encode(onnx.clean_text(text)).ids for text in texts]
        vectors: list[list[float]] = [[]] * len(texts)
        for batch in onnx.group_by_length([len(ids) for ids in tokens], _BATCH_TEXTS, _BATCH_TOKENS):
            found = _first_token_vectors(onnx.run_batch(encoder, [tokens[at] for at in batch]))
            for position, vector in zip(batch, found, strict=True):
                vectors[position] = vector
        return check_vectors(vectors, len(texts), self.dimensions)

    def _loaded_model(self) -> onnx.LoadedModel:
        with self._lock:
            if self._model is None:
                self._model = onnx.load_model(BGE, self._threads, _MAX_TEXT_TOKENS)
            return self._model


def _first_token_vectors(hidden_states: Any) -> list[list[float]]:  # noqa: ANN401  (onnxruntime has no types)
    """The first token's vector of each text, at length 1."""
    import numpy as np

    first = hidden_states[:, 0]
    return cast("list[list[float]]", (first / np.linalg.norm(first, axis=1, keepdims=True)).tolist())


MINILM = onnx.BundledModel(
    "ms-marco-MiniLM-L-12-v2",
    {
        onnx.WEIGHTS: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        onnx.VOCABULARY: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    },
)
_MAX_PAIR_TOKENS = 256
_BATCH_PAIRS = 8
_MAX_CACHED_SCORES = 4096
_SLOWDOWN_ALLOWED = 1.4
"""A batch is started only if it would be done in time though it took this much longer than the last."""

_FIRST_SECONDS_PER_TOKEN = 0.0006
"""How many seconds a token is taken to cost before any has been measured."""


class BundledReranker:
    """ms-marco-MiniLM-L-12-v2 in int8, from the package itself; loaded on first use.

    Texts are scored in their order until time runs out. Scores are cached by question and text.
    """

    def __init__(self, threads: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._threads = threads or onnx.default_threads()
        self._clock = clock
        self._lock = threading.Lock()
        self._loaded: onnx.LoadedModel | None = None
        self._score_cache: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._seconds_per_token = _FIRST_SECONDS_PER_TOKEN

    def load(self) -> onnx.LoadedModel:
        """Load the model now rather than on first use; loading twice is harmless."""
        with self._lock:
            if self._loaded is None:
                loaded = onnx.load_model(MINILM, self._threads, _MAX_PAIR_TOKENS)
                onnx.run_batch(loaded, [[101, 102]])  # the first run is slow, and shows no usual pace
                self._loaded = loaded
            return self._loaded

    def scores(self, query: str, texts: Sequence[str], expires: float | None = None) -> list[float]:
        """How well each text answers the question, as logits; of the leading texts only, if time runs out."""
        query_hash = text_hash(query)
        scores: list[float] = []
        for start in range(0, len(texts), _BATCH_PAIRS):
            batch = texts[start : start + _BATCH_PAIRS]
            keys = [(query_hash, text_hash(text)) for text in batch]
            unscored = [at for at, key in enumerate(keys) if key not in self._score_cache]
            if unscored and not self._score_batch_if_in_time(
                query, [batch[at] for at in unscored], [keys[at] for at in unscored], expires
            ):
                break
            scores += [self._score_cache[key] for key in keys]
        return scores

    def _score_batch_if_in_time(
        self, query: str, texts: Sequence[str], keys: Sequence[tuple[str, str]], expires: float | None
    ) -> bool:
        """Score one batch into the cache; False when it would not be done in time."""
        loaded = self.load()
        pairs = [loaded.tokenizer.encode(onnx.clean_text(query), onnx.clean_text(text)) for text in texts]
        tokens = len(pairs) * max(len(pair.ids) for pair in pairs)
        started = self._clock()
        if expires is not None and started + _SLOWDOWN_ALLOWED * tokens * self._seconds_per_token > expires:
            return False
        logits = onnx.run_batch(loaded, [pair.ids for pair in pairs], [pair.type_ids for pair in pairs])
        taken = (self._clock() - started) / tokens
        self._seconds_per_token = (self._seconds_per_token + taken) / 2
        for key, logit in zip(keys, logits.reshape(len(pairs), -1)[:, 0].tolist(), strict=True):
            self._score_cache[key] = logit
        while len(self._score_cache) > _MAX_CACHED_SCORES:
            self._score_cache.popitem(last=False)
        return True
