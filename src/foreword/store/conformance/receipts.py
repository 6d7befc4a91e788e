"""Tests of receipts and of what each session was shown: both are found again, and deleted when old."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from foreword.store.base import ClearShown, Delete, MarkShown, PutReceipt
from foreword.store.conformance.suite import HERE, NOW, THERE, Suite, item, receipt
from foreword.types import Entry, Filters, Note, StageTime

if TYPE_CHECKING:
    from datetime import datetime


class ReceiptTests(Suite):
    # Receipts

    def test_a_receipt_is_returned_whole(self) -> None:
        entries = (
            Entry("a", "memory", "injected", "d", "s", 3, 0.5, 0.25, 1.5, {"words": 1}, {"words": 2.5}),
            Entry("b", "turn", "over budget"),
        )
        notes = (Note("semantic", "late: é 🚀"),)
        stages = (StageTime("retrieve", 1.25),)
        full = receipt("r1", session="s1", stages=stages, entries=entries, notes=notes)
        self.store.run(PutReceipt(HERE, full))
        assert self.store.receipt(HERE, "r1") == full

    def test_a_receipt_is_found_by_its_id_its_beginning_or_as_the_newest(self) -> None:
        for name, minutes in (("abc1", 0), ("abd2", 2), ("ab", 1), ("x%y_z", -5)):
            self.store.run(PutReceipt(HERE, receipt(name, created_at=NOW + timedelta(minutes=minutes))))
        asked = ("", "abc", "abc1", "ab", "a", "x%", "zz", "%", "_b", "ABC")
        got = [self.store.receipt(HERE, name) for name in asked]
        names = [one.id if one else None for one in got]
        assert names == ["abd2", "abc1", "abc1", "ab", "abd2", "x%y_z", None, None, None, None]

    def test_old_receipts_go_by_age(self) -> None:
        for name, days in (("old", 0), ("kept", 1), ("new", self.receipt_days + 0.5)):
            self.store.run(PutReceipt(HERE, receipt(name, created_at=NOW + timedelta(days=days))))
        kept = [bool(self.store.receipt(HERE, name)) for name in ("old", "kept", "new")]
        assert kept == [False, True, True]

    def test_old_receipts_go_when_they_take_too_much_room(self) -> None:
        notes = (Note("x", "é" * (self.receipt_bytes // 16)),)
        for number in range(16):
            at = NOW + timedelta(minutes=number)
            self.store.run(PutReceipt(HERE, receipt(f"r{number:02}", created_at=at, notes=notes)))
        assert 1 <= self.store.count(HERE).receipts <= 8
        assert self.store.receipt(HERE) == self.store.receipt(HERE, "r15")
        assert self.store.receipt(HERE, "r15") is not None
        assert self.store.receipt(HERE, "r00") is None

    # What sessions were shown

    def _mark_shown(self, session: str, *names: str, at: datetime = NOW) -> int:
        """Record that a session was shown these items. Returns how many were new to it."""
        return self.store.run(MarkShown(HERE, session, names, at))

    def test_a_session_knows_what_it_was_shown_and_no_other_does(self) -> None:
        self.put(*"abc")
        assert self.store.shown_ids(HERE, "s1") == frozenset()
        assert self._mark_shown("s1", "a", "b", "a") == 2
        assert self.store.shown_ids(HERE, "s1") == {"a", "b"}
        assert self._mark_shown("s1", "b", "c") == 1
        assert self._mark_shown("s1") == 0
        self.reopen()
        assert self.store.shown_ids(HERE, "s1") == {"a", "b", "c"}
        assert self.store.shown_ids(HERE, "S1") == frozenset()
        self.assert_sound()

    def test_showing_what_is_not_there_is_ignored(self) -> None:
        self.put("a")
        self.store.put(THERE, [item("b", id="b")])
        assert self._mark_shown("s1", "nobody", "b", "a") == 1
        assert self.store.shown_ids(HERE, "s1") == {"a"}
        assert self.store.shown_ids(THERE, "s1") == frozenset()

    def test_a_session_whose_context_was_emptied_can_be_shown_things_again(self) -> None:
        self.put(*"ab")
        self._mark_shown("s1", "a", "b")
        self._mark_shown("s2", "a")
        assert self.store.batch([ClearShown(HERE, "s1"), ClearShown(HERE, "s1")]) == [2, 0]
        assert self.store.shown_ids(HERE, "s1") == frozenset()
        assert self.store.shown_ids(HERE, "s2") == {"a"}
        assert self._mark_shown("s1", "a") == 1

    def test_what_was_shown_after_a_context_was_emptied_stays(self) -> None:
        self.put(*"ab")
        self._mark_shown("s1", "a", at=NOW)
        self._mark_shown("s1", "b", at=NOW + timedelta(seconds=2))
        assert self.store.run(ClearShown(HERE, "s1", NOW + timedelta(seconds=1))) == 1
        assert self.store.shown_ids(HERE, "s1") == {"b"}

    def test_deleting_a_session_forgets_what_its_subagents_were_shown(self) -> None:
        self.put(*"ab")
        for context in ("s1", "s1/a1", "s10"):
            self._mark_shown(context, "a", "b")
        self.store.run(Delete(HERE, filters=Filters(session="s1")))
        shown = [self.store.shown_ids(HERE, context) for context in ("s1", "s1/a1", "s10")]
        assert shown == [frozenset(), frozenset(), {"a", "b"}]

    def test_posted_writes_about_a_session_are_seen_by_the_next_read(self) -> None:
        self.put(*(f"i{number}" for number in range(30)))
        for number in range(30):
            self.store.post(MarkShown(HERE, "s1", (f"i{number}",), NOW))
            assert len(self.store.shown_ids(HERE, "s1")) == number + 1
        self.store.post(ClearShown(HERE, "s1"))
        assert self.store.shown_ids(HERE, "s1") == frozenset()

    def test_deleting_an_item_or_a_session_forgets_that_it_was_shown(self) -> None:
        self.put(*"ab")
        self._mark_shown("s1", "a", "b")
        self._mark_shown("s2", "a", "b")
        self.store.delete(Delete(HERE, ("a",)))
        assert self.store.shown_ids(HERE, "s1") == {"b"}
        self.put("a")
        assert self.store.shown_ids(HERE, "s1") == {"b"}
        self.store.delete(Delete(HERE, filters=Filters(session="s1")))
        assert self.store.shown_ids(HERE, "s1") == frozenset()
        assert self.store.shown_ids(HERE, "s2") == {"b"}
        self.assert_sound()

    def test_sessions_that_were_shown_nothing_for_long_are_forgotten(self) -> None:
        self.put(*"ab")
        self._mark_shown("old", "a")
        self._mark_shown("long", "b")
        self._mark_shown("long", "a", at=NOW + timedelta(days=1))
        self._mark_shown("new", "a", at=NOW + timedelta(days=self.shown_days + 0.5))
        shown = [self.store.shown_ids(HERE, session) for session in ("old", "long", "new")]
        assert shown == [frozenset(), {"a", "b"}, {"a"}]
