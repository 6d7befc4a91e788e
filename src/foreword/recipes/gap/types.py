"""The values passed around when an agent lacks context, and what a memory must offer to fill the gap.

The values are frozen and check themselves. An invalid field is logged as a warning and the value is created
all the same, because the graph that it belongs to must go on. Only an `InjectionConfig` whose limits have the
wrong type raises. Nothing here reads a state or searches.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

from foreword.errors import ValidationError
from foreword.log import get_logger
from foreword.types import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

_log = get_logger("foreword.gap")

ContextSource = Literal["memory", "state", "sprint", "architecture"]
"""Where context for a gap may come from."""

GapReason = Literal[
    "clarification_requested", "circular_logic", "long_cycle_time", "gate_failure", "explicit_flag"
]
"""What shows that an agent lacks context."""

GapOutcome = Literal["none", "filled", "unfilled"]
"""The result of looking for a gap: there is none, it was filled, or nothing was found that fills it."""

VALID_CONTEXT_SOURCES: frozenset[str] = frozenset(get_args(ContextSource))
VALID_GAP_REASONS: frozenset[str] = frozenset(get_args(GapReason))
DEFAULT_MAX_CONTEXT_ITEMS = 5
DEFAULT_MIN_RELEVANCE_SCORE = 0.7
DEFAULT_MAX_CONTEXT_SIZE_BYTES = 100_000
DEFAULT_MAX_CONTEXT_TOKENS = 25_000
"""About as many tokens as the bytes above hold in English."""

DEFAULT_ENABLED_SOURCES: tuple[ContextSource, ...] = ("memory", "state")
INJECTED_CONTEXT, HANDOFF_CONTEXT = "injected_context", "handoff_context"
VALID_INJECTION_TARGETS: frozenset[str] = frozenset({INJECTED_CONTEXT, HANDOFF_CONTEXT})


def new_gap_id() -> str:
    """A new random id for a gap."""
    return f"gap-{secrets.token_hex(6)}"


def _now_as_iso() -> str:
    """The current time, as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat()


@dataclass(frozen=True, slots=True)
class GapSign:
    """One reason to believe that context is missing: its confidence, the evidence, what is needed, by whom.

    `position` is the index of the message that shows it, if a message does.
    """

    reason: GapReason
    confidence: float
    evidence: str
    needs: str = ""
    agent: str = ""
    position: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The sign as plain values."""
        return _fields_as_json_values(self, "reason confidence evidence")


@dataclass(frozen=True, slots=True)
class ContextGap:
    """An agent lacks context. `reasons` has every sign of it; `reason` is the surest of them."""

    gap_id: str
    agent: str
    reason: GapReason
    context_query: str
    confidence: float
    indicators: tuple[str, ...]
    detected_at: str = field(default_factory=_now_as_iso)
    reasons: tuple[GapSign, ...] = ()
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        _warn_about_invalid_fields(
            self,
            reason=self.reason in VALID_GAP_REASONS,
            confidence=_is_fraction(self.confidence),
            agent=bool(self.agent),
            gap_id=bool(self.gap_id),
            context_query=bool(self.context_query),
        )

    def to_dict(self) -> dict[str, Any]:
        """The gap as plain values."""
        names = "gap_id agent reason detected_at context_query confidence indicators reasons notes"
        return _fields_as_json_values(self, names)


@dataclass(frozen=True, slots=True)
class RetrievedContext:
    """A text that may fill a gap. Scores of all sources are on one scale, from 0 to 1."""

    source: ContextSource
    content: str
    relevance_score: float
    metadata: Mapping[str, Any] = field(default_factory=dict)
    retrieved_at: str = field(default_factory=_now_as_iso)

    def __post_init__(self) -> None:
        _warn_about_invalid_fields(
            self,
            source=self.source in VALID_CONTEXT_SOURCES,
            relevance_score=_is_fraction(self.relevance_score),
            content=bool(self.content),
        )

    def to_dict(self) -> dict[str, Any]:
        """The context as plain values."""
        return _fields_as_json_values(self, "source content relevance_score metadata retrieved_at")


@dataclass(frozen=True, slots=True)
class InjectionResult:
    """What was done about a gap.

    `contexts_retrieved` is all that was found for it, `payload` the part of it that was injected. `update` is
    what a node of a graph returns, for states that cannot be written in place: the injected contexts merged
    with those the state holds. `given_before` says that the state got an answer after the agent asked. The
    receipt, if an engine stores one, says why each context was injected or not.
    """

    gap: ContextGap
    contexts_retrieved: tuple[RetrievedContext, ...]
    injected: bool
    injection_target: str
    total_context_size: int
    duration_ms: float
    payload: Mapping[str, Any] = field(default_factory=dict)
    update: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    receipt_id: str = ""
    given_before: bool = False
    tokens: int = 0

    @property
    def outcome(self) -> GapOutcome:
        """`filled` if the agent's state now has something that may fill the gap, else `unfilled`."""
        return "filled" if self.injected or self.given_before else "unfilled"

    def __post_init__(self) -> None:
        size = self.total_context_size
        _warn_about_invalid_fields(
            self,
            injection_target=self.injection_target in VALID_INJECTION_TARGETS,
            contexts_retrieved=bool(self.contexts_retrieved) or not self.injected,
            total_context_size=isinstance(size, int) and not isinstance(size, bool) and size >= 0,
            duration_ms=self.duration_ms >= 0,
        )

    def to_dict(self) -> dict[str, Any]:
        """The injection as plain values."""
        names = "gap contexts_retrieved injected injection_target total_context_size duration_ms"
        return _fields_as_json_values(self, f"{names} outcome tokens notes receipt_id")


