"""The recipes `assembled` and `premortem`: one document from several sources.

`stages.assembled_stages` lists the stages. A source that fails or is late leaves a note, and the others are
used. The limit of `assembled` is soft: it is exceeded only if the context would otherwise be empty, and then
`over_by` gives by how much. `premortem` has a hard limit, and a search of its own for every section (module
`premortem`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from foreword import pipeline
from foreword.compose.assembled import CONTEXT, TITLES, TYPE_NAMES, FormattedContext, premortem_title
from foreword.compose.assembly import ContextLayout, context_footer
from foreword.errors import InvalidContextTypeError, StorageError, ValidationError
from foreword.knowledge.experience import DOMAINS, STRATEGIES, check_choice
from foreword.log import get_logger
from foreword.options import MAX_LIMIT, check_fraction, check_text, check_whole_number
from foreword.pipeline import FLOOR, run_async
from foreword.recipes.assembled.premortem import plan_premortem, premortem_searches_by_section
from foreword.recipes.assembled.sources import InMemoryRecords, Records
from foreword.recipes.assembled.stages import (
    AssembledDraft,
    Plan,
    assembled_stages,
    items_by_id,
    require_result,
)
from foreword.types import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from foreword.compose.assembled import ContextItem
    from foreword.knowledge.precedents import Failure
    from foreword.pipeline import AsyncStage, Stage
    from foreword.recipes.assembled.sources import Finding, Searcher
    from foreword.types import Receipt

_log = get_logger("foreword.assembler")

MAX_SESSION_CHARACTERS = 4096
TYPES = tuple(TYPE_NAMES.values())
"""The names of the sources that may be asked for."""

TIMEOUT_SECONDS = 5.0
"""How many seconds a source may take."""

MAX_TOKENS = 100_000

FLOORS: Mapping[str, float] = dict.fromkeys(TITLES, FLOOR)
"""The floor of each source: the least relevance that is worth saying."""

_ASK: Mapping[str, Callable[[Any, str, int], Finding]] = {
    "memories": lambda sources, query, limit: sources.search_memories(query, limit),
    "code": lambda sources, query, limit: sources.search_code(query, limit),
    "experiences": lambda sources, query, limit: sources.search_experiences(query, axis="full", limit=limit),
    "values": lambda sources, query, limit: sources.search_values(query, limit),
    "commits": lambda sources, query, limit: sources.search_commits(query, limit),
    "documents": lambda sources, query, limit: sources.search_documents(query, limit),
}


class ContextAssembler:
    """Assembles contexts from several sources, which a `Searcher` searches.

    Items less relevant than `floor` are dropped; by default, every source has its own floor. (A premortem has
    other floors.) A source that takes longer than `timeout` seconds is left out.
    """

    def __init__(
        self, searcher: Searcher, *, timeout: float = TIMEOUT_SECONDS, floor: float | None = None
    ) -> None:
        if not timeout > 0:
            raise ValidationError(f"timeout must be more than 0 seconds, not {timeout!r}")
        self._searcher = searcher
        self._records = (
            searcher if isinstance(searcher, Records) else InMemoryRecords(type(searcher).__name__)
        )
        self._timeout = timeout
        self._floors = FLOORS if floor is None else dict.fromkeys(FLOORS, check_fraction("floor", floor))

    async def assemble_context(
        self,
        query: str,
        context_types: Sequence[str],
        limit: int = 20,
        max_tokens: int = 2000,
        *,
        session_id: str | None = None,
        record: bool = True,
    ) -> FormattedContext:
        """What these sources know about a question, as Markdown; empty when they know nothing.

        `limit` is the most items asked of each source, `max_tokens` a soft limit. With `session_id`, what
        that session was shown is not repeated. `record=False` is a preview: no receipt is stored.
        """
        types = _check_types(context_types)
        _check_limits(limit, max_tokens, session_id)
        draft = await asyncio.to_thread(self._begin_draft, query, "assembled", max_tokens, session_id)
        if session_id:
            draft = replace(draft, shown_ids=await asyncio.to_thread(self._records.shown_ids, session_id))
        questions = {name: partial(_ASK[name], self._searcher, draft.query.text, limit) for name in types}
        stages = assembled_stages(questions, self._timeout, partial(arrange_by_source, floors=self._floors))
        return await self._run_stages(draft, stages, record=record)

    async def get_premortem_context(
        self,
        domain: str,
        strategy: str | None = None,
        limit: int = 10,
        max_tokens: int = 1500,
        *,
        failure: Failure | None = None,
        session_id: str | None = None,
        record: bool = True,
    ) -> FormattedContext:
        """What went wrong before in a domain, as Markdown; with a strategy, also how well that worked.

        For the moment when a test or a build fails for the first time. With a `failure`, only experiences
        near to it are given, of any domain, the nearest first; the context may be empty. `limit` is the most
        experiences asked for each section; `max_tokens` is never exceeded. What the session was shown is
        repeated: a warning belongs where something has just failed.
        """
        check_choice("domain", domain, DOMAINS)
        if strategy is not None:
            check_choice("strategy", strategy, STRATEGIES)
        _check_limits(limit, max_tokens, session_id)
        title = premortem_title(domain, strategy)
        query = "\n".join(filter(None, (title.removeprefix("# "), failure.lines if failure else "")))
        draft = await asyncio.to_thread(self._begin_draft, query, "premortem", max_tokens, session_id)
        questions = premortem_searches_by_section(self._searcher, domain, strategy, limit, failure)
        plan = partial(plan_premortem, title=title, domain=domain, has_failure=bool(failure))
        stages = assembled_stages(questions, self._timeout, plan)
        return await self._run_stages(draft, stages, record=record)

    def _begin_draft(self, query: str, recipe: str, budget: int, session: str | None) -> AssembledDraft:
        return AssembledDraft(
            query=self._records.make_query(query),
            recipe=recipe,
            budget=budget,
            session=session,
            tokenizer=self._records.tokenizer,
        )

    async def _run_stages(
        self, draft: AssembledDraft, stages: Sequence[Stage[Any] | AsyncStage[Any]], *, record: bool
    ) -> FormattedContext:
        """Run the stages, store the receipt if `record`, and return the context."""
        draft = await run_async(draft, stages)
        over = max(0, draft.tokens - draft.budget)
        if over:
            _log.warning("a context is over its limit", tokens=draft.tokens, limit=draft.budget)
            draft = draft.with_notes(Note("budget", f"{over} tokens over the limit of {draft.budget}"))
        receipt = pipeline.make_receipt(draft)
        notes = draft.notes + (await asyncio.to_thread(self._store_receipt, receipt) if record else ())
        best_first = sorted(draft.lines, key=lambda line: -line.result.score)
        items = tuple(replace(draft.current_plan.items[line.id], content=line.text) for line in best_first)
        return FormattedContext(
            markdown=draft.text,
            items=items,
            token_count=draft.tokens,
            sources_used=dict(Counter(TYPE_NAMES.get(item.source, item.source) for item in items)),
            notes=notes,
            over_by=over,
            receipt=receipt,
        )

    def _store_receipt(self, receipt: Receipt) -> tuple[Note, ...]:
        """Store the receipt; if that fails, return a note of it instead of raising."""
        try:
            self._records.record(receipt)
        except StorageError as error:
            _log.warning("a receipt could not be kept", problem=str(error))
            return (Note("receipt", f"not kept: {error}"),)
        return ()


def arrange_by_source(lists: Mapping[str, Sequence[ContextItem]], floors: Mapping[str, float]) -> Plan:
    """A plan of everything that was found, most important first, each source in its own section."""
    items = items_by_id(item for found in lists.values() for item in found)
    ordered = dict(sorted(items.items(), key=lambda pair: -(require_result(pair[1]).rank or 0.0)))
    sections = {name: TITLES.get(item.source, TITLES["memory"]) for name, item in ordered.items()}
    return Plan(ordered, sections, ContextLayout(CONTEXT, tuple(TITLES.values()), context_footer), floors)


def _check_types(context_types: Sequence[str]) -> list[str]:
    """The types that are asked for, each once; InvalidContextTypeError if one is unknown."""
    if isinstance(context_types, str):
        raise InvalidContextTypeError(context_types, TYPES)
    for name in context_types:
        if name not in TYPES:
            raise InvalidContextTypeError(name, TYPES)
    return list(dict.fromkeys(context_types))


def _check_limits(limit: int, max_tokens: int, session: str | None) -> None:
    check_whole_number("limit", limit, 1, MAX_LIMIT)
    check_whole_number("max_tokens", max_tokens, 1, MAX_TOKENS)
    if session is not None:
        check_text("session", session, MAX_SESSION_CHARACTERS)
