from __future__ import annotations

import json
import re
import secrets
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.capture.agent import (
    MAX_SPOKEN_CHARACTERS,
    MAX_TEXT_CHARACTERS,
    AgentEvent,
    answer_text,
    first_text_on_one_line,
    items_from_event,
    json_object_or_text,
    limit_and_clean_json,
    parse_hook_event,
    read_first_text,
    read_outcome,
)
from foreword.capture.item_checks import check_item
from foreword.capture.session_secrets import SessionSecrets
from foreword.text.frame import wrap_in_frame
from foreword.types import Source, content_hash

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)

words = st.text(max_size=20)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=10,
)
FIELDS = [
    "hook_event_name",
    "session_id",
    "cwd",
    "prompt",
    "tool_name",
    "tool_input",
    "tool_response",
    "tool_output",
    "error",
    "source",
    "last_assistant_message",
    "prompt_response",
    "stop_hook_active",
]
NAMES = [
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "AfterTool",
    "Stop",
    "PostCompact",
    "SessionStart",
]
TOOLS = ["Bash", "Edit", "Write", "apply_patch", "WebFetch", "Read", "mcp__x__y", "Task", "shell"]


def read(**body):
    return parse_hook_event(json.dumps(body).encode(), NOW, "claude-code")


def turns_of(**body):
    return items_from_event(read(**body), "shop")


def turns_of_tool(tool, given, answer, **more):
    return turns_of(
        hook_event_name="PostToolUse",
        session_id="s1",
        cwd="/work/shop",
        tool_name=tool,
        tool_input=given,
        tool_response=answer,
        **more,
    )


# Reading


def test_an_event_is_read_field_by_field():
    event = read(
        hook_event_name="PostToolUse",
        session_id="s1",
        transcript_path="/tmp/t.jsonl",
        cwd="/work/shop",
        permission_mode="default",
        tool_name="Bash",
        tool_input={"command": "make", "description": "Build"},
        tool_use_id="t1",
        tool_response={"stdout": "built", "stderr": "careful", "interrupted": False, "isImage": False},
        duration_ms=12,
    )
    assert event == AgentEvent(
        name="PostToolUse",
        at=NOW,
        session="s1",
        folder="/work/shop",
        agent="claude-code",
        tool="Bash",
        tool_input={"command": "make", "description": "Build"},
        tool_output="built\ncareful",
    )


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("BeforeAgent", "UserPromptSubmit"),
        ("BeforeTool", "PreToolUse"),
        ("AfterTool", "PostToolUse"),
        ("AfterAgent", "Stop"),
        ("PreCompress", "PreCompact"),
        ("SessionStart", "SessionStart"),
        ("SessionEnd", "SessionEnd"),
        ("PostCompact", "PostCompact"),
        ("TeammateIdle", "TeammateIdle"),
    ],
)
def test_every_agents_events_have_our_names(theirs, ours):
    assert read(hook_event_name=theirs).name == ours


def test_where_a_session_comes_from_and_whether_a_stop_is_a_second_one_are_read():
    assert read(hook_event_name="SessionStart", source="compact").source == "compact"
    assert read(hook_event_name="Stop", stop_hook_active=True).stop_hook_active
    assert not read(hook_event_name="Stop", stop_hook_active="true").stop_hook_active


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"prompt": "hello"}, "UserPromptSubmit"),
        ({"tool_name": "Bash", "tool_response": "x"}, "PostToolUse"),
        ({"tool_name": "Bash"}, "PreToolUse"),
        ({"last_assistant_message": "done"}, "Stop"),
    ],
)
def test_an_event_without_a_name_is_known_by_what_it_carries(body, name):
    assert read(**body).name == name


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"1",
        b'"text"',
        b"{}",
        b'{"cwd": "/x"}',
        b"\xff\xfe",
        b"[" * 100_000,
        b"1" * 5_000,
    ],
)
def test_what_cannot_be_used_is_no_event(payload):
    assert parse_hook_event(payload, NOW) is None


def test_a_byte_order_mark_and_broken_utf8_do_not_matter():
    assert parse_hook_event(b'\xef\xbb\xbf{"prompt": "caf\xc3\xa9"}', NOW).prompt == "café"
    assert parse_hook_event(b'{"prompt": "caf\xe9"}', NOW).prompt == "caf�"


