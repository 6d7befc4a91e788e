"""The recipe `gap`: an agent lacks context, so it is found and put where the agent will read it.

    detect → retrieve → drop what was said → fit → inject

`manage_context_injection` is the whole of it. What is injected is data: attributed, on one line, unable to
leave its place; never what the state holds already, never what only asks as well, and never more than the
limits say. The receipt, kept by an `EngineMemory`, says why each context was taken or left, and a log event
says that it happened.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from foreword import pipeline
from foreword.errors import ForewordError
from foreword.log import get_logger
from foreword.recall.gaps.detect import detect_context_gap, receiving_agent
from foreword.recall.gaps.memory import MemoryResult, MemoryStore
from foreword.recall.gaps.state import messages, value
from foreword.recall.gaps.types import (
    HANDOFF_CONTEXT,
    INJECTED_CONTEXT,
    ContextGap,
    GapInjection,
    InjectionConfig,
    InjectionResult,
    RetrievedContext,
)
from foreword.recipes.gap.engine import EngineMemory
from foreword.recipes.gap.fitting import Fitted, fit, payload, text
from foreword.recipes.gap.retrieving import Given, Retrieval, retrieve
from foreword.recipes.gap.said import place, said_in
from foreword.text.tokens import tokenizer
from foreword.types import Candidate, Dropped, Item, Note, SearchResult, StageTime

if TYPE_CHECKING:
    from foreword.recipes.gap.retrieving import Left
    from foreword.types import Kind, Receipt

__all__ = [
    "ContextGap",
    "EngineMemory",
    "GapInjection",
    "InjectionConfig",
    "InjectionResult",
    "MemoryResult",
    "MemoryStore",
    "RetrievedContext",
    "detect_context_gap",
    "inject_context",
    "inject_context_gap",
    "manage_context_injection",
    "retrieve_relevant_context",
    "text",
]

_log = get_logger("foreword.gap")
_audit = logging.getLogger("foreword.gap")

_RETURN_IT = "return the result's `update` from your node"

MESSAGES = 500
"""How many messages back a state is read for what may fill a gap."""

COUNTER = "o200k"
"""How tokens are counted where no engine says."""


async def retrieve_relevant_context(
    gap: ContextGap, memory: MemoryStore | None, state: object, config: InjectionConfig | None = None
) -> tuple[RetrievedContext, ...]:
    """What the enabled sources know about a gap, most relevant first."""
    given, _ = await _given(state, memory)
    return (await retrieve(gap, memory, given, config or InjectionConfig())).contexts


async def inject_context_gap(
    gap: ContextGap,
    contexts: Sequence[RetrievedContext],
    state: object,
    config: InjectionConfig | None = None,
    *,
    memory: MemoryStore | None = None,
) -> GapInjection:
    """Put contexts into a state, where the agent that needs them reads; with an engine, leave a receipt."""
    started = time.perf_counter()
    given, notes = await _given(state, memory)
    retrieval = Retrieval(tuple(contexts), notes=notes)
    return await _injected(gap, retrieval, given, config or InjectionConfig(), memory, started)


inject_context = inject_context_gap
"""The name that the function has where there is no other of that name."""


async def manage_context_injection(
    state: object, memory: MemoryStore | None = None, config: InjectionConfig | None = None
) -> GapInjection | None:
    """Find out whether the agent lacks context, and give it; None when it lacks none."""
    started = time.perf_counter()
    gap = await detect_context_gap(state, memory.encode if isinstance(memory, EngineMemory) else None)
    if gap is None:
        return None
    limits = config or InjectionConfig()
    given, notes = await _given(state, memory)
    retrieval = await retrieve(gap, memory, given, limits)
    retrieval = replace(retrieval, notes=(*notes, *retrieval.notes))
    return await _injected(gap, retrieval, given, limits, memory, started)


async def _injected(
    gap: ContextGap,
    retrieval: Retrieval,
    given: Given,
    config: InjectionConfig,
    memory: MemoryStore | None,
    started: float,
) -> GapInjection:
    engine = memory if isinstance(memory, EngineMemory) else None
    begun = time.perf_counter()
    fitted = fit(retrieval.contexts, given.said, config, engine.tokenizer if engine else tokenizer(COUNTER))
    times = (StageTime("retrieve", retrieval.milliseconds), StageTime("fit", _since(begun)))
    injected = payload(gap, fitted) if fitted.contexts else {}
    target = _target(gap, given.state)
    update = {target: _laid_over(target, injected, given.state)} if injected else {}
    result = GapInjection(
        gap=gap,
        contexts_retrieved=retrieval.contexts,
        injected=bool(injected),
        injection_target=target,
        total_context_size=fitted.size,
        duration_ms=_since(started),
        payload=injected,
        update=update,
        notes=(*gap.notes, *retrieval.notes, *_written(given.state, update)),
    )
    if engine is not None:
        left = (*retrieval.left, *fitted.left)
        result = await asyncio.to_thread(_recorded, result, engine, fitted, left, times, config)
    result = replace(result, duration_ms=_since(started))
    if config.log_injections:
        _log_injection(result, fitted)
    return result


async def _given(state: object, memory: MemoryStore | None) -> tuple[Given, tuple[Note, ...]]:
    """What the agent has already: in its state, and by what its session was told."""
    heard = messages(state, MESSAGES)
    told: frozenset[str] = frozenset()
    notes: tuple[Note, ...] = ()
    if isinstance(memory, EngineMemory) and memory.session is not None:
        try:
            told = await asyncio.to_thread(memory.told)
        except ForewordError as error:
            notes = (_failed("told", "it is not known what the session was told", error),)
    return Given(state, heard, said_in(state, heard, told)), notes


def _target(gap: ContextGap, state: object) -> str:
    """Where the agent that lacks context will read it: with the work it is about to be handed, or at once.

    A hand-off that is no mapping has no room for more, and is left as it is.
    """
    receiver = receiving_agent(state)
    handed = value(state, HANDOFF_CONTEXT)
    if receiver and gap.agent.casefold() == receiver.casefold() and isinstance(handed, Mapping | None):
        return HANDOFF_CONTEXT
    return INJECTED_CONTEXT


def _laid_over(target: str, injected: Mapping[str, Any], state: object) -> dict[str, Any]:
    """The payload; before a hand-off, beside whatever is handed over anyway."""
    handed = value(state, target) if target == HANDOFF_CONTEXT else None
    return {**handed, **injected} if isinstance(handed, Mapping) else dict(injected)


def _written(state: object, update: Mapping[str, Any]) -> tuple[Note, ...]:
    """Write into the state itself, where it lets us; where not, a note says what to do instead."""
    try:
        for key, held in update.items():
            if isinstance(state, MutableMapping):
                state[key] = held
            elif not isinstance(state, Mapping):
                setattr(state, key, held)
            else:
                return (Note("state", f"it cannot be written; {_RETURN_IT}"),)
    except Exception as error:  # noqa: BLE001  (anybody's state; the update is in the result)
        return (Note("state", f"not written ({error!r}); {_RETURN_IT}"),)
    return ()


def _recorded(
    result: GapInjection,
    engine: EngineMemory,
    fitted: Fitted,
    left: Sequence[Left],
    times: Sequence[StageTime],
    config: InjectionConfig,
) -> GapInjection:
    """The result with the receipt that the engine now keeps; one that cannot be kept is a note."""
    try:
        receipt = _receipt(result, engine, fitted, left, times, config)
        told = [place(one) for one in fitted.contexts if one.source in ("memory", "architecture")]
        engine.record(receipt, told)
    except ForewordError as error:
        note = _failed("receipt", "the receipt could not be kept", error)
        return replace(result, notes=(*result.notes, note))
    return replace(result, receipt_id=receipt.id)


def _receipt(
    result: GapInjection,
    engine: EngineMemory,
    fitted: Fitted,
    left: Sequence[Left],
    times: Sequence[StageTime],
    config: InjectionConfig,
) -> Receipt:
    draft = engine.draft(result.gap.context_query, max(0, config.max_context_tokens))
    for note in (Note("gap", "; ".join(result.gap.indicators)), *result.notes):
        draft = draft.noted(note)
    candidates = (
        Candidate(_as_result(one, engine.workspace), one.source, "", engine.tokenizer.count(one.content))
        for one in fitted.contexts
    )
    dropped = (Dropped(_as_result(one.context, engine.workspace), one.reason, one.detail) for one in left)
    return pipeline.receipt(
        replace(
            draft,
            candidates=tuple(candidates),
            dropped=tuple(dropped),
            tokens=fitted.tokens,
            times=tuple(times),
        ),
        engine.session,
    )


def _as_result(context: RetrievedContext, workspace: str) -> SearchResult:
    """A context as a receipt tells of it: by its name, without its text."""
    kind = cast("Kind", str(context.metadata.get("kind") or context.source))
    return SearchResult(Item("", workspace, kind=kind, id=place(context)), context.relevance_score)


def _log_injection(result: GapInjection, fitted: Fitted) -> None:
    """One event for whoever audits; it names the gap and holds none of the text."""
    happened = "context was injected" if result.injected else "nothing was found for a gap"
    _audit.info(
        "%s gap=%s agent=%s reason=%s target=%s items=%d bytes=%d tokens=%d milliseconds=%.1f receipt=%s",
        happened,
        result.gap.gap_id,
        result.gap.agent,
        result.gap.reason,
        result.injection_target,
        len(fitted.contexts),
        fitted.size,
        fitted.tokens,
        result.duration_ms,
        result.receipt_id or "-",
    )


def _failed(part: str, event: str, error: ForewordError) -> Note:
    _log.warning(event, problem=str(error))
    return Note(part, f"failed: {error}")


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
