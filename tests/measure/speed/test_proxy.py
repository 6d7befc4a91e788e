"""The measurement of the proxy: its shape, and that nothing of it stays. No time is asserted."""

from __future__ import annotations

import pytest

from foreword_measure.speed import bench, proxy


@pytest.mark.slow
def test_three_ways_are_measured_side_by_side_and_nothing_stays(tmp_path, monkeypatch, few_rounds):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with few_rounds():
        report = bench(("proxy",), (20,))
    *_, table, stages = report.tables
    assert [row[0] for row in table.rows] == list(proxy.WAYS)
    assert all(row[1] >= 1 and 0 < row[2] <= row[3] <= row[4] <= row[5] for row in table.rows)
    assert any("added at p50" in note for note in table.notes)
    assert {"recall", "retrieve", "word"} <= {row[0] for row in stages.rows}
    assert not any(tmp_path.iterdir())
