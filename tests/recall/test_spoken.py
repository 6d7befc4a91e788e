from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.recall.divergence import Utterance, read_utterance


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "ok thanks",
        "OK, great!",
        "sounds good, go ahead",
        "what about it?",
        "do that",
        "fix it please",
        "run the tests again",
        "commit and push, then open a pull request",
        "and then?",
        "hm... and why is that so?",
        "",
        "?!",
    ],
)
def test_what_brings_nothing_of_its_own_merely_replies(text):
    assert read_utterance(text).replies


@pytest.mark.parametrize(
    "text",
    [
        "soup",
        "Plan my trip to Lisbon",
        "does this migration lock the orders table?",
        "yes, and rename the invoice module",
    ],
)
def test_what_brings_a_subject_does_not_merely_reply(text):
    assert not read_utterance(text).replies


@pytest.mark.parametrize(
    "text",
    [
        "Why is it slow?",
        "how do I roll back",
        "ok, now add a test",
        "I need a taxi",
        "could you look at the parser",
        "let's move on to billing",
        "你好吗？",
    ],
)
def test_questions_orders_and_wishes_ask(text):
    assert read_utterance(text).asks


@pytest.mark.parametrize(
    "text",
    [
        "The parser is slow.",
        "I live in Bergen.",
        "See https://example.org/search?q=tests",
        "",
    ],
)
def test_statements_do_not_ask(text):
    assert not read_utterance(text).asks


def test_a_question_in_the_middle_of_a_page_is_not_the_speakers():
    page = "The build is green. " * 100
    assert not read_utterance(f"{page} Is it? {page}").asks
    assert read_utterance(f"{page} Shall I open a pull request?").asks


@pytest.mark.parametrize(
    "text", ["Is there anything else I can help with?", "Will that be all?", "Done. Let me know."]
)
def test_an_offer_to_go_on_is_no_question_to_be_answered(text):
    assert read_utterance(text).offers


def test_pointing_back_and_opening_like_a_reply_lean():
    assert read_utterance("Rename those two modules").leans
    assert read_utterance("No, use the other table for customers").leans
    assert not read_utterance("Rename the billing modules").leans


def test_words_that_begin_alike_are_the_same():
    assert read_utterance("Tables").roots == read_utterance("a table").roots
    assert (
        read_utterance("booking").roots
        == read_utterance("the bookings").roots
        != read_utterance("boots").roots
    )


def test_a_long_text_is_known_by_its_beginning_and_its_end():
    long = "first " + "middle " * 5000 + "last"
    assert {"first", "last"} <= read_utterance(long).roots
    assert read_utterance(long).length < 1000


@given(st.text())
def test_any_text_has_looks(text):
    assert isinstance(read_utterance(text), Utterance)
    assert read_utterance(text) == read_utterance(text)
