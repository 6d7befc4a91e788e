"""How many tokens a request leaves for a context: the model's window less the request and its answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from foreword.compose.content_parts import count_image_tokens

if TYPE_CHECKING:
    from foreword.edges.proxy.apis import Body, UpstreamApi
    from foreword.text.tokens import Tokenizer
    from foreword.types import Turn

DEFAULT_WINDOW = 8_192
"""The window of an unknown model, in tokens: small, as models on one's own machine often have."""

WINDOWS = (
    # The beginning of a model's name, and its window; the first match counts.
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
"""A low estimate: a request that fits even with so few characters a token need not be counted."""


def room_for_context(
    api: UpstreamApi, body: Body, turns: list[Turn], max_tokens: int, tokenizer: Tokenizer, window: int = 0
) -> int:
    """How many tokens a context may have, at most `max_tokens`; 0 if the request leaves no room."""
    size = window or find_model_window(str(body.get("model") or ""))
    answer = api.max_answer_tokens(body) or min(_DEFAULT_ANSWER_TOKENS, size // 4)
    images = sum(count_image_tokens(turn.parts) for turn in turns)
    left = size - answer - images - _TOKENS_A_MESSAGE * len(turns)
    words = "\n".join(_list_texts_for_model(body))
    if left - len(words) // _CHARACTERS_A_TOKEN >= max_tokens:
        return max_tokens
    return max(0, min(max_tokens, left - tokenizer.count(words)))


def find_model_window(model: str) -> int:
    """The window of a model, by its name; a small default if the name is unknown."""
    name = model.rpartition("/")[2].lower()
    return next((size for start, size in WINDOWS if name.startswith(start)), DEFAULT_WINDOW)


def _list_texts_for_model(value: Any, name: str = "") -> list[str]:  # noqa: ANN401  (JSON is whatever it is)
    """All texts of a request that the model reads, without images."""
    if isinstance(value, str):
        return [] if name in ("url", "data", "image_url") else [value]
    if isinstance(value, dict):
        schema = [json.dumps(value["tools"], default=str)] if "tools" in value else []
        rest = (_list_texts_for_model(inner, str(key)) for key, inner in value.items() if key != "tools")
        return [*schema, *(text for texts in rest for text in texts)]
    return (
        [text for inner in value for text in _list_texts_for_model(inner, name)]
        if isinstance(value, list)
        else []
    )
