"""The recipes of the context engine: `chat`, `detailed`, `summary`, and whatever templates a user registers.

One section, worded by one template; the whole budget is its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from foreword.compose.fit import fit as fit_results
from foreword.pipeline import SEARCH, drop_repeats, drop_superseded, hush_below
from foreword.types import Dropped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foreword.compose.templates import ContextTemplate
    from foreword.pipeline import Draft, Stage
    from foreword.recall.rank import RankingFunction
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


def stages(
    template: ContextTemplate, ranker: RankingFunction, floor: float, *, include_metadata: bool
) -> tuple[Stage, ...]:
    """What happens to a question, in order."""
    return (
        *SEARCH,
        hush_below(floor),
        ranked_by(ranker),
        drop_superseded,
        drop_repeats,
        worded_by(template, include_metadata=include_metadata),
    )


def ranked_by(ranker: RankingFunction) -> Stage:
    """A stage that orders the results; what the ranker leaves out is left out."""

    def rank(draft: Draft) -> Draft:
        ranked = [r if r.rank is not None else replace(r, rank=r.score) for r in ranker(draft.results)]
        kept = {result.memory.id for result in ranked}
        gone = [
            Dropped(r, "over limit", "left out by the ranker")
            for r in draft.results
            if r.memory.id not in kept
        ]
        return draft.without(gone, ranked)

    return rank


def worded_by(template: ContextTemplate, *, include_metadata: bool) -> Stage:
    """A stage that words the results and keeps what the budget holds."""

    def fit(draft: Draft) -> Draft:
        fitted = fit_results(
            draft.results, template, draft.budget, draft.kit.tokenizer, include_metadata=include_metadata
        )
        kept = [candidate.result for candidate in fitted.candidates]
        draft = draft.without(fitted.dropped, kept)
        return replace(draft, candidates=fitted.candidates, text=fitted.text, tokens=fitted.tokens)

    return fit
