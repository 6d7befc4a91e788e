"""Makes turns, as a session stores them, from the messages of chat APIs.

    session.add_all(openai_turns(messages))

Texts, images and files stay in their order, calls of tools and their answers stay tied to each other, and a
message's `name` becomes the speaker's. Anything else, such as a model's hidden reasoning, is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from foreword.compose.content_parts import has_more_than_text, parts_text
from foreword.errors import ValidationError
from foreword.types import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.types import Role

Message = Mapping[str, Any]

_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_EXAMPLE = "{'role': 'user', 'content': '…'}"
_HIDDEN_PART_TYPES = frozenset({"thinking", "redacted_thinking", "reasoning", "tool_use", "tool_result"})


def openai_turns(messages: Iterable[Message]) -> list[Turn]:
    """The turns of messages as OpenAI's chat API has them; ValidationError for anything else."""
    turns = (_openai_turn(message) for message in _check_messages(messages))
    return [turn for turn in turns if turn is not None]


def anthropic_turns(messages: Iterable[Message]) -> list[Turn]:
    """The turns of messages as Anthropic's API has them; results of tools become turns of their own.

    Raises ValidationError for anything else.
    """
    return [turn for message in _check_messages(messages) for turn in _anthropic_message_turns(message)]


def responses_turns(items: str | Iterable[Message]) -> list[Turn]:
    """The turns of the `input` of OpenAI's responses API: a text, or its items; else ValidationError."""
    if isinstance(items, str):
        return [Turn(items)] if items.strip() else []
    turns = (_turn_from_responses_item(item) for item in _check_messages(items, items=True))
    return [turn for turn in turns if turn is not None]


def readable_messages(messages: Iterable[object], *, items: bool = False) -> list[Message]:
    """Those of a list that can be read, for a caller who passes on whatever else there is.

    With `items`, they are the items of the responses API.
    """
    return [one for one in messages if isinstance(one, Mapping) and not _find_role_problem(one, items=items)]


def _check_messages(messages: object, *, items: bool = False) -> list[Message]:
    """The messages or items; ValidationError, with what is expected, if they are no list of these."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise ValidationError(
            f"expected a list of messages such as {_EXAMPLE}, not {type(messages).__name__}"
        )
    checked: list[Message] = []
    for place, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise ValidationError(
                f"message {place} must be a mapping such as {_EXAMPLE}, not {type(message).__name__}"
            )
        if problem := _find_role_problem(message, items=items):
            raise ValidationError(f"message {place} has {problem}; roles are: {', '.join(_ROLES)}")
        checked.append(message)
    return checked


def _find_role_problem(message: Message, *, items: bool) -> str:
    """What is wrong with the role of a message; empty for items that need none, such as calls of tools."""
    role, needs_role = message.get("role"), not items or message.get("type", "message") == "message"
    if not needs_role or (isinstance(role, str) and role in _ROLES):
        return ""
    return "no role" if role is None else f"the unknown role {role!r}"


def _read_role(message: Message) -> Role | None:
    role = message.get("role")
    return _ROLES.get(role) if isinstance(role, str) else None


def _openai_turn(message: Message) -> Turn | None:
    role = _read_role(message)
    if role is None:
        return None
    calls = _list_mappings(message.get("tool_calls"))
    if isinstance(message.get("function_call"), Mapping):  # the older form of the API
        calls = (*calls, {"id": message["function_call"].get("name"), "function": message["function_call"]})
    name = str(message.get("name") or "") if role in ("user", "assistant") else ""
    call_id = str(message.get("tool_call_id") or message.get("name") or "") if role == "tool" else ""
    return _make_turn(role, message.get("content"), name=name, tool_calls=calls, call_id=call_id)


def _turn_from_responses_item(item: Message) -> Turn | None:
    kind = item.get("type", "message")
    call_id = str(item.get("call_id") or "")
    if kind == "function_call":
        return _make_turn("assistant", "", tool_calls=({**item, "id": call_id},))
    if kind == "function_call_output":
        return _make_turn("tool", item.get("output"), call_id=call_id)
    role = _read_role(item) if kind == "message" else None
    return None if role is None else _make_turn(role, item.get("content"))


def _anthropic_message_turns(message: Message) -> Iterator[Turn]:
    role = _read_role(message)
    if role is None:
        return
    content = message.get("content")
    blocks = _list_mappings(content)
    for block in blocks:
        if block.get("type") == "tool_result":
            call_id = str(block.get("tool_use_id") or "")
            if answer := _make_turn("tool", block.get("content"), call_id=call_id):
                yield answer
    calls = tuple(block for block in blocks if block.get("type") == "tool_use")
    if turn := _make_turn(role, content, tool_calls=calls):
        yield turn


def _make_turn(
    role: Role,
    content: object,
    *,
    name: str = "",
    tool_calls: tuple[Message, ...] = (),
    call_id: str = "",
) -> Turn | None:
    """A turn with this content, a text or parts; None if it has neither text nor calls of tools."""
    parts = tuple(part for part in _list_mappings(content) if part.get("type") not in _HIDDEN_PART_TYPES)
    text = content if isinstance(content, str) else parts_text(parts)
    if content is not None and not isinstance(content, str | Sequence):
        text = json.dumps(content, ensure_ascii=False, default=str)
    if not text.strip() and not tool_calls:
        return None
    kept = parts if has_more_than_text(parts) else ()
    return Turn(text, role, name=name, tool_calls=tool_calls, call_id=call_id, parts=kept)


def _list_mappings(value: object) -> tuple[Message, ...]:
    """The mappings in a list; empty for anything but a list."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return ()
    return tuple(one for one in value if isinstance(one, Mapping))
