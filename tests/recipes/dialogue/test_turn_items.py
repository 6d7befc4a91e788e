from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.recipes.dialogue.turns import check_turn, item_turn, turn_item
from foreword.types import ROLES, Item, Turn

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
    again = item_turn(turn_item(check_turn(turn), "bakery", "c-1"))
    kept = replace(turn, corrected_text=None) if turn.corrected_text == turn.raw_text else turn
    assert again == kept


def test_a_call_without_words_is_kept_in_words_that_can_be_found():
    turn = Turn("", "assistant", tool_calls=(CALL,), timestamp=NOON)
    item = turn_item(turn, "bakery", "c-1")
    assert item.text == '(calls stock {"cake": "plum"})'
    assert item_turn(item).text == ""


def test_an_item_that_no_session_wrote_is_what_its_user_said():
    item = Item("Hello", "bakery", kind="turn", id="a", created_at=NOON, metadata={"role": "bot"})
    assert item_turn(item) == Turn("Hello", "user", "a", timestamp=NOON)


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=5))])
def test_any_time_zone_will_do(zone):
    assert check_turn(Turn("Hello", timestamp=NOON.astimezone(zone)))
