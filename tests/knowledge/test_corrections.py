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
