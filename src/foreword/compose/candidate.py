"""What may be injected into a coding agent's context: a memory, what speaks for it, and its category.

A category says how urgent a memory is and how many tokens its like may take. Nothing here ranks, chooses or
words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from foreword.types import Source

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self

CLUSTER_AGREEMENT = 2.5
"""From this weighted agreement on, the spaces agree that a memory matters."""


class InjectionCategory(Enum):
    """Why something is injected: its priority (1 comes first) and its share of the default budget."""

    DIVERGENCE_ALERT = "divergence alert"
    HIGH_RELEVANCE_CLUSTER = "high relevance cluster"
    SINGLE_SPACE_MATCH = "single space match"
    RECENT_SESSION = "recent session"
    TEMPORAL_ENRICHMENT = "temporal enrichment"

    @property
    def priority(self) -> int:
        """Its place among the categories, from 1."""
        return list(InjectionCategory).index(self) + 1

    @property
    def budget(self) -> int:
        """Its tokens in the default budget."""
        return _BUDGETS[self]

    @classmethod
    def of(cls, weighted_agreement: float) -> InjectionCategory:
        """The category of a memory that was searched for, by how far the spaces agree on it."""
        agreed = weighted_agreement >= CLUSTER_AGREEMENT
        return cls.HIGH_RELEVANCE_CLUSTER if agreed else cls.SINGLE_SPACE_MATCH


_BUDGETS = dict(zip(InjectionCategory, (200, 400, 300, 200, 50), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionCandidate:
    """A memory on its way into the context; `priority` is relevance × recency × diversity, once weighed."""

    memory_id: str
    content: str
    created_at: datetime
    relevance_score: float
    weighted_agreement: float = 0.0
    category: InjectionCategory = InjectionCategory.SINGLE_SPACE_MATCH
    source: Source = Source()
    recency_factor: float = 1.0
    diversity_bonus: float = 1.0
    priority: float = 0.0
    temporal_badges: tuple[str, ...] = ()
    token_count: int = 0

    def weighed(self, recency_factor: float, diversity_bonus: float) -> Self:
        """The candidate with its factors, and the priority that follows from them."""
        return replace(
            self,
            recency_factor=recency_factor,
            diversity_bonus=diversity_bonus,
            priority=self.relevance_score * recency_factor * diversity_bonus,
        )
