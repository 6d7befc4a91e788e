"""A node that finds context for a graph's agents, the state it needs, and the outcome it reports.

The node writes only its own keys of the state. Its outcome says whether there was a gap and whether it was
filled, so that a graph can route on it. A failure is logged as a warning, and the graph goes on; only a run
that does not name its workspace raises an error.
"""

from __future__ import annotations

import asyncio
import copy
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, cast

from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.config import get_config
from typing_extensions import TypedDict

from foreword.edges.langgraph.scope import WorkspaceScope
from foreword.log import get_logger
from foreword.recipes.gap.engine_memory import EngineMemory
from foreword.recipes.gap.injection import manage_context_injection, milliseconds_since
from foreword.recipes.gap.payload import contexts_in_payload, make_update_clearing_closed_gaps, merge_payloads
from foreword.recipes.gap.stages import normalised_content_hash, payload_text
from foreword.recipes.gap.state import get_value
from foreword.recipes.gap.types import (
    HANDOFF_CONTEXT,
    INJECTED_CONTEXT,
    GapOutcome,  # LangGraph reads the return types of routing functions
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from foreword.edges.langgraph.scope import Workspace
    from foreword.engine.context_engine import ContextEngine
    from foreword.recipes.gap.types import InjectionConfig, InjectionResult

_log = get_logger("foreword.langgraph")

GAP_OUTCOME = "gap_outcome"
"""The key of a state that holds the outcome of the last gap node."""

MAX_MEMORIES = 256
"""For how many workspaces at most a node keeps an open memory."""

_MAX_FRAMES = 12
_SEVERITY: Mapping[str, int] = {"none": 0, "filled": 1, "unfilled": 2}


# What a state needs ---------------------------------------------------------------------------------------


def merge_contexts(current: object, new: object) -> dict[str, Any]:
    """The reducer of `injected_context` and `handoff_context`: it merges those of parallel branches.

    Equal contexts are kept once, and those that a node cleared are dropped. None clears everything; a mapping
    that no node of Foreword made replaces what was there.
    """
    return merge_payloads(current, new)


def merge_outcomes(current: object, new: object) -> dict[str, Any]:
    """The reducer of `gap_outcome`: within a step, all gaps and the worst outcome; else the last outcome.

    Sub-graphs that run at once share the step of the graph around them. One without a node of Foreword gives
    back the outcome it was given, which counts for no more than when it was new.
    """
    before = dict(current) if isinstance(current, Mapping) else {}
    after = dict(new) if isinstance(new, Mapping) else {}
    steps = _steps_of_deepest_common_graph(before.get("step"), after.get("step"))
    if steps is None or before == after:
        return after
    if steps[0] != steps[1]:
        return max((before, steps[0]), (after, steps[1]), key=itemgetter(1))[0]
    worst = max((before, after), key=lambda outcome: _SEVERITY.get(str(outcome.get("outcome")), 0))
    return {
        **worst,
        "gaps": [*before.get("gaps", ()), *after.get("gaps", ())],
        "duration_ms": max(before.get("duration_ms", 0.0), after.get("duration_ms", 0.0)),
        "items": before.get("items", 0) + after.get("items", 0),
        "tokens": before.get("tokens", 0) + after.get("tokens", 0),
    }


def _steps_of_deepest_common_graph(one: object, other: object) -> tuple[str, str] | None:
    """The ids of the steps at which two outcomes left the innermost graph that both come from.

    Ids grow with time. None if one of the outcomes comes from no graph.
    """
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return None
    common = max(one.keys() & other.keys(), key=len, default=None)
    return None if common is None else (one[common], other[common])


class GapState(TypedDict, total=False):
    """The keys that gap and hand-off nodes need in a state: `class State(MessagesState, GapState): …`."""

    injected_context: Annotated[dict[str, Any], merge_contexts]
    handoff_context: Annotated[dict[str, Any], merge_contexts]
    gap_outcome: Annotated[dict[str, Any], merge_outcomes]


def injected_text(state: object, key: str | None = None) -> str:
    """The contexts that gap and hand-off nodes put into a state, as a framed text for a prompt.

    Each context is a line with its author; empty if there are none. `key` is the only key of the state to
    read; by default both are read.
    """
    keys = (INJECTED_CONTEXT, HANDOFF_CONTEXT) if key is None else (key,)
    contexts = [context for name in keys for context in contexts_in_payload(get_value(state, name))]
    return payload_text(
        list({normalised_content_hash(str(context.get("content"))): context for context in contexts}.values())
    )


def get_outcome(state: object) -> GapOutcome:
    """The outcome of the last gap node, to route on: `none`, `filled` or `unfilled`."""
    outcome = get_value(get_value(state, GAP_OUTCOME), "outcome")
    return cast("GapOutcome", outcome) if outcome in _SEVERITY else "none"


# The node -------------------------------------------------------------------------------------------------


def gap_node(
    engine: ContextEngine, workspace: Workspace, config: InjectionConfig | None = None
) -> Runnable[Any, dict[str, Any]]:
    """A node that checks whether an agent lacks context, and if so adds it: `graph.add_node("gap", …)`.

    `workspace` is a name, a template such as `"acme/{user_id}"`, or a function of the run's config and
    runtime. The update has `gap_outcome` and, if something changed, `injected_context`, or `handoff_context`
    when work is being handed over; the state's schema needs these keys (`GapState` has them).
    """
    memories = EngineMemories(engine, workspace)

    async def fill(state: Any, memory: EngineMemory) -> dict[str, Any]:  # noqa: ANN401  (anybody's state)
        return await fill_gap(state, memory, config)

    return make_graph_node("gap", memories, fill, (INJECTED_CONTEXT, GAP_OUTCOME))


async def fill_gap(state: object, memory: EngineMemory, config: InjectionConfig | None) -> dict[str, Any]:
    """The update with the context that an agent lacks, and the outcome; the state itself is not changed."""
    started = time.perf_counter()
    try:
        result = await manage_context_injection(copy.copy(state), memory, config)
        update = dict(result.update) if result is not None else make_update_clearing_closed_gaps(state)
    except Exception as error:  # noqa: BLE001  (a graph must not fail for want of context)
        _log.warning("a gap was not filled", workspace=memory.workspace, problem=str(error))
        return {GAP_OUTCOME: describe_outcome("none", started, problem=str(error) or type(error).__name__)}
    return {**update, GAP_OUTCOME: describe_gap_result(result, started)}


def describe_gap_result(result: InjectionResult | None, started: float) -> dict[str, Any]:
    """The outcome of a search for a gap, as values for the state."""
    if result is None:
        return describe_outcome("none", started)
    return describe_outcome(
        result.outcome,
        started,
        gaps=[result.gap.to_dict()],
        receipt_id=result.receipt_id,
        items=len(result.payload.get("contexts", ())),
        tokens=result.tokens,
        problem="; ".join(f"{note.part}: {note.message}" for note in result.notes),
    )


def describe_outcome(
    outcome: GapOutcome,
    started: float,
    *,
    gaps: Sequence[Mapping[str, Any]] = (),
    receipt_id: str = "",
    items: int = 0,
    tokens: int = 0,
    problem: str = "",
) -> dict[str, Any]:
    """An outcome as plain values for the state, with its duration and the step of the graph."""
    return {
        "outcome": outcome,
        "gaps": list(gaps),
        "receipt_id": receipt_id,
        "items": items,
        "tokens": tokens,
        "duration_ms": milliseconds_since(started),
        "problem": problem,
        "step": _current_step_ids_by_namespace(),
    }


class EngineMemories:
    """The memories of the workspaces that runs belong to; those used last stay open."""

    def __init__(self, engine: ContextEngine, workspace: Workspace) -> None:
        self.scope = WorkspaceScope(workspace)
        self._engine = engine
        self._memory_by_workspace: OrderedDict[str, EngineMemory] = OrderedDict()
        self._lock = threading.Lock()

    def memory_of_run(self) -> EngineMemory:
        """The memory of the current run; ValidationError if the run does not name its workspace."""
        return self.memory_of_workspace(self.scope.workspace_of_current_run())

    def memory_of_workspace(self, workspace: str) -> EngineMemory:
        """The memory of a workspace."""
        with self._lock:
            memory = self._memory_by_workspace.get(workspace) or EngineMemory(self._engine, workspace)
            self._memory_by_workspace[workspace] = memory
            self._memory_by_workspace.move_to_end(workspace)
            while len(self._memory_by_workspace) > MAX_MEMORIES:
                self._memory_by_workspace.popitem(last=False)
        return memory


class _CheckedNode(RunnableLambda[Any, dict[str, Any]]):
    """A node that warns, while its graph is compiled, if the schema lacks keys that the node writes."""

    keys: tuple[str, ...] = ()
    warned = False

    @property
    def deps(self) -> list[Runnable[Any, Any]]:
        """Always empty. LangGraph reads it while it compiles, when alone a node can see the graph."""
        channels = _channels_of_graph_being_compiled()
        missing = [key for key in self.keys if channels is not None and key not in channels]
        if missing and not self.warned:
            self.warned = True
            _log.warning(
                "the state's schema lacks keys that a node writes, so LangGraph will drop them; "
                "add foreword.edges.langgraph.GapState to it",
                node=self.name,
                missing=", ".join(missing),
            )
        return []


def make_graph_node(
    name: str,
    memories: EngineMemories,
    work: Callable[[Any, EngineMemory], Coroutine[Any, Any, dict[str, Any]]],
    keys: tuple[str, ...],
) -> Runnable[Any, dict[str, Any]]:
    """A node that calls `work` with a state and the memory of its run, in blocking and async graphs."""

    async def run_async(state: Any) -> dict[str, Any]:  # noqa: ANN401  (a graph's state is of the user's own type)
        return await work(state, memories.memory_of_run())

    def run_blocking(state: Any) -> dict[str, Any]:  # noqa: ANN401  (as above)
        return run_and_wait(work(state, memories.memory_of_run()))

    node = _CheckedNode(run_blocking, afunc=run_async, name=name)
    node.keys = keys
    return node


def run_and_wait(work: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """What some work of the current run returns, for callers that do not await."""
    with ThreadPoolExecutor(1) as thread:  # the caller's thread may already run an event loop
        return thread.submit(copy_context().run, asyncio.run, work).result()


def _current_step_ids_by_namespace() -> dict[str, str] | None:
    """The id of the current step of this graph and of those around it, by namespace; None outside of one."""
    try:
        return dict(get_config().get("configurable", {}).get("checkpoint_map") or {}) or None
    except RuntimeError:
        return None


def _channels_of_graph_being_compiled() -> Mapping[str, Any] | None:
    """The state's keys of the graph that this thread compiles right now; None if there is none."""
    frame = sys._getframe(1)  # noqa: SLF001  (LangGraph tells a node nothing of its graph)
    for _ in range(_MAX_FRAMES):
        if frame.f_back is None:
            return None
        frame = frame.f_back
        if frame.f_code.co_name == "attach_node":
            builder = getattr(frame.f_locals.get("self"), "builder", None)
            channels = getattr(builder, "channels", None)
            return channels if isinstance(channels, Mapping) else None
    return None