def test_nul_and_half_characters_are_cleaned():
    event = parse_hook_event(b'{"prompt": "a\\u0000b\\ud83dc", "session_id": "s\\u0000\\udc00"}', NOW)
    assert (event.prompt, event.session) == ("ab?c", "s?")
    check_item(items_from_event(event, "w")[0])


def test_a_naive_moment_is_read_as_utc():
    assert parse_hook_event(b'{"prompt": "x"}', datetime(2026, 1, 1)).at == datetime(2026, 1, 1, tzinfo=UTC)  # noqa: DTZ001


def test_a_huge_field_is_cut_and_says_so():
    event = read(hook_event_name="PostToolUse", tool_name="Bash", tool_response={"stdout": "x" * 3_000_000})
    assert len(event.tool_output) < 1_000_100
    assert "[… 2,000,001 characters left out …]" in event.tool_output


def test_a_deep_or_wide_input_is_cut():
    deep = "leaf"
    for _ in range(100):
        deep = {"a": deep}
    event = read(
        hook_event_name="PreToolUse", tool_name="x", tool_input={"deep": deep, "wide": list(range(100_000))}
    )
    assert "leaf" not in json.dumps(event.tool_input)
    assert len(event.tool_input["wide"]) < 3_000


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, ""),
        ("plain", "plain"),
        ({"stdout": "out", "stderr": ""}, "out"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ({"content": [{"type": "text", "text": "one"}, {"type": "image", "data": "AAAA"}]}, "one"),
        ({"llmContent": "said", "returnDisplay": "shown"}, "said"),
        ({"output": "out", "metadata": {"exit_code": 0}}, "out"),
        ('{"output": "out", "metadata": {"exit_code": 0}}', "out"),
        ({"error": "no such file"}, "no such file"),
        ({"result": {"text": "deep"}}, "deep"),
        ({"filePath": "/x"}, '{"filePath": "/x"}'),
        (True, "true"),
        ({}, ""),
    ],
)
def test_the_answer_of_a_tool_becomes_text_whatever_its_shape(answer, text):
    assert read(hook_event_name="PostToolUse", tool_name="x", tool_response=answer).tool_output == text


@pytest.mark.parametrize(
    ("body", "ended"),
    [
        ({"tool_response": {"stdout": "x", "interrupted": True}}, "interrupted"),
        ({"tool_response": {"output": "x", "metadata": {"exit_code": 2}}}, "exit 2"),
        ({"tool_response": '{"output": "x", "metadata": {"exit_code": 0}}'}, "exit 0"),
        ({"tool_response": {"llmContent": "Command: make\nExit Code: 1\nSignal: none"}}, "exit 1"),
        ({"tool_response": {"isError": True, "content": "x"}}, "failed"),
        ({"tool_response": {"success": False}}, "failed"),
        ({"tool_response": {"result": "page", "code": 200}}, ""),
        ({"hook_event_name": "PostToolUseFailure", "error": "Exit code 2\nno rule"}, "exit 2"),
        ({"hook_event_name": "PostToolUseFailure", "error": "denied"}, "failed"),
        ({"tool_response": {"stdout": "x"}}, ""),
    ],
)
def test_how_a_call_ended_is_read_where_it_is_said(body, ended):
    assert read(**{"hook_event_name": "PostToolUse", "tool_name": "Bash"} | body).outcome == ended


def test_arguments_that_come_as_text_are_read():
    event = read(hook_event_name="PreToolUse", tool_name="shell", tool_input='{"command": "make"}')
    assert event.tool_input == {"command": "make"}
    assert read(hook_event_name="PreToolUse", tool_name="x", tool_input="free").tool_input == {
        "input": "free"
    }


@given(st.binary())
def test_bytes_never_break_the_reader(payload):
    event = parse_hook_event(payload, NOW)
    assert event is None or isinstance(event, AgentEvent)


@given(
    st.dictionaries(st.sampled_from(FIELDS) | words, anything, max_size=8),
    st.sampled_from(NAMES),
    st.sampled_from(TOOLS),
)
def test_json_of_any_shape_never_breaks_the_reader_and_leaves_only_sound_items(body, name, tool):
    for event in (
        parse_hook_event(json.dumps(body).encode(), NOW),
        parse_hook_event(json.dumps(body | {"hook_event_name": name, "tool_name": tool}).encode(), NOW),
    ):
        assert all(check_item(item) == item for item in (items_from_event(event, "w") if event else []))


# What is left of an event


