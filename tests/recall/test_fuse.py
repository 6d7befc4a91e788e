from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.recall.fuse import WEIGHTS, fuse
from foreword.spaces.time import HourSpace, RecencySpace
from foreword.types import Found, Item

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)


def found(**lists):
    ids = {item for listed in lists.values() for item in listed}
    items = {i: Item(f"text {i}", "w", id=i, created_at=NOW - timedelta(days=ord(i[0]) % 7)) for i in ids}
    return Found(
        items, {space: tuple((i, 1 / n) for n, i in enumerate(listed, 1)) for space, listed in lists.items()}
    )


def test_what_every_space_puts_first_scores_one():
    best = fuse(found(semantic=["a", "b"], lexical=["a", "c"]), NOW)[0]
    assert (best.item.id, best.score) == ("a", pytest.approx(1.0))
    assert best.ranks == {"semantic": 1, "lexical": 1}
    assert best.weighted_agreement == 2.0


def test_agreement_beats_a_single_first_place():
    order = [hit.item.id for hit in fuse(found(semantic=["a", "b"], lexical=["c", "b"]), NOW)]
    assert order[0] == "b"


def test_a_space_that_found_nothing_does_not_lower_the_scores():
    alone = fuse(found(lexical=["a"]), NOW)[0].score
    beside = fuse(found(lexical=["a"], trigram=[]), NOW)[0].score
    assert alone == beside == pytest.approx(1.0)


def test_a_heavier_space_decides():
    order = [hit.item.id for hit in fuse(found(semantic=["a", "b"], graph=["b", "a"]), NOW)]
    assert order == ["a", "b"]


def test_time_is_told_but_does_not_count():
    plain = fuse(found(lexical=["a", "b"]), NOW)
    timed = fuse(found(lexical=["a", "b"]), NOW, clocks=[RecencySpace(), HourSpace()])
    assert [hit.score for hit in plain] == [hit.score for hit in timed]
    assert all({"recency", "hour"} <= hit.ranks.keys() for hit in timed)


def test_when_only_time_was_asked_time_is_the_order():
    hits = fuse(found(recency=["a", "b", "c"]), NOW, clocks=[RecencySpace()])
    assert [hit.score for hit in hits] == [1.0, 0.5, pytest.approx(1 / 3)]


@given(st.dictionaries(st.sampled_from(sorted(WEIGHTS)), st.lists(st.sampled_from("abcdefgh"), unique=True)))
def test_scores_stay_between_nought_and_one_and_fall(lists):
    scores = [hit.score for hit in fuse(found(**lists), NOW)]
    assert all(0 <= score <= 1 + 1e-9 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == len({item for listed in lists.values() for item in listed})
