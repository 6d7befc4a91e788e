"""Batches are transactions; counting, checking and repairing a workspace."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.store import base
from foreword.store.conformance.suite import (
    DIGEST,
    HERE,
    NOW,
    PROBED_TEXT,
    Suite,
    axis,
    file_state,
    item,
    receipt,
    refused,
)
from foreword.types import Filters, Relation

if TYPE_CHECKING:
    from foreword.store.base import Operation


class BatchTests(Suite):
    def test_results_come_in_the_order_of_the_operations(self) -> None:
        put, get, kept, known, gone, lost, count, problems = self.store.batch(
            [
                base.Put(HERE, (item("a harbour", id="a"), item("b", id="b"))),
                base.Get(HERE, ("a",)),
                base.PutVectors(HERE, "s", DIGEST, (base.Vector("b", "t", axis(0)),)),
                base.GetVectors(HERE, DIGEST, ("t",)),
                base.Delete(HERE, ("b",)),
                base.GetVectors(HERE, DIGEST, ("t",)),
                base.Count(HERE),
                base.Check(HERE),
            ]
        )
        assert [one.item.id for one in put] == ["a", "b"]
        assert get[0].id == "a"
        assert (kept, list(known), gone, lost) == (1, ["t"], ("b",), {})
        assert (count.items, problems) == (1, ())
        assert self.store.batch([]) == []

    def test_a_search_sees_what_its_batch_did_before(self) -> None:
        question = base.Search(HERE, self.probes)
        put = base.Put(HERE, (item(PROBED_TEXT, id="a"), item(f"{PROBED_TEXT} too", id="b")))
        vectors = tuple(base.Vector(name, name, axis(0)) for name in "ab")
        embed = base.PutVectors(HERE, "vectors", DIGEST, vectors)
        _, _, both, _, one = self.store.batch([put, embed, question, base.Delete(HERE, ("b",)), question])
        assert {space: len(ranked) for space, ranked in both.lists.items()} == {
            probe.space: 2 for probe in self.probes
        }
        assert all([name for name, _ in ranked] == ["a"] for ranked in one.lists.values())
        assert (both.notes, one.notes) == ((), ())

    def test_a_batch_that_fails_leaves_nothing_half_written(self) -> None:
        self.put_probed(item(PROBED_TEXT, id="a", session="s"), item("b", id="b"))
        self.store.run(base.Relate(HERE, (Relation("a", "b"),)))
        self.store.run(base.PutReceipt(HERE, receipt("r", session="s")))
        self.store.run(base.MarkShown(HERE, "s", ("a", "b"), NOW))
        self.put_file("f.py", "one")
        before = self._everything()
        writes: list[Operation[Any]] = [
            base.Put(HERE, (item("new harbour", id="c"),)),
            base.Amend(HERE, "b", confidence=0.1),
            base.Relate(HERE, (Relation("b", "c"),)),
            base.PutVectors(HERE, "vectors", DIGEST, (base.Vector("c", "t", axis(2)),)),
            base.PutReceipt(HERE, receipt("r2")),
            base.MarkShown(HERE, "s", ("c",), NOW),
            base.ClearShown(HERE, "s"),
            base.Delete(HERE, ("a",)),
            base.Delete(HERE, filters=Filters(session="s")),
            base.PutFile(HERE, file_state("f.py", 2), (item("of a file"),)),
            base.DropFiles(HERE, ("f.py",)),
        ]
        for last in (base.Relate(HERE, (Relation("b", "nobody"),)), base.Put(HERE, (item("x", id="b"),))):
            with refused(ValidationError):
                self.store.batch([*writes, last])
            assert self._everything() == before
        self.assert_sound()
        assert self.put(item("afterwards", id="c"))[0].new

    def _everything(self) -> list[Any]:
        """All that a workspace would answer."""
        return [
            list(self.store.scan(HERE)),
            self.store.run(base.ListRelations(HERE)),
            self.store.run(base.GetVectors(HERE, DIGEST, ("hash of a", "hash of b", "t"))),
            replace(self.store.count(HERE), bytes=0),
            self.store.search(base.Search(HERE, self.all_probes)),
            self.store.receipt(HERE),
            self.store.shown(HERE, "s"),
            self.store.files(HERE),
        ]

    def test_a_count_says_how_much_there_is(self) -> None:
        self.put("a", "b", item("c", id="c", kind="turn"))
        self.store.run(base.Relate(HERE, (Relation("a", "b"), Relation("b", "a"))))
        for space, name in (("s", "a"), ("s", "b"), ("t", "a")):
            self.store.run(base.PutVectors(HERE, space, DIGEST, (base.Vector(name, name, axis(0)),)))
        self.store.run(base.PutReceipt(HERE, receipt("r")))
        counts = self.store.count(HERE)
        assert counts.bytes > 0
        expected = base.Counts(3, {"memory": 2, "turn": 1}, 2, {"s": 2, "t": 1}, receipts=1)
        assert replace(counts, bytes=0) == expected

    def test_a_sound_workspace_has_no_problems_and_repair_changes_no_answer(self) -> None:
        self.put_probed(*(item(f"{PROBED_TEXT} {n}", id=f"i{n}", session="s") for n in range(6)))
        self.store.run(base.Relate(HERE, (Relation("i0", "i1"),)))
        self.store.delete(base.Delete(HERE, ("i5",)))
        before = self.search(*self.all_probes)
        assert self.store.batch([base.Check(HERE), base.Repair(HERE), base.Check(HERE)]) == [(), (), ()]
        assert self.search(*self.all_probes) == before
        assert self.store.count(HERE).items == 5
