"""The metrics, computed by hand."""

from __future__ import annotations

import math

import pytest

from foreword.errors import ValidationError
from foreword_measure.quality import metrics
from foreword_measure.quality.metrics import Place

MEASURES = [metrics.recall, metrics.ndcg, metrics.reciprocal_rank, metrics.hit, metrics.complete]


def test_recall_is_the_share_of_relevant_documents_found():
    gains = {"a": 1.0, "b": 1.0, "z": 1.0}
    assert metrics.recall(["a", "x", "b", "y"], gains, 1) == pytest.approx(1 / 3)
    assert metrics.recall(["a", "x", "b", "y"], gains, 3) == pytest.approx(2 / 3)
    assert metrics.recall(["a", "x", "b", "y"], gains, 50) == pytest.approx(2 / 3)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("ranking", [[], ["x", "y"]])
def test_nothing_found_is_zero(measure, ranking):
    assert measure(ranking, {"a": 1.0}, 10) == 0.0


@pytest.mark.parametrize("measure", MEASURES)
def test_a_question_without_relevant_documents_is_refused(measure):
    with pytest.raises(ValidationError, match="nothing is relevant"):
        measure(["a"], {}, 10)
    with pytest.raises(ValidationError, match="nothing is relevant"):
        metrics.evidence_recall([], {}, 500)


def test_ndcg_with_binary_gains():
    # Found at ranks 1 and 3 of two: (1/log2(2) + 1/log2(4)) / (1/log2(2) + 1/log2(3)) = 1.5 / 1.63093
    assert metrics.ndcg(["a", "x", "b"], {"a": 1.0, "b": 1.0}, 10) == pytest.approx(0.919721, abs=1e-6)


def test_ndcg_with_graded_gains():
    # (1/log2(2) + 3/log2(3)) / (3/log2(2) + 1/log2(3)) = 2.892789 / 3.630930
    assert metrics.ndcg(["a", "b"], {"a": 1.0, "b": 3.0}, 10) == pytest.approx(0.796708, abs=1e-6)
    assert metrics.ndcg(["b", "a"], {"a": 1.0, "b": 3.0}, 10) == pytest.approx(1.0)


def test_ndcg_asks_no_more_than_the_cut_can_hold():
    assert metrics.ndcg(["a", "b"], {"a": 1.0, "b": 1.0, "c": 1.0}, 2) == pytest.approx(1.0)


def test_reciprocal_rank_is_that_of_the_first_relevant_document():
    assert metrics.reciprocal_rank(["x", "y", "a", "b"], {"a": 1.0, "b": 1.0}, 50) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank(["x", "y", "a"], {"a": 1.0}, 2) == 0.0


def test_hit_asks_for_one_of_them():
    assert metrics.hit(["x", "b"], {"a": 1.0, "b": 1.0}, 5) == 1.0
    assert metrics.hit(["x", "b"], {"a": 1.0, "b": 1.0}, 1) == 0.0


def test_complete_asks_for_all_of_them():
    assert metrics.complete(["b", "x", "a"], {"a": 1.0, "b": 1.0}, 5) == 1.0
    assert metrics.complete(["b", "x", "a"], {"a": 1.0, "b": 1.0}, 2) == 0.0


def test_a_document_counts_once_and_takes_one_place():
    ranking = ["x", "x", "x", "a", "a", "b"]
    gains = {"a": 1.0, "b": 1.0}
    assert metrics.recall(ranking, gains, 2) == 0.5
    assert metrics.recall(ranking, gains, 3) == 1.0
    assert metrics.reciprocal_rank(ranking, gains, 50) == 0.5
    assert metrics.ndcg(["a", "a", "b"], gains, 10) == pytest.approx(1.0)


def _places(*pairs):
    return [Place((name,), tokens) for name, tokens in pairs]


def test_evidence_recall_stops_at_the_first_item_that_does_not_fit():
    gains = {"a": 1.0, "b": 1.0}
    places = _places(("a", 300.0), ("x", 300.0), ("b", 10.0))
    assert metrics.evidence_recall(places, gains, 299) == 0.0
    assert metrics.evidence_recall(places, gains, 300) == 0.5
    assert metrics.evidence_recall(places, gains, 500) == 0.5  # b would fit, but comes after x
    assert metrics.evidence_recall(places, gains, 610) == 1.0


