"""Notices that an agent lacks context, finds what is missing, and puts it into the agent's state.

    >>> import asyncio
    >>> from foreword import ContextEngine
    >>> from foreword.gap import EngineMemory, manage_context_injection
    >>> engine = ContextEngine()
    >>> _ = engine.remember("We chose Postgres for the order service.", "shop", type="decision")
    >>> state = {"current_agent": "developer", "messages": [
    ...     {"role": "assistant", "name": "developer", "content": "I need clarification: which database "
    ...      "did we choose for the order service?"}]}
    >>> result = asyncio.run(manage_context_injection(state, EngineMemory(engine, "shop")))
    >>> result.gap.reason, result.injected
    ('clarification_requested', True)
    >>> state["injected_context"]["contexts"][0]["content"]
    'We chose Postgres for the order service.'
    >>> engine.close()

`manage_context_injection` does all of this; `prepare_handoff` does it for the receiver of a hand-off, whose
needs are stated and not detected (it gives a `HandoffResult`). The steps are `detect_context_gap`,
`retrieve_relevant_context` and `inject_context` (`inject_context_gap` at the top of `foreword`, where
another function has that name). They pass a `ContextGap` (with a `GapReason`), `RetrievedContext`s (each
with a `ContextSource`) and an `InjectionResult` (with a `GapOutcome`); `InjectionConfig` sets the limits.
`EngineMemory` makes a workspace a memory; any `MemoryStore` that gives `MemoryResult`s will do.
"""

from foreword.recipes.gap.detect import detect_context_gap
from foreword.recipes.gap.engine_memory import EngineMemory
from foreword.recipes.gap.handoff import HandoffResult, prepare_handoff
from foreword.recipes.gap.injection import (
    inject_context,
    manage_context_injection,
    retrieve_relevant_context,
)
from foreword.recipes.gap.types import (
    DEFAULT_MAX_CONTEXT_ITEMS,
    DEFAULT_MIN_RELEVANCE_SCORE,
    VALID_CONTEXT_SOURCES,
    VALID_GAP_REASONS,
    ContextGap,
    ContextSource,
    GapOutcome,
    GapReason,
    InjectionConfig,
    InjectionResult,
    MemoryResult,
    MemoryStore,
    RetrievedContext,
)

inject_context_gap = inject_context

__all__ = [
    "DEFAULT_MAX_CONTEXT_ITEMS",
    "DEFAULT_MIN_RELEVANCE_SCORE",
    "VALID_CONTEXT_SOURCES",
    "VALID_GAP_REASONS",
    "ContextGap",
    "ContextSource",
    "EngineMemory",
    "GapOutcome",
    "GapReason",
    "HandoffResult",
    "InjectionConfig",
    "InjectionResult",
    "MemoryResult",
    "MemoryStore",
    "RetrievedContext",
    "detect_context_gap",
    "inject_context",
    "inject_context_gap",
    "manage_context_injection",
    "prepare_handoff",
    "retrieve_relevant_context",
]
