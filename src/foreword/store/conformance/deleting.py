"""Deleting items, with everything that was made from them."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from dataclasses import replace

from foreword.store.base import Delete, GetVectors, ListRelations, MarkShown, PutReceipt, Relate
from foreword.store.conformance.suite import (
    DIGEST,
    HERE,
    NOW,
    PROBED_TEXT,
    Suite,
    item,
    listed_ids,
    receipt,
)
from foreword.types import Filters, Relation, Source, WordsProbe


class DeletingTests(Suite):
    def test_deleting_by_id_gives_the_ids_that_are_gone(self) -> None:
        self.put(*"abc")
        assert sorted(self.store.delete(Delete(HERE, ("a", "nobody", "c", "a")))) == ["a", "c"]
        assert self.store.delete(Delete(HERE, ("a",))) == ()
        assert self.store.delete(Delete(HERE)) == ()
        assert self.ids() == ["b"]

    def test_deleting_a_session_takes_its_receipts_along(self) -> None:
        for session in ("s1", "s2"):
            self.put(item(session, session=session))
            self.store.run(PutReceipt(HERE, receipt(f"r-{session}", session=session)))
        self.store.delete(Delete(HERE, filters=Filters(session="s1")))
        assert self.store.receipt(HERE, "r-s1") is None
        assert self.store.receipt(HERE, "r-s2") is not None

    def test_deleting_anything_takes_the_views_out_of_receipts(self) -> None:
        self.put(item("the plum cake", id="a"))
        with_view = receipt("r", view={"assembled/full_prompt": "the plum cake"})
        self.store.run(PutReceipt(HERE, with_view))
        self.store.delete(Delete(HERE, ("nobody",)))
        assert self.store.receipt(HERE, "r") == with_view
        self.store.delete(Delete(HERE, ("a",)))
        assert self.store.receipt(HERE, "r") == replace(with_view, view=None)

    def test_deleting_a_source_takes_along_what_was_made_from_it(self) -> None:
        self.put(item("printed", id="raw", source=Source("Bash", "tool"), session="s1"))
        for name, made_from in (("both", ["user", "Bash"]), ("other", ["Bas", "Bash "]), ("one", "Bash")):
            made = {"derived_from": made_from, "note": "Bash"}
            self.put(item(name, id=name, kind="summary", source=Source("agent", "agent"), metadata=made))
        self.put(item("apart", id="apart", metadata={"turns": ["Bash"], "source": "Bash"}))
        self.store.run(MarkShown(HERE, "s2", ("both", "apart"), NOW))
        gone = self.store.delete(Delete(HERE, filters=Filters(source="Bash")))
        assert sorted(gone) == ["both", "one", "raw"]
        assert self.ids() == ["other", "apart"]
        assert self.store.shown(HERE, "s2") == {"apart"}
        self.assert_sound()

    def test_a_second_filter_holds_for_what_was_made_from_a_source_too(self) -> None:
        made = {"derived_from": ["Bash"]}
        for session in ("s1", "s2"):
            raw = item("raw", id=f"raw {session}", kind="turn", session=session, source=Source("Bash"))
            self.put(raw, item("sum", id=session, kind="summary", session=session, metadata=made))
        gone = self.store.delete(Delete(HERE, filters=Filters(session="s1", source="Bash")))
        assert sorted(gone) == ["raw s1", "s1"]
        assert sorted(self.ids()) == ["raw s2", "s2"]

    def test_what_repeats_the_words_of_an_item_goes_with_it(self) -> None:
        self.put(*(item(name, id=name, kind="turn", session=name) for name in "abc"))
        for name, turns in (("ab", ["a", "b"]), ("bc", ["b", "c"]), ("of ab", ["ab"])):
            made = {"derived_from": ["user"], "turns": turns}
            self.put(item(name, id=name, kind="summary", metadata=made))
        self.put(item("mentions it", id="d", metadata={"turns": ["a"]}))
        assert sorted(self.store.delete(Delete(HERE, ("a",)))) == ["a", "ab", "of ab"]
        assert sorted(self.store.delete(Delete(HERE, filters=Filters(session="c")))) == ["bc", "c"]
        assert self.ids() == ["b", "d"]
        self.assert_sound()

    def test_only_deleting_looks_at_what_an_item_was_made_from(self) -> None:
        self.put(item("sum", id="sum", metadata={"derived_from": ["Bash"]}))
        assert self.ids(Filters(source="Bash")) == []
        assert self.store.recent(HERE, Filters(source="Bash")) == ()
        assert self.store.delete(Delete(HERE, filters=Filters(kinds=("turn",)))) == ()
        assert self.ids() == ["sum"]

    def test_what_is_deleted_is_found_in_no_way(self) -> None:
        self.put_probed(item(PROBED_TEXT, id="a", session="s"), item("beside", id="b", session="s"))
        self.store.run(Relate(HERE, (Relation("a", "b"),)))
        assert all("a" in ids for ids in listed_ids(self.search(*self.probes)).values())
        self.store.delete(Delete(HERE, ("a",)))
        found = self.search(*self.all_probes)
        assert all("a" not in ids for ids in listed_ids(found).values())
        assert "a" not in found.items
        assert self.store.expand(HERE, ["b"], 3) == {"b": ()}
        assert self.store.batch([ListRelations(HERE), GetVectors(HERE, DIGEST, ("hash of a",))]) == [(), {}]
        counts = self.store.count(HERE)
        assert (counts.items, counts.relations, counts.vectors) == (1, 0, {"vectors": 1})
        self.assert_sound()

    def test_deleting_the_successor_leaves_nothing_superseded(self) -> None:
        self.put(item("old", id="old", superseded_by="new"), "new")
        self.store.delete(Delete(HERE, ("new",)))
        assert self.item("old").superseded_by is None

    def test_what_was_deleted_can_be_said_again(self) -> None:
        self.put(item("harbour", id="a"))
        self.store.delete(Delete(HERE, ("a",)))
        assert self.put(item("harbour", id="a"))[0].new
        assert self.find(WordsProbe("words", ("harbour",))) == ["a"]
