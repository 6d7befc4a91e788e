"""A name is filed so that whoever may be called so is found, and nobody else."""

from __future__ import annotations

import pytest

from foreword.capture.names.entities import find_entities
from foreword.knowledge.registry import EntityRegistry
from foreword.types import Turn


def known(*texts):
    """Who and what is known after these turns."""
    registry = EntityRegistry(find_entities)
    for index, text in enumerate(texts):
        registry.observe(Turn(text), index)
    return {(entity.canonical_name, entity.entity_type) for entity in registry.entities()}


@pytest.mark.parametrize(
    "texts",
    [
        ("A cake for Thandiwe Moyo.", "Please ask Thandiwe about nuts."),
        ("A cake for Thandiwe Moyo.", "Please call Ms. Moyo."),
        ("Thanks, Thandiwe!", "A cake for Thandiwe Moyo."),
        ("A cake for Thandiwe Moyo.", "Of course, said Thandiwe."),
    ],
)
def test_a_full_name_and_its_half_become_one_person(texts):
    assert known(*texts) == {("Thandiwe Moyo", "person")}


def test_two_things_that_share_a_word_stay_two():
    assert known("We compared North Ridge and North Star.") == {
        ("North Ridge", "thing"),
        ("North Star", "thing"),
    }


def test_a_person_is_not_the_house_that_bears_their_name():
    assert known("We stayed at Pension Rosa.", "Please ask Rosa.") >= {("Rosa", "person")}
