"""The labelled set is measured in its two halves; what is wrong with a set is said."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from foreword.capture.names.entities import find_entities
from foreword.errors import ValidationError
from foreword_measure.quality.naming import HALVES, SET, Tally, measure_naming, read_set, split_marks

NAMES = {"kind": "names", "half": "tuned", "text": "⟦person|Anna⟧ lives in ⟦place|Rome⟧."}
TALK = {
    "kind": "talk",
    "half": "tuned",
    "turns": [["user", "Bob called."]],
    "ask": "What did he want from her?",
    "means": {"he": ["Bob"], "her": []},
}
ACT = {"kind": "act", "half": "held", "text": "Thanks!", "act": "thanks"}


def write_lines(folder, *lines):
    path = folder / "set.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


@pytest.fixture(scope="module")
def report():
    return measure_naming()


def test_the_set_is_large_enough_to_tell():
    kinds = [(line["kind"], line["half"]) for line in read_set(SET)]
    assert [sum(kind == one for kind, _ in kinds) for one in ("names", "talk", "act")] >= [200, 80, 80]
    assert all(
        abs(kinds.count((one, "tuned")) - kinds.count((one, "held"))) <= 1 for one in ("names", "talk")
    )


@pytest.mark.parametrize("half", HALVES)
def test_names_references_and_acts_are_told_in_both_halves(report, half):
    assert report.data["names"][half]["all"]["F1"] > 0.95
    assert report.data["references"][half]["accuracy"] > 0.9
    assert report.data["acts"][half]["accuracy"] > 0.9


def test_the_half_held_back_does_not_fall_behind(report):
    tuned, held = (report.data["names"][half]["all"]["F1"] for half in HALVES)
    assert held > tuned - 0.05


def test_a_report_is_tables_and_plain_json(report):
    assert [table.title for table in report.tables] == [
        "naming: names",
        "naming: references",
        "naming: acts of speech",
    ]
    assert all(len(row) == len(table.columns) for table in report.tables for row in table.rows)
    json.dumps(report.as_json())


def test_marks_become_spans_of_the_plain_text():
    assert split_marks(NAMES["text"]) == ("Anna lives in Rome.", {(0, 4, "person"), (14, 18, "place")})


def test_another_set_and_another_finder_can_be_measured(tmp_path):
    path = write_lines(tmp_path, NAMES, TALK, "", ACT)
    assert measure_naming(path).data["names"]["tuned"]["all"]["F1"] == 1.0
    deaf = measure_naming(path, find=lambda _: ())
    assert deaf.data["names"]["tuned"]["all"] == {"precision": None, "recall": 0.0, "F1": 0.0, "names": 2}
    assert deaf.data["references"]["tuned"]["accuracy"] == 0.5  # silence is right for `her`
    assert deaf.data["acts"] == {
        "tuned": {"accuracy": None, "turns": 0},
        "held": {"accuracy": 1.0, "turns": 1},
    }


def test_a_wrong_kind_and_a_wrong_end_are_both_wrong():
    tally = Tally()
    tally.add({(0, 4, "person"), (5, 9, "place")}, {(0, 4, "place"), (5, 9, "place")})
    assert tally.measures() == {"precision": 0.5, "recall": 0.5, "F1": 0.5}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "line 2: not JSON"),
        ("[]", "line 2: 'kind' must be"),
        ({**NAMES, "half": "third"}, "line 2: 'kind' must be"),
        ({"kind": "act", "half": "held", "text": "Hi"}, "line 2: 'act' is missing"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path, line, complaint):
    with pytest.raises(ValidationError, match=complaint):
        read_set(write_lines(tmp_path, NAMES, line))


def test_a_set_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(ValidationError, match="cannot read"):
        read_set(tmp_path / "nowhere.jsonl")
    with pytest.raises(ValidationError, match="is empty"):
        read_set(write_lines(tmp_path, ""))
    (tmp_path / "set.jsonl").write_bytes(b"\xff")
    with pytest.raises(ValidationError, match="not UTF-8"):
        read_set(tmp_path / "set.jsonl")


def test_speakers_are_found_in_conversations_of_others():
    beside = Path(__file__).parents[4] / "shared" / "data"
    path = Path(os.environ.get("FOREWORD_DATA") or beside) / "locomo" / "corpus.jsonl"
    if not path.is_file():
        pytest.skip(f"no {path}; set FOREWORD_DATA to the folder that holds locomo")
    turns = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    turns = [turn for turn in turns if turn.get("speaker")]
    names = re.compile(rf"\b(?:{'|'.join({turn['speaker'] for turn in turns})})\b")
    named = hit = 0
    for turn in turns[:1_500]:
        people = [one for one in find_entities(turn["text"]) if one.entity_type == "person"]
        for match in names.finditer(turn["text"]):
            named += 1
            hit += any(one.start <= match.start() and match.end() <= one.end for one in people)
    assert named > 100
    assert hit / named > 0.9
