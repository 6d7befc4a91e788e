"""The turns of a conversation are those that the workspace keeps, whoever kept or forgot them."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.names.entities import find_entities
from foreword.errors import StorageError
from foreword.recipes.dialogue.turns import ConversationTurns, check_turn, item_from_turn, turn_from_item
from foreword.store.base import Delete, Store
from foreword.types import ROLES, Item, Turn


@pytest.fixture
def conversation(engine):
    return ConversationTurns(engine.store, "bakery", "c-1", find_entities)


@pytest.fixture
def keep(engine, clock):
    """Keeps turns behind the back of whoever follows, a minute apart."""

    def keep_turns(*texts):
        for text in texts:
            clock.advance(minutes=1)
            engine.store.put("bakery", [item_from_turn(Turn(text, timestamp=clock.now), "bakery", "c-1")])

    return keep_turns


def texts(conversation):
    return [turn.text for turn in conversation.state().turns]


def test_what_is_kept_and_forgotten_is_followed(engine, conversation, keep):
    assert not conversation.has_turns()
    keep("one", "two", "three")
    assert conversation.has_turns()
    assert texts(conversation) == ["one", "two", "three"]
    ids = [turn.turn_id for turn in conversation.state().turns]
    for gone, left in ((1, ["one", "three"]), (2, ["one"]), (0, [])):
        engine.store.delete(Delete("bakery", (ids[gone],)))
        assert texts(conversation) == left
    keep("four")
    assert texts(conversation) == ["four"]


def test_as_much_forgotten_as_kept_is_noticed(engine, conversation, keep):
    keep("one", "two", "three")
    first, _, last = (turn.turn_id for turn in conversation.state().turns)
    engine.store.delete(Delete("bakery", (last,)))
    keep("four")
    assert texts(conversation) == ["one", "two", "four"]
    engine.store.delete(Delete("bakery", (first,)))
    keep("five")
    assert texts(conversation) == ["two", "four", "five"]


def test_ids_that_are_not_known_yet_are_looked_for(conversation, engine, keep):
    keep("one")
    [item] = engine.store.scan("bakery")
    turn, nobody = conversation.find_by_ids([item.id, "nobody"])
    assert (turn.text, nobody) == ("one", None)


def test_many_pages_are_read(engine, conversation, clock):
    turns = [Turn(f"turn {n}", timestamp=clock.advance(seconds=1)) for n in range(2_000)]
    engine.store.put("bakery", [item_from_turn(turn, "bakery", "c-1") for turn in turns])
    assert texts(conversation) == [turn.text for turn in turns]


def test_a_store_that_cannot_be_asked_is_an_error_and_not_an_empty_conversation(engine, conversation, keep):
    keep("one")
    assert texts(conversation) == ["one"]
    engine.store.close()
    with pytest.raises(StorageError):
        conversation.state()


def test_a_store_that_knows_no_short_way_to_tell_is_followed_too(engine, keep):
    class Plain(Store):
        def batch(self, operations):
            return engine.store.batch(operations)

        def workspaces(self):
            return engine.store.workspaces()

        def close(self):
            pass

    followed = ConversationTurns(Plain(), "bakery", "c-1", find_entities)
    keep("one", "two")
    gone = followed.state().turns[0].turn_id
    engine.store.delete(Delete("bakery", (gone,)))
    assert texts(followed) == ["two"]


def test_to_see_that_nothing_has_changed_is_quick_in_a_long_conversation(engine, conversation, clock):
    turns = [Turn(f"turn {n}", timestamp=clock.advance(seconds=1)) for n in range(1_000)]
    engine.store.put("bakery", [item_from_turn(turn, "bakery", "c-1") for turn in turns])
    conversation.state()
    taken = []
    for _ in range(20):
        started = time.thread_time()
        conversation.state()
        taken.append(time.thread_time() - started)
    assert min(taken) < 0.001


# Turns as items

NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
CALL = {"id": "c1", "function": {"name": "stock", "arguments": '{"cake": "plum"}'}}
WORDS = st.text(min_size=1, max_size=20).filter(str.strip)


@given(
    st.builds(
        Turn,
        WORDS,
        st.sampled_from(ROLES),
        turn_id=st.sampled_from(("a", "b")),
        name=st.sampled_from(("", "Ben")),
        corrected_text=st.none() | WORDS,
        timestamp=st.just(NOON),
        speech_act=st.sampled_from((None, "question")),
        tool_calls=st.sampled_from(((), (CALL,))),
        call_id=st.sampled_from(("", "c1")),
    )
)
def test_a_turn_comes_back_from_its_item_as_it_was(turn):
    again = turn_from_item(item_from_turn(check_turn(turn), "bakery", "c-1"))
    kept = replace(turn, corrected_text=None) if turn.corrected_text == turn.raw_text else turn
    assert again == kept


def test_a_call_without_words_is_kept_in_words_that_can_be_found():
    turn = Turn("", "assistant", tool_calls=(CALL,), timestamp=NOON)
    item = item_from_turn(turn, "bakery", "c-1")
    assert item.text == '(calls stock {"cake": "plum"})'
    assert turn_from_item(item).text == ""


def test_an_item_that_no_session_wrote_is_what_its_user_said():
    item = Item("Hello", "bakery", kind="turn", id="a", created_at=NOON, metadata={"role": "bot"})
    assert turn_from_item(item) == Turn("Hello", "user", "a", timestamp=NOON)


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=5))])
def test_any_time_zone_will_do(zone):
    assert check_turn(Turn("Hello", timestamp=NOON.astimezone(zone)))
