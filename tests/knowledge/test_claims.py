"""What is said of somebody is told of them and of nobody else, and only what is said."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.names.entities import find_entities
from foreword.knowledge.claims import find_spans_that_assert_nothing
from foreword.knowledge.registry import EntityRegistry
from foreword.types import Turn


def attributes_after(*turns):
    """Who is known after turns by named speakers, and what of each."""
    registry = EntityRegistry(find_entities)
    for index, (speaker, text) in enumerate(turns):
        registry.register_mentioned_entities(Turn(text, name=speaker), index)
    return {entity.canonical_name: dict(entity.attributes) for entity in registry.entities()}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Bob, call me on 555-3434.", "555-3434"),
        ("Hey Bob Stone, my number is 555-1212.", "555-1212"),
        ("Bob, my mobile phone is 555-9081.", "555-9081"),
        ("Tell Bob to text me: 555-7777", "555-7777"),
        ("Dear Bob, you can reach me at 0170 5550199.", "0170 5550199"),
        ("Bob, I can be reached on +44 20 7946 0958.", "+44 20 7946 0958"),
    ],
)
def test_a_number_that_reaches_me_is_the_speakers(text, number):
    people = attributes_after(("Bob Stone", "Hello."), ("Eve Lang", text))
    assert people["Eve Lang"]["phone"] == number
    assert "phone" not in people["Bob Stone"]


def test_an_address_that_reaches_me_is_the_speakers():
    people = attributes_after(("Eve Lang", "Bob, mail me at news@example.org."))
    assert people["Eve Lang"]["email"] == "news@example.org"
    assert "email" not in people["Bob"]


def test_a_number_at_which_somebody_is_called_is_theirs():
    people = attributes_after(
        ("Eve Lang", "Call Hannah on 0170 5550199, my sister can be reached on 555-3434.")
    )
    assert people["Hannah"]["phone"] == "0170 5550199"
    assert "phone" not in people["Eve Lang"]


@pytest.mark.parametrize(
    "text",
    [
        "Anna Berg's doctor called.",
        "Anna Berg’s accountant wrote to me.",
        "Anna Berg's new doctor called.",
        "Anna Berg's team lead resigned.",
        "It was Anna Berg's editor who left.",
        "Anna Berg's manager in sales said no.",
        "The CEO of Acme, Anna Berg's husband, called.",
        "The doctor is Anna Berg's brother.",
        "My sister is Anna Berg's boss.",
        "My name is Anna Berg's secret.",
        "Thanks Anna Berg, manager approval is pending.",
        "When I called Anna Berg, the manager said no.",
        "Anna Berg's in finance's list.",
    ],
)
def test_what_one_has_is_not_what_one_is(text):
    assert attributes_after(("", text))["Anna Berg"] == {}


@pytest.mark.parametrize(
    "text",
    [
        "Anna Berg's the director.",
        "Anna Berg's now our director.",
        "Anna Berg, our director, called.",
        "Anna Berg, the director at Acme, called.",
        "Our director Anna Berg's away.",
    ],
)
def test_a_short_is_before_an_article_says_what_one_is(text):
    assert attributes_after(("", text))["Anna Berg"] == {"title": "director"}


def test_a_day_is_no_number_to_call():
    assert "phone" not in attributes_after(("", "Call Hannah on 12.05.2027."))["Hannah"]


@pytest.mark.parametrize(
    "text",
    [
        "Does Rosa live in Paris?",
        "Is Rosa's phone 555-0101?",
        "Is Rosa the director?",
        "Rosa lives in Paris, doesn't she?",
        "I doubt that Rosa's phone is 555-9000.",
        "I don't think Rosa is the director.",
        "Maybe Rosa lives in Paris.",
        "If Rosa were the director, we would sing.",
        "I wonder whether Rosa is the director.",
    ],
)
def test_what_is_asked_or_doubted_is_not_believed(text):
    assert attributes_after(("", text))["Rosa"] == {}


def test_what_is_said_beside_a_question_is_believed():
    people = attributes_after(("", "Where is Rosa? Rosa lives in Lima now. Rosa is the director."))
    assert people["Rosa"] == {"location": "Lima", "title": "director"}


def test_what_is_said_last_is_what_is_believed():
    text = "Pavel's email is pavel@old.example. Sorry, Pavel's email is pavel@new.example."
    assert attributes_after(("", text))["Pavel"]["email"] == "pavel@new.example"


@pytest.mark.parametrize(
    ("text", "name", "relation"),
    [
        ("My sister Clara lives in Turin.", "Clara", "sister"),
        ("My husband is called Andrés.", "Andrés", "husband"),
        ("My daughter's name is Tindra.", "Tindra", "daughter"),
        ("Otto is my uncle.", "Otto", "uncle"),
        ("Otto's my uncle.", "Otto", "uncle"),
        ("Our cat Pickles hates the vet.", "Pickles", "cat"),
        ("My younger brother, Stellan, builds boats.", "Stellan", "brother"),
    ],
)
def test_who_somebody_is_to_the_speaker_is_kept_even_if_nobody_knows_who_speaks(text, name, relation):
    assert attributes_after(("", text))[name]["relation"] == relation


def test_somebody_elses_sister_is_not_the_speakers():
    assert "relation" not in attributes_after(("", "Her sister Pilar lives in Madrid."))["Pilar"]


@pytest.mark.parametrize(
    ("text", "name", "firm"),
    [
        ("I'm the CTO at Volta Labs.", "Eve Lang", "Volta Labs"),
        ("I am an engineer at Siemens.", "Eve Lang", "Siemens"),
        ("Yuki Tanaka is the head of logistics at Marubeni.", "Yuki Tanaka", "Marubeni"),
    ],
)
def test_a_position_at_a_firm_is_work_there(text, name, firm):
    registry = EntityRegistry(find_entities)
    registry.register_mentioned_entities(Turn(text, name="Eve Lang"), 0)
    (entity,) = registry.find_by_name(name)
    assert [(told.relation, told.target_name) for told in registry.relationships(entity.id)] == [
        ("works at", firm)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Does Omar live in Paris?", ["Does Omar live in Paris?"]),
        ("Pavel lives in Prague, doesn't he?", ["Pavel lives in Prague, doesn't he?"]),
        ("is omar the manager", ["is omar the manager"]),
        ("Rosa is here. Is she free? Yes.", ["Is she free?"]),
        ("I doubt that Dr. Lind is in.", ["doubt that Dr. Lind is in."]),
        ("Call Hannah on 555-0101 if it rains.", ["if it rains."]),
        ("Maybe Omar is ill; Rosa is here.", ["Maybe Omar is ill;"]),
        ("The U.S. office is maybe Omar's. Rosa runs ours.", ["maybe Omar's."]),
        ("I'm not sure that Anna left; Bob did.", ["not sure that Anna left;"]),
        ("I don't think Pavel is the manager.", ["n't think Pavel is the manager."]),
        ("Hugo said that Petra's phone is 555-1.", []),
        ("Don't forget that Anna lives in Rome.", []),
        ("What a day! Anna is here.", []),
        ("", []),
    ],
)
def test_a_question_is_doubtful_and_so_is_a_sentence_from_a_word_of_doubt_on(text, expected):
    assert [text[start:end].strip() for start, end in find_spans_that_assert_nothing(text)] == expected


PIECES = ["if ", "maybe ", "is ", "Dr. ", "Anna ", "?", ". ", ", ", ";", "!", "\n", "not sure ", " - "]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=60))
def test_doubtful_spans_are_in_order_and_do_not_overlap(text):
    spans = find_spans_that_assert_nothing(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))


@pytest.mark.parametrize("text", ["Anna Berg, Tom's manager, called.", "Anna Berg is Tom's manager."])
def test_who_somebody_is_to_another_is_a_relation(text):
    registry = EntityRegistry(find_entities)
    registry.register_mentioned_entities(Turn(text), 0)
    (anna,) = registry.find_by_name("Anna Berg")
    (relation,) = registry.relationships(anna.id)
    assert (relation.relation, relation.target_name) == ("manager of", "Tom")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Hi, Anna Berg here. I lost my key.", "Anna Berg"),
        ("Eva Stone speaking.", "Eva Stone"),
        ("Windows 10 here.", None),
        ("We saw Eva Stone here.", None),
    ],
)
def test_who_says_that_they_are_here_tells_their_name(text, name):
    registry = EntityRegistry(find_entities)
    registry.register_mentioned_entities(Turn(text), 0)
    speaker = registry.speaker("user")
    assert (speaker and speaker.canonical_name) == name
