from __future__ import annotations

import pytest

from foreword.capture.names.entities import find_entities
from foreword.knowledge.facts import list_facts
from foreword.store.base import PutRelations
from foreword.types import REPLACES, Item, Relation, Source

AGENT = Source("agent", "agent")


@pytest.fixture
def say(engine, clock):
    def say(text, source=Source(), kind="turn", **more):  # noqa: B008
        clock.advance(days=1)
        item = Item(text, "shop", kind=kind, session="s1", source=source, created_at=clock(), **more)
        return engine.remember_all([item], "shop")[0]

    return say


@pytest.fixture
def known(engine):
    return lambda who: list_facts(engine.store, "shop", who, find_entities)


def values(facts):
    return {(one.attribute, one.value) for one in facts if one.attribute}


def test_the_newest_value_of_an_attribute_holds_with_its_history(say, known):
    old = say("Anna's email is anna@contoso.com.")
    say("Anna's email is anna.berg@contoso.com now.")
    (fact,) = known("Anna")
    assert (fact.attribute, fact.value) == ("email", "anna.berg@contoso.com")
    assert fact.before == (old,)


def test_an_agent_does_not_replace_what_the_user_said(say, known):
    say("Anna lives in Berlin.")
    other = say("Anna lives in Hamburg.", AGENT)
    (fact,) = known("anna")
    assert (fact.value, fact.beside) == ("Berlin", (other,))


def test_what_is_asked_or_doubted_is_no_fact(say, known):
    say("Is Anna in Berlin?")
    say("Maybe Anna lives in Lyon.")
    say("remind me to call Anna tomorrow")
    assert known("Anna") == []


def test_a_thing_has_facts_too(say, known):
    say("The staging database is Postgres 14.")
    say("The staging database is now Postgres 16.")
    (fact,) = known("staging database")
    assert fact.value == "Postgres 16"


def test_the_speaker_is_asked_for_as_me(say, known):
    say("My birthday is 4 May.")
    say("I live in Porto.")
    assert values(known("me")) == {("birthday", "4 May"), ("lives in", "Porto")}


def test_what_has_no_attribute_is_told_in_its_own_words_until_it_is_replaced(engine, say, known):
    old = say("Anna is allergic to peanuts.")
    assert [one.text for one in known("Anna")] == ["Anna is allergic to peanuts."]
    new = say("The peanut thing of Anna was a false alarm.")
    engine.store.run(PutRelations("shop", (Relation(new.id, old.id, REPLACES, 0.9),)))
    (fact,) = known("Anna")
    assert (fact.item.id, fact.before) == (new.id, (old,))


def test_what_was_recorded_with_subject_and_value_is_found_by_its_subject(say, known):
    metadata = {"subject": "Crane 7", "attribute": "height", "value": "32 m"}
    say("It was measured on Monday.", AGENT, kind="memory", about="Crane 7", metadata=metadata)
    assert values(known("crane 7")) == {("height", "32 m")}


def texts(facts):
    return [one.text for one in facts]


@pytest.mark.parametrize(
    ("who", "asked"),
    [
        ("me", "write me a haiku about autumn"),
        ("me", "I want you to refactor my parser."),
        ("staging", "Please run the load test with locust against staging."),
        ("staging", "ok, now spin up a fresh database for staging"),
        ("staging", "We should deploy to staging."),
        ("Mira", "show me the logs of Mira's last deploy"),
        ("Mira", "Ping Mira about the outage."),
    ],
)
def test_a_request_is_no_fact(say, known, who, asked):
    say(asked)
    assert known(who) == []


@pytest.mark.parametrize(
    ("who", "fact"),
    [
        ("Jonas", "Jonas left the company; Mira signs off now."),
        ("Mira", "From now on Mira signs off all deploys."),
        ("Mira", "Mira takes over the billing from Jonas."),
        ("staging", "Test data lives on staging."),
        ("Mira", "Note that Mira is away in June."),
        ("Mira", "Sent the contract to Mira."),
    ],
)
def test_what_is_settled_is_known_too(say, known, who, fact):
    say(fact)
    assert texts(known(who)) == [fact]


def test_who_moves_to_an_office_need_not_live_there(say, known):
    say("Mira moved to the Lisbon office.")
    assert values(known("Mira")) == set()
    assert texts(known("Mira")) == ["Mira moved to the Lisbon office."]
    say("Jonas moved to Lisbon.")
    assert values(known("Jonas")) == {("lives in", "Lisbon")}
