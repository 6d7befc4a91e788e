"""The stores are measured beside each other, on servers that the measurement starts itself."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest

from foreword.errors import ValidationError
from foreword_measure.speed import ONLY_IF_NAMED, bench, scale_data

SIZE = 120


@pytest.fixture
def data():
    """A folder that the user may enter as whom PostgreSQL runs; those of pytest are private."""
    with tempfile.TemporaryDirectory(prefix="foreword-scale-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


def test_every_store_is_filled_once_and_measured_from_what_was_kept(data):
    filled = bench(("scale",), (SIZE,), data=data, only_fill=True)
    assert [table.title for table in filled.tables[1:]] == ["Filling"]
    facts = {engine: scale_data.read_facts(data / str(SIZE), engine) for engine in scale_data.ENGINES}
    assert all(facts.values())

    report = bench(("scale",), (SIZE,), data=data)
    for table in report.tables[1:]:
        assert {row[0] for row in table.rows} == set(scale_data.ENGINES)
        numbers = [cell for row in table.rows for cell in row if isinstance(cell, int | float)]
        assert all(map(math.isfinite, numbers))
    for measured in report.data["scale"].values():
        assert {clients: times["without_vectors"] for clients, times in measured["clients"].items()} == {
            "1": 0, "4": 0, "16": 0, "64": 0,
        }  # fmt: skip
        assert measured["recall"] == {"everything": 1.0, "one kind": 1.0, "vectors": SIZE}
        assert measured["disk_bytes"] > 0
        assert (measured["server_bytes"] > 0) == (measured["engine"] != "SQLite")
        assert measured.items() >= facts[measured["engine"]].items()
    assert "scale" in ONLY_IF_NAMED


def test_a_filling_that_was_interrupted_goes_on_where_it_ended(tmp_path):
    told = []
    for size in (SIZE // 2, SIZE):
        scale_data.fill(tmp_path, "SQLite", size, lambda done, total: told.append((done, total)))
        (tmp_path / "sqlite.json").unlink()
    assert told == [(SIZE // 2, SIZE // 2), (SIZE, SIZE)]
    with scale_data.open_engine(tmp_path, "SQLite", SIZE) as (engine, servers):
        assert engine.store.tally(scale_data.WORKSPACE)[0] == SIZE
        kinds, codes = scale_data.read_codes(engine, servers, SIZE)
    assert len(kinds) == len(codes) == SIZE


def test_what_cannot_be_kept_or_has_no_room_is_refused(tmp_path):
    with pytest.raises(ValidationError, match="only `scale` keeps its data"):
        bench(("search",), (SIZE,), data=tmp_path)
    with pytest.raises(ValidationError, match="only `scale` keeps its data"):
        bench(("search",), (SIZE,), stores=("sqlite",))
    with pytest.raises(ValidationError, match="name fewer sizes"):
        bench(("scale",), (10**12,), data=tmp_path)


def test_growth_is_told_for_ten_times_the_items(tmp_path):
    report = bench(("scale",), (50, 500), data=tmp_path, stores=("sqlite",))
    table = next(table for table in report.tables if table.title == "How each grows")
    assert table.columns[2:] == ("50", "500", "times, for ten times the items")
    disk = next(row for row in table.rows if row[1] == "disk MB")
    measured = [facts["disk_bytes"] for facts in report.data["scale"].values()]
    assert disk[-1] == round(measured[1] / measured[0], 2)


def test_only_the_stores_that_are_named_are_looked_at(tmp_path):
    report = bench(("scale",), (SIZE,), data=tmp_path, stores=("sqlite",), only_fill=True)
    assert [facts["engine"] for facts in report.data["scale"].values()] == ["SQLite"]
