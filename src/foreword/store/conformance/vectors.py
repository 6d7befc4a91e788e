"""Storing vectors, and knowing which are missing."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from foreword.errors import ValidationError
from foreword.store.base import Delete, GetVectors, ListUnembedded, PutVectors, Search, Vector
from foreword.store.conformance.suite import (
    DIGEST,
    DIMENSIONS,
    HERE,
    OTHER_DIGEST,
    Suite,
    axis,
    item,
    refused,
)
from foreword.types import VectorProbe


class VectorTests(Suite):
    def _put_vector(self, name: str, text_hash: str, values: tuple[float, ...], space: str = "s") -> int:
        return self.store.run(PutVectors(HERE, space, DIGEST, (Vector(name, text_hash, values),)))

    def _list_unembedded(self, operation: ListUnembedded) -> str:
        return "".join(one.id for one in self.store.run(operation))

    def test_unembedded_lists_what_lacks_a_vector_oldest_first(self) -> None:
        self.put(*"abcd")
        self._put_vector("b", "t", axis(0))
        assert self._list_unembedded(ListUnembedded(HERE, "s", DIGEST)) == "acd"
        assert self._list_unembedded(ListUnembedded(HERE, "s", DIGEST, limit=2)) == "ac"
        assert self._list_unembedded(ListUnembedded(HERE, "s", OTHER_DIGEST)) == "abcd"
        assert self._list_unembedded(ListUnembedded(HERE, "t", DIGEST)) == "abcd"

    def test_unembedded_lists_the_kinds_that_are_asked_for_and_no_other(self) -> None:
        kinds = {"a": "memory", "b": "experience", "c": "turn", "d": "experience", "e": "value"}
        self.put(*(item(name, id=name, kind=kind) for name, kind in kinds.items()))
        self._put_vector("b", "t", axis(0))
        assert self._list_unembedded(ListUnembedded(HERE, "s", DIGEST, kinds=("experience",))) == "d"
        assert self._list_unembedded(ListUnembedded(HERE, "s", DIGEST, kinds=("value", "experience"))) == "de"
        assert self._list_unembedded(ListUnembedded(HERE, "t", DIGEST, limit=1, kinds=("experience",))) == "b"
        assert self._list_unembedded(ListUnembedded(HERE, "s", DIGEST, kinds=("summary",))) == ""

    def test_known_vectors_are_given_by_the_hash_of_their_text(self) -> None:
        self.put("a")
        given = tuple((n + 1) / 10 for n in range(DIMENSIONS))
        self._put_vector("a", "h1", given)
        known = self.store.run(GetVectors(HERE, DIGEST, ("h1", "h2")))
        assert list(known) == ["h1"]
        assert _cosine(known["h1"], given) > 0.999
        assert self.store.run(GetVectors(HERE, OTHER_DIGEST, ("h1",))) == {}

    def test_a_vector_given_again_replaces_the_first(self) -> None:
        self.put_vectors(a=axis(0), b=axis(1))
        assert self.find(VectorProbe("vectors", DIGEST, axis(0))) == ["a", "b"]
        for turned in (axis(3), axis(4)):
            self._put_vector("a", "new", turned, "vectors")
            scores = self.scores(VectorProbe("vectors", DIGEST, turned))
            assert list(scores) == ["a", "b"]
            assert abs(scores["a"] - 1) < 0.001
        assert abs(self.scores(VectorProbe("vectors", DIGEST, axis(0)))["a"]) < 0.001
        assert self.store.count(HERE).vectors == {"vectors": 2}
        self.assert_sound()

    def test_a_vector_replaced_but_not_yet_searched_for_is_no_disagreement(self) -> None:
        self.put_vectors(a=axis(0), b=axis(1))
        self.find(VectorProbe("vectors", DIGEST, axis(0)))
        self._put_vector("a", "new", axis(3), "vectors")
        self.assert_sound()

    def test_a_vector_of_an_item_that_is_gone_is_ignored(self) -> None:
        self.put(*"ab")
        self.store.delete(Delete(HERE, ("a",)))
        vectors = tuple(Vector(name, name, axis(0)) for name in ("a", "b", "nobody"))
        assert self.store.run(PutVectors(HERE, "s", DIGEST, vectors)) == 1
        assert self.store.run(PutVectors(HERE, "s", DIGEST, ())) == 0
        assert self.store.count(HERE).vectors == {"s": 1}

    def test_vectors_of_one_encoder_have_one_size(self) -> None:
        self.put_vectors(a=axis(0), b=axis(1))
        with refused(ValidationError):
            self._put_vector("b", "t", (1.0, 0.0), "vectors")
        found = self.store.search(Search(HERE, (VectorProbe("vectors", DIGEST, (1.0, 0.0)),)))
        assert [note.part for note in found.notes] == ["vectors"]
        self.assert_sound()
        assert self.find(VectorProbe("vectors", DIGEST, axis(0))) == ["a", "b"]

    def test_a_vector_of_zeros_is_near_to_nothing_and_does_no_harm(self) -> None:
        zeros = (0.0,) * DIMENSIONS
        self.put_vectors(zeros=zeros, a=axis(0))
        assert self.find(VectorProbe("vectors", DIGEST, axis(0)))[0] == "a"
        assert all(-1 <= score <= 1 for score in self.scores(VectorProbe("vectors", DIGEST, zeros)).values())


def _cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return float(dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5)
