"""Context for a message, and for a list of messages as OpenAI's clients take it.

What is injected is framed data: it never speaks in the user's own message, and nothing is added when nothing
is relevant. A failure means no context and a warning.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from foreword.capture.junk import junk_reason
from foreword.compose.budget import DEFAULT_TOKEN_BUDGET, TokenBudget
from foreword.log import get_logger
from foreword.recipes.coding.injection import InjectionPipeline
from foreword.text.frame import remove_frames, wrap_in_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.engine.context_engine import ContextEngine

_log = get_logger("foreword.messages")

DEFAULT_BUDGET = DEFAULT_TOKEN_BUDGET.total
DEFAULT_DEADLINE_MS = 400.0
_MAX_QUESTION_CHARACTERS = 2_000
"""At most this much of a message is asked about: more words blur what is meant."""


def question_in(text: str) -> str:
    """What to ask memory about a message of the user; empty when it says nothing worth asking about."""
    question = remove_frames(text)[:_MAX_QUESTION_CHARACTERS]
    return "" if junk_reason(question) else question


def context_for(
    text: str,
    engine: ContextEngine,
    workspace: str,
    *,
    budget: int = DEFAULT_BUDGET,
    deadline_ms: float = DEFAULT_DEADLINE_MS,
) -> str:
    """What should be known before a message is answered, framed; empty without any, or on a failure."""
    question = question_in(text)
    if not question:
        return ""
    try:
        divided = TokenBudget.with_total(budget)
        result = InjectionPipeline(engine).generate_context(
            question, "", divided, workspace=workspace, deadline_ms=deadline_ms
        )
    except Exception as error:  # noqa: BLE001  (an agent must not fail for want of context)
        _log.warning("no context for a message", workspace=workspace, problem=str(error))
        return ""
    return wrap_in_frame(result.formatted_context)


def with_context_openai(
    messages: Sequence[Mapping[str, Any]],
    engine: ContextEngine,
    workspace: str,
    *,
    budget: int = DEFAULT_BUDGET,
    deadline_ms: float = DEFAULT_DEADLINE_MS,
) -> list[dict[str, Any]]:
    """A copy of the messages, with a message of context before the user's last one."""
    copies = [deepcopy(dict(message)) for message in messages]
    place = find_last_question(copies)
    if place is None:
        return copies
    context = context_for(text_of(copies[place]), engine, workspace, budget=budget, deadline_ms=deadline_ms)
    if context and not any(context in text_of(message) for message in copies):
        copies.insert(place, {"role": "user", "content": context})
    return copies


def text_of(message: Mapping[str, Any]) -> str:
    """What a message says, whether its content is one text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or () if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


def find_last_question(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """The place of the user's last message with text; results of tools have the user's role, but no text."""
    places = range(len(messages) - 1, -1, -1)
    return next((at for at in places if messages[at].get("role") == "user" and text_of(messages[at])), None)
