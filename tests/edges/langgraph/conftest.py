from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class Scripted(BaseChatModel):
    """A model that says what it was told to, and remembers what it was shown."""

    replies: list[Any]
    seen: list[Any]

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        reply = self.replies[min(len(self.seen), len(self.replies) - 1)]
        self.seen.append(list(messages))
        message = AIMessage(reply) if isinstance(reply, str) else reply
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.fixture(autouse=True)
def no_hurry(patient_gap):
    """A gap is filled however long that takes on a busy machine."""


@pytest.fixture
def scripted():
    """A model with these replies, the last of them for ever."""
    return lambda *replies: Scripted(replies=list(replies), seen=[])
