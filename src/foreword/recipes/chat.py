"""The recipes of the context engine: `chat`, `detailed`, `summary`, and whatever templates a user registers.

One section, worded by one template; the whole budget is its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from foreword.compose.fit import fit_memories
from foreword.pipeline import drop_repeats, drop_superseded, search_above
from foreword.recipes.code import return_code_above, set_code_aside, word_code_and_commits
from foreword.types import DroppedResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foreword.compose.templates import ContextTemplate
    from foreword.pipeline import SearchDraft, Stage
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


def chat_stages(
    template: ContextTemplate, ranker: RankingFunction, floor: float, *, include_metadata: bool
) -> tuple[Stage[Any], ...]:
    """What happens to a question, in order."""
    return (
        *search_above(floor, exclude=(set_code_aside,) if floor else ()),
        return_code_above(floor),
        rank_by(ranker),
        drop_superseded,
        drop_repeats,
        word_code_and_commits(),
        fit_into(template, include_metadata=include_metadata),
    )


def rank_by(ranker: RankingFunction) -> Stage[SearchDraft]:
    """A stage that orders the results; what the ranker leaves out is dropped."""

    def rank(draft: SearchDraft) -> SearchDraft:
        ranked = [r if r.rank is not None else replace(r, rank=r.score) for r in ranker(draft.results)]
        kept = {result.memory.id for result in ranked}
        gone = [result for result in draft.results if result.memory.id not in kept]
        return draft.keep(ranked, [DroppedResult(r, "over limit", "left out by the ranker") for r in gone])

    return rank


def fit_into(template: ContextTemplate, *, include_metadata: bool) -> Stage[SearchDraft]:
    """A stage that words the results and keeps what the budget holds."""

    def fit(draft: SearchDraft) -> SearchDraft:
        return draft.with_text(
            fit_memories(
                draft.results, template, draft.budget, draft.kit.tokenizer, include_metadata=include_metadata
            )
        )

    return fit
