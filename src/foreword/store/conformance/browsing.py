"""Tests of looking through a workspace: pages, counts, replaced items, receipts, previews of deleting."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from datetime import timedelta

from foreword.store.base import Amend, Delete, MarkShown, PutReceipt, PutRelations
from foreword.store.browsing import (
    CountBy,
    CountPage,
    DeletePreview,
    GetLastShown,
    ListPage,
    ListReceiptFacts,
    ListReceipts,
    ListReplaced,
    PreviewDelete,
)
from foreword.store.conformance.suite import HERE, NOW, THERE, Suite, item, receipt
from foreword.types import REPLACES, Entry, Filters, Relation, Source, StageTime


class BrowsingTests(Suite):
    def _put_items_of_three_days(self) -> None:
        """Put three items, one a day: the second replaces the first, the third is a tool's in a session."""
        self.store.put(
            HERE,
            [
                item("first", id="a1", type="rule", created_at=NOW - timedelta(days=2)),
                item("second", id="a2", created_at=NOW - timedelta(days=1)),
                item("third", id="b1", kind="turn", session="s", source=Source("pytest", "tool")),
            ],
        )
        self.store.run(Amend(HERE, "a1", superseded_by="a2"))

    def test_pages_list_everything_once_newest_first(self) -> None:
        self._put_items_of_three_days()
        pages = [self.store.run(ListPage(HERE, skip=skip, limit=2)) for skip in (0, 2, 4)]
        assert [[one.id for one in page] for page in pages] == [["b1", "a2"], ["a1"], []]
        assert self.store.run(CountPage(HERE)) == 3

    def test_pages_keep_to_filters_trust_and_what_holds(self) -> None:
        self._put_items_of_three_days()
        of_tools = Filters(trust="tool")
        assert [one.id for one in self.store.run(ListPage(HERE, of_tools))] == ["b1"]
        assert [one.id for one in self.store.run(ListPage(HERE, holds=False))] == ["a1"]
        assert [one.id for one in self.store.run(ListPage(HERE, holds=True))] == ["b1", "a2"]
        assert self.store.run(CountPage(HERE, of_tools)) == 1
        assert self.store.run(CountPage(HERE, holds=True)) == 2

    def test_a_sure_relation_from_a_source_that_may_replaces_an_item(self) -> None:
        agent = Source("claude", "agent")
        named = {"old": Source(), "unsure": Source(), "users": Source(), "new": Source(), "agents": agent}
        self.store.put(HERE, [item(name, id=name, source=source) for name, source in named.items()])
        relations = [("new", "old", 0.8), ("new", "unsure", 0.79), ("agents", "users", 0.9)]
        self.store.run(PutRelations(HERE, tuple(Relation(a, b, REPLACES, c) for a, b, c in relations)))
        assert [one.id for one in self.store.run(ListPage(HERE, holds=False))] == ["old"]
        assert self.store.run(CountPage(HERE, holds=True)) == 4

    def test_items_are_listed_by_the_beginning_of_their_ids(self) -> None:
        self._put_items_of_three_days()
        for prefix, found in (("a", ["a2", "a1"]), ("b1", ["b1"]), ("%", []), ("_1", []), ("A", [])):
            assert [one.id for one in self.store.run(ListPage(HERE, prefix=prefix))] == found

    def test_items_are_counted_by_day_kind_type_session_or_trust(self) -> None:
        self._put_items_of_three_days()
        assert list(self.store.run(CountBy(HERE, "day")).items()) == [
            ("2026-01-13", 1),
            ("2026-01-14", 1),
            ("2026-01-15", 1),
        ]
        assert self.store.run(CountBy(HERE, "kind")) == {"memory": 2, "turn": 1}
        assert self.store.run(CountBy(HERE, "type")) == {"rule": 1}
        assert self.store.run(CountBy(HERE, "session")) == {"s": 1}
        assert self.store.run(CountBy(HERE, "trust", Filters(kinds=("turn",)))) == {"tool": 1}
        assert self.store.run(CountBy(HERE, "day", limit=1)) == {"2026-01-15": 1}

    def test_the_items_that_an_item_replaced_are_listed(self) -> None:
        self._put_items_of_three_days()
        assert [one.id for one in self.store.run(ListReplaced(HERE, ("a2", "b1")))] == ["a1"]
        assert self.store.run(ListReplaced(HERE, ("a1",))) == ()

    def test_the_time_when_an_item_was_last_shown_is_found(self) -> None:
        self._put_items_of_three_days()
        for session, at in (("s1", NOW), ("s2", NOW + timedelta(minutes=1))):
            self.store.run(MarkShown(HERE, session, ("a1",), at))
        assert self.store.run(GetLastShown(HERE, ("a1", "a2"))) == {"a1": NOW + timedelta(minutes=1)}

    def test_receipts_are_listed_newest_first_and_by_the_item_they_name(self) -> None:
        for minutes, name in enumerate(("r1", "r2", "r3")):
            entries = (Entry("a", "memory", "injected"),) if name == "r2" else ()
            made = receipt(name, created_at=NOW + timedelta(minutes=minutes), entries=entries)
            self.store.run(PutReceipt(HERE, made))
        assert [one.id for one in self.store.run(ListReceipts(HERE))] == ["r3", "r2", "r1"]
        assert [one.id for one in self.store.run(ListReceipts(HERE, skip=1, limit=1))] == ["r2"]
        assert [one.id for one in self.store.run(ListReceipts(HERE, item_id="a"))] == ["r2"]

    def test_a_receipt_is_summed_up_without_its_entries(self) -> None:
        entries = (Entry("a", "memory", "injected"), Entry("b", "memory", "below floor"))
        stages = (StageTime("retrieve", 1.5), StageTime("fit_budget", 2.5))
        self.store.run(PutReceipt(HERE, receipt("r", entries=entries, stages=stages)))
        (facts,) = self.store.run(ListReceiptFacts(HERE))
        assert (facts.id, facts.injected_count, facts.milliseconds, facts.created_at) == ("r", 1, 4.0, NOW)

    def test_the_text_of_a_receipt_is_kept_until_something_is_forgotten(self) -> None:
        self._put_items_of_three_days()
        self.store.run(PutReceipt(HERE, receipt("r", query="", text="- first\n- second")))
        kept = self.store.receipt(HERE, "r")
        assert kept is not None
        assert kept.text == "- first\n- second"
        self.store.delete(Delete(HERE, ("b1",), keep_copies=True))
        assert self.store.receipt(HERE, "r") == kept
        self.store.delete(Delete(HERE, ("a1",)))
        gone = self.store.receipt(HERE, "r")
        assert gone is not None
        assert not gone.text

    def test_a_text_of_an_item_that_is_gone_meanwhile_is_not_kept(self) -> None:
        late = receipt("r", entries=(Entry("gone", "memory", "injected"),), text="its words")
        self.store.run(PutReceipt(HERE, late))
        kept = self.store.receipt(HERE, "r")
        assert kept is not None
        assert not kept.text

    def test_a_preview_names_what_deleting_then_removes(self) -> None:
        self._put_items_of_three_days()
        made = item("a summary of it", kind="summary", metadata={"derived_from": ["pytest"], "turns": ["b1"]})
        self.store.put(HERE, [made])
        self.store.run(PutRelations(HERE, (Relation("a1", "b1"),)))
        self.store.run(PutReceipt(HERE, receipt("r", query="third")))
        preview = self.store.run(PreviewDelete(HERE, ("b1",)))
        assert (preview.relations, preview.receipts) == (1, 1)
        assert self.store.count(HERE).items == 4
        assert set(self.store.delete(Delete(HERE, ("b1",)))) == {one.id for one in preview.items}
        assert self.store.count(HERE).receipts == 0

    def test_an_empty_workspace_has_nothing_to_look_through(self) -> None:
        self._put_items_of_three_days()
        assert self.store.run(ListPage(THERE)) == ()
        assert self.store.run(ListReceipts(THERE)) == ()
        assert self.store.run(CountPage(THERE)) == 0
        assert self.store.run(CountBy(THERE, "kind")) == self.store.run(GetLastShown(THERE, ("a1",))) == {}
        assert self.store.run(PreviewDelete(THERE, ("a1",))) == DeletePreview()
        assert self.store.run(ListReceiptFacts(THERE)) == ()
        assert self.store.run(ListReplaced(THERE, ("a2",))) == ()
