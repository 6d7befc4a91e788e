"""The stages of an assembled context: from questions to several sources to one document.

    gather → arrange → drop below the floors → drop bystanders → drop shown → drop twins → word code → fit

All sources are searched at once; one that fails or is late leaves a note, and the others are used. Results
are weighed by their relevance and their source's metadata; of those that say the same, the most relevant is
kept; then tokens are divided among the sources. Whatever a stage drops is recorded with a reason.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from foreword.capture.folder.file_items import MARK
from foreword.compose.assembled import (
    ContextItem,
    SourceItems,
    format_code_lines,
    format_code_place,
    format_item,
)
from foreword.compose.assembly import Piece, build_document_within_budget
from foreword.compose.fit import FittedText
from foreword.compose.share import OVER_SHARE, Portion, find_ids_exempt_from_share, may_include_each_portion
from foreword.knowledge.experience import OPEN_WEIGHT, TIER_WEIGHTS
from foreword.log import get_logger
from foreword.pipeline import Draft, drop_shown
from foreword.recall.code_roles import find_unrequested_code_without_work
from foreword.recipes.assembled.twins import find_twins
from foreword.recipes.code import MAX_BODIES, MIN_BODY_SHARE, describe_why_role_dropped
from foreword.types import ContextLine, DroppedResult, Item, Note, SearchResult, text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from foreword.compose.assembly import ContextLayout, FittedDocument
    from foreword.pipeline import AsyncStage, Stage
    from foreword.recipes.assembled.sources import Finding, Questions
    from foreword.text.tokens import Tokenizer
    from foreword.types import Kind

Arrange = Callable[[Mapping[str, list[ContextItem]]], "Plan"]
"""Makes a plan from the items found, by the name of their source, each list ordered by weight."""

_log = get_logger("foreword.assembler")

IMPORTANCE = 0.2
"""How much more the most important memory counts than the least."""

RECENCY, RECENT_DAYS = 0.1, 30.0
"""How much more a new commit or experience counts, and after how many days half of that is gone."""

_DATED_SOURCES = ("commit", "experience")
_HEAD_START_SECONDS = 0.04


@dataclass(frozen=True, slots=True)
class Plan:
    """What may go into the document: items by id, most important first, and the section of each.

    Items less relevant than their source's floor are dropped. With `hard`, the budget is never exceeded.
    """

    items: Mapping[str, ContextItem]
    sections: Mapping[str, str]
    layout: ContextLayout
    floors: Mapping[str, float] = field(default_factory=dict)
    hard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledDraft(Draft):
    """A draft made of several sources: the items that each found, and the plan of the document."""

    tokenizer: Tokenizer
    found: Mapping[str, Sequence[ContextItem]] = field(default_factory=dict)
    plan: Plan | None = None

    @property
    def current_plan(self) -> Plan:
        """The plan, once `arrange` has made it."""
        assert self.plan is not None, "arrange comes first"  # noqa: S101
        return self.plan


def assembled_stages(
    questions: Questions, timeout_seconds: float, plan: Arrange
) -> tuple[Stage[Any] | AsyncStage[Any], ...]:
    """The stages of the recipes `assembled` and `premortem`, in order."""
    return (
        stage_that_searches_sources(questions, timeout_seconds),
        stage_that_arranges_items(plan),
        drop_below_floors,
        drop_bystanders,
        drop_shown,
        drop_twins,
        word_code,
        fit_budget,
    )


# Stages --------------------------------------------------------------------------------------------------


def stage_that_searches_sources(questions: Questions, timeout_seconds: float) -> AsyncStage[AssembledDraft]:
    """A stage that searches all sources at once; one that fails or is late leaves a note."""

    async def gather(draft: AssembledDraft) -> AssembledDraft:
        asked = asyncio.gather(
            *(_ask_source(question, timeout_seconds) for question in questions.values()),
            return_exceptions=True,
        )
        counted = asyncio.create_task(_warm_up_tokenizer(draft.tokenizer, asked))
        outcomes = await asked
        await counted
        found: dict[str, Sequence[ContextItem]] = {}
        dropped: list[DroppedResult] = []
        notes: list[Note] = []
        for part, outcome in zip(questions, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                notes.append(_failure_note(part, outcome, timeout_seconds))
                continue
            found[part] = outcome
            if isinstance(outcome, SourceItems):
                dropped += outcome.dropped
                notes += [Note(part.lower(), f"{note.part}: {note.message}") for note in outcome.notes]
        return replace(draft.keep((), dropped).with_notes(*notes), found=found)

    return gather


async def _warm_up_tokenizer(tokenizer: Tokenizer, asked: asyncio.Future[Any]) -> None:
    """Let a tokenizer load its ranks, with its first count, while the sources load their models."""
    # They need the interpreter for a moment only, but ranks would keep it from them for long.
    await asyncio.wait([asked], timeout=_HEAD_START_SECONDS)
    # In a thread of its own: sources may take all of those that asyncio has, and would be waited for.
    own_thread = ThreadPoolExecutor(1, thread_name_prefix="foreword-ranks")
    try:
        await asyncio.get_running_loop().run_in_executor(own_thread, tokenizer.count, " ")
    finally:
        own_thread.shutdown(wait=False)


async def _ask_source(question: Callable[[], Finding], timeout_seconds: float) -> Sequence[ContextItem]:
    """A source's answer within the timeout; TypeError if it is no list of `ContextItem`s."""
    answer = question()
    found = await asyncio.wait_for(answer, timeout_seconds) if inspect.isawaitable(answer) else answer
    if not isinstance(found, Sequence):
        raise TypeError(f"it gave {type(found).__name__} and no list")
    if strangers := {type(one).__name__ for one in found if not isinstance(one, ContextItem)}:
        raise TypeError(f"it gave {', '.join(sorted(strangers))} where a ContextItem belongs")
    return found


