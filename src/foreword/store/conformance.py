"""What every store must do, as tests that any engine runs in ten lines:

    import pytest
    from foreword.store.conformance import StoreConformance, views

    class TestMyStore(StoreConformance):
        @pytest.fixture(autouse=True)
        def _place(self, tmp_path):
            self.place = tmp_path

        def open_store(self):
            return MyStore(self.place, views)

`open_store` opens the same data each time it is called within one test, and no data at the first call. If the
engine takes limits for its receipts and for what sessions were told, set `receipt_days`, `receipt_bytes` and
`told_days` to what `open_store` gives it: the smaller, the faster. Nothing here needs pytest; a method is a
rule, and its name says which.
"""  # noqa: D400  (it ends in the example's colon)

# ruff: noqa: D102  (a test's name is its documentation)

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from foreword.errors import ContextError, StorageError, ValidationError
from foreword.store.base import (
    MAX_DEPTH,
    Amend,
    Check,
    Count,
    Counts,
    Delete,
    DropFiles,
    Expand,
    FileMark,
    Files,
    Get,
    GetReceipt,
    KnownVectors,
    Put,
    PutFile,
    PutReceipt,
    PutVectors,
    Recent,
    Refiled,
    Relate,
    Relations,
    Repair,
    Scan,
    Search,
    Store,
    Tell,
    Told,
    Unembedded,
    Untell,
    Vector,
)
from foreword.types import (
    EntitiesProbe,
    Entry,
    Filters,
    Found,
    IdentifiersProbe,
    Item,
    NeighboursProbe,
    Note,
    Receipt,
    RecentProbe,
    Relation,
    Source,
    StageTime,
    TypoProbe,
    VectorProbe,
    Views,
    WordsProbe,
    content_hash,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.store.base import Operation
    from foreword.types import Probe

HERE = "/home/ada/shop"
THERE = "/home/ada/shop/"
NOW = datetime(2026, 1, 15, 12, 0, 0, 123456, tzinfo=UTC)
DIGEST = "b2:1111111111111111"
OTHER_DIGEST = "b2:1111111111112222"
SIZE = 8

TORTURE = (
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
"""Texts that must come back as they went in, and must never be read as syntax."""

_BYSTANDER = "Untouched lighthouse keeper"


def views(item: Item) -> Views:
    """A simple view for tests: underscored words are identifiers, capitalised words are entities."""
    spoken = item.searchable.split()
    names = [word for word in spoken if "_" in word.strip("_")]
    parts = (part for name in names for part in name.lower().split("_") if part)
    entities = (word.lower() for word in spoken if word[:1].isupper())
    return Views(tuple(dict.fromkeys(parts)), tuple(dict.fromkeys(entities)))


def item(text: str, **fields: Any) -> Item:  # noqa: ANN401  (whatever an Item takes)
    """An item of `HERE`, made `NOW`."""
    return replace(Item(text, HERE, created_at=NOW), **fields)


def axis(number: int, tilt: float = 0.0) -> tuple[float, ...]:
    """A vector along one axis, tilted a little towards the next."""
    values = [0.0] * SIZE
    values[number % SIZE] = 1.0
    values[(number + 1) % SIZE] = tilt
    return tuple(values)


def receipt(name: str, **fields: Any) -> Receipt:  # noqa: ANN401  (whatever a Receipt takes)
    """A receipt of `HERE`, written `NOW`."""
    return replace(Receipt(name, HERE, NOW, "why?", "chat", budget=100, tokens=7), **fields)


def mark(path: str, version: int = 1) -> FileMark:
    """How a file of this path looked when it was read."""
    return FileMark(path, 100 + version, 1_700_000_000_000_000_000 + version, f"b2:{version}")


def full_item() -> Item:
    """An item that says something in every field it may."""
    return item(
        "We chose Postgres for parse_http_date.",
        kind="experience",
        id="full",
        type="decision",
        about="Ada, in shop/README.md",
        valid_from=NOW - timedelta(days=3, microseconds=7),
        superseded_by="someone",
        session="s1",
        conversation="c1",
        confidence=0.25,
        importance=0.75,
        source=Source("crawler", "web"),
        metadata={"n": 1, "deep": {"list": [1, 2.5, None, True, "é"]}},
        tokens=9,
    )


PROBES: tuple[Probe, ...] = (
    WordsProbe("words", ("harbour",)),
    TypoProbe("typos", ("harbuor",)),
    IdentifiersProbe("identifiers", ("open",)),
    EntitiesProbe("entities", ("ada",)),
    VectorProbe("vectors", DIGEST, axis(0)),
    RecentProbe("recent"),
)
_PROBED = "Ada said open_gate at the harbour"

FILTERED: tuple[tuple[Filters, dict[str, Any], dict[str, Any]], ...] = (
    (Filters(kinds=("turn", "code")), {"kind": "turn"}, {"kind": "document"}),
    (Filters(types=("fact", "rule")), {"type": "rule"}, {"type": "guess"}),
    (Filters(types=("document",)), {"kind": "document"}, {"kind": "document", "type": "draft"}),
    (Filters(since=NOW), {"created_at": NOW}, {"created_at": NOW - timedelta(microseconds=1)}),
    (Filters(until=NOW), {"created_at": NOW}, {"created_at": NOW + timedelta(microseconds=1)}),
    (Filters(min_confidence=0.5), {"confidence": 0.5}, {"confidence": 0.49}),
    (Filters(conversation="c1"), {"conversation": "c1"}, {"conversation": "c2"}),
    (Filters(conversation="c1"), {"conversation": "c1"}, {"conversation": None}),
    (Filters(session="s1"), {"session": "s1"}, {"session": "S1"}),
    (Filters(source="tool"), {"source": Source("tool", "tool")}, {"source": Source("user", "tool")}),
    (
        Filters(kinds=("turn",), session="s1", min_confidence=0.1),
        {"kind": "turn", "session": "s1"},
        {"kind": "turn", "session": "s2"},
    ),
)
"""A filter, the fields of an item that passes it, and those of one that does not."""


class StoreConformance(ABC):
    """Every rule of the contract in `store.base`; subclass it and say how a store is opened."""

    receipt_days = 30
    receipt_bytes = 8_000_000
    told_days = 30

    @abstractmethod
    def open_store(self) -> Store:
        """Open a store on this test's data, with `views` of this module as its views."""

    # Keeping

    def test_what_is_put_is_got_back_whole(self) -> None:
        with self.open_store() as store:
            kept = store.put(HERE, [full_item()])[0]
            assert kept.new
            assert kept.item.hash
            assert store.get(HERE, "full") == (kept.item,)
            assert replace(kept.item, hash="") == full_item()

    def test_reopening_keeps_everything(self) -> None:
        with self.open_store() as store:
            kept = [one.item for one in store.put(HERE, [full_item(), item("A harbour", id="b")])]
            store.batch([Relate(HERE, (Relation("full", "b", created_at=NOW),))])
            store.batch([PutVectors(HERE, "vectors", DIGEST, (Vector("b", "t", axis(0)),))])
            store.batch([PutReceipt(HERE, receipt("r"))])
        with self.open_store() as store:
            assert list(store.scan(HERE)) == kept
            assert [one.memory.id for one in store.expand(HERE, ["b"], 1)["b"]] == ["full"]
            assert _ids(store, WordsProbe("words", ("harbour",))) == ["b"]
            assert _ids(store, VectorProbe("vectors", DIGEST, axis(0))) == ["b"]
            assert store.receipt(HERE) == receipt("r")
            assert store.check(HERE) == ()

    def test_an_unknown_id_gives_none_in_its_place(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a"), item("b", id="b")])
            got = store.get(HERE, "b", "nobody", "a", "b")
            assert [one and one.id for one in got] == ["b", None, "a", "b"]
            assert store.get(HERE) == ()

    def test_an_item_without_an_id_is_given_one_of_its_own(self) -> None:
        with self.open_store() as store:
            kept = store.put(HERE, [item(f"thing {n}") for n in range(20)])
            ids = [one.item.id for one in kept]
            assert all(ids)
            assert len(set(ids)) == 20
            assert [one.text for one in store.get(HERE, *ids) if one] == [f"thing {n}" for n in range(20)]

    def test_an_id_that_is_taken_is_refused_and_nothing_changes(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("first", id="a")])
            with refused(ValidationError):
                store.put(HERE, [item("before it"), item("second", id="a")])
            assert [one.text for one in store.scan(HERE)] == ["first"]

    def test_the_same_statement_is_kept_once(self) -> None:
        with self.open_store() as store:
            first = store.put(HERE, [item("twice", id="a", session="s1")])[0]
            again = store.put(
                HERE, [item("twice", id="b", created_at=NOW + timedelta(days=1)), item("twice")]
            )
            assert [(one.item, one.new) for one in again] == [(first.item, False)] * 2
            together = store.put(HERE, [item("thrice")] * 3)
            assert [one.new for one in together] == [True, False, False]
            assert len({one.item.id for one in together}) == 1
            assert store.count(HERE).items == 2

    def test_statements_differ_by_kind_type_surroundings_text_and_source(self) -> None:
        others: tuple[dict[str, Any], ...] = (
            {"kind": "document"}, {"type": "fact"}, {"about": "x"}, {"source": Source("tool", "tool")},
        )  # fmt: skip
        with self.open_store() as store:
            kept = store.put(HERE, [item("same"), item("Same"), *(item("same", **other) for other in others)])
            assert all(one.new for one in kept)

    def test_the_same_event_at_another_time_is_another_item(self) -> None:
        later = NOW + timedelta(microseconds=1)
        with self.open_store() as store:
            events = [item("yes", kind="turn"), item("yes", kind="turn", created_at=later)]
            events.append(item("yes", kind="turn", session="s2"))
            assert [one.new for one in store.put(HERE, events)] == [True, True, True]
            assert [one.new for one in store.put(HERE, events)] == [False, False, False]

    def test_a_moment_is_the_same_in_every_time_zone(self) -> None:
        abroad = NOW.astimezone(timezone(timedelta(hours=5, minutes=45)))
        with self.open_store() as store:
            first = store.put(HERE, [item("ja", kind="turn", created_at=abroad, valid_from=abroad)])[0]
            assert not store.put(HERE, [item("ja", kind="turn")])[0].new
            got = store.get(HERE, first.item.id)[0]
            assert got is not None
            assert (got.created_at, got.valid_from) == (NOW, NOW)
            assert store.check(HERE) == ()

    def test_an_item_belongs_to_the_workspace_it_is_put_in(self) -> None:
        with self.open_store() as store:
            kept = store.put(HERE, [item("mine", id="a", workspace="elsewhere")])[0]
            assert kept.item.workspace == HERE
            assert store.get("elsewhere", "a") == (None,)

    def test_putting_nothing_gives_nothing(self) -> None:
        with self.open_store() as store:
            assert store.put(HERE, []) == ()

    def test_a_posted_write_is_done_before_close_returns(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a")])
            for number in range(20):
                store.post(PutReceipt(HERE, receipt(f"r{number}")))
            store.post(Amend(HERE, "a", importance=0.9))
        with self.open_store() as store:
            assert store.count(HERE).receipts == 20
            got = store.get(HERE, "a")[0]
            assert got is not None
            assert got.importance == 0.9

    def test_closing_twice_is_harmless_and_a_closed_store_says_so(self) -> None:
        store = self.open_store()
        store.put(HERE, [item("a", id="a")])
        store.close()
        store.close()
        with refused(StorageError):
            store.get(HERE, "a")
        with refused(StorageError):
            store.put(HERE, [item("b")])

    # Scanning

    def test_a_scan_gives_the_oldest_stored_first_whatever_the_page(self) -> None:
        ids = [f"i{n}" for n in range(10)]
        with self.open_store() as store:
            for number, name in enumerate(ids):
                store.put(HERE, [item(name, id=name, created_at=NOW - timedelta(days=number))])
            for page in (1, 2, 3, 5, 9, 10, 11):
                assert [one.id for one in store.scan(HERE, page=page)] == ids, page

    def test_a_scan_goes_on_after_the_item_it_is_told(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(name, id=name) for name in "abcd"])
            page = store.batch([Scan(HERE, after="b", limit=1), Scan(HERE, after="d"), Scan(HERE, limit=2)])
            assert [[one.id for one in got] for got in page] == [["c"], [], ["a", "b"]]

    def test_a_scan_whose_last_page_ended_with_a_forgotten_item_does_not_begin_again(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(name, id=name) for name in "abc"])
            store.delete(Delete(HERE, ("b",)))
            with refused(StorageError):
                store.batch([Scan(HERE, after="b")])

    def test_every_filter_narrows_a_scan(self) -> None:
        for number, (filters, passing, failing) in enumerate(FILTERED):
            workspace = f"scan {number}"
            with self.open_store() as store:
                store.put(workspace, [item("in", id="in", **passing), item("out", id="out", **failing)])
                assert [one.id for one in store.scan(workspace, filters)] == ["in"], filters
                assert [one.id for one in store.scan(workspace, filters, page=1)] == ["in"], filters

    def test_a_tally_counts_what_passes_and_names_what_was_stored_last(self) -> None:
        for number, (filters, passing, failing) in enumerate(FILTERED):
            workspace = f"tally {number}"
            with self.open_store() as store:
                assert store.tally(workspace, filters) == (0, None), filters
                store.put(workspace, [item("in", id="in", **passing), item("out", id="out", **failing)])
                assert store.tally(workspace, filters) == (1, store.get(workspace, "in")[0]), filters
                assert store.tally(workspace) == (2, store.get(workspace, "out")[0]), filters
                assert store.tally(workspace, filters) == Store.tally(store, workspace, filters), filters

    def test_a_tally_is_another_one_when_as_much_was_added_as_was_forgotten(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(name, id=name) for name in "abc"])
            before = store.tally(HERE)
            for gone in "cb":  # the last of them, whose place might be given again, and one in the middle
                store.delete(Delete(HERE, (gone,)))
                assert store.tally(HERE)[0] == 2
                store.put(HERE, [item(f"instead of {gone}", id=gone)])
                assert store.tally(HERE) not in (before, (2, before[1]))
                before = store.tally(HERE)
            assert before == (3, store.get(HERE, "b")[0])

    def test_the_newest_come_first_by_when_they_were_made_not_when_they_were_stored(self) -> None:
        with self.open_store() as store:
            for name, days in (("mid", 2), ("old", 3), ("new", 1)):
                store.put(HERE, [item(name, id=name, created_at=NOW - timedelta(days=days))])
            assert [one.id for one in store.recent(HERE)] == ["new", "mid", "old"]
            assert [one.id for one in store.recent(HERE, limit=2)] == ["new", "mid"]
            assert store.recent(HERE) == store.get(HERE, "new", "mid", "old")
            again = store.batch([Recent(HERE, limit=1), Recent(HERE, Filters(until=NOW - timedelta(days=2)))])
            assert [[one.id for one in got] for got in again] == [["new"], ["mid", "old"]]

    def test_of_two_made_at_once_the_last_stored_is_the_newest(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("first", id="a"), item("second", id="b")])
            assert [one.id for one in store.recent(HERE)] == ["b", "a"]

    def test_every_filter_narrows_the_newest(self) -> None:
        for number, (filters, passing, failing) in enumerate(FILTERED):
            workspace = f"recent {number}"
            with self.open_store() as store:
                store.put(workspace, [item("in", id="in", **passing), item("out", id="out", **failing)])
                assert [one.id for one in store.recent(workspace, filters)] == ["in"], filters

    # Amending

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
        with self.open_store() as store:
            expected = store.put(HERE, [full_item()])[0].item
            for change in changes:
                expected = replace(expected, **change)
                assert store.batch([Amend(HERE, "full", **change)]) == [expected], change
                assert store.get(HERE, "full") == (expected,), change
            assert store.check(HERE) == ()

    def test_a_successor_may_be_named_by_its_content_in_the_batch_that_keeps_it(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("old", id="old")])
            new = item("new", id="new")
            store.batch([Put(HERE, (new,)), Amend(HERE, "old", superseded_by=content_hash(new))])
            assert [one.superseded_by for one in store.get(HERE, "old") if one] == ["new"]

    def test_what_is_superseded_by_nobody_stands_again(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("old", id="old", superseded_by="new"), item("new", id="new")])
            assert store.batch([Amend(HERE, "old", superseded_by="")])[0].superseded_by is None

    def test_amending_nobody_gives_none(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a")])
            assert store.batch([Amend(HERE, "b", confidence=0.5)]) == [None]

    # Deleting

    def test_deleting_by_id_gives_the_ids_that_are_gone(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(name, id=name) for name in "abc"])
            assert sorted(store.delete(Delete(HERE, ("a", "nobody", "c", "a")))) == ["a", "c"]
            assert store.delete(Delete(HERE, ("a",))) == ()
            assert store.delete(Delete(HERE)) == ()
            assert [one.id for one in store.scan(HERE)] == ["b"]

    def test_deleting_by_filter_takes_all_that_pass_and_no_other(self) -> None:
        for number, (filters, passing, failing) in enumerate(FILTERED):
            workspace = f"delete {number}"
            with self.open_store() as store:
                store.put(workspace, [item("in", id="in", **passing), item("out", id="out", **failing)])
                assert store.delete(Delete(workspace, filters=filters)) == ("in",), filters
                assert [one.id for one in store.scan(workspace)] == ["out"], filters

    def test_deleting_a_session_takes_its_receipts_along(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a", session="s1"), item("b", session="s2")])
            for name in ("s1", "s2"):
                store.batch([PutReceipt(HERE, receipt(f"r-{name}", session=name))])
            store.delete(Delete(HERE, filters=Filters(session="s1")))
            assert store.receipt(HERE, "r-s1") is None
            assert store.receipt(HERE, "r-s2") is not None

    def test_deleting_anything_takes_the_views_out_of_receipts(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("the plum cake", id="a")])
            store.batch([PutReceipt(HERE, receipt("r", view={"assembled/full_prompt": "the plum cake"}))])
            store.delete(Delete(HERE, ("nobody",)))
            before = store.receipt(HERE, "r")
            store.delete(Delete(HERE, ("a",)))
            after = store.receipt(HERE, "r")
        assert before is not None
        assert before.view == {"assembled/full_prompt": "the plum cake"}
        assert after == replace(before, view=None)

    def test_deleting_a_source_takes_along_what_was_made_from_it(self) -> None:
        tool, agent = Source("Bash", "tool"), Source("agent", "agent")
        with self.open_store() as store:
            store.put(HERE, [item("printed", id="raw", source=tool, session="s1")])
            for name, made_from in (("both", ["user", "Bash"]), ("other", ["Bas", "Bash "]), ("one", "Bash")):
                made = {"derived_from": made_from, "note": "Bash"}
                store.put(HERE, [item(name, id=name, kind="summary", source=agent, metadata=made)])
            store.put(HERE, [item("apart", id="apart", metadata={"turns": ["Bash"], "source": "Bash"})])
            _put_told(store, "s2", "both", "apart")
            gone = store.delete(Delete(HERE, filters=Filters(source="Bash")))
            assert sorted(gone) == ["both", "one", "raw"]
            assert [one.id for one in store.scan(HERE)] == ["other", "apart"]
            assert store.told(HERE, "s2") == {"apart"}
            assert store.check(HERE) == ()

    def test_a_second_filter_holds_for_what_was_made_from_a_source_too(self) -> None:
        made = {"derived_from": ["Bash"]}
        with self.open_store() as store:
            for session in ("s1", "s2"):
                store.put(
                    HERE,
                    [item("raw", id=f"raw {session}", kind="turn", session=session, source=Source("Bash"))],
                )
                store.put(HERE, [item("sum", id=session, kind="summary", session=session, metadata=made)])
            gone = store.delete(Delete(HERE, filters=Filters(session="s1", source="Bash")))
            assert sorted(gone) == ["raw s1", "s1"]
            assert sorted(one.id for one in store.scan(HERE)) == ["raw s2", "s2"]

    def test_what_repeats_the_words_of_an_item_goes_with_it(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(name, id=name, kind="turn", session=name) for name in "abc"])
            made_from: tuple[tuple[str, list[str]], ...] = (
                ("ab", ["a", "b"]),
                ("bc", ["b", "c"]),
                ("of ab", ["ab"]),
            )
            for name, turns in made_from:
                made = {"derived_from": ["user"], "turns": turns}
                store.put(HERE, [item(name, id=name, kind="summary", metadata=made)])
            store.put(HERE, [item("mentions it", id="d", metadata={"turns": ["a"]})])
            assert sorted(store.delete(Delete(HERE, ("a",)))) == ["a", "ab", "of ab"]
            assert sorted(store.delete(Delete(HERE, filters=Filters(session="c")))) == ["bc", "c"]
            assert [one.id for one in store.scan(HERE)] == ["b", "d"]
            assert store.check(HERE) == ()

    def test_only_deleting_looks_at_what_an_item_was_made_from(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("sum", id="sum", metadata={"derived_from": ["Bash"]})])
            asked = Filters(source="Bash")
            assert list(store.scan(HERE, asked)) == []
            assert store.recent(HERE, asked) == ()
            assert store.delete(Delete(HERE, filters=Filters(kinds=("turn",)))) == ()
            assert store.get(HERE, "sum") != (None,)

    def test_what_is_deleted_is_found_in_no_way(self) -> None:
        with self.open_store() as store:
            _put_probed(store, HERE, item(_PROBED, id="a", session="s"), item("beside", id="b", session="s"))
            store.batch([Relate(HERE, (Relation("a", "b"),))])
            assert all("a" in ids for ids in _lists(store, *PROBES).values())
            store.delete(Delete(HERE, ("a",)))
            found = store.search(Search(HERE, (*PROBES, NeighboursProbe("near"))))
            assert all("a" not in ids for ids in _names(found).values())
            assert "a" not in found.items
            assert store.expand(HERE, ["b"], 3) == {"b": ()}
            assert store.batch([Relations(HERE), KnownVectors(HERE, DIGEST, ("hash of a",))]) == [(), {}]
            assert store.count(HERE) == replace(
                store.count(HERE), items=1, relations=0, vectors={"vectors": 1}
            )
            assert store.check(HERE) == ()

    def test_deleting_the_successor_leaves_nothing_superseded(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("old", id="old", superseded_by="new"), item("new", id="new")])
            store.delete(Delete(HERE, ("new",)))
            got = store.get(HERE, "old")[0]
            assert got is not None
            assert got.superseded_by is None

    def test_what_was_deleted_can_be_said_again(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("harbour", id="a")])
            store.delete(Delete(HERE, ("a",)))
            assert store.put(HERE, [item("harbour", id="a")])[0].new
            assert _ids(store, WordsProbe("words", ("harbour",))) == ["a"]

    # Relations

    def test_a_relation_needs_both_its_ends(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a")])
            store.put(THERE, [item("b", id="b")])
            for ends in (("a", "b"), ("b", "a"), ("nobody", "a")):
                with refused(ValidationError):
                    store.batch([Relate(HERE, (Relation("a", "a"), Relation(*ends)))])
            assert store.batch([Relations(HERE)]) == [()]

    def test_relating_counts_what_is_new_or_changed(self) -> None:
        edge = Relation("a", "b", "causes", 0.5, NOW)
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a"), item("b", id="b")])
            assert store.batch([Relate(HERE, (edge, replace(edge, type="fixes")))]) == [2]
            assert store.batch([Relate(HERE, (edge,))]) == [0]
            assert store.batch([Relate(HERE, (replace(edge, confidence=0.75),))]) == [1]
            kept = {one.type: one for one in store.batch([Relations(HERE)])[0]}
            assert kept == {"causes": replace(edge, confidence=0.75), "fixes": replace(edge, type="fixes")}

    def test_expansion_goes_both_ways_nearest_first_to_the_depth_asked(self) -> None:
        names = [f"n{number:02}" for number in range(MAX_DEPTH + 3)]
        edges = [Relation(a, b, "next") for a, b in pairwise(names)]
        edges[1] = Relation(names[2], names[1], "next")  # against the stream
        with self.open_store() as store:
            store.put(HERE, [item(name, id=name) for name in names])
            store.batch([Relate(HERE, tuple(edges))])
            for depth in (0, 1, 2, MAX_DEPTH, MAX_DEPTH + 1, 1000):
                reached = store.expand(HERE, [names[0], "nobody"], depth)
                expected = names[1 : min(depth, MAX_DEPTH) + 1]
                assert [one.memory.id for one in reached[names[0]]] == expected, depth
                assert [one.depth for one in reached[names[0]]] == list(range(1, len(expected) + 1))
                assert reached["nobody"] == ()

    def test_a_cycle_ends_and_each_item_is_reached_once_by_its_shortest_way(self) -> None:
        pairs = ("ab", "bc", "ca", "cd", "aa", "db")
        with self.open_store() as store:
            store.put(HERE, [item(name, id=name) for name in "abcd"])
            store.batch([Relate(HERE, tuple(Relation(pair[0], pair[1]) for pair in pairs))])
            reached = store.expand(HERE, ["a"], MAX_DEPTH)["a"]
            assert sorted((one.memory.id, one.depth) for one in reached) == [("b", 1), ("c", 1), ("d", 2)]

    def test_of_two_neighbours_the_surer_comes_first(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(name, id=name) for name in "abc"])
            edges = (Relation("a", "b", confidence=0.2), Relation("c", "a", confidence=0.9))
            store.batch([Relate(HERE, edges)])
            assert [one.memory.id for one in store.expand(HERE, ["a"], 1)["a"]] == ["c", "b"]

    # Searching

    def test_words_find_what_has_them_and_more_of_them_come_first(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a harbour", id="one"), item("harbour gates at dusk", id="two")])
            store.put(HERE, [item("nothing of the kind", id="none")])
            assert _ids(store, WordsProbe("words", ("harbour", "gates"))) == ["two", "one"]
            assert _ids(store, WordsProbe("words", ("absent",))) == []
            assert _ids(store, WordsProbe("words", ())) == []

    def test_words_are_stemmed_folded_and_looked_for_in_the_surroundings(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("Déployed YESTERDAY", id="a"), item("x", about="deploying", id="b")])
            assert sorted(_ids(store, WordsProbe("words", ("deploys",)))) == ["a", "b"]
            assert _ids(store, WordsProbe("words", ("yesterday",))) == ["a"]

    def test_a_misspelt_word_finds_what_was_meant_and_a_known_one_needs_no_guess(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("the lighthouse", id="a"), item("a lamp", id="b")])
            for slip in ("lihgthouse", "lighthous", "lighthousse", "ligthhouse"):
                assert _ids(store, TypoProbe("typos", (slip,))) == ["a"], slip
            assert _ids(store, TypoProbe("typos", ("lighthouse",))) == []
            assert _ids(store, TypoProbe("typos", ("unrelated", "xy"))) == []

    def test_identifiers_are_found_by_their_parts(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("call parse_http_date here", id="a"), item("parse it by hand", id="b")])
            assert _ids(store, IdentifiersProbe("identifiers", ("http", "date"))) == ["a"]
            assert _ids(store, IdentifiersProbe("identifiers", ("parse",))) == ["a"]

    def test_entities_are_found_by_name_and_a_rare_one_counts_for_more(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(f"Ada said {n}", id=f"ada{n}") for n in range(5)])
            store.put(HERE, [item("then Grace spoke", id="grace")])
            assert _ids(store, EntitiesProbe("entities", ("ada", "grace")))[0] == "grace"
            assert _ids(store, EntitiesProbe("entities", ("nobody",))) == []

    def test_the_score_of_names_is_how_much_of_what_was_named_an_item_mentions(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("then Ada met Grace", id="both"), item("then Ada left", id="one")])
            probe = EntitiesProbe("entities", ("ada", "grace"))
            scores = dict(store.search(Search(HERE, (probe,))).lists["entities"])
            assert scores["both"] == 1
            assert 0 < scores["one"] < 1
            strange = EntitiesProbe("entities", ("ada", "grace", "nobody"))
            assert dict(store.search(Search(HERE, (strange,))).lists["entities"])["both"] < 1

    def test_the_score_of_words_grows_with_the_share_of_them_that_an_item_has(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(f"filler number {n}", id=f"f{n}") for n in range(50)])
            store.put(HERE, [item("a quiet harbour lamp", id="all"), item("a quiet evening", id="some")])
            probe = WordsProbe("words", ("quiet", "harbour", "lamp"))
            scores = dict(store.search(Search(HERE, (probe,))).lists["words"])
            assert 0.5 < scores["all"] < 2.5
            assert 0 < scores["some"] < 0.6 * scores["all"]

    def test_vectors_are_found_by_cosine_nearest_first(self) -> None:
        with self.open_store() as store:
            _put_vectors(store, {"far": axis(3), "near": axis(0, 0.5), "same": axis(0)})
            found = store.search(Search(HERE, (VectorProbe("vectors", DIGEST, axis(0)),)))
            scores = dict(found.lists["vectors"])
            assert list(scores) == ["same", "near", "far"]
            assert abs(scores["same"] - 1) < 0.001
            assert abs(scores["near"] - 1 / 1.25**0.5) < 0.01
            assert abs(scores["far"]) < 0.001

    def test_vectors_of_two_encoders_or_two_spaces_are_never_compared(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a"), item("b", id="b"), item("c", id="c")])
            for name, space, digest in (("a", "s", DIGEST), ("b", "s", OTHER_DIGEST), ("c", "t", DIGEST)):
                store.batch([PutVectors(HERE, space, digest, (Vector(name, "same text", axis(0)),))])
            assert _ids(store, VectorProbe("s", DIGEST, axis(0))) == ["a"]
            assert _ids(store, VectorProbe("s", OTHER_DIGEST, axis(0))) == ["b"]
            assert _ids(store, VectorProbe("t", DIGEST, axis(0))) == ["c"]
            assert _ids(store, VectorProbe("s", "b2:unknown", axis(0))) == []
            assert list(store.batch([KnownVectors(HERE, "b2:unknown", ("same text",))])[0]) == []

    def test_the_recent_come_newest_first(self) -> None:
        with self.open_store() as store:
            for name, days in (("old", 3), ("new", 1), ("mid", 2)):
                store.put(HERE, [item(name, id=name, created_at=NOW - timedelta(days=days))])
            assert _ids(store, RecentProbe("recent")) == ["new", "mid", "old"]

    def test_neighbours_are_one_relation_or_one_place_in_a_session_away(self) -> None:
        session = [item(f"turn {n}", kind="turn", id=f"t{n}", session="s") for n in range(4)]
        with self.open_store() as store:
            store.put(HERE, [*session, item("the harbour", id="h", session="s"), item("related", id="r")])
            store.put(HERE, [item("alone", id="alone"), item("after", id="after", session="s")])
            store.batch([Relate(HERE, (Relation("r", "h"),))])
            found = _lists(store, WordsProbe("words", ("harbour",)), NeighboursProbe("near"))
            assert found == {"words": ["h"], "near": ["r", "t3", "after"]}
            assert _ids(store, NeighboursProbe("near")) == []

    def test_every_filter_narrows_every_probe(self) -> None:
        for number, (filters, passing, failing) in enumerate(FILTERED):
            workspace = f"search {number}"
            inside = item(_PROBED, id="in", **passing)
            outside = item(f"{_PROBED} too", id="out", **failing)
            with self.open_store() as store:
                _put_probed(store, workspace, inside, outside)
                narrowed = store.search(Search(workspace, PROBES, filters))
                assert _names(narrowed) == {probe.space: ["in"] for probe in PROBES}, filters
                assert set(narrowed.items) == {"in"}
                everything = _names(store.search(Search(workspace, PROBES)))
                assert all(sorted(ids) == ["in", "out"] for ids in everything.values()), everything

    def test_every_filter_narrows_neighbours(self) -> None:
        for number, (filters, passing, failing) in enumerate(FILTERED):
            workspace = f"near {number}"
            seed = item("the harbour", id="seed", **passing)
            others = [item("in", id="in", **passing), item("out", id="out", **failing)]
            with self.open_store() as store:
                store.put(workspace, [seed, *others])
                store.batch([Relate(workspace, (Relation("seed", "in"), Relation("out", "seed")))])
                probes = (WordsProbe("words", ("harbour",)), NeighboursProbe("near"))
                assert _names(store.search(Search(workspace, probes, filters)))["near"] == ["in"], filters

    def test_a_limit_holds_for_each_probe(self) -> None:
        with self.open_store() as store:
            items = [item(f"{_PROBED} {n}", id=f"i{n}", session="s") for n in range(6)]
            _put_probed(store, HERE, *items)
            for limit in (1, 3, 6, 100):
                found = store.search(Search(HERE, (*PROBES, NeighboursProbe("near")), limit=limit))
                lengths = {space: len(ids) for space, ids in found.lists.items()}
                assert lengths == dict.fromkeys(lengths, min(limit, 6)), limit
                assert len(found.lists) == len(PROBES) + 1

    def test_every_listed_item_is_given_once_with_a_falling_score(self) -> None:
        with self.open_store() as store:
            _put_probed(store, HERE, *[item(f"{_PROBED} {n}", id=f"i{n}") for n in range(6)])
            found = store.search(Search(HERE, PROBES))
            for space, ranked in found.lists.items():
                scores = [score for _, score in ranked]
                assert scores == sorted(scores, reverse=True), space
                assert len({name for name, _ in ranked}) == len(ranked), space
            assert set(found.items) == {f"i{n}" for n in range(6)}
            assert found.notes == ()

    def test_a_deadline_that_has_passed_gives_notes_and_no_error(self) -> None:
        with self.open_store() as store:
            _put_probed(store, HERE, item(_PROBED, id="a"))
            found = store.search(Search(HERE, (*PROBES, NeighboursProbe("near")), expires=0.0))
            assert all(not ranked for ranked in found.lists.values())
            assert {note.part for note in found.notes} == {probe.space for probe in PROBES} | {"near"}
            assert all("late" in note.message for note in found.notes)
            assert all(ids == ["a"] for ids in _lists(store, *PROBES).values())

    # Text

    def test_any_text_comes_back_as_it_went_in(self) -> None:
        with self.open_store() as store:
            odd = [item(text, id=text[:50], about=text[:99], type=text[:9]) for text in TORTURE]
            kept = [one.item for one in store.put(HERE, odd)]
            assert [one.text for one in kept] == list(TORTURE)
            assert list(store.get(HERE, *(text[:50] for text in TORTURE))) == kept
            assert list(store.scan(HERE)) == kept
            assert store.check(HERE) == ()
            assert sorted(store.delete(Delete(HERE, tuple(one.id for one in kept)))) == sorted(
                one.id for one in kept
            )
            assert store.check(HERE) == ()

    def test_a_text_of_a_hundred_kilobytes_is_found_by_its_last_word(self) -> None:
        long = " ".join(f"word{n}" for n in range(12_000)) + " Zanzibar"
        with self.open_store() as store:
            store.put(HERE, [item(long, id="long")])
            assert _ids(store, WordsProbe("words", ("zanzibar",))) == ["long"]
            got = store.get(HERE, "long")[0]
            assert got is not None
            assert got.text == long

    def test_words_are_never_syntax(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(_BYSTANDER, id="bystander"), item("one more", id="more")])
            for text in (*TORTURE, "nul\0byte", '"', '""', "", " ", "\0"):
                for words in ((text,), tuple(text.split()[:40]), (text, '"', "(")):
                    _assert_harmless(store, words, text)

    def test_filters_are_never_syntax(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(_BYSTANDER, id="bystander")])
            for text in TORTURE:
                store.put(HERE, [item(text, id=text[:50], session=text, conversation=text)])
                for filters in (Filters(session=text), Filters(conversation=text), Filters(types=(text,))):
                    expected = [] if filters.types else [text[:50]]
                    assert [one.id for one in store.scan(HERE, filters)] == expected, text[:50]
                assert list(store.scan(HERE, Filters(source=text, kinds=(text,)))) == []
                assert store.get(HERE, text) in ((None,), store.get(HERE, text[:50]))
                assert store.receipt(HERE, text) is None

    # Vectors

    def test_unembedded_lists_what_lacks_a_vector_oldest_first(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(name, id=name) for name in "abcd"])
            store.batch([PutVectors(HERE, "s", DIGEST, (Vector("b", "t", axis(0)),))])
            lacking = [
                Unembedded(HERE, "s", DIGEST),
                Unembedded(HERE, "s", DIGEST, limit=2),
                Unembedded(HERE, "s", OTHER_DIGEST),
                Unembedded(HERE, "t", DIGEST),
            ]
            names = ["".join(one.id for one in got) for got in store.batch(lacking)]
            assert names == ["acd", "ac", "abcd", "abcd"]

    def test_unembedded_lists_the_kinds_that_are_asked_for_and_no_other(self) -> None:
        with self.open_store() as store:
            kinds = {"a": "memory", "b": "experience", "c": "turn", "d": "experience", "e": "value"}
            store.put(HERE, [item(name, id=name, kind=kind) for name, kind in kinds.items()])
            store.batch([PutVectors(HERE, "s", DIGEST, (Vector("b", "t", axis(0)),))])
            lacking = [
                Unembedded(HERE, "s", DIGEST, kinds=("experience",)),
                Unembedded(HERE, "s", DIGEST, kinds=("value", "experience")),
                Unembedded(HERE, "t", DIGEST, limit=1, kinds=("experience",)),
                Unembedded(HERE, "s", DIGEST, kinds=("summary",)),
            ]
            names = ["".join(one.id for one in got) for got in store.batch(lacking)]
            assert names == ["d", "de", "b", ""]

    def test_known_vectors_are_given_by_the_hash_of_their_text(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a")])
            given = tuple((n + 1) / 10 for n in range(SIZE))
            store.batch([PutVectors(HERE, "s", DIGEST, (Vector("a", "h1", given),))])
            known = store.batch([KnownVectors(HERE, DIGEST, ("h1", "h2"))])[0]
            assert list(known) == ["h1"]
            assert _cosine(known["h1"], given) > 0.999
            assert store.batch([KnownVectors(HERE, OTHER_DIGEST, ("h1",))]) == [{}]

    def test_a_vector_given_again_replaces_the_first(self) -> None:
        with self.open_store() as store:
            _put_vectors(store, {"a": axis(0), "b": axis(1)})
            assert _ids(store, VectorProbe("vectors", DIGEST, axis(0))) == ["a", "b"]
            for turned in (axis(3), axis(4)):
                store.batch([PutVectors(HERE, "vectors", DIGEST, (Vector("a", "new", turned),))])
                found = store.search(Search(HERE, (VectorProbe("vectors", DIGEST, turned),)))
                assert [name for name, _ in found.lists["vectors"]] == ["a", "b"]
                assert abs(dict(found.lists["vectors"])["a"] - 1) < 0.001
            scores = dict(
                store.search(Search(HERE, (VectorProbe("vectors", DIGEST, axis(0)),))).lists["vectors"]
            )
            assert abs(scores["a"]) < 0.001
            assert store.count(HERE).vectors == {"vectors": 2}
            assert store.check(HERE) == ()

    def test_a_vector_replaced_but_not_yet_searched_for_is_no_disagreement(self) -> None:
        with self.open_store() as store:
            _put_vectors(store, {"a": axis(0), "b": axis(1)})
            _ids(store, VectorProbe("vectors", DIGEST, axis(0)))
            store.batch([PutVectors(HERE, "vectors", DIGEST, (Vector("a", "new", axis(3)),))])
            assert store.check(HERE) == ()

    def test_a_vector_of_an_item_that_is_gone_is_let_fall(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a"), item("b", id="b")])
            store.delete(Delete(HERE, ("a",)))
            vectors = tuple(Vector(name, name, axis(0)) for name in ("a", "b", "nobody"))
            assert store.batch([PutVectors(HERE, "s", DIGEST, vectors)]) == [1]
            assert store.batch([PutVectors(HERE, "s", DIGEST, ())]) == [0]
            assert store.count(HERE).vectors == {"s": 1}

    def test_vectors_of_one_encoder_have_one_size(self) -> None:
        with self.open_store() as store:
            _put_vectors(store, {"a": axis(0), "b": axis(1)})
            with refused(ValidationError):
                store.batch([PutVectors(HERE, "vectors", DIGEST, (Vector("b", "t", (1.0, 0.0)),))])
            found = store.search(Search(HERE, (VectorProbe("vectors", DIGEST, (1.0, 0.0)),)))
            assert [note.part for note in found.notes] == ["vectors"]
            assert _ids(store, VectorProbe("vectors", DIGEST, axis(0))) == ["a", "b"]
            assert store.check(HERE) == ()

    def test_a_vector_of_zeros_is_near_to_nothing_and_does_no_harm(self) -> None:
        nought = (0.0,) * SIZE
        with self.open_store() as store:
            _put_vectors(store, {"nought": nought, "a": axis(0)})
            assert _ids(store, VectorProbe("vectors", DIGEST, axis(0)))[0] == "a"
            found = store.search(Search(HERE, (VectorProbe("vectors", DIGEST, nought),)))
            assert found.notes == ()
            assert all(-1 <= score <= 1 for _, score in found.lists["vectors"])

    # Receipts

    def test_a_receipt_comes_back_whole(self) -> None:
        whole = receipt(
            "r1",
            session="s1",
            stages=(StageTime("retrieve", 1.25),),
            entries=(
                Entry("a", "memory", "injected", "d", "s", 3, 0.5, 0.25, 1.5, {"words": 1}, {"words": 2.5}),
                Entry("b", "turn", "over budget"),
            ),
            notes=(Note("semantic", "late: é 🚀"),),
        )
        with self.open_store() as store:
            store.batch([PutReceipt(HERE, whole)])
            assert store.receipt(HERE, "r1") == whole

    def test_a_receipt_is_found_by_its_id_its_beginning_or_as_the_newest(self) -> None:
        with self.open_store() as store:
            for name, minutes in (("abc1", 0), ("abd2", 2), ("ab", 1), ("x%y_z", -5)):
                store.batch([PutReceipt(HERE, receipt(name, created_at=NOW + timedelta(minutes=minutes)))])
            asked = ("", "abc", "abc1", "ab", "a", "x%", "zz", "%", "_b", "ABC")
            got = [store.receipt(HERE, name) for name in asked]
            names = [one.id if one else None for one in got]
            assert names == ["abd2", "abc1", "abc1", "ab", "abd2", "x%y_z", None, None, None, None]

    def test_old_receipts_go_by_age(self) -> None:
        with self.open_store() as store:
            for name, days in (("old", 0), ("kept", 1), ("new", self.receipt_days + 0.5)):
                store.batch([PutReceipt(HERE, receipt(name, created_at=NOW + timedelta(days=days)))])
            assert [bool(store.receipt(HERE, name)) for name in ("old", "kept", "new")] == [False, True, True]

    def test_old_receipts_go_when_they_take_too_much_room(self) -> None:
        size = self.receipt_bytes // 8
        with self.open_store() as store:
            for number in range(16):
                note = Note("x", "é" * (size // 2))
                at = NOW + timedelta(minutes=number)
                store.batch([PutReceipt(HERE, receipt(f"r{number:02}", created_at=at, notes=(note,)))])
            assert 1 <= store.count(HERE).receipts <= 8
            newest = store.receipt(HERE)
            assert newest is not None
            assert newest.id == "r15"
            assert store.receipt(HERE, "r00") is None

    # What sessions were told

    def test_a_session_knows_what_it_was_told_and_no_other_does(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(name, id=name) for name in "abc"])
            assert store.told(HERE, "s1") == frozenset()
            assert store.batch([Tell(HERE, "s1", ("a", "b", "a"), NOW), Told(HERE, "s1")]) == [2, {"a", "b"}]
            assert store.batch([Tell(HERE, "s1", ("b", "c"), NOW)]) == [1]
            assert store.told(HERE, "s1") == {"a", "b", "c"}
            assert store.told(HERE, "S1") == frozenset()
            assert store.batch([Tell(HERE, "s1", (), NOW)]) == [0]
        with self.open_store() as store:
            assert store.told(HERE, "s1") == {"a", "b", "c"}
            assert store.check(HERE) == ()

    def test_telling_of_what_is_not_there_is_passed_over(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a")])
            store.put(THERE, [item("b", id="b")])
            assert store.batch([Tell(HERE, "s1", ("nobody", "b", "a"), NOW)]) == [1]
            assert store.told(HERE, "s1") == {"a"}
            assert store.told(THERE, "s1") == frozenset()

    def test_a_session_whose_context_was_emptied_can_be_told_again(self) -> None:
        with self.open_store() as store:
            _put_told(store, "s1", "a", "b")
            store.batch([Tell(HERE, "s2", ("a",), NOW)])
            assert store.batch([Untell(HERE, "s1"), Untell(HERE, "s1"), Told(HERE, "s1")]) == [
                2,
                0,
                frozenset(),
            ]
            assert store.told(HERE, "s2") == {"a"}
            assert store.batch([Tell(HERE, "s1", ("a",), NOW)]) == [1]

    def test_what_is_posted_about_a_session_is_known_to_the_next_who_asks(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item(f"i{n}", id=f"i{n}") for n in range(30)])
            for number in range(30):
                store.post(Tell(HERE, "s1", (f"i{number}",), NOW))
                assert len(store.told(HERE, "s1")) == number + 1
            store.post(Untell(HERE, "s1"))
            assert store.told(HERE, "s1") == frozenset()

    def test_forgetting_an_item_or_a_session_forgets_that_it_was_told(self) -> None:
        with self.open_store() as store:
            _put_told(store, "s1", "a", "b")
            store.batch([Tell(HERE, "s2", ("a", "b"), NOW)])
            store.delete(Delete(HERE, ("a",)))
            assert store.told(HERE, "s1") == {"b"}
            store.put(HERE, [item("a", id="a")])
            assert store.told(HERE, "s1") == {"b"}
            store.delete(Delete(HERE, filters=Filters(session="s1")))
            assert store.told(HERE, "s1") == frozenset()
            assert store.told(HERE, "s2") == {"b"}
            assert store.check(HERE) == ()

    def test_sessions_that_were_told_nothing_for_long_are_forgotten(self) -> None:
        later = NOW + timedelta(days=self.told_days + 0.5)
        with self.open_store() as store:
            _put_told(store, "old", "a")
            _put_told(store, "long", "b")
            store.batch([Tell(HERE, "long", ("a",), NOW + timedelta(days=1))])
            store.batch([Tell(HERE, "new", ("a",), later)])
            told = [store.told(HERE, session) for session in ("old", "long", "new")]
            assert told == [frozenset(), {"a", "b"}, {"a"}]

    # Files

    def test_a_file_is_kept_with_its_mark_and_its_items(self) -> None:
        with self.open_store() as store:
            kept = _file(store, "src/a.py", "one harbour", "two")
            assert [(one.item.text, one.new) for one in kept.stored] == [("one harbour", True), ("two", True)]
            assert kept.gone == ()
            _file(store, "empty.py")
        with self.open_store() as store:
            assert dict(store.files(HERE)) == {
                "src/a.py": replace(mark("src/a.py"), items=2),
                "empty.py": mark("empty.py"),
            }
            assert _ids(store, WordsProbe("words", ("harbour",))) == [kept.stored[0].item.id]
            assert store.check(HERE) == ()

    def test_what_did_not_change_in_a_file_keeps_its_id_its_time_its_relations_and_its_vector(self) -> None:
        with self.open_store() as store:
            first, second = _file(store, "a.py", "one", "two").stored
            vectors = tuple(Vector(one.item.id, one.item.id, axis(0)) for one in (first, second))
            store.batch([PutVectors(HERE, "vectors", DIGEST, vectors)])
            store.batch([Relate(HERE, (Relation(first.item.id, second.item.id),))])
            moved = item("two", kind="code", created_at=NOW + timedelta(days=1), metadata={"lines": [9, 9]})
            again = store.batch([PutFile(HERE, mark("a.py", 2), (item("three", kind="code"), moved))])[0]
            assert again.gone == (first.item.id,)
            assert [one.new for one in again.stored] == [True, False]
            assert again.stored[1].item == replace(second.item, metadata={"lines": [9, 9]})
            assert store.get(HERE, first.item.id, second.item.id) == (None, again.stored[1].item)
            assert _ids(store, VectorProbe("vectors", DIGEST, axis(0))) == [second.item.id]
            assert store.batch([Relations(HERE)]) == [()]
            assert dict(store.files(HERE)) == {"a.py": replace(mark("a.py", 2), items=2)}
            assert store.check(HERE) == ()

    def test_a_file_may_be_given_more_items_beside_those_it_has(self) -> None:
        with self.open_store() as store:
            _file(store, ".git", "one", "two")
            more = PutFile(HERE, mark(".git", 2), (item("two", kind="code"), item("three")), more=True)
            kept = store.batch([more])[0]
            assert (kept.gone, [one.new for one in kept.stored]) == ((), [False, True])
            assert dict(store.files(HERE)) == {".git": replace(mark(".git", 2), items=3)}

    def test_a_file_that_is_given_more_may_lose_what_is_named_and_its_own(self) -> None:
        with self.open_store() as store:
            one, two = _file(store, ".git", "one", "two").stored
            store.put(HERE, [item("not of the file", id="free")])
            less = (one.item.id, "free", "nobody")
            kept = store.batch([PutFile(HERE, mark(".git"), (item("three"),), more=True, less=less)])[0]
            assert kept.gone == (one.item.id,)
            assert [text.text for text in store.scan(HERE)] == ["two", "not of the file", "three"]
            assert store.get(HERE, two.item.id) == (two.item,)
            assert store.check(HERE) == ()

    def test_a_file_may_hold_the_same_thing_twice_and_a_changed_thing_under_its_old_id(self) -> None:
        with self.open_store() as store:
            assert [one.new for one in _file(store, "a.py", "one", "one").stored] == [True, False]
            assert store.files(HERE)["a.py"].items == 1
            store.batch([PutFile(HERE, mark("b.py"), (item("before", id="x"),))])
            after = store.batch([PutFile(HERE, mark("b.py"), (item("after", id="x"),))])[0]
            assert (after.gone, after.stored[0].item.id) == (("x",), "x")
            assert store.check(HERE) == ()

    def test_dropped_files_take_their_items_along_but_not_those_of_another_file(self) -> None:
        with self.open_store() as store:
            mine = _file(store, "a.py", "mine", "both").stored
            _file(store, "b.py", "both", "yours")
            store.put(HERE, [item("nobody's", id="free", superseded_by=mine[0].item.id)])
            assert store.batch([DropFiles(HERE, ("a.py", "unknown.py"))]) == [(mine[0].item.id,)]
            assert [one.text for one in store.scan(HERE)] == ["both", "yours", "nobody's"]
            assert list(store.files(HERE)) == ["b.py"]
            free = store.get(HERE, "free")[0]
            assert free is not None
            assert free.superseded_by is None
            assert len(store.batch([DropFiles(HERE, ("b.py",))])[0]) == 2
            assert (store.files(HERE), store.count(HERE).items) == ({}, 1)
            assert store.batch([DropFiles(HERE, ())]) == [()]
            assert store.check(HERE) == ()

    def test_forgetting_everything_of_a_file_forgets_the_file_and_forgetting_a_part_does_not(self) -> None:
        with self.open_store() as store:
            part, _ = _file(store, "a.py", "one", "two").stored
            _file(store, "b.py", "three", source=Source("file:b.py", "tool"))
            _file(store, "empty.py")
            store.delete(Delete(HERE, (part.item.id,)))
            assert store.files(HERE)["a.py"].items == 1
            assert len(store.delete(Delete(HERE, filters=Filters(source="file:b.py")))) == 1
            assert sorted(store.files(HERE)) == ["a.py", "empty.py"]
            assert store.check(HERE) == ()

    def test_a_file_that_cannot_be_kept_stays_as_it_was(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("taken", id="x")])
            _file(store, "a.py", "one", "two")
            before = [list(store.scan(HERE)), dict(store.files(HERE)), store.search(Search(HERE, PROBES))]
            with refused(ValidationError):
                store.batch([PutFile(HERE, mark("a.py", 2), (item("three"), item("four", id="x")))])
            now = [list(store.scan(HERE)), dict(store.files(HERE)), store.search(Search(HERE, PROBES))]
            assert now == before
            assert store.check(HERE) == ()

    # Counting, checking, repairing

    def test_a_count_says_how_much_there_is(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a"), item("b", id="b"), item("c", id="c", kind="turn")])
            store.batch([Relate(HERE, (Relation("a", "b"), Relation("b", "a")))])
            for space, name in (("s", "a"), ("s", "b"), ("t", "a")):
                store.batch([PutVectors(HERE, space, DIGEST, (Vector(name, name, axis(0)),))])
            store.batch([PutReceipt(HERE, receipt("r"))])
            counts = store.count(HERE)
            assert counts.bytes > 0
            assert replace(counts, bytes=0) == Counts(
                3, {"memory": 2, "turn": 1}, 2, {"s": 2, "t": 1}, receipts=1
            )

    def test_a_sound_workspace_has_no_problems_and_repair_changes_no_answer(self) -> None:
        with self.open_store() as store:
            items = [item(f"{_PROBED} {n}", id=f"i{n}", session="s") for n in range(6)]
            _put_probed(store, HERE, *items)
            store.batch([Relate(HERE, (Relation("i0", "i1"),))])
            store.delete(Delete(HERE, ("i5",)))
            question = Search(HERE, (*PROBES, NeighboursProbe("near")))
            before = store.search(question)
            assert store.batch([Check(HERE), Repair(HERE), Check(HERE)]) == [(), (), ()]
            assert store.search(question) == before
            assert store.count(HERE).items == 5

    # Batches

    def test_results_come_in_the_order_of_the_operations(self) -> None:
        with self.open_store() as store:
            got = store.batch(
                [
                    Put(HERE, (item("a harbour", id="a"), item("b", id="b"))),
                    Get(HERE, ("a",)),
                    Search(HERE, (WordsProbe("words", ("harbour",)),)),
                    PutVectors(HERE, "s", DIGEST, (Vector("b", "t", axis(0)),)),
                    Search(HERE, (VectorProbe("s", DIGEST, axis(0)),)),
                    Delete(HERE, ("b",)),
                    Search(HERE, (VectorProbe("s", DIGEST, axis(0)),)),
                    Count(HERE),
                    Check(HERE),
                ]
            )
            assert [one.item.id for one in got[0]] == ["a", "b"]
            assert got[1][0].id == "a"
            assert _names(got[2]) == {"words": ["a"]}
            assert (got[3], _names(got[4])) == (1, {"s": ["b"]})
            assert (got[5], _names(got[6])) == (("b",), {"s": []})
            assert (got[7].items, got[8]) == (1, ())
            assert store.batch([]) == []

    def test_a_batch_that_fails_leaves_nothing_half_written(self) -> None:
        with self.open_store() as store:
            _put_probed(store, HERE, item(_PROBED, id="a", session="s"), item("b", id="b"))
            store.batch([Relate(HERE, (Relation("a", "b"),)), PutReceipt(HERE, receipt("r", session="s"))])
            store.batch([Tell(HERE, "s", ("a", "b"), NOW)])
            _file(store, "f.py", "one")
            before = _everything(store)
            writes: list[Operation] = [
                Put(HERE, (item("new harbour", id="c"),)),
                Amend(HERE, "b", confidence=0.1),
                Relate(HERE, (Relation("b", "c"),)),
                PutVectors(HERE, "vectors", DIGEST, (Vector("c", "t", axis(2)),)),
                PutReceipt(HERE, receipt("r2")),
                Tell(HERE, "s", ("c",), NOW),
                Untell(HERE, "s"),
                Delete(HERE, ("a",)),
                Delete(HERE, filters=Filters(session="s")),
                PutFile(HERE, mark("f.py", 2), (item("of a file"),)),
                DropFiles(HERE, ("f.py",)),
            ]
            for last in (Relate(HERE, (Relation("b", "nobody"),)), Put(HERE, (item("x", id="b"),))):
                with refused(ValidationError):
                    store.batch([*writes, last])
                assert _everything(store) == before
            assert store.check(HERE) == ()
            assert store.put(HERE, [item("afterwards", id="c")])[0].new

    def test_one_batch_may_speak_to_several_workspaces(self) -> None:
        with self.open_store() as store:
            got = store.batch(
                [
                    Put(HERE, (item("here", id="same"),)),
                    Put(THERE, (item("there", id="same"),)),
                    Get(HERE, ("same",)),
                    Get(THERE, ("same",)),
                    Get("nowhere", ("same",)),
                ]
            )
            assert [one[0] and one[0].text for one in got[2:]] == ["here", "there", None]
            assert store.workspaces() == sorted([HERE, THERE])

    def test_nothing_crosses_from_one_workspace_to_another(self) -> None:
        with self.open_store() as store:
            _put_probed(store, THERE, item(_PROBED, id="a", session="s"), item("b", id="b", session="s"))
            store.batch([Relate(THERE, (Relation("a", "b"),)), PutReceipt(THERE, receipt("r"))])
            store.batch([Tell(THERE, "s", ("a", "b"), NOW)])
            store.batch([PutFile(THERE, mark("f.py"), (item("of a file"),))])
            store.put(HERE, [item(_BYSTANDER, id="mine")])
            probes = (*(p for p in PROBES if not isinstance(p, RecentProbe)), NeighboursProbe("near"))
            assert store.search(Search(HERE, probes)).items == {}
            assert _ids(store, RecentProbe("recent")) == ["mine"]
            assert store.get(HERE, "a") == (None,)
            assert [one.id for one in store.scan(HERE)] == ["mine"]
            assert store.expand(HERE, ["a", "mine"], 3) == {"a": (), "mine": ()}
            assert store.batch([Relations(HERE), GetReceipt(HERE)]) == [(), None]
            assert store.batch([KnownVectors(HERE, DIGEST, ("hash of a",))]) == [{}]
            assert [one.id for one in store.recent(HERE)] == ["mine"]
            assert store.batch([Told(HERE, "s"), Untell(HERE, "s")]) == [frozenset(), 0]
            assert store.told(THERE, "s") == {"a", "b"}
            assert (store.files(HERE), store.batch([DropFiles(HERE, ("f.py",))])) == ({}, [()])
            assert store.files(THERE)["f.py"].items == 1
            assert store.delete(Delete(HERE, ("a",))) == ()
            assert store.batch([Amend(HERE, "a", confidence=0.1)]) == [None]
            assert replace(store.count(HERE), bytes=0) == Counts(1, {"memory": 1})

    def test_an_empty_workspace_gives_nothing_and_nothing_is_made_of_it(self) -> None:
        with self.open_store() as store:
            assert store.get(HERE, "a", "b") == (None, None)
            assert list(store.scan(HERE)) == []
            assert store.search(Search(HERE, PROBES)) == Found({}, {probe.space: () for probe in PROBES})
            assert store.expand(HERE, ["a"], 2) == {"a": ()}
            assert store.receipt(HERE) is None
            assert store.count(HERE) == Counts()
            assert store.check(HERE) == ()
            assert store.delete(Delete(HERE, ("a",))) == ()
            assert store.delete(Delete(HERE, filters=Filters())) == ()
            rest: list[Operation] = [
                Relations(HERE),
                Unembedded(HERE, "s", DIGEST),
                KnownVectors(HERE, DIGEST, ("h",)),
            ]
            assert store.batch([*rest, Repair(HERE), Amend(HERE, "a", confidence=0.5)]) == [
                (), (), {}, (), None,
            ]  # fmt: skip
            assert store.batch([PutVectors(HERE, "s", DIGEST, (Vector("a", "t", axis(0)),))]) == [0]
            assert store.batch([Tell(HERE, "s", ("a",), NOW), Untell(HERE, "s")]) == [0, 0]
            assert (store.told(HERE, "s"), store.recent(HERE)) == (frozenset(), ())
            assert (store.files(HERE), store.batch([DropFiles(HERE, ("f.py",))])) == ({}, [()])
            with refused(ValidationError):
                store.batch([Relate(HERE, (Relation("a", "b"),))])
            store.post(Delete(HERE, ("a",)))
            assert store.workspaces() == []
        with self.open_store() as store:
            assert store.workspaces() == []

    def test_a_workspace_that_holds_nothing_any_more_is_not_listed(self) -> None:
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a")])
            with refused(ValidationError):
                store.batch([Put(THERE, (item("a", id="a"),)), Relate(THERE, (Relation("a", "b"),))])
            assert store.workspaces() == [HERE]
            store.delete(Delete(HERE, ("a",)))
            assert store.workspaces() == []

    def test_no_workspace_no_answer(self) -> None:
        nameless: tuple[Any, ...] = ("", "   ", "\n", None, 7, "a\0b", "\ud800", "x" * 5000)
        with self.open_store() as store:
            store.put(HERE, [item("a", id="a")])
            for name in nameless:
                for operation in _one_of_each(name):
                    with refused(ValidationError):
                        store.batch([Put(HERE, (item("never"),)), operation])
                with refused(ValidationError):
                    store.post(Delete(name, ("a",)))
            assert [one.text for one in store.scan(HERE)] == ["a"]
            assert store.workspaces() == [HERE]

    def test_many_threads_may_write_and_read_at_once(self) -> None:
        failures: list[ContextError] = []

        def work(store: Store, me: int) -> None:
            try:
                for number in range(15):
                    name = f"{me}-{number}"
                    store.put(HERE, [item(f"harbour {name}", id=name)])
                    store.batch([PutVectors(HERE, "vectors", DIGEST, (Vector(name, name, axis(me)),))])
                    assert name in store.search(Search(HERE, PROBES, limit=1000)).items
                    if number % 3 == 0:
                        store.delete(Delete(HERE, (name,)))
            except ContextError as error:
                failures.append(error)

        with self.open_store() as store:
            threads = [threading.Thread(target=work, args=(store, me)) for me in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failures == []
            assert store.count(HERE).items == 60
            assert store.check(HERE) == ()


@contextmanager
def refused(kind: type[ContextError]) -> Iterator[None]:
    """What happens inside must be refused with this error."""
    try:
        yield
    except kind:
        pass
    else:
        raise AssertionError(f"expected {kind.__name__}")


def _put_probed(store: Store, workspace: str, *items: Item) -> None:
    """Put items, each with a vector that `PROBES` asks for."""
    store.put(workspace, items)
    vectors = tuple(Vector(one.id, f"hash of {one.id}", axis(0, n / 100)) for n, one in enumerate(items))
    store.batch([PutVectors(workspace, "vectors", DIGEST, vectors)])


def _put_told(store: Store, session: str, *names: str) -> None:
    """Put items that are not there yet, and tell a session of them."""
    known = [one.id for one in store.get(HERE, *names) if one is not None]
    store.put(HERE, [item(name, id=name) for name in names if name not in known])
    store.batch([Tell(HERE, session, names, NOW)])


def _file(store: Store, path: str, *texts: str, **fields: Any) -> Refiled:  # noqa: ANN401
    """Put a file that holds these texts."""
    items = tuple(item(text, kind="code", **fields) for text in texts)
    refiled: Refiled = store.batch([PutFile(HERE, mark(path), items)])[0]
    return refiled


def _put_vectors(store: Store, vectors: dict[str, tuple[float, ...]]) -> None:
    store.put(HERE, [item(name, id=name) for name in vectors])
    given = tuple(Vector(name, name, values) for name, values in vectors.items())
    assert store.batch([PutVectors(HERE, "vectors", DIGEST, given)]) == [len(given)]


def _names(found: Found) -> dict[str, list[str]]:
    return {space: [name for name, _ in ranked] for space, ranked in found.lists.items()}


def _lists(store: Store, *probes: Probe) -> dict[str, list[str]]:
    found = store.search(Search(HERE, probes))
    assert found.notes == (), found.notes
    return _names(found)


def _ids(store: Store, probe: Probe) -> list[str]:
    return _lists(store, probe)[probe.space]


def _assert_harmless(store: Store, words: tuple[str, ...], text: str) -> None:
    """The words find nothing that does not have them, and give no error."""
    probes = (
        WordsProbe("words", words),
        TypoProbe("typos", words),
        IdentifiersProbe("identifiers", words),
        EntitiesProbe("entities", words),
    )
    found = store.search(Search(HERE, probes))
    assert found.notes == (), (text[:50], found.notes)
    assert "bystander" not in found.items, text[:50]


def _everything(store: Store) -> list[Any]:
    """All that a workspace would answer."""
    return [
        list(store.scan(HERE)),
        store.batch([Relations(HERE)]),
        store.batch([KnownVectors(HERE, DIGEST, ("hash of a", "hash of b", "t"))]),
        replace(store.count(HERE), bytes=0),
        store.search(Search(HERE, (*PROBES, NeighboursProbe("near")))),
        store.receipt(HERE),
        store.told(HERE, "s"),
        store.files(HERE),
    ]


def _one_of_each(workspace: str) -> list[Operation]:
    return [
        Put(workspace, (item("a"),)),
        Get(workspace, ("a",)),
        Scan(workspace),
        Recent(workspace),
        Amend(workspace, "a", confidence=0.5),
        Delete(workspace, ("a",)),
        Relate(workspace, (Relation("a", "a"),)),
        Expand(workspace, ("a",)),
        Relations(workspace),
        Search(workspace, PROBES),
        PutVectors(workspace, "s", DIGEST, ()),
        Unembedded(workspace, "s", DIGEST),
        KnownVectors(workspace, DIGEST, ("h",)),
        PutReceipt(workspace, receipt("r")),
        GetReceipt(workspace),
        Tell(workspace, "s", ("a",), NOW),
        Told(workspace, "s"),
        Untell(workspace, "s"),
        Files(workspace),
        PutFile(workspace, mark("f.py"), ()),
        DropFiles(workspace, ("f.py",)),
        Count(workspace),
        Check(workspace),
        Repair(workspace),
    ]


def _cosine(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return float(dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5)
