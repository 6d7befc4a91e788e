"""Context for plain lists of messages, as the clients of OpenAI and of Anthropic take them.

Copies are given back; nothing that came in is changed.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from foreword.edges.shared.messages import (
    DEFAULT_BUDGET,
    DEFAULT_DEADLINE_MS,
    context_for,
    find_last_question,
    text_of,
    with_context_openai,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.engine.context_engine import ContextEngine

__all__ = ["with_context_anthropic", "with_context_openai"]


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
    place = find_last_question(copies)
    question = text_of(copies[place]) if place is not None else ""
    context = context_for(question, engine, workspace, budget=budget, deadline_ms=deadline_ms)
    prompt = _system_with_context(system, context)
    return {"messages": copies, "system": prompt} if prompt else {"messages": copies}


def _system_with_context(
    system: str | Sequence[Mapping[str, Any]], context: str
) -> str | list[dict[str, Any]]:
    """The system prompt, a text or blocks, with the context at its end."""
    if isinstance(system, str):
        return "\n\n".join(part for part in (system, context) if part)
    blocks = [deepcopy(dict(block)) for block in system]
    return [*blocks, {"type": "text", "text": context}] if context else blocks
