from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from foreword.knowledge.corrections import find_corrected, is_revocation
from foreword.types import Item, Source

BUILD = Path(__file__).parents[2] / "measure" / "corrections" / "build.jsonl"


def turns(*said):
    """Turns of one session from "user: …" and "agent: …"."""
    parts = [one.split(": ", 1) for one in said]
    return [
        Item(text, "w", kind="turn", session="s", source=Source(who, who), id=str(number))
        for number, (who, text) in enumerate(parts)
    ]


def corrected(*said):
    *earlier, last = turns(*said)
    return {int(one.item.id) for one in find_corrected(last, earlier[::-1])}


@pytest.mark.parametrize("case", [json.loads(line) for line in BUILD.read_text().splitlines()][:20])
def test_the_labelled_corrections_are_resolved(case):
    assert corrected(*(f"{who}: {text}" for who, text in case["turns"])) == set(case["corrects"])


def test_a_value_corrects_the_latest_of_its_sort_and_what_repeats_it():
    said = ("user: The demo is on Tuesday.", "agent: Noted: demo on Tuesday.", "user: The room is 12.")
    assert corrected(*said, "user: no, Thursday") == {0, 1}


def test_who_says_i_meant_corrects_their_own_words():
    assert corrected("user: I land at 14:20.", "agent: Leave at 13:00 then.", "user: I meant 16:20") == {0}


@pytest.mark.parametrize("answer", ["no, thanks", "not needed", "Saturday", "no"])
def test_an_answer_to_a_question_corrects_nothing(answer):
    assert corrected("user: Paint the fence green.", "agent: On which day?", f"user: {answer}") == set()


def test_what_is_long_or_asks_corrects_nothing():
    long = "no, " + "I think that we should look at the whole thing once more from the beginning " * 2
    assert corrected("user: We meet on Monday.", f"user: {long}") == set()
    assert corrected("user: We meet on Monday.", "user: no, Tuesday?") == set()


def test_nothing_is_corrected_where_nothing_was_said():
    (only,) = turns("user: no, Thursday")
    assert find_corrected(only, []) == []


def test_a_revocation_puts_nothing_in_the_place_of_what_goes():
    assert is_revocation("scrap that")
    assert is_revocation("forget about Kafka, too much work")
    assert not is_revocation("scrap that, blue")
    assert not is_revocation("forget it, we stay with Postgres")
    assert not is_revocation("We stay with Postgres.")


@pytest.mark.parametrize(
    "said",
    [
        "No problem! Let me know how the trip goes.",
        "Not a problem at all. Have fun in Bergen!",
        "It's lovely!",
        "Should be fun, thanks!",
        "Wow, did you make that? It looks so real.",
        "Let's make it a trip to remember!",
    ],
)
def test_courtesy_and_praise_correct_nothing(said):
    assert corrected("user: We take the ferry to Oslo on Friday.", f"user: {said}") == set()


def test_the_name_of_who_is_spoken_to_is_no_value():
    earlier, last = turns("user: Dana leads the tour.", "user: That's a great choice, Sam.")
    named = [replace(one, metadata={"name": name}) for one, name in ((earlier, "Samuel"), (last, "Ines"))]
    assert find_corrected(named[1], named[:1]) == []
    assert corrected("user: Dana leads the tour.", "user: no, Sam") == {0}


