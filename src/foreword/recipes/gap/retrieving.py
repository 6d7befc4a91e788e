"""What may fill a gap: asked of every enabled source at once, on one scale of relevance.

A source that fails or is late leaves a note and a warning, and the others answer. What is not relevant
enough, only asks, says the same or is one too many is left out by name and with a reason.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from foreword.log import get_logger
from foreword.recall.gaps.answers import may_answer
from foreword.recall.gaps.memory import Architect, Judge
from foreword.recall.gaps.pieces import of_architecture, of_sprint, of_state
from foreword.recall.gaps.relevance import by_words
from foreword.recall.gaps.types import RetrievedContext
from foreword.recipes.gap.said import essence, place
from foreword.types import Note

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from foreword.recall.gaps.memory import MemoryResult, MemoryStore
    from foreword.recall.gaps.pieces import Piece
    from foreword.recall.gaps.state import Heard
    from foreword.recall.gaps.types import ContextGap, ContextSource, InjectionConfig
    from foreword.recipes.gap.said import Said
    from foreword.types import Reason

_log = get_logger("foreword.gap")

TIMEOUT = 2.0
"""How many seconds a source may take."""

ASKED = 10
"""At least so many answers a memory is asked for: some will say the same, some have been said."""

TOLD = 20
"""How many of those that were left out a receipt tells of."""

_PIECES: Mapping[ContextSource, Callable[[ContextGap, object, Heard], list[Piece]]] = {
    "architecture": of_architecture,
    "sprint": of_sprint,
    "state": of_state,
}
_ORDER = ("architecture", "sprint", "state", "memory")
"""Of two that are as relevant, the one whose source says more of what it is comes first."""


@dataclass(frozen=True, slots=True)
class Given:
    """A state, its messages, and what all of that says already: read once, used by every step."""

    state: object
    heard: Heard
    said: Said


@dataclass(frozen=True, slots=True)
class Left:
    """A context that was left out, and why."""

    context: RetrievedContext
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found for a gap, best first; what was left out; what went wrong; how long it took."""

    contexts: tuple[RetrievedContext, ...] = ()
    left: tuple[Left, ...] = ()
    notes: tuple[Note, ...] = ()
    milliseconds: float = 0.0