def _failure_note(part: str, failure: BaseException, timeout_seconds: float) -> Note:
    """The note for a source that failed or was late, which is also logged; a cancellation is raised again."""
    if not isinstance(failure, Exception):
        raise failure  # a cancellation or an interrupt, which must end this task
    if isinstance(failure, TimeoutError):
        problem = f"late: no answer within {timeout_seconds:g} s"
    else:
        problem = f"failed: {str(failure) or type(failure).__name__}"
    _log.warning("a source did not answer", source=part.lower(), problem=problem)
    return Note(part.lower(), problem)


def stage_that_arranges_items(plan: Arrange) -> Stage[AssembledDraft]:
    """A stage that weighs the items found, and plans which of them go into which section."""

    def arrange(draft: AssembledDraft) -> AssembledDraft:
        lists = make_ids_unique(
            {
                name: sort_by_weight(give_each_item_a_result(found, draft.query.workspace), draft.query.now)
                for name, found in draft.found.items()
            }
        )
        chosen = plan(lists)
        elsewhere = {one.result.memory.id: one for one in draft.dropped}
        dropped = tuple(one for name, one in elsewhere.items() if name not in chosen.items)
        results = tuple(require_result(item) for item in chosen.items.values())
        return replace(draft, plan=chosen, results=results, dropped=dropped)

    return arrange


def drop_below_floors(draft: AssembledDraft) -> AssembledDraft:
    """Drop what is less relevant than the floor of its source."""
    kept, low = [], []
    for result in draft.results:
        floor = draft.current_plan.floors.get(draft.current_plan.items[result.memory.id].source, 0.0)
        if result.score >= floor:
            kept.append(result)
        else:
            low.append(DroppedResult(result, "below floor", f"{result.score:.2g} < {floor:g}"))
    return draft.keep(kept, low)


