"""Dialogues on disk are read, judged turn by turn and reported; what is wrong with a set is said."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from foreword.errors import ValidationError
from foreword.recall.divergence import DivergenceDetector
from foreword.spaces.dense import DenseSpace
from foreword.testing import HashEmbeddings
from foreword_measure.quality import evaluate, shifts

BREAD = ["We bake bread on Sunday.", "Bread with walnuts is best.", "The bread oven needs walnut wood."]
BOATS = ["How do I repair a boat engine?", "Boat engines need oil and a new pump.", "The engine has a pump."]
DIALOGUES = [
    {"id": "one", "utterances": BREAD + BOATS, "boundaries": [3]},
    {"id": "two", "utterances": BOATS + BREAD, "boundaries": [3]},
    {"id": "three", "utterances": BREAD, "boundaries": []},
]
RUNS = [
    *(shifts.NEVER, shifts.ALWAYS, shifts.RANDOM),
    *(shifts.COSINE, shifts.STRETCHED, shifts.BEST_CUT),
    *(shifts.WORDS, shifts.OURS),
]


def silent(*_):
    pass


@pytest.fixture
def dialogues(tmp_path):
    return write_lines(tmp_path / "talks", *map(json.dumps, DIALOGUES))


def write_lines(folder, *lines):
    folder.mkdir()
    (folder / "dialogues.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_a_set_of_dialogues_is_measured_beside_its_baselines(dialogues):
    report = evaluate(dialogues, provider=HashEmbeddings())
    assert list(report.data["runs"]) == RUNS
    assert (report.data["dialogues"], report.data["places"], report.data["boundaries"]) == (3, 12, 2)
    assert report.data["runs"][shifts.ALWAYS]["recall"] == 1.0
    assert report.data["runs"][shifts.ALWAYS]["precision"] == pytest.approx(2 / 12)
    assert report.data["runs"][shifts.NEVER]["recall"] == 0.0
    assert report.data["runs"][shifts.NEVER]["ROC-AUC"] is None
    assert [table.title.split(": ")[0] for table in report.tables] == ["talks"] * 3
    assert all(len(row) == len(table.columns) for table in report.tables for row in table.rows)


def test_a_shift_of_words_is_noticed(dialogues):
    ours = evaluate(dialogues, provider=HashEmbeddings()).data["runs"][shifts.WORDS]
    assert ours["precision"] == 1.0
    assert ours["recall"] == 0.5  # the second dialogue turns to bread without a question


def test_intervals_and_severities_are_told(dialogues):
    data = evaluate(dialogues, provider=HashEmbeddings()).data
    assert set(data["intervals"]) == {"precision", "recall", "F1", "F0.5", "Pk", "WindowDiff"}
    assert set(data["severities"]) == {"low", "medium", "high"}
    ends = data["intervals"]["recall"]
    assert ends["from"] <= data["runs"][shifts.OURS]["recall"] <= ends["to"]


def test_a_mere_reply_is_no_alert_whatever_its_chance(tmp_path):
    folder = write_lines(
        tmp_path / "talks",
        json.dumps({"utterances": [*BREAD, "What about it?", "How do I sail a boat?"], "boundaries": [4]}),
    )
    eager = DivergenceDetector(threshold=0.0001, medium=0.9, high=0.95)
    report = shifts.measure(folder, progress=silent, provider=HashEmbeddings(), detector=eager)
    assert sum(one["alerts"] for one in report.data["severities"].values()) == 3


@pytest.mark.parametrize("way", ["settings", "without"])
def test_without_an_encoder_the_words_are_all_there_is(dialogues, monkeypatch, way):
    if way == "settings":
        monkeypatch.setenv("FOREWORD_EMBEDDING", "none")
    report = evaluate(dialogues, without=("semantic",) if way == "without" else ())
    assert list(report.data["runs"]) == [shifts.NEVER, shifts.ALWAYS, shifts.RANDOM, shifts.OURS]
    assert report.data["runs"][shifts.OURS]["precision"] == 1.0


def test_every_turn_is_judged_by_what_came_before_it(dialogues):
    (one, *_) = shifts.encode_dialogues(shifts.read_set(dialogues), DenseSpace(HashEmbeddings()), silent)
    places = list(one.places())
    assert [len(past) for _, past in places] == [1, 2, 3, 4, 5]
    assert all(len(prompt.vector) == len(past[-1].vector) > 0 for prompt, past in places)
    assert one.without_vectors().prompts[1].vector == ()


def test_a_limit_takes_the_first_dialogues(dialogues):
    assert evaluate(dialogues, provider=HashEmbeddings(), limit=1).data["dialogues"] == 1
    with pytest.raises(ValidationError, match="1 or more"):
        shifts.read_set(dialogues, 0)


def test_progress_is_told_to_the_end(dialogues):
    told = []
    evaluate(dialogues, provider=HashEmbeddings(), progress=lambda *step: told.append(step))
    assert told[-1] == ("embedding", 3, 3)


def test_a_report_is_plain_json(dialogues):
    report = evaluate(dialogues, provider=HashEmbeddings()).as_json()
    assert json.loads(json.dumps(report)) == json.loads(json.dumps(report, default=list))


def test_dialogues_have_no_ranking_to_write(dialogues, tmp_path):
    with pytest.raises(ValidationError, match="leave out the run file"):
        evaluate(dialogues, provider=HashEmbeddings(), run_file=tmp_path / "run.txt")


def test_only_dialogues_with_boundaries_are_such_a_set(dialogues, tmp_path):
    assert shifts.has_boundaries(dialogues)
    assert not shifts.has_boundaries(tmp_path / "nowhere")
    assert not shifts.has_boundaries(
        write_lines(tmp_path / "summaries", '{"dialogue": "a", "summaries": ["b"]}')
    )
    (dialogues / "dialogues.jsonl").write_bytes(b'\xff{"boundaries"')
    assert not shifts.has_boundaries(dialogues)
    with pytest.raises(ValidationError, match="not UTF-8"):
        shifts.read_set(dialogues)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "line 3: not JSON"),
        ("[]", "line 3: 'utterances' must be a list of texts"),
        ('{"utterances": "a", "boundaries": []}', "line 3: 'utterances' must be a list of texts"),
        ('{"utterances": ["a", 1], "boundaries": []}', "line 3: 'utterances' must be a list of texts"),
        ('{"utterances": ["a", "b"]}', "line 3: 'boundaries' must be positions"),
        ('{"utterances": ["a", "b"], "boundaries": [0]}', "line 3: 'boundaries' must be positions"),
        ('{"utterances": ["a", "b"], "boundaries": [2]}', "line 3: 'boundaries' must be positions"),
        ('{"utterances": ["a", "b"], "boundaries": [true]}', "line 3: 'boundaries' must be positions"),
    ],
)
def test_a_line_that_is_wrong_is_named(tmp_path, line, complaint):
    folder = write_lines(tmp_path / "talks", json.dumps(DIALOGUES[0]), "", line)
    with pytest.raises(ValidationError, match=complaint):
        evaluate(folder, provider=HashEmbeddings())


@pytest.mark.parametrize("lines", [[], ['{"utterances": ["alone"], "boundaries": []}']])
def test_a_set_where_nothing_can_shift_is_refused(tmp_path, lines):
    with pytest.raises(ValidationError, match="no dialogue of two turns"):
        shifts.read_set(write_lines(tmp_path / "talks", *lines))


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(ValidationError, match=r"cannot read .*dialogues\.jsonl"):
        shifts.read_set(tmp_path)


def test_the_curve_of_words_holds_on_labelled_dialogues(monkeypatch):
    beside = Path(__file__).parents[4] / "shared" / "data"
    folder = Path(os.environ.get("FOREWORD_DATA") or beside) / "dialseg711"
    monkeypatch.delenv("FOREWORD_DATA", raising=False)  # it is not a setting of the engine's
    if not shifts.has_boundaries(folder):
        pytest.skip(f"no dialogues in {folder}; set FOREWORD_DATA to the folder that holds dialseg711")
    ours = evaluate(folder, without=("semantic",), limit=60).data["runs"][shifts.OURS]
    assert ours["ROC-AUC"] > 0.85
    assert ours["precision"] > 0.55
