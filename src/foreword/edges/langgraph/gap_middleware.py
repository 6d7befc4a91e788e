"""GapMiddleware: when an agent of `create_agent` lacks context, it gets it and answers again.

Each answer of the model is checked for signs that the agent lacks something. If memory has it, it is put into
the state, and the model is called once more with it. If not, the agent's question stands as its answer, and
`gap_outcome` is `unfilled`. Context from a hand-off is shown to the model, too.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from foreword.edges.langgraph.gap import GAP_OUTCOME, EngineMemories, GapState, fill_gap, run_and_wait
from foreword.recipes.gap.payload import GIVEN_AT, contexts_in_payload
from foreword.recipes.gap.stages import payload_text
from foreword.recipes.gap.state import get_value
from foreword.recipes.gap.types import HANDOFF_CONTEXT, INJECTED_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from langchain.agents.middleware import ModelRequest, ModelResponse
    from langchain_core.messages import AnyMessage

    from foreword.edges.langgraph.scope import Workspace
    from foreword.engine.context_engine import ContextEngine
    from foreword.recipes.gap.types import InjectionConfig


class GapAgentState(AgentState[Any], GapState, total=False):
    """The state of an agent, with the keys for injected context."""


class GapMiddleware(AgentMiddleware[Any, Any, Any]):
    """For `create_agent(middleware=[…])`: finds the context that the agent lacks, and lets it answer again.

    `workspace` is a name, a template such as `"acme/{user_id}"`, or a function of the run's config and
    runtime.
    """

    state_schema = GapAgentState

    def __init__(
        self, engine: ContextEngine, workspace: Workspace, config: InjectionConfig | None = None
    ) -> None:
        super().__init__()
        self._memories = EngineMemories(engine, workspace)
        self._config = config

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:  # noqa: ANN401, ARG002  (LangChain's)
        """Fill the gap that the model's answer shows, if any, and have the model called again."""
        update = run_and_wait(fill_gap(state, self._memories.memory_of_run(), self._config))
        return _add_jump_to_model_if_filled(state, update)

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any]:  # noqa: ANN401, ARG002  (as above)
        """The same, awaited."""
        update = await fill_gap(state, self._memories.memory_of_run(), self._config)
        return _add_jump_to_model_if_filled(state, update)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the injected contexts."""
        return handler(_insert_injected_contexts(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """The same, awaited."""
        return await handler(_insert_injected_contexts(request))


def _add_jump_to_model_if_filled(state: object, update: dict[str, Any]) -> dict[str, Any]:
    """The update, with a jump to the model if context was added and the model's answer was its last."""
    messages = get_value(state, "messages") or ()
    last = messages[-1] if messages else None
    is_last_word = isinstance(last, AIMessage) and not last.tool_calls
    given = update[GAP_OUTCOME]["outcome"] == "filled" and update[GAP_OUTCOME]["items"] > 0
    return {**update, "jump_to": "model"} if given and is_last_word else update


def _insert_injected_contexts(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """The request with each context at the place where it was first shown, the same in every call."""
    contexts = [
        one
        for target in (HANDOFF_CONTEXT, INJECTED_CONTEXT)
        for one in contexts_in_payload(get_value(request.state, target))
    ]
    if not contexts:
        return request
    messages = list(request.messages)
    by_place = sorted(contexts, key=_find_place_in_messages)
    groups = [(place, list(group)) for place, group in groupby(by_place, key=_find_place_in_messages)]
    for place, group in reversed(groups):  # the last first, so that earlier places do not move
        _insert_as_user_message(messages, place, payload_text(group))
    return request.override(messages=messages)


def _find_place_in_messages(context: Mapping[str, Any]) -> int:
    metadata = context.get("metadata") or {}
    place = metadata.get(GIVEN_AT)
    return place if isinstance(place, int) else 0


def _insert_as_user_message(messages: list[AnyMessage], place: int, text: str) -> None:
    """Insert a text as a message of the user, but never between a tool call and its result."""
    at = min(max(place, 1), len(messages))
    while at < len(messages) and isinstance(messages[at], ToolMessage):
        at += 1
    messages.insert(at, HumanMessage(text))
