"""The recipe `gap`: finds the context that an agent lacks, and puts it where the agent will read it.

    detect → load shown → ask → drop below floor → drop said → drop repeats → keep answers → fit → inject

`manage_context_injection` does all of this. What is injected is data: attributed, on one line, escaped; never
what the state holds already, never a mere question, and never more than the limits allow. The receipt, stored
by an `EngineMemory`, says why each context was injected or not, and a log event records the injection.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, MutableMapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from foreword import pipeline
from foreword.capture.redact import redact
from foreword.errors import ForewordError
from foreword.log import get_logger
from foreword.pipeline import drop_below, drop_repeats, run_async
from foreword.recipes.gap.detect import WORDS_ALONE, detect_context_gap, receiving_agent
from foreword.recipes.gap.engine_memory import EngineMemory
from foreword.recipes.gap.payload import (
    MAX_MESSAGES,
    count_messages,
    drop_oldest_gaps,
    find_contexts_given_before,
    gap_key,
    keep_known_gap_record,
    make_payload,
    make_update_clearing_closed_gaps,
    merge_payloads,
)
from foreword.recipes.gap.stages import GapDraft, ask, drop_said, fit_budget, keep_answers, load_shown
from foreword.recipes.gap.state import get_value, read_messages
from foreword.recipes.gap.types import HANDOFF_CONTEXT, INJECTED_CONTEXT, InjectionConfig, InjectionResult
from foreword.text.tokens import tokenizer_by_name
from foreword.types import Note, Query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.pipeline import AsyncStage, Stage
    from foreword.recipes.gap.types import ContextGap, MemoryStore, RetrievedContext

_log = get_logger("foreword.gap")
_audit = logging.getLogger("foreword.gap")

_RETURN_IT = "return the result's `update` from your node"

DEFAULT_TOKENIZER = "o200k"
"""The tokenizer that is used without an engine."""


def retrieval_stages(config: InjectionConfig) -> tuple[Stage[Any] | AsyncStage[Any], ...]:
    """The stages that find what may fill a gap, in order."""
    return (load_shown, ask, drop_below(config.min_relevance_score), drop_said, drop_repeats, keep_answers)


async def retrieve_relevant_context(
    gap: ContextGap, memory: MemoryStore | None, state: object, config: InjectionConfig | None = None
) -> tuple[RetrievedContext, ...]:
    """The contexts from the enabled sources that may fill a gap, most relevant first."""
    limits = config or InjectionConfig()
    draft = await run_async(begin_draft(gap, memory, state, limits), retrieval_stages(limits))
    return draft.kept_contexts()


async def inject_context(
    gap: ContextGap,
    contexts: Sequence[RetrievedContext],
    state: object,
    config: InjectionConfig | None = None,
    *,
    memory: MemoryStore | None = None,
) -> InjectionResult:
    """Put contexts into a state, where the agent that lacks them reads; with an engine, store a receipt."""
    started = time.perf_counter()
    draft = begin_draft(gap, memory, state, config or InjectionConfig()).with_contexts_as_results(contexts)
    draft = await run_async(draft, (load_shown, drop_said, drop_repeats))
    return await fit_and_inject(draft, tuple(contexts), started)


async def manage_context_injection(
    state: object, memory: MemoryStore | None = None, config: InjectionConfig | None = None
) -> InjectionResult | None:
    """Detect whether the agent lacks context, and inject what is found; None when it lacks none.

    Contexts that were injected for gaps that are closed now are removed from the state.
    """
    started = time.perf_counter()
    gap = await detect_context_gap(state, memory.models if isinstance(memory, EngineMemory) else WORDS_ALONE)
    if gap is None:
        _write_to_state(state, make_update_clearing_closed_gaps(state))
        return None
    limits = config or InjectionConfig()
    draft = await run_async(begin_draft(gap, memory, state, limits), retrieval_stages(limits))
    return await fit_and_inject(draft, draft.kept_contexts(), started)


def begin_draft(
    gap: ContextGap, memory: MemoryStore | None, state: object, config: InjectionConfig
) -> GapDraft:
    """The draft for a gap; its query has a workspace only if the memory is an `EngineMemory`."""
    budget = max(0, config.max_context_tokens)
    if isinstance(memory, EngineMemory):
        query, counter = memory.draft(gap.context_query, budget).query, memory.tokenizer
    else:
        query = Query(gap.context_query, "", datetime.now(UTC))
        counter = tokenizer_by_name(DEFAULT_TOKENIZER)
    return GapDraft(
        query=query,
        recipe="gap",
        budget=budget,
        session=memory.session if isinstance(memory, EngineMemory) else None,
        notes=gap.notes,
        gap=gap,
        state=state,
        messages=read_messages(state, MAX_MESSAGES),
        config=config,
        tokenizer=counter,
        memory=memory,
    )


async def fit_and_inject(
    draft: GapDraft, retrieved: tuple[RetrievedContext, ...], started: float, target: str = ""
) -> InjectionResult:
    """Fit the contexts to the limits, put them into the state, store a receipt, and log the injection."""
    draft = pipeline.run(draft, (fit_budget,))
    given_at = count_messages(draft.state)
    injected = make_payload(draft.gap, draft.kept_contexts(), given_at) if draft.results else {}
    known_texts = [one.result.memory.text for one in draft.dropped if one.reason == "already in context"]
    given_before = find_contexts_given_before(draft.gap, draft.state, known_texts)
    target = target or _injection_target(draft.gap, draft.state)
    update = _make_state_update(draft, target, injected, given_before)
    draft = draft.with_notes(*_write_to_state(draft.state, update))
    result = InjectionResult(
        gap=draft.gap,
        contexts_retrieved=retrieved,
        injected=bool(injected),
        injection_target=target,
        total_context_size=injected.get("total_size_bytes", 0),
        duration_ms=milliseconds_since(started),
        payload=injected,
        update=update,
        notes=draft.notes,
        given_before=bool(given_before),
        tokens=draft.tokens,
    )
    if isinstance(draft.memory, EngineMemory):
        result = await asyncio.to_thread(_store_receipt, result, draft, draft.memory)
    result = replace(result, duration_ms=milliseconds_since(started))
    if draft.config.log_injections:
        _log_injection(result, draft)
    return result


def _make_state_update(
    draft: GapDraft, target: str, injected: Mapping[str, Any], given_before: list[dict[str, Any]]
) -> dict[str, Any]:
    """The values of the state to change: without contexts of closed gaps, and with those of this gap."""
    gap, state = draft.gap, draft.state
    update: dict[str, Any] = dict(make_update_clearing_closed_gaps(state, draft.messages, gap))
    if injected or given_before:
        held = update.get(target, get_value(state, target))
        payload = injected or keep_known_gap_record(held, make_payload(gap, (), count_messages(state)))
        payload = {**payload, "contexts": [*given_before, *payload["contexts"]]}
        merged = merge_payloads(held, payload)
        update[target] = drop_oldest_gaps(merged, gap_key(gap), draft.config, draft.tokenizer)
    return {key: held for key, held in update.items() if held != get_value(state, key)}


def _injection_target(gap: ContextGap, state: object) -> str:
    """The key of the state to inject under: the hand-off's if the agent is about to receive one.

    A hand-off that is no mapping cannot hold more, and is left as it is.
    """
    receiver = receiving_agent(state)
    handed = get_value(state, HANDOFF_CONTEXT)
    if receiver and gap.agent.casefold() == receiver.casefold() and isinstance(handed, Mapping | None):
        return HANDOFF_CONTEXT
    return INJECTED_CONTEXT


def _write_to_state(state: object, update: Mapping[str, Any]) -> tuple[Note, ...]:
    """Write the update into the state; if that is not possible, return a note on what to do instead."""
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


def _store_receipt(result: InjectionResult, draft: GapDraft, memory: EngineMemory) -> InjectionResult:
    """Store the receipt, and return the result with its id, or with a note if that failed."""
    indicators = Note("gap", redact("; ".join(draft.gap.indicators)))
    receipt = pipeline.make_receipt(replace(draft, notes=(indicators, *draft.notes)))
    shown = [line.id for line in draft.lines if line.section in ("memory", "architecture")]
    try:
        memory.record(receipt, shown)
    except ForewordError as error:
        _log.warning("the receipt could not be kept", problem=str(error))
        return replace(result, notes=(*result.notes, Note("receipt", f"failed: {error}")))
    return replace(result, receipt_id=receipt.id)


def _log_injection(result: InjectionResult, draft: GapDraft) -> None:
    """Log one event for audits, which names the gap and holds none of the injected text."""
    happened = "context was injected" if result.injected else "nothing was found for a gap"
    if result.given_before and not result.injected:
        happened = "a gap was filled before"
    _audit.info(
        "%s gap=%s agent=%s reason=%s target=%s items=%d bytes=%d tokens=%d milliseconds=%.1f receipt=%s",
        happened,
        result.gap.gap_id,
        result.gap.agent,
        result.gap.reason,
        result.injection_target,
        len(draft.lines),
        result.total_context_size,
        draft.tokens,
        result.duration_ms,
        result.receipt_id or "-",
    )


def milliseconds_since(started: float) -> float:
    """The milliseconds since `started`, a time of `time.perf_counter`."""
    return (time.perf_counter() - started) * 1000
