"""What a prompt is made of before it is worded, and the conversation that all of it comes from.

Contracts only: `foreword.Session` is a conversation that is kept in a workspace; a user's own may take its
place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from foreword.compose.allocation import AllocationStrategy, TokenBudget
    from foreword.compose.compress import Compressed, DynamicCompressor
    from foreword.compose.entity_context import EntityContextFormatter
    from foreword.compose.history import HistoryFormatter
    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.compose.system_prompt import SystemPrompt, SystemPromptBuilder
    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueState, Note, Receipt, ResolvedEntity, Turn


@dataclass(frozen=True, slots=True)
class Recalled:
    """Earlier turns that bear on a question, the best first, each with its probability."""

    turns: tuple[tuple[Turn, float], ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The chunks, best first; how many were considered, whether they were reranked, and what went wrong."""

    chunks: tuple[KnowledgeChunk, ...] = ()
    considered: int = 0
    reranked: bool = False
    notes: tuple[Note, ...] = ()

    @property
    def citations(self) -> tuple[str, ...]:
        """Each document once, in the order of its best chunk: its title, the place, the address if any."""
        cited: dict[str, str] = {}
        for source in (chunk.source for chunk in self.chunks):
            told = ", ".join(filter(None, (source.title, source.place, source.url)))
            cited.setdefault(source.doc_id, told)
        return tuple(cited.values())


@dataclass(frozen=True, slots=True)
class Wording:
    """What puts the parts of a prompt into words."""

    system: SystemPromptBuilder
    history: HistoryFormatter
    entities: EntityContextFormatter
    compressor: DynamicCompressor


class Conversing(Protocol):
    """What the recipe needs of a conversation; `foreword.Session` is one."""

    @property
    def workspace(self) -> str:
        """Where the conversation is kept."""
        ...

    @property
    def session_id(self) -> str:
        """Which conversation it is."""
        ...

    @property
    def state(self) -> DialogueState:
        """The conversation as it stands."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """What counts tokens."""
        ...

    @property
    def strategy(self) -> AllocationStrategy:
        """How the window is divided."""
        ...

    @property
    def wording(self) -> Wording:
        """What words its parts."""
        ...

    def now(self) -> datetime:
        """What time it is."""
        ...

    def available_chunks(self) -> int:
        """How many chunks of documents there are."""
        ...

    def resolve(self, query: str) -> Sequence[ResolvedEntity]:
        """Who and what the query means."""
        ...

    def recall(self, query: str, max_tokens: int) -> Recalled:
        """The turns that bear on the query, as many as so many tokens may hold."""
        ...

    def retrieve(self, query: str, entities: Sequence[ResolvedEntity], max_tokens: int) -> Retrieved:
        """The chunks that bear on the query, as many as so many tokens hold."""
        ...

    def file(self, receipt: Receipt) -> None:
        """Keep the receipt of a prompt."""
        ...


@dataclass(frozen=True, slots=True)
class FoundParts:
    """What the parts of a prompt may be made of."""

    entities: tuple[ResolvedEntity, ...] = ()
    recalled: Recalled = Recalled()
    retrieved: Retrieved = Retrieved()


@dataclass(frozen=True, slots=True)
class Made:
    """A prompt that was made, with all that a receipt tells of."""

    query: str
    total: int
    session: Conversing
    state: DialogueState
    budget: TokenBudget
    found: FoundParts
    system: SystemPrompt
    compressed: Compressed
