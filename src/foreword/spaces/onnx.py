"""Run the models that come with the package: their files are read and verified, and onnxruntime runs them.

Knows nothing of what a model is for. Never touches the network: onnxruntime's own telemetry, which would, is
switched off before it is imported.
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
class BundledModel:
    """One model of the package: its folder's name, and the digests of its two files."""

    name: str
    sha256: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory: its tokenizer and its session of onnxruntime."""

    tokenizer: Tokenizer
    session: Any


def load_model(bundle: BundledModel, threads: int, max_tokens: int) -> LoadedModel:
    """A bundled model, ready to run; texts are cut to `max_tokens`. EmbeddingError if it is damaged."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(read_model_file(bundle, VOCABULARY).decode())
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()  # `run_batch` pads to the longest of its batch, and masks what it pads
    return LoadedModel(tokenizer, start_session(read_model_file(bundle, WEIGHTS), threads))


def model_folder(name: str) -> Traversable:
    """The folder of a model's files."""
    return resources.files("foreword.spaces").joinpath("models", name)


def read_model_file(bundle: BundledModel, name: str) -> bytes:
    """The content of a bundled file; EmbeddingError if it is missing or is not the one that was bundled."""
    advice = "reinstall it: pip install --force-reinstall foreword"
    try:
        data = model_folder(bundle.name).joinpath(name).read_bytes()
    except OSError as error:
        raise EmbeddingError(f"cannot read {name} of {bundle.name} ({error}); {advice}") from error
    # A flipped bit would load and give vectors that are quietly wrong; 20 ms buy certainty.
    if hashlib.sha256(data).hexdigest() != bundle.sha256[name]:
        raise EmbeddingError(f"{name} of {bundle.name} is damaged; {advice}")
    return data


def start_session(weights: bytes, threads: int) -> Any:  # noqa: ANN401  (onnxruntime has no types)
    """A session that runs the weights on the processor."""
    runtime = _import_onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Spinning gains 7 % on batches by burning cores while idle; we are a guest on this machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    except _onnxruntime_error_types() as error:
        raise EmbeddingError(
            f"onnxruntime cannot run the bundled model: {error}; upgrade onnxruntime"
        ) from error


def run_batch(
    loaded: LoadedModel, token_ids: Sequence[Sequence[int]], type_ids: Sequence[Sequence[int]] | None = None
) -> Any:  # noqa: ANN401
    """The first output for one batch, padded to its longest text."""
    import numpy as np

    width = max(map(len, token_ids))
    ids = np.zeros((len(token_ids), width), dtype=np.int64)
    mask, kinds = np.zeros_like(ids), np.zeros_like(ids)
    for row, text in enumerate(token_ids):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
        if type_ids is not None:
            kinds[row, : len(text)] = type_ids[row]
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
    try:
        return loaded.session.run(None, inputs)[0]
    except _onnxruntime_error_types() as error:
        raise EmbeddingError(f"the bundled model failed: {error}; is there enough free memory?") from error


def group_by_length(lengths: Sequence[int], max_texts: int, max_tokens: int) -> Iterator[list[int]]:
    """Groups of positions of like length: at most `max_texts` and, padded, `max_tokens` each; shortest first.

    Little is padded that way: int8 vectors drift with their padding.
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = len(batch) == max_texts or lengths[position] * (len(batch) + 1) > max_tokens
        if batch and full:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def clean_text(text: str) -> str:
    """The text as a tokenizer can read it: without lone surrogates, and cut well above 512 tokens."""
    return text[:_MAX_CHARACTERS].encode(errors="replace").decode()


def default_threads() -> int:
    """As many threads as there are cores to use, at most four."""
    if hasattr(os, "sched_getaffinity"):
        return min(_MAX_THREADS, len(os.sched_getaffinity(0)))
    return min(_MAX_THREADS, os.cpu_count() or 1)


def _import_onnxruntime() -> ModuleType:
    """The package onnxruntime, which sends no telemetry."""
    # It reports home from its first import on unless it is told not to before.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime  # type: ignore[no-any-return]


def _onnxruntime_error_types() -> tuple[type[Exception], ...]:
    """What onnxruntime raises; its errors share no ancestor but Exception."""
    state = _import_onnxruntime().capi.onnxruntime_pybind11_state
    names = (
        "Fail",
        "RuntimeException",
        "InvalidProtobuf",
        "InvalidGraph",
        "InvalidArgument",
        "NotImplemented",
    )
    return (RuntimeError, *(getattr(state, name) for name in names))
