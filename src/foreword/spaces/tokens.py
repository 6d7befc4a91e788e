"""Late interaction: a question and an item are compared token by token.

The encoder (answerai-colbert-small-v1, in int8) gives every token a vector of its own, in the context of its
sentence. Those of an item are made once, after the write, and stored as codes; those of a question are made
when it is asked. How well an item answers is the mean, over the tokens of the question, of
the cosine of the item's nearest token. That sees which part of a turn answers which part of a question, where
one vector for the whole turn blurs them, and costs a fraction of reading both together.

The encoder's states are projected to fewer dimensions by a matrix of our own (`tools/fit_tokens.py`), and a
long text has neighbouring tokens that are alike merged, so that no item takes more than a page of the
database.
"""

from __future__ import annotations

import string
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from foreword.errors import EmbeddingError
from foreword.spaces.bundled import (
    GRAPH,
    WEIGHTS,
    BundledModel,
    default_thread_count,
    group_by_length,
    load_in_time,
    load_model,
    read_model_file,
    run_batch,
    translate_and_cut_for_models,
)
from foreword.spaces.threads import work_in_threads
from foreword.types import text_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.spaces.bundled import LoadedModel
    from foreword.types import Item

PROJECTION = "projection.f32"
COLBERT = BundledModel(
    "answerai-colbert-small-v1",
    {
        WEIGHTS: "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0",
        GRAPH: "9954f2284d117aa607032c32a8f5921e8497d3c990cd42771f9b3a79521ce9c8",
        PROJECTION: "e2bbe830fadf30ad90759139b6409ac07f9071211b6bb6503ebb04d592d0344d",
    },
)
DIMENSIONS = 64
MAX_VECTORS = 60
"""At most how many vectors an item has: with their row they fit into one page of four kilobytes."""

_MAX_ITEM_TOKENS = 256
_MAX_QUESTION_TOKENS = 96
_BATCH_TEXTS, _BATCH_TOKENS = 16, 512
_QUESTION_TOKEN, _ITEM_TOKEN = 1, 2
"""Special tokens, put after the first one, that tell the encoder whether it reads a question or an item."""

_MAX_CACHED_QUESTIONS = 256