def test_a_prompt_becomes_a_turn_of_the_user():
    (item,) = turns_of(hook_event_name="UserPromptSubmit", session_id="s1", prompt="Cap the retries at five.")
    assert (item.text, item.kind, item.workspace) == ("Cap the retries at five.", "turn", "shop")
    assert (item.session, item.conversation, item.created_at) == ("s1", "s1", NOW)
    assert (item.about, item.source) == ("user", Source("user", "user"))
    assert item.metadata == {"agent": "claude-code"}


@pytest.mark.parametrize(
    "body",
    [
        {"hook_event_name": "Stop", "last_assistant_message": "The retries are capped."},
        {
            "hook_event_name": "AfterAgent",
            "prompt": "Cap them.",
            "prompt_response": "The retries are capped.",
        },
        {"hook_event_name": "PostCompact", "trigger": "manual", "compact_summary": "The retries are capped."},
        {
            "hook_event_name": "Stop",
            "last_assistant_message": [{"type": "text", "text": "The retries are capped."}],
        },
    ],
)
def test_an_answer_becomes_a_turn_of_the_agent(body):
    (item,) = turns_of(**body)
    assert (item.text, item.about) == ("The retries are capped.", "assistant")
    assert item.source == Source("agent", "agent")
    assert item.session is None


def test_a_call_and_its_result_become_one_turn_of_the_tool():
    answer = {"stdout": "2 failed, 40 passed in 3.2s", "stderr": "", "interrupted": False}
    (item,) = turns_of_tool("Bash", {"command": "pytest -q", "description": "Run the tests"}, answer)
    assert item.text == "$ pytest -q\n2 failed, 40 passed in 3.2s"
    assert (item.about, item.source) == ("Bash, Run the tests", Source("tool:Bash", "tool"))
    assert item.metadata == {"agent": "claude-code", "tool": "Bash"}


def test_a_changed_file_is_named_as_in_its_folder():
    (item,) = turns_of_tool(
        "Edit", {"file_path": "/work/shop/pay/adapter.py", "old_string": "a", "new_string": "b"}, {}
    )
    assert item.about == "Edit, pay/adapter.py"
    assert item.metadata["file"] == "pay/adapter.py"


@pytest.mark.parametrize(
    "name", ["PreToolUse", "SessionStart", "SessionEnd", "PreCompact", "PostToolBatch", "Other"]
)
def test_other_events_leave_nothing(name):
    assert (
        turns_of(hook_event_name=name, prompt="x y z", last_assistant_message="x y z", tool_name="Bash") == []
    )


@pytest.mark.parametrize("prompt", ["thanks!", "/clear", "<system-reminder>boot</system-reminder>", ""])
def test_a_prompt_that_tells_nothing_leaves_nothing(prompt):
    assert turns_of(hook_event_name="UserPromptSubmit", prompt=prompt) == []


def test_what_was_injected_is_never_captured_as_new():
    injected = wrap_in_frame("- We chose Postgres.")
    assert turns_of(hook_event_name="UserPromptSubmit", prompt=injected) == []
    (item,) = turns_of(hook_event_name="UserPromptSubmit", prompt=f"{injected}\nWhy not MySQL?")
    assert item.text == "Why not MySQL?"
    assert turns_of(hook_event_name="Stop", last_assistant_message=injected) == []
    (item,) = turns_of_tool("Bash", {"command": "make check"}, {"stdout": f"ok so far\n{injected}"})
    assert "Postgres" not in item.text
    (item,) = turns_of_tool(
        "Write", {"file_path": "/work/shop/n.md", "content": f"# Notes\n{injected}\nEnd."}, {}
    )
    assert "Postgres" not in item.text


def test_a_long_prompt_keeps_both_ends():
    prompt = "FIRST " + "word " * 200_000 + "LAST"
    (item,) = turns_of(hook_event_name="UserPromptSubmit", prompt=prompt)
    assert len(item.text) < MAX_SPOKEN_CHARACTERS + 100
    assert item.text.startswith("FIRST")
    assert item.text.endswith("LAST")
    assert "characters left out" in item.text


