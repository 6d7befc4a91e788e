"""The measurement of hooks: its shape, and that nothing of it stays. No time is asserted."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path

import pytest

from foreword_measure.speed import bench, hooks


@pytest.fixture(scope="module")
def hooks_report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(hooks, "_START_RUNS", 1)
        patch.setattr(hooks, "_FAULT_RUNS", 2)
        patch.setattr(hooks.measure, "__defaults__", (4,))
        report = bench(("hooks",), (60,))
    return folder, report


@pytest.mark.slow
class TestHooks:
    def test_bare_interpreters_and_hooks_stand_side_by_side(self, hooks_report):
        _, report = hooks_report
        table = next(table for table in report.tables if "prompt's hook" in table.title)
        assert [row[0] for row in table.rows] == [
            "bare interpreter, alone",
            "hook, alone",
            "what the hook adds, alone",
            "bare interpreter, 4 at once",
            "hook, 4 at once",
            "what the hook adds, 4 at once",
        ]
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert {row[-1] for row in table.rows} <= {"yes", "no", None}

    def test_the_same_numbers_are_data(self, hooks_report):
        _, report = hooks_report
        facts = json.loads(json.dumps(report.as_json()))["data"]["hooks"]
        assert facts["items"] == 60
        assert 0 <= facts["answered"] <= 1
        for name in (
            "hook, alone",
            "hook, 4 at once",
            "the service stands still",
            "there is no service",
            "start",
        ):
            assert facts[name]["count"] >= 1
            assert math.isfinite(facts[name]["p99"])

    def test_neither_files_nor_processes_are_left(self, hooks_report):
        folder, _ = hooks_report
        assert list(folder.glob("foreword-*")) == []
        for environment in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):  # it left while we looked
                assert f"FOREWORD_HOME={folder}".encode() not in environment.read_bytes()


def test_the_users_settings_are_not_measured(monkeypatch):
    monkeypatch.setenv("FOREWORD_EMBEDDING", "openai")
    assert not [name for name in hooks._environment() if name.startswith("FOREWORD_")]
