"""What a state holds that may fill a gap, in pieces: messages, decisions, hand-offs, sprint, architecture.

A piece knows its place in the state, so that a receipt can name it without its text. How relevant it is, is
for others to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foreword.recall.gaps.asking import asks
from foreword.recall.gaps.state import as_fields, message_of, plain, value
from foreword.recall.gaps.words import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.recall.gaps.state import Heard, Message
    from foreword.recall.gaps.types import ContextGap, ContextSource

PIECES = 300
"""How many pieces of one value of a state are looked at."""

PIECE_CHARACTERS = 1_000
"""So much of a piece is told."""

QUESTION_CHARACTERS = 300
"""So much of a question is told with its answer."""

DEPTH = 4
"""So deep a value is taken apart."""

SHORT = 200
"""A mapping that says no more than this is one piece."""

SPRINT = ("sprint_plan", "sprint_progress")
ARCHITECTURE = (
    "architecture",
    "architecture_context",
    "architecture_decisions",
    "adrs",
    "constraints",
    "technical_constraints",
    "architect_output",
)
_OURS = frozenset({"contexts", "source_summary", "total_items", "total_size_bytes", "gap"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A text of a state: from which source, what an engine would take it for, and where it stands."""

    source: ContextSource
    text: str
    place: str
    kind: str = "memory"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    message: Message | None = None

    @property
    def asks(self) -> bool:
        """Whether this is a message that shows a gap itself: it fills none."""
        return self.message is not None and asks(self.message) is not None


def of_state(gap: ContextGap, state: object, heard: Heard) -> list[Piece]:
    """Messages, decisions and what a hand-off carries; not the messages in which the gap shows itself."""
    return [
        *_messages(gap, heard),
        *_split("state", value(state, "decisions"), "decisions"),
        *_handed(value(state, "handoff_context")),
    ]


def of_sprint(_gap: ContextGap, state: object, _heard: Heard) -> list[Piece]:
    """The plan and the progress of the sprint, story by story."""
    return [piece for key in SPRINT for piece in _split("sprint", value(state, key), key)]


def of_architecture(_gap: ContextGap, state: object, _heard: Heard) -> list[Piece]:
    """Decisions on architecture and constraints, as far as the state holds them."""
    return [piece for key in ARCHITECTURE for piece in _split("architecture", value(state, key), key)]


def _messages(gap: ContextGap, heard: Heard) -> Iterator[Piece]:
    shown_at = {sign.at for sign in gap.reasons}
    needs = [sign.needs for sign in gap.reasons if sign.reason == "circular_logic"]
    before: Message | None = None
    for message in heard.messages:
        shows_the_gap = message.at in shown_at or any(message.text in need for need in needs)
        if message.text and message.role != "system" and not shows_the_gap:
            told = {"role": message.role} | ({"author": message.name} if message.name else {})
            text = f"{_question(before, message)}{message.text}"[:PIECE_CHARACTERS]
            yield Piece("state", text, f"messages[{message.at}]", "turn", told, message)
        before = message


def _question(before: Message | None, message: Message) -> str:
    """The question that a message may answer, as an answer often says nothing without it."""
    if before is None or before.speaker == message.speaker or not before.text.endswith("?"):
        return ""
    asked = sentences(before.text[-QUESTION_CHARACTERS:])[-1]
    return f"{asked} "


def _handed(handed: object) -> Iterator[Piece]:
    if isinstance(handed, str):
        yield from _split("state", handed, "handoff_context")
    for key, held in as_fields(handed).items():
        if key not in _OURS:
            yield from _split("state", held, f"handoff_context.{key}")


def _split(source: ContextSource, held: object, place: str) -> list[Piece]:
    """A value of a state in pieces that each say one thing."""
    pieces: list[Piece] = []
    for where, part in _parts(held, place, DEPTH):
        if len(pieces) == PIECES:
            break
        message = message_of(part, 0) if not isinstance(part, str) else None
        text = message.text if message is not None else plain(part)
        if text:
            pieces.append(Piece(source, text[:PIECE_CHARACTERS], where))
    return pieces


def _parts(held: object, place: str, depth: int) -> Iterator[tuple[str, object]]:
    if depth and isinstance(held, list | tuple):
        for at, part in enumerate(held):
            yield from _parts(part, f"{place}[{at}]", depth - 1)
    elif depth and isinstance(held, Mapping) and _is_large(held):
        for key, part in held.items():
            yield from _parts(part, f"{place}.{key}", depth - 1)
    else:
        yield place, held


def _is_large(held: Mapping[Any, Any]) -> bool:
    """Whether a mapping holds several things, rather than the facts of one."""
    several = any(isinstance(part, list | tuple) and part for part in held.values())
    return several and len(plain(held)) > SHORT
