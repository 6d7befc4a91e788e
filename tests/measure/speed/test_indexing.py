"""The measurement of indexing: its shape, and that it reads what it says. No time is asserted."""

from __future__ import annotations

import json
import subprocess

import pytest

from foreword.errors import ValidationError
from foreword_measure.speed import indexing


@pytest.fixture(scope="module")
def indexing_report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    told = []
    tables, data = indexing.measure(folder, (12,), lambda *step: told.append(step))
    return folder, tables, data, told


def test_files_are_read_twice_and_commits_once(indexing_report):
    _, (table, _), data, _ = indexing_report
    assert [row[0] for row in table.rows] == ["files, first time", "files, unchanged", "commits"]
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert {row[-1] for row in table.rows} <= {"yes", "no"}
    assert 0 < data["first"]["count"] <= data["files"] <= 12
    assert (data["again"]["count"], data["again"]["items"]) == (0, 0)
    assert data["history"]["count"] == data["commits"] == 12
    assert data["first"]["items"] >= data["first"]["count"]


def test_the_same_numbers_are_data(indexing_report):
    _, _, data, told = indexing_report
    assert json.loads(json.dumps(data)) == data
    assert data["files_per_second"] > 0
    assert told[:4] == [("index", done, 4) for done in range(1, 5)]
    assert told[4:] == [("index: vectors", done, 3) for done in (1, 2, 3)]


def test_vectors_of_code_are_made_in_each_way_beside_each_other(indexing_report):
    _, (_, table), data, _ = indexing_report
    assert [row[0] for row in table.rows] == [
        "whole texts, as they are stored",
        "views by length, each once",
        "the same, several batches at once",
    ]
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert [row[-1] is None for row in table.rows] == [True, True, False]
    plain, careful, ours = data["embedding"].values()
    assert plain["count"] == careful["count"] == plain["items"] > 0
    assert 0 < careful["items"] == ours["items"] <= plain["items"]


def test_the_history_is_the_same_every_time(indexing_report, tmp_path):
    folder, *_ = indexing_report
    indexing._make_history(tmp_path / "again", 12)

    def head(repository):
        asked = ["git", "-C", str(repository), "rev-parse", "main"]
        return subprocess.run(asked, check=True, capture_output=True, timeout=120).stdout

    assert head(folder / "history") == head(tmp_path / "again")


def test_without_git_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValidationError, match="git is not installed"):
        indexing._make_history(tmp_path / "history", 1)
