"""Write the graphs that the bundled models are started from, after `model.onnx` of one has changed.

    python tools/fuse_graphs.py

onnxruntime joins the steps of a model whenever it is started, which takes as long as all the rest. Here that
is done once: `graph.onnx` has the joined steps, and says where in `model.onnx` beside it the weights are, so
that they are stored once. Prints the digests, which must be put into `foreword.spaces`. Needs onnx; run it
with the oldest onnxruntime that we support, since newer ones may join steps in ways that it does not know.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
import onnxruntime

from foreword.spaces.bundled import BGE, GRAPH, MINILM, WEIGHTS
from foreword.spaces.reader import READER
from foreword.spaces.tokens import COLBERT

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODELS = Path(__file__).parent.parent / "src/foreword/spaces/models"
_MIN_BYTES = 1024
"""Smaller weights are in the graph itself."""


def main() -> None:
    """Write the graph of every bundled model and print its digest."""
    for bundle in (BGE, MINILM, READER, COLBERT):
        folder = _MODELS / bundle.name
        content = fuse_graph(folder / WEIGHTS).SerializeToString(deterministic=True)
        (folder / GRAPH).write_bytes(content)
        print(bundle.name, hashlib.sha256(content).hexdigest())  # noqa: T201


def fuse_graph(model: Path) -> onnx.ModelProto:
    """The graph of a model, its steps joined and its weights left in the model's file."""
    fused = _join_steps(model)
    graphs = [fused.graph, *_find_branches(fused.graph)]
    domains = {node.domain for graph in graphs for node in graph.node}
    used = [one for one in fused.opset_import if one.domain in domains]  # the others need a newer onnxruntime
    del fused.opset_import[:]
    fused.opset_import.extend(used)
    content = model.read_bytes()
    for graph in graphs:
        del graph.value_info[:]
        for weights in graph.initializer:
            if len(weights.raw_data) >= _MIN_BYTES:
                _refer_to_weights(weights, model.name, content)
    return fused


def _join_steps(model: Path) -> onnx.ModelProto:
    """The model as onnxruntime runs it, on any processor."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder) / GRAPH)
        onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath)


def _find_branches(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graphs within a graph: what is done in either case."""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield attribute.g
                yield from _find_branches(attribute.g)


def _refer_to_weights(weights: onnx.TensorProto, file: str, content: bytes) -> None:
    """Put into weights where in a file they are, in place of themselves."""
    place = {"location": file, "offset": content.index(weights.raw_data), "length": len(weights.raw_data)}
    weights.ClearField("raw_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    for key, value in place.items():
        entry = weights.external_data.add()
        entry.key, entry.value = key, str(value)


if __name__ == "__main__":
    main()
