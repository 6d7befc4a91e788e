"""What an assembled context is made of, and the context itself. Nothing here words or chooses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from foreword.types import Dropped, Note, Receipt, SearchResult


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A single piece of context: where it comes from, its wording, how relevant it is (0 to 1), its facts.

    `source` is memory, code, experience, value or commit. `result` is what a search knew of it.
    """

    source: str
    content: str
    relevance: float
    metadata: Mapping[str, Any] = field(default_factory=dict)
    result: SearchResult | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class FormattedContext:
    """A context ready to be put before a prompt; empty when there is nothing to say.

    `items` are those in it, as worded there, most relevant first; `sources_used` counts them by source.
    `over_by` says how many tokens it has beyond the limit it was asked to keep, `notes` what went wrong.
    """

    markdown: str
    items: tuple[ContextItem, ...]
    token_count: int
    sources_used: Mapping[str, int]
    notes: tuple[Note, ...] = ()
    over_by: int = 0
    receipt: Receipt | None = field(default=None, repr=False, compare=False)

    @property
    def limit_exceeded(self) -> bool:
        """Whether it has more tokens than it was asked to keep to."""
        return self.over_by > 0


class Findings(list[ContextItem]):
    """What a source found, best first; with what it left out and why, and what went wrong on the way."""

    def __init__(
        self,
        items: Iterable[ContextItem] = (),
        dropped: tuple[Dropped, ...] = (),
        notes: tuple[Note, ...] = (),
    ) -> None:
        super().__init__(items)
        self.dropped = dropped
        self.notes = notes
