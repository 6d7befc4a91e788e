"""The turns of a conversation are those that the workspace keeps, whoever kept or forgot them."""

from __future__ import annotations

import time

import pytest

from foreword.capture.names.entities import find_entities
from foreword.errors import StorageError
from foreword.recipes.dialogue.turns import ConversationTurns, turn_item
from foreword.store.base import Delete, Store
from foreword.types import Turn


@pytest.fixture
def followed(engine):
    return ConversationTurns(engine.store, "bakery", "c-1", find_entities)


@pytest.fixture
def keep(engine, clock):
    """Keeps turns behind the back of whoever follows, a minute apart."""

    def kept(*texts):
        for text in texts:
            clock.advance(minutes=1)
            engine.store.put("bakery", [turn_item(Turn(text, timestamp=clock.now), "bakery", "c-1")])

    return kept


def texts(followed):
    return [turn.text for turn in followed.state().turns]


def test_what_is_kept_and_forgotten_is_followed(engine, followed, keep):
    assert not followed.has_turns()
    keep("one", "two", "three")
    assert followed.has_turns()
    assert texts(followed) == ["one", "two", "three"]
    ids = [turn.turn_id for turn in followed.state().turns]
    for gone, left in ((1, ["one", "three"]), (2, ["one"]), (0, [])):
        engine.store.delete(Delete("bakery", (ids[gone],)))
        assert texts(followed) == left
    keep("four")
    assert texts(followed) == ["four"]


def test_as_much_forgotten_as_kept_is_noticed(engine, followed, keep):
    keep("one", "two", "three")
    first, _, last = (turn.turn_id for turn in followed.state().turns)
    engine.store.delete(Delete("bakery", (last,)))
    keep("four")
    assert texts(followed) == ["one", "two", "four"]
    engine.store.delete(Delete("bakery", (first,)))
    keep("five")
    assert texts(followed) == ["two", "four", "five"]


def test_ids_that_are_not_known_yet_are_looked_for(followed, engine, keep):
    keep("one")
    [item] = engine.store.scan("bakery")
    turn, nobody = followed.find([item.id, "nobody"])
    assert (turn.text, nobody) == ("one", None)


def test_many_pages_are_read(engine, followed, clock):
    turns = [Turn(f"turn {n}", timestamp=clock.advance(seconds=1)) for n in range(2_000)]
    engine.store.put("bakery", [turn_item(turn, "bakery", "c-1") for turn in turns])
    assert texts(followed) == [turn.text for turn in turns]


def test_a_store_that_cannot_be_asked_is_an_error_and_not_an_empty_conversation(engine, followed, keep):
    keep("one")
    assert texts(followed) == ["one"]
    engine.store.close()
    with pytest.raises(StorageError):
        followed.state()


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


def test_to_see_that_nothing_has_changed_is_quick_in_a_long_conversation(engine, followed, clock):
    turns = [Turn(f"turn {n}", timestamp=clock.advance(seconds=1)) for n in range(1_000)]
    engine.store.put("bakery", [turn_item(turn, "bakery", "c-1") for turn in turns])
    followed.state()
    taken = []
    for _ in range(20):
        started = time.thread_time()
        followed.state()
        taken.append(time.thread_time() - started)
    assert min(taken) < 0.001
