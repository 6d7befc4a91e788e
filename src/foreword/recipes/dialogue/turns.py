"""The turns of one conversation as the workspace keeps them, and who and what they are about.

A turn may be added or forgotten in another process; `ItemFeed` keeps what is known here in step.

A turn is kept as an item with one text: that of the turn as it is read, or what it asks of tools where it
says nothing. What else a turn knows is in the item's metadata.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast, get_args

from foreword.compose.content_parts import has_more_than_text, part_text
from foreword.compose.turns import tool_calls
from foreword.errors import ValidationError
from foreword.knowledge.registry import EntityRegistry
from foreword.knowledge.speech_acts import classify_speech_act
from foreword.options import check_time_zone
from foreword.recipes.dialogue.item_feed import ItemFeed
from foreword.recipes.dialogue.shared import SharedByEngine
from foreword.types import ROLES, DialogueState, Filters, Item, Role, Source, SpeechAct, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from foreword.engine.base import Engine
    from foreword.knowledge.registry import Finder
    from foreword.store.base import Store
    from foreword.types import Trust

_MOMENT = timedelta(microseconds=1)

_TRUST: dict[Role, Trust] = {"user": "user", "assistant": "agent", "system": "user", "tool": "tool"}
_ACTS: tuple[SpeechAct, ...] = get_args(SpeechAct)
_MAX_PARTS_CHARACTERS = 750_000
"""What the parts of one turn may be long, so that the workspace keeps it: half a megabyte of images."""

_TEXTS = ("raw_text", "turn_id", "name", "call_id", "user")


class ConversationTurns:
    """The turns of one conversation. Safe to use from many threads: what is returned does not change."""

    def __init__(self, store: Store, workspace: str, session_id: str, find: Finder) -> None:
        self._store = store
        self._workspace = workspace
        self._session_id = session_id
        self._find = find
        self._feed = ItemFeed(
            store, workspace, Filters(conversation=session_id), self._add_item, self._forget_all
        )
        self._last_time: datetime | None = None
        self._lock = threading.Lock()
        self._forget_all()
        self._feed.read_new_items()

    def _forget_all(self) -> None:
        self._turns: list[Turn] = []
        self._places: dict[str, int] = {}
        self._said: set[object] = set()
        self._tokens = 0
        self._act: SpeechAct | None = None
        self._registry = EntityRegistry(self._find)

    def state(self) -> DialogueState:
        """The conversation as it is kept now."""
        with self._lock:
            self._feed.catch_up()
            return DialogueState(tuple(self._turns), self._registry.snapshot(), self._session_id)

    def has_turns(self) -> bool:
        """Whether the conversation has any turns."""
        with self._lock:
            if not self._turns:
                self._feed.catch_up()
            return bool(self._turns)

    def mean_tokens(self) -> float:
        """How many tokens a turn has on average; 0 where there is none."""
        with self._lock:
            return self._tokens / len(self._turns) if self._turns else 0.0

    def find(self, ids: Sequence[str]) -> list[Turn | None]:
        """The turns with these ids, or None for what is no turn of this conversation."""
        with self._lock:
            if any(one not in self._places for one in ids):
                self._feed.catch_up()
            places = [self._places.get(one) for one in ids]
            return [None if place is None else self._turns[place] for place in places]

    def complete(self, turns: Sequence[Turn], now: Callable[[], datetime]) -> list[Turn]:
        """The turns as they are to be kept: with their times, and with what each does after the one before.

        A turn with an id that another conversation has gets a new one; one that is kept here already is that
        turn. Two with ids of their own are two, even if the same was said by the same in the same moment.
        """
        ids = [turn.turn_id for turn in turns if turn.turn_id]
        held = self._store.get(self._workspace, *ids) if ids else ()
        holders = {item.id: item for item in held if item is not None}
        with self._lock:
            if ids:
                self._feed.catch_up()
            before = self._act
            said: set[object] = set()
            complete: list[Turn] = []
            for turn in turns:
                timed = self._assign_time(turn, holders.get(turn.turn_id), said, now)
                act = (
                    turn.speech_act
                    if turn.speech_act is not None
                    else classify_speech_act(turn.text, after=before)
                )
                complete.append(replace(timed, speech_act=act))
                said.add(_turn_identity(timed))
                before = act
        return complete

    def note_kept(self, turns: Sequence[Turn]) -> None:
        """Remember what the last of these turns does: the next turn is understood after it."""
        with self._lock:
            if turns:
                self._act = turns[-1].speech_act

    # Inside, with the lock held

    def _assign_time(
        self, turn: Turn, holder: Item | None, said: set[object], now: Callable[[], datetime]
    ) -> Turn:
        if holder is not None:
            if holder.conversation == self._session_id and holder.kind == "turn":
                return replace(turn, timestamp=holder.created_at)
            turn = replace(turn, turn_id="")
        if turn.timestamp is None:
            return replace(turn, timestamp=self._next_moment(now()))
        while turn.turn_id and (_turn_identity(turn) in self._said or _turn_identity(turn) in said):
            turn = replace(turn, timestamp=turn.timestamp + _MOMENT)
        return turn

    def _next_moment(self, now: datetime) -> datetime:
        """Now, but later than what was given before: the order tells two turns apart that say the same."""
        if self._last_time is not None and now <= self._last_time:
            now = self._last_time + _MOMENT
        self._last_time = now
        return now

    def _add_item(self, item: Item) -> bool:
        """Take one more item, if it is new; items of the conversation that are no turns say nothing."""
        if item.id in self._places:
            return False
        if item.kind == "turn":
            turn = item_turn(item)
            self._places[item.id] = len(self._turns)
            self._registry.observe(turn, len(self._turns))
            self._turns.append(turn)
            self._tokens += item.tokens
            self._act = turn.speech_act
            self._said.add(_turn_identity(turn))
        return True


_MAX_CONVERSATIONS = 64
_conversations: SharedByEngine[ConversationTurns] = SharedByEngine(_MAX_CONVERSATIONS)


def conversation_turns(engine: Engine, workspace: str, session_id: str, find: Finder) -> ConversationTurns:
    """The turns of a conversation, read once for all sessions of an engine; the latest are kept."""
    return _conversations.get(
        engine,
        (workspace, session_id),
        lambda: ConversationTurns(engine.store, workspace, session_id, find),
    )


def _turn_identity(turn: Turn) -> object:
    """Who says what when: the store takes two turns that agree in these for the same."""
    return turn.speaker, turn.text, turn.timestamp


# Turns as items -------------------------------------------------------------------------------------------


def check_turn(turn: object) -> Turn:
    """The turn, or ValidationError if a field of it is not what it should be."""
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
    if not isinstance(turn.parts, list | tuple) or not all(isinstance(part, Mapping) for part in turn.parts):
        raise ValidationError("the parts of a turn are a tuple of mappings, as the API gave them")
    check_time_zone("timestamp", turn.timestamp)
    return turn


def turn_item(turn: Turn, workspace: str, session_id: str) -> Item:
    """The item that keeps a turn whose time is known."""
    facts: dict[str, object] = {
        "role": turn.role,
        "name": turn.name or None,
        "user": turn.user or None,
        "raw_text": None if turn.raw_text == turn.text and turn.raw_text.strip() else turn.raw_text,
        "speech_act": turn.speech_act,
        "tool_calls": [dict(call) for call in turn.tool_calls] or None,
        "call_id": turn.call_id or None,
        "parts": keepable_parts(turn.parts) or None,
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
        source=Source(turn.user or turn.name or turn.role, _TRUST[turn.role]),
        metadata={name: fact for name, fact in facts.items() if fact is not None},
    )


def keepable_parts(parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The parts as a workspace keeps them; what is too large becomes its mark, the largest first."""
    kept = [dict(part) for part in parts] if has_more_than_text(parts) else []
    while kept and sum(map(_part_length, kept)) > _MAX_PARTS_CHARACTERS:
        largest = max(range(len(kept)), key=lambda at: _part_length(kept[at]))
        mark = {"type": "text", "text": part_text(kept[largest])[: _MAX_PARTS_CHARACTERS // 2]}
        if _part_length(mark) >= _part_length(kept[largest]):
            return []
        kept[largest] = mark
    return kept


def _part_length(part: Mapping[str, Any]) -> int:
    return len(json.dumps(part, ensure_ascii=False, default=str))


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
        user=str(facts.get("user", "")),
        parts=tuple(facts.get("parts", ())),
    )


def user_of(item: Item) -> str:
    """Which user said a turn: who it was said to be, else the name it was said under; empty for nobody's."""
    facts = item.metadata
    if item.kind != "turn" or facts.get("role") != "user":
        return ""
    return str(facts.get("user") or facts.get("name") or "")
