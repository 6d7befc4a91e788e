"""The searches of an assembled context, as the engine answers them: the `Searcher` that ships.

Every search is the engine's own, in a thread, so that several can be awaited at once. Filters that the store
knows are applied inside its search; the others are applied to its results, of which more and more are asked
for until enough pass.

Relevance is a probability, and means the same for every source. In the lane `fast` it is that of the blend;
in `full` the reader judges the leading results of every source. Code is not read, since the reader rejects
good code: its leading results are compared with the question token by token. Nothing here chooses or words
what goes into a document.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from foreword import pipeline
from foreword.compose.assembled import SourceItems, item_facts, make_context_item
from foreword.errors import ContextError, ValidationError
from foreword.knowledge.axes import AXES
from foreword.knowledge.experiences import Experiences
from foreword.knowledge.precedents import find_precedents
from foreword.options import MAX_LIMIT, SearchOptions, check_whole_number, check_workspace
from foreword.pipeline import SEARCH, drop_superseded
from foreword.recall.fuse import BLENDS, DEFAULT_BLEND, reorder_hits_with_added_scores, sort_by_probability
from foreword.recall.read import MAX_READ, judge_results_with_reader
from foreword.recipes.code import lower_if_code_defines_nothing
from foreword.types import DroppedResult, Note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from foreword.engine.base import Engine
    from foreword.knowledge.axes import Axis
    from foreword.knowledge.precedents import Failure
    from foreword.options import Lane
    from foreword.pipeline import SearchDraft, Stage
    from foreword.recall.fuse import Blend
    from foreword.text.tokens import Tokenizer
    from foreword.types import Item, Query, Receipt

DEADLINE_MS = 4_000.0
"""How many milliseconds a search may take; then it answers with the spaces that are ready."""

MAX_CODE_COMPARED, CODE_TOKEN_WEIGHT = 20, 1.0
"""How many pieces of code the lane "full" compares token by token, and how much their fit counts."""

_COMPARED_CHARACTERS = 480

_DEPTH_FACTOR = 5
"""How many times more results are asked for when too few of them fit."""


class EngineSearcher:
    """Searches one workspace, source by source; each search gives its results best first.

    `experiences` searches experiences by axis. Without it they are searched by their text alone, whichever
    axis is asked for. In the lane "full" the leading results of every source are read, which takes longer.
    """

    def __init__(
        self,
        engine: Engine,
        workspace: str,
        experiences: Experiences | None = None,
        *,
        deadline_ms: float | None = DEADLINE_MS,
        lane: Lane = "fast",
    ) -> None:
        self.workspace = check_workspace(workspace)
        self._engine = engine
        self._experiences = experiences
        self._options = SearchOptions(deadline_ms=deadline_ms, lane=lane)

    async def search_memories(self, query: str, limit: int = 10, category: str | None = None) -> SourceItems:
        """Facts, preferences, decisions; of one category, if it is named."""
        types = () if category is None else (category,)
        return await asyncio.to_thread(self._search, query, "memory", limit, memory_types=types)

    async def search_code(
        self, query: str, limit: int = 10, language: str | None = None, unit_type: str | None = None
    ) -> SourceItems:
        """Functions, classes and methods; of one language or one type of unit, if it is named."""
        fits = _make_facts_filter(language=language, unit_type=unit_type)
        return await asyncio.to_thread(self._search, query, "code", limit, fits)

    async def search_experiences(
        self,
        query: str,
        axis: Axis = "full",
        domain: str | None = None,
        strategy: str | None = None,
        outcome: str | None = None,
        limit: int = 10,
    ) -> SourceItems:
        """Experiences that have ended and hold now: what was tried before and how it ended.

        The axis "full" is searched like any other text, so that its relevance compares with that of other
        sources; another axis, or a filter, is searched by `experiences`.
        """
        if axis not in AXES:
            raise ValidationError(f"no axis named {axis!r}; there are: {', '.join(AXES)}")
        wanted = {"domain": domain, "strategy": strategy, "outcome": outcome}
        if self._experiences is not None and (axis != "full" or any(wanted.values())):
            check_whole_number("limit", limit, 1, MAX_LIMIT)
            ask = partial(self._experiences.search_axis, self.workspace, query, axis, limit=limit)
            return SourceItems(map(make_context_item, await asyncio.to_thread(ask, **wanted)))
        fits_facts = _make_facts_filter(domain=domain, strategy=strategy, outcome_status=outcome)
        fits = partial(_is_usable_experience, axis=axis, fits_facts=fits_facts)
        return await asyncio.to_thread(self._search, query, "experience", limit, fits)

    async def search_precedents(self, failure: Failure, limit: int = 3) -> SourceItems:
        """The experiences nearest to what has just failed; their relevance is how well they fit it."""
        check_whole_number("limit", limit, 1, MAX_LIMIT)
        experiences = self._experiences or Experiences(self._engine)
        ask = partial(find_precedents, self._engine, experiences, self.workspace, failure, limit)
        return SourceItems(map(make_context_item, await asyncio.to_thread(ask)))

    async def search_values(self, query: str, limit: int = 10, axis: str | None = None) -> SourceItems:
        """What experience has taught; from one axis, if it is named."""
        return await asyncio.to_thread(self._search, query, "value", limit, _make_facts_filter(axis=axis))

    async def search_commits(
        self, query: str, limit: int = 10, author: str | None = None, since: datetime | None = None
    ) -> SourceItems:
        """What was changed, by whom and why; by one author, or since a time, if that is named."""
        fits = None if author is None else partial(_is_commit_by, author=author)
        return await asyncio.to_thread(self._search, query, "commit", limit, fits, date_from=since)

    async def search_documents(self, query: str, limit: int = 10, path: str | None = None) -> SourceItems:
        """Sections of documents; of one file, if it is named by its path as shown."""
        return await asyncio.to_thread(
            self._search, query, "document", limit, _make_facts_filter(file_path=path)
        )

    # For the assembler

    @property
    def tokenizer(self) -> Tokenizer:
        """The engine's tokenizer."""
        return self._engine.tokenizer

    def make_query(self, query: str) -> Query:
        """The query for a text: checked, without secrets, with its workspace and the current time."""
        return self._engine.draft(query, self.workspace, self._options, "assembled", 0).query

    def shown_ids(self, session: str) -> frozenset[str]:
        """The ids of what a session's context already holds."""
        return self._engine.store.shown_ids(self.workspace, session)

    def record(self, receipt: Receipt) -> None:
        """Store a receipt, and mark what was injected as shown to its session."""
        pipeline.store_receipt(
            self._engine.store, receipt, [entry.item_id for entry in receipt.injected_entries]
        )

    # Inside

    def _search(
        self,
        query: str,
        kind: str,
        limit: int,
        fits: Callable[[Item], bool] | None = None,
        **changes: Any,  # noqa: ANN401  (what SearchOptions takes)
    ) -> SourceItems:
        """The results of one kind that pass `fits`; more are searched for while fewer than `limit` do."""
        depth = check_whole_number("limit", limit, 1, MAX_LIMIT)
        if fits is not None:
            depth = min(MAX_LIMIT, max(pipeline.DEPTH, 2 * limit))
        while True:
            options = replace(self._options, limit=depth, kinds=(kind,), **changes)
            draft = self._run_search(self._engine.draft(query, self.workspace, options, "search", 0))
            fitting = [result for result in draft.results if fits is None or fits(result.memory)]
            if len(fitting) >= limit or depth == MAX_LIMIT or _count_found(draft) < depth:
                break
            depth = min(MAX_LIMIT, depth * _DEPTH_FACTOR)
        gone = [one for one in draft.dropped if fits is None or fits(one.result.memory)]
        over = fitting[limit : limit + pipeline.MAX_NEAR_MISSES]
        gone += [DroppedResult(result, "over limit", f"limit {limit}") for result in over]
        notes = tuple(note for note in draft.notes if note.part != "limit")  # `over` lists these results
        return SourceItems(map(make_context_item, fitting[:limit]), tuple(gone), notes)

    def _run_search(self, draft: SearchDraft) -> SearchDraft:
        """The draft after a search whose relevances can be compared across sources."""
        kit = replace(draft.kit, blends=_use_memory_curve_for_commits(draft.kit.blends))
        if self._options.lane == "fast":
            return pipeline.run(
                replace(draft, kit=kit), (*SEARCH, drop_superseded, lower_code_without_definitions)
            )
        stages: tuple[Stage[Any], ...] = (
            *SEARCH,
            drop_superseded,
            rescore_code_by_tokens,
            lower_code_without_definitions,
            judge_leading_results,
        )
        return pipeline.run(replace(draft, kit=kit.with_reader(self._engine.reader)), stages)


