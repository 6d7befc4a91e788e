"""How a coding agent's token budget is divided among categories, and which candidates fit into it.

Every category has its own tokens; those that one leaves over go to the others, the most urgent first. The
total, less what is reserved for headings, is never exceeded. Token counts come from the caller, made by the
exact tokenizer.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import TYPE_CHECKING

from foreword.errors import BudgetExceeded
from foreword.options import check_whole_number
from foreword.types import Source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Self

CLUSTER_AGREEMENT = 2.5
"""A memory with at least this weighted agreement belongs to the high relevance cluster."""


class InjectionCategory(Enum):
    """Why a memory is injected, with its place in the budget: which is filled first, and with how much."""

    DIVERGENCE_ALERT = "divergence alert"
    HIGH_RELEVANCE_CLUSTER = "high relevance cluster"
    SINGLE_SPACE_MATCH = "single space match"
    RECENT_SESSION = "recent session"
    TEMPORAL_ENRICHMENT = "temporal enrichment"

    @property
    def priority(self) -> int:
        """The place of this category in the order of urgency, from 1."""
        return list(InjectionCategory).index(self) + 1

    @property
    def budget(self) -> int:
        """The tokens of this category in the default budget."""
        return DEFAULT_TOKEN_BUDGET.tokens_for(self)

    @classmethod
    def from_agreement(cls, weighted_agreement: float) -> InjectionCategory:
        """The category of a memory that a search found, by how far the spaces agree on it."""
        agreed = weighted_agreement >= CLUSTER_AGREEMENT
        return cls.HIGH_RELEVANCE_CLUSTER if agreed else cls.SINGLE_SPACE_MATCH


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionCandidate:
    """A memory that may be injected; `priority` is relevance × recency × diversity, once computed.

    With `in_lines`, the content is code that is formatted already, its place on the first line. `author`
    names whose words these are, where the source alone does not say it well; `history` is shown after them.
    An exempt candidate (`is_exempt`) was asked for: it does not count against the share of foreign words.
    """

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
    in_lines: bool = False
    author: str = ""
    history: str = ""
    is_exempt: bool = False

    def with_priority(self, recency_factor: float, diversity_bonus: float) -> Self:
        """A copy with these factors and the priority that follows from them."""
        return replace(
            self,
            recency_factor=recency_factor,
            diversity_bonus=diversity_bonus,
            priority=self.relevance_score * recency_factor * diversity_bonus,
        )


MAX_TOKENS = 10_000_000

BRIEF_BUDGET = 200
"""The tokens of a context that is given before a tool is used."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The tokens of a context, divided. The parts never sum to more than the total."""

    total: int = 1250
    divergence_budget: int = 200
    cluster_budget: int = 400
    single_space_budget: int = 300
    session_budget: int = 200
    temporal_budget: int = 50
    reserved: int = 100

    def __post_init__(self) -> None:
        check_whole_number("total", self.total, 1, MAX_TOKENS)
        parts = [
            check_whole_number(field.name, getattr(self, field.name), 0, MAX_TOKENS)
            for field in fields(self)[1:]
        ]
        if sum(parts) > self.total:
            raise BudgetExceeded(sum(parts), self.total)

    @classmethod
    def with_total(cls, total: int) -> Self:
        """A budget of this size in the usual shares: 1/6, 1/3, 1/4, 1/6; the rest for badges and headings."""
        check_whole_number("total", total, 1, MAX_TOKENS)
        divergence, cluster, single, session = total // 6, total // 3, total // 4, total // 6
        rest = total - divergence - cluster - single - session
        return cls(total, divergence, cluster, single, session, rest // 3, rest - rest // 3)

    @property
    def available(self) -> int:
        """The tokens that memories and alerts may take together."""
        return self.total - self.reserved

    def tokens_for(self, category: InjectionCategory) -> int:
        """The tokens that are set aside for a category."""
        return {
            InjectionCategory.DIVERGENCE_ALERT: self.divergence_budget,
            InjectionCategory.HIGH_RELEVANCE_CLUSTER: self.cluster_budget,
            InjectionCategory.SINGLE_SPACE_MATCH: self.single_space_budget,
            InjectionCategory.RECENT_SESSION: self.session_budget,
            InjectionCategory.TEMPORAL_ENRICHMENT: self.temporal_budget,
        }[category]


DEFAULT_TOKEN_BUDGET = TokenBudget()

_NO_OVERFLOW = (InjectionCategory.DIVERGENCE_ALERT, InjectionCategory.TEMPORAL_ENRICHMENT)
"""Categories that get no tokens beyond their own: alerts and badges only accompany memories."""


def select_within_budget(
    candidates: Sequence[InjectionCandidate], budget: TokenBudget
) -> list[InjectionCandidate]:
    """The candidates that fit, by category; within a category in the order given.

    First every category takes the candidates that its own tokens hold; one that does not fit is skipped, and
    the next is tried. Then the tokens left over go to skipped candidates, the most urgent category first.
    """
    ordered = sorted(candidates, key=lambda candidate: candidate.category.priority)
    own = {category: budget.tokens_for(category) for category in InjectionCategory}
    left = budget.available
    taken: set[int] = set()
    for place, candidate in enumerate(ordered):
        if candidate.token_count <= min(own[candidate.category], left):
            own[candidate.category] -= candidate.token_count
            left -= candidate.token_count
            taken.add(place)
    for place, candidate in enumerate(ordered):
        overflows = place not in taken and candidate.category not in _NO_OVERFLOW
        if overflows and candidate.token_count <= left:
            left -= candidate.token_count
            taken.add(place)
    return [ordered[place] for place in sorted(taken)]
