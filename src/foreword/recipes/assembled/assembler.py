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
from functools import partial
from typing import TYPE_CHECKING

from foreword import pipeline
from foreword.compose.assembled import CONTEXT, TITLES, context_footer, premortem_title
from foreword.compose.assembly import Layout
from foreword.compose.context_item import ContextItem, FormattedContext
from foreword.errors import InvalidContextTypeError, StorageError, ValidationError
from foreword.knowledge.experience import DOMAINS, STRATEGIES, one_of
from foreword.log import get_logger
from foreword.options import MAX_LIMIT, MAX_NAME, share, whole
from foreword.pipeline import FLOOR
from foreword.recipes.assembled import premortem
from foreword.recipes.assembled.gathering import gather
from foreword.recipes.assembled.stages import (
    Plan,
    begun,
    by_id,
    ended,
    known,
    ranked,
    result_of,
    stages,
)
from foreword.types import Note

if TYPE_CHECKING:
    from foreword.compose.assembly import Piece
    from foreword.pipeline import Draft
    from foreword.recipes.assembled.gathering import Finding, Gathered, Sources
    from foreword.types import Receipt

__all__ = ["ContextAssembler", "ContextItem", "FormattedContext"]

_log = get_logger("foreword.assembler")

TYPES = ("memories", "code", "experiences", "values", "commits")
"""What may be asked for."""

Planned = Callable[[Mapping[str, list[ContextItem]]], Plan]
"""Makes a plan of what the sources found, by name, each list by how much its items matter."""

TIMEOUT = 5.0
"""How many seconds a source may take."""

MAX_TOKENS = 100_000

FLOORS: Mapping[str, float] = dict.fromkeys(TITLES, FLOOR) | {"commit": 0.001}
"""The least relevance that is worth saying, by source. A commit's message is short: right answers to plain
questions score from a thousandth on, where strangers have less than half of that."""

_ASK: Mapping[str, Callable[[Sources, str, int], Finding]] = {
    "memories": lambda sources, query, limit: sources.search_memories(query, limit),
    "code": lambda sources, query, limit: sources.search_code(query, limit),
    "experiences": lambda sources, query, limit: sources.search_experiences(query, axis="full", limit=limit),
    "values": lambda sources, query, limit: sources.search_values(query, limit),
    "commits": lambda sources, query, limit: sources.search_commits(query, limit),
}


class ContextAssembler:
    """Assembles contexts from several sources.

    What is less relevant than `floor` is not said; by default, every source has its own. (A premortem is
    chosen by its filters, and has none.) A source that takes longer than `timeout` seconds is left behind.
    """

    def __init__(self, searcher: Sources, *, timeout: float = TIMEOUT, floor: float | None = None) -> None:
        if not timeout > 0:
            raise ValidationError(f"timeout must be more than 0 seconds, not {timeout!r}")
        self._searcher = searcher
        self._timeout = timeout
        self._floors = FLOORS if floor is None else dict.fromkeys(FLOORS, share("floor", floor))

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

        `limit` is the most items asked of each source, `max_tokens` a soft limit. With `session_id`, what
        that session was told is not said again. `record=False` is a preview: no receipt is kept.
        """
        types = _valid(context_types)
        _refuse(limit, max_tokens, session_id)
        draft = await asyncio.to_thread(self._searcher.draft, query, "assembled", max_tokens)
        asked = {name: partial(_ASK[name], self._searcher, draft.query.text, limit) for name in types}
        gathered = await gather(asked, self._timeout)
        plan = partial(planned, floors=self._floors)
        told = await asyncio.to_thread(self._searcher.told, session_id) if session_id else frozenset()
        return await asyncio.to_thread(self._made, draft, gathered, plan, session_id, told, record=record)

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
        for each section; `max_tokens` is never exceeded. What the session was told is said again: a warning
        belongs where something has just failed.
        """
        one_of("domain", domain, DOMAINS)
        if strategy is not None:
            one_of("strategy", strategy, STRATEGIES)
        _refuse(limit, max_tokens, session_id)
        title = premortem_title(domain, strategy)
        draft = await asyncio.to_thread(
            self._searcher.draft, title.removeprefix("# "), "premortem", max_tokens
        )
        asked = premortem.questions(self._searcher, domain, strategy, limit)
        gathered = await gather(asked, self._timeout)
        plan = partial(premortem.planned, title=title)
        again = frozenset[str]()
        return await asyncio.to_thread(self._made, draft, gathered, plan, session_id, again, record=record)

    def _made(
        self,
        draft: Draft,
        gathered: Gathered,
        plan: Planned,
        session: str | None,
        told: frozenset[str],
        *,
        record: bool,
    ) -> FormattedContext:
        """Run what was found through the stages, and leave a receipt."""
        lists = {
            name: ranked(known(found, self._searcher.workspace), draft.query.now)
            for name, found in gathered.found.items()
        }
        chosen = plan(lists)
        draft = pipeline.run(begun(draft, gathered, chosen), stages(chosen, told))
        draft = ended(draft, gathered, chosen)
        over = max(0, draft.tokens - draft.budget)
        if over:
            _log.warning("a context is over its limit", tokens=draft.tokens, limit=draft.budget)
            draft = draft.noted(Note("budget", f"{over} tokens over the limit of {draft.budget}"))
        receipt = pipeline.receipt(draft, session)
        notes = draft.found.notes + (self._recorded(receipt) if record else ())
        shown = sorted(draft.candidates, key=lambda candidate: -candidate.result.score)
        items = tuple(replace(chosen.items[one.id], content=one.text) for one in shown)
        return FormattedContext(
            markdown=draft.text,
            items=items,
            token_count=draft.tokens,
            sources_used=dict(Counter(item.source for item in items)),
            notes=notes,
            over_by=over,
            receipt=receipt,
        )

    def _recorded(self, receipt: Receipt) -> tuple[Note, ...]:
        """Keep the receipt; a context is not lost because its receipt is."""
        try:
            self._searcher.record(receipt)
        except StorageError as error:
            _log.warning("a receipt could not be kept", problem=str(error))
            return (Note("receipt", f"not kept: {error}"),)
        return ()


def planned(lists: Mapping[str, Sequence[ContextItem]], floors: Mapping[str, float]) -> Plan:
    """Everything that was found, most important first, each source in its section."""
    items = by_id(item for found in lists.values() for item in found)
    ordered = dict(sorted(items.items(), key=lambda pair: -(result_of(pair[1]).rank or 0.0)))
    sections = {name: TITLES.get(item.source, TITLES["memory"]) for name, item in ordered.items()}
    return Plan(ordered, sections, Layout(CONTEXT, tuple(TITLES.values()), _footer), floors)


def _footer(pieces: Sequence[Piece]) -> str:
    return context_footer(len(pieces), len({piece.item.source for piece in pieces}))


def _valid(context_types: Sequence[str]) -> list[str]:
    """The types that are asked for, each once; one that nobody knows is an error."""
    if isinstance(context_types, str):
        raise InvalidContextTypeError(context_types, TYPES)
    for name in context_types:
        if name not in TYPES:
            raise InvalidContextTypeError(name, TYPES)
    return list(dict.fromkeys(context_types))


def _refuse(limit: int, max_tokens: int, session: str | None) -> None:
    whole("limit", limit, 1, MAX_LIMIT)
    whole("max_tokens", max_tokens, 1, MAX_TOKENS)
    if session is not None and (not 0 < len(session) <= MAX_NAME or not session.isprintable()):
        raise ValidationError(f"a session's name has 1 to {MAX_NAME} printable characters")
