"""The turns of one conversation as the workspace stores them, and the entities that they mention.

A turn may be added or forgotten in another process; `ItemFeed` keeps the turns here in step with the store.

A turn is stored as an item whose text is the turn's own or, where it has none, its calls of tools. The other
fields of a turn are in the item's metadata.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast, get_args

from foreword.capture.names.entities import FINDER_VERSION, find_entities
from foreword.capture.names.shapes import Mention
from foreword.compose.content_parts import has_more_than_text, part_text
from foreword.compose.turns import question_and_answer, tool_calls
from foreword.errors import ValidationError
from foreword.knowledge.registry import EntityRegistry
from foreword.knowledge.speech_acts import classify_speech_act
from foreword.options import check_aware_datetime_or_none
from foreword.recipes.dialogue.item_feed import ItemFeed
from foreword.recipes.dialogue.shared import DialogueCache
from foreword.text.words import fold_case_accents_and_spaces
from foreword.types import (
    ENTITY_TYPES,
    MENTIONS,
    ROLES,
    DialogueState,
    Filters,
    Item,
    Role,
    Source,
    SpeechAct,
    Turn,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from foreword.engine.base import Engine
    from foreword.knowledge.claims import MentionLike
    from foreword.knowledge.registry import Finder
    from foreword.store.base import Store
    from foreword.types import Trust

_MOMENT = timedelta(microseconds=1)

_TRUST: dict[Role, Trust] = {"user": "user", "assistant": "agent", "system": "user", "tool": "tool"}
_ACTS: tuple[SpeechAct, ...] = get_args(SpeechAct)
_MAX_PARTS_CHARACTERS = 750_000
"""At most how long the stored parts of one turn are, as JSON: about half a megabyte of images."""

_TEXTS = ("raw_text", "turn_id", "name", "call_id", "user")


class ConversationTurns:
    """The turns of one conversation. Safe to use from many threads: returned values do not change."""

    def __init__(self, store: Store, workspace: str, session_id: str, find: Finder) -> None:
        self._store = store
        self._workspace = workspace
        self._session_id = session_id
        self._find = find
        self._feed = ItemFeed(
            store, workspace, Filters(conversation=session_id), self._add_item, self._reset_state_from_turns
        )
        self._last_time: datetime | None = None
        self._lock = threading.Lock()
        self._reset_state_from_turns()
        self._feed.read_new_items()

    def _reset_state_from_turns(self) -> None:
        """Reset everything that was read from the turns, before they are read from the first again."""
        self._turns: list[Turn] = []
        self._places: dict[str, int] = {}
        self._places_by_words: dict[tuple[str, str], list[int]] = {}
        self._known_identities: set[object] = set()
        self._tokens = 0
        self._last_act: SpeechAct | None = None
        self._registry = EntityRegistry(self._find)

    def state(self) -> DialogueState:
        """The conversation as it is stored now."""
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
        """How many tokens a turn has on average; 0 if there are no turns."""
        with self._lock:
            return self._tokens / len(self._turns) if self._turns else 0.0

    def find_by_ids(self, ids: Sequence[str]) -> list[Turn | None]:
        """The turns with these ids, with None for an id that is no turn of this conversation."""
        with self._lock:
            if any(one not in self._places for one in ids):
                self._feed.catch_up()
            places = [self._places.get(one) for one in ids]
            return [None if place is None else self._turns[place] for place in places]

    def find_latest_repetition(self, turn_id: str) -> str:
        """The id of the last turn that says the same in an exchange of the same words; else the id itself."""
        with self._lock:
            place = self._places.get(turn_id)
            if place is None:
                return turn_id
            alike = self._places_by_words[_speaker_and_words(self._turns[place])]
            exchange = self._words_of_exchange(place) if alike[-1] > place else None
            later = (other for other in reversed(alike) if other > place)
            latest = next((other for other in later if self._words_of_exchange(other) == exchange), place)
            return self._turns[latest].turn_id

    def add_times_and_speech_acts(self, turns: Sequence[Turn], now: Callable[[], datetime]) -> list[Turn]:
        """The turns as they are to be stored: each with a time and a speech act.

        A turn whose id belongs to another conversation gets a new id; one whose id is stored here gets the
        stored time. Two turns with different ids stay two, even with the same speaker, words and time.
        """
        ids = [turn.turn_id for turn in turns if turn.turn_id]
        stored = self._store.get(self._workspace, *ids) if ids else ()
        holders = {item.id: item for item in stored if item is not None}
        with self._lock:
            if ids:
                self._feed.catch_up()
            before = self._last_act
            identities: set[object] = set()
            complete: list[Turn] = []
            for turn in turns:
                timed = self._assign_time_and_check_id(turn, holders.get(turn.turn_id), identities, now)
                act = (
                    turn.speech_act
                    if turn.speech_act is not None
                    else classify_speech_act(turn.text, after=before)
                )
                complete.append(replace(timed, speech_act=act))
                identities.add(_speaker_text_and_time(timed))
                before = act
        return complete

    def remember_last_speech_act(self, turns: Sequence[Turn]) -> None:
        """Remember the last turn's speech act, by which that of the next turn is classified."""
        with self._lock:
            if turns:
                self._last_act = turns[-1].speech_act

    # Inside, with the lock held

    def _words_of_exchange(self, place: int) -> list[tuple[str, str]]:
        """What is said in the exchange of the turn at a place: the question and its answer, or the turn."""
        return [_speaker_and_words(turn) for turn in question_and_answer(self._turns, place)]

    def _assign_time_and_check_id(
        self, turn: Turn, holder: Item | None, said: set[object], now: Callable[[], datetime]
    ) -> Turn:
        """The turn with its time: that of the stored item with its id, its own, or the current one."""
        if holder is not None:
            if holder.conversation == self._session_id and holder.kind == "turn":
                return replace(turn, timestamp=holder.created_at)
            turn = replace(turn, turn_id="")
        if turn.timestamp is None:
            return replace(turn, timestamp=self._next_timestamp(now()))
        while turn.turn_id and (
            _speaker_text_and_time(turn) in self._known_identities or _speaker_text_and_time(turn) in said
        ):
            turn = replace(turn, timestamp=turn.timestamp + _MOMENT)
        return turn

    def _next_timestamp(self, now: datetime) -> datetime:
        """The current time, or just after the last one given out, so that no two turns get the same."""
        if self._last_time is not None and now <= self._last_time:
            now = self._last_time + _MOMENT
        self._last_time = now
        return now

    def _add_item(self, item: Item) -> bool:
        """Add an item's turn, if it is one; returns False if the item is known already."""
        if item.id in self._places:
            return False
        if item.kind == "turn":
            turn = turn_from_item(item)
            self._places[item.id] = len(self._turns)
            self._places_by_words.setdefault(_speaker_and_words(turn), []).append(len(self._turns))
            mentions = read_or_find_mentions(turn.text, item.metadata.get(MENTIONS), self._find)
            self._registry.register_mentioned_entities(turn, len(self._turns), mentions)
            self._turns.append(turn)
            self._tokens += item.tokens
            self._last_act = turn.speech_act
            self._known_identities.add(_speaker_text_and_time(turn))
        return True