def test_secrets_and_private_words_are_gone_before_a_turn_is_made():
    key = "ghp_" + secrets.token_hex(18)
    (item,) = turns_of(
        hook_event_name="UserPromptSubmit", prompt=f"Use {key} here. <private>my salary</private> Go east."
    )
    assert key not in item.text
    assert "salary" not in item.text
    assert "Go east." in item.text
    (item,) = turns_of_tool("Bash", {"command": f"deploy --token {key}"}, {"stdout": f"token {key} accepted"})
    assert key not in item.text
    (item,) = turns_of_tool("Write", {"file_path": "/work/shop/.env", "content": f"GITHUB_TOKEN={key}\n"}, {})
    assert key not in item.text


def test_a_secret_at_the_place_of_the_cut_is_still_known_as_one():
    key = "ghp_" + secrets.token_hex(18)
    head = MAX_SPOKEN_CHARACTERS * 2 // 3
    prompt = ("a " * head)[: head - 20] + f" {key} " + "b " * MAX_SPOKEN_CHARACTERS
    (item,) = turns_of(hook_event_name="UserPromptSubmit", prompt=prompt)
    assert key[:16] not in item.text


def test_a_secret_where_a_very_long_text_or_a_label_is_cut_leaves_nothing():
    key = "ghp_" + secrets.token_hex(18)
    head = MAX_TEXT_CHARACTERS * 2 // 3
    text = "a " * (head // 2 - 10) + key + " b" * (MAX_TEXT_CHARACTERS // 2)
    body = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": text}}
    event = parse_hook_event(json.dumps({**body, "cwd": "/" + "d" * 3_980 + f" {key}"}).encode(), NOW)
    assert key[:12] not in event.tool_input["command"]
    assert key[:12] not in event.folder


def test_folders_whose_names_look_like_secrets_stay_apart(tmp_path):
    keys = ["ghp_" + secrets.token_hex(18) for _ in range(2)]
    here = [tmp_path / key for key in keys]
    for folder in here:
        folder.mkdir()
    elsewhere = [f"/elsewhere/{key}/src" for key in keys]

    def folder_of(path):
        body = {"hook_event_name": "UserPromptSubmit", "prompt": f"In {path}", "cwd": str(path)}
        return parse_hook_event(json.dumps(body).encode(), NOW, secrets=SessionSecrets()).folder

    assert [folder_of(path) for path in here] == list(map(str, here)), "the user's own name for it"
    named = [folder_of(path) for path in elsewhere]
    assert len(set(named)) == 2
    assert not any(key[4:] in name for key in keys for name in named)
    assert [folder_of(path) for path in named] == named, "an event that waited is named as before"


def test_the_same_payload_at_the_same_moment_is_the_same_item():
    one, two = (
        turns_of(hook_event_name="UserPromptSubmit", session_id="s", prompt="Run it.")[0] for _ in range(2)
    )
    assert content_hash(one) == content_hash(two)


# JSON of any shape


@given(anything)
def test_any_json_becomes_sound_json_and_text(value):
    made = limit_and_clean_json(json.loads(json.dumps(value)))
    assert json.dumps(made, ensure_ascii=False).encode().decode()
    assert answer_text(made).encode().decode() == answer_text(made)
    assert re.fullmatch(r"(exit -?\d+|failed|interrupted)?", read_outcome(made, answer_text(made)))


@given(st.dictionaries(st.sampled_from(["a", "b"]), anything))
def test_labels_are_short_lines_and_words_are_text(body):
    said = first_text_on_one_line(body, "a", "b")
    assert "\n" not in said
    assert len(said) <= 4_000
    assert isinstance(read_first_text(body, "a", "b"), str)


def test_small_values_pass_unchanged():
    value = {"a": [1, 2.5, None, True, "é"], "b": {"c": "d"}}
    assert limit_and_clean_json(value) == value


def test_texts_keys_depth_and_width_are_bounded():
    assert len(limit_and_clean_json("x" * (MAX_TEXT_CHARACTERS * 2))) < MAX_TEXT_CHARACTERS + 100
    assert max(map(len, limit_and_clean_json({"k" * 10_000: 1}))) == 4_000
    assert len(limit_and_clean_json([1] * 10_000)) <= 2_000
    nested = []
    for _ in range(500):
        nested = [nested]
    assert json.dumps(limit_and_clean_json(nested)).count("[") < 12


def test_only_an_object_is_read_from_a_text():
    assert json_object_or_text(' {"a": 1}') == {"a": 1}
    assert json_object_or_text("[1]") == "[1]"
    assert json_object_or_text("{not json") == "{not json"
    assert json_object_or_text('{"a":' * 50_000) == '{"a":' * 50_000
