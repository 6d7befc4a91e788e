"""Summaries against what humans wrote: on a set made here, and on the real one where it is at hand."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.errors import ValidationError
from foreword_measure.quality import summaries
from foreword_measure.quality.summaries import (
    FIRST_SENTENCES,
    FIRST_WORDS,
    MEASURES,
    OURS,
    RANDOM,
    TEXTRANK,
    measure_summaries,
    rouge_scores,
)

DATA = Path(os.environ.get("FOREWORD_DATA") or Path(__file__).parents[4] / "shared" / "data")
ROW = {
    "dialogue": "#Ann#: Good morning! How are you?\n#Bob#: Fine, thanks.\n"
    "#Ann#: I need to move the museum opening to Friday because the museum heating broke.\n"
    "#Bob#: Then I will call the museum director about the opening on Friday.",
    "summaries": ["Ann needs to move the museum opening to Friday.", "Bob will call the museum director."],
}


def folder_with(tmp_path, *lines):
    (tmp_path / "dialogues.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_a_dialogue_is_measured_at_both_lengths(tmp_path):
    report = measure_summaries(folder_with(tmp_path, json.dumps(ROW), "", json.dumps(ROW)))
    assert report.data["dialogues"] == 2
    assert report.data["summaries"] == 4
    assert list(report.data["lengths"]) == ["8 words", "20% of the words"]
    measured = report.data["lengths"]["8 words"]
    assert set(measured["runs"]) == {OURS, TEXTRANK, FIRST_WORDS, FIRST_SENTENCES, RANDOM}
    for run in measured["runs"].values():
        assert run["words"] <= 8
    for table in report.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_what_the_summaries_tell_beats_a_good_morning(tmp_path):
    runs = measure_summaries(folder_with(tmp_path, json.dumps(ROW)), 1).data["lengths"]["20% of the words"][
        "runs"
    ]
    for name in MEASURES:
        assert runs[OURS][f"{name} F1"] >= runs[FIRST_WORDS][f"{name} F1"]


def test_the_same_set_gives_the_same_numbers(tmp_path):
    folder = folder_with(tmp_path, *[json.dumps(ROW)] * 3)
    assert measure_summaries(folder) == measure_summaries(folder)


def test_every_dialogue_of_every_run_is_a_step(tmp_path):
    steps = []
    measure_summaries(folder_with(tmp_path, json.dumps(ROW)), progress=lambda *step: steps.append(step))
    assert len(steps) == 10
    assert {step[1:] for step in steps} == {(1, 1)}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1: not JSON"),
        ("[]", "'dialogue' must be"),
        (json.dumps({**ROW, "dialogue": " "}), "'dialogue' must be"),
        (json.dumps({**ROW, "dialogue": ["a"]}), "'dialogue' must be"),
        (json.dumps({**ROW, "summaries": []}), "'summaries' must be"),
        (json.dumps({**ROW, "summaries": "one"}), "'summaries' must be"),
        (json.dumps({**ROW, "summaries": [""]}), "'summaries' must be"),
        ("\n", "holds no dialogue"),
    ],
)
def test_a_set_that_makes_no_sense_is_refused_with_its_line(tmp_path, line, problem):
    with pytest.raises(ValidationError, match=problem):
        measure_summaries(folder_with(tmp_path, line))


def test_a_folder_without_dialogues_is_refused(tmp_path):
    assert not summaries.has_summaries(tmp_path)
    with pytest.raises(ValidationError, match="cannot read"):
        measure_summaries(tmp_path)
    (tmp_path / "dialogues.jsonl").write_bytes(b"\xff\xfe\xff")
    assert not summaries.has_summaries(tmp_path)
    with pytest.raises(ValidationError, match="not UTF-8"):
        measure_summaries(tmp_path)


def test_a_limit_below_one_is_refused(tmp_path):
    assert summaries.has_summaries(folder_with(tmp_path, json.dumps(ROW)))
    with pytest.raises(ValidationError, match="limit"):
        measure_summaries(tmp_path, 0)


@pytest.mark.skipif(not (DATA / "dialogsum").is_dir(), reason="the set dialogsum is not at hand")
def test_on_real_dialogues_ours_is_ahead_of_the_beginning_and_of_chance_beyond_doubt():
    report = measure_summaries(DATA / "dialogsum", 200)
    for length, measured in report.data["lengths"].items():
        ahead = {name: ends for name, ends in measured["intervals"].items() if "less" in name}
        assert len(ahead) == 12
        assert all(ends["from"] > 0 for ends in ahead.values()), (length, ahead)


# ROUGE, against values that were worked out by hand

texts = st.text(st.sampled_from("ab c.D"), max_size=30)


def triple(measured, name):
    one = measured[name]
    return pytest.approx((one.precision, one.recall, one.f1))


def test_one_pair_worked_out_by_hand():
    # ours:   the cat sat on the mat        6 words, 5 pairs
    # theirs: the cat was on the old mat    7 words, 6 pairs
    measured = rouge_scores("The cat sat on the mat.", "the cat was on the old mat")
    # the ×2, cat, on, mat
    assert triple(measured, "ROUGE-1") == (5 / 6, 5 / 7, 10 / 13)
    # the cat; on the
    assert triple(measured, "ROUGE-2") == (2 / 5, 2 / 6, 4 / 11)
    # the cat … on the … mat
    assert triple(measured, "ROUGE-L") == (5 / 6, 5 / 7, 10 / 13)


def test_order_counts_for_the_longest_sequence_only():
    measured = rouge_scores("police killed the gunman", "the gunman killed police")
    assert triple(measured, "ROUGE-1") == (1, 1, 1)
    assert triple(measured, "ROUGE-2") == (1 / 3, 1 / 3, 1 / 3)
    assert triple(measured, "ROUGE-L") == (2 / 4, 2 / 4, 2 / 4)


def test_a_word_counts_as_often_as_both_have_it():
    assert triple(rouge_scores("no no no no", "no no yes"), "ROUGE-1") == (2 / 4, 2 / 3, 4 / 7)


def test_words_are_letters_and_digits_in_lower_case_and_not_stemmed():
    assert rouge_scores("#Person1#: It's 3:30!", "person1 it s 3 30")["ROUGE-L"].f1 == 1
    assert rouge_scores("asks", "asked")["ROUGE-1"].f1 == 0


@pytest.mark.parametrize(("told", "wanted"), [("", ""), ("", "a b"), ("a b", ""), ("…", "!")])
def test_nothing_shares_nothing(told, wanted):
    assert {one.f1 for one in rouge_scores(told, wanted).values()} == {0.0}


@given(texts, texts)
def test_measures_lie_between_nothing_and_all_and_swap_sides(one, other):
    there, back = rouge_scores(one, other), rouge_scores(other, one)
    for name in MEASURES:
        assert 0 <= there[name].f1 <= 1
        assert there[name].precision == back[name].recall
    assert there["ROUGE-L"].f1 <= there["ROUGE-1"].f1 + 1e-12
