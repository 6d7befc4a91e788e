"""Writes the reader as an ONNX graph in int8, from its weights.

The graph reads one question and many statements. The question's tokens attend only to each other, so they are
computed once; a statement's tokens attend to the question's and to their own. All matrices are multiplied
with the tokens of the question and of all statements at once. After a few layers, only the statements that
look most helpful are read on, as many as the input `most` says. In the last layer only the first token of a
statement is computed, which the heads read. To a finished graph other layers can be added that judge whether
a sentence asks for something; they share the embedding of tokens. Weights have the names of
`reader_teaching.CrossEncoder`. Needs onnx.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    Weights = Mapping[str, np.ndarray]

_HEADS, _HEAD_WIDTH = 12, 32
_WIDTH = _HEADS * _HEAD_WIDTH
_OUTPUTS = {"helps": 1, "relations": 3}
_REQUESTS = "requests"
_OPERATORS, _FORMAT = 20, 10
"""The versions of ONNX's operators and of its files, which onnxruntime 1.20 supports."""

_LARGEST = 127
"""The largest number of an int8 weight."""

_TINY = 1e-12
"""Added to scales and variances, so that they are never zero."""

_HIDDEN = -10_000.0
"""Added to the attention to a padding token, which hides it."""


def write_model(weights: Weights, glance_after: int, out: Path) -> None:
    """Write the graph of a model with these weights, which judges at a glance after so many layers."""
    graph = _Graph()
    build_reader(graph, weights, glance_after)
    shapes = {
        "question": ["question_tokens"],
        "statements": ["batch", "tokens"],
        "mask": ["batch", "tokens"],
        "most": [1],
    }
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in shapes.items()]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])
        for name, width in _OUTPUTS.items()
    ]
    _save(graph, inputs, outputs, out)


def add_requests(reader: Path, weights: Weights, out: Path) -> None:
    """Write the graph of a reader that can also judge whether a sentence asks for what its speaker lacks.

    It has one more input, whether that is to be judged, and one output, `logits`: of a statement one for
    whether it helps and three for relations, of a sentence a single one. Only the layers that are needed are
    computed. Of the weights the layers, the pool and the head `helps` are used; the embedding is the
    reader's, which must have been kept in training. If the reader has such layers, these take their place.
    """
    known = onnx.load(str(reader)).graph
    graph = _Graph(list(known.node), list(known.initializer))
    embedded = known.node[_count_embedding_nodes(known) - 1].output[0]
    done, known_constants = len(graph.nodes), len(graph.constants)
    shapes = _Shapes(graph, graph.add("Shape", "statements", start=0, end=1))
    mask = _make_attention_mask(graph, shapes)
    pooled = _pool_first_tokens(graph, weights, 0, embedded, shapes, mask)
    asks = _multiply_floats(graph, weights, pooled, "helps")
    hearing = _make_branch("hearing", graph.nodes[done:], graph.constants[known_constants:], set(), asks)
    _save_with_requests(known, hearing, out)


def keep_requests(reader: Path, older: Path, out: Path) -> None:
    """Write the graph of a reader with the layers for requests of an older one, with the same embedding."""
    hearing = _find_hearing(onnx.load(str(older)).graph)
    if hearing is None:
        raise ValueError(f"{older} has no layers for requests")
    _save_with_requests(onnx.load(str(reader)).graph, hearing, out)


def _find_hearing(reader: onnx.GraphProto) -> onnx.GraphProto | None:
    """The branch of a reader that hears requests; None if it has none."""
    choices = (attribute for node in reader.node if node.op_type == "If" for attribute in node.attribute)
    return next((attribute.g for attribute in choices if attribute.name == "then_branch"), None)


