"""A value that is taken back in passing is not believed any more, and nothing else changes."""

from __future__ import annotations

import pytest

from foreword.capture.names.entities import find_entities
from foreword.knowledge.registry import EntityRegistry
from foreword.types import Turn


def known_after(*turns):
    """The attributes of everybody, and their relations, after turns by the user or `(role, text)`."""
    registry = EntityRegistry(find_entities)
    for index, turn in enumerate(turns):
        role, text = turn if isinstance(turn, tuple) else ("user", turn)
        registry.register_mentioned_entities(Turn(text, role=role), index)
    return {
        entity.canonical_name: dict(entity.attributes)
        | {one.relation: one.target_name for one in registry.relationships(entity.id)}
        for entity in registry.entities()
    }


@pytest.mark.parametrize(
    "correction",
    [
        "Sorry, I meant Lyon.",
        "sorry i meant lyon",
        "Sorry, Lyon, not Paris.",
        "Sorry — in Lyon.",
        "No wait, Lyon.",
        "No, Lyon.",
        "I mean Lyon.",
        "Lyon, I mean.",
        "Oops, Lyon!",
        "Correction: Lyon.",
        "My mistake, it's Lyon.",
        "It's Lyon, not Paris.",
        "Not Paris, Lyon.",
        "Lyon, not Paris, sorry.",
        "Actually, make that Lyon.",
    ],
)
@pytest.mark.parametrize("between", [(), (("assistant", "Paris is lovely."),)])
def test_a_place_takes_the_place_of_a_place(correction, between):
    assert known_after("I'm Mara. I live in Paris.", *between, correction)["Mara"] in (
        {"location": "Lyon", "lives in": "Lyon"},
        {"location": "lyon", "lives in": "lyon"},
    )


@pytest.mark.parametrize(
    ("claim", "correction", "name", "known"),
    [
        ("I'm Mara and I live in Paris, sorry, Lyon.", "Thanks.", "Mara", {"location": "Lyon"}),
        ("Anna's email is a@x.org.", "Oops, b@x.org.", "Anna", {"email": "b@x.org"}),
        ("I'm Mara. My phone is 555 0100.", "Sorry, 555 0101.", "Mara", {"phone": "555 0101"}),
        ("I'm Mara. My birthday is 4 May.", "Sorry, I meant 5 May.", "Mara", {"birthday": "5 May"}),
        ("I'm Mara. My favourite colour is blue.", "I meant green.", "Mara", {"favourite colour": "green"}),
        ("Anna Berg is the director.", "Sorry, the manager.", "Anna Berg", {"title": "manager"}),
        ("Anna Berg works at Siemens.", "Sorry, I meant Bosch.", "Anna Berg", {"works at": "Bosch"}),
        ("Tom's in marketing.", "Correction: finance.", "Tom", {"department": "finance"}),
        ("Anna Berg reports to Lisa Ray.", "I meant Eva Stone.", "Anna Berg", {"reports to": "Eva Stone"}),
    ],
)
def test_a_value_is_corrected_by_one_of_its_kind(claim, correction, name, known):
    assert known_after(claim, correction)[name].items() >= known.items()


@pytest.mark.parametrize(
    "turns",
    [
        ("Book me a hotel in Rome.", "Sorry, I meant Lyon."),
        (("assistant", "Do you want to fly to Rome?"), "No, Lyon."),
        (("assistant", "Where do you want to fly?"), "Actually, Lyon."),
        ("Sorry, Lyon is nice too.",),
        ("Sorry, I missed the train to Lyon.",),
        ("Sorry, 555 0101.",),
        ("Not Rome, Lyon.",),
        (("assistant", "Sorry, I meant Lyon."),),
    ],
)
def test_what_corrects_something_else_changes_nothing(turns):
    assert known_after("I'm Mara. I live in Paris.", *turns)["Mara"] == {
        "location": "Paris",
        "lives in": "Paris",
    }


def test_a_claim_further_back_is_corrected_by_who_says_what_was_wrong():
    turns = ("I'm Mara. I live in Paris.", "I like cakes.", "And tarts.")
    assert known_after(*turns, "Sorry, I meant Lyon.")["Mara"]["location"] == "Paris"
    assert known_after(*turns, "By the way, it's Lyon, not Paris.")["Mara"]["location"] == "Lyon"


def test_a_correction_is_corrected_in_turn():
    known = known_after("I'm Mara. I live in Paris.", "Sorry, I meant Lyon.", "No wait, Lille.")
    assert known["Mara"]["location"] == "Lille"
