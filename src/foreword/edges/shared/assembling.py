"""Synchronous calls for assembled documents and premortems, the same for every edge."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

from foreword.capture.redact import redact
from foreword.knowledge.experiences import Experiences
from foreword.knowledge.precedents import Failure
from foreword.recipes.assembled.assembler import TYPES, ContextAssembler
from foreword.recipes.assembled.searcher import DEADLINE_MS, EngineSearcher

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.compose.assembled import FormattedContext
    from foreword.engine.context_engine import ContextEngine
    from foreword.options import Lane

ContextType = Literal["memories", "code", "experiences", "values", "commits", "documents"]
"""A source of an assembled document."""


def make_assembler(
    engine: ContextEngine,
    workspace: str,
    *,
    deadline_ms: float | None = None,
    lane: Lane | None = None,
    floor: float | None = None,
) -> ContextAssembler:
    """An assembler over one workspace."""
    searcher = EngineSearcher(
        engine,
        workspace,
        Experiences(engine),
        deadline_ms=deadline_ms or DEADLINE_MS,
        lane=lane or "fast",
    )
    return ContextAssembler(searcher, floor=floor)


def assemble(
    assembler: ContextAssembler,
    query: str,
    types: Sequence[str] = (),
    *,
    limit: int = 20,
    max_tokens: int = 2000,
    session: str | None = None,
    record: bool = True,
) -> FormattedContext:
    """The document about a query, from sources of these types, or of all types if none is named."""
    return asyncio.run(
        assembler.assemble_context(
            query, list(types) or list(TYPES), limit, max_tokens, session_id=session or None, record=record
        )
    )


def get_premortem(
    assembler: ContextAssembler,
    domain: str,
    strategy: str | None = None,
    failure: Failure | None = None,
    *,
    limit: int = 10,
    max_tokens: int = 1500,
    session: str | None = None,
    record: bool = True,
) -> FormattedContext:
    """What went wrong before in a domain; with a failure, only what resembles it."""
    return asyncio.run(
        assembler.get_premortem_context(
            domain,
            strategy or None,
            limit,
            max_tokens,
            failure=failure or None,
            session_id=session or None,
            record=record,
        )
    )


def redacted_failure(
    tests: Sequence[str] = (), error: str = "", command: str = "", files: Sequence[str] = ()
) -> Failure:
    """A failure from a caller's words, without secrets."""
    return Failure(
        tuple(redact(test) for test in tests), redact(error), redact(command), tuple(map(redact, files))
    )