def _save_with_requests(reader: onnx.GraphProto, hearing: onnx.GraphProto, out: Path) -> None:
    """Write a graph that embeds the tokens and then does what the reader does, or what hears requests."""
    if (earlier := _find_hearing(reader)) is not None:
        earlier.CopyFrom(hearing)
        _save(_Graph(list(reader.node), list(reader.initializer)), reader.input, reader.output, out)
        return
    start = _count_embedding_nodes(reader)
    used_by_both = {name for node in reader.node[:start] for name in node.input}
    graph = _Graph(list(reader.node), list(reader.initializer))
    logits = graph.add("Concat", *_OUTPUTS, axis=1)
    reading = _make_branch("reading", graph.nodes[start:], reader.initializer, used_by_both, logits)
    choose = helper.make_node("If", [_REQUESTS], ["logits"], then_branch=hearing, else_branch=reading)
    shared = [one for one in reader.initializer if one.name in used_by_both]
    asked = helper.make_tensor_value_info(_REQUESTS, TensorProto.BOOL, [])
    _save(_Graph([*reader.node[:start], choose], shared), [*reader.input, asked], [_logits_of("logits")], out)


def _count_embedding_nodes(reader: onnx.GraphProto) -> int:
    """How many nodes embed the tokens: they come first, and end with the first normalisation."""
    return 1 + next(at for at, node in enumerate(reader.node) if node.op_type == "LayerNormalization")


def _make_branch(
    name: str,
    nodes: Sequence[onnx.NodeProto],
    constants: Sequence[onnx.TensorProto],
    outside: set[str],
    output: str,
) -> onnx.GraphProto:
    """A branch of a graph with these nodes, and the constants that are not outside of it."""
    own = [one for one in constants if one.name not in outside]
    return helper.make_graph(nodes, name, [], [_logits_of(output)], own)


