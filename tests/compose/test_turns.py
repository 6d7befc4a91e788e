from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from foreword.compose.turns import (
    ToolCall,
    TurnStyle,
    TurnWording,
    remove_needless_whitespace,
    sort_by_conversation_order,
    tool_calls,
    turn_blocks_from_end,
    turn_identity,
)
from foreword.types import Turn

USER, ASKS, ANSWER, SAYS = (
    Turn("Hello.", "user"),
    Turn("Let me see.", "assistant"),
    Turn("42", "tool"),
    Turn("It is 42.", "assistant"),
)


@pytest.fixture
def wording(tokens):
    return TurnWording(tokens)


def test_turns_that_belong_together_come_at_once_from_the_newest_back():
    assert list(turn_blocks_from_end([USER, ASKS, ANSWER, ANSWER, SAYS])) == [
        (4, [SAYS]),
        (1, [ASKS, ANSWER, ANSWER]),
        (0, [USER]),
    ]


def test_answers_that_nobody_asked_for_stand_alone():
    assert list(turn_blocks_from_end([ANSWER, USER, ANSWER])) == [(2, [ANSWER]), (1, [USER]), (0, [ANSWER])]


def test_only_turns_before_the_end_come():
    assert list(turn_blocks_from_end([USER, ASKS, SAYS], 2)) == [(1, [ASKS]), (0, [USER])]


def test_silence_does_not_come():
    silent = Turn(" " * 500 + "\u200b")
    assert list(turn_blocks_from_end([USER, silent])) == [(0, [USER])]
    assert list(turn_blocks_from_end([Turn(" " * 500 + "word")]))


def test_a_line_says_when_and_who_as_far_as_it_is_wanted_and_known(wording):
    turn = Turn("Hello.", timestamp=datetime(2026, 3, 1, 9, 5, tzinfo=UTC))
    assert (
        wording.format_if_fits(turn, TurnStyle(day=True, time=True), 99).formatted == "[09:05] User: Hello."
    )
    assert wording.format_if_fits(USER, TurnStyle(day=True, time=True), 99).formatted == "User: Hello."
    assert wording.format_if_fits(USER, TurnStyle(speaker=False), 99).formatted == "Hello."


def test_a_turn_that_does_not_fit_is_not_worded_unless_it_may_be_shortened(wording, tokens):
    long = Turn("One line.\n" * 300)
    assert wording.format_if_fits(long, TurnStyle(), 60) is None
    short = wording.shorten(long, TurnStyle(), 60)
    assert tokens.count(short.formatted) == short.tokens <= 60
    assert "characters left out" in short.content
    assert wording.shorten(long, TurnStyle(), 12) is None


def test_empty_space_goes_and_the_shape_of_code_stays(wording, tokens):
    turn = wording.format_if_fits(Turn("def f():\n\n\n    return  1   \n"), TurnStyle(), 99)
    made = remove_needless_whitespace(turn, tokens)
    assert made.formatted == "User: def f():\n      return 1"
    assert made.tokens == tokens.count(made.formatted) < turn.tokens


def test_copies_of_a_turn_are_the_same():
    assert turn_identity(Turn("a", turn_id="t1")) == turn_identity(Turn("b", turn_id="t1"))
    assert turn_identity(Turn("a")) == turn_identity(Turn("a")) != turn_identity(Turn("b"))


def test_turns_are_ordered_by_their_place_and_before_it_by_their_time(wording):
    first, second = Turn("1", turn_id="t1"), Turn("2", turn_id="t2")
    early = Turn("e", timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    late = Turn("l", timestamp=datetime(2026, 1, 2))  # noqa: DTZ001
    worded = [wording.format_if_fits(turn, TurnStyle(), 9) for turn in (second, late, first, early)]
    assert [each.content for each in sort_by_conversation_order(worded, [first, second])] == [
        "e",
        "l",
        "1",
        "2",
    ]


# Tool calls


def calls(*written):
    return tool_calls(Turn("", "assistant", tool_calls=written))


def test_both_forms_of_a_call_are_read():
    openai = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"for": "seats"}'}}
    anthropic = {"type": "tool_use", "id": "c1", "name": "find", "input": {"for": "seats"}}
    assert calls(openai) == calls(anthropic) == (ToolCall("c1", "find", '{"for": "seats"}'),)
    assert calls(openai)[0].input == {"for": "seats"}


def test_what_is_no_call_is_passed_over():
    assert calls({}, {"id": "c1"}, {"function": "find"}, {"function": {"arguments": "{}"}}) == ()


def test_arguments_that_are_no_json_object_are_kept_as_they_are():
    (call,) = calls({"id": "c1", "function": {"name": "say", "arguments": "just words"}})
    assert call.input == {"arguments": "just words"}
    (none,) = calls({"id": "c2", "name": "now"})
    assert none.input == {}


def test_long_arguments_are_told_by_how_they_begin_and_stay_json():
    written = json.dumps({"path": "src/seats.py", "text": "x" * 5000})
    (call,) = calls({"id": "c1", "function": {"name": "write", "arguments": written}})
    assert len(call.arguments) < 600
    assert call.input["beginning"].startswith('{"path": "src/seats.py"')
    assert call.input["left_out"] == f"{len(written) - 300:,} characters"


def test_what_cannot_be_written_as_json_or_sent_is_made_so():
    (call,) = calls({"id": 7, "name": "find\ud800", "input": {"when": {1}, "what": "\udfff"}})
    assert call == ToolCall("7", "find", '{"when": "{1}", "what": ""}')
