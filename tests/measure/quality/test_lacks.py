"""The replies of another hand are sound, a lack in them is heard, and ordinary messages are left alone."""

from __future__ import annotations

import json

import pytest

from foreword_measure.quality import lacks, ordinary
from foreword_measure.quality.gaps import OURS, WITH_MODELS

MEASURED = 60
"""How many ordinary messages of a kind are read here; the command reads all."""


@pytest.fixture(scope="module")
def lack_measures():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordinary, "MAX_MESSAGES", MEASURED)
        return lacks.measure_lacks()


LONG_PRECISION, LONG_RECALL = {OURS: 0.75, WITH_MODELS: 0.9}, {OURS: 0.5, WITH_MODELS: 0.85}
"""What is reached so far; the aims are higher."""


def read(name):
    return [json.loads(line) for line in (lacks.FOLDER / name).read_text(encoding="utf-8").splitlines()]


def test_there_are_enough_long_replies_with_and_without_a_lack():
    long = [row for row in read(lacks.REPLIES) if len(row["text"].split()) >= lacks.LONG_WORDS]
    assert sum(row["lack"] for row in long) >= 60
    assert sum(not row["lack"] for row in long) >= 60
    for row in read(lacks.REPLIES):
        assert bool(row["asks"]) == row["lack"]


def test_nothing_that_is_measured_on_is_a_lesson():
    taught = {
        row["text"] for name in ("teach.jsonl", "teach_long.jsonl", "teach_parts.jsonl") for row in read(name)
    }
    for name in (lacks.REPLIES, lacks.SECOND_REPLIES, lacks.THIRD_REPLIES, lacks.FOURTH_REPLIES, lacks.PARTS):
        assert taught.isdisjoint(row["text"] for row in read(name))
    rounds = [json.dumps(row["messages"]) for row in read("circles_teach.jsonl")]
    assert set(rounds).isdisjoint(json.dumps(row["messages"]) for row in read(lacks.CIRCLES))
    halves = [set(ordinary.docstrings(half)) for half in (ordinary.TAUGHT_HALF, ordinary.MEASURED_HALF)]
    assert min(map(len, halves)) > 1000


def test_every_kind_is_measured_with_and_without_models(lack_measures):
    kinds = {"Markdown sections", "docstrings"}
    for run in (OURS, WITH_MODELS):
        assert kinds <= set(lack_measures.data["alarms"][run])
    for table in lack_measures.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    json.dumps(lack_measures.as_json())


def test_a_lack_is_heard_in_long_replies(lack_measures):
    for run in (OURS, WITH_MODELS):
        for replies in ("", ", second set", ", third set", ", fourth set"):
            heard = lack_measures.data["replies"][f"{run}, long replies{replies}"]
            assert heard["precision"] >= LONG_PRECISION[run]
            assert heard["recall"] >= LONG_RECALL[run]


def test_the_labelled_sets_that_are_named_are_ordinary_messages_too(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    text = "The pump was repaired on Monday and has been running without a fault ever since."
    (folder / "corpus.jsonl").write_text(json.dumps({"id": "1", "text": text}) + "\n", encoding="utf-8")
    assert ordinary.ordinary_messages([folder])["notes"] == [text]
