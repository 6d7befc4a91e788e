"""What is added to a conversation that an application sends itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword import Document, KnowledgeBase, Session, Turn
from foreword.dialogue import find_addition
from foreword.errors import ValidationError
from foreword.recipes.dialogue.addition import new_turns

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


# Which turns are new -------------------------------------------------------------------------------------


def said(words):
    return [Turn(word, ("user", "assistant")[at % 2]) for at, word in enumerate(words)]


TALK = said(["hello", "hi", "yes", "good", "what?", "this", "yes", "fine"])


def test_after_the_whole_conversation_or_its_end_only_what_follows_is_new():
    more = said(["yes"])
    for start in range(0, len(TALK), 2):
        assert new_turns(TALK, [*TALK[start:], *more]) == more


def test_an_answer_given_again_is_not_new_but_what_follows_it_is():
    assert new_turns(TALK, TALK[:-1]) == []
    again = [*TALK[:-1], Turn("other", "assistant"), Turn("thanks")]
    assert [turn.text for turn in new_turns(TALK, again)] == ["other", "thanks"]


def test_an_own_summary_before_the_end_is_not_taken_for_a_turn_of_the_talk():
    sent = [Turn("So far: they said hello."), *TALK[4:], Turn("bye")]
    assert [turn.text for turn in new_turns(TALK, sent)] == ["bye"]


@given(st.lists(st.sampled_from(["yes", "no", "ok", "why?", "plum"]), max_size=14))
def test_a_conversation_sent_turn_by_turn_is_kept_exactly_once(words):
    talk, kept = said(words), []
    for end in range(1, len(talk) + 1):
        kept += new_turns(kept, talk[:end])
    assert kept == talk
