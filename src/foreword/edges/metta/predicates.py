"""The MeTTa predicates of a conversation: each one calls the Python function for the same purpose.

`DECLARED` lists them in MeTTa, each with its type; the method of the same name implements it. Nothing here
knows of atoms: values are Python's own, a `(List X)` is a sequence, a `(Maybe X)` may be None.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from foreword.compose.allocation import MAX_TOKENS, TokenBudgetManager
from foreword.compose.compress import (
    ReductionTools,
    cut_instructions,
    handle_overflow,
    keep_top_chunks,
    needed_compression_level,
    remove_whitespace_from_turns,
    summarise_older,
)
from foreword.compose.entity_context import EntityContextFormatter, drop_entity_details
from foreword.compose.formatted_history import history_text
from foreword.compose.knowledge_chunk import format_chunk
from foreword.compose.prompt import ContextContent, prompt_tokens
from foreword.compose.system_prompt import Custom, SystemPromptBuilder
from foreword.compose.turns import TurnStyle, TurnWording
from foreword.errors import EmbeddingError
from foreword.knowledge.resolution import EntityResolver
from foreword.options import SearchOptions
from foreword.recipes.dialogue.prompt import RecalledTurns, RetrievedChunks, inject_context
from foreword.recipes.dialogue.rag import apply_boosts, rerank_chunks
from foreword.types import DialogueState, ResolvedEntity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.compose.allocation import TokenBudget
    from foreword.compose.compress import CompressionLevel
    from foreword.compose.entity_context import EntityContext
    from foreword.compose.formatted_history import FormattedHistory
    from foreword.compose.knowledge_chunk import DocumentSource, KnowledgeChunk
    from foreword.compose.system_prompt import AgentPersonality, UserPreferences
    from foreword.compose.turns import FormattedTurn
    from foreword.engine.context_engine import ContextEngine
    from foreword.knowledge.registry import EntityRegistry
    from foreword.pipeline import SearchDraft
    from foreword.recipes.dialogue.prompt import InjectedContext
    from foreword.recipes.dialogue.rag import RAGSystem
    from foreword.recipes.dialogue.session import Session
    from foreword.recipes.dialogue.users import UserMemories
    from foreword.types import Entity, EntityRelationship, Registry, SearchResult, Turn

DECLARED = Path(__file__).with_suffix(".metta").read_text(encoding="utf-8")
"""The type of each predicate, as MeTTa declares it."""

_PARTS = 1_000_000
_SUMMARY_TURNS, _SUMMARY_TOKENS = 1, 100


@dataclass(frozen=True, slots=True)
class MettaConversation:
    """The predicates over one session, its engine, and its knowledge base of documents."""

    engine: ContextEngine
    session: Session
    knowledge: RAGSystem

    # The whole and its parts

    def inject_context(
        self, query: str, state: DialogueState, knowledge: RAGSystem, max_tokens: int
    ) -> InjectedContext:
        """A whole prompt, from the conversation in `state` and the documents in `knowledge`."""
        return inject_context(query, _MettaSessionAtState(self.session, state, knowledge), max_tokens)

    def allocate_token_budget(self, query: str, state: DialogueState, total: int) -> TokenBudget:
        """How many tokens each part of the prompt gets."""
        manager = TokenBudgetManager(total, self.session.tokenizer, self.session.strategy)
        return manager.allocate(query, state, self.session.available_chunks())

    def format_dialogue_history(self, state: DialogueState, max_tokens: int) -> FormattedHistory:
        """The conversation as text, in at most `max_tokens`."""
        return self.session.wording.history.format(state, max_tokens)

    def format_entity_context(
        self, state: DialogueState, resolved: Sequence[ResolvedEntity], max_tokens: int
    ) -> Sequence[EntityContext]:
        """The entities in words, in at most `max_tokens`."""
        return self.session.wording.entities.format(state, resolved, max_tokens)

    def retrieve_rag_chunks(
        self, query: str, entities: Sequence[ResolvedEntity], max_tokens: int
    ) -> Sequence[KnowledgeChunk]:
        """The pieces of documents for a query, in at most `max_tokens`."""
        return self.session.retrieve(query, entities, max_tokens).chunks

    def build_system_prompt(
        self, preferences: UserPreferences, personality: AgentPersonality, max_tokens: int
    ) -> str:
        """The session's system prompt with this personality and these preferences."""
        system = self.session.wording.system
        return replace(system, agent_personality=personality, user_preferences=preferences).build(max_tokens)

    def resolve_entities(self, query: str, state: DialogueState) -> Sequence[ResolvedEntity]:
        """The entities that a query mentions or refers to."""
        return _MettaSessionAtState(self.session, state, self.knowledge).resolve(query)

    # Budgets

    def total_tokens(self, content: ContextContent) -> int:
        """How many tokens the whole prompt has."""
        return prompt_tokens(content, self.session.tokenizer)

    def handle_overflow(self, content: ContextContent, budget: TokenBudget) -> ContextContent:
        """The content, with every part that is over its budget shortened."""
        return handle_overflow(content, budget, self.session.wording.compressor)

    def compress_content(self, content: ContextContent, target: int) -> ContextContent:
        """The content, compressed to at most `target` tokens."""
        return self.session.wording.compressor.compress(content, target).content

    def compression_level(self, reduction: float) -> CompressionLevel:
        """The level that is needed to reduce a prompt by this share."""
        return needed_compression_level(_PARTS, round(_PARTS * (1 - reduction)))

    # History

    def summarize_turns(self, turns: Sequence[Turn], max_tokens: int) -> str:
        """A summary of turns in at most `max_tokens`."""
        return self.session.wording.compressor.summarizer.summarize(turns, max_tokens)

    def format_recent_turns(self, turns: Sequence[Turn]) -> Sequence[FormattedTurn]:
        """Each turn as a line."""
        config = self.session.wording.history.config
        style = TurnStyle(config.include_speakers, config.include_timestamps)
        wording = TurnWording(self.session.tokenizer)
        return [line for turn in turns if (line := wording.format_if_fits(turn, style, MAX_TOKENS))]

    def assemble_history(self, summary: str | None, turns: Sequence[FormattedTurn]) -> str:
        """A summary and formatted turns as one text."""
        return history_text(summary, (), turns, self.session.wording.history.config.template)

    # Entities

    def select_entity_attributes(self, entity: Entity, limit: int) -> Sequence[tuple[str, str]]:
        """The entity's most useful attributes, at most `limit`."""
        return self._format_single_entity(entity, 1.0, limit).attributes

    def get_entity_relationships(self, entity: Entity, state: DialogueState) -> Sequence[EntityRelationship]:
        """The relationships of an entity with others."""
        return state.entity_registry.relationships(entity.id)

    def format_entity(
        self, entity: Entity, relevance: float, attributes: Sequence[tuple[str, str]]
    ) -> EntityContext:
        """An entity in words, with these attributes."""
        chosen = dict(attributes)
        return self._format_single_entity(replace(entity, attributes=chosen), relevance, len(chosen))

    def _format_single_entity(self, entity: Entity, relevance: float, attributes: int) -> EntityContext:
        """An entity in words, with at most so many attributes."""
        formatter = self.session.wording.entities
        config = replace(
            formatter.config, max_entities=1, min_relevance=0.0, attributes_per_entity=attributes
        )
        state = DialogueState((), _SingleEntityRegistry(entity, self.session.state.entity_registry))
        resolved = ResolvedEntity(entity.id, entity.canonical_name, relevance)
        return EntityContextFormatter(formatter.tokenizer, config).format(state, [resolved], MAX_TOKENS)[0]

    # Documents

    def embed_query(self, query: str) -> Sequence[float]:
        """The vector of a query; EmbeddingError without words or an encoder."""
        vector = self.engine.embed_question(query)
        if vector is None:
            raise EmbeddingError("nothing to embed: give some words, to an engine that has an encoder")
        return vector

    def search_vector_index(self, vector: Sequence[float], limit: int) -> Sequence[SearchResult]:
        """The pieces of documents nearest to a vector."""
        options = SearchOptions(limit=limit, kinds=("document",))
        return self.engine.search_by_vector(vector, self.session.workspace, options)

    def apply_rag_boosts(
        self, results: Sequence[SearchResult], entities: Sequence[ResolvedEntity]
    ) -> Sequence[SearchResult]:
        """The results with higher scores for recent ones, and for those that mention these entities."""
        return apply_boosts(
            replace(self._draft_document_search(""), results=tuple(results)), entities, self.knowledge.config
        )

    def rerank_chunks(self, query: str, results: Sequence[SearchResult]) -> Sequence[SearchResult]:
        """The results in the order of the cross-encoder; unchanged if there is none."""
        draft = self._draft_document_search(query)
        reranker = draft.kit.reranker
        return results if reranker is None else rerank_chunks(draft, results, reranker)

    def format_chunk(self, chunk: KnowledgeChunk, source: DocumentSource) -> str:
        """A piece of a document as text, with its source."""
        return format_chunk(chunk.content, source)

    def _draft_document_search(self, query: str) -> SearchDraft:
        """A draft of a search in the full lane, which has not run yet."""
        return self.engine.draft(query, self.session.workspace, SearchOptions(lane="full"), "rag", 0)

    # The system prompt

    def format_personality(self, personality: AgentPersonality) -> str:
        """A personality in words."""
        return str(personality)

    def format_preferences(self, preferences: UserPreferences) -> str:
        """Preferences in words."""
        builder = SystemPromptBuilder("", Custom(""), preferences, tokenizer=self.session.tokenizer)
        return builder.build(MAX_TOKENS)

    def truncate_system_prompt(self, parts: Sequence[str], max_tokens: int) -> str:
        """The parts as one text, cut to as many whole sentences as fit."""
        return cut_instructions("\n\n".join(parts), max_tokens, self.session.tokenizer)

    # Compression

    def simplify_formatting(self, history: FormattedHistory) -> FormattedHistory:
        """The history without superfluous white space."""
        return remove_whitespace_from_turns(ContextContent("", history=history), self._reduction_tools())[
            0
        ].history

    def aggressive_summarize(self, history: FormattedHistory) -> FormattedHistory:
        """The history with only the last turn, and a summary of the others."""
        step = summarise_older(_SUMMARY_TURNS, _SUMMARY_TOKENS)
        return step(ContextContent("", history=history), self._reduction_tools())[0].history

    def reduce_entity_detail(self, entities: Sequence[EntityContext]) -> Sequence[EntityContext]:
        """The entities with only their names and types."""
        return [drop_entity_details(entity, self.session.tokenizer) for entity in entities]

    def select_top_chunks(self, chunks: Sequence[KnowledgeChunk], limit: int) -> Sequence[KnowledgeChunk]:
        """The best chunks, at most `limit`."""
        content = ContextContent("", rag_chunks=tuple(chunks))
        return keep_top_chunks(limit)(content, self._reduction_tools())[0].rag_chunks

    def _reduction_tools(self) -> ReductionTools:
        """The summarizer and tokenizer that the steps of compression need."""
        compressor = self.session.wording.compressor
        return ReductionTools(compressor.summarizer, compressor.tokenizer)


