"""A change that was asked for counts once it was agreed to, and for the fact that it is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foreword.knowledge.asked_changes import (
    apply_requested_change,
    asks_for_change,
    find_agreeing_sentence,
    is_yes,
)
from foreword.knowledge.user_facts import read_user_facts
from foreword.types import Item

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)


def turn(text, day=0, talk="c"):
    moment = NOON + timedelta(days=day)
    return Item(text, "w", kind="turn", id=f"t{day}", created_at=moment, conversation=talk)


@pytest.mark.parametrize(
    "text",
    [
        "Could we make it Tuesday instead?",
        "Can we move it to Tuesday?",
        "Please move my appointment to Wednesday.",
        "Could we do 11am instead?",
        "How about Friday?",
        "I'd like to change my flight to Rome.",
        "Könnten wir das auf Dienstag verschieben?",
    ],
)
def test_a_request_with_a_new_value_asks_for_a_change(text):
    assert asks_for_change(text)


@pytest.mark.parametrize(
    "text",
    [
        "Could we make it shorter?",
        "What about Rome?",
        "Could you explain the number 5 instead?",
        "Is Tuesday a holiday?",
        "My appointment is on Monday.",
    ],
)
def test_other_questions_ask_for_no_change(text):
    assert not asks_for_change(text)


@pytest.mark.parametrize(
    ("answer", "agreed"),
    [
        ("Sure, Tuesday at 10. Anything else?", "Sure, Tuesday at 10."),
        ("Tuesday at 10 it is.", "Tuesday at 10 it is."),
        ("I've rescheduled it.", "I've rescheduled it."),
        ("Gerne, Dienstag um 10.", "Gerne, Dienstag um 10."),
        ("Sorry, Tuesday is fully booked.", ""),
        ("Let me check.", ""),
        ("Which Tuesday?", ""),
        ("Yes, Tuesday is free. Shall I book it?", ""),
    ],
)
def test_an_answer_agrees_if_it_neither_refuses_nor_asks_back(answer, agreed):
    assert find_agreeing_sentence(answer, "Could we make it Tuesday instead?") == agreed


def test_a_bare_yes_is_one():
    assert is_yes("Yes please!")
    assert not is_yes("No, leave it.")


def test_a_change_is_of_the_fact_that_it_names_or_of_the_last_one_with_such_a_value():
    facts = [
        *read_user_facts(turn("My appointment is on Monday at 10.", 0)),
        *read_user_facts(turn("My piano lesson is on Friday.", 1)),
        *read_user_facts(turn("I drive a Skoda.", 2)),
    ]
    changed = {
        text: (one := apply_requested_change(turn(text, 3), "Sure.", facts)) and one.replaces[0].text
        for text in (
            "Could we move my appointment to Tuesday?",
            "Could we make it Tuesday instead?",
            "Could we make it 11 am instead?",
        )
    }
    assert list(changed.values()) == [
        "My appointment is on Monday at 10.",
        "My piano lesson is on Friday.",
        "My appointment is on Monday at 10.",
    ]
    assert (
        apply_requested_change(turn("Could we make it Tuesday instead?", 3, "another"), "Sure.", facts)
        is None
    )
