"""What a caller may ask for, and the check that it makes sense.

Nothing further down the stack checks again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypedDict

from foreword.errors import ValidationError
from foreword.types import KINDS, Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.types import SearchResult

Lane = Literal["fast", "full"]
"""Without and with the cross-encoder."""

FULL_LANE_MS = 150.0
"""With at least this much time, the deadline chooses the full lane."""

MAX_LIMIT = 1000
MAX_DEPTH = 10
MAX_NAME = 1024
MAX_DEADLINE_MS = 600_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How to search. `memory_types` takes kinds and your own types alike; dates need a time zone."""

    limit: int = 10
    memory_types: Sequence[str] = ()
    kinds: Sequence[str] = ()
    date_from: datetime | None = None
    date_to: datetime | None = None
    min_confidence: float = 0.0
    conversation_id: str | None = None
    session: str | None = None
    include_relationships: bool = False
    relationship_depth: int = 1
    deadline_ms: float | None = None
    lane: Lane | None = None

    def __post_init__(self) -> None:
        whole("limit", self.limit, 1, MAX_LIMIT)
        whole("relationship_depth", self.relationship_depth, 1, MAX_DEPTH)
        share("min_confidence", self.min_confidence)
        for kind in self.kinds:
            known_kind(kind)
        for name in ("date_from", "date_to"):
            aware(name, getattr(self, name))
        if self.date_from and self.date_to and self.date_from > self.date_to:
            raise ValidationError(
                f"date_from ({self.date_from}) is after date_to ({self.date_to}); swap them"
            )
        if self.deadline_ms is not None and not 0 < self.deadline_ms <= MAX_DEADLINE_MS:
            raise ValidationError(
                f"deadline_ms must be above 0 and at most {MAX_DEADLINE_MS:,.0f}, or None for no deadline"
            )
        if self.lane not in (None, "fast", "full"):
            raise ValidationError(
                f"lane must be 'fast', 'full' or None (the deadline decides), not {self.lane!r}"
            )

    @property
    def reranks(self) -> bool:
        """Whether the cross-encoder has a say: when asked for, or when the deadline leaves it time."""
        if self.lane is not None:
            return self.lane == "full"
        return self.deadline_ms is not None and self.deadline_ms >= FULL_LANE_MS

    @property
    def filters(self) -> Filters:
        """The part of the options that decides which items may answer."""
        return Filters(
            kinds=tuple(self.kinds),
            types=tuple(self.memory_types),
            since=self.date_from,
            until=self.date_to,
            min_confidence=self.min_confidence,
            conversation=self.conversation_id,
            session=self.session,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions(SearchOptions):
    """How to search, rank, fit and word. None means the engine's default."""

    template: str | None = None
    token_budget: int | None = None
    ranker: str | Callable[[Sequence[SearchResult]], Sequence[SearchResult]] | None = None
    include_metadata: bool = False
    asked_in: str | None = None
    """The session that asks; the receipt is filed under it. (`session` is a filter: who may answer.)"""

    floor: float | None = None
    """The least probability of relevance that is worth saying; None is the default, 0 says everything."""

    def __post_init__(self) -> None:
        super(ContextOptions, self).__post_init__()
        if self.token_budget is not None:
            whole("token_budget", self.token_budget, 1, 10_000_000)
        if self.floor is not None:
            share("floor", self.floor)


class SearchChanges(TypedDict, total=False):
    """The fields of `SearchOptions`, as keyword arguments."""

    limit: int
    memory_types: Sequence[str]
    kinds: Sequence[str]
    date_from: datetime | None
    date_to: datetime | None
    min_confidence: float
    conversation_id: str | None
    session: str | None
    include_relationships: bool
    relationship_depth: int
    deadline_ms: float | None
    lane: Lane | None


class ContextChanges(SearchChanges, total=False):
    """The fields of `ContextOptions`, as keyword arguments."""

    template: str | None
    token_budget: int | None
    ranker: str | Callable[[Sequence[SearchResult]], Sequence[SearchResult]] | None
    include_metadata: bool
    asked_in: str | None
    floor: float | None


@dataclass(frozen=True, slots=True)
class CacheConfig:
    """How many query embeddings to keep in memory, and for how many seconds."""

    max_size: int = 10_000
    ttl: float = 3600.0


def named(workspace: object) -> str:
    """A usable workspace name, or an error: no workspace, no answer."""
    if not isinstance(workspace, str) or not workspace.strip():
        raise ValidationError("a workspace must be named; pass workspace='my-project'")
    if len(workspace) > MAX_NAME or "\0" in workspace:
        raise ValidationError(f"a workspace name has at most {MAX_NAME} characters, none of them NUL")
    try:
        workspace.encode()
    except UnicodeEncodeError:
        raise ValidationError("a workspace name must be valid Unicode, without lone surrogates") from None
    return workspace


def whole(name: str, value: object, low: int, high: int) -> int:
    """A whole number within bounds, or an error that names both."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValidationError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
    return value


def share(name: str, value: object) -> float:
    """A number from 0 to 1, or an error."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or math.isnan(value)
        or not 0 <= value <= 1
    ):
        raise ValidationError(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)


def known_kind(kind: str) -> None:
    """One of the kinds of item, or an error that lists them."""
    if kind not in KINDS:
        raise ValidationError(
            f"no kind named {kind!r}; there are: {', '.join(KINDS)} (use `type` for a label of your own)"
        )


def aware(name: str, value: object) -> None:
    """A datetime with a time zone, or nothing at all."""
    if value is None:
        return
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ValidationError(f"{name} must be a datetime with a time zone, not {value!r}")
