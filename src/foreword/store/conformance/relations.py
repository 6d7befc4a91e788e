"""Relations between items, and following them."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from foreword.errors import ValidationError
from foreword.store.base import MAX_DEPTH, ListRelations, Relate
from foreword.store.conformance.suite import HERE, NOW, THERE, Suite, item, refused
from foreword.types import Relation


class RelationTests(Suite):
    def test_a_relation_needs_both_its_ends(self) -> None:
        self.put("a")
        self.store.put(THERE, [item("b", id="b")])
        for ends in (("a", "b"), ("b", "a"), ("nobody", "a")):
            with refused(ValidationError):
                self.store.run(Relate(HERE, (Relation("a", "a"), Relation(*ends))))
        assert self.store.run(ListRelations(HERE)) == ()

    def test_relating_counts_what_is_new_or_changed(self) -> None:
        causes = Relation("a", "b", "causes", 0.5, NOW)
        fixes, surer = replace(causes, type="fixes"), replace(causes, confidence=0.75)
        self.put(*"ab")
        assert self.store.run(Relate(HERE, (causes, fixes))) == 2
        assert self.store.run(Relate(HERE, (causes,))) == 0
        assert self.store.run(Relate(HERE, (surer,))) == 1
        assert {one.type: one for one in self.store.run(ListRelations(HERE))} == {
            "causes": surer,
            "fixes": fixes,
        }

    def test_expansion_goes_both_ways_nearest_first_to_the_depth_asked(self) -> None:
        names = [f"n{number:02}" for number in range(MAX_DEPTH + 3)]
        edges = [Relation(a, b, "next") for a, b in pairwise(names)]
        edges[1] = Relation(names[2], names[1], "next")  # in the other direction
        self.put(*names)
        self.store.run(Relate(HERE, tuple(edges)))
        for depth in (0, 1, 2, MAX_DEPTH, MAX_DEPTH + 1, 1000):
            reached = self.store.expand(HERE, [names[0], "nobody"], depth)
            expected = [(names[n], n) for n in range(1, min(depth, MAX_DEPTH) + 1)]
            assert [(one.memory.id, one.depth) for one in reached[names[0]]] == expected, depth
            assert reached["nobody"] == ()

    def test_a_cycle_ends_and_each_item_is_reached_once_by_its_shortest_way(self) -> None:
        self.put(*"abcd")
        pairs = ("ab", "bc", "ca", "cd", "aa", "db")
        self.store.run(Relate(HERE, tuple(Relation(pair[0], pair[1]) for pair in pairs)))
        reached = self.store.expand(HERE, ["a"], MAX_DEPTH)["a"]
        assert sorted((one.memory.id, one.depth) for one in reached) == [("b", 1), ("c", 1), ("d", 2)]

    def test_of_two_neighbours_the_surer_comes_first(self) -> None:
        self.put(*"abc")
        edges = (Relation("a", "b", confidence=0.2), Relation("c", "a", confidence=0.9))
        self.store.run(Relate(HERE, edges))
        assert [one.memory.id for one in self.store.expand(HERE, ["a"], 1)["a"]] == ["c", "b"]
