"""A node for a graph whose agents may lack context: what it found, what came of it, and the state it needs.

The node updates the state and changes nothing else in it. Its outcome says whether there was a gap and
whether it was filled, so that a graph can route on it. Whatever fails is a warning, and the graph goes on;
only a run that does not say whose workspace it is raises.
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
from typing import TYPE_CHECKING, Annotated, Any, cast

from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.runtime import get_runtime
from typing_extensions import TypedDict

from foreword.edges.langgraph.scope import WorkspaceScope
from foreword.log import get_logger
from foreword.recipes.gap.engine_memory import EngineMemory
from foreword.recipes.gap.injection import manage_context_injection
from foreword.recipes.gap.payload import clear_closed_gaps, contexts_in_payload, merge_payloads
from foreword.recipes.gap.stages import content_hash, payload_text
from foreword.recipes.gap.state import get_value
from foreword.recipes.gap.types import (
    HANDOFF_CONTEXT,
    INJECTED_CONTEXT,
    GapOutcome,  # LangGraph reads the types of what routes
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from foreword.edges.langgraph.scope import Workspace
    from foreword.engine.context_engine import ContextEngine
    from foreword.recipes.gap.types import InjectionConfig, InjectionResult

_log = get_logger("foreword.langgraph")

GAP_OUTCOME = "gap_outcome"
"""The key of a state that says what came of the last gap node."""

MAX_MEMORIES = 256
"""At most how many workspaces' memories a node keeps at hand."""

_MAX_FRAMES = 12
_SEVERITY: Mapping[str, int] = {"none": 0, "filled": 1, "unfilled": 2}


# What a state needs ---------------------------------------------------------------------------------------


def merge_contexts(held: object, new: object) -> dict[str, Any]:
    """The reducer of `injected_context` and `handoff_context`: branches that run at once all count.

    Equal contexts are kept once, and what a node cleared is gone. None clears everything; a mapping that no
    node of Foreword made takes the place of what was there.
    """
    return merge_payloads(held, new)


def merge_outcomes(held: object, new: object) -> dict[str, Any]:
    """The reducer of `gap_outcome`: of one step the gaps of all, and the worst outcome; else the last."""
    before = held if isinstance(held, Mapping) else {}
    after = dict(new) if isinstance(new, Mapping) else {}
    if not before or before.get("step") is None or before.get("step") != after.get("step"):
        return after
    worst = max((before, after), key=lambda one: _SEVERITY.get(str(one.get("outcome")), 0))
    return {
        **worst,
        "gaps": [*before.get("gaps", ()), *after.get("gaps", ())],
        "duration_ms": max(before.get("duration_ms", 0.0), after.get("duration_ms", 0.0)),
        "tokens": before.get("tokens", 0) + after.get("tokens", 0),
    }


class GapState(TypedDict, total=False):
    """What a state needs for gap and hand-off nodes: `class State(MessagesState, GapState): …`."""

    injected_context: Annotated[dict[str, Any], merge_contexts]
    handoff_context: Annotated[dict[str, Any], merge_contexts]
    gap_outcome: Annotated[dict[str, Any], merge_outcomes]


def injected_text(state: object, key: str | None = None) -> str:
    """What gap and hand-off nodes put into a state, framed for a prompt, a line each with its author.

    Empty when they put nothing there. `key` is the one key of the state that is read; by default both are.
    """
    keys = (INJECTED_CONTEXT, HANDOFF_CONTEXT) if key is None else (key,)
    contexts = [one for name in keys for one in contexts_in_payload(get_value(state, name))]
    return payload_text(list({content_hash(str(one.get("content"))): one for one in contexts}.values()))


def get_outcome(state: object) -> GapOutcome:
    """What came of the last gap node, to route on: `none`, `filled` or `unfilled`."""
    outcome = get_value(get_value(state, GAP_OUTCOME), "outcome")
    return cast("GapOutcome", outcome) if outcome in _SEVERITY else "none"


# The node -------------------------------------------------------------------------------------------------


