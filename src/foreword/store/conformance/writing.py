"""Storing items and changing what is known about them."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any

from foreword.errors import ValidationError
from foreword.store.base import Amend, Put, PutReceipt, PutVectors, Relate, Vector
from foreword.store.conformance.suite import DIGEST, HERE, NOW, Suite, axis, full_item, item, receipt, refused
from foreword.types import Relation, Source, VectorProbe, WordsProbe, content_hash


class WritingTests(Suite):
    def test_what_is_put_is_got_back_whole(self) -> None:
        stored = self.put(full_item())[0]
        assert stored.new
        assert stored.item.hash
        assert self.store.get(HERE, "full") == (stored.item,)
        assert replace(stored.item, hash="") == full_item()

    def test_reopening_keeps_everything(self) -> None:
        stored = [one.item for one in self.put(full_item(), item("A harbour", id="b"))]
        self.store.run(Relate(HERE, (Relation("full", "b", created_at=NOW),)))
        self.store.run(PutVectors(HERE, "vectors", DIGEST, (Vector("b", "t", axis(0)),)))
        self.store.run(PutReceipt(HERE, receipt("r")))
        self.reopen()
        assert list(self.store.scan(HERE)) == stored
        assert [one.memory.id for one in self.store.expand(HERE, ["b"], 1)["b"]] == ["full"]
        assert self.store.receipt(HERE) == receipt("r")
        self.assert_sound()
        assert self.find(WordsProbe("words", ("harbour",))) == ["b"]
        assert self.find(VectorProbe("vectors", DIGEST, axis(0))) == ["b"]

    def test_an_unknown_id_gives_none_in_its_place(self) -> None:
        self.put("a", "b")
        got = self.store.get(HERE, "b", "nobody", "a", "b")
        assert [one and one.id for one in got] == ["b", None, "a", "b"]
        assert self.store.get(HERE) == ()

    def test_an_item_without_an_id_is_given_one_of_its_own(self) -> None:
        ids = [one.item.id for one in self.put(*(item(f"thing {n}") for n in range(20)))]
        assert all(ids)
        assert len(set(ids)) == 20
        assert [self.item(name).text for name in ids] == [f"thing {n}" for n in range(20)]

    def test_an_id_that_is_taken_is_refused_and_nothing_changes(self) -> None:
        self.put(item("first", id="a"))
        with refused(ValidationError):
            self.put(item("before it"), item("second", id="a"))
        assert [one.text for one in self.store.scan(HERE)] == ["first"]

    def test_the_same_statement_is_kept_once(self) -> None:
        first = self.put(item("twice", id="a", session="s1"))[0]
        again = self.put(item("twice", id="b", created_at=NOW + timedelta(days=1)), item("twice"))
        assert [(one.item, one.new) for one in again] == [(first.item, False)] * 2
        together = self.put(*[item("thrice")] * 3)
        assert [one.new for one in together] == [True, False, False]
        assert len({one.item.id for one in together}) == 1
        assert self.store.count(HERE).items == 2

    def test_statements_differ_by_kind_type_surroundings_text_and_source(self) -> None:
        others: tuple[dict[str, Any], ...] = (
            {"kind": "document"}, {"type": "fact"}, {"about": "x"}, {"source": Source("tool", "tool")},
        )  # fmt: skip
        stored = self.put(item("same"), item("Same"), *(item("same", **other) for other in others))
        assert all(one.new for one in stored)

    def test_the_same_event_at_another_time_is_another_item(self) -> None:
        later = NOW + timedelta(microseconds=1)
        events = [item("yes", kind="turn"), item("yes", kind="turn", created_at=later)]
        events.append(item("yes", kind="turn", session="s2"))
        assert [one.new for one in self.put(*events)] == [True, True, True]
        assert [one.new for one in self.put(*events)] == [False, False, False]

    def test_a_moment_is_the_same_in_every_time_zone(self) -> None:
        abroad = NOW.astimezone(timezone(timedelta(hours=5, minutes=45)))
        first = self.put(item("ja", kind="turn", created_at=abroad, valid_from=abroad))[0]
        assert not self.put(item("ja", kind="turn"))[0].new
        got = self.item(first.item.id)
        assert (got.created_at, got.valid_from) == (NOW, NOW)
        self.assert_sound()

    def test_an_item_belongs_to_the_workspace_it_is_put_in(self) -> None:
        assert self.put(item("mine", id="a", workspace="elsewhere"))[0].item.workspace == HERE
        assert self.store.get("elsewhere", "a") == (None,)

    def test_putting_nothing_gives_nothing(self) -> None:
        assert self.put() == ()

    def test_amending_changes_what_is_named_and_nothing_else(self) -> None:
        changes: tuple[dict[str, Any], ...] = (
            {"confidence": 0.0},
            {"importance": 1.0},
            {"superseded_by": "b"},
            {"metadata": {"k": ["é", {}]}},
            {"metadata": {}},
            {"confidence": 0.5, "importance": 0.5},
            {},
        )
        expected = self.put(full_item())[0].item
        for change in changes:
            expected = replace(expected, **change)
            assert self.store.run(Amend(HERE, "full", **change)) == expected, change
            assert self.store.get(HERE, "full") == (expected,), change
        self.assert_sound()

    def test_a_successor_may_be_named_by_its_content_in_the_batch_that_keeps_it(self) -> None:
        self.put("old")
        new = item("new", id="new")
        self.store.batch([Put(HERE, (new,)), Amend(HERE, "old", superseded_by=content_hash(new))])
        assert self.item("old").superseded_by == "new"

    def test_what_is_superseded_by_nobody_stands_again(self) -> None:
        self.put(item("old", id="old", superseded_by="new"), "new")
        self.store.run(Amend(HERE, "old", superseded_by=""))
        assert self.item("old").superseded_by is None

    def test_amending_nobody_gives_none(self) -> None:
        self.put("a")
        assert self.store.run(Amend(HERE, "b", confidence=0.5)) is None