def test_every_part_of_a_document_costs_its_own_tokens():
    places = [Place(("a",), 400.0), Place(("a",), 400.0), Place(("b",), 400.0)]
    assert metrics.evidence_recall(places, {"a": 1.0, "b": 1.0}, 1000) == 0.5
    assert metrics.distinct_documents(places) == ["a", "b"]


def test_all_scores_of_one_answer():
    found = metrics.score_ranking(_places(("x", 100.0), ("a", 100.0)), {"a": 1.0, "b": 1.0})
    assert tuple(found) == metrics.METRICS
    assert found["R@5"] == found["R@50"] == found["T@500"] == found["MRR"] == 0.5
    assert found["hit@5"] == found["hit@10"] == 1.0
    assert found["all@5"] == found["all@10"] == 0.0
    assert found["NDCG@10"] == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))


def test_means_and_percentiles():
    rows = [dict.fromkeys(metrics.METRICS, 1.0), dict.fromkeys(metrics.METRICS, 0.0)]
    assert metrics.mean_by_measure(rows)["R@5"] == 0.5
    assert metrics.mean_by_measure([])["R@5"] is None
    values = [float(n) for n in range(1, 101)]
    assert metrics.percentile(values, 0.5) == 50.0
    assert metrics.percentile(values, 0.95) == 95.0
    assert metrics.percentile([7.0], 0.95) == 7.0
    assert metrics.percentile([], 0.5) is None


def test_rank_fusion_with_equal_weights():
    # a: 1/61 + 1/63, b: 1/62 + 1/61, c: 1/62, d: 1/63
    assert metrics.fuse_rankings([["a", "b", "d"], ["b", "c", "a"]]) == ["b", "a", "c", "d"]
    assert metrics.fuse_rankings([]) == []


def test_an_interval_is_the_same_every_time_and_holds_the_mean():
    values = [0.0, 1.0] * 50
    low, high = metrics.confidence_interval(values, ["s"] * 100)
    assert metrics.confidence_interval(values, ["s"] * 100) == (low, high)
    # The mean of 100 coins has a standard deviation of 0.05; 1.96 of them are 0.098.
    assert (low, high) == (pytest.approx(0.402, abs=0.02), pytest.approx(0.598, abs=0.02))


def test_an_interval_draws_whole_scopes_when_there_are_enough():
    # Within a scope all agree: a hundred questions of five scopes are no more than five draws.
    values = [float(scope % 2) for scope in range(5) for _ in range(20)]
    few = metrics.confidence_interval(values, [str(at // 20) for at in range(100)])
    many = metrics.confidence_interval(values, [str(at // 25) for at in range(100)])
    assert few[1] - few[0] > 0.6 > 0.25 > many[1] - many[0]
    assert metrics.has_enough_groups(list("abcde"))
    assert not metrics.has_enough_groups(list("abcd"))


def test_the_mean_of_drawn_scopes_weighs_each_by_its_questions():
    # However scopes of equal means are drawn and however large they are, the mean is the same.
    groups = ["a"] * 10 + ["b", "c", "d", "e"] * 2
    assert metrics.confidence_interval([0.5] * 18, groups) == (0.5, 0.5)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_one_question_has_no_interval(values):
    assert metrics.confidence_interval(values, ["s"] * len(values)) is None


def test_a_sample_is_the_same_every_time():
    assert metrics.sample_positions(3, 5) == [0, 1, 2]
    drawn = metrics.sample_positions(1000, 200)
    assert drawn == metrics.sample_positions(1000, 200) == sorted(set(drawn))
    assert len(drawn) == 200


def test_reliability_and_calibration_by_hand():
    bins = metrics.bin_by_score([(0.1, False), (0.12, True), (0.95, True), (1.0, True), (-0.2, False)])
    told = [(one.low, one.count, one.predicted, one.observed) for one in bins if one.count]
    assert told == [(0.0, 1, -0.2, 0.0), (0.1, 2, pytest.approx(0.11), 0.5), (0.9, 2, 0.975, 1.0)]
    assert len(bins) == 10
    assert bins[5] == metrics.Bin(0.5, 0.6, None, None, 0)
    # (1 × 0.2 + 2 × 0.39 + 2 × 0.025) / 5
    assert metrics.calibration_error(bins) == pytest.approx(0.206)
    assert metrics.calibration_error(metrics.bin_by_score([])) is None
