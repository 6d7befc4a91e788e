"""Decisions, demands, names and numbers weigh; what is merely felt does not."""

from __future__ import annotations

import pytest

from foreword.knowledge.sentences import sentences_of
from foreword.knowledge.stakes import asks_for_something, stake

CHAT = "I went for a walk and the weather was nice."


def read(text):
    (sentence,) = sentences_of(text, 0)
    return sentence


@pytest.mark.parametrize(
    "text",
    [
        "We settled on the red one.",
        "The fee is 18 euros.",
        "Ask Hedwig for the keys.",
        "I am allergic to nuts.",
        "Nobody may deploy from a train.",
        "Correction: it is the other door.",
        "Please don't book with them.",
        "We raised the fee to twenty.",
    ],
)
def test_what_matters_weighs_more_than_chat(text):
    assert stake(read(text)) > stake(read(CHAT)) == 0.0


def test_a_dated_decision_about_somebody_weighs_most():
    dated = stake(read("We agreed that Hedwig leaves on 3 May."))
    assert (
        dated
        > stake(read("We agreed that she leaves soon."))
        > stake(read("Hedwig leaves soon, says Oskar."))
    )


def test_a_name_that_only_calls_somebody_does_not_count():
    assert stake(read("That is really nice, Melanie!")) == 0.0
    assert stake(read("Hey Melanie, that is really nice.")) == 0.0


def test_a_weekday_is_no_name():
    assert stake(read("The museum is closed on Mondays.")) == 0.0


def test_what_is_felt_weighs_less_than_what_is_so():
    assert stake(read("I love that Hedwig sings!")) < stake(read("I hear that Hedwig sings."))


def test_the_longer_a_sentence_the_less_each_word_matters():
    short = "We agreed on Oslo."
    assert stake(read(short)) > stake(read(short[:-1] + " after all that talk" * 6 + "."))


def test_a_question_is_about_something_when_it_asks_who_or_when_and_has_words_of_its_own():
    assert asks_for_something(read("Who signs the security review?"))
    assert not asks_for_something(read("Who is it?"))
    assert not asks_for_something(read("Lovely museum garden, isn't it?"))
