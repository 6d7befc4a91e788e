"""The models that come with the package, in int8: an encoder and a cross-encoder. They need no network.

The encoder (bge-small-en-v1.5) makes vectors. The cross-encoder (ms-marco-MiniLM-L-12-v2) reads a question
and a text together and scores how well the text answers it. That costs ten times as much as comparing
vectors, so it is done for the best few candidates, while the deadline allows. Model files are read and
verified here, also for other modules, and run by onnxruntime; its own telemetry, which would use the network,
is switched off before it is imported.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import threading
import time
from collections import OrderedDict
from concurrent.futures import wait
from dataclasses import dataclass
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from foreword.errors import EmbeddingError, ValidationError
from foreword.spaces.providers import check_vectors
from foreword.spaces.threads import begin_in_thread, work_in_threads
from foreword.text.translate import to_english
from foreword.types import text_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import ModuleType

    from tokenizers import Tokenizer

    Run = Callable[[Sequence[int]], Any]
    """Scores the texts at the given places: a row of logits for each."""

    Keep = Callable[[Sequence[int], Any], None]
    """Keeps what is wanted of the output for the texts at the given places."""

WEIGHTS, GRAPH, VOCABULARY = "model.onnx", "graph.onnx", "tokenizer.json"
_MAX_THREADS = 4
_MIN_BATCHES_PER_THREAD = 3
_EXACT_INSTRUCTIONS, _MAX_DESCRIPTION = frozenset({"avx512_vnni", "avx_vnni"}), 16_000
_MAX_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class BundledModel:
    """One model of the package: the name of its folder, and the digests of its files."""

    name: str
    sha256: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory: its tokenizer and its session of onnxruntime."""

    tokenizer: Tokenizer
    session: Any


