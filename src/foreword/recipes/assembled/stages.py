"""The stages of an assembled context: from questions to several sources to one document.

    gather → arrange → drop below the floors → drop bystanders → drop shown → drop twins → word code → fit

All sources are asked at once; one that fails or is late leaves a note, and the others speak. Results are
weighed by what their source knows of them; what several sources say is said once, by the most relevant; then
tokens are divided among the sources. Every stage drops by name and with a reason.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from foreword.capture.folder.file_items import MARK
from foreword.compose.assembled import (
    ContextItem,
    SourceItems,
    word_code_lines,
    word_code_place,
    word_item,
)
from foreword.compose.assembly import Piece, fit_document
from foreword.compose.fit import FittedText
from foreword.compose.share import OVER_SHARE, Portion, find_exempt, within_share
from foreword.knowledge.experience import OPEN_WEIGHT, TIER_WEIGHTS
from foreword.log import get_logger
from foreword.pipeline import Draft, drop_shown
from foreword.recall.code_roles import find_bystanders
from foreword.recipes.assembled.twins import find_twins
from foreword.recipes.code import MAX_BODIES, MIN_BODY_SHARE, describe_bystander
from foreword.types import ContextLine, DroppedResult, Item, Note, SearchResult, text_hash

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from foreword.compose.assembly import FittedDocument, Layout
    from foreword.pipeline import AsyncStage, Stage
    from foreword.recipes.assembled.sources import Finding, Questions
    from foreword.text.tokens import Tokenizer
    from foreword.types import Kind

Arrange = Callable[[Mapping[str, list[ContextItem]]], "Plan"]
"""Makes a plan of what was found, by name, each list ordered by how much its items matter."""

_log = get_logger("foreword.assembler")

IMPORTANCE = 0.2
"""How much more the most important memory counts than the least."""

RECENCY, RECENT_DAYS = 0.1, 30.0
"""How much more a commit or an experience counts that is new, and how soon that wears off."""

_DATED = ("commit", "experience")


@dataclass(frozen=True, slots=True)
class Plan:
    """What may be said: items by id, in the order in which they matter, and the section that tells each.

    A hard budget is never exceeded. What is less relevant than its source's floor is dropped.
    """

    items: Mapping[str, ContextItem]
    sections: Mapping[str, str]
    layout: Layout
    floors: Mapping[str, float] = field(default_factory=dict)
    hard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledDraft(Draft):
    """A draft made of several sources: what they found, by name, and the plan of what may be said."""

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
    """What happens to the questions, in order."""
    return (
        gather_from(questions, timeout_seconds),
        arrange_by(plan),
        drop_below_floors,
        drop_bystanders,
        drop_shown,
        drop_twins,
        word_code,
        fit_budget,
    )


# Stages --------------------------------------------------------------------------------------------------


def gather_from(questions: Questions, timeout_seconds: float) -> AsyncStage[AssembledDraft]:
    """A stage that asks all sources at once; one that fails or is late leaves a note."""

    async def gather(draft: AssembledDraft) -> AssembledDraft:
        outcomes = await asyncio.gather(
            *(_ask_source(question, timeout_seconds) for question in questions.values()),
            return_exceptions=True,
        )
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


async def _ask_source(question: Callable[[], Finding], timeout_seconds: float) -> Sequence[ContextItem]:
    asked = question()
    found = await asyncio.wait_for(asked, timeout_seconds) if inspect.isawaitable(asked) else asked
    if not isinstance(found, Sequence):
        raise TypeError(f"it gave {type(found).__name__} and no list")
    if strangers := {type(one).__name__ for one in found if not isinstance(one, ContextItem)}:
        raise TypeError(f"it gave {', '.join(sorted(strangers))} where a ContextItem belongs")
    return found


def _failure_note(part: str, failure: BaseException, timeout_seconds: float) -> Note:
    if not isinstance(failure, Exception):
        raise failure  # somebody wants this process, or this task, to end
    if isinstance(failure, TimeoutError):
        problem = f"late: no answer within {timeout_seconds:g} s"
    else:
        problem = f"failed: {str(failure) or type(failure).__name__}"
    _log.warning("a source did not answer", source=part.lower(), problem=problem)
    return Note(part.lower(), problem)


def arrange_by(plan: Arrange) -> Stage[AssembledDraft]:
    """A stage that weighs what was found, and plans what may be said where."""

    def arrange(draft: AssembledDraft) -> AssembledDraft:
        lists = tell_ids_apart(
            {
                name: sort_by_weight(add_missing_results(found, draft.query.workspace), draft.query.now)
                for name, found in draft.found.items()
            }
        )
        chosen = plan(lists)
        elsewhere = {one.result.memory.id: one for one in draft.dropped}
        dropped = tuple(one for name, one in elsewhere.items() if name not in chosen.items)
        results = tuple(result_of(item) for item in chosen.items.values())
        return replace(draft, plan=chosen, results=results, dropped=dropped)

    return arrange


def drop_below_floors(draft: AssembledDraft) -> AssembledDraft:
    """Drop what is probably beside the point; every source has its own floor."""
    kept, low = [], []
    for result in draft.results:
        floor = draft.current_plan.floors.get(draft.current_plan.items[result.memory.id].source, 0.0)
        if result.score >= floor:
            kept.append(result)
        else:
            low.append(DroppedResult(result, "below floor", f"{result.score:.2g} < {floor:g}"))
    return draft.keep(kept, low)


def drop_bystanders(draft: AssembledDraft) -> AssembledDraft:
    """Drop tests, imports and bare signatures, unless the question is about them or nothing else is there."""
    code = [result for result in draft.results if result.memory.kind == "code"]
    roles = find_bystanders(draft.query.text, [result.memory for result in code])
    dropped = [
        DroppedResult(result, "no answer", describe_bystander(roles[result.memory.id]))
        for result in code
        if result.memory.id in roles
    ]
    return draft.keep([result for result in draft.results if result.memory.id not in roles], dropped)


def drop_twins(draft: AssembledDraft) -> AssembledDraft:
    """Of those that say the same, keep the most relevant; drop what says less than a more relevant one."""
    results = draft.results
    items = [draft.current_plan.items[result.memory.id] for result in results]
    twins = find_twins(items, [result.memory.text for result in results])
    dropped = [DroppedResult(results[at], "duplicate", results[twins[at]].memory.id) for at in sorted(twins)]
    return draft.keep([result for at, result in enumerate(results) if at not in twins], dropped)


def word_code(draft: AssembledDraft) -> AssembledDraft:
    """Tell the best piece of code or two by their lines, the others by name and place.

    What another searcher has worded is told as it is.
    """
    items = dict(draft.current_plan.items)
    code = [
        result
        for result in sorted(draft.results, key=lambda result: -result.score)
        if result.memory.kind == "code" and items[result.memory.id].content == word_item(result.memory)
    ]
    for place, result in enumerate(code):
        has_lines = place < MAX_BODIES and result.score >= MIN_BODY_SHARE * code[0].score
        told = _word_piece_of_code(result.memory, draft.query.text, place if has_lines else None)
        items[result.memory.id] = replace(items[result.memory.id], content=told)
    return replace(draft, plan=replace(draft.current_plan, items=items))


def _word_piece_of_code(item: Item, question: str, place: int | None) -> str:
    """A piece of code by its lines, or without a place by name alone; marked if its file has changed."""
    changed = item.text.startswith(MARK)
    plain = replace(item, text=item.text.removeprefix(f"{MARK} ")) if changed else item
    if place is None:
        return word_code_place(plain) + (f" {MARK}" if changed else "")
    told = word_code_lines(plain, question, is_best=place == 0)
    return told.replace("\n", f" {MARK}\n", 1) if changed else told


def fit_budget(draft: AssembledDraft) -> AssembledDraft:
    """Word what remains, in sections, within the budget."""
    plan = draft.current_plan
    results = {result.memory.id: result for result in draft.results}
    pieces = [
        Piece(name, plan.items[name], plan.sections[name], result.rank or 0.0)
        for name, result in results.items()
    ]
    fitted, over = _fit_within_share(draft, pieces, frozenset() if plan.hard else find_exempt(draft.results))
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


def _fit_within_share(
    draft: AssembledDraft, pieces: Sequence[Piece], exempt: frozenset[str]
) -> tuple[FittedDocument, list[str]]:
    """The document in which what tools and pages say has its share, and the ids of what was over it.

    Code and commits are asked for by name, and have no share.
    """
    over: list[str] = []
    while True:
        allowed = [piece for piece in pieces if piece.id not in over]
        plan = draft.current_plan
        fitted = fit_document(allowed, plan.layout, draft.budget, draft.tokenizer, hard=plan.hard)
        by_relevance = sorted(fitted.pieces, key=lambda piece: -piece.rank)
        portions = [_portion(piece, exempt) for piece in by_relevance]
        beyond = [
            piece.id for piece, fits in zip(by_relevance, within_share(portions), strict=True) if not fits
        ]
        if not beyond:
            return fitted, over
        over += beyond


def _portion(piece: Piece, exempt: frozenset[str]) -> Portion:
    source = result_of(piece.item).memory.source
    return Portion(piece.tokens, source, source.trust == "repository" or piece.id in exempt)


# Items and what a search knew of them --------------------------------------------------------------------


def add_missing_results(items: Iterable[ContextItem], workspace: str) -> list[ContextItem]:
    """The items, each with a search result behind it; one made by hand gets one from what it says."""
    return [
        item if item.result is not None else replace(item, result=_result_for(item, workspace))
        for item in map(_with_plain_relevance, items)
    ]


def _result_for(item: ContextItem, workspace: str) -> SearchResult:
    name = str(item.metadata.get("id") or text_hash(f"{item.source}: {item.content}"))
    kind = cast("Kind", item.source)
    return SearchResult(Item(item.content, workspace, kind=kind, id=name), item.relevance)


def _with_plain_relevance(item: ContextItem) -> ContextItem:
    """The item with a relevance from 0 to 1, whatever a searcher of somebody else's gave it."""
    given = item.relevance
    number = float(given) if isinstance(given, int | float) and not math.isnan(given) else 0.0
    plain = min(1.0, max(0.0, number))
    return item if plain == given else replace(item, relevance=plain)


