"""What people say of themselves is read as that, and nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foreword.knowledge.user_facts import (
    fact_kinds,
    facts_that_hold,
    find_facts_with_verb_of_question,
    read_user_facts,
    speaks_of_self,
)
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
                "Show pace per km.",
                "Give me paces in km.",
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
                "Keep your answers under 100 words.",
                "No more than three sentences per answer, please.",
                "Please limit your responses to two paragraphs.",
                "Can you keep your replies below 50 words?",
                "Never write more than five sentences.",
                "One sentence per answer, please.",
                "Max 3 sentences.",
                "Your answers are too long.",
                "Höchstens drei Sätze pro Antwort.",
                "Pas plus de trois phrases par réponse.",
                "No más de tres frases por respuesta.",
            ],
        ),
        (
            "style",
            [
                "No emojis please.",
                "Don't use bullet points.",
                "Please be more formal.",
                "Bitte keine Emojis.",
                "Explain everything like I'm five.",
                "Please explain things step by step.",
                "Please write to me in large plain sentences, no bullet points.",
            ],
        ),
        (
            "manner",
            [
                "From now on, start with the conclusion.",
                "Always cite your sources.",
                "When you write notes, give the sources at the end.",
            ],
        ),
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
        (
            "work",
            [
                "I work at Siemens.",
                "I currently work as a nurse.",
                "I'm a nurse at Charité.",
                "I am a teacher.",
                "I'm a senior software engineer at Google.",
                "I quit my job yesterday.",
                "I was laid off last week.",
                "I got a job at Bosch.",
                "Ich bin Lehrerin.",
            ],
        ),
        (
            "self",
            [
                "I hate coriander.",
                "My order is PB-112.",
                "We have two cats.",
                "I'm a big fan of jazz.",
                "I'm a beginner at Python.",
            ],
        ),
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


@pytest.mark.parametrize(
    "text",
    [
        "My friend said: I am gluten intolerant",
        "My friend Tom told me: I'm vegan. I live in Boston.",
        'My sister wrote: "I\'m allergic to nuts. I live in Rome."',
        'She said "I\'m allergic to eggs".',
        "Tom said 'I am vegan'.",
        "I'm vegan, my friend said.",
        "He said: please answer in German.",
        "Customer: I am allergic to nuts.",
        "Translate to French: I am a diabetic and I live in Boston.",
        "Can you translate this to German?\n\nI have asthma. I live in Rome.",
        "I have asthma and live in Rome. Translate that to German please.",
        "How do I say I'm allergic to nuts in Spanish",
        "Rewrite this sentence: I am a diabetic.",
        "Make this more formal: I am vegan.",
        "Check my grammar: I am living in Boston since 2010.",
        "Summarize this email: Hi, I'm Sam. I live in Boston and I am vegan.",
        "Meine Freundin sagte: Ich bin Veganerin.",
        "Übersetze ins Englische: Ich bin allergisch gegen Nüsse.",
        "Traduis en anglais : Je suis végétarienne.",
        "Mi amiga dijo: Soy alérgica a los mariscos.",
    ],
)
def test_what_others_said_and_texts_to_be_worked_on_are_no_facts(text):
    assert read(text) == []
    assert not speaks_of_self(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("He told me: \"I'm vegan.\" I'm allergic to nuts.", ["I'm allergic to nuts."]),
        ("He wrote:\nI am vegan. I live in Rome.\n\nI'm allergic to nuts.", ["I'm allergic to nuts."]),
        ("I told the waiter: I'm allergic to nuts.", ["I told the waiter: I'm allergic to nuts."]),
        (
            "My doctor told me: I have high blood pressure.",
            ["My doctor told me: I have high blood pressure."],
        ),
        ("Note: I'm allergic to nuts.", ["Note: I'm allergic to nuts."]),
        ("Write this down: I'm allergic to nuts.", ["Write this down: I'm allergic to nuts."]),
        ("Can you check the menu? I'm allergic to nuts.", ["I'm allergic to nuts."]),
        ('Call me "Big Sam".', ['Call me "Big Sam".']),
    ],
)
def test_ones_own_words_beside_those_of_others_are_facts(text, told):
    assert [fact.text for fact in read(text) if fact.is_always_shown] == told


@pytest.mark.parametrize(
    "text",
    [
        "Explain how a heat pump works in simple words.",
        "Explain quantum physics like I'm five.",
        "Can you explain photosynthesis in simple terms?",
        "Explain DNS without jargon.",
        "Explain in simple words why cats always land on their feet.",
        "Explain how I should bake bread step by step.",
        "Tell me everything about Rome in simple words.",
        "Give me the distance from Rome to Paris in miles.",
        "What is the temperature in Rome in Celsius",
        "Give me the price of the phone in euros.",
        "Summarise the report in no more than three sentences.",
        "Write a cover letter. Keep it under 100 words.",
        "Write a bio, no more than 100 words.",
        "List the planets with emojis.",
        "Write to me in large letters this time, no emojis.",
        "Answer in French this time.",
    ],
)
def test_a_wish_for_one_answer_is_no_rule(text):
    assert not [fact.text for fact in read(text) if fact.is_always_shown]


@pytest.mark.parametrize(
    ("holding", "ended"),
    [
        ("I'm vegan.", "I stopped being vegan."),
        ("I'm vegetarian.", "I gave up being vegetarian last month."),
        ("I'm vegan.", "I quit being vegan because of my health."),
        ("I'm vegan.", "I eat meat again."),
        ("I work at IBM.", "I quit my job yesterday."),
        ("I work at IBM.", "I left IBM last week."),
        ("I work at IBM.", "I don't work there anymore."),
        ("I am a teacher.", "I retired last year."),
        ("I live in Lyon.", "We moved away from Lyon."),
        ("I play the cello.", "I stopped playing the cello."),
        ("We use Slack.", "We don't use Slack anymore."),
        ("Ich bin Veganerin.", "Ich bin nicht mehr vegan."),
    ],
)
def test_what_ended_is_told_as_what_was_before(holding, ended):
    assert held(holding, ended) == [(ended, [holding])]
    (fact,) = facts_that_hold([*read(holding), *read(ended, 1)])
    assert fact.fact.kind == read(holding)[0].kind


@pytest.mark.parametrize(
    ("holding", "other"),
    [
        ("I live in Lyon.", "I used to live in Paris."),
        ("I work at IBM.", "I left my keys at IBM."),
        ("I work at IBM.", "I no longer drive to IBM."),
        ("We moved to Salzburg last month.", "I gave up smoking last month."),
        ("I'm allergic to nuts.", "I'm no longer vegan."),
    ],
)
def test_what_ended_ends_nothing_else(holding, other):
    assert held(holding, other) == [(holding, []), (other, [])]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "Anna Becker is my neighbour. She works at Bosch. What can I give her?",
            [("self", "Anna Becker is my neighbour. She works at Bosch.")],
        ),
        (
            "My brother is Tom. He lives in Rome. His wife is called Eva.",
            [("self", "My brother is Tom. He lives in Rome. His wife is called Eva.")],
        ),
        (
            "My neighbour is Anna. Anna works at Bosch.",
            [("self", "My neighbour is Anna. Anna works at Bosch.")],
        ),
        (
            "My daughter is Mia. She is allergic to nuts.",
            [("health", "My daughter is Mia. She is allergic to nuts.")],
        ),
        (
            "Meine Nachbarin heißt Anna. Sie arbeitet bei Bosch.",
            [("self", "Meine Nachbarin heißt Anna. Sie arbeitet bei Bosch.")],
        ),
        ("Keep it short. She is busy.", [("length", "Keep it short.")]),
        ("Is Anna your neighbour? She works at Bosch.", []),
    ],
)
def test_what_is_said_next_of_somebody_belongs_to_the_fact_that_named_them(text, facts):
    assert [(fact.kind.name, fact.text) for fact in read(text)] == facts


@pytest.mark.parametrize(
    ("kind", "questions"),
    [
        (
            "home",
            ["Where do I live?", "what city do i live in", "Do you remember where I live?", "Wo wohne ich?"],
        ),
        (
            "work",
            [
                "Where do I work?",
                "What do I do for a living?",
                "Who do I work for?",
                "Which company do I work for?",
                "Wo arbeite ich?",
            ],
        ),
    ],
)
def test_a_direct_question_asks_for_the_facts_of_its_kind(kind, questions):
    asked = {one: [kind.name for kind in fact_kinds() if kind.is_asked_for(one)] for one in questions}
    assert asked == {one: [kind] for one in questions}


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Which chat tool do we use?", ["We have 12 employees and use Slack."]),
        ("What car do I drive?", ["I drive a Skoda."]),
        ("How do I use Git?", []),
        ("Which tool should we use?", []),
        ("Where do I find a garage?", []),
    ],
)
def test_a_question_about_oneself_is_answered_by_what_has_its_verb(question, answers):
    facts = [*read("We have 12 employees and use Slack."), *read("I drive a Skoda.", 1)]
    found = find_facts_with_verb_of_question(question, facts_that_hold(facts))
    assert [one.fact.text for one in found] == answers


def test_what_was_said_later_holds_in_whatever_order_it_is_read():
    facts = [*read("We moved to Lyon.", 2), *read("I live in Paris.", 1)]
    (one,) = facts_that_hold(facts)
    assert one.fact.text == "We moved to Lyon."
