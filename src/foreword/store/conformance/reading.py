"""Listing items: page by page, counted, and the newest first."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from datetime import timedelta

from foreword.errors import StorageError
from foreword.store.base import Delete, Scan
from foreword.store.conformance.suite import HERE, NOW, Suite, item, refused
from foreword.types import Filters


class ReadingTests(Suite):
    def test_a_scan_gives_the_oldest_stored_first_whatever_the_page(self) -> None:
        ids = [f"i{n}" for n in range(10)]
        for number, name in enumerate(ids):
            self.put(item(name, id=name, created_at=NOW - timedelta(days=number)))
        for page in (1, 2, 3, 5, 9, 10, 11):
            assert [one.id for one in self.store.scan(HERE, page=page)] == ids, page

    def test_a_scan_goes_on_after_the_item_it_is_told(self) -> None:
        self.put(*"abcd")
        pages = (Scan(HERE, after="b", limit=1), Scan(HERE, after="d"), Scan(HERE, limit=2))
        assert [[one.id for one in self.store.run(page)] for page in pages] == [["c"], [], ["a", "b"]]

    def test_a_scan_whose_last_page_ended_with_a_forgotten_item_does_not_begin_again(self) -> None:
        self.put(*"abc")
        self.store.delete(Delete(HERE, ("b",)))
        with refused(StorageError):
            self.store.run(Scan(HERE, after="b"))

    def test_a_tally_is_another_one_when_as_much_was_added_as_was_forgotten(self) -> None:
        self.put(*"abc")
        before = self.store.tally(HERE)
        for gone in "cb":  # the last of them, whose place might be given again, and one in the middle
            self.store.delete(Delete(HERE, (gone,)))
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
