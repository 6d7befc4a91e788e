"""Gives the receiver of a hand-off the context that its task needs, before it has to ask.

Its needs are the task and `required_context` (of the hand-off, or passed in). They are searched for in memory
and in the sender's state; a need that names a value of the state is met by that value. What is found goes
into the state's `handoff_context`, in place of what an earlier receiver was given.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from foreword.capture.redact import redact
from foreword.pipeline import drop_below, drop_repeats, run_async
from foreword.recipes.gap.detect import receiving_agent
from foreword.recipes.gap.injection import begin_draft, fit_and_inject, milliseconds_since
from foreword.recipes.gap.payload import HANDOFF_EVIDENCE
from foreword.recipes.gap.pieces import MAX_PIECE_CHARACTERS
from foreword.recipes.gap.stages import ask, context_id, drop_said, keep_answers, load_shown
from foreword.recipes.gap.state import get_value, value_as_text
from foreword.recipes.gap.types import (
    HANDOFF_CONTEXT,
    ContextGap,
    GapSign,
    InjectionConfig,
    RetrievedContext,
    new_gap_id,
)
from foreword.recipes.gap.vocabulary import word_prefixes
from foreword.text.clean import join_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.recipes.gap.types import GapOutcome, InjectionResult, MemoryStore

MAX_NEEDS = 12
"""At most how many needs of a receiver are searched for."""

MAX_NEED_CHARACTERS = 600
"""At most how much of a task or of a requirement is searched for."""

MIN_NEED_WORDS = 3
"""A requirement of fewer words is searched for together with the task."""

UNKNOWN_RECEIVER = "receiver"
_TASK_KEYS = ("task", "current_task", "story", "instructions", "goal", "objective")
_REQUIRED_CONTEXT = "required_context"


@dataclass(frozen=True, slots=True)
class HandoffResult:
    """The context that a receiver was given before it starts.

    `needs` is what was searched for, `missing` are the needs for which nothing was found. `injection` is what
    was put into the state; None if there are no needs.
    """

    receiver: str
    needs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    injection: InjectionResult | None = None
    update: Mapping[str, Any] = field(default_factory=dict)
    duration_ms: float = 0.0

    @property
    def outcome(self) -> GapOutcome:
        """`none` if there are no needs, `unfilled` if one of them is not met, else `filled`."""
        return "unfilled" if self.missing else "filled" if self.needs else "none"

    @property
    def receipt_id(self) -> str:
        """The id of the receipt, which says why each context was injected or not; empty without an engine."""
        return self.injection.receipt_id if self.injection else ""


async def prepare_handoff(
    state: object,
    memory: MemoryStore | None = None,
    config: InjectionConfig | None = None,
    *,
    receiver: str = "",
    task: str = "",
    required_context: Sequence[str] = (),
) -> HandoffResult:
    """Give the receiver of a hand-off what its task needs, from memory and from the sender's state.

    Receiver, task and requirements are read from the state where they are not passed.
    """
    started, limits = time.perf_counter(), config or InjectionConfig()
    receiver = receiver or receiving_agent(state) or UNKNOWN_RECEIVER
    task = _find_and_redact_task(state, task)
    needs = _list_needs(state, task, required_context)
    if not needs:
        return HandoffResult(receiver, duration_ms=milliseconds_since(started))
    found = [await _find_for_need(need, task, receiver, memory, state, limits) for need in needs]
    # The best for each need first, then the second best: no need takes all the room.
    ordered = [one for one in chain.from_iterable(zip_longest(*found)) if one is not None]
    gap = _gap_for_receiver(receiver, redact("; ".join(needs))[:MAX_NEED_CHARACTERS])
    draft = begin_draft(gap, memory, state, limits).with_contexts_as_results(ordered)
    draft = await run_async(draft, (load_shown, drop_said, drop_repeats))
    injection = await fit_and_inject(draft, tuple(ordered), started, HANDOFF_CONTEXT)
    return HandoffResult(
        receiver=receiver,
        needs=needs,
        missing=tuple(need for need, contexts in zip(needs, found, strict=True) if not contexts),
        injection=injection,
        update=injection.update,
        duration_ms=milliseconds_since(started),
    )


async def _find_for_need(
    need: str,
    task: str,
    receiver: str,
    memory: MemoryStore | None,
    state: object,
    config: InjectionConfig,
) -> list[RetrievedContext]:
    """The contexts that may meet one need, the best first: the value of the state it names, then results."""
    short = need != task and len(word_prefixes(need)) < MIN_NEED_WORDS
    query = f"{_split_name_into_words(need)} {task}" if short else _split_name_into_words(need)
    draft = begin_draft(_gap_for_receiver(receiver, query[:MAX_NEED_CHARACTERS]), memory, state, config)
    draft = await run_async(draft, (ask, drop_below(config.min_relevance_score), keep_answers))
    named = _find_named_value(state, need)
    contexts = [*([named] if named else []), *draft.kept_contexts()]
    return list({context_id(one): one for one in contexts}.values())


def _gap_for_receiver(receiver: str, query: str) -> ContextGap:
    """A receiver's needs as a gap, with full confidence, since they were stated and not detected."""
    sign = GapSign("explicit_flag", 1.0, HANDOFF_EVIDENCE, query, receiver)
    return ContextGap(
        new_gap_id(),
        receiver,
        "explicit_flag",
        query,
        1.0,
        (f"explicit_flag: {HANDOFF_EVIDENCE}",),
        reasons=(sign,),
    )


def _find_and_redact_task(state: object, task: str) -> str:
    """The receiver's task: as passed, or from the hand-off, or from the state; without secrets."""
    handed = get_value(state, HANDOFF_CONTEXT)
    places = [(handed, key) for key in _TASK_KEYS] + [(state, key) for key in _TASK_KEYS]
    texts = (value_as_text(get_value(holder, key)) for holder, key in places if holder is not None)
    return redact(join_lines(task or next(filter(None, texts), "")))[:MAX_NEED_CHARACTERS]


def _list_needs(state: object, task: str, required_context: Sequence[str]) -> tuple[str, ...]:
    """The required contexts, then the task, each once; without secrets."""
    required = required_context or get_value(get_value(state, HANDOFF_CONTEXT), _REQUIRED_CONTEXT)
    if required is None or required == ():
        required = get_value(state, _REQUIRED_CONTEXT)
    listed = list(required) if isinstance(required, list | tuple | set | frozenset) else [required]
    texts = [redact(join_lines(value_as_text(one)))[:MAX_NEED_CHARACTERS] for one in listed]
    return tuple(dict.fromkeys(text for text in (*texts[: MAX_NEEDS - 1], task) if text))


def _split_name_into_words(need: str) -> str:
    """A need as a query: a name such as `api_contract` is split into words."""
    return need.replace("_", " ").replace(".", " ") if " " not in need else need


def _find_named_value(state: object, need: str) -> RetrievedContext | None:
    """The value of the state, or of its hand-off, that a need names; None if it names none."""
    if " " in need or need in (HANDOFF_CONTEXT, _REQUIRED_CONTEXT):
        return None
    for place, holder in ((need, state), (f"{HANDOFF_CONTEXT}.{need}", get_value(state, HANDOFF_CONTEXT))):
        if holder is not None and (text := value_as_text(get_value(holder, need))):
            return RetrievedContext("state", text[:MAX_PIECE_CHARACTERS], 1.0, {"place": place})
    return None