def result_of(item: ContextItem) -> SearchResult:
    """What a search knew of an item."""
    assert item.result is not None, "`with_results` comes first"  # noqa: S101
    return item.result


def tell_ids_apart(lists: Mapping[str, list[ContextItem]]) -> dict[str, list[ContextItem]]:
    """The lists, in which two sources share no id: that of the second has the name of its source too."""
    owners: dict[str, str] = {}

    def with_own_id(item: ContextItem) -> ContextItem:
        result = result_of(item)
        name = result.memory.id
        while owners.setdefault(name, item.source) != item.source:
            name = f"{item.source}:{name}"
        if name == result.memory.id:
            return item
        return replace(item, result=replace(result, memory=replace(result.memory, id=name)))

    return {name: [with_own_id(item) for item in items] for name, items in lists.items()}


def items_by_id(items: Iterable[ContextItem]) -> dict[str, ContextItem]:
    """The items by their ids; of two with the same id, the more relevant."""
    found: dict[str, ContextItem] = {}
    for item in items:
        known = found.setdefault(result_of(item).memory.id, item)
        if item.relevance > known.relevance:
            found[result_of(item).memory.id] = item
    return found


def sort_by_weight(items: Iterable[ContextItem], now: datetime) -> list[ContextItem]:
    """The items by how much they matter: their relevance, and what their source knows besides."""
    weighed = [replace(item, result=replace(result_of(item), rank=weight(item, now))) for item in items]
    return sorted(weighed, key=lambda item: -(result_of(item).rank or 0.0))


def weight(item: ContextItem, now: datetime) -> float:
    """Relevance, by how sure an outcome is, by importance, and a little by recency."""
    value, facts = item.relevance, item.metadata
    if item.source == "experience":
        value *= cast("Mapping[object, float]", TIER_WEIGHTS).get(facts.get("confidence_tier"), OPEN_WEIGHT)
    if item.source == "memory":
        importance = facts.get("importance")
        value *= 1 + IMPORTANCE * (float(importance) - 0.5) if isinstance(importance, int | float) else 1.0
    if item.source in _DATED:
        days = abs(now - result_of(item).memory.created_at).total_seconds() / 86_400
        value *= 1 + RECENCY / (1 + days / RECENT_DAYS)
    return value
