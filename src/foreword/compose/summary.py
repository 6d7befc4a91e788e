"""A summary of turns by any summarizer; if that fails, there is no summary, but no error either."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.log import get_logger
from foreword.text.clean import remove_surrogates
from foreword.types import BesideSummary, ContextualSummarizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import DialogueSummarizer, Turn

NOTHING_BESIDE = BesideSummary()

_log = get_logger("foreword.compose")


@dataclass(frozen=True, slots=True)
class Summary:
    """The text of a summary; or an empty one, and in words the problem."""

    text: str = ""
    problem: str = ""


def summarise(
    summarizer: DialogueSummarizer,
    turns: Sequence[Turn],
    max_tokens: int,
    beside: BesideSummary = NOTHING_BESIDE,
) -> Summary:
    """The summarizer's text for these turns; if it raises or returns no text, the problem instead."""
    try:
        text: object = (
            summarizer.summarize_beside(turns, max_tokens, beside)
            if isinstance(summarizer, ContextualSummarizer)
            else summarizer.summarize(turns, max_tokens)
        )
    except Exception as error:  # noqa: BLE001  (it may be anybody's, and asks whatever it likes)
        return _failed_summary(f"{type(error).__name__}: {error}")
    if not isinstance(text, str):
        return _failed_summary(f"the summarizer gave {type(text).__name__}, not text")
    return Summary(remove_surrogates(text))


def _failed_summary(problem: str) -> Summary:
    """Log the problem and return an empty summary with it."""
    _log.warning("there is no summary of the conversation", problem=problem)
    return Summary(problem=problem)
