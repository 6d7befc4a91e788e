"""Context for plain lists of messages, as the clients of OpenAI and of Anthropic take them.

Copies are given back and nothing that came in is changed. What is injected is framed data: it never speaks in
the user's own message, and nothing is added when nothing is relevant. A failure is no context and a warning.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from foreword.capture.junk import junk_reason
from foreword.compose.budget import DEFAULT_TOKEN_BUDGET, TokenBudget
from foreword.log import get_logger
from foreword.recipes.coding.injection import InjectionPipeline
from foreword.text.frame import framed, without_frames

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.engine.context_engine import ContextEngine

_log = get_logger("foreword.messages")

BUDGET = DEFAULT_TOKEN_BUDGET.total
DEADLINE_MS = 400.0
LONGEST_QUESTION = 2_000
"""So many characters of a message are asked about: more words blur what is meant."""


def context_for(
    question: str,
    engine: ContextEngine,
    workspace: str,
    *,
    budget: int = BUDGET,
    deadline_ms: float = DEADLINE_MS,
) -> str:
    """What should be known before a question is answered, framed; empty when there is nothing, or no way."""
    asked = without_frames(question)[:LONGEST_QUESTION]
    if junk_reason(asked):
        return ""
    try:
        divided = TokenBudget.with_total(budget)
        result = InjectionPipeline(engine).generate_context(
            asked, "", divided, workspace=workspace, deadline_ms=deadline_ms
        )
    except Exception as error:  # noqa: BLE001  (an agent must not fail for want of context)
        _log.warning("no context for a message", workspace=workspace, problem=str(error))
        return ""
    return framed(result.formatted_context)


def with_context_openai(
    messages: Sequence[Mapping[str, Any]],
    engine: ContextEngine,
    workspace: str,
    *,
    budget: int = BUDGET,
    deadline_ms: float = DEADLINE_MS,
) -> list[dict[str, Any]]:
    """The messages, with a message of context before the user's last one."""
    copies = [deepcopy(dict(message)) for message in messages]
    place = _last_question(copies)
    if place is None:
        return copies
    context = context_for(text_of(copies[place]), engine, workspace, budget=budget, deadline_ms=deadline_ms)
    if context and not any(context in text_of(message) for message in copies):
        copies.insert(place, {"role": "user", "content": context})
    return copies


def with_context_anthropic(
    messages: Sequence[Mapping[str, Any]],
    engine: ContextEngine,
    workspace: str,
    *,
    system: str | Sequence[Mapping[str, Any]] = "",
    budget: int = BUDGET,
    deadline_ms: float = DEADLINE_MS,
) -> dict[str, Any]:
    """`messages` and `system` for `client.messages.create(**…)`, with the context at the end of `system`."""
    copies = [deepcopy(dict(message)) for message in messages]
    place = _last_question(copies)
    question = text_of(copies[place]) if place is not None else ""
    context = context_for(question, engine, workspace, budget=budget, deadline_ms=deadline_ms)
    prompt = _with_system(system, context)
    return {"messages": copies, "system": prompt} if prompt else {"messages": copies}


def text_of(message: Mapping[str, Any]) -> str:
    """What a message says, whether its content is one text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or () if isinstance(part, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


def _last_question(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """Where the user last said something; the results of tools have the user's role, and say nothing."""
    places = range(len(messages) - 1, -1, -1)
    return next((at for at in places if messages[at].get("role") == "user" and text_of(messages[at])), None)


def _with_system(system: str | Sequence[Mapping[str, Any]], context: str) -> str | list[dict[str, Any]]:
    if isinstance(system, str):
        return "\n\n".join(part for part in (system, context) if part)
    blocks = [deepcopy(dict(block)) for block in system]
    return [*blocks, {"type": "text", "text": context}] if context else blocks
