"""Entities are known under all their names, with what is said of them, and fade when unmentioned."""

from __future__ import annotations

import sys

import pytest

from foreword.capture.names.entities import find_entities
from foreword.errors import ValidationError
from foreword.knowledge.registry import EntityRegistry
from foreword.types import Turn


@pytest.fixture
def registry():
    return EntityRegistry(find_entities)


def observe_turns(registry, *texts, **turn):
    """What the last of these turns mentions."""
    entities = ()
    for text in texts:
        entities = registry.register_mentioned_entities(Turn(text, **turn), len(registry.latest_mentions()))
    return entities


def entity_named(registry, name):
    (entity,) = registry.find_by_name(name)
    return entity


def test_a_mention_becomes_an_entity_that_counts_its_turns(registry):
    registry.register_mentioned_entities(Turn("Anna wrote src/app.py."), 0)
    registry.register_mentioned_entities(Turn("Nothing here."), 1)
    (anna,) = registry.register_mentioned_entities(Turn("Ask Anna."), 2)
    assert (anna.canonical_name, anna.entity_type) == ("Anna", "person")
    assert (anna.first_mention, anna.last_mention, anna.mentions) == (0, 2, 2)


@pytest.mark.parametrize(
    ("texts", "name", "aliases"),
    [
        (
            ["We saw Jon today.", "Jonathan Smith runs support.", "Smith left."],
            "Jonathan Smith",
            {"Jon", "Smith"},
        ),
        (["I met Robert Hall.", "Then Bob left."], "Robert Hall", {"Bob"}),
        (["I met John Smith.", "Ask J. Smith again."], "John Smith", {"J. Smith"}),
        (["Acme Corp called.", "I told Acme so."], "Acme Corp", {"Acme"}),
        (["The World Food Organization helps.", "Ask the WFO."], "World Food Organization", set()),
    ],
)
def test_one_is_known_under_several_names(registry, texts, name, aliases):
    observe_turns(registry, *texts)
    entity = entity_named(registry, name)
    assert aliases <= set(entity.aliases)


def test_an_acronym_means_the_organisation_it_shortens(registry):
    observe_turns(registry, "International Business Machines called.", "I told IBM so.")
    assert entity_named(registry, "IBM").canonical_name == "International Business Machines"


def test_the_full_name_is_the_one_that_is_told(registry):
    observe_turns(registry, "Hi Mel!", "Melanie is here.")
    assert entity_named(registry, "Mel").canonical_name == "Melanie"


def test_what_is_merely_said_of_a_team_is_no_attribute(registry):
    observe_turns(registry, "My team is like a second family.", name="John")
    assert dict(entity_named(registry, "John").attributes) == {}


def test_two_people_with_one_given_name_stay_two(registry):
    observe_turns(registry, "Anna Weber met Anna Kowalski.")
    assert {one.canonical_name for one in registry.entities()} == {"Anna Weber", "Anna Kowalski"}


def test_products_that_differ_in_a_number_stay_two(registry):
    observe_turns(
        registry, "We sell the AirHub 200, the AirHub 250 and the AirHub 300.", "Is the AirHub 300 loud?"
    )
    assert [one.canonical_name for one in registry.entities()] == ["AirHub 200", "AirHub 250", "AirHub 300"]


def test_names_that_merely_begin_alike_stay_two(registry):
    observe_turns(registry, "Dan met Dana, and Ali met Alice, and Mark likes Markdown.")
    names = {one.canonical_name for one in registry.entities()}
    assert {"Dan", "Dana", "Ali", "Alice", "Mark", "Markdown"} <= names


def test_an_address_belongs_to_the_one_it_is_made_of(registry):
    observe_turns(registry, "Tomas Novak called.", "Write to tomas.novak@example.com.")
    assert entity_named(registry, "Tomas Novak").attributes["email"] == "tomas.novak@example.com"
    assert [one.entity_type for one in registry.entities()] == ["person"]


