from __future__ import annotations

import hashlib

import pytest

from foreword.spaces import onnx
from foreword.spaces.rerank import MINILM, BundledReranker


@pytest.fixture(scope="module")
def reranker():
    return BundledReranker()


def test_an_answer_scores_above_a_stranger(reranker):
    answer, stranger = reranker.scores(
        "When does the museum open on Sundays?",
        ["On Sundays the doors open at eleven.", "The deadlock came from locking rows in opposite order."],
    )
    assert answer > 0 > stranger


def test_the_order_of_the_texts_is_kept_whatever_their_lengths(reranker):
    texts = ["short", "a much longer text " * 30, "We open at eleven on Sundays.", "x"] * 5
    scores = reranker.scores("When do you open on Sundays?", texts)
    assert len(scores) == 20
    assert max(range(20), key=scores.__getitem__) % 4 == 2


def test_no_texts_no_scores(reranker):
    assert reranker.scores("anything", []) == []


def test_a_pair_that_was_read_before_is_not_read_again(monkeypatch):
    reranker, runs = BundledReranker(), []
    run = onnx.run
    monkeypatch.setattr(onnx, "run", lambda *given: runs.append(1) or run(*given))
    first = reranker.scores("why", ["because"])
    assert reranker.scores("why", ["because"]) == first
    assert len(runs) == 2, "one to warm up, one to read"


def test_time_that_is_up_leaves_what_was_read_in_time():
    class Clock:
        now = 0.0

        def __call__(self):
            self.now += 0.05
            return self.now

    clock = Clock()
    reranker = BundledReranker(clock=clock)
    texts = [f"text number {number}" for number in range(64)]
    read = reranker.scores("which", texts, expires=clock.now + 0.45)
    assert 0 < len(read) < 64
    assert len(read) % 8 == 0
    assert reranker.scores("another", texts, expires=clock.now - 1) == []


def test_the_bundled_weights_are_the_ones_that_were_bundled():
    for name, digest in MINILM.sha256.items():
        assert hashlib.sha256(onnx.folder(MINILM.name).joinpath(name).read_bytes()).hexdigest() == digest
