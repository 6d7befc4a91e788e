"""A store with something of every kind in it, and the question that finds all of that."""

from __future__ import annotations

import pytest

from foreword.store.base import PutReceipt, PutRelations, PutVectors, Search, Vector
from foreword.store.conformance.suite import DIGEST, HERE, item, receipt, views
from foreword.store.sqlite import SqliteStore
from foreword.testing import HashEmbeddings
from foreword.types import EntitiesProbe, IdentifiersProbe, Relation, TypoProbe, VectorProbe, WordsProbe


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def store(folder):
    with SqliteStore(folder, views) as store:
        yield store


@pytest.fixture
def sample():
    return Sample()


class Sample:
    """Items that every kind of probe finds, related, with vectors and a receipt."""

    encoder = HashEmbeddings(32)
    probes = (
        WordsProbe("words", ("harbour",)),
        TypoProbe("typos", ("lihgthouse",)),
        IdentifiersProbe("identifiers", ("open",)),
        EntitiesProbe("entities", ("ada",)),
        VectorProbe("vectors", DIGEST, tuple(encoder.embed("harbour gate"))),
    )
    question = Search(HERE, probes)

    def text(self, number):
        return f"Ada saw open_gate {number} of the harbour by the lighthouse {number * 7919}"

    def fill(self, store, count=40):
        """Put the sample into a store and search it, which makes the code file; returns what was found."""
        items = [item(self.text(n), id=f"i{n}", session=f"s{n % 3}") for n in range(count)]
        store.put(HERE, items)
        store.run(PutRelations(HERE, tuple(Relation(f"i{n}", f"i{n + 1}") for n in range(count - 1))))
        self.embed(store, *items)
        store.run(PutReceipt(HERE, receipt("r1")))
        return store.search(self.question)

    def embed(self, store, *items):
        vectors = tuple(Vector(one.id, one.id, tuple(self.encoder.embed(one.text))) for one in items)
        store.run(PutVectors(HERE, "vectors", DIGEST, vectors))

    def codes(self, folder):
        """The only code file under a folder."""
        (path,) = folder.glob("*/*.codes")
        return path
