"""Make a prompt that is over its budget smaller, from what is least missed to the essence.

Four levels, each a list of steps. How much is over says which level is expected to do: before that one, a
level is done whole and then counted; from there on every step is, and the first that suffices is the last.
The query and the system prompt are never touched: when they alone are too much, that is an error. What was
lost is told in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from foreword.compose.prompt import prompt_tokens
from foreword.compose.reductions import (
    Means,
    best_recalled,
    fewer_details,
    last_turn_shortened,
    older_summarised,
    tidy,
    top_chunks,
    top_entities,
    without_history,
    without_repeats,
    without_summary,
)
from foreword.errors import CannotCompress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foreword.compose.prompt import ContextContent
    from foreword.compose.reductions import Reduction
    from foreword.text.tokens import Tokenizer
    from foreword.types import DialogueSummarizer


class CompressionLevel(IntEnum):
    """How much is taken away: nothing, repetition, detail, all but the last turn, all but the essence."""

    NONE = 0
    LIGHT = 1
    MEDIUM = 2
    HEAVY = 3
    EXTREME = 4


_UP_TO = {0.2: CompressionLevel.LIGHT, 0.4: CompressionLevel.MEDIUM, 0.6: CompressionLevel.HEAVY}
"""The share of a prompt that is over, and the level that mostly suffices below it."""

_STEPS: Mapping[CompressionLevel, tuple[Reduction, ...]] = {
    CompressionLevel.LIGHT: (tidy, without_repeats),
    CompressionLevel.MEDIUM: (fewer_details, top_chunks(3), older_summarised(4, 200)),
    CompressionLevel.HEAVY: (top_entities(3), top_chunks(2), older_summarised(1, 100), best_recalled(2)),
    CompressionLevel.EXTREME: (
        top_entities(1),
        top_chunks(1),
        without_summary,
        best_recalled(1),
        last_turn_shortened,
        top_entities(0),
        best_recalled(0),
        last_turn_shortened,
        without_history,
        top_chunks(0),
    ),
}


@dataclass(frozen=True, slots=True)
class Compressed:
    """A prompt within its target, the level that was needed, and in words what was lost."""

    content: ContextContent
    token_count: int
    level: CompressionLevel = CompressionLevel.NONE
    lost: tuple[str, ...] = ()


def level_for(tokens: int, target: int) -> CompressionLevel:
    """The level that a prompt of so many tokens is expected to need."""
    if tokens <= target:
        return CompressionLevel.NONE
    over = (tokens - target) / tokens
    return next((level for share, level in _UP_TO.items() if over < share), CompressionLevel.EXTREME)


@dataclass(frozen=True, slots=True)
class DynamicCompressor:
    """Compresses prompts; the summarizer tells what turns have said."""

    summarizer: DialogueSummarizer
    tokenizer: Tokenizer

    def compress(self, content: ContextContent, target_tokens: int) -> Compressed:
        """The content in at most so many tokens, and what that has cost."""
        means = Means(self.summarizer, self.tokenizer, target_tokens)
        tokens = prompt_tokens(content, self.tokenizer)
        expected = level_for(tokens, target_tokens)
        if expected is CompressionLevel.NONE:
            return Compressed(content, tokens)
        lost: list[str] = []
        for level, steps in _STEPS.items():
            for step in steps:
                content, words = step(content, means)
                lost += [words] if words else []
                if level < expected and step is not steps[-1]:
                    continue
                tokens = prompt_tokens(content, self.tokenizer)
                if tokens <= target_tokens:
                    return Compressed(content, tokens, level, tuple(lost))
        raise CannotCompress(tokens, target_tokens)
