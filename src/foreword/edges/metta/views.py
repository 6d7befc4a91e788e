"""A conversation as a MeTTa program hands it over: at another moment, with other documents, one entity of it.

MeTTa passes values: a state that was taken earlier holds the turns of that moment, whatever was said since.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from foreword.knowledge.resolution import EntityResolver
from foreword.recipes.dialogue.parts import RecalledTurns, RetrievedChunks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from foreword.compose.allocation import AllocationStrategy
    from foreword.knowledge.registry import EntityRegistry
    from foreword.recipes.dialogue.parts import Wording
    from foreword.recipes.dialogue.rag import RAGSystem
    from foreword.recipes.dialogue.session import Session
    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueState, Entity, EntityRelationship, Receipt, Registry, ResolvedEntity


@dataclass(frozen=True, slots=True)
class OtherView:
    """A session as it stood in `state`, answering from `knowledge`."""

    session: Session
    state: DialogueState
    knowledge: RAGSystem

    @property
    def workspace(self) -> str:
        """Where the conversation is kept."""
        return self.session.workspace

    @property
    def session_id(self) -> str:
        """Which conversation it is."""
        return self.session.session_id

    @property
    def tokenizer(self) -> Tokenizer:
        """What counts tokens."""
        return self.session.tokenizer

    @property
    def strategy(self) -> AllocationStrategy:
        """How the window is divided."""
        return self.session.strategy

    @property
    def wording(self) -> Wording:
        """What words its parts."""
        return self.session.wording

    def now(self) -> datetime:
        """What time it is."""
        return self.session.now()

    def available_chunks(self) -> int:
        """How many chunks of documents there are."""
        return self.knowledge.available_chunks()

    def resolve(self, query: str) -> Sequence[ResolvedEntity]:
        """Who and what the query means."""
        registry = cast("EntityRegistry", self.state.entity_registry)
        return EntityResolver(registry).resolve(query, self.state)

    def recall(self, query: str, max_tokens: int) -> RecalledTurns:
        """The turns that bear on the query, but none that was not yet said."""
        said = {turn.turn_id for turn in self.state.turns}
        recalled = self.session.recall(query, max_tokens)
        return RecalledTurns(
            tuple(pair for pair in recalled.turns if pair[0].turn_id in said), recalled.notes
        )

    def retrieve(self, query: str, entities: Sequence[ResolvedEntity], max_tokens: int) -> RetrievedChunks:
        """The chunks that bear on the query, as many as so many tokens hold."""
        if not query.strip() or not self.available_chunks():
            return RetrievedChunks()
        return self.knowledge.retrieve(query, entities, max_tokens)

    def keep_receipt(self, receipt: Receipt) -> None:
        """Keep the receipt of a prompt."""
        self.session.keep_receipt(receipt)


@dataclass(frozen=True, slots=True)
class OneEntity:
    """A registry that knows one entity; what it has to do with others is in the registry of them all."""

    entity: Entity
    others: Registry

    def get(self, entity_id: str) -> Entity | None:
        """The entity, if it is this one."""
        return self.entity if entity_id == self.entity.id else None

    def get_high_salience_entities(self, limit: int) -> list[Entity]:
        """This one."""
        return [self.entity][:limit]

    def get_salience(self, entity_id: str) -> float:
        """How present it is."""
        return self.others.get_salience(entity_id)

    def relationships(self, entity_id: str) -> tuple[EntityRelationship, ...]:
        """What it has to do with others."""
        return self.others.relationships(entity_id)

    def active_count(self) -> int:
        """One."""
        return 1
