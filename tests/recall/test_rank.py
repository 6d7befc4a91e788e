from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.errors import ValidationError
from foreword.recall.rank import RANKERS, MemoryRanker, RankingOptions, build_rankers
from foreword.types import Item, SearchResult

NOW = datetime(2026, 1, 15, tzinfo=UTC)


def result(name, score=0.5, days=0.0, confidence=1.0, text=""):
    item = Item(text or name, "w", id=name, created_at=NOW - timedelta(days=days), confidence=confidence)
    return SearchResult(item, score)


def ids(results):
    return [r.memory.id for r in results]


def test_the_default_ranking_is_the_documents_formula():
    ranked = MemoryRanker.default_ranking([result("a", score=0.8, days=1, confidence=0.9)], NOW)
    assert ranked[0].rank == pytest.approx(0.8 * 0.5 + 0.5 * 0.3 + 0.9 * 0.2)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_weights_are_normalised_to_one(similarity, recency, confidence):
    if not similarity + recency + confidence:
        return
    options = RankingOptions(similarity, recency, confidence)
    best = MemoryRanker.default_ranking([result("a", score=1.0)], NOW, options)[0]
    assert best.rank == pytest.approx(1.0)


@pytest.mark.parametrize("weights", [(0, 0, 0), (-0.1, 0.5, 0.5), (2, 0, 0), (float("nan"), 1, 1)])
def test_weights_that_make_no_sense_are_refused(weights):
    with pytest.raises(ValidationError):
        RankingOptions(*weights)


def test_each_ranking_orders_by_its_own_measure():
    old_sure = result("old", score=0.9, days=100, confidence=0.2)
    new_vague = result("new", score=0.1, days=0, confidence=0.9)
    assert ids(MemoryRanker.by_similarity([new_vague, old_sure])) == ["old", "new"]
    assert ids(MemoryRanker.by_recency([old_sure, new_vague])) == ["new", "old"]
    assert ids(MemoryRanker.by_confidence([old_sure, new_vague])) == ["new", "old"]
    assert ids(MemoryRanker.custom([old_sure, new_vague], lambda r: -len(r.memory.id))) == ["old", "new"]


@pytest.mark.parametrize("name", RANKERS)
def test_every_named_ranker_keeps_every_result_and_scores_it(name):
    results = [result(n, score=s, days=d) for n, s, d in (("a", 0.1, 3), ("b", 0.9, 9), ("c", 0.5, 0))]
    ranked = build_rankers(NOW)[name](results)
    assert sorted(ids(ranked)) == ["a", "b", "c"]
    assert all(r.rank is not None for r in ranked)
    assert list(build_rankers(NOW)[name]([])) == []


def test_equals_keep_their_order():
    assert ids(MemoryRanker.by_similarity([result("b"), result("a"), result("c")])) == ["b", "a", "c"]


def test_mmr_puts_something_new_before_the_same_again():
    twin = "the deploy failed because the disk was full"
    results = [
        result("first", score=0.9, text=twin),
        result("again", score=0.88, text=twin + " yesterday"),
        result("other", score=0.7, text="Priya owns the payment module"),
    ]
    assert ids(MemoryRanker.by_relevance_and_variety(results)) == ["first", "other", "again"]
    assert ids(MemoryRanker.by_relevance_and_variety(results, balance=1.0)) == ["first", "again", "other"]


def test_a_fresh_item_beside_the_point_does_not_drown_an_old_answer():
    answer = result("answer", score=0.2, days=60, text="the deploy day is Tuesday")
    fresh = result("fresh", score=0.05, days=0, text="lunch was good")
    assert ids(build_rankers(NOW)["default"]([fresh, answer])) == ["answer", "fresh"]
    assert ids(build_rankers(NOW)["mmr"]([fresh, answer])) == ["answer", "fresh"]
