"""The three APIs that the proxy understands: how each says what was said, and where a context goes.

A context goes before the user's last words, in their message, because some models take no two messages of one
role in a row. Nothing else of a request is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreword.recipes.dialogue.messages import anthropic_turns, openai_turns, responses_turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.types import Turn

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Api:
    """One API: the end of its path, the field of its messages, the type of a text, and how to read them."""

    path: str
    field: str
    text_type: str
    read_turns: Callable[[Any], list[Turn]]

    def turns(self, body: Body) -> list[Turn]:
        """What was said, without the application's own instructions."""
        messages = body.get(self.field)
        if not isinstance(messages, str | list):
            return []
        return [turn for turn in self.read_turns(messages) if turn.role != "system"]

    def with_context(self, body: Body, context: str) -> Body | None:
        """A copy of the body with the context before the user's last words; None if there are none."""
        messages = body.get(self.field)
        if isinstance(messages, str):
            return {**body, self.field: f"{context}\n\n{messages}"}
        if not isinstance(messages, list):
            return None
        for place in range(len(messages) - 1, -1, -1):
            changed = self._message_with_context(messages[place], context)
            if changed is not None:
                return {**body, self.field: [*messages[:place], changed, *messages[place + 1 :]]}
        return None

    def _message_with_context(self, message: object, context: str) -> Body | None:
        """The message with the context; None if it is not a user's, or only has results of tools."""
        if not isinstance(message, Mapping) or message.get("role") != "user":
            return None
        content = message.get("content")
        if isinstance(content, str) and content.strip():
            return {**message, "content": f"{context}\n\n{content}"}
        if isinstance(content, str) or not isinstance(content, Sequence):
            return None
        results = [at for at, part in enumerate(content) if _type_of(part) == "tool_result"]
        if len(results) == len(content):
            return None
        after = results[-1] + 1 if results else 0  # Anthropic wants the results of tools first
        added = {"type": self.text_type, "text": context}
        return {**message, "content": [*content[:after], added, *content[after:]]}

    def user_of(self, body: Body) -> str:
        """Who the request says its user is; empty if it does not."""
        metadata = body.get("metadata")
        named = metadata.get("user_id") if isinstance(metadata, Mapping) else None
        user = named if self is ANTHROPIC else body.get("user") or body.get("safety_identifier")
        return user if isinstance(user, str) else ""

    def max_answer_tokens(self, body: Body) -> int:
        """How long the request lets the answer be; 0 if it does not say."""
        fields = ("max_completion_tokens", "max_output_tokens", "max_tokens")
        given = (body.get(field) for field in fields)
        return next((value for value in given if isinstance(value, int) and value > 0), 0)


CHAT = Api("/chat/completions", "messages", "text", openai_turns)
ANTHROPIC = Api("/messages", "messages", "text", anthropic_turns)
RESPONSES = Api("/responses", "input", "input_text", responses_turns)


def find_api(method: str, path: str) -> Api | None:
    """The API that a request is for; None for one that is passed on as it is."""
    if method != "POST":
        return None
    return next((api for api in (CHAT, ANTHROPIC, RESPONSES) if path in (api.path, f"/v1{api.path}")), None)


def _type_of(part: object) -> object:
    return part.get("type") if isinstance(part, Mapping) else None
