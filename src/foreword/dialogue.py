"""What travels in a conversation: who speaks, what was said, what is talked about.

Frozen values and the contracts between those who keep them (a registry, a summarizer) and those who word
them. Nothing here finds an entity, counts a token or stores a turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

Role = Literal["user", "assistant", "system", "tool"]
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")

SpeechAct = Literal[
    "statement",
    "question",
    "answer",
    "request",
    "suggestion",
    "decision",
    "promise",
    "agreement",
    "refusal",
    "correction",
    "greeting",
    "thanks",
    "apology",
]
"""What a turn does, as far as its words show it."""

EntityType = Literal[
    "person", "organisation", "place", "email", "url", "file", "version", "ticket", "date", "code", "thing"
]
ENTITY_TYPES: tuple[EntityType, ...] = (
    "person",
    "organisation",
    "place",
    "email",
    "url",
    "file",
    "version",
    "ticket",
    "date",
    "code",
    "thing",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said. `corrected_text` is preferred wherever the turn is read.

    `name` is the speaker's own name, where roles do not tell speakers apart. `call_id` ties what a tool
    answered to the turn that asked it, whose `tool_calls` are kept as they came.
    """

    raw_text: str
    role: Role = "user"
    turn_id: str = ""
    name: str = ""
    corrected_text: str | None = None
    timestamp: datetime | None = None
    speech_act: SpeechAct | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    call_id: str = ""

    @property
    def text(self) -> str:
        """What the turn says: as corrected, else as it came."""
        return self.raw_text if self.corrected_text is None else self.corrected_text

    @property
    def speaker(self) -> str:
        """The label before the turn: a name, or User, Assistant, System, Tool."""
        return self.name or self.role.capitalize()


@dataclass(frozen=True, slots=True)
class EntityRelationship:
    """What an entity has to do with another."""

    relation: str
    target_id: str
    target_name: str
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Entity:
    """Someone or something that is talked about; mentions are counted in turns, from 0."""

    id: str
    canonical_name: str
    entity_type: EntityType
    aliases: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    first_mention: int = 0
    last_mention: int = 0
    mentions: int = 1


@dataclass(frozen=True, slots=True)
class ResolvedEntity:
    """Words of a query (`mention`, between `start` and `end`) and the entity they mean."""

    entity_id: str
    canonical_name: str
    confidence: float
    mention: str = ""
    start: int = 0
    end: int = 0


class Registry(Protocol):
    """The entities of one conversation, as those who word them need it."""

    def get(self, entity_id: str) -> Entity | None:
        """The entity, if it is known."""
        ...

    def get_high_salience_entities(self, limit: int) -> list[Entity]:
        """Those that are most talked about now, the most salient first."""
        ...

    def get_salience(self, entity_id: str) -> float:
        """How present an entity is, 0 to 1; 0 when it is unknown."""
        ...

    def relationships(self, entity_id: str) -> tuple[EntityRelationship, ...]:
        """What it has to do with others."""
        ...

    def active_count(self) -> int:
        """How many are still present."""
        ...


class DialogueSummarizer(Protocol):
    """Tells turns in fewer words. What was told once costs little to tell again with a turn more."""

    def summarize(self, turns: Sequence[Turn], max_tokens: int) -> str:
        """The turns in at most so many tokens; empty when nothing fits or there is nothing to tell."""
        ...


@dataclass(frozen=True, slots=True)
class DialogueState:
    """A conversation as it stands: its turns, oldest first, and who and what is talked about."""

    turns: Sequence[Turn]
    entity_registry: Registry
    session_id: str = ""
