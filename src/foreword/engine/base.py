"""The contract of an engine: what recipes, experiences and sessions need of one.

`foreword.engine.context_engine.ContextEngine` is the engine that ships; anything with these members will do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from foreword.config import Settings
    from foreword.options import SearchOptions
    from foreword.pipeline import SearchDraft, SearchKit
    from foreword.spaces.base import Reranker
    from foreword.store.base import Amend, Store
    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueSummarizer, FindReplacing, Item


class StoreWaitingEvents(Protocol):
    """Stores the events that still wait to be stored; those that nobody can read, it may drop."""

    def __call__(self, *, drop_unreadable: bool) -> None:
        """Store what waits."""
        ...


class Engine(Protocol):
    """Stores items, and makes the drafts that the stages of a recipe work on."""

    @property
    def settings(self) -> Settings:
        """The settings of the engine."""
        ...

    @property
    def store(self) -> Store:
        """The store of items and receipts."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """Counts and cuts tokens."""
        ...

    @property
    def clock(self) -> Callable[[], datetime]:
        """Returns the current time, with its zone."""
        ...

    @property
    def kit(self) -> SearchKit:
        """The store, the spaces and the models that a search works with."""
        ...

    @property
    def reader(self) -> Reranker | None:
        """The reader, which judges whether a candidate helps; None when floors alone decide."""
        ...

    def draft(
        self, query: str, workspace: str, options: SearchOptions, recipe: str, budget: int
    ) -> SearchDraft:
        """A question ready for the stages of a recipe: `pipeline.run(draft, stages)`."""
        ...

    def remember_all(
        self, items: Iterable[Item], workspace: str, changes: Sequence[Amend] = ()
    ) -> list[Item]:
        """Store items, and make changes in the same transaction; when this returns both are durable."""
        ...

    def dialogue_summarizer(self, find_replacing: FindReplacing | None = None) -> DialogueSummarizer:
        """A new summarizer of conversations, as the settings ask for it.

        `find_replacing` gives what replaced turns, by the ids of the turns.
        """
        ...

    def embed_question(self, question: str) -> list[float] | None:
        """The vector of a question; None when there is no encoder."""
        ...

    def vectors(self, workspace: str, items: Sequence[Item]) -> dict[str, Sequence[float]]:
        """The vectors of these items by id; an item that has none yet is left out."""
        ...
