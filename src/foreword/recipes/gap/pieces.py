"""Splits the values of a state into pieces that may fill a gap.

The values are messages, decisions, hand-offs, the sprint and the architecture. A piece has its place in the
state, so that a receipt can name it without its text. How relevant it is, is not decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from foreword.recipes.gap.detect import find_request_in_message
from foreword.recipes.gap.state import fields_by_name, get_value, read_message, value_as_text
from foreword.recipes.gap.vocabulary import split_sentences_and_clauses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.recipes.gap.state import Conversation, Message
    from foreword.recipes.gap.types import ContextGap, ContextSource

MAX_PIECES = 300
"""At most how many pieces one value of a state is split into."""

MAX_PIECE_CHARACTERS, MAX_QUESTION_CHARACTERS = 1_000, 300
"""At most how many characters a piece has, and the question that is put before an answer."""

MAX_DEPTH = 4
"""At most how many levels of a value are split."""

MAX_UNSPLIT_CHARACTERS = 200
"""A mapping with at most this many characters is one piece."""

SPRINT_KEYS = ("sprint_plan", "sprint_progress")
ARCHITECTURE_KEYS = (
    "architecture",
    "architecture_context",
    "architecture_decisions",
    "adrs",
    "constraints",
    "technical_constraints",
    "architect_output",
)
_INJECTED_KEYS = frozenset(
    {"contexts", "source_summary", "total_items", "total_size_bytes", "gap", "open", "closed"}
)


@dataclass(frozen=True, slots=True)
class StatePiece:
    """A text of a state: its source, its place, and the kind of item it would be in a memory."""

    source: ContextSource
    text: str
    place: str
    kind: str = "memory"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    message: Message | None = None

    @property
    def asks_for_context(self) -> bool:
        """Whether this is a message that itself asks for missing context, and so fills no gap."""
        return self.message is not None and find_request_in_message(self.message) is not None


def state_pieces(gap: ContextGap, state: object, conversation: Conversation) -> list[StatePiece]:
    """Pieces of messages, decisions and hand-offs; not of the messages that show the gap."""
    handoff = get_value(state, "handoff_context")
    values = {"decisions": get_value(state, "decisions")}
    if isinstance(handoff, str):
        values["handoff_context"] = handoff
    for key, value in fields_by_name(handoff).items():
        if key not in _INJECTED_KEYS:
            values[f"handoff_context.{key}"] = value
    return [*_message_pieces(gap, conversation), *_split_values_into_pieces("state", values)]


def sprint_pieces(_gap: ContextGap, state: object, _conversation: Conversation) -> list[StatePiece]:
    """Pieces of the sprint's plan and progress, story by story."""
    return _split_values_into_pieces("sprint", {key: get_value(state, key) for key in SPRINT_KEYS})


def architecture_pieces(_gap: ContextGap, state: object, _conversation: Conversation) -> list[StatePiece]:
    """Pieces of the architecture decisions and constraints that the state holds."""
    values = {key: get_value(state, key) for key in ARCHITECTURE_KEYS}
    return _split_values_into_pieces("architecture", values)


def _message_pieces(gap: ContextGap, conversation: Conversation) -> Iterator[StatePiece]:
    """The messages as pieces, except those of the system and those that show the gap."""
    positions = {sign.position for sign in gap.reasons}
    circles = [sign.needs for sign in gap.reasons if sign.reason == "circular_logic"]
    previous: Message | None = None
    for message in conversation.messages:
        shows_gap = message.position in positions or any(message.text in circle for circle in circles)
        if message.text and message.role != "system" and not shows_gap:
            metadata = {"role": message.role} | ({"author": message.name} if message.name else {})
            text = f"{_preceding_question(message, previous)}{message.text}"[:MAX_PIECE_CHARACTERS]
            yield StatePiece("state", text, f"messages[{message.position}]", "turn", metadata, message)
        previous = message


def _preceding_question(message: Message, previous: Message | None) -> str:
    """The question that a message may answer, since an answer often says little without it; "" if none."""
    if previous is None or previous.speaker == message.speaker or not previous.text.endswith("?"):
        return ""
    return f"{split_sentences_and_clauses(previous.text[-MAX_QUESTION_CHARACTERS:])[-1]} "


def _split_values_into_pieces(source: ContextSource, values: Mapping[str, object]) -> list[StatePiece]:
    """The pieces of some values, given by their places in the state, each about one thing."""
    return [
        StatePiece(source, text[:MAX_PIECE_CHARACTERS], part_place)
        for place, value in values.items()
        for part_place, text in islice(_iterate_texts_with_places(value, place), MAX_PIECES)
    ]


def _iterate_texts_with_places(value: object, place: str) -> Iterator[tuple[str, str]]:
    """The non-empty texts of the parts of a value, with their places in the state."""
    for part_place, part in _iterate_parts_with_places(value, place, MAX_DEPTH):
        message = None if isinstance(part, str) else read_message(part, 0)
        if text := value_as_text(part) if message is None else message.text:
            yield part_place, text


def _iterate_parts_with_places(value: object, place: str, depth: int) -> Iterator[tuple[str, object]]:
    """The parts of a value that are about one thing each, with their places in the state."""
    if depth and isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _iterate_parts_with_places(part, f"{place}[{index}]", depth - 1)
    elif depth and isinstance(value, Mapping) and _holds_several_things(value):
        for key, part in value.items():
            yield from _iterate_parts_with_places(part, f"{place}.{key}", depth - 1)
    else:
        yield place, value


def _holds_several_things(value: Mapping[Any, Any]) -> bool:
    """Whether a mapping holds several things, rather than the facts of one."""
    has_list = any(isinstance(part, list | tuple) and part for part in value.values())
    return has_list and len(value_as_text(value)) > MAX_UNSPLIT_CHARACTERS
