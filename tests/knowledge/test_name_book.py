"""A name is filed so that whoever may be called so is found, and nobody else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.names.entities import find_entities
from foreword.knowledge.name_book import (
    can_be_same_person,
    drop_legal_form,
    is_address_of,
    is_short_for,
    name_acronym,
    name_index_keys,
)
from foreword.knowledge.registry import EntityRegistry
from foreword.types import ENTITY_TYPES, Turn


def entities_after(*texts):
    """Who and what is known after these turns."""
    registry = EntityRegistry(find_entities)
    for index, text in enumerate(texts):
        registry.register_mentioned_entities(Turn(text), index)
    return {(entity.canonical_name, entity.entity_type) for entity in registry.entities()}


@pytest.mark.parametrize(
    "texts",
    [
        ("A cake for Thandiwe Moyo.", "Please ask Thandiwe about nuts."),
        ("A cake for Thandiwe Moyo.", "Please call Ms. Moyo."),
        ("Thanks, Thandiwe!", "A cake for Thandiwe Moyo."),
        ("A cake for Thandiwe Moyo.", "Of course, said Thandiwe."),
        ("A parcel for Zsófia Kertész.", "Please ask Zsófia."),
        ("Please send the keys to Joost van Dijk.", "Did you tell Joost the code?"),
    ],
)
def test_a_full_name_that_no_list_knows_and_its_half_become_one_person(texts):
    names = entities_after(*texts)
    assert len(names) == 1
    assert {kind for _, kind in names} == {"person"}


def test_two_things_that_share_a_word_stay_two():
    assert entities_after("We compared North Ridge and North Star.") == {
        ("North Ridge", "thing"),
        ("North Star", "thing"),
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("AirHub 200", "AirHub 300"),
        ("AirHub 200", "AirHub 200S"),
        ("AirHub 200 Plus", "AirHub 200 Lite"),
        ("AirHub Pro", "AirHub Plus"),
        ("AirHub Pro", "AirHub"),
        ("AirHub II", "AirHub III"),
        ("Galaxy S22", "Galaxy S23"),
        ("Galaxy S22", "Galaxy S22 Ultra"),
        ("Roomba i7", "Roomba j7"),
        ("ThinkPad T14", "ThinkPad T14s"),
        ("Bosch WAT28", "Bosch WAN28"),
        ("Postgres 14", "Postgres 16"),
        ("Red Harbour", "Royal Hill"),
        ("Anna Berg", "Anna Bergman"),
        ("John Smith Jr", "John Smith Sr"),
    ],
)
def test_two_with_similar_names_stay_two(one, other):
    together = entities_after(f"I saw the {one} and the {other}.")
    apart = entities_after(f"We have the {one} here.", f"I would like the {other} now.")
    assert {name for name, _ in together} == {name for name, _ in apart} == {one, other}


def test_a_person_is_not_the_house_that_bears_their_name():
    assert entities_after("We stayed at Pension Rosa.", "Please ask Rosa.") >= {("Rosa", "person")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Jon", "Jonathan Smith"),
        ("Smith", "Jonathan Smith"),
        ("J. Smith", "Jonathan Smith"),
        ("Bob", "Robert Hall"),
        ("Liz Turner", "Elizabeth Turner"),
        ("José", "Jose Garcia"),
    ],
)
def test_a_short_name_may_be_the_full_one(one, other):
    assert can_be_same_person(one, other)
    assert can_be_same_person(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna Weber", "Anna Kowalski"),
        ("Dan", "Dana"),
        ("Ali", "Alice"),
        ("K. Smith", "Jonathan Smith"),
        ("", "A"),
    ],
)
def test_names_that_differ_are_two_people(one, other):
    assert not can_be_same_person(one, other)


def test_a_nickname_is_short_for_several():
    assert is_short_for("alex", "alexander")
    assert is_short_for("alex", "alexandra")
    assert not is_short_for("robert", "bob")


@pytest.mark.parametrize(
    ("address", "name", "theirs"),
    [
        ("anna.weber@example.org", "Anna Weber", True),
        ("aweber@example.org", "Anna Weber", True),
        ("anna+work@example.org", "Anna Weber", True),
        ("anna.kowalski@example.org", "Anna Weber", False),
        ("info@example.org", "Anna Weber", False),
        ("bob@example.org", "Bob", True),
        ("bob@example.org", "", False),
    ],
)
def test_an_address_is_made_of_a_name_or_not(address, name, theirs):
    assert is_address_of(address, name) is theirs


def test_an_organisation_is_shortened_by_its_letters_and_without_what_the_law_adds():
    assert name_acronym("International Business Machines Corp") == "ibm"
    assert name_acronym("Bank of England") == "be"
    assert name_acronym("Acme Inc") == ""
    assert drop_legal_form("Acme Corp") == "Acme"
    assert drop_legal_form("Inc") == "Inc"


@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from(ENTITY_TYPES))
def test_any_two_texts_can_be_compared(one, other, kind):
    assert can_be_same_person(one, other) == can_be_same_person(other, one)
    assert isinstance(is_address_of(one, other), bool)
    assert "" not in name_index_keys(one, kind)
