"""The weights of a published model, taken out of its int8 ONNX graph as floats, and a taught model put back.

A published graph has twelve layers. A taught model of fewer layers is put back into the cross-encoder's: the
layers that it kept get its weights, each reads what the one kept before it gives, the rest is cut out, and a
second output is added for what one statement is to another. Weights are named as
`reader_teaching.CrossEncoder` names them: `layers.0.query.weight`. Needs onnx.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

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
"""What a published model may lack: an encoder of texts has neither, the cross-encoder only the first."""

_RELATIONS, _CLASSES = "relations", 3
_QUANTIZED, _SCALE, _ZERO = "_quantized", "_scale", "_zero_point"
_MOST = 127
"""The largest number of an int8 weight."""

_UNSIGNED_ZERO = 128
_TINY = 1e-12
"""Keeps the scale of a column of zeros from being zero."""

_LAYER = re.compile(r"/bert/encoder/layer\.(\d+)/")


def read_weights(path: Path) -> Weights:
    """All weights of a graph as floats, by the cross-encoder's names; matrices as (outputs, inputs)."""
    graph = onnx.load(str(path)).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    named = {tensor: part for part, tensor in _matrices(graph).items()}
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
    """A name as the cross-encoder's graph has it; in graphs without heads `bert.` is left out."""
    return name if name.startswith(("bert.", *HEADS.values())) else f"bert.{name}"


def keep_layers(weights: Weights, kept: Sequence[int]) -> Weights:
    """The weights of a model with these layers only, by our names; without the heads that it lacks."""
    return {
        ours: np.array(weights[theirs], np.float32)
        for ours, theirs in _names(kept)
        if theirs in weights or ours.partition(".")[0] not in HEADS
    }


def write_model(weights: Weights, kept: Sequence[int], published: Path, out: Path) -> None:
    """Write the model with these layers and weights in int8, made of the cross-encoder's graph."""
    model = onnx.load(str(published))
    graph = model.graph
    _join_layers(graph, kept)
    relations = _add_relations(graph)
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    matrices = _matrices(graph)
    for ours, theirs in _names(kept):
        part = theirs.removesuffix(".weight")
        if theirs.endswith(".weight") and part in matrices:
            _put_quantized(tensors, matrices[part], weights[ours].T, by_column=True)
        elif theirs + _QUANTIZED in tensors:
            _put_quantized(tensors, theirs, weights[ours], by_column=False)
        else:
            _put(tensors, theirs, weights[ours])
    outputs = [graph.output[0], relations]
    nodes = _needed_nodes(graph, [output.name for output in outputs])
    used = {name for node in nodes for name in node.input}
    left = [tensor for name, tensor in tensors.items() if name in used]
    made = helper.make_graph(nodes, "reader", list(graph.input), outputs, left)
    written = helper.make_model(made, opset_imports=model.opset_import, ir_version=model.ir_version)
    onnx.checker.check_model(written)
    onnx.save(written, str(out))


def _names(kept: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Our name and the graph's for every weight of a model with these layers."""
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


def _matrices(graph: onnx.GraphProto) -> dict[str, str]:
    """For each part that multiplies by a matrix, the name under which its matrix is stored."""
    matrices: dict[str, str] = {}
    for node in graph.node:
        part = re.match(r"/?(.*)/(?:Gemm_)?MatMul(_\d+)?_quant$", node.name)
        if node.op_type == "MatMulInteger" and part:
            matrices[part[1].replace("/", ".")] = node.input[1].removesuffix(_QUANTIZED)
    return matrices


def _join_layers(graph: onnx.GraphProto, kept: Sequence[int]) -> None:
    """Let each kept layer read what the one kept before it gives, and the end of the graph the last."""
    outputs = _layer_outputs(graph)
    sources = dict(zip(kept, [outputs[-1], *(outputs[layer] for layer in kept)], strict=False))
    for node in graph.node:
        layer = _LAYER.match(node.name)
        if layer is None:
            _read_from(node, outputs[LAYERS - 1], outputs[kept[-1]])
        elif int(layer[1]) in sources and node.op_type != "DynamicQuantizeLinear":
            _read_from(node, outputs[int(layer[1]) - 1], sources[int(layer[1])])


def _add_relations(graph: onnx.GraphProto) -> onnx.ValueInfoProto:
    """Add the second head, still without weights, and return its output."""
    *_, pooled = (node.output[0] for node in graph.node if node.op_type == "Tanh")
    names = [f"{_RELATIONS}.weight", f"{_RELATIONS}.bias"]
    graph.initializer.extend(onnx.TensorProto(name=name) for name in names)
    graph.node.append(helper.make_node("Gemm", [pooled, *names], [_RELATIONS], _RELATIONS, transB=1))
    return helper.make_tensor_value_info(_RELATIONS, TensorProto.FLOAT, ["batch_size", _CLASSES])


def _layer_outputs(graph: onnx.GraphProto) -> dict[int, str]:
    """The name of what each layer gives; -1 stands for the embeddings."""
    outputs: dict[int, str] = {}
    for node in graph.node:
        layer = re.match(r"/bert/(?:encoder/layer\.(\d+)/output|embeddings)/LayerNorm/", node.name)
        if layer and node.op_type == "Add":
            outputs[int(layer[1] or -1)] = node.output[0]
    return outputs


def _read_from(node: onnx.NodeProto, old: str, new: str) -> None:
    for at, name in enumerate(node.input):
        if name.startswith(old):
            node.input[at] = new + name.removeprefix(old)


def _put(tensors: Mapping[str, onnx.TensorProto], name: str, values: np.ndarray) -> None:
    tensors[name].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), name))


def _put_quantized(
    tensors: Mapping[str, onnx.TensorProto], name: str, values: np.ndarray, *, by_column: bool
) -> None:
    """Store a matrix in one byte a number, with one scale for each column or one for all."""
    kind = numpy_helper.to_array(tensors[name + _QUANTIZED]).dtype
    zero = _UNSIGNED_ZERO if kind == np.uint8 else 0
    scale = np.abs(values).max(axis=0 if by_column else None) / _MOST + _TINY
    numbers = np.clip(np.round(values / scale), -_MOST, _MOST) + zero
    _put(tensors, name + _QUANTIZED, numbers.astype(kind))
    _put(tensors, name + _SCALE, np.asarray(scale, np.float32))
    _put(tensors, name + _ZERO, np.full(np.shape(scale), zero, kind))


def _needed_nodes(graph: onnx.GraphProto, outputs: Sequence[str]) -> list[onnx.NodeProto]:
    """The nodes that the outputs depend on, in their order."""
    makers = {name: at for at, node in enumerate(graph.node) for name in node.output}
    needed: set[int] = set()
    ahead = list(outputs)
    while ahead:
        at = makers.get(ahead.pop())
        if at is not None and at not in needed:
            needed.add(at)
            ahead += graph.node[at].input
    return [node for at, node in enumerate(graph.node) if at in needed]