def drop_bystanders(draft: AssembledDraft) -> AssembledDraft:
    """Drop tests, imports and bare signatures, unless the question is about them or there is nothing else."""
    code = [result for result in draft.results if result.memory.kind == "code"]
    roles = find_unrequested_code_without_work(draft.query.text, [result.memory for result in code])
    dropped = [
        DroppedResult(result, "no answer", describe_why_role_dropped(roles[result.memory.id]))
        for result in code
        if result.memory.id in roles
    ]
    return draft.keep([result for result in draft.results if result.memory.id not in roles], dropped)


def drop_twins(draft: AssembledDraft) -> AssembledDraft:
    """Drop every result whose text a more relevant result says, too."""
    results = draft.results
    items = [draft.current_plan.items[result.memory.id] for result in results]
    twins = find_twins(items, [result.memory.text for result in results])
    dropped = [DroppedResult(results[at], "duplicate", results[twins[at]].memory.id) for at in sorted(twins)]
    return draft.keep([result for at, result in enumerate(results) if at not in twins], dropped)


def word_code(draft: AssembledDraft) -> AssembledDraft:
    """Word the best piece of code or two by their lines, the others by name and place.

    Code that comes worded from another searcher stays as it is.
    """
    items = dict(draft.current_plan.items)
    code = [
        result
        for result in sorted(draft.results, key=lambda result: -result.score)
        if result.memory.kind == "code" and items[result.memory.id].content == format_item(result.memory)
    ]
    for place, result in enumerate(code):
        has_lines = place < MAX_BODIES and result.score >= MIN_BODY_SHARE * code[0].score
        content = _format_code_marking_change(result.memory, draft.query.text, place if has_lines else None)
        items[result.memory.id] = replace(items[result.memory.id], content=content)
    return replace(draft, plan=replace(draft.current_plan, items=items))


def _format_code_marking_change(item: Item, question: str, place: int | None) -> str:
    """The lines of a piece of code, or only its name if `place` is None; marked if its file has changed."""
    changed = item.text.startswith(MARK)
    plain = replace(item, text=item.text.removeprefix(f"{MARK} ")) if changed else item
    if place is None:
        return format_code_place(plain) + (f" {MARK}" if changed else "")
    worded = format_code_lines(plain, question, is_best=place == 0)
    return worded.replace("\n", f" {MARK}\n", 1) if changed else worded


def fit_budget(draft: AssembledDraft) -> AssembledDraft:
    """Word what remains, in sections, within the budget."""
    plan = draft.current_plan
    results = {result.memory.id: result for result in draft.results}
    pieces = [
        Piece(name, plan.items[name], plan.sections[name], result.rank or 0.0)
        for name, result in results.items()
    ]
    fitted, over = _limit_share_of_foreign_text(
        draft, pieces, frozenset() if plan.hard else find_ids_exempt_from_share(draft.results)
    )
    lines = tuple(
        ContextLine(results[piece.id], piece.section, piece.item.content, piece.tokens)
        for piece in fitted.pieces
    )
    dropped = tuple(
        DroppedResult(results[piece.id], "over budget", f"needs about {piece.tokens} tokens")
        for piece in fitted.left_out
    )
    dropped += tuple(DroppedResult(results[name], "over limit", OVER_SHARE) for name in over)
    return draft.with_text(FittedText(fitted.text, fitted.tokens, lines, dropped))


def _limit_share_of_foreign_text(
    draft: AssembledDraft, pieces: Sequence[Piece], exempt: frozenset[str]
) -> tuple[FittedDocument, list[str]]:
    """The document in which tools and pages keep within their share, and the ids of what was over the share.

    What comes from the repository was asked for by its source, so the share does not apply to it.
    """
    over: list[str] = []
    while True:
        allowed = [piece for piece in pieces if piece.id not in over]
        plan = draft.current_plan
        fitted = build_document_within_budget(
            allowed, plan.layout, draft.budget, draft.tokenizer, hard=plan.hard
        )
        by_relevance = sorted(fitted.pieces, key=lambda piece: -piece.rank)
        portions = [_make_portion(piece, exempt) for piece in by_relevance]
        beyond = [
            piece.id
            for piece, fits in zip(by_relevance, may_include_each_portion(portions), strict=True)
            if not fits
        ]
        if not beyond:
            return fitted, over
        over += beyond


