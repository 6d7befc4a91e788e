"""One door to the five sources of an assembled context: memories, code, experiences, values, commits.

Every search is the engine's own, in a thread, so that several can be awaited at once. Filters that the store
knows hold inside its search; the rest are looked for in a list that is asked for deeper and deeper. Nothing
here ranks, chooses or words a document.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from foreword import pipeline
from foreword.compose.assembled import SourceItems, context_item, facts
from foreword.errors import ValidationError
from foreword.knowledge.axes import AXES
from foreword.knowledge.experiences import Experiences
from foreword.knowledge.precedents import find_precedents
from foreword.options import MAX_LIMIT, SearchOptions, check_whole_number, check_workspace
from foreword.pipeline import SEARCH, drop_superseded
from foreword.types import DroppedResult

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from foreword.engine.base import Engine
    from foreword.knowledge.axes import Axis
    from foreword.knowledge.precedents import Failure
    from foreword.options import Lane
    from foreword.pipeline import SearchDraft
    from foreword.types import Item, Receipt

DEADLINE_MS = 4_000.0
"""How many milliseconds a search may take; then it answers with the spaces that are ready."""

_DEEPER = 5
"""How many times more results are asked for when too few of them fit."""


class Searcher:
    """Searches one workspace, source by source; a search gives what it found, best first.

    `experiences` knows the axes of experiences. Without it they are searched by their text alone, whichever
    axis is asked for.
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
        self._how = SearchOptions(deadline_ms=deadline_ms, lane=lane)

    async def search_memories(self, query: str, limit: int = 10, category: str | None = None) -> SourceItems:
        """Facts, preferences, decisions; of one category, if it is named."""
        types = () if category is None else (category,)
        return await asyncio.to_thread(self._search, query, "memory", limit, memory_types=types)

    async def search_code(
        self, query: str, limit: int = 10, language: str | None = None, unit_type: str | None = None
    ) -> SourceItems:
        """Functions, classes and methods; of one language or one type of unit, if it is named."""
        fits = _facts_filter(language=language, unit_type=unit_type)
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
        """What was tried before and how it ended, as it stands now.

        The whole story is searched like any other text, so that its relevance compares with that of other
        sources; an axis, or a filter, asks `experiences`.
        """
        if axis not in AXES:
            raise ValidationError(f"no axis named {axis!r}; there are: {', '.join(AXES)}")
        wanted = {"domain": domain, "strategy": strategy, "outcome": outcome}
        if self._experiences is not None and (axis != "full" or any(wanted.values())):
            check_whole_number("limit", limit, 1, MAX_LIMIT)
            ask = partial(self._experiences.search_axis, self.workspace, query, axis, limit=limit)
            return SourceItems(map(context_item, await asyncio.to_thread(ask, **wanted)))
        held = _facts_filter(domain=domain, strategy=strategy, outcome_status=outcome)
        fits = partial(_is_resolved, axis=axis, held=held)
        return await asyncio.to_thread(self._search, query, "experience", limit, fits)

    async def search_precedents(self, failure: Failure, limit: int = 3) -> SourceItems:
        """The experiences nearest to what has just failed; their relevance is how well they fit it."""
        check_whole_number("limit", limit, 1, MAX_LIMIT)
        experiences = self._experiences or Experiences(self._engine)
        ask = partial(find_precedents, self._engine, experiences, self.workspace, failure, limit)
        return SourceItems(map(context_item, await asyncio.to_thread(ask)))

    async def search_values(self, query: str, limit: int = 10, axis: str | None = None) -> SourceItems:
        """What experience has taught; from one axis, if it is named."""
        return await asyncio.to_thread(self._search, query, "value", limit, _facts_filter(axis=axis))

    async def search_commits(
        self, query: str, limit: int = 10, author: str | None = None, since: datetime | None = None
    ) -> SourceItems:
        """What was changed, by whom and why; by one author, or since a time, if that is named."""
        fits = None if author is None else partial(_is_by, author=author)
        return await asyncio.to_thread(self._search, query, "commit", limit, fits, date_from=since)

    # For the assembler

    def draft(self, query: str, recipe: str, budget: int) -> SearchDraft:
        """A question ready for the stages of a recipe."""
        return self._engine.draft(query, self.workspace, SearchOptions(), recipe, budget)

    def shown(self, session: str) -> frozenset[str]:
        """The ids of what a session's context already holds."""
        return self._engine.store.shown(self.workspace, session)

    def record(self, receipt: Receipt) -> None:
        """Keep a receipt; its session counts as having been shown what was injected."""
        pipeline.record(self._engine.store, receipt, [entry.item_id for entry in receipt.injected])

    # Inside

    def _search(
        self,
        query: str,
        kind: str,
        limit: int,
        fits: Callable[[Item], bool] | None = None,
        **changes: Any,  # noqa: ANN401  (what SearchOptions takes)
    ) -> SourceItems:
        """What the engine finds, as far as it fits; it is asked for more while too little does."""
        depth = check_whole_number("limit", limit, 1, MAX_LIMIT)
        if fits is not None:
            depth = min(MAX_LIMIT, max(pipeline.DEPTH, 2 * limit))
        while True:
            options = replace(self._how, limit=depth, kinds=(kind,), **changes)
            draft = self._engine.draft(query, self.workspace, options, "search", 0)
            draft = pipeline.run(draft, (*SEARCH, drop_superseded))
            fitting = [result for result in draft.results if fits is None or fits(result.memory)]
            if len(fitting) >= limit or depth == MAX_LIMIT or _count_found(draft) < depth:
                break
            depth = min(MAX_LIMIT, depth * _DEEPER)
        gone = [one for one in draft.dropped if fits is None or fits(one.result.memory)]
        over = fitting[limit : limit + pipeline.MAX_NEAR_MISSES]
        gone += [DroppedResult(result, "over limit", f"limit {limit}") for result in over]
        notes = tuple(note for note in draft.notes if note.part != "limit")  # said of this list anyway
        return SourceItems(map(context_item, fitting[:limit]), tuple(gone), notes)


def _count_found(draft: SearchDraft) -> int:
    """How many results the search had, before what has been superseded was left out."""
    return len(draft.results) + sum(dropped.reason == "superseded" for dropped in draft.dropped)


def _facts_filter(**wanted: str | None) -> Callable[[Item], bool] | None:
    """A filter that lets items pass whose facts are these, in whatever case; none when nothing is wanted."""
    named_facts = {key: value.casefold() for key, value in wanted.items() if value is not None}
    if not named_facts:
        return None

    def holds(item: Item) -> bool:
        known = facts(item)
        return all(str(known.get(key) or "").casefold() == value for key, value in named_facts.items())

    return holds


def _is_resolved(item: Item, axis: str, held: Callable[[Item], bool] | None) -> bool:
    """Whether an experience stands, has ended, and has something to say on an axis."""
    metadata = item.metadata
    open_still = "outcome" in metadata and not metadata["outcome"]
    silent = axis in ("surprise", "root_cause") and not metadata.get(axis)
    return not (item.superseded_by or open_still or silent) and (held is None or held(item))


def _is_by(item: Item, author: str) -> bool:
    """Whether a commit is by an author, told by name or by address."""
    names = (str(item.metadata.get(key, "")).casefold() for key in ("author", "author_email"))
    return author.casefold() in names
