"""What a user's other conversations, and the workspace's memories, say about a question is in the prompt."""

from __future__ import annotations

import pytest

from foreword.recipes.dialogue.prompt import inject_context
from foreword.recipes.dialogue.session import Session
from foreword.store.base import Delete
from foreword.types import Source, Turn

QUESTION = "Which eyepiece was sent in the parcel?"
EARLIER = "From earlier conversations with this user:"


@pytest.fixture
def talk(engine, clock):
    """Adds turns of a user and the assistant, in turn, to a conversation, a day later."""

    def add(user, session, *texts):
        clock.advance(days=1)
        roles = ("user", "assistant")
        turns = [Turn(text, roles[at % 2]) for at, text in enumerate(texts)]
        return Session(engine, "shop", session, user=user).add_all(turns)

    return add


@pytest.fixture
def prompt(engine):
    """The prompt of a question in a conversation that has just begun."""

    def ask(user, query=QUESTION, session="new"):
        engine.embed_pending("shop")
        return inject_context(query, Session(engine, "shop", session, user=user), 2_000)

    return ask


def test_what_the_assistant_answered_in_another_conversation_is_told_with_its_day(talk, prompt):
    talk("mara", "c-1", "My eyepiece is broken.", "The parcel with the 7 mm eyepiece was sent today.")
    shown = prompt("mara")
    line = "- (assistant) The parcel with the 7 mm eyepiece was sent today. (16 January 2026)"
    assert f"{EARLIER}\n" in shown.formatted
    assert line in shown.formatted
    assert [one.section for one in shown.receipt.injected_entries] == ["user", "earlier"]


def test_an_answer_stands_after_its_question(talk, prompt):
    talk("mara", "c-1", "Which eyepiece will you send?", "The 7 mm eyepiece, in a parcel.")
    assert "(assistant, asked “Which eyepiece will you send?”) The 7 mm" in prompt("mara").formatted


def test_lines_stand_in_the_order_in_which_they_were_said(talk, prompt):
    talk("mara", "c-1", "Please send the 9 mm eyepiece in the parcel.")
    talk("mara", "c-2", "Rather send the 7 mm eyepiece in the parcel.")
    text = prompt("mara").formatted
    assert text.index("9 mm") < text.index("7 mm")


@pytest.mark.parametrize("user", ["ben", "mar", None, ""])
def test_nobody_else_is_told(talk, prompt, user):
    talk("mara", "c-1", "Which eyepiece is in the parcel?", "The parcel has the 7 mm eyepiece.")
    talk(None, "c-2", "The parcel of somebody has a 12 mm eyepiece.")
    text = prompt(user).formatted
    assert "7 mm" not in text
    assert "12 mm" not in text


def test_of_a_conversation_of_several_users_each_is_told_what_they_were_answered(engine, talk, prompt):
    talk("mara", "c-1", "Which eyepiece is in my parcel?", "Mara's parcel has the 7 mm eyepiece.")
    talk("ben", "c-1", "And which eyepiece is in my parcel?", "Ben's parcel has the 20 mm eyepiece.")
    ben, mara = prompt("ben").formatted, prompt("mara").formatted
    assert "20 mm" in ben
    assert "7 mm" not in ben
    assert "7 mm" in mara
    assert "20 mm" not in mara


def test_a_nod_is_told_nothing(talk, prompt):
    talk("mara", "c-1", "Thanks!", "Thanks to you, the parcel with the eyepiece was sent.")
    assert EARLIER not in prompt("mara", "Thanks!").formatted


def test_what_was_forgotten_is_not_told(engine, talk, prompt):
    _, answer = talk("mara", "c-1", "My eyepiece is broken.", "The parcel with the 7 mm eyepiece was sent.")
    assert "7 mm" in prompt("mara").formatted
    engine.store.delete(Delete("shop", ids=(answer.turn_id,)))
    assert "7 mm" not in prompt("mara").formatted


def test_memories_for_everybody_and_for_this_user_are_told(engine, prompt):
    engine.remember("Every eyepiece is sent in a padded parcel.", "shop")
    engine.remember("Mara's eyepiece goes by parcel to Lyon.", "shop", source=Source("mara"))
    engine.remember("A page says eyepiece parcels are lost.", "shop", source=Source("page", "web"))
    mara, nobody = prompt("mara").formatted, prompt(None).formatted
    assert "Remembered:\n- " in nobody
    assert "padded parcel" in nobody
    assert "Lyon" not in nobody
    assert "Lyon" in mara
    assert "page says" not in mara + nobody


def test_what_is_told_as_a_fact_about_the_user_is_not_told_twice(talk, prompt):
    talk("mara", "c-1", "I'm allergic to the glue of the eyepiece parcel.", "Noted.")
    assert prompt("mara").formatted.count("allergic to the glue") == 1