def _make_portion(piece: Piece, exempt: frozenset[str]) -> Portion:
    """The tokens and source of a piece, and whether it is exempt from the share of foreign words."""
    source = require_result(piece.item).memory.source
    return Portion(piece.tokens, source, source.trust == "repository" or piece.id in exempt)


# Items and what a search knew of them --------------------------------------------------------------------


def give_each_item_a_result(items: Iterable[ContextItem], workspace: str) -> list[ContextItem]:
    """The items with a search result each; one that has none, as from another searcher, gets one."""
    return [
        item if item.result is not None else replace(item, result=_result_from_context_item(item, workspace))
        for item in map(_clamp_relevance, items)
    ]


def _result_from_context_item(item: ContextItem, workspace: str) -> SearchResult:
    """A search result for an item that another searcher gave without one."""
    name = str(item.metadata.get("id") or text_hash(f"{item.source}: {item.content}"))
    kind = cast("Kind", item.source)
    return SearchResult(Item(item.content, workspace, kind=kind, id=name), item.relevance)


def _clamp_relevance(item: ContextItem) -> ContextItem:
    """The item with its relevance brought between 0 and 1; 0 if it is no number."""
    given = item.relevance
    number = float(given) if isinstance(given, int | float) and not math.isnan(given) else 0.0
    plain = min(1.0, max(0.0, number))
    return item if plain == given else replace(item, relevance=plain)


def require_result(item: ContextItem) -> SearchResult:
    """The search result behind an item; `give_each_item_a_result` has made sure that there is one."""
    assert item.result is not None, "`give_each_item_a_result` comes first"  # noqa: S101
    return item.result


def make_ids_unique(lists: Mapping[str, list[ContextItem]]) -> dict[str, list[ContextItem]]:
    """The lists with ids that differ between sources: a taken id gets the name of its source as a prefix."""
    owners: dict[str, str] = {}

    def with_unique_id(item: ContextItem) -> ContextItem:
        result = require_result(item)
        name = result.memory.id
        while owners.setdefault(name, item.source) != item.source:
            name = f"{item.source}:{name}"
        if name == result.memory.id:
            return item
        return replace(item, result=replace(result, memory=replace(result.memory, id=name)))

    return {name: [with_unique_id(item) for item in items] for name, items in lists.items()}


def items_by_id(items: Iterable[ContextItem]) -> dict[str, ContextItem]:
    """The items by their ids; of two with the same id, the more relevant."""
    found: dict[str, ContextItem] = {}
    for item in items:
        known = found.setdefault(require_result(item).memory.id, item)
        if item.relevance > known.relevance:
            found[require_result(item).memory.id] = item
    return found


def sort_by_weight(items: Iterable[ContextItem], now: datetime) -> list[ContextItem]:
    """The items ordered by weight, the heaviest first; the rank of each result becomes its weight."""
    weighed = [
        replace(item, result=replace(require_result(item), rank=weigh_item(item, now))) for item in items
    ]
    return sorted(weighed, key=lambda item: -(require_result(item).rank or 0.0))


def weigh_item(item: ContextItem, now: datetime) -> float:
    """An item's relevance, scaled by the certainty of its outcome, its importance and a little by recency."""
    value, facts = item.relevance, item.metadata
    if item.source == "experience":
        value *= cast("Mapping[object, float]", TIER_WEIGHTS).get(facts.get("confidence_tier"), OPEN_WEIGHT)
    if item.source == "memory":
        importance = facts.get("importance")
        value *= 1 + IMPORTANCE * (float(importance) - 0.5) if isinstance(importance, int | float) else 1.0
    if item.source in _DATED_SOURCES:
        days = abs(now - require_result(item).memory.created_at).total_seconds() / 86_400
        value *= 1 + RECENCY / (1 + days / RECENT_DAYS)
    return value
