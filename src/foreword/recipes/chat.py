"""The recipes of the context engine: `chat`, `detailed`, `summary`, and whatever templates a user registers.

One section, worded by one template; the whole budget is its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foreword.types import Receipt, SearchResult


@dataclass(frozen=True, slots=True)
class ContextResult:
    """A context, ready to be put before a prompt."""

    context: str
    token_count: int
    memories: tuple[SearchResult, ...]
    truncated: bool
    template: str
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class ContextPreview(ContextResult):
    """What `build_context` would give, with the numbers behind it. Nothing is recorded."""

    memory_ids: tuple[str, ...] = ()
    ranking_scores: Mapping[str, float] = field(default_factory=dict)
    budget_used: float = 0.0