@dataclass(frozen=True, slots=True)
class InjectionConfig:
    """How much may be injected, how relevant it must be, and where it may come from."""

    max_context_items: int = DEFAULT_MAX_CONTEXT_ITEMS
    min_relevance_score: float = DEFAULT_MIN_RELEVANCE_SCORE
    max_context_size_bytes: int = DEFAULT_MAX_CONTEXT_SIZE_BYTES
    enabled_sources: tuple[ContextSource, ...] = DEFAULT_ENABLED_SOURCES
    log_injections: bool = True
    max_context_tokens: int = DEFAULT_MAX_CONTEXT_TOKENS

    def __post_init__(self) -> None:
        floor = self.min_relevance_score
        if not _is_number(floor):
            raise ValidationError(f"min_relevance_score must be a number from 0 to 1, not {floor!r}")
        _warn_about_invalid_fields(self, min_relevance_score=_is_fraction(floor))
        for name in ("max_context_items", "max_context_size_bytes", "max_context_tokens"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise ValidationError(f"{name} must be a whole number, not {value!r}")
            _warn_about_invalid_fields(self, **{name: value > 0})
        sources: object = self.enabled_sources
        if isinstance(sources, str):  # else its letters would be taken for sources
            raise ValidationError(f"enabled_sources must be a tuple, not the text {sources!r}")
        if unknown := sorted(set(self.enabled_sources) - VALID_CONTEXT_SOURCES):
            _warn_about_field(self, "enabled_sources", unknown)

    def to_dict(self) -> dict[str, Any]:
        """The limits as plain values."""
        return _fields_as_json_values(self, " ".join(self.__slots__))


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """One result of a memory: its key, its text, how relevant it is (0 to 1), and its metadata."""

    key: str
    content: str
    score: float
    metadata: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class MemoryStore(Protocol):
    """A memory that can be searched; results come best first, with scores from 0 to 1."""

    async def search_similar(self, query: str, k: int = 5) -> Sequence[MemoryResult]:
        """Anything similar to a question."""
        ...

    async def search_decisions(
        self, query: str, filters: Mapping[str, Any] | None = None, k: int = 5
    ) -> Sequence[MemoryResult]:
        """Decisions similar to a question."""
        ...

    async def search_patterns(
        self, query: str, pattern_type: str | None = None, k: int = 5
    ) -> Sequence[MemoryResult]:
        """Patterns (ways of doing things) similar to a question."""
        ...

    async def get_decisions_by_agent(self, agent_type: str, limit: int = 10) -> Sequence[MemoryResult]:
        """What an agent decided, newest first."""
        ...


@runtime_checkable
class RelevanceJudge(Protocol):
    """A memory that can also rate texts that it does not hold."""

    async def judge(self, query: str, texts: Sequence[str], kinds: Sequence[str]) -> list[float]:
        """The relevance of each text, 0 to 1, as an item of its kind."""
        ...


@runtime_checkable
class ArchitectureSearch(Protocol):
    """A memory that knows which of its items are about architecture."""

    async def search_architecture(self, query: str, k: int = 5) -> Sequence[MemoryResult]:
        """Architecture decisions and constraints similar to a question."""
        ...


def _fields_as_json_values(owner: object, names: str) -> dict[str, Any]:
    """These fields, as values that can be written as JSON."""
    return {name: _as_json_value(getattr(owner, name)) for name in names.split()}


def _as_json_value(value: Any) -> Any:  # noqa: ANN401  (whatever a field holds)
    """A value as JSON can hold it: notes as text, objects by their `to_dict`."""
    if isinstance(value, Note):
        return f"{value.part}: {value.message}"
    if isinstance(value, list | tuple):
        return [_as_json_value(one) for one in value]
    if isinstance(value, Mapping):
        return dict(value)
    return value.to_dict() if hasattr(value, "to_dict") else value


def _warn_about_invalid_fields(owner: object, **valid: bool) -> None:
    """Log a warning for each field that is marked False."""
    for name, is_valid in valid.items():
        if not is_valid:
            _warn_about_field(owner, name, getattr(owner, name))


def _warn_about_field(owner: object, name: str, value: object) -> None:
    _log.warning("a value makes no sense", type=type(owner).__name__, field=name, value=repr(value)[:200])


def _is_fraction(value: object) -> bool:
    return _is_number(value) and 0.0 <= value <= 1.0  # type: ignore[operator]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
