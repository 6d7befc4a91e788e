"""Fit memories into a token budget, best first: one that does not fit is skipped, and the next is tried.

The budget is hard. Texts are added by their own token counts, which is quick. Then the whole is counted once
more, because tokens do not add up exactly, and memories are taken from the end until it fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.compose.share import OVER_SHARE, Portion, find_ids_exempt_from_share, may_include_each_portion
from foreword.compose.templates import format_memory, join_memories
from foreword.types import ContextLine, DroppedResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.compose.templates import ContextTemplate
    from foreword.text.tokens import Tokenizer
    from foreword.types import SearchResult


@dataclass(frozen=True, slots=True)
class FittedText:
    """A text within its budget: its tokens, its lines, and the results that were dropped."""

    text: str = ""
    tokens: int = 0
    lines: tuple[ContextLine, ...] = ()
    dropped: tuple[DroppedResult, ...] = ()


def fit_memories(
    results: Sequence[SearchResult],
    template: ContextTemplate,
    budget: int,
    tokenizer: Tokenizer,
    *,
    include_metadata: bool = False,
) -> FittedText:
    """The best memories that fit, in order, as the template words them; foreign words within their share."""
    frame = tokenizer.count(template.header) + tokenizer.count(template.footer)
    between = tokenizer.count(template.separator)
    chosen: list[ContextLine] = []
    dropped: list[DroppedResult] = []
    used = frame
    for result in results:
        text = format_memory(result, template, include_metadata=include_metadata)
        tokens = tokenizer.count(text)
        cost = tokens + (between if chosen else 0)
        if used + cost <= budget:
            why = result.link.description if result.link is not None else ""
            chosen.append(ContextLine(result, template.name, text, tokens, why))
            used += cost
        else:
            dropped.append(
                DroppedResult(result, "over budget", f"needs {cost}, {max(0, budget - used)} left")
            )
    return _join_lines_within_exact_budget(chosen, dropped, template, budget, tokenizer)


def _join_lines_within_exact_budget(
    chosen: list[ContextLine],
    dropped: list[DroppedResult],
    template: ContextTemplate,
    budget: int,
    tokenizer: Tokenizer,
) -> FittedText:
    """The chosen lines as one text within the budget by its exact count; others are dropped from the end."""
    exempt = find_ids_exempt_from_share([candidate.result for candidate in chosen])
    while True:
        chosen, over = split_off_excess_foreign_lines(chosen, exempt)
        dropped += [DroppedResult(candidate.result, "over limit", OVER_SHARE) for candidate in over]
        text = join_memories([candidate.text for candidate in chosen], template)
        tokens = tokenizer.count(text)
        if tokens <= budget:
            return FittedText(text, tokens, tuple(chosen), tuple(dropped))
        last = chosen.pop()
        dropped.insert(0, DroppedResult(last.result, "over budget", f"{tokens - budget} too many together"))


def split_off_excess_foreign_lines(
    chosen: Sequence[ContextLine], exempt: frozenset[str]
) -> tuple[list[ContextLine], list[ContextLine]]:
    """Split lines into those that are kept and foreign ones that would exceed their share."""
    portions = [Portion(line.tokens, line.result.memory.source, line.id in exempt) for line in chosen]
    allowed = may_include_each_portion(portions)
    kept = [line for line, fits in zip(chosen, allowed, strict=True) if fits]
    return kept, [line for line, fits in zip(chosen, allowed, strict=True) if not fits]
