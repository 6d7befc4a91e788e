"""The frozen values of a conversation: its turns, its entities, and its state as a whole.

Nothing here does I/O or checks a user's input. All names can also be imported from `foreword.types`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    FindReplacing = Callable[[Sequence[str]], Mapping[str, "Replacement"]]
    """Gives, by the ids of turns, what replaced them in the end, for those that were replaced."""

Role = Literal["user", "assistant", "system", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)

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
"""What a turn does, such as asking or promising, as far as its words show it."""

EntityType = Literal[
    "person", "organisation", "place", "email", "url", "file", "version", "ticket", "date", "code", "thing"
]
ENTITY_TYPES: tuple[EntityType, ...] = get_args(EntityType)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation. `corrected_text` is preferred wherever the turn is read.

    `name` is the speaker's own name, where several speakers have the same role. `call_id` ties a tool's
    answer to the turn that called it, whose `tool_calls` are stored unchanged. `user` identifies the user who
    speaks, in this session and others; it is the session's if a turn has neither this nor a name. `parts`
    are the contents of a turn that is more than text: texts, images and files in their order, as OpenAI's or
    Anthropic's API has them; the text then marks the place of each ("[image, 800 × 600]").
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
    user: str = ""
    parts: tuple[Mapping[str, Any], ...] = ()

    @property
    def text(self) -> str:
        """The text of the turn: the corrected one if there is one, else the raw one."""
        return self.raw_text if self.corrected_text is None else self.corrected_text

    @property
    def speaker(self) -> str:
        """The label before the turn: a name, or User, Assistant, System, Tool."""
        return self.name or self.role.capitalize()


@dataclass(frozen=True, slots=True)
class EntityRelationship:
    """A relationship of an entity to another; `turn` is the index of the turn that states it, if known."""

    relation: str
    target_id: str
    target_name: str
    confidence: float = 1.0
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Entity:
    """Someone or something that is talked about; `first_mention` and `last_mention` are indices of turns.

    `said_in` has the index of the turn that states each attribute, where that is known.
    """

    id: str
    canonical_name: str
    entity_type: EntityType
    aliases: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    first_mention: int = 0
    last_mention: int = 0
    mentions: int = 1
    said_in: Mapping[str, int] = field(default_factory=dict)


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
    """The entities of one conversation, as far as the formatters of contexts need them."""

    def get(self, entity_id: str) -> Entity | None:
        """The entity, if it is known."""

    def get_high_salience_entities(self, limit: int) -> list[Entity]:
        """The entities that are most talked about now, the most salient first."""

    def get_salience(self, entity_id: str) -> float:
        """How present an entity is, 0 to 1; 0 when it is unknown."""

    def relationships(self, entity_id: str) -> tuple[EntityRelationship, ...]:
        """The relationships of an entity to others."""

    def active_count(self) -> int:
        """How many entities are still present."""


class DialogueSummarizer(Protocol):
    """Summarises turns. Summarising the same turns again with one more should cost little."""

    def summarize(self, turns: Sequence[Turn], max_tokens: int) -> str:
        """A summary in at most `max_tokens`; "" when nothing fits or there is nothing to say."""


@dataclass(frozen=True, slots=True)
class BesideSummary:
    """What stands beside a summary: the turns after those summarised, and the texts that the prompt tells.

    A question may be answered in these turns, and what is told need not be said twice.
    """

    since: Sequence[Turn] = ()
    told: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Replacement:
    """What was said later in place of something; that it replaced it is sure, or only probable."""

    text: str
    is_sure: bool = True


@runtime_checkable
class ContextualSummarizer(DialogueSummarizer, Protocol):
    """A summarizer that also takes account of what stands beside its summary."""

    def summarize_beside(self, turns: Sequence[Turn], max_tokens: int, beside: BesideSummary) -> str:
        """A summary in at most `max_tokens` that neither repeats nor contradicts what stands beside it."""


@dataclass(frozen=True, slots=True)
class DialogueState:
    """A conversation at one moment: its turns, oldest first, and its entities."""

    turns: Sequence[Turn]
    entity_registry: Registry
    session_id: str = ""