_MAX_CONVERSATIONS = 64
_conversations: DialogueCache[ConversationTurns] = DialogueCache(_MAX_CONVERSATIONS)


def get_conversation_turns(
    engine: Engine, workspace: str, session_id: str, find: Finder
) -> ConversationTurns:
    """The turns of a conversation, cached for all sessions of an engine."""
    return _conversations.get_or_make(
        engine,
        (workspace, session_id),
        lambda: ConversationTurns(engine.store, workspace, session_id, find),
    )


def _speaker_text_and_time(turn: Turn) -> object:
    """Speaker, text and time: the store takes two turns that agree in these for the same."""
    return turn.speaker, turn.text, turn.timestamp


def _speaker_and_words(turn: Turn) -> tuple[str, str]:
    """The speaker and the words of a turn, without regard to case and white space."""
    return turn.speaker, fold_case_accents_and_spaces(turn.text)


# Turns as items -------------------------------------------------------------------------------------------


def check_turn(turn: object) -> Turn:
    """The turn; ValidationError if one of its fields has a wrong type or value."""
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
    check_aware_datetime_or_none("timestamp", turn.timestamp)
    return turn


def item_from_turn(turn: Turn, workspace: str, session_id: str) -> Item:
    """The item that stores a turn, whose time must be set."""
    facts: dict[str, object] = {
        "role": turn.role,
        "name": turn.name or None,
        "user": turn.user or None,
        "raw_text": None if turn.raw_text == turn.text and turn.raw_text.strip() else turn.raw_text,
        "speech_act": turn.speech_act,
        "tool_calls": [dict(call) for call in turn.tool_calls] or None,
        "call_id": turn.call_id or None,
        "parts": storable_parts(turn.parts) or None,
        MENTIONS: mentions_to_json(turn.text, find_entities(turn.text)),
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


def storable_parts(parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The parts as a workspace stores them; while they are too long, the largest becomes a short text."""
    kept = [dict(part) for part in parts] if has_more_than_text(parts) else []
    while kept and sum(map(_content_part_length, kept)) > _MAX_PARTS_CHARACTERS:
        largest = max(range(len(kept)), key=lambda at: _content_part_length(kept[at]))
        mark = {"type": "text", "text": part_text(kept[largest])[: _MAX_PARTS_CHARACTERS // 2]}
        if _content_part_length(mark) >= _content_part_length(kept[largest]):
            return []
        kept[largest] = mark
    return kept


def _content_part_length(part: Mapping[str, Any]) -> int:
    """The length of one part of a turn's content (a text, an image), as JSON."""
    return len(json.dumps(part, ensure_ascii=False, default=str))


def turn_from_item(item: Item) -> Turn:
    """The turn that an item stores."""
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


def speaking_user(item: Item) -> str:
    """The user who said the turn that an item stores: its user, or else its name; empty if it has neither."""
    facts = item.metadata
    if item.kind != "turn" or facts.get("role") != "user":
        return ""
    return str(facts.get("user") or facts.get("name") or "")


# The mentions that are stored with a turn ------------------------------------------------------------------
#
# They are stored as places in the text, without its words, and with a mark of the text and of the finder's
# version. Where either has changed since, as after a secret was taken out, the mark differs and the mentions
# are found again.

_GENDERS = ("", "female", "male")
_MAX_STORED_MENTIONS = 1000
"""Of a turn with more mentions, such as a pasted log, none are stored: metadata has its limits."""


def mentions_to_json(text: str, mentions: Sequence[MentionLike]) -> list[object] | None:
    """The mentions in a text as JSON: the mark, then start, end, type and gender of each, as numbers.

    Returns None for more mentions than are stored.
    """
    if len(mentions) > _MAX_STORED_MENTIONS:
        return None
    return [_hash_text_and_version(text), *map(_mention_as_numbers, mentions)]


def read_or_find_mentions(text: str, stored: object, find: Finder) -> Iterable[MentionLike]:
    """The mentions in a turn's text: as they were stored, or found where nothing valid was stored for it."""
    if isinstance(stored, list) and stored and stored[0] == _hash_text_and_version(text):
        try:
            return [_read_mention(text, *place) for place in stored[1:]]
        except (TypeError, ValueError, IndexError):  # somebody else wrote them
            pass
    return find(text)


def _read_mention(text: str, start: int, end: int, entity_type: int, gender: int) -> Mention:
    if not 0 <= start < end <= len(text):
        raise ValueError("a mention is outside of its text")
    attributes = {"gender": _GENDERS[gender]} if gender else {}
    return Mention(text[start:end], ENTITY_TYPES[entity_type], start, end, attributes)


def _mention_as_numbers(mention: MentionLike) -> list[int]:
    gender = mention.attributes.get("gender", "")
    return [mention.start, mention.end, ENTITY_TYPES.index(mention.entity_type), _GENDERS.index(gender)]


def _hash_text_and_version(text: str) -> int:
    """A number that stands for a text and for the version of what finds mentions in it."""
    return zlib.crc32(text.encode(errors="replace"), FINDER_VERSION)
