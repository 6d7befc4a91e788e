"""Which of two siblings' pages is told: the one that is talked about."""

from __future__ import annotations

import pytest

from foreword.recall.rivals import drop_rivals_not_discussed
from foreword.types import Item, SearchResult, Turn

QUESTION = "How do I reset it?"


def chunk(*headings, title="", text="Hold the button."):
    facts = {"headings": list(headings), "title": title}
    return SearchResult(Item(text, "shop", kind="document", metadata=facts), 0.9)


def told(results, *said, question=QUESTION):
    kept = drop_rivals_not_discussed(results, question, [Turn(text) for text in said])
    return [" › ".join(one.memory.metadata["headings"]) for one in kept]


MINI, MAX = chunk("Norda Mini", "Reset the Mini"), chunk("Norda Max", "Reset the Max")
ONE = "Norda Mini › Reset the Mini"
OTHER = "Norda Max › Reset the Max"


def test_of_two_siblings_the_one_that_was_named_is_told():
    assert told([MAX, MINI], "I have the Mini", "Good.") == [ONE]


def test_the_name_that_was_said_last_counts():
    assert told([MINI, MAX], "I have the Mini", "no sorry, it's the max") == [OTHER]


def test_a_name_in_the_question_counts_most():
    assert told([MINI, MAX], "I have the Mini", question="How do I reset a Max?") == [OTHER]


def test_both_are_told_while_nobody_said_which():
    assert told([MINI, MAX], "my internet is dead") == [ONE, OTHER]
    assert told([MINI, MAX], "Is it the Mini or the Max?") == [ONE, OTHER]


@pytest.mark.parametrize(
    "question", ["And how with the other one?", "How do I reset both?", "Was ist der Unterschied?"]
)
def test_a_question_about_several_gets_both(question):
    assert told([MINI, MAX], "I have the Mini", question=question) == [ONE, OTHER]


def test_a_number_is_a_name_only_with_the_word_before_it():
    two, three = chunk("Brio 2: descaling"), chunk("Brio 3: descaling")
    assert told([three, two], "I have a Brio 2", "It takes 3 minutes.") == ["Brio 2: descaling"]
    assert told([three, two], "I have 2 cups") == ["Brio 3: descaling", "Brio 2: descaling"]


def test_sections_of_one_page_and_pages_about_other_matters_are_no_rivals():
    lights, reset = chunk("Norda Mini", "What the lights mean"), chunk("Norda Mini", "reset")
    assert len(told([lights, reset], "the lights of my Mini blink")) == 2
    assert len(told([MINI, chunk("Bills and payments")], "I have the Mini")) == 2


def test_a_word_that_its_own_text_writes_small_is_no_name():
    hours = chunk("Opening Hours", text="Our hours are nine to five.")
    days = chunk("Opening Days", text="We open on all days but Sunday.")
    assert len(told([hours, days], "I am in town for two days", question="When do you open?")) == 2


def test_without_headings_the_title_tells_siblings_apart():
    halo, slate = chunk(title="Router Halo"), chunk(title="Router Slate")
    kept = drop_rivals_not_discussed([slate, halo], QUESTION, [Turn("It is a Halo.")])
    assert [one.memory.metadata["title"] for one in kept] == ["Router Halo"]