def gap_node(
    engine: ContextEngine, workspace: Workspace, config: InjectionConfig | None = None
) -> Runnable[Any, dict[str, Any]]:
    """A node that looks whether an agent lacks context, and if so gives it: `graph.add_node("gap", …)`.

    `workspace` is a name, a template such as `"acme/{user_id}"`, or a function of the run's config and
    runtime. The update has `gap_outcome` and, where something changed, `injected_context`, or
    `handoff_context` when work is being handed over; the state's schema needs these keys (`GapState` has
    them).
    """
    memories = Memories(engine, workspace)

    async def fill(state: Any, memory: EngineMemory) -> dict[str, Any]:  # noqa: ANN401  (anybody's state)
        return await fill_gap(state, memory, config)

    return make_node("gap", memories, fill, (INJECTED_CONTEXT, GAP_OUTCOME))


async def fill_gap(state: object, memory: EngineMemory, config: InjectionConfig | None) -> dict[str, Any]:
    """The update that gives an agent what it lacks, with what came of it; the state itself is not written."""
    started = time.perf_counter()
    try:
        result = await manage_context_injection(copy.copy(state), memory, config)
        update = dict(result.update) if result is not None else clear_closed_gaps(state)
    except Exception as error:  # noqa: BLE001  (a graph must not fail for want of context)
        _log.warning("a gap was not filled", workspace=memory.workspace, problem=str(error))
        return {GAP_OUTCOME: describe_outcome("none", started, problem=str(error) or type(error).__name__)}
    return {**update, GAP_OUTCOME: describe_result(result, started)}


def describe_result(result: InjectionResult | None, started: float) -> dict[str, Any]:
    """What came of looking for a gap, as a state keeps it."""
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
    """An outcome as a state keeps it: plain values, with the step of the graph that it belongs to."""
    return {
        "outcome": outcome,
        "gaps": list(gaps),
        "receipt_id": receipt_id,
        "items": items,
        "tokens": tokens,
        "duration_ms": (time.perf_counter() - started) * 1000,
        "problem": problem,
        "step": _current_step(),
    }


class Memories:
    """The memory of whichever workspace a run belongs to; the ones used last are kept."""

    def __init__(self, engine: ContextEngine, workspace: Workspace) -> None:
        self.scope = WorkspaceScope(workspace)
        self._engine = engine
        self._held: OrderedDict[str, EngineMemory] = OrderedDict()
        self._lock = threading.Lock()

    def of_run(self) -> EngineMemory:
        """The memory of the run that is under way; raises ValidationError where it does not say whose."""
        return self.of_workspace(self.scope.resolve())

    def of_workspace(self, workspace: str) -> EngineMemory:
        """The memory of a workspace."""
        with self._lock:
            memory = self._held.get(workspace) or EngineMemory(self._engine, workspace)
            self._held[workspace] = memory
            self._held.move_to_end(workspace)
            while len(self._held) > MAX_MEMORIES:
                self._held.popitem(last=False)
        return memory


class _CheckedNode(RunnableLambda[Any, dict[str, Any]]):
    """A node that warns, while its graph is compiled, of keys that it writes and the schema lacks."""

    keys: tuple[str, ...] = ()
    warned = False

    @property
    def deps(self) -> list[Runnable[Any, Any]]:
        """Nothing. LangGraph asks for this while it compiles: the one moment at which a node can see it."""
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


def make_node(
    name: str,
    memories: Memories,
    work: Callable[[Any, EngineMemory], Coroutine[Any, Any, dict[str, Any]]],
    keys: tuple[str, ...],
) -> Runnable[Any, dict[str, Any]]:
    """A node that does something with a state and the memory of its run, awaited or not."""

    async def run_async(state: Any) -> dict[str, Any]:  # noqa: ANN401  (a graph's state is of the user's own type)
        return await work(state, memories.of_run())

    def run_blocking(state: Any) -> dict[str, Any]:  # noqa: ANN401  (as above)
        memory, step = memories.of_run(), _current_step()
        with ThreadPoolExecutor(1) as thread:  # the caller's may have a running event loop already
            update = thread.submit(asyncio.run, work(state, memory)).result()
        return {key: {**held, "step": step} if key == GAP_OUTCOME else held for key, held in update.items()}

    node = _CheckedNode(run_blocking, afunc=run_async, name=name)
    node.keys = keys
    return node


def _current_step() -> str | None:
    """The step of the graph that is under way: nodes that run at once share it. None outside of a graph."""
    try:
        info = getattr(get_runtime(), "execution_info", None)
    except (RuntimeError, KeyError):
        return None
    return getattr(info, "checkpoint_id", None) or None


def _channels_of_graph_being_compiled() -> Mapping[str, Any] | None:
    """The keys of the graph whose compilation is under way on this thread; None if there is none."""
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
