"""What was replaced since, in the summary of a conversation's prompt."""

from __future__ import annotations

import pytest

from foreword.recipes.dialogue.prompt import inject_context
from foreword.recipes.dialogue.replaced import find_final_replacements
from foreword.recipes.dialogue.session import Session
from foreword.store.base import PutRelations
from foreword.types import REPLACES, Relation, Replacement, Turn

STRIPE = "We decided to use Stripe for payments."
ADYEN = "Payments run on Adyen since March."
MOLLIE = "Payments run on Mollie since May."
PETRA, CORRECTION = (
    "My manager is Petra Holm, her number is 555-0199.",
    "No wait, Petra's number is 555-0177.",
)


def small_talk(first, count):
    for at in range(first, first + count):
        yield Turn(f"Our lunch number {at} was good, I think.")
        yield Turn(f"Lunch number {at} sounds nice.", role="assistant")


@pytest.fixture
def say(engine):
    """What adds turns to the session `c-1`, and gives their ids by their texts."""
    session = Session(engine, "w", "c-1")

    def add(*turns):
        kept = session.add_all([Turn(turn) if isinstance(turn, str) else turn for turn in turns])
        return {turn.text: turn.turn_id for turn in kept}

    add.session = session
    return add


def relate(engine, newer, older, confidence=0.9):
    engine.store.run(PutRelations("w", (Relation(newer, older, REPLACES, confidence),)))


def prompt(session, room=450):
    return inject_context("What is 5 plus 5?", session, room)


def test_a_decision_that_was_replaced_is_not_told_as_one_that_holds(engine, say):
    ids = say(STRIPE, *small_talk(0, 10), ADYEN, *small_talk(10, 39))
    relate(engine, ids[ADYEN], ids[STRIPE])
    told = prompt(say.session).formatted
    assert f"Decided: User: {STRIPE}\n" not in told
    assert STRIPE not in told or f"{STRIPE} (corrected: {ADYEN})" in told
    assert told.count(ADYEN) == 1


def test_a_number_that_was_probably_corrected_is_never_told_alone(engine, say):
    ids = say(PETRA, *small_talk(0, 20), CORRECTION, *small_talk(20, 20))
    relate(engine, ids[CORRECTION], ids[PETRA], 0.55)
    told = prompt(say.session).content.history.summary
    assert "0199" not in told or f"{PETRA} (later: {CORRECTION})" in told
    assert "0177" in told


def test_what_replaced_a_turn_is_followed_to_the_end(engine, say):
    ids = say(STRIPE, ADYEN, MOLLIE)
    relate(engine, ids[ADYEN], ids[STRIPE])
    relate(engine, ids[MOLLIE], ids[ADYEN], 0.6)
    found = find_final_replacements(engine.store, "w", list(ids.values()))
    assert found == {ids[STRIPE]: Replacement(MOLLIE, False), ids[ADYEN]: Replacement(MOLLIE, False)}


def test_nobody_who_is_trusted_less_replaces_a_turn_and_no_doubtful_relation_does(engine, say):
    ids = say(STRIPE, Turn(ADYEN, role="assistant"), MOLLIE)
    relate(engine, ids[ADYEN], ids[STRIPE])
    relate(engine, ids[MOLLIE], ids[STRIPE], 0.4)
    assert find_final_replacements(engine.store, "w", list(ids.values())) == {}
    assert find_final_replacements(engine.store, "w", []) == {}


def test_a_prompt_says_nothing_twice(engine, say):
    say(STRIPE, *small_talk(0, 10), ADYEN, *small_talk(10, 39))
    engine.embed_pending("w")
    for query in ("What do we use for payments?", "How was our lunch number 12?"):
        history = inject_context(query, say.session, 600).content.history
        assert history.summary
        lines = [turn.content for turn in (*history.recalled, *history.recent_turns)]
        assert [line for line in lines if line in history.summary] == []
        assert len(set(lines)) == len(lines)
