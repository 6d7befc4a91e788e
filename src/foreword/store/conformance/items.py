"""Tests of items and relations: storing, amending, listing, deleting; no text is ever read as syntax."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta, timezone
from itertools import pairwise
from typing import Any

from foreword.errors import StorageError, ValidationError
from foreword.store import base
from foreword.store.base import MAX_DEPTH
from foreword.store.conformance.suite import (
    DIGEST,
    HERE,
    NOW,
    PROBED_TEXT,
    THERE,
    Suite,
    full_item,
    item,
    listed_ids,
    receipt,
    refused,
    unit_vector,
)
from foreword.types import (
    EntitiesProbe,
    Filters,
    IdentifiersProbe,
    Relation,
    Source,
    TypoProbe,
    VectorProbe,
    WordsProbe,
    content_hash,
)

ODD_TEXTS = (
    '") OR 1=1 --',
    "'; DROP TABLE items; --",
    '"unbalanced',
    'doubled "" quotes """',
    "NEAR(alpha beta, 2)",
    "alpha AND beta OR gamma NOT delta",
    "AND",
    "OR NOT NEAR",
    "prefix* *suffix * **",
    "^first",
    "text: about: rowid: words:",
    "{text about} : alpha",
    "- + : ( ) { } [ ] ^ ~ ! @ # $ % & | \\ / < > = ? , ; `",
    "((((((((((((((((((((((((((((((",
    "%_%_\\%",
    "?1 :name @name $name",
    "line one\nline two\r\n\ttabbed\x0b\x0c",
    "\x01\x02\x1b[31mred\x7f",
    "\ufeff\u200b\u200f\u202e",
    "مرحبا بالعالم שלום עולם",
    "日本語のテキスト 한국어 ไทย",
    "👩‍👩‍👧‍👦 🏳️‍🌈 \U0001f9d1\U0001f3fd‍\U0001f680",
    "Ａ１ ﬁ ﷺ İstanbul ß ǅ",
    "e\u0301 vs \u00e9, Zalgo T̴̡̛o̸̢͝",
    "null NULL None true 1e309 -0 0x1F",
    "a" * 5_000,
    "word " * 20_000,
)
"""Texts that must be returned exactly as they were stored, and never be read as syntax."""

_BYSTANDER = "Untouched lighthouse keeper"


