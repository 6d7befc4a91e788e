"""The weights that come with the package: read, verified, and made ready to run.

Knows files, digests and onnxruntime; nothing of what a model is for. Never touches the network: onnxruntime's
own telemetry, which would, is switched off before it is imported.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from foreword.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable
    from types import ModuleType

    from tokenizers import Tokenizer

WEIGHTS, VOCABULARY = "model.onnx", "tokenizer.json"
_MAX_THREADS = 4
_MAX_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class Bundle:
    """One model of the package: its folder's name, and the digests of its two files."""

    name: str
    sha256: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What is loaded once: the words and the graph."""

    tokenizer: Tokenizer
    session: Any


def load(bundle: Bundle, threads: int, max_tokens: int) -> Loaded:
    """A bundled model, ready to run; texts are cut to `max_tokens`."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(read(bundle, VOCABULARY).decode())
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()  # `run` pads to the longest of its batch, and masks what it pads
    return Loaded(tokenizer, session(read(bundle, WEIGHTS), threads))


def folder(name: str) -> Traversable:
    """Where a model's files are."""
    return resources.files("foreword.spaces").joinpath("models", name)


def read(bundle: Bundle, name: str) -> bytes:
    """A bundled file, once it is known to be the one that was bundled."""
    advice = "reinstall it: pip install --force-reinstall foreword"
    try:
        data = folder(bundle.name).joinpath(name).read_bytes()
    except OSError as error:
        raise EmbeddingError(f"cannot read {name} of {bundle.name} ({error}); {advice}") from error
    # A flipped bit would load and give vectors that are quietly wrong; 20 ms buy certainty.
    if hashlib.sha256(data).hexdigest() != bundle.sha256[name]:
        raise EmbeddingError(f"{name} of {bundle.name} is damaged; {advice}")
    return data


def session(weights: bytes, threads: int) -> Any:  # noqa: ANN401  (onnxruntime has no types)
    """The graph, ready to run."""
    runtime = _runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Spinning gains 7 % on batches by burning cores while idle; we are a guest on this machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    except _runtime_errors() as error:
        raise EmbeddingError(
            f"onnxruntime cannot run the bundled model: {error}; upgrade onnxruntime"
        ) from error


def run(loaded: Loaded, tokens: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None) -> Any:  # noqa: ANN401
    """One batch through the graph, padded to its longest; gives the first output."""
    import numpy as np

    width = max(map(len, tokens))
    ids = np.zeros((len(tokens), width), dtype=np.int64)
    mask, kinds = np.zeros_like(ids), np.zeros_like(ids)
    for row, text in enumerate(tokens):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
        if types is not None:
            kinds[row, : len(text)] = types[row]
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
    try:
        return loaded.session.run(None, inputs)[0]
    except _runtime_errors() as error:
        raise EmbeddingError(f"the bundled model failed: {error}; is there enough free memory?") from error


def batches(lengths: Sequence[int], most: int, padded: int) -> Iterator[list[int]]:
    """Group positions by like length, at most so many texts and padded tokens a group, shortest first.

    Little is padded that way: int8 vectors drift with their padding.
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = len(batch) == most or lengths[position] * (len(batch) + 1) > padded
        if batch and full:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def clean(text: str) -> str:
    """What a tokenizer can read: no lone surrogates, and no more than 512 tokens can ever come from."""
    return text[:_MAX_CHARACTERS].encode(errors="replace").decode()


def default_threads() -> int:
    """As many as there are cores to use, within reason."""
    if hasattr(os, "sched_getaffinity"):
        return min(_MAX_THREADS, len(os.sched_getaffinity(0)))
    return min(_MAX_THREADS, os.cpu_count() or 1)


def _runtime() -> ModuleType:
    # It reports home from its first import on unless it is told not to before.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime  # type: ignore[no-any-return]


def _runtime_errors() -> tuple[type[Exception], ...]:
    """What onnxruntime raises; its errors share no ancestor but Exception."""
    state = _runtime().capi.onnxruntime_pybind11_state
    names = (
        "Fail",
        "RuntimeException",
        "InvalidProtobuf",
        "InvalidGraph",
        "InvalidArgument",
        "NotImplemented",
    )
    return (RuntimeError, *(getattr(state, name) for name in names))