class _MettaSessionAtState:
    """A session with the turns of an earlier `state`, answering from `knowledge`.

    MeTTa passes values: a state that was read earlier has the turns of that moment, and no later ones.
    """

    def __init__(self, session: Session, state: DialogueState, knowledge: RAGSystem) -> None:
        self.workspace, self.session_id = session.workspace, session.session_id
        self.tokenizer, self.strategy = session.tokenizer, session.strategy
        self.wording, self.state = session.wording, state
        self.now, self.keep_receipt = session.now, session.keep_receipt
        self.available_chunks = knowledge.available_chunks
        self._session, self._knowledge = session, knowledge

    def resolve(self, query: str, asker: str = "") -> Sequence[ResolvedEntity]:
        """The entities that the query mentions or refers to."""
        registry = cast("EntityRegistry", self.state.entity_registry)
        return EntityResolver(registry).resolve(query, self.state, asker)

    def recall(self, query: str, max_tokens: int) -> RecalledTurns:
        """The turns that are relevant to the query, without those after this state."""
        known_ids = {turn.turn_id for turn in self.state.turns}
        recalled = self._session.recall(query, max_tokens)
        return RecalledTurns(
            tuple(pair for pair in recalled.turns if pair[0].turn_id in known_ids), recalled.notes
        )

    def recall_user(self, query: str, max_tokens: int, asker: str = "") -> UserMemories:
        """What the user said about themselves in other conversations."""
        return self._session.recall_user(query, max_tokens, asker)

    def recall_elsewhere(self, query: str, max_tokens: int, asker: str = "") -> UserMemories:
        """What bears on the query of the user's other conversations, and of the workspace's memories."""
        return self._session.recall_elsewhere(query, max_tokens, asker)

    def retrieve(
        self,
        query: str,
        entities: Sequence[ResolvedEntity],
        max_tokens: int,
        turns: Sequence[Turn] | None = None,  # noqa: ARG002  (a question is asked alone here)
    ) -> RetrievedChunks:
        """The chunks that are relevant to the query, as many as fit into `max_tokens`."""
        if not query.strip() or not self.available_chunks():
            return RetrievedChunks()
        return self._knowledge.retrieve(query, entities, max_tokens)


@dataclass(frozen=True, slots=True)
class _SingleEntityRegistry:
    """A registry with one entity; salience and relationships come from the registry of all entities."""

    entity: Entity
    others: Registry

    def get(self, entity_id: str) -> Entity | None:
        """The entity, if it has this id; None otherwise."""
        return self.entity if entity_id == self.entity.id else None

    def get_high_salience_entities(self, limit: int) -> list[Entity]:
        """The one entity, unless `limit` is 0."""
        return [self.entity][:limit]

    def get_salience(self, entity_id: str) -> float:
        """The salience of an entity."""
        return self.others.get_salience(entity_id)

    def relationships(self, entity_id: str) -> tuple[EntityRelationship, ...]:
        """The relationships of an entity with others."""
        return self.others.relationships(entity_id)

    def active_count(self) -> int:
        """Always 1."""
        return 1
