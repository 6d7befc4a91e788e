"""A question is near to itself and answers nothing; nor does a nod, a shrug or a word without its talk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.recall.gaps.answers import may_answer

QUESTION = "Who approves refunds above 500 euros?"


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
def test_a_question_answers_none(text, spoken):
    assert not may_answer(text, QUESTION, spoken=spoken)


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
def test_what_leans_on_its_talk_or_lacks_the_answer_too_is_none(text):
    assert not may_answer(text, QUESTION, spoken=True)


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
def test_whatever_states_something_may(text, spoken):
    assert may_answer(text, QUESTION, spoken=spoken)


def test_what_was_written_down_stands_by_itself_however_short():
    assert may_answer("Use tabs.", "How is our code indented?")
    assert may_answer("We use Postgres.", "Do we use Postgres?")


@given(st.text(max_size=300), st.text(max_size=100), st.booleans())
def test_any_text_is_judged(text, question, spoken):
    assert may_answer(text, question, spoken=spoken) in (True, False)


@pytest.mark.parametrize("bait", ["please wait " * 2_000 + "x", "ok" * 5_000, "?" * 9_000, "go " * 5_000])
def test_no_text_makes_judging_slow(bait):
    assert may_answer(bait, QUESTION, spoken=True) in (True, False)
