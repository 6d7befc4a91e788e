"""Reads the state of a graph of agents, whatever its shape, without importing the libraries it comes from.

A state is a mapping or an object with attributes. A message is an object like LangChain's, a dict with text
or parts, a pair of role and text, or a string. Nothing here raises: what cannot be read is skipped and noted.
Other modules interpret the messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from foreword.recipes.gap.vocabulary import group_of_word
from foreword.text.clean import remove_invisible
from foreword.text.frame import remove_frames
from foreword.types import Note

Role = Literal["user", "agent", "tool", "system"]

MAX_MESSAGE_CHARACTERS = 8_000
"""At most how much of a message is read, half from its start and half from its end."""

MAX_DEPTH = 6
"""At most how many levels of a state's values are read."""

_ROLE_NAMES: Mapping[Role, tuple[str, ...]] = {
    "user": ("user", "human"),
    "agent": ("agent", "ai", "aimessagechunk", "assistant", "model"),
    "tool": ("tool", "function"),
    "system": ("system", "developer"),
}
_ROLES = {name: role for role, names in _ROLE_NAMES.items() for name in names}
_NAMED_STRING = re.compile(r"(?P<name>[A-Za-z][\w .-]{0,40}):\s+(?P<text>\S.*)", re.DOTALL)
_NOT_IN_NAMES = frozenset(
    ("I", "WE", "YOU", "NOT", "NO", "NOTHING", "WITHOUT", "WH", "VAGUE", "LACK", "ENOUGH", "ASK", "HOLD")
)
"""Words before a colon are no speaker's name if one of them is in these groups."""

