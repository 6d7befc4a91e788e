from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.recall.fuse import BLENDS, DEFAULT_BLEND, UNRELATED_COSINE, Blend, fuse
from foreword.spaces.basic import HourSpace, RecencySpace
from foreword.types import KINDS, Findings, Item

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
PLAIN = {kind: Blend(lexical=0.1, identifiers=0.05, beside=0.5, echo=0.0) for kind in KINDS}


def findings_of(kind="memory", cosines=None, beside=None, **lists):
    """Lists of ids, best first; the scores of the word-like ones fall from 1."""
    cosines = cosines or {}
    ids = {item for listed in lists.values() for item in listed} | cosines.keys()
    items = {
        i: Item(f"text {i}", "w", kind=kind, id=i, created_at=NOW - timedelta(days=ord(i[0]) % 7))
        for i in ids
    }
    ranked = {s: tuple((i, 1 / n) for n, i in enumerate(listed, 1)) for s, listed in lists.items()}
    order = sorted(cosines, key=lambda i: -cosines[i])
    semantic = {"semantic": tuple((i, cosines[i]) for i in order)} if cosines else {}
    return Findings(
        items, ranked | semantic, measures={"semantic": cosines} if cosines else {}, beside=beside or {}
    )


def fuse_findings(given_, now, question="what", **more):
    return fuse(given_, question, now, **more)


def order(hits):
    return [hit.memory.id for hit in hits]


def test_an_item_has_its_rank_and_score_in_every_space():
    best = fuse_findings(findings_of(cosines={"a": 0.8, "b": 0.6}, lexical=["a", "c"]), NOW)[0]
    assert best.memory.id == "a"
    assert best.ranks == {"semantic": 1, "lexical": 1}
    assert best.weighted_agreement == 2.0
    assert best.scores["lexical"] == 1.0


def test_meaning_and_words_add_up():
    hits = fuse_findings(findings_of(cosines={"a": 0.70, "b": 0.65}, lexical=["b"]), NOW, blends=PLAIN)
    assert order(hits) == ["b", "a"]
    assert hits[0].scores["blend"] > hits[1].scores["blend"]


def test_how_much_words_count_depends_on_the_kind():
    def first(kind):
        return order(
            fuse_findings(findings_of(kind=kind, cosines={"a": 0.72, "b": 0.62}, lexical=["b"]), NOW)
        )[0]

    assert first("turn") == "b"
    assert first("code") == "a"


def test_an_item_without_a_vector_can_still_come_first_by_its_words():
    hits = fuse_findings(findings_of(cosines={"a": 0.55, "b": 0.6}, lexical=["c", "b"]), NOW)
    assert order(hits)[0] == "c"


def test_a_good_neighbour_lifts_an_item():
    alone = fuse_findings(findings_of("turn", cosines={"a": 0.8, "b": 0.6, "c": 0.6}), NOW)
    beside = fuse_findings(
        findings_of(
            "turn", cosines={"a": 0.8, "b": 0.6, "c": 0.6}, beside={"a": {"b": 0.5}, "b": {"a": 0.5}}
        ),
        NOW,
    )
    gained = {hit.memory.id: hit.scores["blend"] for hit in beside}
    assert order(beside) == ["a", "b", "c"]
    assert gained["b"] > next(hit.scores["blend"] for hit in alone if hit.memory.id == "b")
    assert gained["c"] == next(hit.scores["blend"] for hit in alone if hit.memory.id == "c")


def test_the_time_a_question_speaks_of_counts_a_little():
    given_ = findings_of(cosines={"a": 0.6, "b": 0.6})
    day = given_.items["b"].created_at.date().isoformat()
    assert order(fuse_findings(given_, NOW, f"what happened on {day}"))[0] == "b"


def test_the_event_a_question_names_divides_the_answers():
    given_ = findings_of(cosines={"a": 0.6, "b": 0.6, "c": 0.6})
    assert given_.items["b"].created_at != given_.items["c"].created_at
    early, _, late = sorted("abc", key=lambda i: given_.items[i].created_at)
    middle = sorted("abc", key=lambda i: given_.items[i].created_at)[1]
    assert order(fuse_findings(given_, NOW, f"anything before the text {middle}"))[0] == early
    assert late in order(fuse_findings(given_, NOW, f"anything after the text {middle}"))[:2]


def test_another_encoders_strangers_are_put_where_ours_are():
    ours = fuse_findings(findings_of(cosines={"a": UNRELATED_COSINE, "b": 1.0}), NOW)
    theirs = fuse_findings(findings_of(cosines={"a": 0.1, "b": 1.0}), NOW, unrelated_cosine=0.1)
    assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs])


def test_time_is_told_but_does_not_count():
    plain = fuse_findings(findings_of(lexical=["a", "b"]), NOW)
    timed = fuse_findings(findings_of(lexical=["a", "b"]), NOW, clocks=[RecencySpace(), HourSpace()])
    assert [hit.score for hit in plain] == [hit.score for hit in timed]
    assert all({"recency", "hour"} <= hit.ranks.keys() for hit in timed)


def test_a_probability_is_a_half_in_the_middle_and_grows():
    for blend in (*BLENDS.values(), DEFAULT_BLEND):
        assert blend.probability(blend.middle) == 0.5
        assert blend.probability(blend.middle + 0.1) > 0.5 > blend.probability(blend.middle - 0.1)


