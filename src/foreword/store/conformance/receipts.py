"""Receipts: stored whole, found again, and deleted when there are too many or they are too old."""

# ruff: noqa: D101, D102, S101  (a test's name is its documentation, and it asserts)

from __future__ import annotations

from datetime import timedelta

from foreword.store.base import PutReceipt
from foreword.store.conformance.suite import HERE, NOW, Suite, receipt
from foreword.types import Entry, Note, StageTime


class ReceiptTests(Suite):
    def test_a_receipt_comes_back_whole(self) -> None:
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
