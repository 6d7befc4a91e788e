"""What people say of themselves is read as that, and nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foreword.knowledge.user_facts import facts_that_hold, read_user_facts, speaks_of_self
from foreword.types import Item

NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)


def read(text, day=0):
    moment = NOON + timedelta(days=day)
    return read_user_facts(Item(text, "w", kind="turn", id=f"t{day}", created_at=moment, conversation="c"))


def held(*texts):
    """What holds after these turns, a day apart, each with what it replaced."""
    facts = [fact for day, text in enumerate(texts) for fact in read(text, day)]
    return [(one.fact.text, [before.text for before in one.before]) for one in facts_that_hold(facts)]


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (
            "health",
            [
                "I'm allergic to peanuts.",
                "I’m severely allergic to bee stings",
                "I have a nut allergy.",
                "I can't eat gluten.",
                "I don't drink alcohol.",
                "I am a strict vegan.",
                "Shellfish gives me a rash.",
                "My daughter is allergic to eggs.",
                "Ich bin allergisch gegen Nüsse.",
                "Ich esse kein Fleisch.",
                "Je suis végétarienne.",
                "Soy alérgica a los mariscos.",
            ],
        ),
        (
            "units",
            [
                "Please use metric units.",
                "I prefer imperial.",
                "Always use kilometres.",
                "Bitte in Kilometern.",
            ],
        ),
        ("temperature", ["Use Celsius please.", "I think in Fahrenheit."]),
        ("money", ["Always give prices in euros."]),
        (
            "language",
            [
                "Please answer in German.",
                "Could you answer in French, please?",
                "Reply to me in Dutch.",
                "Antworte bitte auf Deutsch.",
                "Réponds en français.",
                "Responde en español.",
            ],
        ),
        (
            "length",
            [
                "Keep your answers short.",
                "I prefer short answers.",
                "Please be brief.",
                "Can you keep it short?",
                "Fass dich kurz.",
                "Sois bref.",
            ],
        ),
        (
            "style",
            [
                "No emojis please.",
                "Don't use bullet points.",
                "Please be more formal.",
                "Bitte keine Emojis.",
            ],
        ),
        ("manner", ["From now on, start with the conclusion.", "Always cite your sources."]),
        (
            "name",
            [
                "Call me Sam.",
                "My name is Mara Lind.",
                "Hi, I'm Mara Lind.",
                "Ich heiße Mara.",
                "Me llamo Ana.",
            ],
        ),
        (
            "home",
            ["I live in Lyon.", "We moved to Lyon last week.", "Ich wohne in Graz.", "Vivo en Sevilla."],
        ),
        ("work", ["I work at Siemens.", "I currently work as a nurse."]),
        ("self", ["I hate coriander.", "My order is PB-112.", "We have two cats."]),
    ],
)
def test_what_is_said_of_oneself_is_read_as_what_it_is(kind, texts):
    assert {text: [fact.kind.name for fact in read(text)] for text in texts} == {
        text: [kind] for text in texts
    }


@pytest.mark.parametrize(
    "text",
    [
        "Are you allergic to nuts?",
        "How many miles is it?",
        "It is five miles away.",
        "Maybe I'm allergic to nuts.",
        "If I were vegan, I would starve.",
        '"I am allergic to nuts," she said.',
        "> I live in Rome.",
        "Anna lives in Paris.",
        "The cat is asleep.",
        "Thanks!",
        "I was wondering about prices.",
        "Answer in one sentence: what is DNS?",
        "Write the report without jargon.",
        "can we do sunday instead",
        "what do i pay for my bike",
        "I live in Rome. " * 200,
    ],
)
def test_what_is_asked_doubted_quoted_or_pasted_is_no_fact(text):
    assert read(text) == []
    assert not speaks_of_self(text) or len(text) > 1_000


@pytest.mark.parametrize(
    ("texts", "holds"),
    [
        (("I live in Paris.", "We moved to Lyon."), [("We moved to Lyon.", ["I live in Paris."])]),
        (
            ("Please answer in German.", "Please answer in English."),
            [("Please answer in English.", ["Please answer in German."])],
        ),
        (
            ("I'm allergic to nuts.", "I'm allergic to shellfish."),
            [("I'm allergic to nuts.", []), ("I'm allergic to shellfish.", [])],
        ),
        (
            ("I'm allergic to nuts.", "I'm not allergic to nuts any more."),
            [("I'm not allergic to nuts any more.", ["I'm allergic to nuts."])],
        ),
        (("I'm vegan.", "Forget that I'm vegan."), []),
        (("No emojis please.", "No tables please."), [("No emojis please.", []), ("No tables please.", [])]),
        (
            ("I hate coriander.", "My coriander died."),
            [("I hate coriander.", []), ("My coriander died.", [])],
        ),
        (("I live in Paris.", "I live in Paris."), [("I live in Paris.", [])]),
    ],
)
def test_the_latest_holds_and_what_it_replaced_is_known(texts, holds):
    assert held(*texts) == holds


def test_what_was_said_later_holds_in_whatever_order_it_is_read():
    facts = [*read("We moved to Lyon.", 2), *read("I live in Paris.", 1)]
    (one,) = facts_that_hold(facts)
    assert one.fact.text == "We moved to Lyon."
