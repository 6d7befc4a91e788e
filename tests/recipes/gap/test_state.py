"""States and messages of every shape are read; what cannot be read is passed over and noted."""

from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foreword.recipes.gap.state import (
    fields_by_name,
    get_value,
    read_message,
    read_messages,
    state_keys,
    value_as_text,
)
from foreword.text.frame import wrap_in_frame


def read(one):
    return read_message(one, 0)


@pytest.mark.parametrize(
    ("one", "role", "name", "text"),
    [
        ("hello", "agent", "", "hello"),
        ("dev: hello", "agent", "dev", "hello"),
        ("user: hello", "user", "", "hello"),
        (("human", "hello"), "user", "", "hello"),
        (["assistant", "hello"], "agent", "", "hello"),
        ({"role": "user", "content": "hello"}, "user", "", "hello"),
        ({"role": "analyst", "content": "hello"}, "agent", "analyst", "hello"),
        ({"type": "ai", "content": "hello", "name": "dev"}, "agent", "dev", "hello"),
        ({"role": "tool", "name": "grep", "text": "hello"}, "tool", "grep", "hello"),
        ({"content": [{"type": "text", "text": "hel"}, "lo"]}, "agent", "", "hel\nlo"),
        ({"content": [{"type": "image", "url": "x"}, {"type": "text", "text": "hi"}]}, "agent", "", "hi"),
        ({"content": "hello", "additional_kwargs": {"agent": "pm"}}, "agent", "pm", "hello"),
        (SimpleNamespace(type="ai", content="hello", name=None), "agent", "", "hello"),
        (SimpleNamespace(content="hello", type=object()), "agent", "", "hello"),
    ],
)
def test_a_message_is_read_whatever_its_shape(one, role, name, text):
    message = read(one)
    assert (message.role, message.name, message.text) == (role, name, text)


@pytest.mark.parametrize("one", [None, 42, b"bytes", {}, {"role": "user"}, ("a",), ("a", 1), object(), ""])
def test_what_is_no_message_is_passed_over(one):
    assert read(one) is None


@pytest.mark.parametrize(
    "one",
    [
        "I need more information: when do tokens expire?",
        "Blocked: nobody gave me the rates.",
        "Open question: who signs?",
        "Missing so far: the seat count.",
    ],
)
def test_what_an_agent_says_before_a_colon_is_not_its_name(one):
    message = read_message(one, 0)
    assert (message.name, message.text) == ("", one)


@pytest.mark.parametrize("name", ["dev", "Product Owner", "search agent", "judge", "QA-2"])
def test_a_name_before_a_colon_is_the_speakers(name):
    message = read_message(f"{name}: the tests pass", 0)
    assert (message.name, message.text) == (name, "the tests pass")


def test_the_real_messages_of_langchain_are_read():
    lc = pytest.importorskip("langchain_core.messages")
    said = [
        lc.HumanMessage("hi"),
        lc.AIMessage("hello", name="dev", additional_kwargs={"clarification_needed": True}),
        lc.ToolMessage("3 rows", name="sql", tool_call_id="1"),
        lc.SystemMessage("be kind"),
        lc.AIMessage([{"type": "text", "text": "in parts"}]),
        lc.AIMessage("", tool_calls=[{"name": "grep", "args": {}, "id": "2"}]),
    ]
    conversation = read_messages({"messages": said})
    assert [m.role for m in conversation.messages] == ["user", "agent", "tool", "system", "agent", "agent"]
    assert conversation.messages[1].flags == {"clarification_needed": True}
    assert conversation.messages[4].text == "in parts"
    assert conversation.messages[5].calls_tools
    assert conversation.notes == ()


def test_malformed_messages_leave_a_note_and_the_rest():
    conversation = read_messages({"messages": ["one", None, {"role": "x"}, "two"]})
    assert [message.text for message in conversation.messages] == ["one", "two"]
    assert [message.position for message in conversation.messages] == [0, 3]
    assert "2 could not be read" in conversation.notes[0].message
    assert "1, 2" in conversation.notes[0].message


def test_a_message_that_raises_when_it_is_read_is_passed_over():
    class Trap:
        @property
        def content(self):
            raise RuntimeError("not today")

    conversation = read_messages({"messages": [Trap(), "two"]})
    assert [message.text for message in conversation.messages] == ["two"]
    assert conversation.notes


def test_messages_that_are_no_list_are_noted():
    for odd in ("text", 7, {"a": 1}):
        conversation = read_messages({"messages": odd})
        assert conversation.messages == ()
        assert "not a list" in conversation.notes[0].message


def test_only_the_newest_are_read_when_so_asked():
    conversation = read_messages({"messages": [f"m{at}" for at in range(9)]}, last=3)
    assert [message.text for message in conversation.messages] == ["m6", "m7", "m8"]
    assert [message.position for message in conversation.messages] == [6, 7, 8]


def test_what_was_injected_is_not_taken_for_what_was_said():
    said = read(f"Before. {wrap_in_frame('I need more information')} After.").text
    assert said.split() == ["Before.", "After."]


def test_a_state_may_be_any_mapping_or_an_object():
    @dataclass
    class Held:
        task: str = "export"
        messages: list = field(default_factory=lambda: ["hi"])

    for state in ({"task": "export"}, UserDict(task="export"), MappingProxyType({"task": "export"}), Held()):
        assert get_value(state, "task") == "export"
        assert "task" in state_keys(state)
        assert get_value(state, "absent") is None
    assert read_messages(Held()).messages[0].text == "hi"
    assert state_keys(7) == []


def test_a_pydantic_state_is_read_by_its_fields():
    pydantic = pytest.importorskip("pydantic")

    class State(pydantic.BaseModel):
        task: str = "export"
        messages: list = ["hi"]  # noqa: RUF012

    assert get_value(State(), "task") == "export"
    assert state_keys(State()) == ["task", "messages"]
    assert fields_by_name(State())["messages"] == ["hi"]
    assert "task: export" in value_as_text(State())


def test_any_value_has_a_text():
    assert value_as_text({"a": "x", "b": [1, "y"], "c": None, "d": True}) == "a: x\nb: 1\ny"
    assert value_as_text(object()) == ""
    endless = []
    endless.append(endless)
    assert value_as_text(endless) == ""


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "type", "content", "text", "name", "metadata", "tool_calls", "x"]),
        inner,
        max_size=4,
    ),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=500)
@given(st.lists(ODD, max_size=4))
def test_no_list_of_anything_makes_reading_fail(listed):
    conversation = read_messages({"messages": listed})
    assert len(conversation.messages) <= len(listed)
    assert (len(conversation.messages) < len(listed)) == bool(conversation.notes)
