"""A pipeline of the user's names people and places; files, dates and code stay ours."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from foreword.capture.names.entities import Mention, find_entities
from foreword.capture.names.spacy_entities import SpacyEntities, merged
from foreword.errors import MissingExtra, ValidationError


@pytest.mark.skipif(find_spec("spacy") is not None, reason="spaCy is installed")
def test_without_spacy_one_is_told_what_to_install():
    with pytest.raises(MissingExtra, match=r"foreword\[spacy\]"):
        SpacyEntities(object())


def test_what_is_no_pipeline_is_refused():
    pytest.importorskip("spacy")
    with pytest.raises(ValidationError, match="loaded pipeline"):
        SpacyEntities("en_core_web_sm")


def test_a_pipeline_names_what_it_knows_and_shapes_stay():
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "ORG", "pattern": "Frobnitz"}, {"label": "CARDINAL", "pattern": "two"}])
    mentions = SpacyEntities(nlp)("Frobnitz has two bugs in src/app.py.")
    assert [(one.text, one.entity_type) for one in mentions] == [
        ("Frobnitz", "organisation"),
        ("src/app.py", "file"),
    ]


def test_what_both_see_the_pipeline_names_and_what_one_sees_stays():
    text = "Quxville and Anna Kowalski changed app.py on Monday."
    theirs = (Mention("Quxville", "place", 0, 8), Mention("app.py on", "thing", 35, 44))
    kinds = {one.text: one.entity_type for one in merged(find_entities(text), theirs)}
    assert kinds == {"Quxville": "place", "Anna Kowalski": "person", "app.py": "file", "Monday": "date"}