@pytest.mark.parametrize(
    ("text", "name", "attribute", "value"),
    [
        ("Anna is the CTO.", "Anna", "title", "CTO"),
        ("Anna's email is anna@example.org, I think.", "Anna", "email", "anna@example.org"),
        ("Bob (Engineering) approved it.", "Bob", "department", "Engineering"),
        ("Lena Fischer is the head of sales.", "Lena Fischer", "title", "head of sales"),
        ("The CEO of Contoso Ltd is Helen Brooks.", "Helen Brooks", "title", "CEO"),
        ("You can reach Nina at +44 20 7946 0958.", "Nina", "phone", "+44 20 7946 0958"),
        ("Emma lives in Boston.", "Emma", "location", "Boston"),
        ("Carol works in the finance department.", "Carol", "department", "finance"),
        ("Our designer Timo is ill.", "Timo", "title", "designer"),
    ],
)
def test_what_is_said_of_one_is_kept(registry, text, name, attribute, value):
    observe_turns(registry, text)
    assert entity_named(registry, name).attributes[attribute] == value


def test_what_is_said_later_replaces_what_was_said_before(registry):
    observe_turns(
        registry, "Anna is the CFO. Anna lives in Rome.", "Anna is the CTO now.", "Anna moved to Oslo."
    )
    anna = entity_named(registry, "Anna")
    assert dict(anna.attributes) == {"title": "CTO", "location": "Oslo"}
    assert [(one.relation, one.target_name) for one in registry.relationships(anna.id)] == [
        ("lives in", "Oslo")
    ]


@pytest.mark.parametrize(
    ("text", "name", "relation", "target"),
    [
        ("Anna works at Acme Corp.", "Anna", "works at", "Acme Corp"),
        ("Bob manages Carol.", "Bob", "manages", "Carol"),
        ("Tom is Anna's brother.", "Tom", "brother of", "Anna"),
        ("Bob's sister Emma called.", "Emma", "sister of", "Bob"),
        ("Kenji reports to Haruka.", "Kenji", "reports to", "Haruka"),
        ("OPS-7 depends on OPS-9.", "OPS-7", "depends on", "OPS-9"),
    ],
)
def test_what_one_has_to_do_with_another_is_kept(registry, text, name, relation, target):
    observe_turns(registry, text)
    told = registry.relationships(entity_named(registry, name).id)
    assert [(one.relation, one.target_name) for one in told] == [(relation, target)]


@pytest.mark.parametrize(
    "text",
    ["The launch is in Berlin.", "Anna joined on Monday.", "Bob is with Carol.", "Anna is not the CTO."],
)
def test_what_cannot_be_is_not_believed(registry, text):
    observe_turns(registry, text)
    assert [registry.relationships(one.id) for one in registry.entities()] == [()] * len(registry.entities())
    assert all(not one.attributes for one in registry.entities())


def test_a_speaker_with_a_name_is_an_entity_and_says_i(registry):
    observe_turns(registry, "I'm the CTO and I work at Globex. My brother Daniel helps.", name="Priya")
    priya = entity_named(registry, "Priya")
    assert priya.attributes["title"] == "CTO"
    assert registry.speaker("Priya") == priya
    assert [one.relation for one in registry.relationships(priya.id)] == ["works at"]
    told = registry.relationships(entity_named(registry, "Daniel").id)
    assert [(one.relation, one.target_name) for one in told] == [("brother of", "Priya")]


def test_a_user_without_a_name_may_tell_it(registry):
    observe_turns(registry, "My email is a@example.org.")
    assert registry.speaker("user") is None
    observe_turns(registry, "Call me Al.", "My email is b@example.org.")
    assert registry.speaker("user").canonical_name == "Al"
    assert registry.speaker("user").attributes["email"] == "b@example.org"


def test_nobody_becomes_another_by_talking_of_them(registry):
    observe_turns(registry, "Anna called.", "I'm Anna's brother.", "I am Anna, she said.", name="Bob")
    assert {one.canonical_name for one in registry.entities()} == {"Anna", "Bob"}


def test_a_known_name_is_known_at_the_beginning_of_a_sentence(registry):
    observe_turns(registry, "We cache it in a Frobnitz table.")
    (entity,) = observe_turns(registry, "Frobnitz is down.")
    assert entity.mentions == 2