@given(
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 1)),
    st.dictionaries(
        st.sampled_from(["lexical", "identifiers", "entities", "trigram", "graph", "custom"]),
        st.lists(st.sampled_from("abcdefgh"), unique=True),
    ),
)
def test_scores_stay_between_nought_and_one_and_fall(kind, cosines, lists):
    given_ = findings_of(kind, cosines, **lists)
    scores = [hit.score for hit in fuse_findings(given_, NOW)]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == len(given_.items)


def findings_with_name(share):
    """A question that names something, and how much of it the best item mentions."""
    there = findings_of(kind="turn", cosines={"a": 0.8})
    return Findings(there.items, {**there.lists, "entities": (("a", share),) if share else ()}, there.notes,
                 there.measures)  # fmt: skip


def test_a_question_about_strangers_is_probably_not_answered_here():
    (stranger,), (known,) = (
        fuse_findings(findings_with_name(0.0), NOW),
        fuse_findings(findings_with_name(1.0), NOW),
    )
    assert stranger.score < known.score
    assert stranger.scores["blend"] == known.scores["blend"]


def test_a_question_that_names_nothing_stands_between_the_two():
    (nameless,) = fuse_findings(findings_of(kind="turn", cosines={"a": 0.8}), NOW)
    assert (
        fuse_findings(findings_with_name(0.0), NOW)[0].score
        < nameless.score
        < fuse_findings(findings_with_name(1.0), NOW)[0].score
    )


def test_being_the_best_of_a_bad_lot_orders_but_does_not_convince():
    code = {"a": 0.6, "b": 0.62}
    plain = {hit.memory.id: hit for hit in fuse_findings(findings_of(kind="code", cosines=code), NOW)}
    listed = findings_of(kind="code", cosines=code)
    listed = Findings(listed.items, {**listed.lists, "identifiers": (("a", 0.02),)}, (), listed.measures)
    hits = fuse_findings(listed, NOW)
    assert order(hits) == ["a", "b"]
    assert hits[0].score <= plain["a"].score + 1e-9


# Agreement


def agreements(findings, question="what", clocks=(), **more):
    hits = fuse(findings, question, NOW, clocks, **more)
    return {hit.memory.id: hit.weighted_agreement for hit in hits}


def test_a_place_in_the_list_by_meaning_is_no_match_for_a_stranger():
    found = findings_of(cosines={"a": 0.7, "b": UNRELATED_COSINE, "c": 0.3}, lexical=["b"])
    assert agreements(found) == {"a": 1.0, "b": 1.0, "c": 0.0}


def test_a_stranger_is_measured_on_the_encoders_own_scale():
    found = findings_of(cosines={"a": 0.7, "b": 0.6})
    assert agreements(found, unrelated_cosine=0.65) == {"a": 1.0, "b": 0.0}
    assert agreements(found, unrelated_cosine=0.1) == {"a": 1.0, "b": 0.5}


def test_an_echo_of_itself_makes_no_stranger_match():
    found = findings_of(cosines={"a": 0.7, "b": 0.4}, echo=["b", "a"])
    assert agreements(found) == {"a": 1.5, "b": 0.0}


def test_a_neighbour_counts_where_the_question_asks_how_things_hang_together():
    found = findings_of(cosines={"a": 0.7}, graph=["b", "a"])
    assert agreements(found, "what did we store?") == {"a": 1.0, "b": 0.0}
    assert agreements(found, "why did we store it?") == {"a": 1.5, "b": 1.0}


def test_time_counts_where_the_question_speaks_of_it_and_the_item_is_of_that_time():
    found = findings_of(cosines={"a": 0.7, "b": 0.6}, lexical=["a", "b"])  # six days old, and of today
    assert agreements(found, "what did we store?", [RecencySpace()]) == {"a": 2.0, "b": 1.0}
    assert agreements(found, "what did we store today?", [RecencySpace()]) == {"a": 2.0, "b": 2.0}


def test_a_question_without_words_is_matched_by_time():
    assert agreements(findings_of(recency=["b", "a"]), "", [RecencySpace()]) == {"b": 1.0, "a": 0.5}


def test_the_ranks_of_spaces_that_do_not_match_are_still_told():
    hit = fuse(findings_of(cosines={"a": 0.3}), "what", NOW, [RecencySpace()])[0]
    assert hit.ranks == {"semantic": 1, "recency": 1}
    assert hit.matching_ranks == {}


cosines = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.0, 1.0), min_size=1)


@given(cosines, st.lists(st.sampled_from("abcdef"), unique=True), st.sampled_from(["what", "why", "today"]))
def test_what_matches_changes_neither_the_order_nor_the_scores(measured, words, question):
    found = findings_of(cosines=measured, lexical=words, graph=words)
    hits = fuse(found, question, NOW, [RecencySpace()])
    assert order(hits) == [hit.memory.id for hit in sorted(hits, key=lambda hit: -hit.score)]
    for hit in hits:
        assert hit.matching_ranks.items() <= hit.ranks.items()
        assert hit.weighted_agreement <= sum(1 / rank for rank in hit.ranks.values())
