"""Pairs of texts are read in each of their forms, and judged beside a plain rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foreword.errors import ValidationError
from foreword_measure.quality import evaluate
from foreword_measure.quality.repeats import OURS, PLAIN, LabelledPair, has_pairs, measure_repeats, read_pairs

OWN = Path(__file__).parents[3] / "measure" / "repeats"


def test_our_own_pairs_are_enough_and_apart():
    pairs = list(read_pairs(OWN))
    for group in ("build", "held"):
        inside = [pair for pair in pairs if pair.group == group]
        assert len(inside) >= 60
        assert 0.3 < sum(pair.same for pair in inside) / len(inside) < 0.7
    groups = [
        {(pair.one, pair.other) for pair in pairs if pair.group == group} for group in ("build", "held")
    ]
    assert groups[0].isdisjoint(groups[1])


def test_the_judge_is_rarely_wrong_and_far_better_than_letters():
    runs = measure_repeats(OWN).data["runs"]
    assert runs[f"{OURS}, held"]["precision"] >= 0.95
    assert runs[f"{OURS}, held"]["recall"] >= 0.75
    assert runs[f"{PLAIN}, held"]["precision"] < 0.5


def test_a_corpus_with_pairs_is_measured_by_eval(tmp_path):
    texts = {"a": "The TTL is 60 s.", "b": "TTL is 60 seconds", "c": "The TTL is 90 s."}
    lines = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    (tmp_path / "pairs.tsv").write_text("left\tright\tlabel\na\tb\t1\na\tc\t0\n")
    counts = evaluate(tmp_path).data["runs"][f"{OURS}, pairs"]
    assert (counts["right"], counts["wrong"], counts["missed"]) == (1, 0, 0)


def test_of_a_history_every_pair_is_asked_for(tmp_path):
    statements = [{"n": n, "text": text} for n, text in enumerate(["It is 5.", "It is 6.", "it is six"], 1)]
    history = {"statements": statements, "replaces": [[2, 1]], "same": [[2, 3]]}
    (tmp_path / "hand.jsonl").write_text(json.dumps(history))
    assert set(read_pairs(tmp_path)) == {
        LabelledPair("It is 5.", "It is 6.", same=False, group="replaces"),
        LabelledPair("It is 5.", "it is six", same=False, group="others"),
        LabelledPair("It is 6.", "it is six", same=True, group="same"),
    }


def test_what_cannot_be_read_is_said(tmp_path):
    assert not has_pairs(tmp_path)
    (tmp_path / "corpus.jsonl").write_text("")
    (tmp_path / "pairs.tsv").write_text("left\tright\tlabel\na\tb\t1\n")
    with pytest.raises(ValidationError, match="a pair cannot be read"):
        measure_repeats(tmp_path)