def _logits_of(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", None])


def _save(
    graph: _Graph,
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    out: Path,
) -> None:
    made = helper.make_graph(graph.nodes, "reader", inputs, outputs, graph.constants)
    operators = [helper.make_opsetid("", _OPERATORS)]
    model = helper.make_model(made, opset_imports=operators, ir_version=_FORMAT)
    onnx.checker.check_model(model)
    onnx.save(model, str(out))


class _Graph:
    """The nodes and constants of a graph that is being built; values are referred to by their names."""

    def __init__(
        self, nodes: Sequence[onnx.NodeProto] = (), constants: Sequence[onnx.TensorProto] = ()
    ) -> None:
        self.nodes = list(nodes)
        self.constants = list(constants)

    def constant(self, values: Any) -> str:  # noqa: ANN401  (whatever numpy makes an array of)
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def floats(self, values: Any) -> str:  # noqa: ANN401
        return self.constant(np.array(values, np.float32))

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:  # noqa: ANN401
        """Add a node and return the name of its output."""
        return self.add_split(operator, 1, *inputs, **attributes)[0]

    def add_split(self, operator: str, outputs: int, *inputs: str, **attributes: Any) -> list[str]:  # noqa: ANN401
        """Add a node with several outputs and return their names."""
        name = f"{operator}_{len(self.nodes)}"
        names = [f"{name}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, name, **attributes))
        return names


class _Shapes:
    """The sizes that are known only when the graph runs, as names of values in the graph."""

    def __init__(self, graph: _Graph, batch: str) -> None:
        one, heads, head_width = graph.integers(1), graph.integers(_HEADS), graph.integers(_HEAD_WIDTH)
        self.one = one
        self.question = graph.add("Shape", "question", start=0, end=1)
        self.batch = batch
        """How many statements there are."""
        self.tokens = graph.add("Shape", "statements", start=1, end=2)
        self.both = graph.add("Concat", self.question, graph.add("Mul", self.batch, self.tokens), axis=0)
        """How many of the rows of all tokens belong to the question, and how many to the statements."""
        self.question_heads = graph.add("Concat", one, self.question, heads, head_width, axis=0)
        self.statement_heads = graph.add("Concat", self.batch, self.tokens, heads, head_width, axis=0)
        self.statement_states = graph.add("Concat", self.batch, self.tokens, graph.integers(_WIDTH), axis=0)
        self.for_each = graph.add("Concat", self.batch, one, one, one, axis=0)
        self.question_mask = graph.add("Concat", self.batch, one, one, self.question, axis=0)


def build_reader(graph: _Graph, weights: Weights, glance_after: int) -> None:
    """Add all nodes, from the inputs to the outputs."""
    everything = _Shapes(graph, graph.add("Shape", "statements", start=0, end=1))
    states = _embed(graph, weights, everything)
    mask = _make_attention_mask(graph, everything)
    states = _add_layers(graph, weights, range(glance_after), states, everything, mask)
    glanced, chosen = _glance(graph, weights, states, everything)
    shapes = _Shapes(graph, graph.add("Shape", chosen))
    states = _choose_statements(graph, states, chosen, everything)
    mask = graph.add("Gather", mask, chosen, axis=0)
    pooled = _pool_first_tokens(graph, weights, glance_after, states, shapes, mask)
    for head, width in _OUTPUTS.items():
        read = _multiply_floats(graph, weights, pooled, head)
        rest = graph.add("Concat", everything.batch, graph.integers(width), axis=0)
        unread = graph.add("Expand", graph.floats(0), rest)
        if head == "helps":  # what is not read on is worth no more than the least of what is
            unread = graph.add("Min", glanced, graph.add("ReduceMin", read, keepdims=0))
        graph.add("ScatterND", unread, graph.add("Unsqueeze", chosen, graph.integers(1)), read)
        graph.nodes[-1].output[0] = head


def _pool_first_tokens(
    graph: _Graph, weights: Weights, done: int, states: str, shapes: _Shapes, mask: str
) -> str:
    """One vector for each statement: the pooled state of its first token after all layers but those done."""
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    states = _add_layers(graph, weights, range(done, layers - 1), states, shapes, mask)
    part = f"layers.{layers - 1}."
    first, attended = _attend_first(graph, weights, part, states, shapes, mask)
    states = _finish_layer(graph, weights, part, first, attended)
    return graph.add("Tanh", _multiply_floats(graph, weights, states, "pool"))


def _add_layers(
    graph: _Graph, weights: Weights, numbers: range, states: str, shapes: _Shapes, mask: str
) -> str:
    """The states of all tokens after these layers."""
    for number in numbers:
        part = f"layers.{number}."
        attended = _attend(graph, weights, part, states, shapes, mask)
        states = _finish_layer(graph, weights, part, states, attended)
    return states


def _glance(graph: _Graph, weights: Weights, states: str, shapes: _Shapes) -> tuple[str, str]:
    """The logit of each statement at a glance, and the places of those that are read on."""
    first = _take_first_tokens(graph, states, shapes)
    pooled = graph.add("Tanh", _multiply_floats(graph, weights, first, "glance_pool"))
    logits = _multiply_floats(graph, weights, pooled, "glance")
    most = graph.add("Min", "most", shapes.batch)
    _, chosen = graph.add_split(
        "TopK", 2, graph.add("Reshape", logits, graph.integers(-1)), most, axis=0, largest=1, sorted=1
    )
    return logits, chosen


def _choose_statements(graph: _Graph, states: str, chosen: str, shapes: _Shapes) -> str:
    """The states of the question's tokens, and of those of the chosen statements."""
    question, statements = graph.add_split("Split", 2, states, shapes.both, axis=0)
    by_statement = graph.add("Reshape", statements, shapes.statement_states)
    kept = graph.add("Gather", by_statement, chosen, axis=0)
    return graph.add("Concat", question, graph.add("Reshape", kept, graph.integers(-1, _WIDTH)), axis=0)


def _take_first_tokens(graph: _Graph, states: str, shapes: _Shapes) -> str:
    """The states of the statements' first tokens."""
    _, statements = graph.add_split("Split", 2, states, shapes.both, axis=0)
    by_token = graph.add("Reshape", statements, shapes.statement_states)
    return graph.add("Gather", by_token, graph.constant(np.int64(0)), axis=1)


def _embed(graph: _Graph, weights: Weights, shapes: _Shapes) -> str:
    """The states of all tokens before the first layer, those of the question first.

    A statement's first token has the first position; the question's tokens follow, then the statement's
    others.
    """
    first, second = (weights["positions.weight"] + one for one in weights["segments.weight"])
    first_places, second_places = graph.floats(first), graph.floats(second)
    words = _Words(graph, weights["words.weight"])
    start, axis = graph.integers(0), graph.integers(0)
    after = graph.add("Add", shapes.question, shapes.one)
    end = graph.add("Add", shapes.question, shapes.tokens)
    places = graph.add(
        "Concat",
        graph.add("Slice", first_places, start, shapes.one, axis),
        graph.add("Slice", second_places, after, end, axis),
        axis=0,
    )
    question = graph.add(
        "Add", words.look_up("question"), graph.add("Slice", first_places, shapes.one, after, axis)
    )
    statements = graph.add("Add", words.look_up("statements"), places)
    rows = graph.add("Reshape", statements, graph.integers(-1, _WIDTH))
    return _normalize(graph, weights, graph.add("Concat", question, rows, axis=0), "norm")


class _Words:
    """The embedding table of words, in int8 with one scale."""

    def __init__(self, graph: _Graph, table: np.ndarray) -> None:
        numbers, scale = _quantize(table, axis=None)
        self._graph = graph
        self._numbers = graph.constant(numbers)
        self._scale, self._zero = graph.floats(scale), graph.constant(np.int8(0))

    def look_up(self, tokens: str) -> str:
        return self._graph.add(
            "DequantizeLinear", self._graph.add("Gather", self._numbers, tokens), self._scale, self._zero
        )


def _make_attention_mask(graph: _Graph, shapes: _Shapes) -> str:
    """The mask that is added to a statement's attention: 0, or `_HIDDEN` for padding tokens."""
    filling = graph.add("Sub", graph.floats(1), graph.add("Cast", "mask", to=TensorProto.FLOAT))
    own = graph.add("Unsqueeze", graph.add("Mul", filling, graph.floats(_HIDDEN)), graph.integers(1, 2))
    question = graph.add("Expand", graph.floats(np.zeros((1, 1, 1, 1))), shapes.question_mask)
    return graph.add("Concat", question, own, axis=3)


def _attend(graph: _Graph, weights: Weights, part: str, states: str, shapes: _Shapes, mask: str) -> str:
    """The result of attention for all tokens."""
    parts = [part + name for name in ("query", "key", "value")]
    widths = graph.integers(_WIDTH, _WIDTH, _WIDTH)
    asking, key, value = graph.add_split("Split", 3, _multiply(graph, weights, states, parts), widths, axis=1)
    question, statements = graph.add_split("Split", 2, asking, shapes.both, axis=0)
    keys, values = (
        _AttendedTokens(graph, key, shapes, is_key=True),
        _AttendedTokens(graph, value, shapes, is_key=False),
    )
    question = _split_into_heads(graph, question, shapes.question_heads)
    statements = _split_into_heads(graph, statements, shapes.statement_heads)
    by_question = _gather(graph, question, keys.question, values.question)
    by_statements = _gather(graph, statements, keys.everything, values.everything, mask)
    return graph.add("Concat", by_question, by_statements, axis=0)


def _attend_first(
    graph: _Graph, weights: Weights, part: str, states: str, shapes: _Shapes, mask: str
) -> tuple[str, str]:
    """The states of the statements' first tokens, and the result of attention for them."""
    first = _take_first_tokens(graph, states, shapes)
    both = _multiply(graph, weights, states, [part + "key", part + "value"])
    key, value = graph.add_split("Split", 2, both, graph.integers(_WIDTH, _WIDTH), axis=1)
    keys, values = (
        _AttendedTokens(graph, key, shapes, is_key=True),
        _AttendedTokens(graph, value, shapes, is_key=False),
    )
    asking = _multiply(graph, weights, first, [part + "query"])
    asking = _split_into_heads(graph, asking, graph.integers(-1, 1, _HEADS, _HEAD_WIDTH))
    return first, _gather(graph, asking, keys.everything, values.everything, mask)


class _AttendedTokens:
    """The keys, or the values, of the question's tokens, and of all tokens that a statement attends to."""

    def __init__(self, graph: _Graph, states: str, shapes: _Shapes, *, is_key: bool) -> None:
        question, statements = graph.add_split("Split", 2, states, shapes.both, axis=0)
        self.question = _split_into_heads(graph, question, shapes.question_heads, is_key=is_key)
        own = _split_into_heads(graph, statements, shapes.statement_heads, is_key=is_key)
        repeated = graph.add("Expand", self.question, shapes.for_each)
        self.everything = graph.add("Concat", repeated, own, axis=3 if is_key else 2)


def _split_into_heads(graph: _Graph, states: str, shape: str, *, is_key: bool = False) -> str:
    """States by head, then by token; keys are transposed for the multiplication."""
    order = [0, 2, 3, 1] if is_key else [0, 2, 1, 3]
    return graph.add("Transpose", graph.add("Reshape", states, shape), perm=order)


def _gather(graph: _Graph, asking: str, keys: str, values: str, mask: str | None = None) -> str:
    """The result of attention for the asking tokens, a row for each token."""
    scores = graph.add("MatMul", graph.add("Mul", asking, graph.floats(_HEAD_WIDTH**-0.5)), keys)
    shares = graph.add("Softmax", graph.add("Add", scores, mask) if mask else scores, axis=-1)
    gathered = graph.add("Transpose", graph.add("MatMul", shares, values), perm=[0, 2, 1, 3])
    return graph.add("Reshape", gathered, graph.integers(-1, _WIDTH))


def _finish_layer(graph: _Graph, weights: Weights, part: str, states: str, gathered: str) -> str:
    """The states after a layer, from those before it and the result of attention."""
    attended = _multiply(graph, weights, gathered, [part + "attended"])
    states = _normalize(graph, weights, graph.add("Add", states, attended), part + "attended_norm")
    wide = graph.add("Gelu", _multiply(graph, weights, states, [part + "widened"]))
    narrow = _multiply(graph, weights, wide, [part + "narrowed"])
    return _normalize(graph, weights, graph.add("Add", states, narrow), part + "narrowed_norm")


def _normalize(graph: _Graph, weights: Weights, states: str, part: str) -> str:
    scale, shift = graph.floats(weights[f"{part}.weight"]), graph.floats(weights[f"{part}.bias"])
    return graph.add("LayerNormalization", states, scale, shift, axis=-1, epsilon=_TINY)


def _multiply(graph: _Graph, weights: Weights, states: str, parts: Sequence[str]) -> str:
    """The states multiplied by the matrices of the parts, side by side, in int8."""
    matrix = np.concatenate([weights[f"{part}.weight"].T for part in parts], axis=1)
    bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
    numbers, scale = _quantize(matrix, axis=0)
    rounded, state_scale, state_zero = graph.add_split("DynamicQuantizeLinear", 3, states)
    zeros = graph.constant(np.zeros(numbers.shape[1], np.int8))
    product = graph.add("MatMulInteger", rounded, graph.constant(numbers), state_zero, zeros)
    product = graph.add("Cast", product, to=TensorProto.FLOAT)
    product = graph.add("Mul", product, graph.add("Mul", state_scale, graph.floats(scale)))
    return graph.add("Add", product, graph.floats(bias))


def _multiply_floats(graph: _Graph, weights: Weights, states: str, part: str) -> str:
    """The states multiplied by the matrix of a part, in floats, as for the small matrices at the end."""
    matrix, bias = graph.floats(weights[f"{part}.weight"]), graph.floats(weights[f"{part}.bias"])
    return graph.add("Gemm", states, matrix, bias, transB=1)


def _quantize(values: np.ndarray, axis: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The values as int8, and the scale of each column, or one scale for all."""
    scale = np.abs(values).max(axis=axis) / _LARGEST + _TINY
    return np.clip(np.round(values / scale), -_LARGEST, _LARGEST).astype(np.int8), np.float32(scale)
