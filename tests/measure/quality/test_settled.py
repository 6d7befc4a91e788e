"""Sentences and talks are read and judged, and the statements of other hands beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foreword.errors import ValidationError
from foreword_measure.quality import evaluate
from foreword_measure.quality.settled import has_corrections, has_decisions

MEASURE = Path(__file__).parents[3] / "measure"


def test_our_own_sentences_are_enough_and_judged_well():
    runs = evaluate(MEASURE / "decisions").data["runs"]
    assert len((MEASURE / "decisions" / "held.tsv").read_text().splitlines()) > 120
    assert runs["held"]["precision"] >= 0.95
    assert runs["held"]["recall"] >= 0.95


def test_other_hands_are_judged_less_well_but_better_than_by_cues_alone():
    runs = evaluate(MEASURE / "decisions").data["runs"]
    for hand in ("lessons, h9", "lessons, h16"):
        assert runs[hand]["precision"] >= 0.65
        assert runs[hand]["recall"] >= 0.45


def test_bare_corrections_find_what_they_correct():
    runs = evaluate(MEASURE / "corrections").data["runs"]
    assert runs["build"]["precision"] >= 0.95
    assert runs["build"]["recall"] >= 0.95
    assert runs["lessons, same day"]["precision"] >= 0.35


def test_a_folder_without_lessons_beside_it_is_measured_alone(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    rows = [
        "label\tlanguage\tstyle\tsentence",
        "decision\ten\tterse\tLet's go with NATS.",
        "none\ten\tterse\tok",
    ]
    (folder / "few.tsv").write_text("\n".join(rows))
    assert has_decisions(folder)
    assert not has_corrections(folder)
    assert set(evaluate(folder).data["runs"]) == {"few", "few, terse"}
    talk = {
        "language": "en",
        "turns": [["user", "We meet on Monday."], ["user", "no, Tuesday"]],
        "corrects": [0],
    }
    (folder / "few.tsv").unlink()
    (folder / "talks.jsonl").write_text(json.dumps({"corrects": talk.pop("corrects"), **talk}))
    assert evaluate(folder).data["runs"]["talks"]["right"] == 1


def test_a_line_with_too_few_columns_is_refused(tmp_path):
    (tmp_path / "few.tsv").write_text("label\tlanguage\tstyle\tsentence\ndecision\ten\n")
    with pytest.raises(ValidationError, match="too few columns"):
        evaluate(tmp_path)