def _use_memory_curve_for_commits(blends: Mapping[str, Blend]) -> Mapping[str, Blend]:
    """The blends, with the probability curve of memories used for commits, too.

    The curve of commits was fitted to whole reports of defects, which share far more with the message of the
    commit that mends them than a plain question does: it would make the right commit improbable.
    """
    commit = blends.get("commit", DEFAULT_BLEND)
    if commit != BLENDS["commit"]:  # the user has adjusted it
        return blends
    curve = {name: getattr(DEFAULT_BLEND, name) for name in ("middle", "slope", "known", "named", "nameless")}
    return {**blends, "commit": replace(commit, **curve)}


def rescore_code_by_tokens(draft: SearchDraft) -> SearchDraft:
    """A stage in which the leading pieces of code are compared with the question token by token.

    If the encoder of tokens fails or has no time, a note says so and the results are as they were.
    """
    space, query = draft.kit.token_space, draft.query
    leading = [one for one in draft.results if one.memory.kind == "code"][:MAX_CODE_COMPARED]
    if space is None or not leading or not query.text.strip():
        return draft
    try:
        beginnings = [replace(one.memory, text=one.memory.text[:_COMPARED_CHARACTERS]) for one in leading]
        fits = space.compare(query.text, space.encode_items(beginnings), query.expires)
    except ContextError as error:
        return draft.with_notes(Note(space.name, f"failed: {error}"))
    if fits is None:
        return draft.with_notes(Note(space.name, "late: the deadline passed"))
    usual = sum(fits) / len(fits)
    added = {
        one.memory.id: {"blend": CODE_TOKEN_WEIGHT * (fit - usual), space.name: fit}
        for one, fit in zip(leading, fits, strict=True)
    }
    return replace(
        draft,
        results=tuple(reorder_hits_with_added_scores(draft.results, draft.found, added, draft.kit.blends)),
    )


