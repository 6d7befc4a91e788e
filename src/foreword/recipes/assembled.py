"""The recipe `assembled`: one document from memories, code, experiences, values and commits.

    ask all sources at once → hush → drop told → drop what is said twice → share out

A source that fails or is late leaves a note, and the others speak. The limit is soft: it is exceeded only
where otherwise nothing could be said, and then the context says by how much. `premortem` is the same with
other questions, and its limit is hard.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from foreword import pipeline
from foreword.compose.assembled import CONTEXT, TITLES, context_footer
from foreword.compose.assembly import Layout
from foreword.compose.context_item import ContextItem, FormattedContext
from foreword.errors import ForewordError, InvalidContextTypeError, ValidationError
from foreword.knowledge.experience import DOMAINS, STRATEGIES, one_of
from foreword.log import get_logger
from foreword.options import MAX_LIMIT, MAX_NAME, share, whole
from foreword.pipeline import FLOOR, Draft, Stage, hush_below
from foreword.recipes import premortem
from foreword.recipes.assembling import drop_twins, known, ranked, result_of, share_out
from foreword.recipes.gathering import Gathered, gather
from foreword.recipes.injecting import drop_told
from foreword.types import Note

if TYPE_CHECKING:
    from foreword.compose.assembly import Piece
    from foreword.recipes.gathering import Finding, Sources

__all__ = ["ContextAssembler", "ContextItem", "FormattedContext"]

_log = get_logger("foreword.assembler")

TYPES: Mapping[str, str] = {
    "memories": "memory",
    "code": "code",
    "experiences": "experience",
    "values": "value",
    "commits": "commit",
}
"""What may be asked for, and the source that it is."""

TIMEOUT = 5.0
"""How many seconds a source may take."""

MAX_TOKENS = 100_000

_ASK: Mapping[str, Callable[[Sources, str, int], Finding]] = {
    "memories": lambda sources, query, limit: sources.search_memories(query, limit),
    "code": lambda sources, query, limit: sources.search_code(query, limit),
    "experiences": lambda sources, query, limit: sources.search_experiences(query, axis="full", limit=limit),
    "values": lambda sources, query, limit: sources.search_values(query, limit),
    "commits": lambda sources, query, limit: sources.search_commits(query, limit),
}


class ContextAssembler:
    """Assembles contexts from several sources.

    What is less relevant than `floor` is not said (a premortem is chosen by its filters, and has none). A
    source that takes longer than `timeout` seconds is left behind.
    """

    def __init__(self, searcher: Sources, *, timeout: float = TIMEOUT, floor: float = FLOOR) -> None:
        if not timeout > 0:
            raise ValidationError(f"timeout must be more than 0 seconds, not {timeout!r}")
        self._searcher = searcher
        self._timeout = timeout
        self._floor = share("floor", floor)

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
        """What these sources know about a question, as Markdown; empty when that is nothing.

        `limit` is the most items asked of each source, `max_tokens` a soft limit. With `session_id`, what that
        session was told is not said again. `record=False` is a preview: no receipt is kept.
        """
        types = _valid(context_types)
        _refuse(limit, max_tokens, session_id)
        draft = await asyncio.to_thread(self._searcher.draft, query, "assembled", max_tokens)
        asked = {name: _ASK[name](self._searcher, draft.query.text, limit) for name in types}
        gathered = await gather(asked, self._timeout)
        return await asyncio.to_thread(self._assembled, draft, gathered, session_id, record=record)

    async def get_premortem_context(
        self,
        domain: str,
        strategy: str | None = None,
        limit: int = 10,
        max_tokens: int = 1500,
        *,
        session_id: str | None = None,
        record: bool = True,
    ) -> FormattedContext:
        """What went wrong before in a domain, as Markdown; with a strategy, also how that fared.

        For the moment when a test or a build fails for the first time. `limit` is the most experiences asked
        for each section; `max_tokens` is never exceeded.
        """
        one_of("domain", domain, DOMAINS)
        if strategy is not None:
            one_of("strategy", strategy, STRATEGIES)
        _refuse(limit, max_tokens, session_id)
        layout = premortem.layout(domain, strategy)
        question = layout.title.removeprefix("# ")
        draft = await asyncio.to_thread(self._searcher.draft, question, "premortem", max_tokens)
        gathered = await gather(
            premortem.questions(self._searcher, domain, strategy, limit), self._timeout
        )
        return await asyncio.to_thread(self._forewarned, draft, gathered, layout, session_id, record=record)

    def _assembled(
        self, draft: Draft, gathered: Gathered, session: str | None, *, record: bool
    ) -> FormattedContext:
        every = [item for found in gathered.found.values() for item in known(found, self._searcher.workspace)]
        items = ranked(every, draft.query.now)
        sections = {result_of(item).memory.id: TITLES.get(item.source, item.source) for item in items}
        layout = Layout(CONTEXT, tuple(TITLES.values()), _footer)
        stages = (hush_below(self._floor),)
        return self._made(draft, gathered, items, sections, layout, session, stages, record=record, hard=False)

    def _forewarned(
        self, draft: Draft, gathered: Gathered, layout: Layout, session: str | None, *, record: bool
    ) -> FormattedContext:
        lists = {
            section: ranked(known(found, self._searcher.workspace), draft.query.now)
            for section, found in gathered.found.items()
        }
        turns = premortem.arranged(lists)
        sections = {result_of(item).memory.id: section for section, item in turns}
        items = [item for _, item in turns]
        return self._made(draft, gathered, items, sections, layout, session, (), record=record, hard=True)

    def _made(
        self,
        draft: Draft,
        gathered: Gathered,
        items: Sequence[ContextItem],
        sections: Mapping[str, str],
        layout: Layout,
        session: str | None,
        first: Sequence[Stage],
        *,
        record: bool,
        hard: bool,
    ) -> FormattedContext:
        """Run what was found through the stages, and leave a receipt."""
        by_id = {result_of(item).memory.id: item for item in items}
        told = self._searcher.told(session) if session else frozenset()
        draft = _begun(draft, gathered, by_id)
        stages = (*first, drop_told(told), drop_twins(by_id), share_out(by_id, sections, layout, hard=hard))
        draft = pipeline.run(draft, stages)
        over = max(0, draft.tokens - draft.budget)
        if over:
            _log.warning("a context is over its limit", tokens=draft.tokens, limit=draft.budget)
            draft = draft.noted(Note("budget", f"{over} tokens over the limit of {draft.budget}"))
        elif items and not draft.text and draft.candidates == () and _over_budget(draft):
            draft = draft.noted(Note("budget", f"nothing fits into {draft.budget} tokens; allow more"))
        return self._kept(draft, by_id, session, over, record=record)

    def _kept(
        self,
        draft: Draft,
        items: Mapping[str, ContextItem],
        session: str | None,
        over: int,
        *,
        record: bool,
    ) -> FormattedContext:
        receipt = pipeline.receipt(draft, session)
        if record:
            try:
                self._searcher.record(receipt)
            except ForewordError as error:
                _log.warning("a receipt could not be kept", problem=str(error))
                draft = draft.noted(Note("receipt", f"not kept: {error}"))
        shown = [
            replace(items[candidate.id], content=candidate.text)
            for candidate in sorted(draft.candidates, key=lambda one: -one.result.score)
        ]
        return FormattedContext(
            markdown=draft.text,
            items=tuple(shown),
            token_count=draft.tokens,
            sources_used=dict(Counter(item.source for item in shown)),
            notes=draft.found.notes,
            over_by=over,
            receipt=receipt,
        )
