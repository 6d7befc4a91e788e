from __future__ import annotations

import json

from foreword.compose.turns import ToolCall, tool_calls
from foreword.types import Turn


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
