"""Foreword: the right context for an LLM agent, before it reads the prompt.

    from foreword import ContextEngine

    with ContextEngine() as engine:
        engine.remember("We chose Postgres over MySQL for its JSON operators.", "shop", type="decision")
        print(engine.build_context("Which database do we use?", "shop").context)

The names most programs need are here. The rest is in `foreword.dialogue` (a conversation's prompt),
`foreword.coding` (a coding agent's context), `foreword.assembled` (documents from several sources,
experiences), `foreword.gap` (agents that lack context), `foreword.engine` (rankers, encoders, tokenizers,
stores) and `foreword.errors`. Every name is loaded on first use: `import foreword` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.engine.public_names import load_public_name

__version__ = "0.1.0"

_HOMES = {
    "foreword.engine.context_engine": ("ContextEngine",),
    "foreword.engine.ledger": ("Ledger",),
    "foreword.options": ("ContextOptions", "SearchOptions"),
    "foreword.config": ("Settings",),
    "foreword.types": ("Item", "Receipt", "Relation", "SearchResult", "Source", "Turn"),
    "foreword.recipes.chat": ("ContextPreview", "ContextResult"),
    "foreword.recipes.coding.injection": ("InjectionPipeline",),
    "foreword.recipes.dialogue.prompt": ("InjectedContext", "inject_context"),
    "foreword.recipes.dialogue.session": ("Session",),
    "foreword.recipes.assembled.assembler": ("ContextAssembler",),
    "foreword.gap": (
        "EngineMemory",
        "detect_context_gap",
        "inject_context_gap",
        "manage_context_injection",
        "retrieve_relevant_context",
    ),
    "foreword.indexing.indexer": ("Indexer",),
    "foreword.indexing.knowledge_base": ("Document", "KnowledgeBase"),
    "foreword.knowledge.experiences": ("Experiences",),
    "foreword.knowledge.values": ("Values",),
    "foreword.compose.templates": ("ContextTemplate",),
    "foreword.spaces.providers": ("EmbeddingProvider",),
    "foreword.store.base": ("Store",),
    "foreword.text.tokens": ("Tokenizer",),
    "foreword.errors": ("ContextError", "ForewordError", "StorageError", "ValidationError"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, "__version__"])  # noqa: PLE0605  (one table, from which both are made)

if TYPE_CHECKING:
    from foreword.compose.templates import ContextTemplate as ContextTemplate
    from foreword.config import Settings as Settings
    from foreword.engine.context_engine import ContextEngine as ContextEngine
    from foreword.engine.ledger import Ledger as Ledger
    from foreword.errors import ContextError as ContextError
    from foreword.errors import ForewordError as ForewordError
    from foreword.errors import StorageError as StorageError
    from foreword.errors import ValidationError as ValidationError
    from foreword.gap import EngineMemory as EngineMemory
    from foreword.gap import detect_context_gap as detect_context_gap
    from foreword.gap import inject_context_gap as inject_context_gap
    from foreword.gap import manage_context_injection as manage_context_injection
    from foreword.gap import retrieve_relevant_context as retrieve_relevant_context
    from foreword.indexing.indexer import Indexer as Indexer
    from foreword.indexing.knowledge_base import Document as Document
    from foreword.indexing.knowledge_base import KnowledgeBase as KnowledgeBase
    from foreword.knowledge.experiences import Experiences as Experiences
    from foreword.knowledge.values import Values as Values
    from foreword.options import ContextOptions as ContextOptions
    from foreword.options import SearchOptions as SearchOptions
    from foreword.recipes.assembled.assembler import ContextAssembler as ContextAssembler
    from foreword.recipes.chat import ContextPreview as ContextPreview
    from foreword.recipes.chat import ContextResult as ContextResult
    from foreword.recipes.coding.injection import InjectionPipeline as InjectionPipeline
    from foreword.recipes.dialogue.prompt import InjectedContext as InjectedContext
    from foreword.recipes.dialogue.prompt import inject_context as inject_context
    from foreword.recipes.dialogue.session import Session as Session
    from foreword.spaces.providers import EmbeddingProvider as EmbeddingProvider
    from foreword.store.base import Store as Store
    from foreword.text.tokens import Tokenizer as Tokenizer
    from foreword.types import Item as Item
    from foreword.types import Receipt as Receipt
    from foreword.types import Relation as Relation
    from foreword.types import SearchResult as SearchResult
    from foreword.types import Source as Source
    from foreword.types import Turn as Turn


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in."""
    return load_public_name(name, _HOME, globals())


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return __all__
