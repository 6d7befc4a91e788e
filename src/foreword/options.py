"""The options of a search and of a context, and the checks of values that callers pass.

Each `check_…` returns the value it was given, or raises ValidationError with advice. Nothing further down the
stack checks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from foreword.errors import ValidationError
from foreword.types import KINDS, Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from foreword.types import SearchResult

Lane = Literal["fast", "full"]
"""`full` lets the cross-encoder read the best candidates; `fast` does not."""

MIN_FULL_LANE_MS = 150.0
"""With a deadline at least this far away, the full lane is chosen."""

MAX_LIMIT = 1000
MAX_RELATIONSHIP_DEPTH = 10
MAX_NAME_CHARACTERS = 1024
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
    """Whether results come with their related items; a context then has these, too, if they are relevant."""

    relationship_depth: int = 1
    """How many relations are followed one after another."""

    deadline_ms: float | None = None
    lane: Lane | None = None

    def __post_init__(self) -> None:
        check_whole_number("limit", self.limit, 1, MAX_LIMIT)
        check_whole_number("relationship_depth", self.relationship_depth, 1, MAX_RELATIONSHIP_DEPTH)
        check_fraction("min_confidence", self.min_confidence)
        check_strings("memory_types", self.memory_types)
        for kind in check_strings("kinds", self.kinds):
            check_kind(kind)
        for name in ("conversation_id", "session"):
            check_string_or_none(name, getattr(self, name))
        for name in ("date_from", "date_to"):
            check_aware_datetime_or_none(name, getattr(self, name))
        if self.date_from and self.date_to and self.date_from > self.date_to:
            raise ValidationError(
                f"date_from ({self.date_from}) is after date_to ({self.date_to}); swap them"
            )
        if self.deadline_ms is not None and not (
            isinstance(self.deadline_ms, int | float) and 0 < self.deadline_ms <= MAX_DEADLINE_MS
        ):
            raise ValidationError(
                f"deadline_ms must be a number above 0 and at most {MAX_DEADLINE_MS:,.0f}, "
                "or None for no deadline"
            )
        if self.lane not in (None, "fast", "full"):
            raise ValidationError(
                f"lane must be 'fast', 'full' or None (the deadline decides), not {self.lane!r}"
            )

    @property
    def reranks(self) -> bool:
        """Whether the cross-encoder is used: when asked for, or when the deadline leaves time for it."""
        if self.lane is not None:
            return self.lane == "full"
        return self.deadline_ms is not None and self.deadline_ms >= MIN_FULL_LANE_MS

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
    """How to search, rank, fit and format. None means the engine's default."""

    template: str | None = None
    token_budget: int | None = None
    ranker: str | Callable[[Sequence[SearchResult]], Sequence[SearchResult]] | None = None
    include_metadata: bool = False
    asked_in: str | None = None
    """The session that asks; the receipt is filed under it. (`session` filters which items may answer.)"""

    floor: float | None = None
    """The least probability of relevance with which a result is shown; None is the default, 0 shows all."""

    def __post_init__(self) -> None:
        super(ContextOptions, self).__post_init__()
        check_string_or_none("asked_in", self.asked_in)
        if self.token_budget is not None:
            check_whole_number("token_budget", self.token_budget, 1, 10_000_000)
        if self.floor is not None:
            check_fraction("floor", self.floor)


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


MAX_TEXT_CHARACTERS = 1_000_000
"""About a quarter of a million tokens: no context could show more, and an encoder reads far less."""


_Options = TypeVar("_Options", bound=SearchOptions)


def merge_options(kind: type[_Options], options: _Options | None, changes: Mapping[str, Any]) -> _Options:
    """The options with the keyword arguments in place of their fields; ValidationError if one is unknown."""
    if unknown := sorted(set(changes) - set(kind.__dataclass_fields__)):
        raise ValidationError(
            f"no option named {unknown[0]!r}; there are: {', '.join(kind.__dataclass_fields__)}"
        )
    return replace(options, **changes) if options is not None else kind(**changes)


def check_workspace(workspace: object) -> str:
    """The name of a workspace; ValidationError if it is empty, too long or not valid Unicode."""
    if not isinstance(workspace, str) or not workspace.strip():
        raise ValidationError("a workspace must be named; pass workspace='my-project'")
    if len(workspace) > MAX_NAME_CHARACTERS or "\0" in workspace:
        raise ValidationError(
            f"a workspace name has at most {MAX_NAME_CHARACTERS} characters, none of them NUL"
        )
    try:
        workspace.encode()
    except UnicodeEncodeError:
        raise ValidationError("a workspace name must be valid Unicode, without lone surrogates") from None
    return workspace


def check_whole_number(name: str, value: object, low: int, high: int) -> int:
    """The value, if it is a whole number within the bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValidationError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
    return value


def check_fraction(name: str, value: object) -> float:
    """The value, if it is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValidationError(f"{name} must be a number from 0 to 1, not {value!r}")
    return float(value)


def check_text(
    name: str, text: object, max_characters: int = MAX_TEXT_CHARACTERS, *, may_be_empty: bool = False
) -> str:
    """The text, if it can be stored; else raises a ValidationError that states what is wrong with it."""
    if not isinstance(text, str):
        raise ValidationError(f"{name} must be text, not {type(text).__name__}")
    if not may_be_empty and not text.strip():
        raise ValidationError(f"{name} is empty; say something")
    if len(text) > max_characters:
        raise ValidationError(
            f"{name} has {len(text):,} characters; the most is {max_characters:,}: split it"
        )
    if "\0" in text:
        raise ValidationError(f"{name} contains a NUL character; it is not text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValidationError(f"{name} holds half a character at {error.start} (a lone surrogate)") from None
    return text


def check_strings(name: str, value: object) -> Sequence[str]:
    """The value, if it is a sequence of strings; a single string is refused, as a sequence of letters."""
    if isinstance(value, str):
        raise ValidationError(f"{name} must be a sequence of strings; pass ({value!r},) for one")
    if not isinstance(value, Sequence | AbstractSet) or not all(isinstance(each, str) for each in value):
        raise ValidationError(f"{name} must be a sequence of strings, not {value!r}")
    return tuple(value)


def check_string_or_none(name: str, value: object) -> str | None:
    """The value, if it is a string or None; anything else would match nothing, without a word."""
    if value is not None and not isinstance(value, str):
        raise ValidationError(f"{name} must be a string or None, not {value!r}")
    return value


def check_kind(kind: str) -> str:
    """The kind, if it is one of `KINDS`; the error lists them."""
    if kind not in KINDS:
        raise ValidationError(
            f"no kind named {kind!r}; there are: {', '.join(KINDS)} (use `type` for a label of your own)"
        )
    return kind


def check_aware_datetime_or_none(name: str, value: object) -> datetime | None:
    """The value, if it is None or a datetime with a time zone."""
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ValidationError(f"{name} must be a datetime with a time zone, not {value!r}")
    return value
