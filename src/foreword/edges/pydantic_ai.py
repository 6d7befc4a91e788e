"""Context for agents of Pydantic AI: a capability that adds it to each request.

`Agent(model, capabilities=[ForewordContext(engine, "my-project")])`. The context is a part of its own before
the user's last prompt, in a copy of the request; the run's message history stays as it is.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from foreword.edges.message_lists import DEFAULT_BUDGET, DEFAULT_DEADLINE_MS, find_context
from foreword.errors import MissingExtra

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelRequest, UserPromptPart
except ModuleNotFoundError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestContext

    from foreword.engine.context_engine import ContextEngine


@dataclass
class ForewordContext(AbstractCapability[Any]):
    """Finds context for the user's last prompt, before every request to the model."""

    engine: ContextEngine
    workspace: str
    budget: int = DEFAULT_BUDGET
    deadline_ms: float = DEFAULT_DEADLINE_MS

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The request with the context added, or unchanged if there is none."""
        del ctx
        messages = request_context.messages
        last = next((message for message in reversed(messages) if _user_prompt_text(message)), None)
        if not isinstance(last, ModelRequest):
            return request_context
        find = partial(find_context, budget=self.budget, deadline_ms=self.deadline_ms)
        context = await asyncio.to_thread(find, _user_prompt_text(last), self.engine, self.workspace)
        if not context:
            return request_context
        with_context = _add_context(last, context)
        changed = [with_context if message is last else message for message in messages]
        return replace(request_context, messages=changed)


def _user_prompt_text(message: ModelMessage) -> str:
    """The user's text in a message; empty if it holds only results of tools."""
    parts = message.parts if isinstance(message, ModelRequest) else ()
    contents = [part.content for part in parts if isinstance(part, UserPromptPart)]
    texts = [[content] if isinstance(content, str) else content for content in contents]
    return "\n".join(text for several in texts for text in several if isinstance(text, str))


def _add_context(request: ModelRequest, context: str) -> ModelRequest:
    """A copy of the request with the context before the user's prompt."""
    before = next(at for at, part in enumerate(request.parts) if isinstance(part, UserPromptPart))
    return replace(request, parts=[*request.parts[:before], UserPromptPart(context), *request.parts[before:]])
