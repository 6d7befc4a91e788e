"""A node for a graph whose agents may lack context, and the text of what it found for them.

The node updates the state and changes nothing else in it. Whatever fails is a warning, and the graph goes on.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableLambda

from foreword.log import get_logger
from foreword.recipes.gap.engine_memory import EngineMemory
from foreword.recipes.gap.injection import manage_context_injection
from foreword.recipes.gap.stages import payload_text
from foreword.recipes.gap.state import get_value
from foreword.recipes.gap.types import INJECTED_CONTEXT

if TYPE_CHECKING:
    from foreword.engine.context_engine import ContextEngine
    from foreword.recipes.gap.types import InjectionConfig

_log = get_logger("foreword.langgraph")


def gap_node(
    engine: ContextEngine, workspace: str, config: InjectionConfig | None = None
) -> RunnableLambda[Any, dict[str, Any]]:
    """A node that looks whether an agent lacks context, and if so gives it: `graph.add_node("gap", …)`.

    The update has `injected_context`, or `handoff_context` when work is being handed over; the state's schema
    must have that key. Where nothing is missing, nothing is known, or anything fails, the update is empty.
    """
    memory = EngineMemory(engine, workspace)

    async def fill_gap(state: Any) -> dict[str, Any]:  # noqa: ANN401  (a graph's state is of the user's own type)
        try:
            # The state is the graph's: what is injected reaches it as the update, and in no other way.
            result = await manage_context_injection(copy.copy(state), memory, config)
        except Exception as error:  # noqa: BLE001  (a graph must not fail for want of context)
            _log.warning("a gap was not filled", workspace=workspace, problem=str(error))
            return {}
        return dict(result.update) if result is not None else {}

    def fill_gap_and_wait(state: Any) -> dict[str, Any]:  # noqa: ANN401  (as above)
        with ThreadPoolExecutor(1) as thread:  # the caller's may have a running event loop already
            return thread.submit(asyncio.run, fill_gap(state)).result()

    return RunnableLambda(fill_gap_and_wait, afunc=fill_gap, name="gap")


def injected_text(state: object, key: str = INJECTED_CONTEXT) -> str:
    """What a gap node put into a state, framed for a prompt, a line each; empty when it put nothing there."""
    held = get_value(state, key)
    contexts = held.get("contexts") if isinstance(held, Mapping) else None
    return payload_text(contexts or ())