WORDPIECE = BundledModel(
    "wordpiece", {VOCABULARY: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448"}
)
"""How texts are cut into tokens: all bundled models were trained with the same vocabulary."""

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
"""The words that the bundled encoder was trained to see before a question, and never before an answer."""

BGE = BundledModel(
    "bge-small-en-v1.5",
    {
        WEIGHTS: "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        GRAPH: "cc3e23d1c517110df64d65473c4e29c5e4a328f7ea2865ba8a2f063dad9b128c",
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
    fingerprint: str = f"sha256:{BGE.sha256[WEIGHTS]}"

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ValidationError(
                f"threads must be 1 or more, not {threads}; leave it out for a good default"
            )
        self._threads = threads or default_thread_count()
        self._lock = threading.Lock()
        self._model: LoadedModel | None = None

    def load(self) -> LoadedModel:
        """Load the model now rather than on first use; loading twice is harmless."""
        with self._lock:
            if self._model is None:
                self._model = load_model(BGE, self._threads, _MAX_TEXT_TOKENS)
            return self._model

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
        encoder = self.load()
        # One by one: `encode_batch` would start threads of its own, and costs next to nothing here.
        tokens = [encoder.tokenizer.encode(translate_and_cut_for_models(text)).ids for text in texts]
        vectors: list[list[float]] = [[]] * len(texts)

        def store_first_token_vectors(batch: Sequence[int], hidden_states: Any) -> None:  # noqa: ANN401
            for position, vector in zip(batch, first_token_vectors(hidden_states), strict=True):
                vectors[position] = vector

        run_in_batches_by_length(encoder, tokens, self._threads, store_first_token_vectors)
        return check_vectors(vectors, len(texts), self.dimensions)


def first_token_vectors(hidden_states: Any) -> list[list[float]]:  # noqa: ANN401  (onnxruntime has no types)
    """The first token's vector of each text, at length 1."""
    import numpy as np

    first = hidden_states[:, 0]
    return cast("list[list[float]]", (first / np.linalg.norm(first, axis=1, keepdims=True)).tolist())


MINILM = BundledModel(
    "ms-marco-MiniLM-L-12-v2",
    {
        WEIGHTS: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        GRAPH: "e4fbb2922abfeb94fb8ee7002bd779d34b4d860daadd5611fad888fdc86dcad1",
    },
)
MAX_PAIR_TOKENS = 256
BATCH_PAIRS, BATCH_PAIR_TOKENS = 6, 512
"""At most how many texts, and how many of their tokens, are scored in one batch. A deadline can be kept only
as exactly as a batch is short."""

_MAX_CACHED_SCORES = 4096
_SLOWDOWN_ALLOWED = 1.4
"""A batch is started only if it would be done in time even if it took this much longer than the last."""

_PACE_QUESTION, _PACE_TEXTS = "How fast is this machine?", ("It is as fast as it is. " * 8,) * 4
_PACE_RUNS = 3
"""A question and texts that are scored after loading, this often, to see how fast this machine is."""

_MIN_SECONDS_PER_TOKEN = 1e-6


@dataclass(frozen=True, slots=True)
class _Batch:
    """Texts that are scored together: under which keys, by which call, and how many tokens it reads."""

    keys: tuple[tuple[str, str], ...]
    run: Callable[[], Any]
    tokens: int


class BundledReranker:
    """A cross-encoder in int8, from the package itself; loaded on first use.

    Texts are scored in their order until time runs out. Scores are cached by question and text. Each batch is
    scored by one thread, several batches at once: that takes three quarters of the time of sharing out each
    batch to all threads, and less of the processor.
    """

    max_batch_texts: int = BATCH_PAIRS
    """At most how many texts are scored in one batch."""

    def __init__(
        self,
        threads: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        model: BundledModel = MINILM,
    ) -> None:
        self._bundle = model
        self._threads = threads or default_thread_count()
        self._clock = clock
        self._lock = threading.Lock()
        self._loaded: LoadedModel | None = None
        self._score_cache: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._seconds_per_token = _MIN_SECONDS_PER_TOKEN

    def load(self) -> LoadedModel:
        """Load the model now rather than on first use; loading twice is harmless."""
        with self._lock:
            if self._loaded is None:
                loaded = load_model(self._bundle, 1, MAX_PAIR_TOKENS)
                self._seconds_per_token = self._measure_seconds_per_token(loaded)
                self._loaded = loaded
            return self._loaded

    def _measure_seconds_per_token(self, loaded: LoadedModel) -> float:
        """How many seconds a token takes on this machine, at best: while it starts, much else is loaded."""
        lengths, run = self._prepare_scoring(loaded, _PACE_QUESTION, _PACE_TEXTS)
        run([0])  # the first run is slow, and shows no usual pace
        times = []
        for _ in range(_PACE_RUNS):
            started = self._clock()
            run(range(len(lengths)))
            times.append(self._clock() - started)
        return max(min(times) / sum(lengths), _MIN_SECONDS_PER_TOKEN)

    def _prepare_scoring(
        self, loaded: LoadedModel, query: str, texts: Sequence[str]
    ) -> tuple[list[int], Run]:
        """The number of tokens of each text, and a function that scores the texts at given places."""
        pairs = [
            loaded.tokenizer.encode(translate_and_cut_for_models(query), translate_and_cut_for_models(text))
            for text in texts
        ]

        def run(places: Sequence[int]) -> Any:  # noqa: ANN401  (onnxruntime has no types)
            rows = [pairs[at] for at in places]
            return run_batch(loaded, [row.ids for row in rows], [row.type_ids for row in rows])

        return [len(pair.ids) for pair in pairs], run

    def _load_in_time(self, expires: float | None) -> LoadedModel | None:
        """The model; None if time runs out while it is loading, which goes on for a later question."""
        return self._loaded or load_in_time(self.load, expires, self._clock)

    def scores(self, query: str, texts: Sequence[str], expires: float | None = None) -> list[float]:
        """How well each text answers the question, as logits; of the leading texts only, if time runs out."""
        query_hash = text_hash(query)
        keys = [(query_hash, text_hash(text)) for text in texts]
        unscored = [at for at, key in enumerate(keys) if key not in self._score_cache]
        if unscored and (loaded := self._load_in_time(expires)) is not None:
            lengths, run = self._prepare_scoring(loaded, query, [texts[at] for at in unscored])
            batches = [
                _Batch(tuple(keys[unscored[at]] for at in places), partial(run, places), tokens)
                for places, tokens in self._plan_batches_for_deadline(lengths, expires)
            ]
            self._score_in_threads(batches, expires)
        known = (self._score_cache.get(key) for key in keys)
        return list(takewhile(lambda score: score is not None, known))  # type: ignore[arg-type]

    def _plan_batches_for_deadline(
        self, lengths: Sequence[int], expires: float | None
    ) -> list[tuple[Sequence[int], int]]:
        """The places of texts by batches, each with the number of its tokens, padding included.

        Texts of like length are together, which wastes least; in their order if there is not time for all.
        What would be one or two batches is two of the same size, so that two threads are done together; of
        more, the largest goes first, so that no thread is left with it when the others are done.
        """

        def add_padded_token_count(places: Sequence[int]) -> tuple[Sequence[int], int]:
            return places, len(places) * max(lengths[at] for at in places)

        most = min(self.max_batch_texts, (len(lengths) + 1) // 2)
        by_length = group_by_length(lengths, most, BATCH_PAIR_TOKENS)
        batches = [add_padded_token_count(places) for places in by_length]
        if self._has_time_for(sum(tokens for _, tokens in batches) // self._threads, expires):
            return sorted(batches, key=lambda batch: batch[1], reverse=True)
        in_order = _group_in_order(range(len(lengths)), lengths, BATCH_PAIRS, BATCH_PAIR_TOKENS)
        return [add_padded_token_count(places) for places in in_order]

    def _score_in_threads(self, batches: Sequence[_Batch], expires: float | None) -> None:
        """Score batches in their order until there is no time for another."""
        waiting = iter(batches)

        def score_next_batches() -> None:
            for batch in waiting:  # each is taken by one thread: the next of a list is taken under a lock
                if not self._has_time_for(batch.tokens, expires):
                    return
                self._score_batch(batch)

        work_in_threads(score_next_batches, min(self._threads, len(batches)))
        if batches and batches[0].keys[0] not in self._score_cache and self._has_time_for(0, expires):
            # Perhaps the pace was that of a busy moment. Without a batch it would never be measured again.
            self._seconds_per_token /= 2

    def _expected_seconds(self, tokens: int) -> float:
        """How many seconds this many tokens take, with some slowdown allowed for."""
        return _SLOWDOWN_ALLOWED * tokens * self._seconds_per_token

    def _has_time_for(self, tokens: int, expires: float | None) -> bool:
        return expires is None or self._clock() + self._expected_seconds(tokens) <= expires

    def _score_batch(self, batch: _Batch) -> None:
        """Score one batch into the cache, and note how long it took."""
        started = self._clock()
        logits = batch.run()
        self._seconds_per_token = (self._seconds_per_token + (self._clock() - started) / batch.tokens) / 2
        for key, logit in zip(batch.keys, logits.reshape(len(batch.keys), -1)[:, 0].tolist(), strict=True):
            self._score_cache[key] = logit
        while len(self._score_cache) > _MAX_CACHED_SCORES:
            self._score_cache.popitem(last=False)


# How they are run ----------------------------------------------------------------------------------------


def load_model(bundle: BundledModel, threads: int, max_tokens: int) -> LoadedModel:
    """A bundled model, ready to run; texts are cut to `max_tokens`. EmbeddingError if it is damaged."""
    map_model_file(bundle, GRAPH)
    graph = model_folder(bundle.name) / GRAPH
    session = begin_in_thread(partial(start_inference_session, graph, threads), "foreword-session")
    try:
        tokenizer = _make_tokenizer(max_tokens)
        map_model_file(bundle, WEIGHTS)  # the session maps the same file
    finally:
        wait([session])
    return LoadedModel(tokenizer, session.result())


def _make_tokenizer(max_tokens: int) -> Tokenizer:
    """A tokenizer that cuts texts to `max_tokens`; the vocabulary is read once and shared by all.

    It pads nothing: `run_batch` pads to the longest of its batch, and masks what it pads.
    """
    from tokenizers import Tokenizer

    with _vocabulary_lock:
        known = _load_tokenizer()
    made = Tokenizer(known.model)
    for part in ("normalizer", "pre_tokenizer", "post_processor"):
        setattr(made, part, getattr(known, part))
    made.add_special_tokens(list(known.get_added_tokens_decoder().values()))
    made.enable_truncation(max_tokens)
    return made


_vocabulary_lock = threading.Lock()


@cache
def _load_tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer

    return Tokenizer.from_str(read_model_file(WORDPIECE, VOCABULARY).decode())


def load_in_time(
    load: Callable[[], LoadedModel], expires: float | None, clock: Callable[[], float] = time.monotonic
) -> LoadedModel | None:
    """The loaded model; None if time runs out first: loading then goes on for a later question."""
    if expires is None:
        return load()
    try:
        return begin_in_thread(load, "foreword-load").result(max(0.0, expires - clock()))
    except TimeoutError:
        return None


def model_folder(name: str) -> Path:
    """The folder of a model's files."""
    return Path(__file__).parent / "models" / name


def read_model_file(bundle: BundledModel, name: str) -> bytes:
    """The content of a bundled file; EmbeddingError if it is missing or is not the one that was bundled."""
    return bytes(map_model_file(bundle, name))


def map_model_file(bundle: BundledModel, name: str) -> mmap.mmap:
    """A bundled file, mapped into memory; EmbeddingError as for `read_model_file`."""
    advice = "reinstall it: pip install --force-reinstall foreword"
    try:
        with (model_folder(bundle.name) / name).open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped: ValueError
        raise EmbeddingError(f"cannot read {name} of {bundle.name} ({error}); {advice}") from error
    # A flipped bit would load and give vectors that are quietly wrong; 20 ms buy certainty.
    if hashlib.sha256(data).hexdigest() != bundle.sha256[name]:
        raise EmbeddingError(f"{name} of {bundle.name} is damaged; {advice}")
    return data


def start_inference_session(graph: Path, threads: int) -> Any:  # noqa: ANN401  (onnxruntime has no types)
    """A session that runs a graph, and the weights that it names, on the processor."""
    runtime = _import_onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Spinning gains 7 % on batches by burning cores while idle; we are a guest on this machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not has_exact_int8_sums(_describe_processors()):
        options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except _onnxruntime_error_types() as error:
        raise EmbeddingError(
            f"onnxruntime cannot run the bundled model: {error}; upgrade onnxruntime"
        ) from error


def has_exact_int8_sums(processors: str) -> bool:
    """Whether processors, described as in /proc/cpuinfo, have instructions that add int8 products exactly.

    Others add two products in sixteen bits and cut off what does not fit, unless onnxruntime is asked for
    exact sums. Where they are exact anyway, asking costs nearly twice the time and changes nothing.
    """
    flags = next((line for line in processors.splitlines() if line.startswith("flags")), "")
    return not _EXACT_INSTRUCTIONS.isdisjoint(flags.split())


@cache
def _describe_processors() -> str:
    """How the system describes its first processors; empty where it does not have such a file."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_DESCRIPTION)
    except OSError:
        return ""


def run_batch(
    loaded: LoadedModel,
    token_ids: Sequence[Sequence[int]],
    type_ids: Sequence[Sequence[int]] | None = None,
) -> Any:  # noqa: ANN401
    """The first output for one batch, padded to its longest text."""
    ids, mask = pad_rows(token_ids)
    kinds = pad_rows(type_ids)[0] if type_ids is not None else ids * 0
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
    return run_loaded_model(loaded, inputs)[0]


def run_in_batches_by_length(
    loaded: LoadedModel, token_ids: Sequence[Sequence[int]], threads: int, keep: Keep
) -> None:
    """Run texts in batches of like length, as many batches at once as there are threads.

    `keep` gets the positions of a batch and its output. Many batches beside each other take half to two
    thirds of the time that they take one by one, each shared out to all threads, and are the same to the bit.
    A few, for which somebody waits, are run one by one: they would get in the way of what runs beside them.
    """
    batches = list(group_by_length([len(ids) for ids in token_ids], _BATCH_TEXTS, _BATCH_TOKENS))
    waiting = iter(batches)

    def run_next_batches() -> None:
        for batch in waiting:  # each is taken by one thread: the next of a list is taken under a lock
            keep(batch, run_batch(loaded, [token_ids[at] for at in batch]))

    work_in_threads(run_next_batches, threads if len(batches) >= _MIN_BATCHES_PER_THREAD * threads else 1)


def pad_rows(rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """The rows as one array, padded with zeros to the longest, and a mask that is 1 where they are."""
    import numpy as np

    filled = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    mask = np.zeros_like(filled)
    for at, row in enumerate(rows):
        filled[at, : len(row)] = row
        mask[at, : len(row)] = 1
    return filled, mask


def run_loaded_model(loaded: LoadedModel, inputs: Mapping[str, Any]) -> list[Any]:
    """The outputs of a model; EmbeddingError if it fails."""
    try:
        return cast("list[Any]", loaded.session.run(None, inputs))
    except _onnxruntime_error_types() as error:
        raise EmbeddingError(f"the bundled model failed: {error}; is there enough free memory?") from error


def group_by_length(lengths: Sequence[int], max_texts: int, max_tokens: int) -> Iterator[list[int]]:
    """Groups of positions of like length: at most `max_texts` and, padded, `max_tokens` each; shortest first.

    This keeps the padding small, because int8 vectors drift with it.
    """
    positions = sorted(range(len(lengths)), key=lengths.__getitem__)
    return _group_in_order(positions, lengths, max_texts, max_tokens)


def _group_in_order(
    positions: Iterable[int], lengths: Sequence[int], max_texts: int, max_tokens: int
) -> Iterator[list[int]]:
    """The positions in batches of at most `max_texts` and, padded, `max_tokens`; one text may have more."""
    batch: list[int] = []
    longest = 0
    for position in positions:
        longest = max(longest, lengths[position])
        if batch and (len(batch) == max_texts or longest * (len(batch) + 1) > max_tokens):
            yield batch
            batch, longest = [], lengths[position]
        batch.append(position)
    if batch:
        yield batch


def translate_and_cut_for_models(text: str) -> str:
    """The text as the bundled models, which know English, can read it.

    Other languages are translated word by word; lone surrogates are replaced, and what is well above 512
    tokens is cut.
    """
    return to_english(text[:_MAX_CHARACTERS].encode(errors="replace").decode())


def default_thread_count() -> int:
    """As many threads as there are cores to use, at most four."""
    if hasattr(os, "sched_getaffinity"):
        return min(_MAX_THREADS, len(os.sched_getaffinity(0)))
    return min(_MAX_THREADS, os.cpu_count() or 1)


def _import_onnxruntime() -> ModuleType:
    """Import onnxruntime with its telemetry switched off."""
    # Its telemetry starts with the first import, unless this is set before.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime  # type: ignore[no-any-return]


def _onnxruntime_error_types() -> tuple[type[Exception], ...]:
    """The types of errors that onnxruntime raises; they share no ancestor but Exception."""
    state = _import_onnxruntime().capi.onnxruntime_pybind11_state
    refused = (state.InvalidProtobuf, state.InvalidGraph, state.InvalidArgument, state.NotImplemented)
    return (RuntimeError, state.Fail, state.RuntimeException, *refused)
