"""The same operations, done by LangGraph's own InMemoryStore and by ours, give the same.

But for the differences that docs/graphs.md lists. Those that matter here: values come by namespace and, in
one, in the order in which they were put, a namespace that holds nothing is not listed, what is replaced
leaves no vector behind, times are not compared, and scores are rounded to what eight bits a dimension can
tell.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore, _compare_values

from foreword.config import Settings
from foreword.edges.langgraph import ForewordStore
from foreword.engine.context_engine import ContextEngine
from foreword.testing import FixedClock, HashEmbeddings

EVERYTHING = 10_000
ROUNDING = 0.02
FIELDS = ["t", "u[*]"]

# Few names and few values, so that most operations meet something that is there.
labels = st.sampled_from(["a", "b"])
namespaces = st.sampled_from([("a",), ("b",), ("a", "b"), ("b", "a"), ("a", "b", "a"), ("a", "b", "b")])
prefixes = st.sampled_from([(), ("a",), ("b",), ("a", "b"), ("a", "b", "a")])
keys = st.sampled_from(["x", "y"])
numbers = st.sampled_from([-1, 0, 1, 1.5, 2])
plain = st.sampled_from([None, True, 1, "", "red"])
rows = st.lists(plain, max_size=2)
nested = st.dictionaries(st.sampled_from(["p", "q"]), plain, max_size=2)
values = st.fixed_dictionaries({"n": numbers}, optional={"colour": plain, "deep": nested, "row": rows})
operator_names = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]
operators = st.dictionaries(st.sampled_from(operator_names), numbers, min_size=1, max_size=2)
filters = st.one_of(
    st.none(),
    st.fixed_dictionaries({"n": operators}),
    st.fixed_dictionaries({"n": numbers}),
    st.fixed_dictionaries({"row": rows}),
    st.fixed_dictionaries({"deep": nested}, optional={"colour": plain}),
    st.fixed_dictionaries(
        {"deep.p": plain | st.dictionaries(st.sampled_from(["$eq", "$ne"]), plain, max_size=1)}
    ),
)
limits = st.sampled_from([100, 100, 0, 1, 2])
offsets = st.sampled_from([0, 0, 0, 1, 2])
conditions = st.tuples(
    st.sampled_from(["prefix", "suffix"]), st.lists(labels | st.just("*"), max_size=2).map(tuple)
).map(lambda parts: MatchCondition(*parts))
depths = st.none() | st.integers(1, 3)

puts = st.tuples(namespaces, keys, values).map(lambda parts: PutOp(*parts))
deletes = st.tuples(namespaces, keys, st.none()).map(lambda parts: PutOp(*parts))
gets = st.tuples(namespaces, keys).map(lambda parts: GetOp(*parts))
list_prefixes = prefixes | prefixes.map(list)
searches = st.tuples(list_prefixes, filters, limits, offsets).map(lambda parts: SearchOp(*parts))
listings = st.tuples(st.lists(conditions, max_size=2).map(tuple), depths, limits, offsets).map(
    lambda parts: ListNamespacesOp(*parts)
)
beginnings = st.lists(puts, min_size=1, max_size=6)
operations = puts | deletes | gets | searches | searches | searches | listings
sequences = st.tuples(
    beginnings, st.lists(st.lists(operations, min_size=1, max_size=4), min_size=1, max_size=3)
).map(lambda parts: [parts[0], *parts[1]])


@pytest.fixture(scope="module")
def store():
    """One store for thousands of sequences, in memory where the machine allows: disks are not the matter."""
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))
    with ContextEngine(
        embedding_provider=HashEmbeddings(), settings=Settings(home=folder, reader="none"), clock=FixedClock()
    ) as engine:
        yield ForewordStore(engine, "shop", fields=FIELDS, score="cosine")
    shutil.rmtree(folder)


def _empty(store):
    held = store.search((), limit=EVERYTHING)
    store.batch([PutOp(item.namespace, item.key, None) for item in held])


def _item_fields(item):
    return None if item is None else (item.namespace, item.key, item.value)


class Reference:
    """InMemoryStore, with the order of the puts kept beside it."""

    def __init__(self):
        self.store = InMemoryStore()
        self.puts = {}

    def batch(self, ops):
        results = [self._answer(op) for op in ops]
        for op in {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}.values():
            self.store.batch([op])
            self.puts.pop((op.namespace, op.key), None)
            self.puts[op.namespace, op.key] = None
        return results

    def _answer(self, op):
        match op:
            case PutOp():
                return None
            case SearchOp():
                fields = {name: wanted for name, wanted in (op.filter or {}).items() if "." not in name}
                prefix = tuple(op.namespace_prefix)
                whole = op._replace(limit=EVERYTHING, offset=0, namespace_prefix=prefix, filter=fields)
                everything = [item for item in self.store.batch([whole])[0] if _has_paths(item, op.filter)]
                order = list(self.puts)
                everything.sort(key=lambda item: (item.namespace, order.index((item.namespace, item.key))))
                return [_item_fields(item) for item in everything[op.offset : op.offset + op.limit]]
            case ListNamespacesOp():
                for namespace in [name for name, held in self.store._data.items() if not held]:
                    del self.store._data[namespace]
                return self.store.batch([op])[0]
            case GetOp():
                return _item_fields(self.store.batch([op])[0])


def _has_paths(item, conditions):
    """What InMemoryStore says of each field inside of another, as it compares those outside."""
    paths = {name: wanted for name, wanted in (conditions or {}).items() if "." in name}
    return all(
        _compare_values(item.value.get(name.split(".")[0], {}).get(name.split(".")[1]), wanted)
        for name, wanted in paths.items()
    )


def _comparable(op, result):
    match op:
        case SearchOp():
            return [_item_fields(item) for item in result]
        case GetOp():
            return _item_fields(result)
        case _:
            return result


@pytest.mark.slow
@given(sequences)
@settings(max_examples=3 * settings().max_examples)
def test_every_sequence_of_operations_gives_what_the_store_in_memory_gives(store, sequence):
    reference = Reference()
    try:
        for ops in sequence:
            expected = reference.batch(ops)
            got = [_comparable(op, result) for op, result in zip(ops, store.batch(ops), strict=True)]
            assert got == expected
    finally:
        _empty(store)


words = st.lists(st.sampled_from(["owl", "fox", "elm", "oak", "fig"]), min_size=1, max_size=4).map(" ".join)
indexes = st.sampled_from([None, None, None, False, ["t"], ["u[*]"], ["u[-1]"], ["t", "u"], []])
texts = st.lists(
    st.tuples(
        namespaces,
        keys,
        # All different: of two equal texts in one value, InMemoryStore says that there are too few vectors.
        st.lists(words, unique=True, min_size=1, max_size=4).map(lambda said: {"t": said[0], "u": said[1:]}),
        indexes,
    ),
    min_size=1,
    max_size=5,
)


@given(texts, words)
def test_a_search_by_meaning_scores_as_the_store_in_memory_does(store, said, query):
    encoder = HashEmbeddings()
    reference = InMemoryStore(index={"dims": 64, "embed": encoder.embed_batch, "fields": FIELDS})
    try:
        for namespace, key, value, index in said:
            reference.delete(namespace, key)  # it would keep the vectors of what is replaced
            reference.put(namespace, key, value, index=index)
            store.put(namespace, key, value, index=index)
        expected = {_name(item): item.score for item in reference.search((), query=query, limit=EVERYTHING)}
        found = store.search((), query=query, limit=EVERYTHING)
        got = {_name(item): item.score for item in found}
        assert got == pytest.approx(expected, abs=ROUNDING)
        scores = [-2.0 if item.score is None else item.score for item in found]
        assert scores == sorted(scores, reverse=True)
    finally:
        _empty(store)


def _name(item):
    return item.namespace, item.key
