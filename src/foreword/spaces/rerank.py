"""The bundled cross-encoder: reads a question and a text together and says how well one answers the other.

Ten times as dear as comparing vectors, so it is for the best few candidates, while the deadline allows. It
scores best first and stops in time: whoever asks gets the scores of the leading texts. Scores are cached by
question and text.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from foreword.spaces import onnx
from foreword.types import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MINILM = onnx.Bundle(
    "ms-marco-MiniLM-L-12-v2",
    {
        onnx.WEIGHTS: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        onnx.VOCABULARY: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    },
)
_MAX_TOKENS = 256
_BATCH = 8
_CACHED = 4096
_CAUTION = 1.4
"""A batch may take this much longer than the last ones did."""

_FIRST_GUESS = 0.0006
"""Seconds a token, before any has been measured."""


class BundledReranker:
    """ms-marco-MiniLM-L-12-v2 in int8, from the package itself; loaded on first use."""

    def __init__(self, threads: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._threads = threads or onnx.default_threads()
        self._clock = clock
        self._lock = threading.Lock()
        self._loaded: onnx.Loaded | None = None
        self._known: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._pace = _FIRST_GUESS

    def load(self) -> onnx.Loaded:
        """Load the model now rather than on first use; loading twice is harmless."""
        with self._lock:
            if self._loaded is None:
                loaded = onnx.load(MINILM, self._threads, _MAX_TOKENS)
                onnx.run(loaded, [[101, 102]])  # the first run is slow, and says nothing of the pace
                self._loaded = loaded
            return self._loaded

    def scores(self, query: str, texts: Sequence[str], expires: float | None = None) -> list[float]:
        """How well each text answers the question, as logits; of the leading texts only, if time runs out."""
        asked = text_hash(query)
        scores: list[float] = []
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            keys = [(asked, text_hash(text)) for text in batch]
            fresh = [at for at, key in enumerate(keys) if key not in self._known]
            if fresh and not self._score(
                query, [batch[at] for at in fresh], [keys[at] for at in fresh], expires
            ):
                break
            scores += [self._known[key] for key in keys]
        return scores

    def _score(
        self, query: str, texts: Sequence[str], keys: Sequence[tuple[str, str]], expires: float | None
    ) -> bool:
        """Score one batch into the cache; False when it would not be done in time."""
        loaded = self.load()
        pairs = [loaded.tokenizer.encode(onnx.clean(query), onnx.clean(text)) for text in texts]
        tokens = len(pairs) * max(len(pair.ids) for pair in pairs)
        started = self._clock()
        if expires is not None and started + _CAUTION * tokens * self._pace > expires:
            return False
        logits = onnx.run(loaded, [pair.ids for pair in pairs], [pair.type_ids for pair in pairs])
        taken = (self._clock() - started) / tokens
        self._pace = (self._pace + taken) / 2
        for key, logit in zip(keys, logits.reshape(len(pairs), -1)[:, 0].tolist(), strict=True):
            self._known[key] = logit
        while len(self._known) > _CACHED:
            self._known.popitem(last=False)
        return True
