"""What a user said of themselves is known in their next session, and in nobody else's."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.errors import ValidationError
from foreword.recipes.dialogue.prompt import inject_context
from foreword.recipes.dialogue.session import Session
from foreword.store.base import Delete, PutRelations
from foreword.types import REPLACES, Relation, Turn


@pytest.fixture
def say(engine, clock):
    """Adds turns to a session of a user, a day apart."""

    def add(user, *texts, session="s1", workspace="bakery", **more):
        talk = Session(engine, workspace, session, user=user)
        kept = []
        for text in texts:
            clock.advance(days=1)
            kept.append(talk.add(Turn(text, **more)))
        return kept

    return add


@pytest.fixture
def prompt(engine):
    """The prompt of a question in a new session."""

    def ask(user, query="Hello!", session="next", tokens=2_000):
        engine.embed_pending("bakery")
        return inject_context(query, Session(engine, "bakery", session, user=user), tokens)

    return ask


def facts_in(prompt):
    """The lines on the user themselves, without what else was found in their conversations."""
    return [line for line in prompt.content.user.lines if line.section != "earlier"]


def test_what_must_not_be_missed_is_told_in_the_next_session_whatever_is_asked(say, prompt):
    say("mara", "I'm allergic to peanuts.", "Please use metric units.", "My name is Mara Lind.")
    text = prompt("mara", "Can you suggest a dessert?").formatted
    assert "How this user wants to be answered:\n- Please use metric units. (" in text
    assert "- I'm allergic to peanuts. (" in text
    assert "My name is Mara Lind." in text


def test_other_facts_are_told_where_they_matter(say, prompt):
    say("mara", "My order is PB-112.", "I live in Lyon.", "I hate coriander.")
    assert "PB-112" in prompt("mara", "Where is my order?").formatted
    assert "Lyon" in prompt("mara", "What is the weather at home?").formatted


def test_the_newest_holds_and_competitors_are_dated(say, prompt, clock):
    say("mara", "Please answer in German.", session="s1")
    say("mara", "Please answer in English.", session="s2")
    day = f"{clock.now.day} {clock.now:%B %Y}"
    (line,) = prompt("mara").content.user.lines
    assert line.prompt_line.startswith(f"- Please answer in English. ({day}; before, ")
    assert line.prompt_line.endswith(": Please answer in German.)")


def test_what_the_reader_saw_replaced_is_told_in_its_newer_words(engine, say, prompt):
    (old,) = say("mara", "I'm allergic to peanuts.")
    (new,) = say("mara", "The doctor says peanuts are fine for me after all.", session="s2")
    engine.store.run(PutRelations("bakery", (Relation(new.turn_id, old.turn_id, REPLACES, 0.9),)))
    (line,) = prompt("mara").content.user.lines
    assert line.text == "The doctor says peanuts are fine for me after all."
    assert line.before[0][1] == "I'm allergic to peanuts."


def test_what_another_said_replaces_nothing(engine, say, prompt):
    (old,) = say("mara", "I'm allergic to peanuts.")
    (new,) = say("ben", "Peanuts are fine for me.", session="s2")
    engine.store.run(PutRelations("bakery", (Relation(new.turn_id, old.turn_id, REPLACES, 0.9),)))
    (line,) = prompt("mara").content.user.lines
    assert line.text == "I'm allergic to peanuts."


@pytest.mark.parametrize(
    "correction", ["Sorry, I meant Lyon.", "No wait, sorry, Lyon.", "It's Lyon, not Paris."]
)
def test_a_correction_in_passing_is_told_with_what_it_corrects(engine, say, prompt, correction):
    old, new, _ = say("mara", "I live in Paris.", correction, "Thanks!")
    engine.store.run(PutRelations("bakery", (Relation(new.turn_id, old.turn_id, REPLACES, 0.9),)))
    (line,) = prompt("mara", "What is the weather at home?").content.user.lines
    assert line.text == f"I live in Paris. {correction}"


def test_a_corrected_value_is_told_in_the_next_session_with_what_it_was(say, prompt):
    say("mara", "I ordered 3 plates for my kitchen.", "My phone number is 555-0100.", "no wait, 555-0101")
    lines = prompt("mara", "What is my phone number?").content.user.lines
    (line,) = (one for one in lines if "555-0101" in one.text)
    assert [text for _, text in line.before] == ["My phone number is 555-0100."]


def test_a_correction_is_told_with_no_fact_that_it_does_not_correct(say, prompt):
    say("mara", "My dentist is Dr. Weber.", "My appointment is at 9:15.", "oops, Dr. Huber")
    text = prompt("mara", "Who is my dentist, and when is my appointment?").formatted
    assert "Dr. Huber" in text
    assert "9:15. oops" not in text


def test_a_wish_takes_back_no_fact(say, prompt):
    say("mara", "We are two adults and a toddler.", "We don't want to fly with layovers.")
    lines = prompt("mara", "Which flights suit us, two adults and a toddler?").content.user.lines
    assert {one.text for one in lines if one.before} == set()
    assert "We are two adults and a toddler." in {one.text for one in lines}


@pytest.mark.parametrize(
    "text", ["Sorry, I missed that.", "Sorry, wrong window.", "No, thanks.", "Lyon is nice."]
)
def test_what_corrects_nothing_changes_nothing(say, prompt, text):
    say("mara", "I live in Paris.", text)
    (line,) = facts_in(prompt("mara", "What is the weather at home?"))
    assert line.text == "I live in Paris."


def talk(engine, clock, *turns):
    """A session in which the user and the assistant speak in turn, a day apart."""
    session = Session(engine, "bakery", "s1", user="mara")
    for number, text in enumerate(turns):
        clock.advance(days=1)
        session.add(Turn(text, role="assistant" if number % 2 else "user"))


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (["Sure, Tuesday at 10."], 'Could we make it Tuesday instead? (answered: "Sure, Tuesday at 10.")'),
        (
            ["Tuesday is free. Shall I book it?", "Yes, please.", "Done."],
            'Could we make it Tuesday instead? (answered: "Done.")',
        ),
        (["Sorry, Tuesday is fully booked."], "My appointment is on Monday at 10."),
        (["Shall I book it?", "No, leave it.", "Sure."], "My appointment is on Monday at 10."),
        ([], "My appointment is on Monday at 10."),
    ],
)
def test_a_change_holds_once_the_assistant_agreed(engine, clock, prompt, answers, told):
    asked = ("My appointment is on Monday at 10.", "Noted.", "Could we make it Tuesday instead?")
    talk(engine, clock, *asked, *answers)
    (line,) = facts_in(prompt("mara", "When is my appointment?"))
    assert line.text == told
    assert [text for _, text in line.before] == [asked[0]] * (told != asked[0])


def test_an_agreement_that_was_forgotten_agrees_to_nothing(engine, clock, prompt):
    asked = ("My appointment is on Monday at 10.", "Noted.", "Could we make it Tuesday instead?")
    talk(engine, clock, *asked, "Sure, Tuesday at 10.")
    assert "Tuesday" in prompt("mara", "When is my appointment?").formatted
    (answer,) = (item for item in engine.store.scan("bakery") if item.text == "Sure, Tuesday at 10.")
    engine.store.delete(Delete("bakery", (answer.id,)))
    (line,) = facts_in(prompt("mara", "When is my appointment?"))
    assert line.text == asked[0]


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("We moved to Salzburg last month.", "Where do I live?"),
        ("I'm a nurse at Charité.", "Where do I work?"),
        ("I am a teacher.", "What do I do for a living?"),
        ("We have 12 employees and use Slack.", "Which chat tool do we use?"),
        ("Anna Becker is my neighbour. She works at Bosch.", "Where does my neighbour work?"),
    ],
)
def test_a_direct_question_gets_what_was_said(say, prompt, said, question):
    say("mara", said)
    assert [line.text for line in prompt("mara", question).content.user.lines] == [said]


@pytest.mark.parametrize(
    "said",
    [
        "My friend said: I am gluten intolerant",
        "Translate to French: I am a diabetic and I live in Boston.",
        "Explain quantum physics like I'm five.",
    ],
)
def test_others_words_and_wishes_for_one_answer_are_not_told_as_facts(say, prompt, said):
    say("mara", said)
    assert facts_in(prompt("mara", "Which dessert would you suggest?")) == []


def test_nods_in_other_conversations_are_not_told(engine, clock, prompt):
    talk(engine, clock, "My appointment is on Monday.", "Noted.", "Thanks!", "Sure.", "No, thanks.")
    assert "Monday" in prompt("mara", "When is my appointment?").formatted
    (line,) = prompt("mara", "When is my appointment?").content.user.lines
    assert line.text == "My appointment is on Monday."


def test_what_stands_in_view_is_not_told_again(say, prompt):
    say("mara", "I'm allergic to peanuts.", session="s1")
    say("mara", "I'm allergic to peanuts and eggs.", session="s2")
    shown = prompt("mara", session="s2")
    assert shown.formatted.count("I'm allergic") == 1
    assert shown.content.user.lines == ()


def test_what_was_forgotten_is_not_told(engine, say, prompt):
    (turn,) = say("mara", "I'm allergic to peanuts.")
    assert prompt("mara").content.user.lines
    engine.store.delete(Delete("bakery", (turn.turn_id,)))
    assert not prompt("mara").content.user.lines


def test_each_turn_of_a_conversation_is_its_speakers(engine, say, prompt):
    talk = Session(engine, "bakery", "group", user="mara")
    talk.add(Turn("I'm allergic to peanuts."))
    talk.add(Turn("I'm allergic to eggs.", name="Ben"))
    talk.add(Turn("I'm allergic to milk.", name="Benedict", user="b2"))
    talk.add(Turn("I'm allergic to wheat.", role="assistant"))
    told = {user: [line.text for line in prompt(user).content.user.lines] for user in ("mara", "Ben", "b2")}
    assert told == {
        "mara": ["I'm allergic to peanuts."],
        "Ben": ["I'm allergic to eggs."],
        "b2": ["I'm allergic to milk."],
    }


@pytest.mark.parametrize(
    "user", ["user", "assistant", "User", "mar", "maras", "MARA", " mara", "", "m%", "*"]
)
def test_nobody_else_is_the_user(say, prompt, user):
    say("mara", "I'm allergic to peanuts.", "My order is PB-112.", "Please answer in German.")
    say("", "I'm allergic to eggs.", "My order is PB-113.", session="s2")
    text = prompt(user, "Where is my order?").formatted if user.strip() == user else ""
    assert not any(word in text for word in ("peanuts", "eggs", "PB-11", "German"))


def test_a_name_that_looks_like_a_secret_is_not_stored_and_still_parts_users(engine, say, prompt):
    one, other = ("sk-" + "abcdefghij" * 4 + digit for digit in "12")
    say(one, "I'm allergic to peanuts.")
    assert [line.text for line in prompt(one).content.user.lines] == ["I'm allergic to peanuts."]
    assert prompt(other).content.user.lines == ()
    assert all(one not in str(item) for item in engine.store.scan("bakery"))


def test_a_session_without_a_user_knows_nobody_and_is_nobodys(engine, say, prompt):
    say("mara", "I'm allergic to peanuts.")
    say(None, "I'm allergic to eggs.", session="s2")
    assert prompt(None).content.user.lines == prompt("").content.user.lines == ()
    with pytest.raises(ValidationError, match="user"):
        Session(engine, "bakery", "s3", user=7)


def test_a_workspace_knows_nothing_of_another(say, prompt):
    say("mara", "I'm allergic to peanuts.", workspace="cafe")
    assert prompt("mara").content.user.lines == ()


NUMBERS = itertools.count()
NAMES = st.text(st.sampled_from("abAB é-_.%"), min_size=1, max_size=5).filter(
    lambda name: name.strip() == name
)


@settings(max_examples=15)
@given(
    names=st.lists(NAMES, min_size=2, max_size=6, unique=True),
    prefix=st.sampled_from(["", "x"]),
    seed=st.integers(0, 999),
)
def test_what_a_user_said_is_in_no_other_users_prompt(engine, names, prefix, seed):
    rng = random.Random(seed)
    workspace = f"w{next(NUMBERS)}"
    users = [*{prefix + name for name in names}, ""]
    secrets = {}
    for number, user in enumerate(users):
        word = f"berry{number}x"
        secrets[user] = word
        turn = rng.choice([f"I'm allergic to {word}.", f"I live in {word}.", f"My order is {word}."])
        Session(engine, workspace, f"s{rng.randrange(3)}-{number}", user=user).add(Turn(turn))
        Session(engine, workspace, f"g-{number}", user=user).add(Turn(f"I can't eat {word}."))
    engine.embed_pending(workspace)
    for number, user in enumerate(users):
        session = Session(engine, workspace, f"new-{number}", user=user)
        text = inject_context("Where is my order of berries, what do I eat at home?", session).formatted
        told = {one for one, word in secrets.items() if word in text}
        assert told == ({user} if user else set())
