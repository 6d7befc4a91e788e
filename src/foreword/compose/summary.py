"""A summary of turns, made by whatever summarizer is there; one that fails costs no more than the summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.compose.quoting import remove_half_characters
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import DialogueSummarizer, Turn

_log = get_logger("foreword.compose")


@dataclass(frozen=True, slots=True)
class Summary:
    """What was told; or nothing, and in words why not."""

    text: str = ""
    problem: str = ""


def summarise(summarizer: DialogueSummarizer, turns: Sequence[Turn], max_tokens: int) -> Summary:
    """The turns as the summarizer tells them; when it raises or gives no text, that is the problem."""
    try:
        text: object = summarizer.summarize(turns, max_tokens)
    except Exception as error:  # noqa: BLE001  (it may be anybody's, and asks whatever it likes)
        return _failed_summary(f"{type(error).__name__}: {error}")
    if not isinstance(text, str):
        return _failed_summary(f"the summarizer gave {type(text).__name__}, not text")
    return Summary(remove_half_characters(text))


def _failed_summary(problem: str) -> Summary:
    _log.warning("there is no summary of the conversation", problem=problem)
    return Summary(problem=problem)