def test_salience_rises_with_mentions_and_fades_with_turns(registry):
    (anna,) = registry.register_mentioned_entities(Turn("Anna called."), 0)
    once = registry.get_salience(anna.id)
    registry.register_mentioned_entities(Turn("Anna called again."), 1)
    twice = registry.get_salience(anna.id)
    registry.register_mentioned_entities(Turn("It rains."), 5)
    assert 0 < registry.get_salience(anna.id) < once < twice < 1
    registry.register_mentioned_entities(Turn("It rains."), 60)
    assert (registry.active_count(), registry.get_high_salience_entities(5)) == (0, [])
    registry.register_mentioned_entities(Turn("Anna is back."), 61)
    assert registry.active_count() == 1


def test_the_most_talked_about_come_first(registry):
    for index, text in enumerate(["Bob called.", "Anna and Bob met.", "Bob left for Rome."]):
        registry.register_mentioned_entities(Turn(text), index)
    names = [one.canonical_name for one in registry.get_high_salience_entities(2)]
    assert names[0] == "Bob"
    assert len(names) == 2
    assert registry.get_high_salience_entities(0) == registry.get_high_salience_entities(-1) == []


def test_what_is_unknown_is_nothing(registry):
    assert (registry.get("x"), registry.get_salience("x"), registry.relationships("x")) == (None, 0.0, ())


def test_a_snapshot_does_not_know_what_is_heard_later(registry):
    observe_turns(registry, "Anna Berg lives in Oslo.", "Anna met Ben Weber.")
    before = registry.snapshot()
    told = before.entities()
    observe_turns(registry, "Anna Berg lives in Bonn now.", "Ben works at Acme.", "I am Carla Diaz.")
    assert before.entities() == told
    assert entity_named(before, "Anna Berg").attributes["location"] == "Oslo"
    assert entity_named(registry, "Anna Berg").attributes["location"] == "Bonn"
    assert not before.find_by_name("Carla Diaz")
    assert registry.speaker("user").canonical_name == "Carla Diaz"


def test_what_a_snapshot_hears_is_its_own(registry):
    observe_turns(registry, "Anna Berg and Ben Weber met.")
    told = registry.entities()
    other = registry.snapshot()
    another = other.snapshot()
    observe_turns(other, "Carla Diaz came too.")
    observe_turns(another, "Anna Berg lives in Oslo.")
    assert registry.entities() == told
    assert entity_named(other, "Carla Diaz").canonical_name == "Carla Diaz"
    assert entity_named(another, "Anna Berg").attributes == {"location": "Oslo"}


def test_a_snapshot_that_nobody_looks_at_costs_nothing(registry):
    observe_turns(registry, "Anna Berg lives in Oslo.")
    book = registry._book
    registry.snapshot()
    observe_turns(registry, "Ben Weber lives in Bonn.")
    assert registry._book is book
    kept = registry.snapshot()
    observe_turns(registry, "Carla Diaz lives in Rome.")
    assert kept._book is book is not registry._book


@pytest.mark.parametrize("wrong", [{"decay": 0}, {"decay": 1}, {"floor": 0}, {"floor": 1}])
def test_numbers_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValidationError, match="between 0 and 1"):
        EntityRegistry(find_entities, **wrong)


def test_turns_are_counted_from_0(registry):
    with pytest.raises(ValidationError, match="from 0"):
        registry.register_mentioned_entities(Turn("Anna called."), -1)


def test_a_turn_costs_as_much_in_a_long_conversation(registry):
    def calls_in_turn(index):
        """How many functions one more turn calls."""
        calls = 0

        def count(frame, event, arg):
            nonlocal calls
            calls += event == "call"

        turn = Turn(f"Anna asked Bob{index} about src/file{index}.py and PROJ-{index} in Berlin.")
        sys.setprofile(count)
        try:
            registry.register_mentioned_entities(turn, index)
        finally:
            sys.setprofile(None)
        return calls

    costs = [calls_in_turn(index) for index in range(400)]
    assert max(costs[-100:]) <= 1.5 * max(costs[10:110])
