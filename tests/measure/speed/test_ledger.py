"""The measurement of the ledger: its shape. No time is asserted."""

from __future__ import annotations

from foreword_measure.speed import ledger


def test_everything_promised_is_measured_beside_its_target(tmp_path):
    (table,), facts = ledger.measure(tmp_path, (80,), lambda *_: None, runs=2)
    assert [row[0] for row in table.rows] == [name for name, _, _ in ledger.ROWS]
    assert facts["items"] == 80
    assert facts["times"]["keep"]["count"] == 2
