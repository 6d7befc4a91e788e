"""Connects the summariser that the settings ask for: a remote model where one is named, else none.

What the model is asked is in `knowledge.remote_summary`, how it is reached in `spaces.remote_model`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.knowledge.dialogue_summary import ExtractiveSummarizer
from foreword.knowledge.remote_summary import ChatSummariser, RemoteDialogueSummarizer
from foreword.spaces.remote_model import RemoteModel

if TYPE_CHECKING:
    from foreword.config import Settings
    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueSummarizer

_TIMEOUT_SECONDS = 20.0


def connect_summariser(settings: Settings) -> ChatSummariser | None:
    """The model that writes summaries, if the settings name one; ValidationError if it cannot be asked."""
    if not settings.summary_url:
        return None
    endpoint = RemoteModel(
        settings.summary_url,
        settings.summary_key or None,
        _TIMEOUT_SECONDS,
        tries=1,
        address="the summary endpoint",
        key_name="the key",
    )
    return ChatSummariser(endpoint.post_json, settings.summary_model)


def choose_summarizer(settings: Settings, tokenizer: Tokenizer) -> DialogueSummarizer:
    """A summarizer of conversations: the model's where the settings name one, else the extractive one."""
    model = connect_summariser(settings)
    return RemoteDialogueSummarizer(model, tokenizer) if model else ExtractiveSummarizer(tokenizer)
