"""Foreword: the right context for an LLM agent, before it reads the prompt.

    from foreword import ContextEngine

    with ContextEngine() as engine:
        engine.remember("We chose Postgres over MySQL for its JSON operators.", "shop", type="decision")
        print(engine.build_context("Which database do we use?", "shop").context)

Every public name is loaded on first use: `import foreword` itself costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "foreword.engine.context_engine": ("ContextEngine",),
    "foreword.options": ("CacheConfig", "ContextOptions", "SearchOptions"),
    "foreword.config": ("Settings",),
    "foreword.types": (
        "DialogueState",
        "Entity",
        "ResolvedEntity",
        "Turn",
        "Entry",
        "Filters",
        "Item",
        "Note",
        "Query",
        "Receipt",
        "RelatedMemory",
        "Relation",
        "SearchResult",
        "Source",
    ),
    "foreword.recipes.dialogue.session": ("Session",),
    "foreword.recipes.dialogue.prompt": ("InjectedContext", "inject_context"),
    "foreword.indexing.knowledge_base": ("Document", "KnowledgeBase"),
    "foreword.recipes.dialogue.rag": ("RAGConfig", "RAGSystem"),
    "foreword.knowledge.registry": ("EntityRegistry",),
    "foreword.knowledge.resolution": ("EntityResolver",),
    "foreword.knowledge.running_summary": ("ExtractiveSummarizer",),
    "foreword.compose.allocation": ("Dynamic", "Fixed", "Prioritized", "TokenBudgetManager"),
    "foreword.compose.history": ("FormattedHistory", "HistoryFormatter", "HistoryFormatterConfig"),
    "foreword.compose.entity_context": ("EntityContext", "EntityContextConfig", "EntityContextFormatter"),
    "foreword.compose.system_prompt": ("FormattingPreferences", "SystemPromptBuilder", "UserPreferences"),
    "foreword.compose.compress": ("CompressionLevel", "DynamicCompressor"),
    "foreword.compose.prompt": ("ContextContent",),
    "foreword.compose.knowledge_chunk": ("DocumentSource", "KnowledgeChunk"),
    "foreword.recipes.gap.engine_memory": ("EngineMemory",),
    "foreword.recipes.gap.injection": (
        "inject_context_gap",
        "manage_context_injection",
        "retrieve_relevant_context",
    ),
    "foreword.recall.gaps.detect": ("detect_context_gap",),
    "foreword.recall.gaps.memory": ("MemoryResult", "MemoryStore"),
    "foreword.recall.gaps.types": (
        "ContextGap",
        "ContextSource",
        "DEFAULT_MAX_CONTEXT_ITEMS",
        "DEFAULT_MIN_RELEVANCE_SCORE",
        "GapInjection",
        "GapReason",
        "InjectionConfig",
        "RetrievedContext",
        "VALID_CONTEXT_SOURCES",
        "VALID_GAP_REASONS",
    ),
    "foreword.recipes.chat": ("ContextPreview", "ContextResult"),
    "foreword.recipes.coding.injection": ("InjectionPipeline", "InjectionResult"),
    "foreword.recipes.assembled.assembler": ("ContextAssembler",),
    "foreword.recipes.assembled.searcher": ("Searcher",),
    "foreword.indexing.indexer": ("Indexed", "Indexer"),
    "foreword.knowledge.experience": ("Experience", "Lesson", "RootCause"),
    "foreword.knowledge.experiences": ("Experiences",),
    "foreword.knowledge.values": ("Values",),
    "foreword.compose.context_item": ("ContextItem", "FormattedContext"),
    "foreword.compose.candidate": ("InjectionCandidate", "InjectionCategory"),
    "foreword.compose.budget": ("TokenBudget",),
    "foreword.compose.badges": ("TemporalEnrichmentProvider",),
    "foreword.compose.injection": ("ContextFormatter",),
    "foreword.compose.templates": ("ContextTemplate",),
    "foreword.knowledge.sessions": ("SessionContextProvider",),
    "foreword.recall.priority": ("DiversityBonus", "PriorityRanker", "RecencyFactor"),
    "foreword.recall.rank": ("MemoryRanker", "RankingFunction", "RankingOptions"),
    "foreword.spaces.providers": ("EmbeddingProvider", "FastEmbedProvider", "SentenceTransformersProvider"),
    "foreword.spaces.bundled": ("BundledEmbeddingProvider",),
    "foreword.spaces.remote": ("OpenAIEmbeddingProvider",),
    "foreword.spaces.cache": ("EmbeddingCache",),
    "foreword.store.base": ("Store",),
    "foreword.store.sqlite": ("SqliteStore",),
    "foreword.text.tokens": ("CharacterTokenizer", "TiktokenTokenizer", "Tokenizer", "WordTokenizer"),
    "foreword.errors": (
        "BudgetExceeded",
        "CannotCompress",
        "ContextAssemblyError",
        "ContextError",
        "EmbeddingError",
        "ForewordError",
        "FormattingError",
        "InjectionError",
        "InvalidContextTypeError",
        "MissingExtra",
        "NoContext",
        "QueryTooLarge",
        "RetrievalError",
        "SearchError",
        "StorageError",
        "StoreBusy",
        "StoreDamaged",
        "StoreFull",
        "StoreReadOnly",
        "StoreTooNew",
        "TemplateNotFound",
        "ValidationError",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, "__version__"])  # noqa: PLE0605  (one table, from which both are made)

if TYPE_CHECKING:
    from foreword.compose.allocation import Dynamic as Dynamic
    from foreword.compose.allocation import Fixed as Fixed
    from foreword.compose.allocation import Prioritized as Prioritized
    from foreword.compose.allocation import TokenBudgetManager as TokenBudgetManager
    from foreword.compose.badges import TemporalEnrichmentProvider as TemporalEnrichmentProvider
    from foreword.compose.budget import TokenBudget as TokenBudget
    from foreword.compose.candidate import InjectionCandidate as InjectionCandidate
    from foreword.compose.candidate import InjectionCategory as InjectionCategory
    from foreword.compose.compress import CompressionLevel as CompressionLevel
    from foreword.compose.compress import DynamicCompressor as DynamicCompressor
    from foreword.compose.context_item import ContextItem as ContextItem
    from foreword.compose.context_item import FormattedContext as FormattedContext
    from foreword.compose.entity_context import EntityContext as EntityContext
    from foreword.compose.entity_context import EntityContextConfig as EntityContextConfig
    from foreword.compose.entity_context import EntityContextFormatter as EntityContextFormatter
    from foreword.compose.history import FormattedHistory as FormattedHistory
    from foreword.compose.history import HistoryFormatter as HistoryFormatter
    from foreword.compose.history import HistoryFormatterConfig as HistoryFormatterConfig
    from foreword.compose.injection import ContextFormatter as ContextFormatter
    from foreword.compose.knowledge_chunk import DocumentSource as DocumentSource
    from foreword.compose.knowledge_chunk import KnowledgeChunk as KnowledgeChunk
    from foreword.compose.prompt import ContextContent as ContextContent
    from foreword.compose.system_prompt import FormattingPreferences as FormattingPreferences
    from foreword.compose.system_prompt import SystemPromptBuilder as SystemPromptBuilder
    from foreword.compose.system_prompt import UserPreferences as UserPreferences
    from foreword.compose.templates import ContextTemplate as ContextTemplate
    from foreword.config import Settings as Settings
    from foreword.engine.context_engine import ContextEngine as ContextEngine
    from foreword.errors import BudgetExceeded as BudgetExceeded
    from foreword.errors import CannotCompress as CannotCompress
    from foreword.errors import ContextAssemblyError as ContextAssemblyError
    from foreword.errors import ContextError as ContextError
    from foreword.errors import EmbeddingError as EmbeddingError
    from foreword.errors import ForewordError as ForewordError
    from foreword.errors import FormattingError as FormattingError
    from foreword.errors import InjectionError as InjectionError
    from foreword.errors import InvalidContextTypeError as InvalidContextTypeError
    from foreword.errors import MissingExtra as MissingExtra
    from foreword.errors import NoContext as NoContext
    from foreword.errors import QueryTooLarge as QueryTooLarge
    from foreword.errors import RetrievalError as RetrievalError
    from foreword.errors import SearchError as SearchError
    from foreword.errors import StorageError as StorageError
    from foreword.errors import StoreBusy as StoreBusy
    from foreword.errors import StoreDamaged as StoreDamaged
    from foreword.errors import StoreFull as StoreFull
    from foreword.errors import StoreReadOnly as StoreReadOnly
    from foreword.errors import StoreTooNew as StoreTooNew
    from foreword.errors import TemplateNotFound as TemplateNotFound
    from foreword.errors import ValidationError as ValidationError
    from foreword.indexing.indexer import Indexed as Indexed
    from foreword.indexing.indexer import Indexer as Indexer
    from foreword.indexing.knowledge_base import Document as Document
    from foreword.indexing.knowledge_base import KnowledgeBase as KnowledgeBase
    from foreword.knowledge.experience import Experience as Experience
    from foreword.knowledge.experience import Lesson as Lesson
    from foreword.knowledge.experience import RootCause as RootCause
    from foreword.knowledge.experiences import Experiences as Experiences
    from foreword.knowledge.registry import EntityRegistry as EntityRegistry
    from foreword.knowledge.resolution import EntityResolver as EntityResolver
    from foreword.knowledge.running_summary import ExtractiveSummarizer as ExtractiveSummarizer
    from foreword.knowledge.sessions import SessionContextProvider as SessionContextProvider
    from foreword.knowledge.values import Values as Values
    from foreword.options import CacheConfig as CacheConfig
    from foreword.options import ContextOptions as ContextOptions
    from foreword.options import SearchOptions as SearchOptions
    from foreword.recall.gaps.detect import detect_context_gap as detect_context_gap
    from foreword.recall.gaps.memory import MemoryResult as MemoryResult
    from foreword.recall.gaps.memory import MemoryStore as MemoryStore
    from foreword.recall.gaps.types import DEFAULT_MAX_CONTEXT_ITEMS as DEFAULT_MAX_CONTEXT_ITEMS
    from foreword.recall.gaps.types import DEFAULT_MIN_RELEVANCE_SCORE as DEFAULT_MIN_RELEVANCE_SCORE
    from foreword.recall.gaps.types import VALID_CONTEXT_SOURCES as VALID_CONTEXT_SOURCES
    from foreword.recall.gaps.types import VALID_GAP_REASONS as VALID_GAP_REASONS
    from foreword.recall.gaps.types import ContextGap as ContextGap
    from foreword.recall.gaps.types import ContextSource as ContextSource
    from foreword.recall.gaps.types import GapInjection as GapInjection
    from foreword.recall.gaps.types import GapReason as GapReason
    from foreword.recall.gaps.types import InjectionConfig as InjectionConfig
    from foreword.recall.gaps.types import RetrievedContext as RetrievedContext
    from foreword.recall.priority import DiversityBonus as DiversityBonus
    from foreword.recall.priority import PriorityRanker as PriorityRanker
    from foreword.recall.priority import RecencyFactor as RecencyFactor
    from foreword.recall.rank import MemoryRanker as MemoryRanker
    from foreword.recall.rank import RankingFunction as RankingFunction
    from foreword.recall.rank import RankingOptions as RankingOptions
    from foreword.recipes.assembled.assembler import ContextAssembler as ContextAssembler
    from foreword.recipes.assembled.searcher import Searcher as Searcher
    from foreword.recipes.chat import ContextPreview as ContextPreview
    from foreword.recipes.chat import ContextResult as ContextResult
    from foreword.recipes.coding.injection import InjectionPipeline as InjectionPipeline
    from foreword.recipes.coding.injection import InjectionResult as InjectionResult
    from foreword.recipes.dialogue.prompt import InjectedContext as InjectedContext
    from foreword.recipes.dialogue.prompt import inject_context as inject_context
    from foreword.recipes.dialogue.rag import RAGConfig as RAGConfig
    from foreword.recipes.dialogue.rag import RAGSystem as RAGSystem
    from foreword.recipes.dialogue.session import Session as Session
    from foreword.recipes.gap.engine_memory import EngineMemory as EngineMemory
    from foreword.recipes.gap.injection import inject_context_gap as inject_context_gap
    from foreword.recipes.gap.injection import manage_context_injection as manage_context_injection
    from foreword.recipes.gap.injection import retrieve_relevant_context as retrieve_relevant_context
    from foreword.spaces.bundled import BundledEmbeddingProvider as BundledEmbeddingProvider
    from foreword.spaces.cache import EmbeddingCache as EmbeddingCache
    from foreword.spaces.providers import EmbeddingProvider as EmbeddingProvider
    from foreword.spaces.providers import FastEmbedProvider as FastEmbedProvider
    from foreword.spaces.providers import SentenceTransformersProvider as SentenceTransformersProvider
    from foreword.spaces.remote import OpenAIEmbeddingProvider as OpenAIEmbeddingProvider
    from foreword.store.base import Store as Store
    from foreword.store.sqlite import SqliteStore as SqliteStore
    from foreword.text.tokens import CharacterTokenizer as CharacterTokenizer
    from foreword.text.tokens import TiktokenTokenizer as TiktokenTokenizer
    from foreword.text.tokens import Tokenizer as Tokenizer
    from foreword.text.tokens import WordTokenizer as WordTokenizer
    from foreword.types import DialogueState as DialogueState
    from foreword.types import Entity as Entity
    from foreword.types import Entry as Entry
    from foreword.types import Filters as Filters
    from foreword.types import Item as Item
    from foreword.types import Note as Note
    from foreword.types import Query as Query
    from foreword.types import Receipt as Receipt
    from foreword.types import RelatedMemory as RelatedMemory
    from foreword.types import Relation as Relation
    from foreword.types import ResolvedEntity as ResolvedEntity
    from foreword.types import SearchResult as SearchResult
    from foreword.types import Source as Source
    from foreword.types import Turn as Turn


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in."""
    if name not in _HOME:
        raise AttributeError(f"module 'foreword' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return __all__
