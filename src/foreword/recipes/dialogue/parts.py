"""What a prompt is made of: the conversation it is for, what was found for it, and the draft of it.

`foreword.Session` is a conversation that is kept in a workspace; anything with the members of `Conversation`
can take its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from foreword.pipeline import Draft

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from foreword.compose.allocation import AllocationStrategy, TokenBudget
    from foreword.compose.compress import Compressed, DynamicCompressor
    from foreword.compose.entity_context import EntityContextFormatter
    from foreword.compose.history import HistoryFormatter
    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.compose.prompt import ContextContent
    from foreword.compose.system_prompt import SystemPrompt, SystemPromptBuilder
    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueState, Note, Receipt, ResolvedEntity, Turn


@dataclass(frozen=True, slots=True)
class RecalledTurns:
    """Earlier turns that bear on a question, the best first, each with its probability."""

    turns: tuple[tuple[Turn, float], ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class RetrievedChunks:
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
            cited.setdefault(source.doc_id, ", ".join(filter(None, (source.title, source.place, source.url))))
        return tuple(cited.values())


@dataclass(frozen=True, slots=True)
class Wording:
    """What puts the parts of a prompt into words."""

    system: SystemPromptBuilder
    history: HistoryFormatter
    entities: EntityContextFormatter
    compressor: DynamicCompressor


class Conversation(Protocol):
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

    def recall(self, query: str, max_tokens: int) -> RecalledTurns:
        """The turns that bear on the query, as many as so many tokens may hold."""
        ...

    def retrieve(self, query: str, entities: Sequence[ResolvedEntity], max_tokens: int) -> RetrievedChunks:
        """The chunks that bear on the query, as many as so many tokens hold."""
        ...

    def keep_receipt(self, receipt: Receipt) -> None:
        """Keep the receipt of a prompt."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueDraft(Draft):
    """A prompt in the making: the conversation it is for, how the window is divided, and its parts."""

    conversation: Conversation
    state: DialogueState
    available_chunks: int
    allocation: TokenBudget
    content: ContextContent
    entities: tuple[ResolvedEntity, ...] = ()
    recalled: RecalledTurns = RecalledTurns()
    retrieved: RetrievedChunks = RetrievedChunks()
    system: SystemPrompt | None = None
    compressed: Compressed | None = None
