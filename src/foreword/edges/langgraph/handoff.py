"""Context before a hand-off: a node, and a tool for agents that hand over themselves (supervisors, swarms).

Both put the context that the receiver's task, the requirements and the sender's state call for into
`handoff_context`. A failure is logged as a warning, and the work is handed over without context.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from langchain.tools import InjectedState, InjectedToolCallId
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command

from foreword.edges.langgraph.gap import (
    GAP_OUTCOME,
    EngineMemories,
    describe_outcome,
    make_graph_node,
    run_and_wait,
)
from foreword.log import get_logger
from foreword.recipes.gap.handoff import prepare_handoff
from foreword.recipes.gap.types import HANDOFF_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.runnables import Runnable

    from foreword.edges.langgraph.scope import Workspace
    from foreword.engine.context_engine import ContextEngine
    from foreword.recipes.gap.engine_memory import EngineMemory
    from foreword.recipes.gap.handoff import HandoffResult
    from foreword.recipes.gap.types import InjectionConfig

_log = get_logger("foreword.langgraph")

_NOT_IN_TOOL_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
"""What models do not take in the name of a tool; a node may be called "research expert"."""


def handoff_node(
    engine: ContextEngine,
    workspace: Workspace,
    config: InjectionConfig | None = None,
    *,
    receiver: str = "",
    required_context: Sequence[str] = (),
) -> Runnable[Any, dict[str, Any]]:
    """A node to put before an agent: it finds the context that the agent's task needs.

    Where they are not passed, the receiver is read from `next_agent` or the hand-off, the task from
    `handoff_context` or `current_task`, and the requirements from `handoff_context["required_context"]`.
    """

    async def make_receiver_context_update(state: Any, memory: EngineMemory) -> dict[str, Any]:  # noqa: ANN401  (anybody's state)
        return await _make_handoff_update(
            state, memory, config, receiver=receiver, required_context=required_context
        )

    return make_graph_node(
        "handoff",
        EngineMemories(engine, workspace),
        make_receiver_context_update,
        (HANDOFF_CONTEXT, GAP_OUTCOME),
    )


def handoff_tool(
    engine: ContextEngine,
    workspace: Workspace,
    agent: str,
    config: InjectionConfig | None = None,
    *,
    required_context: Sequence[str] = (),
    name: str = "",
    description: str = "",
) -> BaseTool:
    """A tool with which an agent hands its work, with context, to `agent`, a node of the outer graph.

    For agents in a supervisor's or a swarm's graph. The sender says in `task` what is to be done; the context
    for it is put into `handoff_context`, a key that the outer graph's state needs (`GapState`).
    """
    memories = EngineMemories(engine, workspace)
    tool_name = name or "hand_over_to_" + _NOT_IN_TOOL_NAMES.sub("_", agent)

    def answer(task: str, tool_call_id: str) -> ToolMessage:
        return ToolMessage(f"Handed over to {agent}: {task}", name=tool_name, tool_call_id=tool_call_id)

    async def hand_over(
        task: str,
        state: Annotated[Any, InjectedState],  # noqa: ANN401  (anybody's state)
        tool_call_id: Annotated[str, InjectedToolCallId],
    ) -> Command[Any]:
        memory = memories.memory_of_run()
        update = await _make_handoff_update(
            state, memory, config, receiver=agent, task=task, required_context=required_context
        )
        return _make_handoff_command(agent, state, answer(task, tool_call_id), update)

    def hand_over_and_wait(
        task: str,
        state: Annotated[Any, InjectedState],  # noqa: ANN401  (anybody's state)
        tool_call_id: Annotated[str, InjectedToolCallId],
    ) -> Command[Any]:
        memory = memories.memory_of_run()
        update = run_and_wait(
            _make_handoff_update(
                state, memory, config, receiver=agent, task=task, required_context=required_context
            )
        )
        return _make_handoff_command(agent, state, answer(task, tool_call_id), update)

    return StructuredTool.from_function(
        func=hand_over_and_wait,
        coroutine=hand_over,
        name=tool_name,
        description=description or f"Hand the work over to {agent}. Say in `task` what is to be done.",
    )


async def _make_handoff_update(
    state: Any,  # noqa: ANN401  (anybody's state)
    memory: EngineMemory,
    config: InjectionConfig | None,
    **asked: Any,  # noqa: ANN401  (the arguments of `prepare_handoff`)
) -> dict[str, Any]:
    """The update of the state with the receiver's context and the outcome."""
    started = time.perf_counter()
    try:
        result = await prepare_handoff(copy.copy(state), memory, config, **asked)
    except Exception as error:  # noqa: BLE001  (the work must be handed over all the same)
        _log.warning("a hand-off got no context", workspace=memory.workspace, problem=str(error))
        return {GAP_OUTCOME: describe_outcome("none", started, problem=str(error) or type(error).__name__)}
    return {**result.update, GAP_OUTCOME: _describe_handoff(result, started)}


def _describe_handoff(result: HandoffResult, started: float) -> dict[str, Any]:
    """The outcome of a hand-off as values for the state, with the requirements that nothing was found for."""
    injection = result.injection
    outcome = describe_outcome(
        result.outcome,
        started,
        gaps=[injection.gap.to_dict()] if injection else [],
        receipt_id=result.receipt_id,
        items=len(injection.payload.get("contexts", ())) if injection else 0,
        tokens=injection.tokens if injection else 0,
    )
    return {**outcome, "receiver": result.receiver, "missing": list(result.missing)}


def _make_handoff_command(
    agent: str, state: object, answer: ToolMessage, update: Mapping[str, Any]
) -> Command[Any]:
    """The command that continues with the agent in the outer graph, with the messages so far.

    Calls that the sender made beside the hand-off are taken away: nothing will answer them any more, and
    models refuse a talk in which a call has no answer.
    """
    held = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    messages = list(held or ())
    if messages and isinstance(messages[-1], AIMessage):
        messages[-1] = _copy_message_with_one_call(messages[-1], answer.tool_call_id)
    return Command(
        goto=agent,
        graph=Command.PARENT,
        update={**update, "messages": [*messages, answer], "active_agent": agent},
    )


def _copy_message_with_one_call(message: AIMessage, call_id: str) -> AIMessage:
    """A copy of a message that makes only this call."""
    content = message.content
    if isinstance(content, list):
        content = [
            part
            for part in content
            if isinstance(part, str) or part.get("type") != "tool_use" or part.get("id") == call_id
        ]
    calls = [call for call in message.tool_calls if call["id"] == call_id]
    return message.model_copy(update={"tool_calls": calls, "content": content})
