"""What a summarizer tells, whoever wrote it: one that fails costs a prompt its summary and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.compose.parts import whole_characters
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import DialogueSummarizer, Turn

_log = get_logger("foreword.compose")


@dataclass(frozen=True, slots=True)
class Told:
    """What was told; or nothing, and in words why not."""

    text: str = ""
    problem: str = ""


def told(summarizer: DialogueSummarizer, turns: Sequence[Turn], max_tokens: int) -> Told:
    """The turns as the summarizer tells them; when it raises or gives no text, that is the problem."""
    try:
        text: object = summarizer.summarize(turns, max_tokens)
    except Exception as error:  # noqa: BLE001  (it may be anybody's, and asks whatever it likes)
        return _failed(f"{type(error).__name__}: {error}")
    if not isinstance(text, str):
        return _failed(f"the summarizer gave {type(text).__name__}, not text")
    return Told(whole_characters(text))


def _failed(problem: str) -> Told:
    _log.warning("there is no summary of the conversation", problem=problem)
    return Told(problem=problem)
