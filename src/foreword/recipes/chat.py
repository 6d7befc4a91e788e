"""The recipes of the context engine: `chat`, `detailed`, `summary`, and whatever templates a user registers.

The context is one section, worded by one template, with the whole budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from foreword.compose.fit import fit_memories
from foreword.errors import SearchError
from foreword.pipeline import (
    MAX_NEAR_MISSES,
    drop_below,
    drop_questions_and_summaries,
    drop_repeats,
    drop_superseded,
    make_optional,
    search_stages_with_floor,
)
from foreword.recall.related import (
    drop_excerpts_of_short_memories,
    excerpt_for_link,
    follow_relations,
    follow_relations_to_answers,
)
from foreword.recipes.code import format_code_and_commits, put_back_code_above, set_code_aside
from foreword.recipes.progress import tell_progress
from foreword.types import DroppedResult, Note, Receipt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from foreword.compose.templates import ContextTemplate
    from foreword.pipeline import SearchDraft, Stage
    from foreword.recall.rank import RankingFunction
    from foreword.types import SearchResult

_RANKED_TOO_LOW = ("below floor", "over limit")
"""Reasons of drop after which a result may still be added by a relation, since its text is not at fault."""


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


def context_preview_with_numbers(result: ContextResult) -> ContextPreview:
    """A result with the numbers behind it."""
    return ContextPreview(
        **{name: getattr(result, name) for name in ContextResult.__dataclass_fields__},
        memory_ids=tuple(memory.memory.id for memory in result.memories),
        ranking_scores={memory.memory.id: memory.rank or 0.0 for memory in result.memories},
        budget_used=100 * result.token_count / result.receipt.budget,
    )


def empty_context(query: str, workspace: str, now: datetime, error: Exception) -> ContextResult:
    """A context without text; its receipt says why there is none."""
    receipt = Receipt(
        id="", workspace=str(workspace), created_at=now, query=query, recipe="", budget=0, tokens=0,
        notes=(Note("engine", str(error)),),
    )  # fmt: skip
    return ContextResult("", 0, (), truncated=False, template="", receipt=receipt)


def chat_stages(
    template: ContextTemplate, ranker: RankingFunction, floor: float, *, include_metadata: bool
) -> tuple[Stage[Any], ...]:
    """The stages of the recipe `chat`, in order."""
    return (
        *search_stages_with_floor(floor, exclude=(set_code_aside,) if floor else ()),
        make_optional(tell_progress),
        put_back_code_above(floor),
        make_optional(add_related),
        *(drop_questions_and_summaries, drop_below(floor)),
        rank_with(ranker),
        drop_superseded,
        drop_repeats,
        format_code_and_commits(),
        fit_results_to_budget(template, include_metadata=include_metadata),
    )


def add_related(draft: SearchDraft) -> SearchDraft:
    """Add related results: all of them if relations were asked for, else those that probably answer.

    A result that is itself related to an earlier one gets its link if relations were asked for, or if only an
    excerpt of it is shown.
    """
    results = drop_excerpts_of_short_memories(draft.results)
    reached = follow_relations(results) if draft.relationship_depth else _find_related_answers(draft, results)
    reached_by_id = {one.memory.id: one for one in reached}
    linked = [
        _copy_link_and_excerpt(result, reached_by_id.pop(result.memory.id, None), draft) for result in results
    ]
    related = _restore_dropped_scores(draft, list(reached_by_id.values()))
    most = draft.query.limit
    kept, over = related[:most], related[most : most + MAX_NEAR_MISSES]
    ids = {one.memory.id for one in (*kept, *over)}
    draft = replace(draft, dropped=tuple(one for one in draft.dropped if one.result.memory.id not in ids))
    return draft.keep(
        [*linked, *kept], [DroppedResult(one, "over limit", f"related, limit {most}") for one in over]
    )


def _find_related_answers(draft: SearchDraft, results: Sequence[SearchResult]) -> list[SearchResult]:
    """The items one relation away from the results that probably answer the question."""
    query, ids = draft.query, [result.memory.id for result in results]
    related = draft.kit.store.expand(query.workspace, ids, 1, query.filters) if ids else {}
    if not any(related.values()):
        return []
    linked = [replace(result, relationships=related[result.memory.id]) for result in results]
    return follow_relations_to_answers(linked, query.text)


def _copy_link_and_excerpt(
    result: SearchResult, reached: SearchResult | None, draft: SearchDraft
) -> SearchResult:
    """A result with its link to an earlier one and the excerpt for it, if the link is to be shown."""
    if reached is None or not (draft.relationship_depth or result.excerpt):
        return result
    linked = replace(result, link=reached.link)
    return replace(linked, excerpt=excerpt_for_link(linked, draft.query.text)) if result.excerpt else linked


def _restore_dropped_scores(draft: SearchDraft, related: Sequence[SearchResult]) -> list[SearchResult]:
    """The related results with scores from before they were dropped, less those dropped for what they say."""
    dropped = {one.result.memory.id: one for one in draft.dropped}
    known = []
    for result in related:
        before = dropped.get(result.memory.id)
        if before is None:
            linked = result
        elif before.reason in _RANKED_TOO_LOW:
            score = max(before.result.score, result.score)
            linked = replace(before.result, score=score, link=result.link)
        else:
            continue
        known.append(replace(linked, excerpt=excerpt_for_link(linked, draft.query.text)))
    return known


def rank_with(ranker: RankingFunction) -> Stage[SearchDraft]:
    """A stage that orders the results by a ranker, and drops those that the ranker leaves out.

    The stage raises SearchError if the ranker, which may be a user's own, fails.
    """

    def rank(draft: SearchDraft) -> SearchDraft:
        try:
            ranked = [r if r.rank is not None else replace(r, rank=r.score) for r in ranker(draft.results)]
        except Exception as error:
            raise SearchError(
                f"the ranker failed: {type(error).__name__}: {error}; mend or replace it"
            ) from error
        kept = {result.memory.id for result in ranked}
        gone = [result for result in draft.results if result.memory.id not in kept]
        return draft.keep(ranked, [DroppedResult(r, "over limit", "left out by the ranker") for r in gone])

    return rank


def fit_results_to_budget(template: ContextTemplate, *, include_metadata: bool) -> Stage[SearchDraft]:
    """A stage that words the results, and keeps those that fit the budget."""

    def fit_budget(draft: SearchDraft) -> SearchDraft:
        return draft.with_text(
            fit_memories(
                draft.results, template, draft.budget, draft.kit.tokenizer, include_metadata=include_metadata
            )
        )

    return fit_budget
