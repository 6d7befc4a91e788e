"""What may fill a gap: asked of every enabled source at once, on one scale of relevance.

A source that fails or is late leaves a note and a warning, and the others answer.
"""

from __future__ import annotations

import asyncio
import math
from itertools import islice
from typing import TYPE_CHECKING

from foreword.log import get_logger
from foreword.recall.gaps.pieces import architecture_pieces, sprint_pieces, state_pieces
from foreword.recall.gaps.relevance import rate_relevance_by_words
from foreword.recall.gaps.types import ArchitectureSearch, RelevanceJudge, RetrievedContext
from foreword.types import Note, text_hash

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from foreword.recall.gaps.pieces import StatePiece
    from foreword.recall.gaps.state import Conversation
    from foreword.recall.gaps.types import (
        ContextGap,
        ContextSource,
        InjectionConfig,
        MemoryResult,
        MemoryStore,
    )

    Question = Callable[[], Awaitable[Sequence[RetrievedContext]]]

_log = get_logger("foreword.gap")

TIMEOUT_SECONDS = 2.0
"""How many seconds a source may take."""

MIN_ANSWERS = 10
"""At least how many answers a memory is asked for: some will say the same, some have been said."""

MAX_PIECES = 20
"""At most how many more pieces of a state than may be injected are looked at."""

_PIECES: Mapping[ContextSource, Callable[[ContextGap, object, Conversation], list[StatePiece]]] = {
    "architecture": architecture_pieces,
    "sprint": sprint_pieces,
    "state": state_pieces,
}
_ORDER = ("architecture", "sprint", "state", "memory")
"""Of two that are as relevant, the one whose source says more of what it is comes first."""


async def ask_sources(
    gap: ContextGap,
    memory: MemoryStore | None,
    state: object,
    messages: Conversation,
    config: InjectionConfig,
) -> tuple[list[RetrievedContext], list[Note]]:
    """Ask every enabled source at once; each context comes once, the most relevant first."""
    pieces, notes = _pieces_of_state(gap, state, messages, config)
    questions = _questions(gap, memory, config)
    most = MAX_PIECES + config.max_context_items
    questions["state"] = lambda: _rate_pieces(gap.context_query, pieces, memory, most)
    outcomes = await asyncio.gather(*map(_ask_within_timeout, questions.values()), return_exceptions=True)
    found: list[RetrievedContext] = []
    for part, outcome in zip(questions, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            notes.append(_failure_note(part, outcome))
        else:
            found += outcome
    return _best_of_each(found), notes


def context_id(context: RetrievedContext) -> str:
    """The name of a context in a receipt: the id of an item, or where in the state it stands."""
    known = context.metadata.get("id") or context.metadata.get("key")
    return str(known or f"{context.source}:{context.metadata.get('place') or text_hash(context.content)}")


def _pieces_of_state(
    gap: ContextGap, state: object, messages: Conversation, config: InjectionConfig
) -> tuple[list[StatePiece], list[Note]]:
    pieces: list[StatePiece] = []
    notes: list[Note] = []
    for source, cut in _PIECES.items():
        if source in config.enabled_sources:
            try:
                pieces += cut(gap, state, messages)
            except Exception as error:  # noqa: BLE001  (anybody's state; the other sources go on)
                notes.append(_failure_note(source, error))
    return pieces, notes


def _questions(gap: ContextGap, memory: MemoryStore | None, config: InjectionConfig) -> dict[str, Question]:
    """What is asked of a memory, by the name under which a failure is noted."""
    questions: dict[str, Question] = {}
    if memory is None:
        return questions
    query, most = gap.context_query, max(MIN_ANSWERS, 2 * config.max_context_items)
    if "memory" in config.enabled_sources:
        questions["memory.search_similar"] = lambda: _answers_as_contexts(
            "memory", memory.search_similar(query, k=most)
        )
        questions["memory.search_decisions"] = lambda: _answers_as_contexts(
            "memory", memory.search_decisions(query, k=most)
        )
    if "architecture" in config.enabled_sources and isinstance(memory, ArchitectureSearch):
        questions["memory.search_architecture"] = lambda: _answers_as_contexts(
            "architecture", memory.search_architecture(query, k=most)
        )
    return questions


async def _ask_within_timeout(question: Question) -> Sequence[RetrievedContext]:
    return await asyncio.wait_for(question(), TIMEOUT_SECONDS)


async def _answers_as_contexts(
    source: ContextSource, answer: Awaitable[Sequence[MemoryResult]]
) -> list[RetrievedContext]:
    """A memory's answers, as contexts; one whose score is no number counts as irrelevant."""
    return [
        RetrievedContext(
            source, result.content, _clamp_score(result.score), {"key": result.key, **result.metadata}
        )
        for result in await answer
        if result.content
    ]


async def _rate_pieces(
    query: str, pieces: Sequence[StatePiece], memory: MemoryStore | None, most: int
) -> list[RetrievedContext]:
    """The best pieces of a state: rated by meaning where the memory can do that, else by words."""
    texts, kinds = [piece.text for piece in pieces], [piece.kind for piece in pieces]
    scores = (
        await memory.judge(query, texts, kinds)
        if isinstance(memory, RelevanceJudge)
        else rate_relevance_by_words(query, texts, kinds)
    )
    best_first = sorted(zip(scores, pieces, strict=True), key=lambda pair: -pair[0])
    statements = (pair for pair in best_first if not pair[1].asks)
    return [
        RetrievedContext(
            piece.source, piece.text, _clamp_score(score), {"place": piece.place, **piece.metadata}
        )
        for score, piece in islice(statements, most)
    ]


def _best_of_each(found: Sequence[RetrievedContext]) -> list[RetrievedContext]:
    """Every context once, with the best relevance that any question gave it; the most relevant first."""
    ordered = sorted(found, key=lambda one: (-one.relevance_score, _ORDER.index(one.source)))
    best: dict[str, RetrievedContext] = {}
    for context in ordered:
        best.setdefault(context_id(context), context)
    return list(best.values())


def _clamp_score(score: object) -> float:
    """A score within 0 and 1; 0 for what is no number."""
    if isinstance(score, bool) or not isinstance(score, int | float) or math.isnan(score):
        return 0.0
    return min(1.0, max(0.0, float(score)))


def _failure_note(part: str, failure: BaseException) -> Note:
    if not isinstance(failure, Exception):
        raise failure  # somebody wants this process, or this task, to end
    late = isinstance(failure, TimeoutError)
    problem = f"late: no answer within {TIMEOUT_SECONDS:g} s" if late else f"failed: {failure!r}"
    _log.warning("a source of context did not answer", source=part, problem=problem)
    return Note(part, problem)
