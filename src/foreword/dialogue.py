"""A conversation's whole prompt: history, entities, knowledge, preferences, within one window.

    >>> from foreword import ContextEngine
    >>> from foreword.dialogue import Document, KnowledgeBase, Session, Turn, inject_context
    >>> engine = ContextEngine()
    >>> _ = KnowledgeBase(engine, "bakery").index_document(
    ...     Document("Opening hours", "The shop is open from 7 to 18, on Sundays from 8 to 12."))
    >>> session = Session(engine, "bakery", "c-17", base_instructions="You answer for the Plum bakery.")
    >>> _ = session.add(Turn("I ordered a plum cake for Saturday."))
    >>> prompt = inject_context("When can I pick it up?", session, 1024)
    >>> prompt.token_count <= 1024, "plum cake" in prompt.formatted
    (True, True)
    >>> [message["role"] for message in prompt.openai_messages()]
    ['system', 'user', 'user']
    >>> engine.close()

The prompt: `inject_context(query, session, max_tokens)` gives an `InjectedContext` with `content`
(`ContextContent`), `formatted`, `token_count`, `budget`, `level` (`CompressionLevel`), `receipt`,
`openai_messages()` and `anthropic_messages()`. A `Session` stores `Turn`s in a workspace; its `state` is a
`DialogueState`: turns, and the `Entity`s they mention; words of a query become `ResolvedEntity`s.
`openai_turns`, `anthropic_turns` and `responses_turns` make turns of an API's messages; `find_addition` gives
an `AddedContext`, for a conversation whose prompt an application writes itself.

The window: `TokenBudgetManager` divides it by `Fixed`, `Dynamic` or `Prioritized`; a `TokenBudget` is the
result. `DynamicCompressor` makes a prompt fit.

The parts: `HistoryFormatter` (with `HistoryFormatterConfig`, giving `FormattedHistory`), `EntityRegistry`,
`EntityResolver` and `EntityContextFormatter` (with `EntityContextConfig`, giving `EntityContext`),
`RAGSystem` (with `RAGConfig`) over a `KnowledgeBase` of `Document`s, giving `KnowledgeChunk`s with their
`DocumentSource`; `SystemPromptBuilder` with `UserPreferences`, `FormattingPreferences` and a personality:
`Helpful`, `Expert`, `Conversational`, `Custom`. `ExtractiveSummarizer` is the summarizer that ships.
"""

from foreword.compose.allocation import Dynamic, Fixed, Prioritized, TokenBudget, TokenBudgetManager
from foreword.compose.compress import CompressionLevel, DynamicCompressor
from foreword.compose.entity_context import EntityContext, EntityContextConfig, EntityContextFormatter
from foreword.compose.formatted_history import FormattedHistory
from foreword.compose.history import HistoryFormatter, HistoryFormatterConfig
from foreword.compose.knowledge_chunk import DocumentSource, KnowledgeChunk
from foreword.compose.prompt import ContextContent
from foreword.compose.system_prompt import (
    Conversational,
    Custom,
    Expert,
    FormattingPreferences,
    Helpful,
    SystemPromptBuilder,
    UserPreferences,
)
from foreword.indexing.knowledge_base import Document, KnowledgeBase
from foreword.knowledge.dialogue_summary import ExtractiveSummarizer
from foreword.knowledge.registry import EntityRegistry
from foreword.knowledge.resolution import EntityResolver
from foreword.recipes.dialogue.addition import AddedContext, find_addition
from foreword.recipes.dialogue.messages import anthropic_turns, openai_turns, responses_turns
from foreword.recipes.dialogue.prompt import InjectedContext, inject_context
from foreword.recipes.dialogue.rag import RAGConfig, RAGSystem
from foreword.recipes.dialogue.session import Session
from foreword.types import DialogueState, Entity, ResolvedEntity, Turn

__all__ = [
    "AddedContext",
    "CompressionLevel",
    "ContextContent",
    "Conversational",
    "Custom",
    "DialogueState",
    "Document",
    "DocumentSource",
    "Dynamic",
    "DynamicCompressor",
    "Entity",
    "EntityContext",
    "EntityContextConfig",
    "EntityContextFormatter",
    "EntityRegistry",
    "EntityResolver",
    "Expert",
    "ExtractiveSummarizer",
    "Fixed",
    "FormattedHistory",
    "FormattingPreferences",
    "Helpful",
    "HistoryFormatter",
    "HistoryFormatterConfig",
    "InjectedContext",
    "KnowledgeBase",
    "KnowledgeChunk",
    "Prioritized",
    "RAGConfig",
    "RAGSystem",
    "ResolvedEntity",
    "Session",
    "SystemPromptBuilder",
    "TokenBudget",
    "TokenBudgetManager",
    "Turn",
    "UserPreferences",
    "anthropic_turns",
    "find_addition",
    "inject_context",
    "openai_turns",
    "responses_turns",
]
