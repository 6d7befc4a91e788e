"""Both engines give the same answers, to the rank, after the same random operations."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foreword.errors import ContextError
from foreword.store import base
from foreword.store.conformance.suite import DIGEST, HERE, NOW, file_state, item, receipt, unit_vector, views
from foreword.store.postgres.store import PostgresStore
from foreword.store.sqlite import SqliteStore
from foreword.types import (
    EntitiesProbe,
    Filters,
    IdentifiersProbe,
    NeighboursProbe,
    RecentProbe,
    Relation,
    Source,
    TypoProbe,
    VectorProbe,
    WordsProbe,
)

WORDS = (
    *("harbour", "harbours", "Lighthouse", "lighthuose", "open_gate", "parse_http_date", "Ada", "Grace"),
    *(
        "the",
        "deploys",
        "deployed",
        "Déjà",
        "vu",
        "naïve",
        "e-mail",
        "don't",
        "日本語",
        "v1.2.3",
        "x",
        "running",
    ),
)
KINDS = ("memory", "turn", "code")
NAMES = tuple(f"i{n}" for n in range(12))

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
names = st.sampled_from(NAMES)
vectors = st.tuples(st.integers(0, 7), st.sampled_from((0.0, 0.25, 0.5, 0.75))).map(
    lambda one: unit_vector(*one)
)
moments = st.integers(0, 5).map(lambda days: NOW + timedelta(days=days))
filters = st.sampled_from(
    (
        Filters(),
        Filters(kinds=("turn", "code")),
        Filters(types=("memory", "fact")),
        Filters(session="s1"),
        Filters(source="tool", min_confidence=0.4),
        Filters(since=NOW + timedelta(days=2)),
    )
)
items = st.builds(
    lambda text, name, kind, session, at, **more: item(
        text, id=name, kind=kind, session=session, created_at=at, source=Source(more.pop("by")), **more
    ),
    texts,
    names,
    st.sampled_from(KINDS),
    st.sampled_from((None, "s1", "s2")),
    moments,
    by=st.sampled_from(("user", "tool")),
    about=st.sampled_from(("", "about the harbour", "Grace in x")),
    confidence=st.sampled_from((0.2, 0.5, 1.0)),
    type=st.sampled_from(("", "fact")),
    metadata=st.sampled_from(({}, {"derived_from": ["tool"], "turns": ["i1"]}, {"n": 1})),
)
ids = st.lists(names, max_size=3).map(tuple)
operations = st.one_of(
    st.lists(items, max_size=4).map(lambda some: base.Put(HERE, tuple(some))),
    st.lists(items, max_size=4).map(lambda some: base.Put(HERE, tuple(some))),
    st.builds(
        lambda name, value: base.PutVectors(HERE, "vectors", DIGEST, (base.Vector(name, name, value),)),
        names,
        vectors,
    ),
    st.builds(
        lambda a, b, sure: base.PutRelations(HERE, (Relation(a, b, "causes", sure, NOW),)),
        names,
        names,
        st.sampled_from((0.25, 0.5, 1.0)),
    ),
    st.builds(lambda some: base.Delete(HERE, some), ids),
    st.builds(lambda some: base.Delete(HERE, filters=some), filters.filter(lambda one: not one.empty)),
    st.builds(
        lambda name, sure: base.Amend(HERE, name, confidence=sure, superseded_by="i2"),
        names,
        st.sampled_from((None, 0.3)),
    ),
    st.builds(
        lambda path, some: base.PutFile(HERE, file_state(path), tuple(some)),
        st.sampled_from(("a.py", "b.py")),
        st.lists(items, max_size=3),
    ),
    st.builds(lambda path: base.DropFiles(HERE, (path,)), st.sampled_from(("a.py", "b.py"))),
    st.builds(
        lambda name, at: base.PutReceipt(HERE, receipt(name, created_at=at)), st.sampled_from("pq"), moments
    ),
    st.builds(
        lambda session, some: base.MarkShown(HERE, session, some, NOW), st.sampled_from(("s1", "s2")), ids
    ),
    st.just(base.Repair(HERE)),
)
questions = st.builds(
    lambda words, some, vector, limit: base.Search(
        HERE,
        (
            WordsProbe("words", tuple(words)),
            TypoProbe("typos", tuple(words)),
            IdentifiersProbe("identifiers", ("open", "http", "date")),
            EntitiesProbe("entities", ("ada", "grace", "nobody")),
            VectorProbe("vectors", DIGEST, vector, "echo"),
            RecentProbe("recent"),
            NeighboursProbe("near"),
        ),
        some,
        limit,
    ),
    st.lists(st.sampled_from((*WORDS, "harbuor", "gates", "deploying")), max_size=5, unique=True),
    filters,
    vectors,
    st.sampled_from((3, 50)),
)


def _run(store, operation):
    try:
        return store.run(operation)
    except ContextError as error:
        return type(error)


def _rounded(found):
    """What was found, with scores to nine digits: the engines add in the same order, but with other code."""

    def scores(pairs):
        return [(name, round(score, 9)) for name, score in pairs]

    return (
        {space: scores(ranked) for space, ranked in found.lists.items()},
        {space: sorted(scores(measured.items())) for space, measured in found.measures.items()},
        dict(found.items),
        dict(found.beside),
        dict(found.previous),
        found.notes,
    )


def _everything(store):
    return (
        list(store.scan(HERE)),
        sorted(map(str, store.run(base.ListRelations(HERE)))),
        store.run(base.GetVectors(HERE, DIGEST, NAMES)),
        replace(store.count(HERE), bytes=0),
        store.files(HERE),
        store.shown_ids(HERE, "s1"),
        store.receipt(HERE),
        store.expand(HERE, NAMES, 2),
        store.recent(HERE),
        store.workspaces(),
        store.check(HERE),
    )


@pytest.fixture
def stores(tmp_path, postgres, schema):
    """A pair of empty stores for each example."""
    opened = []

    def open_pair():
        place = len(opened)
        opened.append(SqliteStore(tmp_path / str(place), views))
        opened.append(PostgresStore(postgres.url, views, schema_name=f"{schema}_{place}"))
        return opened[-2:]

    yield open_pair
    for store in opened:
        store.close()


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(done=st.lists(operations, min_size=3, max_size=14), asked=st.lists(questions, min_size=1, max_size=3))
def test_the_same_operations_give_the_same_answers(stores, done, asked):
    sqlite, postgres = stores()
    for operation in (base.Put(HERE, (item("Ada deployed the harbour", id="first"),)), *done):
        assert _run(sqlite, operation) == _run(postgres, operation), operation
    assert _everything(sqlite) == _everything(postgres)
    for question in asked:
        assert _rounded(sqlite.search(question)) == _rounded(postgres.search(question))
