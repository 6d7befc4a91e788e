"""The state of a graph of agents, read as agents really have it.

A state is a mapping, or an object with attributes; a message is an object of LangChain's shape, a dict with
text or parts, a pair of role and text, or a string. Nothing is imported to know them, and nothing raises:
what cannot be read is passed over and noted. What the messages mean is not judged here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from foreword.recall.gaps.families import family
from foreword.text.clean import remove_invisible
from foreword.text.frame import remove_frames
from foreword.types import Note

Role = Literal["user", "agent", "tool", "system"]

READ_CHARACTERS = 8_000
"""So much of a message is read; what an agent lacks, it says at once or at the end."""

MAX_DEPTH = 6
"""So deep the values of a state are looked into."""

_ROLES: Mapping[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "agent",
    "aimessagechunk": "agent",
    "assistant": "agent",
    "agent": "agent",
    "model": "agent",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
}
_NAMED_STRING = re.compile(r"(?P<name>[A-Za-z][\w .-]{0,40}):\s+(?P<text>\S.*)", re.DOTALL)
_MORE_THAN_A_NAME = frozenset(
    ("I", "WE", "YOU", "NOT", "NO", "NOTHING", "WITHOUT", "WH", "VAGUE", "LACK", "ENOUGH", "ASK", "HOLD")
)
"""A word of one of these families says something: what stands before a colon then is no speaker's name."""