async def retrieve(
    gap: ContextGap, memory: MemoryStore | None, given: Given, config: InjectionConfig
) -> Retrieval:
    """Ask every enabled source at once, and keep the most relevant."""
    started = time.perf_counter()
    pieces, notes = _pieces(gap, given, config)
    asked = _questions(gap, memory, config)
    asked["state"] = lambda: _judged(gap.context_query, pieces, memory, TOLD + config.max_context_items)
    outcomes = await asyncio.gather(*(_within(ask) for ask in asked.values()), return_exceptions=True)
    found: list[RetrievedContext] = []
    for part, outcome in zip(asked, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            notes.append(_left_behind(part, outcome))
        else:
            found += outcome
    kept, left = _kept(gap.context_query, found, given.said, config)
    return Retrieval(tuple(kept), tuple(left), tuple(notes), (time.perf_counter() - started) * 1000)


def _pieces(gap: ContextGap, given: Given, config: InjectionConfig) -> tuple[list[Piece], list[Note]]:
    pieces: list[Piece] = []
    notes: list[Note] = []
    for source, cut in _PIECES.items():
        if source in config.enabled_sources:
            try:
                pieces += cut(gap, given.state, given.heard)
            except Exception as error:  # noqa: BLE001  (anybody's state; the other sources go on)
                notes.append(_left_behind(source, error))
    return pieces, notes


def _questions(
    gap: ContextGap, memory: MemoryStore | None, config: InjectionConfig
) -> dict[str, Callable[[], Awaitable[Sequence[RetrievedContext]]]]:
    """What is asked of a memory, by the name under which a failure is told."""
    asked: dict[str, Callable[[], Awaitable[Sequence[RetrievedContext]]]] = {}
    if memory is None:
        return asked
    query, most = gap.context_query, max(ASKED, 2 * config.max_context_items)
    if "memory" in config.enabled_sources:
        asked["memory.search_similar"] = lambda: _told("memory", memory.search_similar(query, k=most))
        asked["memory.search_decisions"] = lambda: _told("memory", memory.search_decisions(query, k=most))
    if "architecture" in config.enabled_sources and isinstance(memory, Architect):
        asked["memory.search_architecture"] = lambda: _told(
            "architecture", memory.search_architecture(query, k=most)
        )
    return asked


async def _within(
    ask: Callable[[], Awaitable[Sequence[RetrievedContext]]],
) -> Sequence[RetrievedContext]:
    return await asyncio.wait_for(ask(), TIMEOUT)


async def _told(source: ContextSource, answer: Awaitable[Sequence[MemoryResult]]) -> list[RetrievedContext]:
    """A memory's answers, as contexts; a score that is none makes an answer irrelevant, not the rest."""
    return [
        RetrievedContext(source, result.content, _sound(result.score), {"key": result.key, **result.metadata})
        for result in await answer
        if result.content
    ]


async def _judged(
    query: str, pieces: Sequence[Piece], memory: MemoryStore | None, most: int
) -> list[RetrievedContext]:
    """The best pieces of a state with their relevance: by meaning where a memory can tell, else by words."""
    texts, kinds = [piece.text for piece in pieces], [piece.kind for piece in pieces]
    scores = (
        await memory.judge(query, texts, kinds)
        if isinstance(memory, Judge)
        else by_words(query, texts, kinds)
    )
    ordered = sorted(zip(scores, pieces, strict=True), key=lambda pair: -pair[0])
    fillers = (pair for pair in ordered if not pair[1].asks)
    return [
        RetrievedContext(piece.source, piece.text, _sound(score), {"place": piece.place, **piece.metadata})
        for score, piece in islice(fillers, most)
    ]


def _kept(
    question: str, found: Sequence[RetrievedContext], said: Said, config: InjectionConfig
) -> tuple[list[RetrievedContext], list[Left]]:
    """The best that are relevant enough and news, each said once; and what is left of the others."""
    floor, most = config.min_relevance_score, max(0, config.max_context_items)
    kept: list[RetrievedContext] = []
    left: list[Left] = []
    seen: dict[str, str] = {}
    for context in _best_of_each(found):
        twin = seen.setdefault(essence(context.content), place(context))
        if len(left) >= TOLD and len(kept) >= most:
            break
        if context.relevance_score < floor:
            left.append(Left(context, "below floor", f"{context.relevance_score:.2f} < {floor:.2f}"))
        elif said.has(context):
            left.append(Left(context, "already in context"))
        elif twin != place(context):
            left.append(Left(context, "duplicate", twin))
        elif len(kept) >= most:
            left.append(Left(context, "over limit", f"limit {most}"))
        elif not may_answer(context.content, question, spoken=_spoken(context)):
            left.append(Left(context, "below floor", "it answers nothing"))
        else:
            kept.append(context)
    return kept, left[:TOLD]


def _spoken(context: RetrievedContext) -> bool:
    """Whether this was said in a conversation: a turn that is remembered, or a message of the state."""
    return context.metadata.get("kind") == "turn" or "role" in context.metadata


def _best_of_each(found: Sequence[RetrievedContext]) -> list[RetrievedContext]:
    """Every context once, as relevant as the best question found it; the most relevant first."""
    ordered = sorted(found, key=lambda one: (-one.relevance_score, _ORDER.index(one.source)))
    best: dict[str, RetrievedContext] = {}
    for context in ordered:
        best.setdefault(place(context), context)
    return list(best.values())


def _sound(score: object) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float) or math.isnan(score):
        return 0.0
    return min(1.0, max(0.0, float(score)))


def _left_behind(part: str, failure: BaseException) -> Note:
    if not isinstance(failure, Exception):
        raise failure  # somebody wants this process, or this task, to end
    late = isinstance(failure, TimeoutError)
    problem = f"late: no answer within {TIMEOUT:g} s" if late else f"failed: {failure!r}"
    _log.warning("a source of context did not answer", source=part, problem=problem)
    return Note(part, problem)
