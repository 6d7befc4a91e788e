"""Context for agents of the OpenAI Agents SDK: a filter of the model's input.

`RunConfig(call_model_input_filter=context_filter(engine, "my-project"))`. The context is put before the last
message of the user, for that one call; the items of the run and of a session stay as they are.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from foreword.edges.message_lists import DEFAULT_BUDGET, DEFAULT_DEADLINE_MS, with_context_openai
from foreword.errors import MissingExtra
from foreword.options import check_workspace

try:
    from agents.run import ModelInputData
except ModuleNotFoundError as error:
    raise MissingExtra("openai-agents", "openai-agents") from error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agents.run import CallModelData

    from foreword.engine.context_engine import ContextEngine


def context_filter(
    engine: ContextEngine,
    workspace: str,
    *,
    budget: int = DEFAULT_BUDGET,
    deadline_ms: float = DEFAULT_DEADLINE_MS,
) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    """A `call_model_input_filter` that adds context for the user's last message."""
    check_workspace(workspace)

    async def add_context(data: CallModelData[Any]) -> ModelInputData:
        items = cast("list[dict[str, Any]]", data.model_data.input)
        messages = await asyncio.to_thread(
            with_context_openai, items, engine, workspace, budget=budget, deadline_ms=deadline_ms
        )
        return ModelInputData(input=cast("Any", messages), instructions=data.model_data.instructions)

    return add_context
