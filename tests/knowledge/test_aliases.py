"""Two names are one where neither says what the other denies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.knowledge.aliases import acronym, address_of, bare, is_short_for, keys, same_person
from foreword.types import ENTITY_TYPES


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
    assert same_person(one, other)
    assert same_person(other, one)


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
    assert not same_person(one, other)


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
    assert address_of(address, name) is theirs


def test_an_organisation_is_shortened_by_its_letters_and_without_what_the_law_adds():
    assert acronym("International Business Machines Corp") == "ibm"
    assert acronym("Bank of England") == "be"
    assert acronym("Acme Inc") == ""
    assert bare("Acme Corp") == "acme"
    assert bare("Acme Corp", fold_case=False) == "Acme"
    assert bare("Inc") == "inc"


@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from(ENTITY_TYPES))
def test_any_two_texts_can_be_compared(one, other, kind):
    assert same_person(one, other) == same_person(other, one)
    assert isinstance(address_of(one, other), bool)
    assert "" not in keys(one, kind)
