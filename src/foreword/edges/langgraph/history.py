"""ForewordChatHistory: a conversation as LangChain's `BaseChatMessageHistory`, stored in a workspace.

`RunnableWithMessageHistory(chain, lambda session: ForewordChatHistory(engine, "shop", session))` stores the
messages. `messages` is the whole conversation; `prompt` is the prompt for one question, with as much of the
conversation and of other memory as fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import HumanMessage, convert_to_messages, convert_to_openai_messages

from foreword.compose.content_parts import openai_parts
from foreword.recipes.dialogue.messages import openai_turns, readable_messages
from foreword.recipes.dialogue.prompt import DEFAULT_MAX_TOKENS, inject_context
from foreword.recipes.dialogue.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage

    from foreword.engine.context_engine import ContextEngine
    from foreword.types import Turn


class ForewordChatHistory(BaseChatMessageHistory):
    """The messages of one session; further options are those of `Session`, such as `user`."""

    def __init__(self, engine: ContextEngine, workspace: str, session_id: str, **options: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.session = Session(engine, workspace, session_id, **options)
        self._engine = engine

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # LangChain's own example is a property
        """All messages of the conversation."""
        return convert_to_messages([_convert_to_openai_message(turn) for turn in self.session.state.turns])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages durably: texts, images, calls of tools and their answers."""
        self.session.add_all(_convert_to_turns(messages))

    def prompt(
        self, question: str | HumanMessage | None, max_tokens: int = DEFAULT_MAX_TOKENS
    ) -> list[BaseMessage]:
        """The prompt for a question, as messages; with None, for the open question after answers of tools."""
        query = _convert_to_turns([question])[0] if isinstance(question, HumanMessage) else question
        return convert_to_messages(inject_context(query, self.session, max_tokens).openai_messages())

    def clear(self) -> None:
        """Delete the conversation, and everything derived from it."""
        self._engine.forget(self.session.workspace, session=self.session.session_id)


def _convert_to_turns(messages: Sequence[BaseMessage]) -> list[Turn]:
    converted = convert_to_openai_messages(list(messages))
    return openai_turns(readable_messages(converted if isinstance(converted, list) else [converted]))


def _convert_to_openai_message(turn: Turn) -> dict[str, Any]:
    """A turn as a message in OpenAI's format, with its parts and calls of tools."""
    content: str | list[dict[str, Any]] = openai_parts(turn, turn.text) if turn.parts else turn.text
    message: dict[str, Any] = {"role": turn.role, "content": content}
    if turn.name:
        message["name"] = turn.name
    if turn.tool_calls:
        message["tool_calls"] = [dict(call) for call in turn.tool_calls]
    if turn.role == "tool":
        message["tool_call_id"] = turn.call_id
    return message
