"""The contracts of what an assembler searches: a `Searcher` is any object with the five searches.

`searcher.EngineSearcher` is the one that ships. Another memory needs the searches and nothing else. If it can
also store receipts (`Records`), these are stored there; otherwise the assembler itself remembers, as long as
it lives, what each session was shown (`InMemoryRecords`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from foreword.capture.redact import redact
from foreword.options import check_text
from foreword.text.tokens import TiktokenTokenizer
from foreword.types import Query

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from foreword.compose.assembled import ContextItem
    from foreword.knowledge.axes import Axis
    from foreword.text.tokens import Tokenizer
    from foreword.types import Receipt

    Finding = Awaitable[Sequence[ContextItem]]
    Questions = Mapping[str, Callable[[], Finding]]
    """The searches to run, by the name of the source or section that the answers are for."""


@runtime_checkable
class Searcher(Protocol):
    """Five searches; each gives `ContextItem`s, the most relevant first, with a relevance from 0 to 1.

    Relevances are compared across the five, so they should mean the same in each. An item's `metadata` may
    have an `id`, by which the item is known again. An object that also has `search_documents(query, limit)`
    can be asked for documents.
    """

    def search_memories(self, query: str, limit: int = ...) -> Finding:
        """Facts, preferences, decisions."""

    def search_code(self, query: str, limit: int = ...) -> Finding:
        """Functions, classes and methods."""

    def search_experiences(
        self,
        query: str,
        axis: Axis = ...,
        domain: str | None = None,
        strategy: str | None = None,
        outcome: str | None = None,
        limit: int = ...,
    ) -> Finding:
        """What was tried before and how it ended."""

    def search_values(self, query: str, limit: int = ...) -> Finding:
        """What experience has taught."""

    def search_commits(self, query: str, limit: int = ...) -> Finding:
        """What was changed, and why."""


@runtime_checkable
class Records(Protocol):
    """Counts tokens, stores receipts, and looks up what a session was shown, for an assembler."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Counts tokens."""

    def make_query(self, query: str) -> Query:
        """The query for a text: checked, without secrets, with its workspace and the current time."""

    def shown_ids(self, session: str) -> frozenset[str]:
        """The ids of what a session's context already holds."""

    def record(self, receipt: Receipt) -> None:
        """Store a receipt, and mark what was injected as shown to its session."""


class InMemoryRecords:
    """The records for a searcher that has none: they remember what each session was shown, in memory."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._shown_by_session: dict[str, set[str]] = {}

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that comes with the package."""
        return TiktokenTokenizer()

    def make_query(self, query: str) -> Query:
        """The query for a text, without secrets."""
        return Query(
            redact(check_text("query", query, may_be_empty=True)), self._workspace, datetime.now(UTC)
        )

    def shown_ids(self, session: str) -> frozenset[str]:
        """The ids of what this assembler has shown to a session."""
        return frozenset(self._shown_by_session.get(session, ()))

    def record(self, receipt: Receipt) -> None:
        """Remember what the receipt's session was shown; the receipt itself is not stored."""
        if receipt.session:
            told = self._shown_by_session.setdefault(receipt.session, set())
            told.update(entry.item_id for entry in receipt.injected_entries)
