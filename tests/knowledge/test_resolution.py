"""A question's words are resolved to those who are meant; where nothing fits, nothing is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.names.entities import find_entities
from foreword.knowledge.registry import EntityRegistry
from foreword.knowledge.resolution import EXACT, FORM, TYPING_ERROR, EntityResolver
from foreword.types import DialogueState, Turn


def resolve(query, *texts, name=""):
    """What a question means after these turns."""
    registry = EntityRegistry(find_entities)
    turns = [Turn(text, name=name) for text in texts]
    for index, turn in enumerate(turns):
        registry.register_mentioned_entities(turn, index)
    return EntityResolver(registry).resolve(query, DialogueState(turns, registry))


def names_meant(query, *texts, **more):
    return [(one.mention, one.canonical_name) for one in resolve(query, *texts, **more)]


@pytest.mark.parametrize(
    ("query", "confidence"),
    [
        ("Is Jonathan Smith in?", EXACT),
        ("Is Smith in?", FORM),
        ("Is Jon in?", FORM),
        ("Is Jonatan in?", TYPING_ERROR),
    ],
)
def test_a_name_means_the_one_who_has_it(query, confidence):
    (one,) = resolve(query, "Jonathan Smith runs support.", "Jonathan is nice.")
    assert one.canonical_name == "Jonathan Smith"
    assert one.confidence == confidence
    assert query[one.start : one.end] == one.mention


@pytest.mark.parametrize(
    ("name", "full", "nickname"),
    [
        ("Samantha", "Samantha Reyes", "Sam Altmann"),
        ("Robert", "Robert Hale", "Rob Stone"),
        ("Jonathan", "Jonathan Hill", "Jon Snow"),
        ("Alex", "Alex Pym", "Alexander Voss"),
    ],
)
def test_a_given_name_means_who_bears_it_before_who_might_be_called_so(name, full, nickname):
    texts = (f"{full} wrote.", f"{nickname} called.", f"{nickname} called again.")
    assert names_meant(f"What did {name} say?", *texts) == [(name, full)]
    assert names_meant(f"What did {name} say?", *texts, f"{name} paid.", f"{nickname} left.") == [
        (name, full)
    ]


@pytest.mark.parametrize(
    ("query", "text", "name"),
    [
        ("When is Cristopher back?", "Christopher Lane is on leave.", "Christopher Lane"),
        ("What did Lukasz send?", "Please ask Łukasz.", "Łukasz"),
    ],
)
def test_a_slip_in_one_part_of_a_name_is_forgiven(query, text, name):
    assert [known for _, known in names_meant(query, text)] == [name]


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("What is my sister's city?", "My sister Clara lives in Turin.", [("my sister", "Clara")]),
        ("Can I bring my dog?", "My dog Bello is ill.", [("my dog", "Bello")]),
        ("Is my mum invited?", "Greta is my mother.", [("my mum", "Greta")]),
        ("Is my wife invited?", "My sister Clara lives in Turin.", []),
        ("Is my sister Clara in?", "My sister Clara lives in Turin.", [("Clara", "Clara")]),
    ],
)
def test_kin_and_pets_of_the_speaker_are_meant_by_what_they_are(query, text, expected):
    assert [one for one in names_meant(query, text) if one[0] != "I"] == expected


def test_of_the_husbands_of_two_speakers_neither_is_meant():
    texts = ("My husband Erland cooks.", "My husband Gustav paints.")
    assert names_meant("Is my husband in?", *texts) == []
    assert names_meant("Is my husband in?", texts[0]) == [("my husband", "Erland")]


def test_he_may_mean_a_full_name_that_no_list_knows_where_nobody_else_is_known():
    assert names_meant("Does he take cash?", "The piano was tuned by Benedek Farago.") == [
        ("he", "Benedek Farago")
    ]
    assert names_meant("Does he take cash?", "We stayed at Pension Rosa.") == []


def test_a_slip_that_fits_two_names_means_neither():
    assert names_meant("Ask Marinz.", "Marina met Marine.") == []


def test_a_plain_word_is_no_slip():
    assert names_meant("Can you make the queue faster?", "We saw Maker and Quebec.") == []


def test_of_several_things_a_vague_word_means_none():
    assert names_meant("Restart the service.", "We run Redis.") == [("the service", "Redis")]
    assert names_meant("Restart the service.", "We run Redis and Kafka.") == []


def test_pronouns_mean_the_nearest_who_fits():
    assert names_meant("What did she tell him?", "Maria met Peter.") == [("she", "Maria"), ("him", "Peter")]
    assert names_meant("Did he pay?", "Sara met Tom.", "Later Sara met Nick.") == [("he", "Nick")]


def test_a_pronoun_means_one_named_before_it_in_the_question():
    assert names_meant("Does Anna like her job?", "Maria called.", "Anna called.")[1] == ("her", "Anna")


def test_they_are_those_named_together_or_an_organisation():
    assert names_meant("When do they leave?", "Ahmed and Fatima will travel.") == [
        ("they", "Ahmed"),
        ("they", "Fatima"),
    ]
    assert names_meant("What did they spend?", "NASA launches soon.") == [("they", "NASA")]


def test_it_is_no_person_and_there_is_a_place():
    assert names_meant("Revert it.", "Pavel edited deploy.sh.") == [("it", "deploy.sh")]
    assert names_meant("Do you like it there?", "Maria moved to Vienna.") == [("there", "Vienna")]


def test_i_am_the_user_who_said_a_name():
    assert names_meant("What is my name?", "Call me Al.") == [("my", "Al")]
    assert names_meant("What is my name?", "Hello.") == []
    assert names_meant("What is my name?", "Hello.", name="Priya") == [("my", "Priya")]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("the first one", "Postgres"),
        ("the second", "MySQL"),
        ("the last option", "SQLite"),
        ("the latter", "SQLite"),
    ],
)
def test_an_ordinal_means_its_place_in_the_latest_list(words, name):
    assert names_meant(f"Take {words}.", "Anna called.", "Postgres, MySQL or SQLite?") == [(words, name)]


def test_an_ordinal_with_a_noun_counts_only_such():
    texts = "Anna and Bob read docs/a.md and docs/b.md."
    assert names_meant("Open the second file.", texts) == [("the second file", "docs/b.md")]
    assert names_meant("Open the fifth file.", texts) == []


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Is the CTO in?", "Anna"),
        ("Open that file.", "src/app.py"),
        ("Who opened the ticket?", "PROJ-12"),
        ("Is the city nice?", "Oslo"),
        ("Does the link work?", "https://example.org/x"),
        ("Ask the woman.", "Anna"),
        ("Ask the guy.", "Bob"),
    ],
)
def test_a_description_means_the_one_it_describes(query, name):
    told = "Anna is the CTO. Bob wrote src/app.py for PROJ-12 in Oslo, see https://example.org/x ."
    assert [one for _, one in names_meant(query, told)] == [name]


@pytest.mark.parametrize(
    "query",
    [
        *(
            "What did he say?",
            "Open the file.",
            "Take the second one.",
            "Is the CTO in?",
            "Who are they?",
            "Do it.",
        ),
        *("Is there any milk?", "What about the former?", "Who is this person?", ""),
    ],
)
def test_where_nothing_fits_nothing_is_said(query):
    assert names_meant(query, "The weather is nice.", "Yes, isn't it?") == []


def test_what_was_said_long_ago_is_not_meant_by_a_pronoun():
    assert names_meant("What did he say?", "Bob called.", *["It rains in Oslo."] * 10) == []


def test_one_who_fits_alone_is_surer_than_one_of_several():
    (alone,) = resolve("What did she say?", "Maria called.")
    (among,) = resolve("What did she say?", "Maria called Anna.")
    assert alone.confidence > among.confidence


_WORDS = [
    "he ",
    "she ",
    "they ",
    "it ",
    "the second one ",
    "the last file ",
    "the CTO ",
    "Anna ",
    "ana ",
    "my ",
    "?",
]


@given(
    st.lists(st.sampled_from(_WORDS) | st.text(max_size=12), max_size=8).map("".join),
    st.lists(
        st.sampled_from(["Anna met Bob.", "see a/b.py and c.py", "I'm Al", "IBM, SAP"]) | st.text(),
        max_size=4,
    ),
)
def test_what_is_resolved_stands_in_the_question_and_is_known(query, texts):
    for one in resolve(query, *texts):
        assert query[one.start : one.end] == one.mention
        assert 0 < one.confidence < 1


@pytest.mark.parametrize(
    "query", ["How do I reach her?", "Does she bake?", "What is her number?", "Did they call?", "Is she in?"]
)
@pytest.mark.parametrize(
    "texts",
    [
        ("Hi, I'm Anna Berg. I need help.",),
        ("Anna Berg here. Do you have cakes?",),
        ("I lost my key.", "My name is Anna Berg."),
    ],
)
def test_nobody_says_she_or_they_of_themselves(query, texts):
    assert "Anna Berg" not in [name for word, name in names_meant(query, *texts) if word not in ("I", "my")]


@pytest.mark.parametrize("query", ["How do I reach her?", "When is she in?", "Did they call?"])
def test_a_pronoun_means_the_other_one_of_whom_the_speaker_spoke(query):
    texts = ("My doctor is Eva Stone.", "I'm Anna Berg, by the way.")
    assert names_meant(query, *texts)[-1][1] == "Eva Stone"


def test_a_named_asker_is_known_among_several_users():
    registry = EntityRegistry(find_entities)
    turns = [Turn("Hello, Anna!", name="Eva Stone"), Turn("Hello, Eva!", name="Anna Berg")]
    for index, turn in enumerate(turns):
        registry.register_mentioned_entities(turn, index)
    for asker, other in (("Anna Berg", "Eva Stone"), ("Eva Stone", "Anna Berg")):
        found = EntityResolver(registry).resolve("Did she tell me?", DialogueState(turns, registry), asker)
        assert [(one.mention, one.canonical_name) for one in found] == [("she", other), ("me", asker)]


@pytest.mark.parametrize(("known", "asked"), [("KX200", "KX300"), ("Vitalux55", "Vitalux56")])
def test_another_number_is_no_typing_error(known, asked):
    assert names_meant(f"How do I reset {asked}?", f"We bought the {known} heater.") == []
