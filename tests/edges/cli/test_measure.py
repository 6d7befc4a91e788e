from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from foreword_measure.report import Report, Table

REPORT = Report(
    (
        Table(
            "speed",
            ("what", "ms", "count"),
            (("sear[b]ch", 1.5, 1000), ("write", None, 12)),
            ("one machine",),
        ),
    ),
    {"answer": 42},
)


def _write_labelled_set(folder):
    folder.mkdir(parents=True)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        (folder / name).write_text("")
    return folder


@pytest.fixture
def evaluation_calls(monkeypatch):
    """Stands in for the evaluation; gives the calls it received."""
    calls = []

    def evaluate(folder, *, progress, **options):
        progress("storing", 1, 2)
        progress("asking", 0, 0)
        calls.append((folder, options))
        return REPORT

    monkeypatch.setattr("foreword_measure.quality.evaluate", evaluate)
    return calls


def test_eval_prints_tables_and_passes_its_options_on(foreword, evaluation_calls):
    ran = foreword("eval", "some-set", "--run", "run.txt", "--limit-queries", "5")
    assert ran.code == 0
    options = {
        "lanes": ("fast", "full"), "baselines": True, "without": (), "silence": False, "others": [],
        "run_file": Path("run.txt"), "limit": 5, "home": None,
    }  # fmt: skip
    assert evaluation_calls == [(Path("some-set"), options)]
    for text in ("speed", "sear[b]ch", "1.500", "1,000", "one machine", "-"):
        assert text in ran.out


@pytest.mark.parametrize("lane", ["fast", "full"])
def test_eval_measures_one_lane_without_spaces_and_baselines(foreword, evaluation_calls, lane):
    foreword("eval", "one", "two", "--lane", lane, "--no-baselines", "--without", "graph", "--without", "day",
             "--silence")  # fmt: skip
    (_, first), (_, second) = evaluation_calls
    assert (first["lanes"], first["baselines"], first["without"]) == ((lane,), False, ("graph", "day"))
    assert first["silence"]
    assert (first["others"], second["others"]) == ([Path("two")], [Path("one")])


def test_eval_in_json_is_one_report_or_a_list_of_them(foreword, evaluation_calls):
    assert foreword("eval", "one", "--json").json["data"] == {"answer": 42}
    assert len(foreword("eval", "one", "two", "--json").json) == 2


def test_eval_all_takes_every_set_in_a_folder_and_sums_up(foreword, evaluation_calls, monkeypatch, tmp_path):
    sets = [_write_labelled_set(tmp_path / "data" / name) for name in ("a", "b")]
    (tmp_path / "data" / "other").mkdir()
    monkeypatch.setattr(
        "foreword_measure.quality.build_summary",
        lambda reports: Report((Table(f"all {len(reports)}", ("set",), (("a",),)),)),
    )
    assert "all 2" in foreword("eval", str(tmp_path / "data"), "--all").out
    assert [folder for folder, _ in evaluation_calls] == sets
    assert len(foreword("eval", str(tmp_path / "data"), "--all", "--json").json) == 3


def test_one_run_file_cannot_hold_two_sets(foreword, evaluation_calls):
    assert foreword("eval", "one", "two", "--run", "run.txt").code == 2
    assert evaluation_calls == []


def test_progress_of_eval_goes_to_a_terminal_on_stderr(foreword, evaluation_calls, monkeypatch, terminal):
    monkeypatch.setattr("sys.stderr", terminal())
    assert foreword("eval", "one", "--json").json["data"] == {"answer": 42}


def test_bench_measures_the_parts_and_sizes_that_were_asked_for(foreword, monkeypatch):
    calls = []

    def bench(parts, sizes, progress, data, *, stores, only_fill):
        progress("writing", 1, 1)
        calls.append((parts, sizes))
        return REPORT

    monkeypatch.setattr("foreword_measure.speed.bench", bench)
    assert "sear[b]ch" in foreword("bench", "search", "--sizes", "1000,1_500").out
    assert foreword("bench", "--json").json["data"] == {"answer": 42}
    assert calls == [(("search",), (1000, 1500)), ((), (1000, 10_000, 100_000))]


# The installed package, which has no measurements


@pytest.fixture
def installed_from_wheel(monkeypatch):
    """As if Foreword had been installed from its wheel: `foreword_measure` cannot be imported."""
    for name in [name for name in sys.modules if name.split(".")[0] == "foreword_measure"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if Path(path).name != "measure"])


@pytest.mark.parametrize("command", ["eval", "bench"])
@pytest.mark.parametrize("arguments", [[], ["some-set"]])
def test_without_a_clone_the_error_says_how_to_get_one(foreword, installed_from_wheel, command, arguments):
    ran = foreword(command, *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert f"foreword {command} works from a clone" in ran.err
    assert "git clone" in ran.err
    assert "pip install --editable" in ran.err
    error = json.loads(foreword(command, *arguments, "--json").err)["error"]
    assert error["type"] == "validation_error"


@pytest.mark.parametrize("command", ["eval", "bench"])
def test_without_a_clone_the_help_is_the_same(foreword, command, request):
    from_clone = foreword(command, "--help").out
    request.getfixturevalue("installed_from_wheel")
    assert foreword(command, "--help").out == from_clone != ""
