"""Reads the weights of a model from its int8 ONNX graph, as floats: of a published one, or of the reader.

A published graph has twelve layers. Weights have the names of `reader_teaching.CrossEncoder`, such as
`layers.0.query.weight`. `reader_graph` writes a trained model. Needs onnx.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import numpy_helper

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    Weights = dict[str, np.ndarray]

LAYERS = 12
"""How many layers a published model has."""

LAYER_PARTS = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "widened": "intermediate.dense",
    "narrowed": "output.dense",
    "narrowed_norm": "output.LayerNorm",
}
"""The parts of a layer, by our names and by those of the cross-encoder's graph."""

OTHER_PARTS = {
    "words": "bert.embeddings.word_embeddings",
    "positions": "bert.embeddings.position_embeddings",
    "segments": "bert.embeddings.token_type_embeddings",
    "norm": "bert.embeddings.LayerNorm",
    "pool": "bert.pooler.dense",
}
HEADS = {"helps": "classifier", "relations": "relations"}
"""Heads that a published model may lack: an encoder of texts has none, the cross-encoder the first."""

_QUANTIZED, _SCALE, _ZERO = "_quantized", "_scale", "_zero_point"


def read_weights(path: Path) -> Weights:
    """All weights of a graph as floats, by the cross-encoder's names; matrices as (outputs, inputs)."""
    graph = onnx.load(str(path)).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    named = {tensor: part for part, tensor in _find_matrices(graph).items()}
    weights: Weights = {}
    for name, values in stored.items():
        if name.endswith(_QUANTIZED):
            base = name.removesuffix(_QUANTIZED)
            zero, scale = (stored[base + end].astype(np.float32) for end in (_ZERO, _SCALE))
            floats = (values.astype(np.float32) - zero) * scale
            weights |= {f"{named[base]}.weight": floats.T} if base in named else {base: floats}
        elif not name.endswith((_SCALE, _ZERO)):
            weights[name] = values
    return {_full_name(name): values for name, values in weights.items()}


def _full_name(name: str) -> str:
    """A name as in the cross-encoder's graph; graphs without heads have no `bert.` before it."""
    return name if name.startswith(("bert.", *HEADS.values())) else f"bert.{name}"


def keep_layers(weights: Weights, kept: Sequence[int]) -> Weights:
    """The weights of a model with these layers only, by our names; without the heads that it lacks."""
    return {
        ours: np.array(weights[theirs], np.float32)
        for ours, theirs in _pair_names(kept)
        if theirs in weights or ours.partition(".")[0] not in HEADS
    }


def _pair_names(kept: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Our name and the graph's name for every weight of a model with these layers."""
    parts = [*OTHER_PARTS.items(), *HEADS.items()]
    parts += [
        (f"layers.{at}.{ours}", f"bert.encoder.layer.{layer}.{theirs}")
        for at, layer in enumerate(kept)
        for ours, theirs in LAYER_PARTS.items()
    ]
    for ours, theirs in parts:
        yield f"{ours}.weight", f"{theirs}.weight"
        if not theirs.endswith("_embeddings"):
            yield f"{ours}.bias", f"{theirs}.bias"


def _find_matrices(graph: onnx.GraphProto) -> dict[str, str]:
    """For each part that multiplies by a matrix, the name of its stored matrix."""
    matrices: dict[str, str] = {}
    for node in graph.node:
        part = re.match(r"/?(.*)/(?:Gemm_)?MatMul(_\d+)?_quant$", node.name)
        if node.op_type == "MatMulInteger" and part:
            matrices[part[1].replace("/", ".")] = node.input[1].removesuffix(_QUANTIZED)
    return matrices


# The reader -----------------------------------------------------------------------------------------------


READER_HEADS = ("glance_pool", "glance", "pool", "helps", "relations")
"""The parts of the reader that multiply in floats, in the order of its graph."""


def read_reader(path: Path) -> Weights:
    """The weights of a graph that `reader_graph` wrote, without the layers for requests."""
    graph = _drop_requests(onnx.load(str(path)).graph)
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    users = {name: node for node in reversed(graph.node) for name in node.input}
    makers = {name: node for node in graph.node for name in node.output}
    normalized = [node for node in graph.node if node.op_type == "LayerNormalization"]
    layers = (len(normalized) - 1) // 2
    weights = _read_embedding(graph, stored, users)
    norms = [f"layers.{at}.{part}" for at in range(layers) for part in ("attended_norm", "narrowed_norm")]
    for part, node in zip(["norm", *norms], normalized, strict=True):
        weights |= {f"{part}.weight": stored[node.input[1]], f"{part}.bias": stored[node.input[2]]}
    multiplied = [node for node in graph.node if node.op_type == "MatMulInteger"]
    for parts, node in zip(_multiplied_parts(layers), multiplied, strict=True):
        scaled = users[users[node.output[0]].output[0]]
        scale = stored[makers[scaled.input[1]].input[1]]
        matrices = np.split(stored[node.input[1]].astype(np.float32) * scale, len(parts), axis=1)
        biases = np.split(stored[users[scaled.output[0]].input[1]], len(parts))
        for part, matrix, bias in zip(parts, matrices, biases, strict=True):
            weights |= {f"{part}.weight": matrix.T.copy(), f"{part}.bias": bias}
    heads = [node for node in graph.node if node.op_type == "Gemm"]
    for part, node in zip(READER_HEADS, heads, strict=True):
        weights |= {f"{part}.weight": stored[node.input[1]], f"{part}.bias": stored[node.input[2]]}
    return weights


def _drop_requests(graph: onnx.GraphProto) -> onnx.GraphProto:
    """The graph with what it does for statements alone, if it has layers for requests beside that."""
    choice = next((node for node in graph.node if node.op_type == "If"), None)
    if choice is None:
        return graph
    reading = next(attribute.g for attribute in choice.attribute if attribute.name == "else_branch")
    nodes = [*(node for node in graph.node if node is not choice), *reading.node]
    constants = [*graph.initializer, *reading.initializer]
    return onnx.helper.make_graph(nodes, graph.name, graph.input, reading.output, constants)


def _read_embedding(
    graph: onnx.GraphProto, stored: Mapping[str, np.ndarray], users: Mapping[str, onnx.NodeProto]
) -> Weights:
    """The words, positions and segments; the graph has the last two as sums."""
    looked_up = next(node for node in graph.node if node.op_type == "Gather" and node.input[1] == "question")
    scale = stored[users[looked_up.output[0]].input[1]]
    sliced = [node.input[0] for node in graph.node if node.op_type == "Slice" and node.input[0] in stored]
    first, second = (stored[name] for name in dict.fromkeys(sliced))
    return {
        "words.weight": stored[looked_up.input[0]].astype(np.float32) * scale,
        "positions.weight": first,
        "segments.weight": np.stack([np.zeros_like(first[0]), (second - first).mean(axis=0)]),
    }


def _multiplied_parts(layers: int) -> Iterator[list[str]]:
    """The parts of the layers that each multiplication in int8 is for, in the graph's order."""
    for at in range(layers):
        asking = [f"layers.{at}.query"]
        attended = [f"layers.{at}.key", f"layers.{at}.value"]
        yield from ([asking + attended] if at < layers - 1 else [attended, asking])
        yield from ([f"layers.{at}.{part}"] for part in ("attended", "widened", "narrowed"))
