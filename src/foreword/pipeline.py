"""The pipeline: a draft passes through stages, each stage is timed, and a receipt records what was decided.

    retrieve → fuse → compare_tokens → rerank → refresh → limit → relate      a search
    retrieve → fuse → compare_tokens → refresh → drop what cannot help → read → drop below the floor → …
    → fit                                                                     a context

A stage is a function from draft to draft; the recipe that lists it passes in what it needs beyond the draft.
To change what happens, put another function into the list: only the draft is subclassed, where a recipe has
values of its own to carry. Stages that wait for something are coroutines and run by `run_async`. Every recipe
(`chat`, `coding`, `dialogue`, `assembled`, `gap`) runs on this loop.
"""

from __future__ import annotations

import inspect
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from foreword.errors import ContextError, ForewordError
from foreword.log import get_logger
from foreword.recall.dedupe import (
    FileLookup,
    find_results_repeating_context,
    insert_successors,
    lift_successors_above_replaced,
    refresh_from_files,
    split_off_repeats,
    split_off_superseded,
)
from foreword.recall.fuse import BLENDS, UNRELATED_COSINE, Blend
from foreword.recall.fuse import fuse as fuse_lists
from foreword.recall.history import MAX_SUCCESSORS, drop_history_repeats, find_contradictions, find_successors
from foreword.recall.read import MAX_READ, judge_results_with_reader
from foreword.recall.rerank import rerank as rerank_hits
from foreword.recall.retrieve import retrieve as retrieve_found
from foreword.recall.token_match import can_match_tokens, rank_by_tokens
from foreword.store.base import MarkShown, PutReceipt
from foreword.text.numbers import number_with_noun
from foreword.text.statements import is_bare_question
from foreword.types import (
    ContextLine,
    DroppedResult,
    Entry,
    Findings,
    Note,
    Query,
    Receipt,
    SearchResult,
    StageTime,
    keep_one_drop_per_item,
)

if TYPE_CHECKING:
    from typing import Self

    from foreword.compose.fit import FittedText
    from foreword.spaces.base import Reranker, Space, TimeSpace, TokenSpace, VectorSpace
    from foreword.store.base import Store
    from foreword.text.tokens import Tokenizer
    from foreword.types import Item, Reason

_log = get_logger("foreword")

FLOOR = 0.04
"""The least probability of relevance that is worth saying."""

DEPTH = 50
"""At least how many items each space is asked for."""

_MIN_SAYABLE, _TIMES_DEEPER = 12, 6
"""If fewer than this many of the found items are usable, this many times more are searched for."""

MAX_TOLD = 5
"""At most how many memories a context has where a reader has chosen them."""

MAX_PRINTED = 2
"""At most how many of them come from tools and pages, so that these do not push out the others."""

TAIL_SHARE = 0.3
"""The least share of the best result's odds that another must have to be worth saying, too."""

_TALK = ("turn", "memory")
"""Kinds of items that people and agents say."""

MAX_NEAR_MISSES = 20
"""At most how many of the results below the floor, or beyond the limit, a receipt lists."""

_NOTHING_FOUND = Findings({}, {})


