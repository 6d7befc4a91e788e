"""Texts of every source are rated on one scale, and those that state nothing are no answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.pipeline import FLOOR
from foreword.recall.fuse import UNRELATED_COSINE
from foreword.recipes.gap.relevance import (
    MIN_SPOKEN_PROBABILITY,
    has_statement_beyond_question,
    question_coverage,
    rate_relevance,
    rate_relevance_by_words,
    relevance_from_probability,
    rescale_to_bundled_encoder,
)
from foreword.recipes.gap.types import DEFAULT_MIN_RELEVANCE_SCORE
from foreword.recipes.gap.vocabulary import word_prefixes

QUESTION = "Which database did we choose for the audit log?"
GOOD = "We chose Postgres as the database for the audit log."
REFUND_QUESTION = "Who approves refunds above 500 euros?"
UNRELATED = "The cafeteria closes at three on Fridays."


def test_the_default_floor_is_where_the_engine_falls_silent():
    assert MIN_SPOKEN_PROBABILITY == FLOOR
    assert relevance_from_probability(FLOOR) == pytest.approx(DEFAULT_MIN_RELEVANCE_SCORE)
    scores = [round(relevance_from_probability(p), 2) for p in (0.0, 0.018, 0.14, 0.5, 1.0)]
    assert scores == [0.0, 0.51, 0.9, 0.98, 1.0]


_WORDS = st.sampled_from([
    "audit", "AUDITS", "database", "who", "refund-refunds", "the", "of", "500", "½", "Straße", "STRASSE",
    "café", "CAFÉ", "x_audit", "ﬁnd", "ſo",
])  # fmt: skip


@given(st.lists(_WORDS | st.text(max_size=8), max_size=6), st.lists(st.lists(_WORDS, max_size=8), max_size=5))
def test_a_text_has_a_share_of_a_question_exactly_when_they_have_a_word_in_common(asked, said):
    question, texts = " ".join(asked), [" ".join(words) for words in said]
    shared = [bool(word_prefixes(question) & word_prefixes(text)) for text in texts]
    assert [share > 0 for share in question_coverage(question, texts)] == shared


@given(st.floats(0, 1), st.floats(0, 1))
def test_what_is_more_probable_is_more_relevant(one, other):
    low, high = sorted((one, other))
    assert 0.0 <= relevance_from_probability(low) <= relevance_from_probability(high) <= 1.0


@given(st.floats(-1, 1), st.floats(0, 1), st.sampled_from(["turn", "memory", "document", "odd"]))
def test_a_higher_cosine_or_coverage_never_lowers_the_relevance(cosine, coverage, kind):
    base = rate_relevance(cosine, coverage, kind)
    assert 0.0 <= base <= 1.0
    assert rate_relevance(cosine + 0.1, coverage, kind) >= base
    assert rate_relevance(cosine, min(1.0, coverage + 0.1), kind) >= base
    assert rate_relevance(None, min(1.0, coverage + 0.1), kind) >= rate_relevance(None, coverage, kind)


def test_words_alone_tell_an_answer_from_an_unrelated_text():
    for kind in ("turn", "memory"):
        good, unrelated = rate_relevance_by_words(QUESTION, [GOOD, UNRELATED], [kind, kind])
        assert good > DEFAULT_MIN_RELEVANCE_SCORE
        assert unrelated < 0.35


def test_seven_long_words_in_common_do_not_make_an_unrelated_text_relevant():
    question = "Which retention period applies to invoices of customers in Switzerland under contract?"
    noise = "The " + " ".join(f"unrelated{at}" for at in range(200)) + " period contract"
    assert (
        rate_relevance_by_words(question, [noise, UNRELATED], ["turn", "turn"])[0]
        < DEFAULT_MIN_RELEVANCE_SCORE
    )


def test_inflections_are_the_same_word():
    assert question_coverage("migrating retries", ["The migration retried."])[0] > 0.4
    assert question_coverage("", ["anything"]) == [0.0]


def test_cosines_of_other_encoders_are_put_on_the_scale_of_ours():
    assert rescale_to_bundled_encoder(0.0, 0.0) == pytest.approx(UNRELATED_COSINE)
    assert rescale_to_bundled_encoder(1.0, 0.2) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "text",
    [
        "Who approves refunds above 500 euros?",
        "who approves refunds above 500 euros",
        "Who approves refunds? And above which amount?",
        "",
    ],
)
@pytest.mark.parametrize("spoken", [False, True])
def test_a_question_is_no_answer(text, spoken):
    assert not has_statement_beyond_question(text, REFUND_QUESTION, spoken=spoken)


@pytest.mark.parametrize(
    "text",
    [
        "Postgres.",
        "After 15 minutes.",
        "Go on.",
        "OK, thank you!",
        "I don't know, sorry.",
        "Who approves refunds above 500 euros? No idea.",
        "Who approves refunds above 500 euros? Please go on.",
        "Nobody has told me who approves refunds above 500 euros.",
    ],
)
def test_a_few_spoken_words_a_shrug_or_the_same_lack_are_no_answer(text):
    assert not has_statement_beyond_question(text, REFUND_QUESTION, spoken=True)


@pytest.mark.parametrize(
    "text",
    [
        "Mara approves refunds above 500 euros.",
        "Who approves refunds above 500 euros? Mara.",
        "Refunds: Mara.",
        "Above that amount it is always the head of accounting who signs.",
        "Did you see the memo? Mara approves them now.",
    ],
)
@pytest.mark.parametrize("spoken", [False, True])
def test_a_text_that_states_something_can_answer(text, spoken):
    assert has_statement_beyond_question(text, REFUND_QUESTION, spoken=spoken)


def test_what_was_written_down_can_answer_however_short():
    assert has_statement_beyond_question("Use tabs.", "How is our code indented?")
    assert has_statement_beyond_question("We use Postgres.", "Do we use Postgres?")


@given(st.text(max_size=300), st.text(max_size=100), st.booleans())
def test_can_answer_works_for_any_text(text, question, spoken):
    assert has_statement_beyond_question(text, question, spoken=spoken) in (True, False)


@pytest.mark.parametrize("bait", ["please wait " * 2_000 + "x", "ok" * 5_000, "?" * 9_000, "go " * 5_000])
def test_no_text_makes_judging_slow(bait):
    assert has_statement_beyond_question(bait, REFUND_QUESTION, spoken=True) in (True, False)
