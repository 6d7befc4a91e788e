"""Fit worded memories into a token budget, best first: what does not fit is skipped, and the rest goes on.

The budget is hard. Pieces are added by their own counts, which is quick, and the whole is then counted once
more as it stands, because tokens do not add up exactly; what is over is taken from the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.compose.templates import assemble, word
from foreword.types import Candidate, Dropped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.compose.templates import ContextTemplate
    from foreword.text.tokens import Tokenizer
    from foreword.types import SearchResult


@dataclass(frozen=True, slots=True)
class Fitted:
    """A text within its budget: what is in it, what is not, and what it costs."""

    text: str
    tokens: int
    candidates: tuple[Candidate, ...]
    dropped: tuple[Dropped, ...]


def fit(
    results: Sequence[SearchResult],
    template: ContextTemplate,
    budget: int,
    tokenizer: Tokenizer,
    *,
    include_metadata: bool = False,
) -> Fitted:
    """The best memories that fit, in order, worded."""
    frame = tokenizer.count(template.header) + tokenizer.count(template.footer)
    between = tokenizer.count(template.separator)
    chosen: list[Candidate] = []
    dropped: list[Dropped] = []
    used = frame
    for result in results:
        text = word(result, template, include_metadata=include_metadata)
        tokens = tokenizer.count(text)
        cost = tokens + (between if chosen else 0)
        if used + cost <= budget:
            chosen.append(Candidate(result, template.name, text, tokens))
            used += cost
        else:
            dropped.append(Dropped(result, "over budget", f"needs {cost}, {max(0, budget - used)} left"))
    return _exact(chosen, dropped, template, budget, tokenizer)


def _exact(
    chosen: list[Candidate],
    dropped: list[Dropped],
    template: ContextTemplate,
    budget: int,
    tokenizer: Tokenizer,
) -> Fitted:
    while True:
        text = assemble([candidate.text for candidate in chosen], template)
        tokens = tokenizer.count(text)
        if tokens <= budget:
            return Fitted(text, tokens, tuple(chosen), tuple(dropped))
        last = chosen.pop()
        dropped.insert(0, Dropped(last.result, "over budget", f"{tokens - budget} too many together"))
