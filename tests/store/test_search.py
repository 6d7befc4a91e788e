"""Searching in SQLite: filters as numbers, common words, and the deadline."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from foreword.store import search
from foreword.store.base import Search
from foreword.store.conformance.suite import HERE, item
from foreword.store.sqlite import SqliteStore
from foreword.store.sqlite_search import ItemsPassingFilters, _SqliteRows
from foreword.types import Filters, Item, Views, WordsProbe

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def tx(tmp_path):
    """A connection to a workspace with 300 items, of which a third is code."""
    with SqliteStore(tmp_path, lambda _: Views()) as store:
        kinds = ("memory", "code", "document")
        store.put(
            "shop",
            [
                Item(f"{at}", "shop", kind=kinds[at % 3], created_at=NOW + timedelta(hours=at))
                for at in range(300)
            ],
        )
        with store._open.take("shop", lambda: None)._open_snapshot_transaction() as tx:
            yield tx


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(kinds=("code",)), list(range(2, 301, 3))),
        (Filters(since=NOW + timedelta(hours=298)), [299, 300]),
        (Filters(kinds=("commit",)), []),
    ],
    ids=["many", "few", "none"],
)
def test_the_numbers_of_what_passes_are_all_there(tx, filters, expected):
    passing = ItemsPassingFilters(tx, filters)
    found = passing.all_numbers()
    assert found.dtype == "int64"
    assert sorted(found.tolist()) == expected
    assert sorted(passing.numbers_if_few(100).tolist()) == expected
    assert (passing.numbers_if_few(99) is None) == (len(expected) > 99)
    assert passing.passing_among(list(range(1, 400, 2))) == {number for number in expected if number % 2}


def test_words_that_stand_nearly_everywhere_are_left_aside_unless_there_are_no_others(store, monkeypatch):
    monkeypatch.setattr(search, "MAX_POSTINGS", 2000)
    store.put(HERE, [item(f"common word{n} of_the day", id=f"i{n}") for n in range(2100)])
    store.put(HERE, [item("common rarity", id="rare")])
    found = store.search(Search(HERE, (WordsProbe("words", ("commons", "rarity")),)))
    assert [name for name, _ in found.lists["words"]] == ["rare"]
    found = store.search(Search(HERE, (WordsProbe("words", ("common",)),), limit=7))
    assert len(found.lists["words"]) == 7


def test_a_deadline_that_passes_meanwhile_interrupts_the_search(store):
    store.put(HERE, [item(f"common word{n}", id=f"i{n}") for n in range(2000)])
    probes = tuple(WordsProbe(f"w{n}", ("common",)) for n in range(2000))
    found = store.search(Search(HERE, probes, limit=1000, expires=time.monotonic() + 0.05))
    assert any("late" in note.message for note in found.notes)
    assert len(found.lists) + len(found.notes) == 2000


def test_no_statement_of_a_search_begins_with_all_items_that_pass_a_filter(tx):
    statements = []
    tx.db.exec_trace = lambda _, sql, values: statements.append((sql, values)) or True
    rows = _SqliteRows(tx)
    filters = Filters(kinds=("code",))
    for look in (rows.related_items, rows.previous_in_session, rows.next_in_session):
        look([1, 2, 3], filters)
    rows.count_and_find_mentions(["ada"], filters, 5)
    rows.rank_by_bm25("words", ["ada"], filters, 5)
    ItemsPassingFilters(tx, filters).passing_among([1, 2, 3])
    tx.db.exec_trace = None
    assert len(statements) >= 6
    for sql, values in statements:
        plan = "; ".join(row[3] for row in tx.db.execute(f"EXPLAIN QUERY PLAN {sql}", values))
        assert "items_kind" not in plan, (sql, plan)
