"""The tables of a report, made of known numbers."""

from __future__ import annotations

from types import SimpleNamespace

from foreword_measure.quality import build_summary, tables
from foreword_measure.quality.metrics import METRICS
from foreword_measure.quality.silence import InjectionCounts, Silence


def _row(question, category, **values):
    """A question that the fast lane answered with these values, the full lane with nothing but ones."""
    both = {
        "foreword fast": {**dict.fromkeys(METRICS, 0.0), **values},
        "foreword full": dict.fromkeys(METRICS, 1.0),
    }
    judged = {"foreword fast": [(0.2, True)], "foreword full": [(0.9, True), (0.5, False)]}
    return tables.QuestionScores(
        question, question, category, both, 1.0, {"foreword fast": 2.0, "foreword full": 9.0}, judged
    )


ABOUT = tables.SetFacts("made", 9, 0, "hash")


def test_adversarial_questions_are_told_apart():
    rows = [_row("1", "temporal"), _row("2", "adversarial"), _row("3", "single")]
    report = tables.build_report(ABOUT, rows)
    told = [row[:2] for row in report.tables[2].rows]
    assert told == [("adversarial", 1), ("single", 1), ("temporal", 1), ("all but adversarial", 2)]
    assert report.data["categories"]["all but adversarial"]["queries"] == 2
    assert "all but adversarial" not in tables.build_report(ABOUT, rows[1:2]).data["categories"]


def test_categories_are_those_of_the_best_lane():
    report = tables.build_report(ABOUT, [_row("1", "a"), _row("2", "b")])
    assert report.tables[2].title == "made: foreword full by category"
    assert (
        tables.best_lane({"foreword fast": {"NDCG@10": 0.5}, "foreword full": {"NDCG@10": 0.4}})
        == "foreword fast"
    )


def test_reliability_is_told_for_each_lane_with_its_error():
    silence = Silence("other sets", {"foreword full": InjectionCounts(4, 1, 2, 2, 0.5, 0.8)})
    report = tables.build_report(ABOUT, [_row("1", "a")], silence)
    *_, quiet, meaning = report.tables
    assert quiet.rows == (("foreword full", 4, 0.25, 2, 1.0, 0.5, 0.8, 0.625),)
    assert ("foreword full", "0.9–1.0", 0.9, 1.0, 1) in meaning.rows
    # (1 × |0.9 - 1| + 1 × |0.5 - 0|) / 2
    assert meaning.notes[1:] == (
        "expected calibration error, foreword fast: 0.800",
        "expected calibration error, foreword full: 0.300",
    )


def test_five_scopes_are_drawn_whole():
    report = tables.build_report(ABOUT, [_row(str(n), "") for n in range(5)])
    assert "resamples of the scopes" in report.tables[0].notes[1]


def test_where_nothing_can_be_scored_there_are_no_numbers():
    row = tables.QuestionScores("q", "s", "", {}, 1.0, {"foreword fast": 2.0}, {"foreword fast": []})
    report = tables.build_report(ABOUT, [row])
    assert report.tables[0].rows == (("foreword fast", *[None] * 8),)


def test_a_summary_has_a_row_a_set():
    both = {
        "BM25": dict.fromkeys(METRICS, 0.3),
        "RRF": dict.fromkeys(METRICS, 0.4),
        "foreword fast": dict.fromkeys(METRICS, 0.5),
        "foreword full": dict.fromkeys(METRICS, 0.6),
    }
    fast = {"foreword fast": dict.fromkeys(METRICS, 0.7)}
    given = [SimpleNamespace(data={"set": name, "runs": one}) for name, one in (("a", both), ("b", fast))]
    report = build_summary(given)
    (table,) = report.tables
    assert table.columns == (
        *("set", "fast NDCG@10", "fast R@10", "full NDCG@10", "full R@10"),
        *("hit@5", "T@500", "T@1000", "T@4000", "best baseline"),
    )
    assert table.rows == (
        ("a", 0.5, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.4),
        ("b", 0.7, 0.7, None, None, 0.7, 0.7, 0.7, 0.7, None),
    )
    assert report.data["summary"]["a"]["best baseline"] == 0.4