PLATES, NOTED = "user: I ordered 3 plates for my kitchen.", "agent: Noted."


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My phone number is 555-0100.", "no wait, 555-0101"),
        ("My number is +49 170 5550100.", "sorry, I meant +49 170 5550101"),
        ("We are on version 2.3.1 now.", "no wait, 2.3.2"),
        ("The gateway is 10.0.0.1.", "no wait, 10.0.0.2"),
        ("My birthday is 1990-04-12.", "no wait, 1990-04-13"),
        ("The deadline is 12 June.", "no wait, 13 June"),
        ("The deadline is June 12.", "sorry, July 12"),
        ("My birthday is on 12 April 1990.", "no wait, 1991"),
        ("My train leaves at 9:15.", "no wait, 9:45"),
        ("My printer is an HL-2350.", "no wait, HL-2370"),
        ("My flight is LH 430.", "no wait, LH 432"),
        ("My camera is an EOS R5.", "no wait, EOS R6"),
        ("The rent is $1200.", "no wait, $1250"),
        ("I weigh 70 kg.", "no wait, 72 kg"),
        ("The door code is 4711.", "no wait, 4712"),
        ("The timeout is 30 seconds.", "no wait, 2 minutes"),
        ("The address is 12 Main Street.", "no wait, 14 Main Street"),
        ("We use Python 3.11.", "no wait, 3.12"),
        ("The match ended 2-1.", "no wait, 3-1"),
        ("I take 20 mg of it daily.", "no wait, 25 mg"),
        ("Meine Nummer ist 030 1234567.", "nein, 030 1234568"),
    ],
)
def test_a_value_corrects_the_nearest_statement_that_it_fits(old, new):
    assert corrected(f"user: {old}", NOTED, f"user: {new}") == {0}
    assert corrected(PLATES, NOTED, f"user: {old}", NOTED, f"user: {new}") == {2}
    assert corrected(f"user: {old}", NOTED, PLATES, NOTED, f"user: {new}") == {0}


@pytest.mark.parametrize("new", ["no wait, 555-0101", "I meant 10.0.0.2", "no wait, 4711", "sorry, at 9:45"])
def test_a_value_that_fits_nothing_corrects_nothing(new):
    assert corrected(PLATES, NOTED, f"user: {new}") == set()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Our hotel in Tokyo is the Park Hotel.", "no wait, the hotel is the Palace Hotel"),
        ("Our hotel in Tokyo is the Park Hotel.", "no wait, the hotel in Tokyo is the Palace Hotel"),
        ("My doctor is Dr. Weber.", "no wait, Dr. Huber"),
        ("I work at Acme Labs in Berlin.", "no wait, Acme Systems"),
        ("My sister lives in New York.", "sorry, New Orleans"),
        ("Her name is Anna Berg.", "I meant Anna Bergman"),
        ("I drive a Model 3.", "no wait, a Model Y"),
    ],
)
def test_names_that_share_a_word_are_told_apart(old, new):
    assert corrected(f"user: {old}", NOTED, f"user: {new}") == {0}
    tips = ("user: What should I pack?", "agent: Light rain jackets. Drink more water.")
    assert corrected(f"user: {old}", NOTED, *tips, f"user: {new}") == {0}


def test_only_what_repeats_the_changed_value_is_corrected_with_it():
    said = (
        "user: I work at Acme Labs in Berlin.",
        "agent: Acme Labs, noted.",
        "user: I love Berlin in spring.",
    )
    assert corrected(*said, "user: no wait, Acme Systems") == {0, 1}


def test_a_correction_that_names_its_subject_corrects_what_was_said_of_it():
    said = ("user: The room is 12.", "user: The gate is 14.")
    assert corrected(*said, "user: no wait, the room is 13") == {0}
    assert corrected(*said, "user: no wait, Room 13") == {0}


def test_a_correction_may_be_in_small_letters():
    assert corrected("user: our dog is called rex", NOTED, "user: no wait, max") == {0}


def test_who_says_wait_corrects_their_own_words():
    said = ("user: My phone number is 555-0100.", "agent: The clinic has the number 555-0199.")
    assert corrected(*said, "user: no wait, 555-0101") == {0}


@pytest.mark.parametrize(
    "said",
    [
        "We don't want to fly with layovers.",
        "We don't need a car in Rome.",
        "We won't need breakfast.",
        "I'm not going to eat meat.",
        "No more than three hours of driving a day.",
        "It's a family of four.",
        "Well, three cats live here too.",
        "Actually I live in Berlin.",
    ],
)
def test_a_wish_or_a_new_fact_corrects_nothing(said):
    assert corrected("user: We are two adults and a toddler.", NOTED, f"user: {said}") == set()
    assert corrected("user: We leave at 5pm.", NOTED, f"user: {said}") == set()


def test_what_is_taken_back_by_name_is_what_has_that_name():
    said = ("user: We need a car for Rome.", "user: We are two adults and a toddler.")
    assert corrected(*said, "user: we don't need a car after all") == {0}
    assert corrected(*said, "user: scrap that") == {1}
