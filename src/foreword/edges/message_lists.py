"""Context for a message, and for lists of messages in the formats of OpenAI's and Anthropic's clients.

The context is framed data, never part of the user's own message, and nothing is added if nothing is relevant.
If something fails, a warning is logged and there is no context. Copies are returned; the arguments stay as
they are.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from foreword.capture.junk import junk_reason
from foreword.compose.budget import DEFAULT_TOKEN_BUDGET, TokenBudget
from foreword.log import get_logger
from foreword.recipes.coding.injection import InjectionPipeline
from foreword.text.frame import remove_frames, wrap_in_frame
from foreword.text.question import shorten_with_question_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.engine.context_engine import ContextEngine

__all__ = ["with_context_anthropic", "with_context_openai"]

_log = get_logger("foreword.messages")

DEFAULT_BUDGET = DEFAULT_TOKEN_BUDGET.total
DEFAULT_DEADLINE_MS = 400.0


def extract_question(text: str) -> str:
    """The question to search memory for, from a message of the user; empty if the message is not worth it."""
    question = shorten_with_question_first(remove_frames(text))
    return "" if junk_reason(question) else question


def find_context(
    text: str,
    engine: ContextEngine,
    workspace: str,
    *,
    budget: int = DEFAULT_BUDGET,
    deadline_ms: float = DEFAULT_DEADLINE_MS,
) -> str:
    """The framed context for a message; empty if there is none, or if something fails."""
    question = extract_question(text)
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
    place = find_index_of_last_question(copies)
    if place is None:
        return copies
    question = message_text(copies[place])
    context = find_context(question, engine, workspace, budget=budget, deadline_ms=deadline_ms)
    if context and not any(context in message_text(message) for message in copies):
        copies.insert(place, {"role": "user", "content": context})
    return copies


def with_context_anthropic(
    messages: Sequence[Mapping[str, Any]],
    engine: ContextEngine,
    workspace: str,
    *,
    system: str | Sequence[Mapping[str, Any]] = "",
    budget: int = DEFAULT_BUDGET,
    deadline_ms: float = DEFAULT_DEADLINE_MS,
) -> dict[str, Any]:
    """`messages` and `system` for `client.messages.create(**…)`, with the context at the end of `system`."""
    copies = [deepcopy(dict(message)) for message in messages]
    place = find_index_of_last_question(copies)
    question = message_text(copies[place]) if place is not None else ""
    context = find_context(question, engine, workspace, budget=budget, deadline_ms=deadline_ms)
    prompt = _add_context_to_system_prompt(system, context)
    return {"messages": copies, "system": prompt} if prompt else {"messages": copies}


def _add_context_to_system_prompt(
    system: str | Sequence[Mapping[str, Any]], context: str
) -> str | list[dict[str, Any]]:
    """The system prompt, a text or blocks, with the context at its end."""
    if isinstance(system, str):
        return "\n\n".join(part for part in (system, context) if part)
    blocks = [deepcopy(dict(block)) for block in system]
    return [*blocks, {"type": "text", "text": context}] if context else blocks


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a message, whether its content is one text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or () if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


def find_index_of_last_question(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """The index of the user's last message with text; results of tools have the user's role, but no text."""
    places = range(len(messages) - 1, -1, -1)
    return next(
        (at for at in places if messages[at].get("role") == "user" and message_text(messages[at])), None
    )
