"""A turn as the item that keeps it, and back again.

An item has one text: that of the turn as it is read, or what it asks of tools where it says nothing. What
else a turn knows is in the metadata. Refuses what is no turn; whether its texts can be kept, the engine says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast, get_args

from foreword.compose.tool_calls import tool_calls
from foreword.errors import ValidationError
from foreword.options import aware
from foreword.types import ROLES, Item, Role, Source, SpeechAct, Turn

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.types import Trust

_TRUST: dict[Role, Trust] = {"user": "user", "assistant": "agent", "system": "user", "tool": "tool"}
_ACTS: tuple[SpeechAct, ...] = get_args(SpeechAct)
_TEXTS = ("raw_text", "turn_id", "name", "call_id")


def sound_turn(turn: object) -> Turn:
    """A turn whose every field is what it should be, or an error that says what to give."""
    if not isinstance(turn, Turn):
        raise ValidationError(f"a turn is a Turn('…'), not {type(turn).__name__}")
    if turn.role not in ROLES:
        raise ValidationError(f"no role named {turn.role!r}; there are: {', '.join(ROLES)}")
    if turn.speech_act is not None and turn.speech_act not in _ACTS:
        raise ValidationError(f"no speech act named {turn.speech_act!r}; leave it out, and it is found")
    texts = {name: getattr(turn, name) for name in _TEXTS}
    if turn.corrected_text is not None:
        texts["corrected_text"] = turn.corrected_text
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ValidationError(f"the {name} of a turn must be text, not {type(text).__name__}")
    if not isinstance(turn.tool_calls, list | tuple) or not all(
        isinstance(call, Mapping) for call in turn.tool_calls
    ):
        raise ValidationError("the tool_calls of a turn are a tuple of mappings, as the API gave them")
    aware("timestamp", turn.timestamp)
    return turn


def turn_item(turn: Turn, workspace: str, session_id: str) -> Item:
    """The item that keeps a turn whose time is known."""
    facts: dict[str, object] = {
        "role": turn.role,
        "name": turn.name or None,
        "raw_text": None if turn.raw_text == turn.text and turn.raw_text.strip() else turn.raw_text,
        "speech_act": turn.speech_act,
        "tool_calls": [dict(call) for call in turn.tool_calls] or None,
        "call_id": turn.call_id or None,
    }
    calls = (f"(calls {call.name} {call.arguments})" for call in tool_calls(turn))
    return Item(
        text=turn.text if turn.text.strip() else "\n".join(calls),
        workspace=workspace,
        kind="turn",
        id=turn.turn_id,
        about=turn.speaker,
        created_at=cast("datetime", turn.timestamp),
        session=session_id,
        conversation=session_id,
        source=Source(turn.name or turn.role, _TRUST[turn.role]),
        metadata={name: fact for name, fact in facts.items() if fact is not None},
    )


def item_turn(item: Item) -> Turn:
    """The turn that is kept as this item."""
    facts = item.metadata
    raw, role = facts.get("raw_text"), facts.get("role")
    corrected = raw is not None and bool(str(raw).strip())
    return Turn(
        raw_text=item.text if raw is None else str(raw),
        role=role if role in ROLES else "user",
        turn_id=item.id,
        name=str(facts.get("name", "")),
        corrected_text=item.text if corrected else None,
        timestamp=item.created_at,
        speech_act=cast("SpeechAct | None", facts.get("speech_act")),
        tool_calls=tuple(facts.get("tool_calls", ())),
        call_id=str(facts.get("call_id", "")),
    )
