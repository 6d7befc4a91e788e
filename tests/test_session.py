"""A conversation in a workspace: kept turn by turn, known again when it is opened again."""

from __future__ import annotations

import threading

import pytest

from foreword.dialogue import Turn
from foreword.errors import ValidationError
from foreword.recipes.dialogue import inject_context
from foreword.session import Session
from foreword.types import Filters

CALL = {"id": "c1", "type": "function", "function": {"name": "stock", "arguments": '{"cake": "plum"}'}}


@pytest.fixture
def talk(engine, clock):
    """What adds turns to the session `c-1`, a minute apart."""
    session = Session(engine, "bakery", "c-1")

    def say(*turns):
        for turn in turns:
            clock.advance(minutes=1)
            session.add(turn)
        return session

    return say


def test_a_turn_that_was_added_is_kept_with_its_speaker_its_time_and_what_it_does(engine, talk, clock):
    session = talk(Turn("Could you reserve a plum cake for Anna?"))
    [turn] = session.state.turns
    [item] = engine.store.scan("bakery", Filters(kinds=("turn",), conversation="c-1"))
    assert (item.id, item.text, item.about) == (
        turn.turn_id,
        "Could you reserve a plum cake for Anna?",
        "User",
    )
    assert (turn.timestamp, turn.speech_act) == (clock.now, "request")


def test_a_session_that_is_opened_again_knows_what_was_said_and_whom_it_was_about(engine, talk):
    before = talk(
        Turn("Anna Berg is the manager of the bakery."),
        Turn("", role="assistant", tool_calls=(CALL,)),
        Turn("4 left", role="tool", call_id="c1"),
        Turn("I ment plum", corrected_text="I meant plum", name="Ben"),
    )
    again = Session(engine, "bakery", "c-1")
    assert again.state.turns == before.state.turns
    names = {entity.canonical_name for entity in again.state.entity_registry.get_high_salience_entities(9)}
    assert "Anna Berg" in names


def test_what_a_statement_after_a_question_does_is_to_answer(talk):
    session = talk(Turn("When do you close?"), Turn("At six on weekdays.", role="assistant"))
    assert [turn.speech_act for turn in session.state.turns] == ["question", "answer"]


def test_secrets_in_a_turn_do_not_reach_the_disk(engine, talk):
    secret = "-".join(("ghp", "x")).replace("-x", "_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"[:36])
    talk(Turn(f"my token is {secret}"))
    assert all(secret not in item.text for item in engine.store.scan("bakery"))


def test_another_session_and_another_workspace_know_nothing_of_it(engine, talk):
    talk(Turn("The oven is broken."))
    for other in (Session(engine, "bakery", "c-2"), Session(engine, "library", "c-1")):
        assert not other.state.turns
        assert not other.recall("Is the oven broken?", 1000).turns


def test_the_same_turn_at_the_same_moment_is_one_turn(engine):
    session = Session(engine, "bakery", "c-1")
    session.add_all([Turn("Hello"), Turn("Hello")])
    assert len(session.state.turns) == 1


def test_a_state_that_was_taken_does_not_change_with_later_turns(talk):
    state = talk(Turn("one")).state
    talk(Turn("two"))
    assert len(state.turns) == 1


def test_turns_from_many_threads_are_all_kept(engine):
    session = Session(engine, "bakery", "c-1")
    threads = [threading.Thread(target=session.add, args=(Turn(f"turn {n}"),)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {turn.text for turn in session.state.turns} == {f"turn {n}" for n in range(20)}
    assert len(Session(engine, "bakery", "c-1").state.turns) == 20


def test_what_was_forgotten_is_not_in_the_prompts_of_a_session_opened_again(engine, talk):
    session = talk(Turn("The alarm code is four blue birds."), Turn("Noted.", role="assistant"))
    inject_context("What is the alarm code?", session, 500)
    engine.forget("bakery", session.state.turns[0].turn_id)
    again = Session(engine, "bakery", "c-1")
    assert "blue birds" not in inject_context("What is the alarm code?", again, 500).formatted
    receipts = engine.store.count("bakery").receipts
    kept = [engine.explain("bakery")] if receipts else []
    assert all("blue birds" not in str(receipt.view) for receipt in kept)


@pytest.mark.parametrize("name", ["", "\0", "x" * 5000])
def test_a_session_without_a_usable_name_is_refused(engine, name):
    with pytest.raises(ValidationError):
        Session(engine, "bakery", name)