@dataclass(frozen=True, slots=True)
class SearchKit:
    """The store, the spaces and the models that a search works with."""

    store: Store
    spaces: Sequence[Space]
    clocks: Sequence[TimeSpace]
    tokenizer: Tokenizer
    encoder: VectorSpace | None = None
    token_space: TokenSpace | None = None
    blends: Mapping[str, Blend] = field(default_factory=lambda: BLENDS)
    reranker: Reranker | None = None
    reader: Reranker | None = None
    file_lookup: FileLookup | None = None

    def with_reader(self, reader: Reranker | None) -> SearchKit:
        """The kit with this reader in place of the reranker; unchanged if there is no reader."""
        return self if reader is None else replace(self, reader=reader, reranker=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A context in the making. Each stage fills in what the next one needs.

    `session` is the session that asks, and `shown` the ids of what its context already holds. `results` are
    the candidates left, `dropped` those that were dropped, `lines` those that the text is made of.
    """

    query: Query
    recipe: str = "search"
    budget: int = 0
    session: str | None = None
    shown_ids: frozenset[str] = frozenset()
    results: tuple[SearchResult, ...] = ()
    lines: tuple[ContextLine, ...] = ()
    dropped: tuple[DroppedResult, ...] = ()
    text: str = ""
    tokens: int = 0
    notes: tuple[Note, ...] = ()
    times: tuple[StageTime, ...] = ()

    def with_notes(self, *notes: Note) -> Self:
        """The draft with these notes added."""
        return replace(self, notes=(*self.notes, *notes)) if notes else self

    def keep(self, kept: Sequence[SearchResult], dropped: Sequence[DroppedResult]) -> Self:
        """The draft with these results, and a record of those that were dropped."""
        return replace(self, results=tuple(kept), dropped=(*self.dropped, *dropped))

    def with_text(self, fitted: FittedText) -> Self:
        """The draft with its text: the lines in it, and a record of what did not fit."""
        draft = self.keep([line.result for line in fitted.lines], fitted.dropped)
        return replace(draft, lines=fitted.lines, text=fitted.text, tokens=fitted.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDraft(Draft):
    """A draft that searches a workspace: with its kit, and what the spaces found.

    `aside` are results that the reader is not to read; the recipe that put them there takes them back.
    """

    kit: SearchKit
    relationship_depth: int = 0
    found: Findings = _NOTHING_FOUND
    aside: tuple[SearchResult, ...] = ()


_Draft = TypeVar("_Draft", bound=Draft)
_SearchDraft = TypeVar("_SearchDraft", bound=SearchDraft)

Stage = Callable[[_Draft], _Draft]
AsyncStage = Callable[[_Draft], Awaitable[_Draft]]


# The loop -------------------------------------------------------------------------------------------------


def run(draft: _Draft, stages: Sequence[Stage[_Draft]]) -> _Draft:
    """Pass the draft through the stages, and time each."""
    for stage in stages:
        started = time.perf_counter()
        draft = _record_stage_time(stage(draft), stage, started)
    return draft


async def run_async(draft: _Draft, stages: Sequence[Stage[_Draft] | AsyncStage[_Draft]]) -> _Draft:
    """The same as `run`, for stages of which some are coroutines."""
    for stage in stages:
        started = time.perf_counter()
        outcome = stage(draft)
        draft = _record_stage_time(await outcome if inspect.isawaitable(outcome) else outcome, stage, started)
    return draft


def _record_stage_time(draft: _Draft, stage: object, started: float) -> _Draft:
    elapsed = (time.perf_counter() - started) * 1000
    return replace(draft, times=(*draft.times, StageTime(getattr(stage, "__name__", "stage"), elapsed)))


def make_optional(stage: Stage[_Draft]) -> Stage[_Draft]:
    """The stage, made optional: if it fails, or the deadline has passed, the draft only gets a note."""
    name = getattr(stage, "__name__", "stage")
    part = name.replace("_", " ")

    def attempt(draft: _Draft) -> _Draft:
        if draft.query.expires is not None and time.monotonic() > draft.query.expires:
            return draft.with_notes(Note(part, "late: the deadline passed"))
        try:
            return stage(draft)
        except ForewordError as error:
            _log.warning("a part of the context is missing", part=part, problem=str(error))
            return draft.with_notes(Note(part, f"failed: {error}"))

    attempt.__name__ = name
    return attempt


# Stages of a search ---------------------------------------------------------------------------------------


def retrieve(draft: _SearchDraft) -> _SearchDraft:
    """Search in all spaces, in one round trip to the store, while the question's tokens are encoded."""
    if draft.kit.token_space is not None and can_match_tokens(draft.query.filters.kinds, draft.kit.blends):
        draft.kit.token_space.encode_soon(draft.query.text)
    depth = max(DEPTH, draft.query.limit)
    found = retrieve_found(draft.query, draft.kit.store, draft.kit.spaces, depth)
    return replace(draft, found=found, notes=(*draft.notes, *found.notes))


def retrieve_more(draft: _SearchDraft) -> _SearchDraft:
    """Search once more and deeper if nearly all results were shown before or are questions or summaries."""
    query, depth = draft.query, max(DEPTH, draft.query.limit)
    full = any(len(ranked) >= depth for ranked in draft.found.lists.values())
    late = query.expires is not None and time.monotonic() > query.expires
    if not full or late or not query.text.strip():
        return draft
    fresh = (item for item in draft.found.items.values() if item.id not in draft.shown_ids)
    sayable = (item for item in fresh if not _is_question_or_summary(item))
    if len(list(islice(sayable, _MIN_SAYABLE))) == _MIN_SAYABLE:
        return draft
    found = retrieve_found(query, draft.kit.store, draft.kit.spaces, depth * _TIMES_DEEPER)
    return replace(draft, found=found)


def fuse(draft: _SearchDraft) -> _SearchDraft:
    """Make one list of all the spaces' lists."""
    query, kit = draft.query, draft.kit
    hits = fuse_lists(draft.found, query.text, query.now, kit.clocks, unrelated_cosine(kit), kit.blends)
    return replace(draft, results=tuple(hits))


def compare_tokens(draft: _SearchDraft) -> _SearchDraft:
    """Compare the best candidates with the question token by token, for the kinds where that helps."""
    query, kit = draft.query, draft.kit
    if kit.token_space is None or not query.text.strip() or not draft.results:
        return draft
    try:
        hits = rank_by_tokens(draft.results, draft.found, query, kit.store, kit.token_space, kit.blends)
    except ForewordError as error:
        _log.warning("tokens were not compared", problem=str(error), workspace=query.workspace)
        return draft.with_notes(Note(kit.token_space.name, f"failed: {error}"))
    if hits is None:
        return draft.with_notes(Note(kit.token_space.name, "late: the deadline passed"))
    return replace(draft, results=tuple(hits))


def unrelated_cosine(kit: SearchKit) -> float:
    """The cosine that the encoder gives to unrelated texts; a usual value if it is not measured yet."""
    measured = kit.encoder.unrelated_cosine if kit.encoder else None
    return UNRELATED_COSINE if measured is None else measured


def rerank(draft: _SearchDraft) -> _SearchDraft:
    """Let the cross-encoder read the best candidates of the kinds where it helps, while there is time."""
    if draft.kit.reranker is None or not draft.query.text.strip():
        return draft
    try:
        hits = rerank_hits(draft.results, draft.found, draft.query, draft.kit.reranker)
    except ContextError as error:
        return draft.with_notes(Note("rerank", f"failed: {error}"))
    return replace(draft, results=tuple(hits))


def refresh(draft: _SearchDraft) -> _SearchDraft:
    """Put each item's successor before it, fetching the successor if no space found it."""
    first = draft.results[: draft.query.limit]
    known_ids = {result.memory.id for result in draft.results}
    successors = [result.memory.superseded_by for result in first]
    missing = [one for one in successors if one and one not in known_ids]
    if missing:
        fetched = draft.kit.store.get(draft.query.workspace, *dict.fromkeys(missing))
        items = {item.id: item for item in fetched if item is not None}
        draft = replace(draft, results=tuple(insert_successors(draft.results, items)))
    return replace(draft, results=tuple(lift_successors_above_replaced(draft.results)))


def drop_questions_and_summaries(draft: _SearchDraft) -> _SearchDraft:
    """Drop bare questions, which answer nothing, and summaries, whose turns can be shown themselves."""
    empty = [result for result in draft.results if _is_question_or_summary(result.memory)]
    if not empty:
        return draft
    ids = {result.memory.id for result in empty}
    dropped = [DroppedResult(r, "no answer", "states nothing of its own") for r in empty[:MAX_NEAR_MISSES]]
    return draft.keep([result for result in draft.results if result.memory.id not in ids], dropped)


def _is_question_or_summary(item: Item) -> bool:
    return item.kind == "summary" or (item.kind in _TALK and is_bare_question(item.text))


def judge_best_with_reader(max_candidates: int) -> Stage[Any]:
    """A stage in which the reader judges the best `max_candidates`; those it has not read are dropped."""

    def read(draft: _SearchDraft) -> _SearchDraft:
        if draft.kit.reader is None or not draft.query.text.strip() or not draft.results:
            return draft
        order = sorted(draft.results, key=lambda result: -result.scores.get("blend", 0.0))
        try:
            judged = judge_results_with_reader(order, draft.query, draft.kit.reader, max_candidates)
        except ContextError as error:
            return draft.with_notes(Note("read", f"failed: {error}"))
        if not judged:
            return draft.with_notes(Note("read", "late: the deadline passed"))
        known = {result.memory.id for result in judged}
        unread = [result for result in order if result.memory.id not in known][:MAX_NEAR_MISSES]
        return draft.keep(
            judged, [DroppedResult(r, "over limit", f"not among the {len(known)} read") for r in unread]
        )

    return read


def tell_successors(draft: _SearchDraft) -> _SearchDraft:
    """Replace each statement by the later one that made it untrue; drop both if the session has that one."""
    if draft.kit.reader is None or not draft.results:
        return draft
    ids = [result.memory.id for result in draft.results]
    related = draft.kit.store.expand(draft.query.workspace, ids, MAX_SUCCESSORS, draft.query.filters)
    found = {one.memory.id: one for one in (*(entry.result for entry in draft.dropped), *draft.results)}
    read = {name: one.scores["read"] for name, one in found.items() if "read" in one.scores}
    held = {name: one.scores.get("blend", 0.0) for name, one in found.items() if name in draft.shown_ids}
    kept: dict[str, SearchResult] = {}
    dropped: list[DroppedResult] = []
    for result in draft.results:
        near = related.get(result.memory.id, ())
        *older, last = (result.memory, *find_successors(result, near, read))
        if older:
            dropped.append(DroppedResult(result, "superseded", f"{last.id}, as the reader sees it"))
            if _is_in_context(last, draft):
                continue
        newest = kept.get(last.id) or found.get(last.id) or replace(result, memory=last, excerpt="")
        history = (*newest.history, *(item for item in older if item not in newest.history))
        later = tuple(find_contradictions(newest, near, read, held))
        kept[last.id] = replace(newest, score=max(newest.score, result.score), history=history, later=later)
    earlier = [one for one in draft.dropped if one.result.memory.id not in kept]
    results = drop_history_repeats(kept.values())
    return _drop_shown_contradictions(replace(draft, results=results, dropped=(*earlier, *dropped)))


def _drop_shown_contradictions(draft: _SearchDraft) -> _SearchDraft:
    """Drop results that another shows as its contradiction, unless they have a history of their own."""
    own = {result.memory.id for result in draft.results if result.history or result.later}
    pairs = ((item.id, result.memory.id) for result in draft.results for item in result.later)
    told_after = {later: older for later, older in pairs if later not in own}
    repeats = [result for result in draft.results if result.memory.id in told_after]
    dropped = [DroppedResult(r, "duplicate", f"told after {told_after[r.memory.id]}") for r in repeats]
    return draft.keep([result for result in draft.results if result.memory.id not in told_after], dropped)


def _is_in_context(item: Item, draft: Draft) -> bool:
    """Whether the session's context holds an item already: it was shown there, or said in this session."""
    said_here = item.kind == "turn" and draft.session is not None and item.session == draft.session
    return said_here or item.id in draft.shown_ids


def drop_tail(draft: _SearchDraft) -> _SearchDraft:
    """Keep the best few of the results that were read, and drop those far less probable than the best."""
    if not any("read" in result.scores for result in draft.results):
        return draft
    least = min_probability_worth_telling(max(result.score for result in draft.results))
    near = [result for result in draft.results if result.score >= least]
    printed = [result for result in near if result.memory.source.trust in ("tool", "web")]
    kept = [result for result in near if result not in printed[MAX_PRINTED:]][:MAX_TOLD]
    known = {result.memory.id for result in kept}
    tail = [result for result in draft.results if result.memory.id not in known]
    return draft.keep(
        kept, [DroppedResult(r, "over limit", "better ones were told") for r in tail[:MAX_NEAR_MISSES]]
    )


def min_probability_worth_telling(best: float) -> float:
    """The least probability worth saying beside a best one: that with `TAIL_SHARE` of its odds."""
    odds = TAIL_SHARE * best / max(1 - best, 1e-9)
    return odds / (1 + odds)


def drop_below(floor: float) -> Stage[Any]:
    """A stage that drops the results whose probability of relevance is below the floor."""

    def drop_below_floor(draft: _Draft) -> _Draft:
        kept = [result for result in draft.results if result.score >= floor]
        low = [result for result in draft.results if result.score < floor]
        dropped = [
            DroppedResult(r, "below floor", f"{_round_score_keeping_it_below(r.score, floor)} < {floor:g}")
            for r in low[:MAX_NEAR_MISSES]
        ]
        draft = draft.keep(kept, dropped)
        more = len(low) - MAX_NEAR_MISSES
        note = Note("floor", f"{number_with_noun(more, 'more candidate')} below it")
        return draft.with_notes(note) if more > 0 else draft

    return drop_below_floor


def limit(draft: _SearchDraft) -> _SearchDraft:
    """Keep as many results as were asked for; the receipt lists the next few, and a note counts the rest."""
    most = draft.query.limit
    over = draft.results[most : most + MAX_NEAR_MISSES]
    more = len(draft.results) - most - MAX_NEAR_MISSES
    draft = draft.keep(draft.results[:most], [DroppedResult(r, "over limit", f"limit {most}") for r in over])
    note = Note("limit", f"{more} more were found, all less probable")
    return draft.with_notes(note) if more > 0 else draft


def relate(draft: _SearchDraft) -> _SearchDraft:
    """If relations were asked for, add to each result the related items that pass the filters."""
    if not draft.relationship_depth or not draft.results:
        return draft
    ids = [result.memory.id for result in draft.results]
    query, depth = draft.query, draft.relationship_depth
    related = draft.kit.store.expand(query.workspace, ids, depth, query.filters)
    return replace(
        draft, results=tuple(replace(r, relationships=related.get(r.memory.id, ())) for r in draft.results)
    )


SEARCH: tuple[Stage[Any], ...] = (retrieve, fuse, compare_tokens, rerank, refresh, limit, relate)
"""The stages of a search."""


def search_stages_with_floor(
    floor: float, exclude: Sequence[Stage[Any]] = (), max_read: int = MAX_READ
) -> tuple[Stage[Any], ...]:
    """The stages of a search for a context: like `SEARCH`, with the reader, and nothing below the floor.

    The stages in `exclude` run before the reader, so that what they drop is not read. With a floor of 0,
    everything that was read is kept, however long the list.
    """
    sayable = (drop_questions_and_summaries, *exclude, judge_best_with_reader(max_read))
    return (
        *(retrieve, retrieve_more, fuse, compare_tokens, rerank, refresh),
        *sayable,
        *((drop_below(floor), drop_tail) if floor else (drop_below(floor),)),
        *(tell_successors, limit, relate),
    )


# Stages that contexts share -------------------------------------------------------------------------------


def drop_superseded(draft: _SearchDraft) -> _SearchDraft:
    """Drop superseded results; update code and documents whose files changed, or drop what is gone."""
    kept, dropped = split_off_superseded(draft.results)
    notes: list[Note] = []
    if draft.kit.file_lookup is not None:
        kept, gone, notes = refresh_from_files(kept, draft.kit.file_lookup, draft.query.expires)
        dropped += gone
    return draft.with_notes(*notes).keep(kept, dropped)


def drop_repeats(draft: _Draft) -> _Draft:
    """Drop results that say the same as a better one."""
    kept, dropped = split_off_repeats(draft.results)
    return draft.keep(kept, dropped)


def drop_shown(draft: _Draft) -> _Draft:
    """Drop results that the session's context holds already, and those that say the same as one of them."""
    known = [result for result in draft.results if result.memory.id in draft.shown_ids]
    if not known:
        return draft
    fresh = [result for result in draft.results if result.memory.id not in draft.shown_ids]
    twins = {name: holder.memory.id for name, holder in find_results_repeating_context(fresh, known).items()}
    dropped = [DroppedResult(result, "already in context") for result in known]
    dropped += [
        DroppedResult(r, "already in context", f"as {twins[r.memory.id]}")
        for r in fresh
        if r.memory.id in twins
    ]
    return draft.keep([result for result in fresh if result.memory.id not in twins], dropped)


# The receipt ----------------------------------------------------------------------------------------------


def make_receipt(draft: Draft, view: Mapping[str, Any] | None = None) -> Receipt:
    """The receipt of a finished draft; `view` is the recipe's own account of it."""
    entries = [
        _receipt_entry(line.result, "injected", line.detail, line.section, line.tokens)
        for line in draft.lines
    ]
    told = {entry.item_id for entry in entries if entry.item_id}
    left_out = [one for one in keep_one_drop_per_item(draft.dropped) if one.result.memory.id not in told]
    entries += [_receipt_entry(one.result, one.reason, one.detail) for one in left_out]
    return Receipt(
        id=secrets.token_hex(6),
        workspace=draft.query.workspace,
        created_at=draft.query.now,
        query=draft.query.text,
        recipe=draft.recipe,
        budget=draft.budget,
        tokens=draft.tokens,
        session=draft.session,
        stages=draft.times,
        entries=tuple(entries),
        notes=draft.notes,
        view=view,
        text=draft.text,
    )


def store_receipt(
    store: Store, receipt: Receipt, shown_ids: Sequence[str] = (), context: str | None = None
) -> None:
    """Store a receipt, and mark these items as shown to a context, by default that of its session."""
    context = context or receipt.session
    if context and shown_ids:  # first, as the session's next question waits for it
        store.post(MarkShown(receipt.workspace, context, tuple(shown_ids), receipt.created_at))
    store.post(PutReceipt(receipt.workspace, receipt))


def _receipt_entry(
    result: SearchResult, decision: Reason, detail: str = "", section: str = "", tokens: int = 0
) -> Entry:
    return Entry(
        item_id=result.memory.id,
        kind=result.memory.kind,
        decision=decision,
        detail=detail,
        section=section,
        tokens=tokens,
        score=result.score,
        rank=result.rank if result.rank is not None else result.score,
        agreement=result.weighted_agreement,
        ranks=dict(result.ranks),
        scores=dict(result.scores),
    )


def _round_score_keeping_it_below(score: float, floor: float) -> str:
    """The score with as many digits as it takes to read as smaller than the floor."""
    return next(
        (text for digits in (2, 3, 4) if float(text := f"{score:.{digits}f}") < floor), f"{score:.2g}"
    )