class ItemTests(Suite):
    # Storing and amending

    def test_a_stored_item_is_returned_whole(self) -> None:
        stored = self.put(full_item())[0]
        assert stored.new
        assert stored.item.hash
        assert self.store.get(HERE, "full") == (stored.item,)
        assert replace(stored.item, hash="") == full_item()

    def test_reopening_keeps_everything(self) -> None:
        stored = [one.item for one in self.put(full_item(), item("A harbour", id="b"))]
        self.store.run(base.PutRelations(HERE, (Relation("full", "b", created_at=NOW),)))
        self.store.run(base.PutVectors(HERE, "vectors", DIGEST, (base.Vector("b", "t", unit_vector(0)),)))
        self.store.run(base.PutTokenCodes(HERE, DIGEST, {"b": b"\x00codes"}))
        self.store.run(base.PutReceipt(HERE, receipt("r")))
        self.reopen()
        assert list(self.store.scan(HERE)) == stored
        assert [one.memory.id for one in self.store.expand(HERE, ["b"], 1)["b"]] == ["full"]
        assert self.store.receipt(HERE) == receipt("r")
        self.assert_sound()
        assert self.find(WordsProbe("words", ("harbour",))) == ["b"]
        assert self.find(VectorProbe("vectors", DIGEST, unit_vector(0))) == ["b"]
        assert self.store.run(base.GetTokenCodes(HERE, DIGEST, ("full", "b"))) == {"b": b"\x00codes"}

    def test_an_unknown_id_returns_none_in_its_place(self) -> None:
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

    def test_putting_no_items_returns_nothing(self) -> None:
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
            assert self.store.run(base.Amend(HERE, "full", **change)) == expected, change
            assert self.store.get(HERE, "full") == (expected,), change
        self.assert_sound()

    def test_a_successor_may_be_named_by_its_content_in_the_batch_that_keeps_it(self) -> None:
        self.put("old")
        new = item("new", id="new")
        self.store.batch([base.Put(HERE, (new,)), base.Amend(HERE, "old", superseded_by=content_hash(new))])
        assert self.item("old").superseded_by == "new"

    def test_an_empty_successor_clears_superseded_by(self) -> None:
        self.put(item("old", id="old", superseded_by="new"), "new")
        self.store.run(base.Amend(HERE, "old", superseded_by=""))
        assert self.item("old").superseded_by is None

    def test_amending_an_unknown_id_returns_none(self) -> None:
        self.put("a")
        assert self.store.run(base.Amend(HERE, "b", confidence=0.5)) is None

    # Listing

    def test_a_scan_gives_the_oldest_stored_first_whatever_the_page(self) -> None:
        ids = [f"i{n}" for n in range(10)]
        for number, name in enumerate(ids):
            self.put(item(name, id=name, created_at=NOW - timedelta(days=number)))
        for page in (1, 2, 3, 5, 9, 10, 11):
            assert [one.id for one in self.store.scan(HERE, page=page)] == ids, page

    def test_a_scan_begins_after_the_given_item(self) -> None:
        self.put(*"abcd")
        pages = (base.Scan(HERE, after="b", limit=1), base.Scan(HERE, after="d"), base.Scan(HERE, limit=2))
        assert [[one.id for one in self.store.run(page)] for page in pages] == [["c"], [], ["a", "b"]]

    def test_a_scan_whose_last_page_ended_with_a_forgotten_item_does_not_begin_again(self) -> None:
        self.put(*"abc")
        self.store.delete(base.Delete(HERE, ("b",)))
        with refused(StorageError):
            self.store.run(base.Scan(HERE, after="b"))

    def test_a_tally_changes_when_as_many_items_were_added_as_deleted(self) -> None:
        self.put(*"abc")
        before = self.store.tally(HERE)
        for gone in "cb":  # the last of them, whose place might be given again, and one in the middle
            self.store.delete(base.Delete(HERE, (gone,)))
            assert self.store.tally(HERE)[0] == 2
            self.put(item(f"instead of {gone}", id=gone))
            assert self.store.tally(HERE) not in (before, (2, before[1]))
            before = self.store.tally(HERE)
        assert before == (3, self.item("b"))

    def test_the_newest_come_first_by_when_they_were_made_not_when_they_were_stored(self) -> None:
        for name, days in (("mid", 2), ("old", 3), ("new", 1)):
            self.put(item(name, id=name, created_at=NOW - timedelta(days=days)))
        assert self.store.recent(HERE) == self.store.get(HERE, "new", "mid", "old")
        assert [one.id for one in self.store.recent(HERE, limit=2)] == ["new", "mid"]
        before = Filters(until=NOW - timedelta(days=2))
        assert [one.id for one in self.store.recent(HERE, before)] == ["mid", "old"]

    def test_of_two_made_at_once_the_last_stored_is_the_newest(self) -> None:
        self.put(*"ab")
        assert [one.id for one in self.store.recent(HERE)] == ["b", "a"]

    # Relating

    def test_a_relation_needs_both_its_ends(self) -> None:
        self.put("a")
        self.store.put(THERE, [item("b", id="b")])
        for ends in (("a", "b"), ("b", "a"), ("nobody", "a")):
            with refused(ValidationError):
                self.store.run(base.PutRelations(HERE, (Relation("a", "a"), Relation(*ends))))
        assert self.store.run(base.ListRelations(HERE)) == ()

    def test_relating_counts_what_is_new_or_changed(self) -> None:
        causes = Relation("a", "b", "causes", 0.5, NOW)
        fixes, surer = replace(causes, type="fixes"), replace(causes, confidence=0.75)
        self.put(*"ab")
        assert self.store.run(base.PutRelations(HERE, (causes, fixes))) == 2
        assert self.store.run(base.PutRelations(HERE, (causes,))) == 0
        assert self.store.run(base.PutRelations(HERE, (surer,))) == 1
        assert {one.type: one for one in self.store.run(base.ListRelations(HERE))} == {
            "causes": surer,
            "fixes": fixes,
        }

    def test_expansion_goes_both_ways_nearest_first_to_the_depth_asked(self) -> None:
        names = [f"n{number:02}" for number in range(MAX_DEPTH + 3)]
        edges = [Relation(a, b, "next") for a, b in pairwise(names)]
        edges[1] = Relation(names[2], names[1], "next")  # in the other direction
        self.put(*names)
        self.store.run(base.PutRelations(HERE, tuple(edges)))
        for depth in (0, 1, 2, MAX_DEPTH, MAX_DEPTH + 1, 1000):
            reached = self.store.expand(HERE, [names[0], "nobody"], depth)
            expected = [(names[n], n) for n in range(1, min(depth, MAX_DEPTH) + 1)]
            assert [(one.memory.id, one.depth) for one in reached[names[0]]] == expected, depth
            assert reached["nobody"] == ()

    def test_a_cycle_ends_and_each_item_is_reached_once_by_its_shortest_way(self) -> None:
        self.put(*"abcd")
        pairs = ("ab", "bc", "ca", "cd", "aa", "db")
        self.store.run(base.PutRelations(HERE, tuple(Relation(pair[0], pair[1]) for pair in pairs)))
        reached = self.store.expand(HERE, ["a"], MAX_DEPTH)["a"]
        assert sorted((one.memory.id, one.depth) for one in reached) == [("b", 1), ("c", 1), ("d", 2)]

    def test_of_two_neighbours_the_surer_comes_first(self) -> None:
        self.put(*"abc")
        edges = (Relation("a", "b", confidence=0.2), Relation("c", "a", confidence=0.9))
        self.store.run(base.PutRelations(HERE, edges))
        assert [one.memory.id for one in self.store.expand(HERE, ["a"], 1)["a"]] == ["c", "b"]

    def test_expansion_neither_reaches_nor_passes_what_the_filters_exclude(self) -> None:
        self.store.put(HERE, [item(name, id=name, confidence=0.9) for name in "acd"])
        self.store.put(HERE, [item("b", id="b", confidence=0.2)])
        pairs = ("ab", "bc", "ad")
        self.store.run(base.PutRelations(HERE, tuple(Relation(pair[0], pair[1]) for pair in pairs)))
        reached = self.store.expand(HERE, ["a"], 3, Filters(min_confidence=0.5))["a"]
        assert [one.memory.id for one in reached] == ["d"]
        assert self.store.expand(HERE, ["b"], 1, Filters(kinds=("code",))) == {"b": ()}

    # Deleting

    def test_deleting_by_id_gives_the_ids_that_are_gone(self) -> None:
        self.put(*"abc")
        assert sorted(self.store.delete(base.Delete(HERE, ("a", "nobody", "c", "a")))) == ["a", "c"]
        assert self.store.delete(base.Delete(HERE, ("a",))) == ()
        assert self.store.delete(base.Delete(HERE)) == ()
        assert self.ids() == ["b"]

    def test_deleting_a_session_takes_its_receipts_along(self) -> None:
        for session in ("s1", "s2"):
            self.put(item(session, session=session))
            self.store.run(base.PutReceipt(HERE, receipt(f"r-{session}", session=session)))
        self.store.delete(base.Delete(HERE, filters=Filters(session="s1")))
        assert self.store.receipt(HERE, "r-s1") is None
        assert self.store.receipt(HERE, "r-s2") is not None

    def test_deleting_anything_takes_the_views_out_of_receipts(self) -> None:
        self.put(item("the plum cake", id="a"))
        with_view = receipt("r", view={"assembled/full_prompt": "the plum cake"})
        self.store.run(base.PutReceipt(HERE, with_view))
        self.store.delete(base.Delete(HERE, ("nobody",)))
        assert self.store.receipt(HERE, "r") == with_view
        self.store.delete(base.Delete(HERE, ("a",)))
        assert self.store.receipt(HERE, "r") == replace(with_view, view=None)

    def test_deleting_a_source_deletes_items_made_from_it(self) -> None:
        self.put(item("printed", id="raw", source=Source("Bash", "tool"), session="s1"))
        for name, made_from in (("both", ["user", "Bash"]), ("other", ["Bas", "Bash "]), ("one", "Bash")):
            made = {"derived_from": made_from, "note": "Bash"}
            self.put(item(name, id=name, kind="summary", source=Source("agent", "agent"), metadata=made))
        self.put(item("apart", id="apart", metadata={"turns": ["Bash"], "source": "Bash"}))
        self.store.run(base.MarkShown(HERE, "s2", ("both", "apart"), NOW))
        gone = self.store.delete(base.Delete(HERE, filters=Filters(source="Bash")))
        assert sorted(gone) == ["both", "one", "raw"]
        assert self.ids() == ["other", "apart"]
        assert self.store.shown_ids(HERE, "s2") == {"apart"}
        self.assert_sound()

    def test_a_second_filter_holds_for_what_was_made_from_a_source_too(self) -> None:
        made = {"derived_from": ["Bash"]}
        for session in ("s1", "s2"):
            raw = item("raw", id=f"raw {session}", kind="turn", session=session, source=Source("Bash"))
            self.put(raw, item("sum", id=session, kind="summary", session=session, metadata=made))
        gone = self.store.delete(base.Delete(HERE, filters=Filters(session="s1", source="Bash")))
        assert sorted(gone) == ["raw s1", "s1"]
        assert sorted(self.ids()) == ["raw s2", "s2"]

    def test_items_that_repeat_a_deleted_item_are_deleted_with_it(self) -> None:
        self.put(*(item(name, id=name, kind="turn", session=name) for name in "abc"))
        for name, turns in (("ab", ["a", "b"]), ("bc", ["b", "c"]), ("of ab", ["ab"])):
            made = {"derived_from": ["user"], "turns": turns}
            self.put(item(name, id=name, kind="summary", metadata=made))
        self.put(item("mentions it", id="d", metadata={"turns": ["a"]}))
        assert sorted(self.store.delete(base.Delete(HERE, ("a",)))) == ["a", "ab", "of ab"]
        assert sorted(self.store.delete(base.Delete(HERE, filters=Filters(session="c")))) == ["bc", "c"]
        assert self.ids() == ["b", "d"]
        self.assert_sound()

    def test_only_deleting_looks_at_what_an_item_was_made_from(self) -> None:
        self.put(item("sum", id="sum", metadata={"derived_from": ["Bash"]}))
        assert self.ids(Filters(source="Bash")) == []
        assert self.store.recent(HERE, Filters(source="Bash")) == ()
        assert self.store.delete(base.Delete(HERE, filters=Filters(kinds=("turn",)))) == ()
        assert self.ids() == ["sum"]

    def test_a_deleted_item_is_found_by_no_probe_and_no_read(self) -> None:
        self.put_probed(item(PROBED_TEXT, id="a", session="s"), item("beside", id="b", session="s"))
        self.store.run(base.PutRelations(HERE, (Relation("a", "b"),)))
        self.store.run(base.PutTokenCodes(HERE, DIGEST, {"a": b"codes", "b": b"others"}))
        assert all("a" in ids for ids in listed_ids(self.search(*self.probes)).values())
        self.store.delete(base.Delete(HERE, ("a",)))
        found = self.search(*self.all_probes)
        assert all("a" not in ids for ids in listed_ids(found).values())
        assert "a" not in found.items
        assert self.store.expand(HERE, ["b"], 3) == {"b": ()}
        assert self.store.batch(
            [base.ListRelations(HERE), base.GetVectors(HERE, DIGEST, ("hash of a",))]
        ) == [(), {}]
        counts = self.store.count(HERE)
        assert (counts.items, counts.relations, counts.vectors) == (1, 0, {"vectors": 1})
        assert counts.token_codes == 1
        assert self.store.run(base.GetTokenCodes(HERE, DIGEST, ("a", "b"))) == {"b": b"others"}
        self.assert_sound()

    def test_deleting_the_successor_leaves_nothing_superseded(self) -> None:
        self.put(item("old", id="old", superseded_by="new"), "new")
        self.store.delete(base.Delete(HERE, ("new",)))
        assert self.item("old").superseded_by is None

    def test_what_was_deleted_can_be_stored_again(self) -> None:
        self.put(item("harbour", id="a"))
        self.store.delete(base.Delete(HERE, ("a",)))
        assert self.put(item("harbour", id="a"))[0].new
        assert self.find(WordsProbe("words", ("harbour",))) == ["a"]

    # Odd texts

    def test_any_text_is_returned_as_it_was_stored(self) -> None:
        odd = [item(text, id=text[:50], about=text[:99], type=text[:9]) for text in ODD_TEXTS]
        stored = [one.item for one in self.put(*odd)]
        ids = [one.id for one in stored]
        assert [one.text for one in stored] == list(ODD_TEXTS)
        assert list(self.store.get(HERE, *ids)) == list(self.store.scan(HERE)) == stored
        self.assert_sound()
        assert sorted(self.store.delete(base.Delete(HERE, tuple(ids)))) == sorted(ids)
        self.assert_sound()

    def test_a_text_of_a_hundred_kilobytes_is_found_by_its_last_word(self) -> None:
        long = " ".join(f"word{n}" for n in range(12_000)) + " Zanzibar"
        self.put(item(long, id="long"))
        assert self.item("long").text == long
        assert self.find(WordsProbe("words", ("zanzibar",))) == ["long"]

    def test_words_are_never_syntax(self) -> None:
        self.put(item(_BYSTANDER, id="bystander"), "one more")
        kinds = (WordsProbe, TypoProbe, IdentifiersProbe, EntitiesProbe)
        supported = [kind for kind in kinds if kind not in self.unsupported]
        for text in (*ODD_TEXTS, "nul\0byte", '"', '""', "", " ", "\0"):
            for words in ((text,), tuple(text.split()[:40]), (text, '"', "(")):
                probes = tuple(kind(kind.__name__, words) for kind in supported)
                found = self.store.search(base.Search(HERE, probes))
                assert found.notes == (), (text[:50], found.notes)
                assert "bystander" not in found.items, text[:50]

    def test_filters_are_never_syntax(self) -> None:
        self.put(item(_BYSTANDER, id="bystander"))
        for text in ODD_TEXTS:
            name = text[:50]
            self.put(item(text, id=name, session=text, conversation=text))
            assert self.ids(Filters(session=text)) == self.ids(Filters(conversation=text)) == [name]
            assert self.ids(Filters(types=(text,))) == self.ids(Filters(source=text, kinds=(text,))) == []
            assert self.store.get(HERE, text) in ((None,), (self.item(name),))
            assert self.store.receipt(HERE, text) is None