class TokenEncoder:
    """Vectors of single tokens, from the package itself: no key, no network; loaded on first use."""

    name = "token_match"

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or default_thread_count()
        self._lock = threading.Lock()
        self._model: LoadedModel | None = None
        self._questions: OrderedDict[str, Future[Any]] = OrderedDict()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="foreword-tokens")

    @cached_property
    def digest(self) -> str:
        """The name of the encoder; it changes with its weights, its projection and the size of codes."""
        files = f"{COLBERT.sha256[WEIGHTS][:16]}:{COLBERT.sha256[PROJECTION][:16]}"
        return f"{COLBERT.name}:{files}:{MAX_VECTORS}x{DIMENSIONS}"

    @cached_property
    def projection(self) -> Any:  # noqa: ANN401  (an array of numpy, which is imported on first use)
        """The matrix from the encoder's states to the dimensions that are stored."""
        import numpy as np

        return np.frombuffer(read_model_file(COLBERT, PROJECTION), "<f4").reshape(-1, DIMENSIONS)

    def load(self) -> LoadedModel:
        """Load the model now rather than on first use; EmbeddingError if it is missing or damaged."""
        with self._lock:
            if self._model is None:
                # One thread for each text: a question is encoded beside its vector, items beside each other.
                self._model = load_model(COLBERT, 1, _MAX_ITEM_TOKENS)
            return self._model

    def clear_question_cache(self) -> None:
        """Clear the cache of questions."""
        self._questions.clear()

    def encode_items(self, items: Sequence[Item]) -> list[bytes]:
        """The codes of items, in order; EmbeddingError if the model cannot be run."""
        states = self.token_states([item.searchable for item in items])
        return [self._states_to_codes(one) for one in states]

    def token_states(self, texts: Sequence[str]) -> list[Any]:
        """The encoder's own states for the tokens of items' texts, without punctuation; a matrix a text."""
        model = self.load()
        tokens = [
            _insert_token_after_first(
                model.tokenizer.encode(translate_and_cut_for_models(text)).ids, _ITEM_TOKEN
            )
            for text in texts
        ]
        punctuation = self._punctuation
        states: list[Any] = [None] * len(texts)
        batches = list(group_by_length([len(ids) for ids in tokens], _BATCH_TEXTS, _BATCH_TOKENS))
        waiting = iter(batches)

        def encode_next_batches() -> None:
            for batch in waiting:  # each is taken by one thread: the next of a list is taken under a lock
                found = run_batch(model, [tokens[at] for at in batch])
                for at, rows in zip(batch, found, strict=True):
                    words = [place for place, one in enumerate(tokens[at]) if one not in punctuation]
                    states[at] = rows[words]

        work_in_threads(encode_next_batches, min(self._threads, len(batches)))
        return states

    def compare(
        self, question: str, codes: Sequence[bytes], expires: float | None = None
    ) -> list[float] | None:
        """How well each item answers: 1 at best. None if time runs out before the model is loaded.

        EmbeddingError if the model cannot be run, or codes are not those of this encoder.
        """
        if not codes:
            return []
        if any(not one or len(one) % DIMENSIONS for one in codes):
            raise EmbeddingError("codes of tokens have the wrong length; store what they are of again")
        late = expires is not None and time.monotonic() > expires
        model = None if late else self._model or load_in_time(self.load, expires)
        return (
            None
            if model is None
            else mean_cosine_of_nearest(self._cached_question_vectors(model, question), codes)
        )

    @cached_property
    def _punctuation(self) -> frozenset[int]:
        """The tokens that are punctuation and nothing else."""
        vocabulary = self.load().tokenizer.get_vocab()
        marks = set(string.punctuation)
        return frozenset(
            number for token, number in vocabulary.items() if set(token.removeprefix("##")) <= marks
        )

    def encode_soon(self, question: str) -> None:
        """Begin to encode a question in a thread, so that `compare` finds it; loads the model if need be."""
        if question.strip() and text_hash(question) not in self._questions:
            # Its thread stays for the next question: starting one means waiting until it runs.
            self._thread.submit(self._encode_question_into_cache, question)

    def _encode_question_into_cache(self, question: str) -> None:
        with suppress(EmbeddingError):  # `compare` will try again, and raise it
            self._cached_question_vectors(self.load(), question)

    def _cached_question_vectors(self, model: LoadedModel, question: str) -> Any:  # noqa: ANN401
        """The vectors of a question's tokens; from the cache if it was asked lately, or is being encoded."""
        key = text_hash(question)
        with self._lock:
            vectors = self._questions.get(key)
            is_first = vectors is None
            if vectors is None:
                vectors = self._questions[key] = Future()
                while len(self._questions) > _MAX_CACHED_QUESTIONS:
                    self._questions.popitem(last=False)
        if is_first:
            try:
                vectors.set_result(self._encode_question(model, question))
            except BaseException as error:
                self._questions.pop(key, None)
                vectors.set_exception(error)
                raise
        return vectors.result()

    def _encode_question(self, model: LoadedModel, question: str) -> Any:  # noqa: ANN401
        *ids, last = model.tokenizer.encode(translate_and_cut_for_models(question)).ids
        ids = _insert_token_after_first([*ids[: _MAX_QUESTION_TOKENS - 1], last], _QUESTION_TOKEN)
        return _to_unit_length(_to_unit_length(run_batch(model, [ids])[0]) @ self.projection)

    def _states_to_codes(self, states: Any) -> bytes:  # noqa: ANN401
        """The codes of an item's tokens, from their states: projected, merged if there are many, in int8."""
        import numpy as np

        vectors = _merge_most_alike_neighbours(
            _to_unit_length(_to_unit_length(states) @ self.projection), MAX_VECTORS
        )
        largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9)
        return bytes(np.rint(vectors / largest * 127).astype(np.int8).data)


def mean_cosine_of_nearest(question_vectors: Any, codes: Sequence[bytes]) -> list[float]:  # noqa: ANN401
    """For each item the mean, over the question's unit vectors, of the cosine of its nearest vector."""
    import numpy as np

    vectors = np.frombuffer(b"".join(codes), np.int8).reshape(-1, DIMENSIONS).astype(np.float32)
    vectors /= np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), 1e-9)[:, None]
    nearest = np.empty((len(codes), len(question_vectors)), np.float32)
    start = 0
    # Item by item: one large product would be shared out to threads, and on a busy machine wait for them.
    for item, one in enumerate(codes):
        end = start + len(one) // DIMENSIONS
        (question_vectors @ vectors[start:end].T).max(axis=1, out=nearest[item])
        start = end
    return cast("list[float]", nearest.mean(axis=1).tolist())


def _merge_most_alike_neighbours(vectors: Any, most: int) -> Any:  # noqa: ANN401
    """At most `most` vectors: the two neighbours that are most alike are merged, again and again."""
    import numpy as np

    runs, units = list(vectors), list(vectors)  # a run is the sum of its vectors
    alike = [float(one @ other) for one, other in pairwise(units)]
    while len(runs) > most:
        at = int(np.argmax(alike))
        runs[at : at + 2] = [runs[at] + runs[at + 1]]
        units[at : at + 2] = [runs[at] / max(float(np.linalg.norm(runs[at])), 1e-9)]
        del alike[at]
        for place in (at - 1, at):
            if 0 <= place < len(alike):
                alike[place] = float(units[place] @ units[place + 1])
    return np.stack(units)


def _insert_token_after_first(ids: Sequence[int], token: int) -> list[int]:
    """The tokens of a text with a special token after the first one."""
    return [ids[0], token, *ids[1:]]


def _to_unit_length(vectors: Any) -> Any:  # noqa: ANN401
    """The vectors, each at length 1."""
    import numpy as np

    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
