"""What a memory must offer so that gaps can be filled from it.

The names are those that agents' memories have; a store of somebody else's tells its own scores, from 0 to 1,
and they are taken at their word. What a memory may offer besides has a contract of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """One answer of a memory: its key, what it says, how relevant that is (0 to 1), and its facts."""

    key: str
    content: str
    score: float
    metadata: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class MemoryStore(Protocol):
    """A memory that can be asked; answers come best first."""

    async def search_similar(self, query: str, k: int = 5) -> Sequence[MemoryResult]:
        """Whatever is near to a question."""
        ...

    async def search_decisions(
        self, query: str, filters: Mapping[str, Any] | None = None, k: int = 5
    ) -> Sequence[MemoryResult]:
        """Decisions near to a question."""
        ...

    async def search_patterns(
        self, query: str, pattern_type: str | None = None, k: int = 5
    ) -> Sequence[MemoryResult]:
        """Ways of doing things near to a question."""
        ...

    async def get_decisions_by_agent(self, agent_type: str, limit: int = 10) -> Sequence[MemoryResult]:
        """What an agent decided, newest first."""
        ...


@runtime_checkable
class Judge(Protocol):
    """What can say how relevant texts are that no memory holds."""

    async def judge(self, query: str, texts: Sequence[str], kinds: Sequence[str]) -> list[float]:
        """The relevance of each text, as something of its kind."""
        ...


@runtime_checkable
class Architect(Protocol):
    """A memory that knows which of its items are about architecture."""

    async def search_architecture(self, query: str, k: int = 5) -> Sequence[MemoryResult]:
        """Decisions on architecture, and constraints, near to a question."""
        ...
