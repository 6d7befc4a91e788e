"""What is read once for an engine: shared while it lives, and only so much of it."""

from __future__ import annotations

import gc

from foreword import Session, Turn
from foreword.recipes.dialogue.shared import DialogueCache


class Engine:
    """Anything that can be referred to weakly."""


def test_a_value_is_made_once_for_an_engine_and_a_key():
    shared, engine, made = DialogueCache(2), Engine(), []
    for key in ("a", "b", "a"):
        shared.get_or_make(engine, key, lambda: made.append(1) or object())
    shared.get_or_make(Engine(), "a", lambda: made.append(1) or object())
    assert len(made) == 3


def test_what_was_unused_for_longest_goes_first():
    shared, engine = DialogueCache(2), Engine()
    first = {key: shared.get_or_make(engine, key, object) for key in ("a", "b")}
    assert shared.get_or_make(engine, "a", object) is first["a"]
    shared.get_or_make(engine, "c", object)
    assert shared.get_or_make(engine, "a", object) is first["a"]
    assert shared.get_or_make(engine, "b", object) is not first["b"]


def test_nothing_is_kept_of_an_engine_that_is_gone():
    shared, engine = DialogueCache(2), Engine()
    shared.get_or_make(engine, "a", object)
    del engine
    gc.collect()
    assert not shared._values


def test_two_sessions_of_one_conversation_see_the_same_turns_and_one_opened_again_reads_none(
    engine, count_calls
):
    one = Session(engine, "w", "s")
    one.add_all([Turn(f"Anna Berg lives in Lyon, she says, for the {at}. time.") for at in range(60)])
    two = Session(engine, "w", "s")
    two.add(Turn("Hello.", role="assistant"))
    assert one.state.turns == two.state.turns
    afresh = count_calls(lambda: Session(engine, "w", "s").state)
    assert afresh < 3_000
