"""The three APIs that the proxy understands: where a request has its turns, and where a context goes.

A context is put at the start of the user's last message, because some models accept no two messages of one
role in a row. Nothing else in a request is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreword.recipes.dialogue.messages import (
    anthropic_turns,
    openai_turns,
    readable_messages,
    responses_turns,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.types import Turn

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class UpstreamApi:
    """One API: the end of its path, the field of its messages, the type of a text part, and their reader."""

    path: str
    field: str
    text_type: str
    read_turns: Callable[[Any], list[Turn]]

    def read_request_turns(self, body: Body) -> list[Turn]:
        """The turns of a request, without the application's own instructions."""
        messages = body.get(self.field)
        if not isinstance(messages, list) and (self is not RESPONSES or not isinstance(messages, str)):
            return []
        known = (
            messages if isinstance(messages, str) else readable_messages(messages, items=self is RESPONSES)
        )
        return [turn for turn in self.read_turns(known) if turn.role != "system"]

    def with_context(self, body: Body, context: str) -> Body | None:
        """A copy of the body with the context in the user's last message; None if there is none."""
        messages = body.get(self.field)
        if isinstance(messages, str):
            return {**body, self.field: f"{context}\n\n{messages}"}
        if not isinstance(messages, list):
            return None
        for place in range(len(messages) - 1, -1, -1):
            changed = self._add_context_to_message(messages[place], context)
            if changed is not None:
                return {**body, self.field: [*messages[:place], changed, *messages[place + 1 :]]}
        return None

    def _add_context_to_message(self, message: object, context: str) -> Body | None:
        """The message with the context added; None if it is not the user's, or only has results of tools."""
        if not isinstance(message, Mapping) or message.get("role") != "user":
            return None
        content = message.get("content")
        if isinstance(content, str) and content.strip():
            return {**message, "content": f"{context}\n\n{content}"}
        if isinstance(content, str) or not isinstance(content, Sequence):
            return None
        results = [at for at, part in enumerate(content) if _part_type(part) == "tool_result"]
        if len(results) == len(content):
            return None
        after = results[-1] + 1 if results else 0  # Anthropic requires that results of tools come first
        added = {"type": self.text_type, "text": context}
        return {**message, "content": [*content[:after], added, *content[after:]]}

    def find_user(self, body: Body) -> str:
        """The user that the request names; empty if it names none."""
        metadata = body.get("metadata")
        named = metadata.get("user_id") if isinstance(metadata, Mapping) else None
        user = named if self is ANTHROPIC else body.get("user") or body.get("safety_identifier")
        return user if isinstance(user, str) else ""

    def max_answer_tokens(self, body: Body) -> int:
        """How many tokens the request allows for the answer; 0 if it does not say."""
        fields = ("max_completion_tokens", "max_output_tokens", "max_tokens")
        given = (body.get(field) for field in fields)
        return next((value for value in given if isinstance(value, int) and value > 0), 0)


CHAT = UpstreamApi("/chat/completions", "messages", "text", openai_turns)
ANTHROPIC = UpstreamApi("/messages", "messages", "text", anthropic_turns)
RESPONSES = UpstreamApi("/responses", "input", "input_text", responses_turns)


def find_api(method: str, path: str) -> UpstreamApi | None:
    """The API that a request is for; None if it is to be forwarded unchanged."""
    if method != "POST":
        return None
    return next((api for api in (CHAT, ANTHROPIC, RESPONSES) if path in (api.path, f"/v1{api.path}")), None)


def _part_type(part: object) -> object:
    return part.get("type") if isinstance(part, Mapping) else None