_FLAGS = ("clarification_needed", "missing_context")
_EXTRAS = ("additional_kwargs", "metadata", "response_metadata")
_TEXTS = ("content", "text", "parts", "message")
_NAMES = ("name", "agent", "sender", "author")


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its place in the state, who speaks, what is said, and the flags it carries."""

    at: int
    role: Role
    name: str
    text: str
    flags: Mapping[str, object] = field(default_factory=dict)
    calls_tools: bool = False

    @property
    def speaker(self) -> str:
        """Whoever speaks, as one can tell speakers apart: by name, else by role."""
        return (self.name or self.role).casefold()


@dataclass(frozen=True, slots=True)
class Heard:
    """The messages that could be read, oldest first, and what is to be said of the others."""

    messages: tuple[Message, ...] = ()
    notes: tuple[Note, ...] = ()


def value(state: object, key: str) -> Any:  # noqa: ANN401  (a state holds anything)
    """What a state holds under a key: an item of a mapping, or an attribute; None when there is none."""
    if type(state) is dict or isinstance(state, Mapping):  # the first is what most are, and quick to ask
        return state.get(key)
    return getattr(state, key, None)


def keys(state: object) -> list[str]:
    """The names of what a state holds."""
    if isinstance(state, Mapping):
        return [key for key in state if isinstance(key, str)]
    fields = getattr(type(state), "model_fields", None) or getattr(state, "__dict__", None)
    return list(fields) if isinstance(fields, Mapping) else list(getattr(state, "__dataclass_fields__", ()))


def messages(state: object, last: int | None = None) -> Heard:
    """The messages of a state; with `last`, only so many, the newest."""
    listed = value(state, "messages")
    if listed is None:
        return Heard()
    if isinstance(listed, str | bytes | Mapping) or not isinstance(listed, Iterable):
        return Heard(notes=(Note("messages", f"not a list of messages but {type(listed).__name__}"),))
    every = list(listed)
    first = 0 if last is None else max(0, len(every) - last)
    read = [(at, _read(every[at], at)) for at in range(first, len(every))]
    skipped = [at for at, message in read if message is None]
    return Heard(tuple(message for _, message in read if message is not None), _told_of(skipped))


def message_of(one: object, at: int) -> Message | None:
    """One message, whatever its shape; None when it cannot be read as one."""
    if isinstance(one, str):
        return _from_string(one, at)
    if isinstance(one, list | tuple):
        pair = isinstance(one[0], str) and isinstance(one[1], str) if len(one) == 2 else False
        return _made(at, str(one[0]), "", {}, one[1]) if pair else None
    known = _first(one, _TEXTS)
    flags = _flags(one)
    if known is None and not flags:
        return None
    role = _first(one, ("role", "type"))
    name = _name(one)
    calls = bool(value(one, "tool_calls")) if isinstance(value(one, "tool_calls"), list | tuple) else False
    return _made(at, role if isinstance(role, str) else "", name, flags, known, calls_tools=calls)


def plain(held: object, depth: int = MAX_DEPTH) -> str:
    """The text of whatever a state holds: mappings as `key: value`, lists line by line."""
    match held:
        case None | bool():
            return ""
        case str():
            return remove_invisible(held).strip()
        case int() | float():
            return str(held)
        case _ if depth == 0:
            return ""
        case Mapping():
            return "\n".join(_pairs(held, depth))
        case list() | tuple() | set() | frozenset():
            return "\n".join(filter(None, (plain(one, depth - 1) for one in held)))
        case _:
            return _of_object(held, depth)


def as_fields(held: object) -> Mapping[str, Any]:
    """The named values of a mapping, a dataclass or a model; empty for anything else."""
    if isinstance(held, Mapping):
        return held
    named = getattr(held, "__dataclass_fields__", None) or getattr(type(held), "model_fields", None)
    if not isinstance(named, Mapping):
        return {}
    return {key: getattr(held, key, None) for key in named}


def _read(one: object, at: int) -> Message | None:
    try:
        return message_of(one, at)
    except Exception:  # noqa: BLE001  (anybody's object may raise anything; it is noted as unreadable)
        return None


def _pairs(held: Mapping[Any, object], depth: int) -> Iterable[str]:
    for key, inside in held.items():
        if text := plain(inside, depth - 1):
            yield f"{key}: {text}"


def _of_object(held: object, depth: int) -> str:
    if fields := as_fields(held):
        return plain(fields, depth)
    content = getattr(held, "content", None)
    return plain(content, depth - 1) if isinstance(content, str | list) else ""


def _made(
    at: int, role: str, name: str, flags: Mapping[str, object], content: object, *, calls_tools: bool = False
) -> Message | None:
    text = _text(content)
    if not text and not flags and not calls_tools:
        return None
    known = _ROLES.get(role.casefold())
    # A role that is nobody's is the name of an agent: graphs often put it there.
    own = name or (role if known is None else "")
    return Message(at, known or "agent", own, text, flags, calls_tools)


def _from_string(one: str, at: int) -> Message | None:
    named = _NAMED_STRING.fullmatch(one)
    if named is None or any(family(word) in _MORE_THAN_A_NAME for word in named["name"].casefold().split()):
        return _made(at, "agent", "", {}, one)
    role = _ROLES.get(named["name"].casefold())
    return _made(at, role or "agent", "" if role else named["name"], {}, named["text"])


def _text(content: object) -> str:
    """The readable text of a message's content, without anything that Foreword itself had injected."""
    if isinstance(content, str):
        ours = "foreword" in content.casefold()
        return _ends((remove_frames(content) if ours else content).strip())
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        parts = (part if isinstance(part, str) else value(part, "text") for part in content)
        return _text("\n".join(part for part in parts if isinstance(part, str)))
    return ""


def _ends(text: str) -> str:
    half = READ_CHARACTERS // 2
    return text if len(text) <= READ_CHARACTERS else f"{text[:half]}\n{text[-half:]}"


def _first(one: object, names: Sequence[str]) -> object:
    return next((found for name in names if (found := value(one, name)) is not None), None)


def _name(one: object) -> str:
    extras = [one, *(value(one, extra) for extra in _EXTRAS)]
    found = (value(held, name) for held in extras if held is not None for name in _NAMES)
    return next((name for name in found if isinstance(name, str) and name), "")


def _flags(one: object) -> dict[str, object]:
    """What a message says of itself beside its text."""
    places = [one, *(value(one, extra) for extra in _EXTRAS)]
    return {
        flag: held
        for place in places
        if isinstance(place, Mapping) or place is one
        for flag in _FLAGS
        if isinstance(held := value(place, flag), bool | str | list | tuple | Mapping)
    }


def _told_of(skipped: Sequence[int]) -> tuple[Note, ...]:
    if not skipped:
        return ()
    which = ", ".join(map(str, skipped[:5])) + (", …" if len(skipped) > 5 else "")
    return (Note("messages", f"{len(skipped)} could not be read and were passed over: {which}"),)