_FLAG_KEYS = ("clarification_needed", "missing_context")
_METADATA_KEYS = ("additional_kwargs", "metadata", "response_metadata")
_TEXT_KEYS = ("content", "text", "parts", "message")
_NAME_KEYS = ("name", "agent", "sender", "author")


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its index in the state, who speaks, the text, and its flags."""

    position: int
    role: Role
    name: str
    text: str
    flags: Mapping[str, object] = field(default_factory=dict)
    calls_tools: bool = False

    @property
    def speaker(self) -> str:
        """The speaker's name, or else the role, in lower case; it identifies the speaker."""
        return (self.name or self.role).casefold()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages that could be read, oldest first, and notes about the others."""

    messages: tuple[Message, ...] = ()
    notes: tuple[Note, ...] = ()


def get_value(state: object, key: str) -> Any:  # noqa: ANN401  (a state holds anything)
    """The value of a key of a mapping, or of an attribute; None when there is none."""
    if type(state) is dict or isinstance(state, Mapping):  # the first test is fast, and usually enough
        return state.get(key)
    return getattr(state, key, None)


def state_keys(state: object) -> list[str]:
    """The names of all values of a state."""
    if isinstance(state, Mapping):
        return [key for key in state if isinstance(key, str)]
    fields = getattr(type(state), "model_fields", None) or getattr(state, "__dict__", None)
    return list(fields) if isinstance(fields, Mapping) else list(getattr(state, "__dataclass_fields__", ()))


def fields_by_name(value: object) -> Mapping[str, Any]:
    """The named values of a mapping, a dataclass or a model; empty for anything else."""
    if isinstance(value, Mapping):
        return value
    fields = getattr(value, "__dataclass_fields__", None) or getattr(type(value), "model_fields", None)
    return {key: getattr(value, key, None) for key in fields} if isinstance(fields, Mapping) else {}


def value_as_text(value: object, depth: int = MAX_DEPTH) -> str:
    """The text of any value of a state: mappings as `key: value`, lists line by line."""
    match value:
        case None | bool():
            return ""
        case str():
            return remove_invisible(value).strip()
        case int() | float():
            return str(value)
        case _ if depth == 0:
            return ""
        case Mapping():
            inner = ((key, value_as_text(one, depth - 1)) for key, one in value.items())
            return "\n".join(f"{key}: {text}" for key, text in inner if text)
        case list() | tuple() | set() | frozenset():
            return "\n".join(filter(None, (value_as_text(one, depth - 1) for one in value)))
    if fields := fields_by_name(value):
        return value_as_text(fields, depth)
    content = getattr(value, "content", None)
    return value_as_text(content, depth - 1) if isinstance(content, str | list) else ""


def read_messages(state: object, last: int | None = None) -> Conversation:
    """The messages of a state; with `last`, at most that many, the newest."""
    messages = get_value(state, "messages")
    if messages is None:
        return Conversation()
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        return Conversation(
            notes=(Note("messages", f"not a list of messages but {type(messages).__name__}"),)
        )
    every = list(messages)
    first = 0 if last is None else max(0, len(every) - last)
    read = {index: _read_message_without_raising(every[index], index) for index in range(first, len(every))}
    skipped = [str(index) for index, message in read.items() if message is None]
    notes: tuple[Note, ...] = ()
    if skipped:
        which = ", ".join(skipped[:5]) + (", …" if len(skipped) > 5 else "")
        notes = (Note("messages", f"{len(skipped)} could not be read and were passed over: {which}"),)
    return Conversation(tuple(message for message in read.values() if message is not None), notes)


def read_message(value: object, position: int) -> Message | None:
    """A message of any shape; None when the value cannot be read as one."""
    if isinstance(value, str):
        return _read_string_message(value, position)
    if isinstance(value, list | tuple):
        is_pair = len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], str)
        return _build_message(position, value[0], "", value[1]) if is_pair else None
    extras = (get_value(value, key) for key in _METADATA_KEYS)
    places = [value, *(extra for extra in extras if extra is not None)]
    content, flags = _value_under_first_name_present(value, _TEXT_KEYS), _read_message_flags(value, places)
    if content is None and not flags:
        return None
    role, calls = _value_under_first_name_present(value, ("role", "type")), get_value(value, "tool_calls")
    names = (get_value(place, name) for place in places for name in _NAME_KEYS)
    return _build_message(
        position,
        role if isinstance(role, str) else "",
        next((name for name in names if isinstance(name, str) and name), ""),
        content,
        flags,
        calls_tools=isinstance(calls, list | tuple) and bool(calls),
    )


def _read_message_without_raising(value: object, position: int) -> Message | None:
    """A message; None also when reading it raises."""
    try:
        return read_message(value, position)
    except Exception:  # noqa: BLE001  (anybody's object may raise anything; it is noted as unreadable)
        return None


def _read_string_message(text: str, position: int) -> Message | None:
    """A string as a message; `name: text` names its speaker."""
    match = _NAMED_STRING.fullmatch(text)
    if match is None or any(
        group_of_word(word) in _NOT_IN_NAMES for word in match["name"].casefold().split()
    ):
        return _build_message(position, "agent", "", text)
    return _build_message(position, match["name"], "", match["text"])


def _build_message(
    position: int,
    role: str,
    name: str,
    content: object,
    flags: Mapping[str, object] | None = None,
    *,
    calls_tools: bool = False,
) -> Message | None:
    """A message; None when it has neither text nor flags and calls no tools.

    An unknown role is taken for the name of an agent, since graphs often put it there.
    """
    text = _read_clean_message_text(content)
    if not text and not flags and not calls_tools:
        return None
    known = _ROLES.get(role.casefold())
    name = name or (role if known is None else "")
    return Message(position, known or "agent", name, text, flags or {}, calls_tools)


def _read_clean_message_text(content: object) -> str:
    """The text of a message's content, without anything that Foreword itself injected; long texts are cut."""
    if not isinstance(content, str | bytes) and isinstance(content, Sequence):  # the fast test first
        parts = (part if isinstance(part, str) else get_value(part, "text") for part in content)
        content = "\n".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        return ""
    text = (remove_frames(content) if "foreword" in content.casefold() else content).strip()
    half = MAX_MESSAGE_CHARACTERS // 2
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else f"{text[:half]}\n{text[-half:]}"


def _read_message_flags(value: object, places: Sequence[object]) -> dict[str, object]:
    """The flags of a message: its own, and those in its metadata."""
    return {
        name: flag
        for place in places
        if place is value or isinstance(place, Mapping)
        for name in _FLAG_KEYS
        if isinstance(flag := get_value(place, name), bool | str | list | tuple | Mapping)
    }


def _value_under_first_name_present(value: object, names: Sequence[str]) -> object:
    """The value of the first of these keys or attributes that is not None; None without one."""
    return next((found for name in names if (found := get_value(value, name)) is not None), None)
