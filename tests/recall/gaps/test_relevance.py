"""One scale for every source: the default floor is where the engine itself falls silent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.pipeline import FLOOR
from foreword.recall.fuse import UNRELATED_COSINE
from foreword.recall.gaps.relevance import SPOKEN, by_words, covered, judged, relevance, stretched
from foreword.recall.gaps.types import DEFAULT_MIN_RELEVANCE_SCORE
from foreword.recall.gaps.words import likeness, own_voice, roots, sentences

QUESTION = "Which database did we choose for the audit log?"
GOOD = "We chose Postgres as the database for the audit log."
STRANGER = "The cafeteria closes at three on Fridays."


def test_the_default_floor_is_where_the_engine_falls_silent():
    assert SPOKEN == FLOOR
    assert relevance(FLOOR) == pytest.approx(DEFAULT_MIN_RELEVANCE_SCORE)
    assert [round(relevance(p), 2) for p in (0.0, 0.018, 0.14, 0.5, 1.0)] == [0.0, 0.51, 0.9, 0.98, 1.0]


@given(st.floats(0, 1), st.floats(0, 1))
def test_what_is_more_probable_is_more_relevant(one, other):
    low, high = sorted((one, other))
    assert 0.0 <= relevance(low) <= relevance(high) <= 1.0


@given(st.floats(-1, 1), st.floats(0, 1), st.sampled_from(["turn", "memory", "document", "odd"]))
def test_nearness_and_words_both_speak_for_a_text(cosine, share, kind):
    base = judged(cosine, share, kind)
    assert 0.0 <= base <= 1.0
    assert judged(cosine + 0.1, share, kind) >= base
    assert judged(cosine, min(1.0, share + 0.1), kind) >= base
    assert judged(None, min(1.0, share + 0.1), kind) >= judged(None, share, kind)


def test_words_alone_tell_an_answer_from_a_stranger():
    for kind in ("turn", "memory"):
        good, stranger = by_words(QUESTION, [GOOD, STRANGER], [kind, kind])
        assert good > DEFAULT_MIN_RELEVANCE_SCORE
        assert stranger < 0.35


def test_seven_long_words_in_common_do_not_make_a_stranger_relevant():
    question = "Which retention period applies to invoices of customers in Switzerland under contract?"
    noise = "The " + " ".join(f"unrelated{at}" for at in range(200)) + " period contract"
    assert by_words(question, [noise, STRANGER], ["turn", "turn"])[0] < DEFAULT_MIN_RELEVANCE_SCORE


def test_inflections_are_the_same_word():
    assert covered("migrating retries", ["The migration retried."])[0] > 0.4
    assert covered("", ["anything"]) == [0.0]


def test_an_encoders_strangers_are_put_where_ours_are():
    assert stretched(0.0, 0.0) == pytest.approx(UNRELATED_COSINE)
    assert stretched(1.0, 0.2) == pytest.approx(1.0)


def test_only_an_agents_own_voice_is_heard():
    text = (
        "Mine. `code?` \"quoted?\"\n> cited?\n```\nfenced?\n```\nhttps://x.org/?q=1 It's mine, don't forget."
    )
    assert "?" not in own_voice(text)
    assert "don't forget" in own_voice(text)
    assert sentences("One. Two? Three") == ["One.", "Two?", "Three"]


def test_texts_that_differ_in_a_number_are_not_alike():
    assert likeness("Story 1 is done", "Story 2 is done") == 0.0
    assert likeness("The story is done", "the story, it is done!") == 1.0
    assert likeness("", "") == 0.0
    assert roots("The and of") == frozenset()
