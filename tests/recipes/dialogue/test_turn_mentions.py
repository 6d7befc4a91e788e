"""Mentions are stored with their turn, and found again only where the text or the finder has changed."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.capture.names.entities import FINDER_VERSION, find_entities
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.recipes.dialogue import turns
from foreword.recipes.dialogue.prompt import inject_context
from foreword.recipes.dialogue.session import Session
from foreword.recipes.dialogue.turns import ConversationTurns, mentions_to_json, read_or_find_mentions
from foreword.testing import HashEmbeddings
from foreword.types import Filters, Turn
from foreword_measure.quality.naming import SET

FOUND_IN_LABELLED_SENTENCES = {1: "021fa05ea0d8abe8"}
"""By the version of the finder: the digest of all that it finds in them."""

SENTENCES = (
    "Mrs. Thompson met Carlos Ruiz in Lyon on 3 May 2026.",
    "Ask anna.weber@plum.example about PB-112 and src/oven.py.",
    "My name is Jonas Weber and I work at Acme Corp.",
    "Sorry, I meant Paris.",
    "The AirHub 200 replaced `bake_cake()` in version 2.1.",
    "Is she the manager of the bakery?",
    "Ångström É. Müller 株式会社 🎂 said so.",
    "ok",
)
talks = st.lists(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3).map(" ".join), max_size=6)


def do_not_find(text):
    raise AssertionError(f"looked for names in {text!r}")


def stored_mentions(text):
    """The mentions in a text as they come back from a store."""
    return json.loads(json.dumps(mentions_to_json(text, find_entities(text))))


@given(st.lists(st.sampled_from(SENTENCES)).map("\n".join) | st.text())
def test_mentions_that_were_stored_are_those_that_were_found(text):
    assert tuple(read_or_find_mentions(text, stored_mentions(text), do_not_find)) == find_entities(text)


def test_no_words_are_stored_with_the_mentions():
    places = stored_mentions(" ".join(SENTENCES))[1:]
    assert len(places) > 5
    assert all(isinstance(number, int) for place in places for number in place)


def test_mentions_that_an_older_finder_found_are_found_again(monkeypatch):
    older = stored_mentions(SENTENCES[0])
    monkeypatch.setattr(turns, "FINDER_VERSION", FINDER_VERSION + 1)
    assert read_or_find_mentions(SENTENCES[0], older, lambda _: "found again") == "found again"


@pytest.mark.parametrize(
    "wrong",
    [None, "x", [], {}, stored_mentions(SENTENCES[1])]
    + [
        [stored_mentions(SENTENCES[0])[0], place]
        for place in ("x", 3, [], [0, 4], [0, 4, 99, 0], [4, 0, 0, 0], [0, 9999, 0, 0], ["a", "b", 0, 0])
    ],
)
def test_what_was_not_stored_for_this_text_is_found(wrong):
    assert read_or_find_mentions(SENTENCES[0], wrong, find_entities) == find_entities(SENTENCES[0])


def test_the_finder_has_another_version_when_it_finds_other_mentions():
    """If this fails, raise FINDER_VERSION: stored conversations have mentions of the finder before."""
    found = [mentions_to_json(line, find_entities(line))[1:] for line in SET.read_text().splitlines()]
    digest = hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]
    assert FOUND_IN_LABELLED_SENTENCES.get(FINDER_VERSION) == digest


def test_opening_a_conversation_again_looks_for_no_names(engine):
    session = Session(engine, "bakery", "c-1")
    session.add_all([Turn(text) for text in SENTENCES])
    again = ConversationTurns(engine.store, "bakery", "c-1", do_not_find).state()
    assert again.turns == session.state.turns
    assert again.entity_registry.entities() == session.state.entity_registry.entities()


def test_a_turn_from_which_a_secret_was_taken_has_its_names_all_the_same(engine):
    secret = "ghp_" + "a1B2" * 9
    Session(engine, "bakery", "c-1").add(Turn(f"The token {secret} belongs to Carlos Ruiz."))
    again = ConversationTurns(engine.store, "bakery", "c-1", find_entities).state()
    [item] = engine.store.scan("bakery", Filters(kinds=("turn",)))
    assert secret not in item.text
    assert "Carlos Ruiz" in [entity.canonical_name for entity in again.entity_registry.entities()]


def test_a_turn_with_very_many_names_is_stored_and_known_again(engine):
    names = " ".join(f"PB-{number}" for number in range(2000))
    session = Session(engine, "bakery", "c-1")
    session.add(Turn(f"These are late: {names}."))
    again = ConversationTurns(engine.store, "bakery", "c-1", find_entities).state()
    assert len(again.entity_registry.entities()) == len(session.state.entity_registry.entities()) == 2000


@settings(max_examples=settings().max_examples // 5)
@given(talks, st.sampled_from(SENTENCES))
def test_a_session_opened_again_makes_the_same_prompt_as_the_one_that_stayed_open(
    tmp_path_factory, clock, talk, question
):
    place = Settings(home=tmp_path_factory.mktemp("home"))

    def open_engine():
        return ContextEngine(settings=place, embedding_provider=HashEmbeddings(), clock=clock)

    with open_engine() as engine:
        session = Session(engine, "bakery", "c-1")
        for number, text in enumerate(talk):
            clock.advance(minutes=1)
            session.add(Turn(text, role=("user", "assistant")[number % 2]))
        engine.embed_pending("bakery")
        stayed = inject_context(question, session, 600)
        with open_engine() as other:
            again = inject_context(question, Session(other, "bakery", "c-1"), 600)
    assert again.formatted == stayed.formatted
    assert again.content == stayed.content
