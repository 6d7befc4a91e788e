"""How many tokens a request leaves for a context: what the model's window has beside it and its answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from foreword.compose.content_parts import images_tokens

if TYPE_CHECKING:
    from foreword.edges.proxy.apis import Api, Body
    from foreword.text.tokens import Tokenizer
    from foreword.types import Turn

DEFAULT_WINDOW = 8_192
"""The window of a model that is not known: small, as those that run on one's own machine often are."""

WINDOWS = (
    # The beginning of a model's name, and its window; the first that fits counts.
    ("gpt-3.5", 16_385),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4.5", 128_000),
    ("gpt-4", 8_192),
    ("gpt-5", 400_000),
    ("chatgpt-4o", 128_000),
    ("o1", 128_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("claude", 200_000),
    ("gemini", 1_000_000),
    ("deepseek", 64_000),
    ("mistral-large", 128_000),
)

_DEFAULT_ANSWER_TOKENS = 4_096
_TOKENS_A_MESSAGE = 6
_CHARACTERS_A_TOKEN = 2
"""Fewer than a token has in most languages: a request that fits by this need not be counted."""


def room_for_context(
    api: Api, body: Body, turns: list[Turn], most: int, tokenizer: Tokenizer, window: int = 0
) -> int:
    """How many tokens a context may have, never more than `most`; 0 when the request leaves no room."""
    size = window or model_window(str(body.get("model") or ""))
    answer = api.max_answer_tokens(body) or min(_DEFAULT_ANSWER_TOKENS, size // 4)
    images = sum(images_tokens(turn.parts) for turn in turns)
    left = size - answer - images - _TOKENS_A_MESSAGE * len(turns)
    words = "\n".join(_texts(body))
    if left - len(words) // _CHARACTERS_A_TOKEN >= most:
        return most
    return max(0, min(most, left - tokenizer.count(words)))


def model_window(model: str) -> int:
    """The window of a model, by its name; that of a small one if the name says nothing."""
    name = model.rpartition("/")[2].lower()
    return next((size for start, size in WINDOWS if name.startswith(start)), DEFAULT_WINDOW)


def _texts(value: Any, name: str = "") -> list[str]:  # noqa: ANN401  (JSON is whatever it is)
    """Everything a model reads of a request, but no image."""
    if isinstance(value, str):
        return [] if name in ("url", "data", "image_url") else [value]
    if isinstance(value, dict):
        schema = [json.dumps(value["tools"], default=str)] if "tools" in value else []
        rest = (_texts(one, str(key)) for key, one in value.items() if key != "tools")
        return [*schema, *(text for texts in rest for text in texts)]
    return [text for one in value for text in _texts(one, name)] if isinstance(value, list) else []
