"""The story: the stages in order, the loop that runs them, and the receipt they leave.

    retrieve → fuse → rerank → refresh → limit → relate             a search
             → hush → rank → drop superseded → drop repeats → fit   a context, as `recipes.chat` lists it

A stage is a function from draft to draft; what one needs beyond the draft, the recipe that lists it hands in.
To change what happens, put another function into the list: nothing is subclassed. Every stage's time, and
every result a stage drops, ends in the receipt.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from foreword.errors import ContextError
from foreword.recall.dedupe import step_behind, without_repeats, without_superseded
from foreword.recall.fuse import BLENDS, UNRELATED, Blend
from foreword.recall.fuse import fuse as fuse_lists
from foreword.recall.rerank import rerank as rerank_hits
from foreword.recall.retrieve import retrieve as retrieve_found
from foreword.recall.stale import Look, as_files_are
from foreword.types import (
    Candidate,
    Dropped,
    Entry,
    Found,
    Note,
    Query,
    Receipt,
    SearchResult,
    StageTime,
)

if TYPE_CHECKING:
    from foreword.spaces.base import Reranker, Space, TimeSpace, VectorSpace
    from foreword.store.base import Store
    from foreword.text.tokens import Tokenizer
    from foreword.types import Item

FLOOR = 0.04
"""The least probability of relevance that is worth saying."""

DEPTH = 50
"""How far down its list each space is asked, at least."""


TOLD = 20
"""How many of the results beyond the limit a receipt tells of."""

_NOTHING = Found({}, {})


@dataclass(frozen=True, slots=True)
class Kit:
    """The tools that stages work with; the same for every question."""

    store: Store
    spaces: Sequence[Space]
    clocks: Sequence[TimeSpace]
    tokenizer: Tokenizer
    encoder: VectorSpace | None = None
    blends: Mapping[str, Blend] = field(default_factory=lambda: BLENDS)
    reranker: Reranker | None = None
    look: Look | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A context in the making. Each stage fills in what the next one needs."""

    kit: Kit
    query: Query
    recipe: str = "search"
    budget: int = 0
    relationship_depth: int = 0
    found: Found = _NOTHING
    results: tuple[SearchResult, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    text: str = ""
    tokens: int = 0
    times: tuple[StageTime, ...] = field(default_factory=tuple)

    def noted(self, note: Note) -> Draft:
        """The draft with something more for the reader of its receipt."""
        return replace(self, found=replace(self.found, notes=(*self.found.notes, note)))

    def without(self, dropped: Sequence[Dropped], kept: Sequence[SearchResult]) -> Draft:
        """The draft with these results, and a record of those left out."""
        return replace(self, results=tuple(kept), dropped=(*self.dropped, *dropped))


Stage = Callable[[Draft], Draft]


def retrieve(draft: Draft) -> Draft:
    """Ask all spaces, in one round trip to the store."""
    depth = max(DEPTH, draft.query.limit)
    return replace(draft, found=retrieve_found(draft.query, draft.kit.store, draft.kit.spaces, depth))


def fuse(draft: Draft) -> Draft:
    """Make one list of all the spaces' lists."""
    query, kit = draft.query, draft.kit
    hits = fuse_lists(draft.found, query.text, query.now, kit.clocks, unrelated(kit), kit.blends)
    return replace(draft, results=tuple(hits))


def unrelated(kit: Kit) -> float:
    """What strangers are to the encoder: asked after it had its say, so that nothing waits here."""
    told = kit.encoder.unrelated if kit.encoder else None
    return UNRELATED if told is None else told


def rerank(draft: Draft) -> Draft:
    """Let the cross-encoder read the best candidates, where it is known to help and while there is time."""
    if draft.kit.reranker is None or not draft.query.text.strip():
        return draft
    try:
        hits = rerank_hits(draft.results, draft.found, draft.query, draft.kit.reranker)
    except ContextError as error:
        return draft.noted(Note("rerank", f"failed: {error}"))
    return replace(draft, results=tuple(hits))


def hush_below(floor: float) -> Stage:
    """A stage that says nothing which is probably beside the point."""

    def hush(draft: Draft) -> Draft:
        low = [
            Dropped(r, "below floor", f"{r.score:.2f} < {floor:.2f}")
            for r in draft.results
            if r.score < floor
        ]
        return draft.without(low, [result for result in draft.results if result.score >= floor])

    return hush


def refresh(draft: Draft) -> Draft:
    """Put what replaced an item before it, fetching the successor if no space found it."""
    near = draft.results[: draft.query.limit]
    there = {result.memory.id for result in draft.results}
    wanted = [
        r.memory.superseded_by for r in near if r.memory.superseded_by and r.memory.superseded_by not in there
    ]
    if wanted:
        fetched = draft.kit.store.get(draft.query.workspace, *dict.fromkeys(wanted))
        heirs = {item.id: item for item in fetched if item is not None}
        draft = replace(draft, results=tuple(_with_heirs(draft.results, heirs)))
    return replace(draft, results=tuple(step_behind(draft.results)))


def limit(draft: Draft) -> Draft:
    """Keep as many as were asked for; of the others, the next few are told, and how many more there were."""
    most = draft.query.limit
    kept, over, rest = draft.results[:most], draft.results[most:][:TOLD], draft.results[most + TOLD :]
    draft = draft.without([Dropped(r, "over limit", f"limit {most}") for r in over], kept)
    return draft.noted(Note("limit", f"{len(rest)} more were found, all less probable")) if rest else draft


def relate(draft: Draft) -> Draft:
    """Follow the relations of each result, when asked to."""
    if not draft.relationship_depth or not draft.results:
        return draft
    ids = [result.memory.id for result in draft.results]
    related = draft.kit.store.expand(draft.query.workspace, ids, draft.relationship_depth)
    return replace(
        draft, results=tuple(replace(r, relationships=related.get(r.memory.id, ())) for r in draft.results)
    )


def drop_superseded(draft: Draft) -> Draft:
    """A context says what holds now: not what was replaced, and code as it stands in its file."""
    kept, dropped = without_superseded(draft.results)
    notes: list[Note] = []
    if draft.kit.look is not None:
        kept, gone, notes = as_files_are(kept, draft.kit.look, draft.query.expires)
        dropped += gone
    for note in notes:
        draft = draft.noted(note)
    return draft.without(dropped, kept)


def drop_repeats(draft: Draft) -> Draft:
    """A context says a thing once."""
    kept, dropped = without_repeats(draft.results)
    return draft.without(dropped, kept)


SEARCH: tuple[Stage, ...] = (retrieve, fuse, rerank, refresh, limit, relate)
"""What every question begins with; recipes go on from here."""


def run(draft: Draft, stages: Sequence[Stage]) -> Draft:
    """Pass the draft through the stages, and time each."""
    for stage in stages:
        started = time.perf_counter()
        draft = stage(draft)
        elapsed = StageTime(getattr(stage, "__name__", "stage"), (time.perf_counter() - started) * 1000)
        draft = replace(draft, times=(*draft.times, elapsed))
    return draft


def receipt(draft: Draft, session: str | None = None) -> Receipt:
    """What was considered, what was decided, and why."""
    entries = [
        _entry(candidate.result, Dropped(candidate.result, "injected"), candidate.section, candidate.tokens)
        for candidate in draft.candidates
    ]
    entries += [_entry(dropped.result, dropped) for dropped in draft.dropped]
    return Receipt(
        id=secrets.token_hex(6),
        workspace=draft.query.workspace,
        created_at=draft.query.now,
        query=draft.query.text,
        recipe=draft.recipe,
        budget=draft.budget,
        tokens=draft.tokens,
        session=session,
        stages=draft.times,
        entries=tuple(entries),
        notes=draft.found.notes,
    )


def _entry(result: SearchResult, decision: Dropped, section: str = "", tokens: int = 0) -> Entry:
    return Entry(
        item_id=result.memory.id,
        kind=result.memory.kind,
        decision=decision.reason,
        detail=decision.detail,
        section=section,
        tokens=tokens,
        score=result.score,
        rank=result.rank if result.rank is not None else result.score,
        agreement=result.weighted_agreement,
        ranks=dict(result.ranks),
        scores=dict(result.scores),
    )


def _with_heirs(results: Sequence[SearchResult], heirs: dict[str, Item]) -> list[SearchResult]:
    order: list[SearchResult] = []
    for result in results:
        heir = heirs.pop(result.memory.superseded_by or "", None)
        if heir is not None:
            # The heir inherits the relevance of what it replaces: it is about the same thing.
            order.append(SearchResult(heir, result.score, ranks=result.ranks, scores=result.scores))
        order.append(result)
    return order