def lower_code_without_definitions(draft: SearchDraft) -> SearchDraft:
    """A stage that lowers the probability of code that defines nothing."""
    weighed = [
        lower_if_code_defines_nothing(one) if one.memory.kind == "code" else one for one in draft.results
    ]
    return replace(draft, results=tuple(sort_by_probability(weighed)))


def judge_leading_results(draft: SearchDraft) -> SearchDraft:
    """A stage in which the reader judges the leading results; the others follow, none more probable.

    If the reader fails or has no time, a note says so and the results stay as they were.
    """
    reader, results = draft.kit.reader, draft.results
    is_code = draft.query.filters.kinds == ("code",)
    if reader is None or is_code or not results or not draft.query.text.strip():
        return draft
    try:
        judged = judge_results_with_reader(results, draft.query, reader, MAX_READ)
    except ContextError as error:
        return draft.with_notes(Note("read", f"failed: {error}"))
    if not judged:
        return draft.with_notes(Note("read", "late: the deadline passed"))
    known = {result.memory.id for result in judged}
    least = judged[-1].score
    rest = [replace(one, score=min(one.score, least)) for one in results if one.memory.id not in known]
    return replace(draft, results=(*judged, *rest))


def _count_found(draft: SearchDraft) -> int:
    """How many results the search had, including those dropped as superseded."""
    return len(draft.results) + sum(dropped.reason == "superseded" for dropped in draft.dropped)


def _make_facts_filter(**wanted: str | None) -> Callable[[Item], bool] | None:
    """A filter for items whose facts have these values, in any case; None if none is wanted."""
    named_facts = {key: value.casefold() for key, value in wanted.items() if value is not None}
    if not named_facts:
        return None

    def holds(item: Item) -> bool:
        known = item_facts(item)
        return all(str(known.get(key) or "").casefold() == value for key, value in named_facts.items())

    return holds


def _is_usable_experience(item: Item, axis: str, fits_facts: Callable[[Item], bool] | None) -> bool:
    """Whether an experience has these facts, is not superseded, has ended, and has text on the axis."""
    metadata = item.metadata
    open_still = "outcome" in metadata and not metadata["outcome"]
    silent = axis in ("surprise", "root_cause") and not metadata.get(axis)
    return not (item.superseded_by or open_still or silent) and (fits_facts is None or fits_facts(item))


def _is_commit_by(item: Item, author: str) -> bool:
    """Whether a commit is by an author, given by name or e-mail address."""
    names = (str(item.metadata.get(key, "")).casefold() for key in ("author", "author_email"))
    return author.casefold() in names
