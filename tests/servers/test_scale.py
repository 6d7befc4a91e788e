"""The stores are measured beside each other, on servers that the measurement starts itself."""

from __future__ import annotations

import math

from foreword_measure.speed import ONLY_IF_NAMED, bench, scale


def test_every_store_is_measured_at_every_size(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(scale, "CLIENTS", (1, 4))
    monkeypatch.setattr(scale, "_QUESTIONS_PER_CLIENT", 3)
    report = bench(("scale",), (120,))
    writing, asking, clients = report.tables[1:]
    for table in (writing, asking, clients):
        assert {row[0] for row in table.rows} == set(scale.ENGINES)
        numbers = [cell for row in table.rows for cell in row if isinstance(cell, int | float)]
        assert all(map(math.isfinite, numbers))
    for facts in report.data["scale"].values():
        assert facts["recall"] == {"everything": 1.0, "one kind": 1.0, "vectors": 120}
        assert facts["disk_bytes"] > 0
        assert (facts["server_bytes"] > 0) == (facts["engine"] != "SQLite")
    assert "scale" in ONLY_IF_NAMED
