"""What is added to a conversation that an application sends itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword import Document, KnowledgeBase, Session, Turn
from foreword.dialogue import find_addition
from foreword.errors import ValidationError
from foreword.recipes.dialogue.sent_turns import find_new_turns, find_stored_turns_before

QUESTION = "Where is the storage key of the Lighthouse shop?"
KEY = "The storage key of the Lighthouse shop is under the blue flowerpot."


@pytest.fixture
def session(engine):
    session = Session(engine, "shop", "c-1", user="mara")
    session.add_all([Turn(KEY), Turn("Noted.", role="assistant")])
    engine.embed_pending("shop")
    return session


def test_an_exchange_is_told_unless_it_is_sent(session):
    assert "blue flowerpot" in find_addition(QUESTION, session).text
    added = find_addition(QUESTION, session, [Turn(KEY), Turn("Noted.", role="assistant")])
    assert "blue flowerpot" not in added.text
    reasons = {entry.item_id: entry.decision for entry in added.receipt.entries}
    assert reasons[session.state.turns[0].turn_id] == "already in context"


def test_nothing_is_added_where_nothing_is_known(engine):
    added = find_addition("What is the capital of France?", Session(engine, "shop", "c-9"))
    assert (added.text, added.tokens) == ("", 0)


@pytest.mark.parametrize("budget", [1, 20, 40, 80, 160, 400])
def test_the_budget_holds_whatever_there_is_to_tell(session, engine, budget):
    KnowledgeBase(engine, "shop").index_document(Document("Keys", f"{KEY} " * 3))
    engine.remember(KEY.replace("blue", "red"), "shop")
    engine.embed_pending("shop")
    added = find_addition(QUESTION, session, max_tokens=budget)
    assert session.tokenizer.count(added.text) == added.tokens <= budget


def test_its_receipt_is_kept_and_says_what_was_told(session, engine):
    added = find_addition(QUESTION, session)
    receipt = engine.explain("shop", added.receipt.id)
    assert receipt.recipe == "addition"
    assert {entry.section for entry in receipt.entries if entry.decision == "injected"} == {"history"}
    assert find_addition(QUESTION, session, keep=False).receipt.id != engine.explain("shop").id


def test_a_budget_that_is_no_number_is_refused(session):
    with pytest.raises(ValidationError, match="max_tokens"):
        find_addition(QUESTION, session, max_tokens=0)


@pytest.mark.parametrize("sent", ["a", ["a"], Turn("a"), [{"role": "user", "content": "a"}], 5, None])
def test_what_is_sent_is_a_list_of_turns(session, sent):
    with pytest.raises(ValidationError, match=r"list of turns|a turn is a Turn"):
        find_addition(QUESTION, session, sent=sent)


def test_a_question_is_text(session):
    with pytest.raises(ValidationError, match="the query must be text, not int"):
        find_addition(5, session)


# Which turns are new -------------------------------------------------------------------------------------


def said(words):
    return [Turn(word, ("user", "assistant")[at % 2]) for at, word in enumerate(words)]


TALK = said(["hello", "hi", "yes", "good", "what?", "this", "yes", "fine"])


def test_after_the_whole_conversation_or_its_end_only_what_follows_is_new():
    more = said(["yes"])
    for start in range(0, len(TALK), 2):
        assert find_new_turns(TALK, [*TALK[start:], *more]) == more


def test_an_answer_given_again_is_not_new_but_what_follows_it_is():
    assert find_new_turns(TALK, TALK[:-1]) == []
    again = [*TALK[:-1], Turn("other", "assistant"), Turn("thanks")]
    assert [turn.text for turn in find_new_turns(TALK, again)] == ["other", "thanks"]


def test_an_own_summary_before_the_end_is_not_taken_for_a_turn_of_the_talk():
    sent = [Turn("So far: they said hello."), *TALK[4:], Turn("bye")]
    assert [turn.text for turn in find_new_turns(TALK, sent)] == ["bye"]


@given(st.lists(st.sampled_from(["yes", "no", "ok", "why?", "plum"]), max_size=14))
def test_a_conversation_sent_turn_by_turn_is_kept_exactly_once(words):
    talk, kept = said(words), []
    for end in range(1, len(talk) + 1):
        kept += find_new_turns(kept, talk[:end])
    assert kept == talk


# Which turns are told as earlier ones ----------------------------------------------------------------------


def texts(turns):
    return [turn.text for turn in turns]


def test_nothing_is_earlier_than_messages_that_begin_where_the_conversation_does():
    for end in range(1, len(TALK) + 1):
        assert find_stored_turns_before(TALK, TALK[:end]) == []
        assert find_stored_turns_before(TALK, [*TALK[:end], Turn("edited")]) == []
    assert find_stored_turns_before(TALK, [Turn("Be kind.", "system"), *TALK[:3]]) == []


def test_what_was_said_before_the_end_that_is_sent_is_earlier():
    for start in range(1, len(TALK)):
        sent = [*TALK[start:], Turn("bye")]
        assert find_stored_turns_before(TALK, sent) == TALK[:start]
        assert find_stored_turns_before(TALK, [Turn("So far: they said hello."), *sent]) == TALK[:start]


def test_an_edited_or_repeated_message_takes_back_what_was_stored_after_it():
    assert texts(find_stored_turns_before(TALK, [*TALK[2:4], Turn("who?")])) == ["hello", "hi"]
    assert texts(find_stored_turns_before(TALK, TALK[4:5])) == texts(
        TALK
    )  # asked alone, it may be asked anew
    assert texts(find_stored_turns_before(TALK, TALK[6:7])) == texts(TALK[:6])  # the last one is asked again
    assert find_stored_turns_before(TALK, [Turn("something new")]) == TALK


def test_what_the_messages_no_longer_say_is_not_told_in_any_way(engine):
    session = Session(engine, "shop", "c-5", user="mara")
    broken = "I'm allergic to walnuts. Jonas Weber's phone is 555-0101 and his heating is broken."
    begun = [Turn("Hello there!"), Turn("Hello! How can I help?", role="assistant")]
    session.add_all([*begun, Turn(broken), Turn("I am sorry to hear of the heating.", role="assistant")])
    engine.embed_pending("shop")
    question = "What is wrong with the heating of Jonas Weber, and what is his phone?"
    assert "heating is broken" in find_addition(question, session, [Turn(question)]).text
    added = find_addition(question, session, [*begun, Turn(question)])
    assert added.text == ""
    taken_back = {entry.item_id for entry in added.receipt.entries if entry.detail.startswith("taken back")}
    assert session.state.turns[2].turn_id in taken_back


def test_what_a_user_says_again_is_not_told_to_them_from_elsewhere(engine):
    Session(engine, "shop", "c-6", user="mara").add(Turn("Hello. I'm allergic to nuts."))
    session = Session(engine, "shop", "c-7", user="mara")
    question = "I'm allergic to\nnuts. What is for dessert?"
    assert find_addition(question, session, [Turn(question)]).text == ""
    assert "nuts" in find_addition("What is for dessert?", session).text
    assert "nuts" in find_addition("I'm allergic. What is for dessert?", session).text


@given(st.lists(st.sampled_from(["yes", "no", "ok"]), max_size=10), st.data())
def test_what_is_earlier_is_a_beginning_of_what_is_stored(words, data):
    stored = said(words)
    sent = said(data.draw(st.lists(st.sampled_from(["yes", "no", "ok", "new"]), max_size=6)))
    earlier = find_stored_turns_before(stored, sent)
    assert earlier == stored[: len(earlier)]
