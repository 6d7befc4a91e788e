from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foreword.recall.fuse import Blend, fuse
from foreword.recall.token_match import MAX_COMPARED, rank_by_tokens
from foreword.store.base import PutTokenCodes, Search
from foreword.store.sqlite import SqliteStore
from foreword.testing import WordMatch
from foreword.types import Item, Query, RecentProbe

HERE, NOW = "shop", datetime(2026, 1, 15, tzinfo=UTC)
BLENDS = {"turn": Blend(token_match=1.0), "document": Blend()}
QUESTION = Query("red harbour lamps", HERE, NOW)


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path) as store:
        yield store


def put(store, *texts, kind="turn", encoded=True):
    items = [one.item for one in store.put(HERE, [Item(text, HERE, kind=kind) for text in texts])]
    if encoded:
        codes = dict(zip((one.id for one in items), WordMatch().encode_items(items), strict=True))
        store.run(PutTokenCodes(HERE, WordMatch.digest, codes))
    return items


def found_and_hits(store):
    found = store.search(Search(HERE, (RecentProbe("recency"),), limit=1000))
    return found, fuse(found, QUESTION.text, NOW, blends=BLENDS)


def matched(store):
    found, hits = found_and_hits(store)
    return rank_by_tokens(hits, found, QUESTION, store, WordMatch(), BLENDS)


def test_what_fits_more_of_the_question_comes_first_and_says_so(store):
    put(store, "the red lamps of the harbour", "red things", "nothing alike")
    hits = matched(store)
    assert [round(hit.scores["token_match"], 2) for hit in hits] == [1.0, 0.33, 0.0]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].scores["blend"] > hits[1].scores["blend"] > hits[2].scores["blend"]


def test_a_kind_without_a_weight_is_left_as_it_was(store):
    put(store, "the red lamps of the harbour", kind="document")
    put(store, "red things")
    before = {hit.memory.kind: hit for hit in found_and_hits(store)[1]}
    after = {hit.memory.kind: hit for hit in matched(store)}
    assert after["document"] == before["document"]
    assert after["turn"].score != before["turn"].score


def test_an_item_without_codes_keeps_its_score(store):
    put(store, "the red lamps of the harbour", encoded=False)
    put(store, "nothing alike")
    before = {hit.memory.text: hit.score for hit in found_and_hits(store)[1]}
    after = {hit.memory.text: hit for hit in matched(store)}
    bare = after["the red lamps of the harbour"]
    assert bare.score == before[bare.memory.text]
    assert "token_match" not in bare.scores
    assert after["nothing alike"].score < before["nothing alike"]


def test_without_any_codes_nothing_changes(store):
    put(store, "the red lamps of the harbour", "red things", encoded=False)
    assert matched(store) == found_and_hits(store)[1]


def test_what_is_too_far_down_to_be_compared_counts_as_the_worst(store):
    put(store, *(f"red thing {n}" for n in range(MAX_COMPARED + 20)))
    hits = matched(store)
    compared = [hit for hit in hits if "token_match" in hit.scores]
    assert len(compared) == MAX_COMPARED
    assert len(hits) == MAX_COMPARED + 20
    assert max(hit.score for hit in hits[MAX_COMPARED:]) <= compared[-1].score


def test_after_the_deadline_there_is_no_answer(store):
    put(store, "red things")
    found, hits = found_and_hits(store)
    late = Query(QUESTION.text, HERE, NOW, expires=0.0)
    assert rank_by_tokens(hits, found, late, store, WordMatch(), BLENDS) is None
