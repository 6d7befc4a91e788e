"""What travels when an agent lacks context: the gap, what was found for it, what was injected, the limits.

Frozen values that check themselves: one that makes no sense is still made, because the graph it stands in
must go on, and a warning says what is wrong with it. Only limits that are no numbers at all are refused, when
they are written down and not in the middle of a graph. Nothing here reads a state or searches.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from foreword.errors import ValidationError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foreword.types import Note

_log = get_logger("foreword.gap")

ContextSource = Literal["memory", "state", "sprint", "architecture"]
"""Where context for a gap may come from."""

GapReason = Literal[
    "clarification_requested", "circular_logic", "long_cycle_time", "gate_failure", "explicit_flag"
]
"""What shows that an agent lacks context."""

VALID_CONTEXT_SOURCES: frozenset[str] = frozenset(get_args(ContextSource))
VALID_GAP_REASONS: frozenset[str] = frozenset(get_args(GapReason))
DEFAULT_MAX_CONTEXT_ITEMS = 5
DEFAULT_MIN_RELEVANCE_SCORE = 0.7
DEFAULT_MAX_CONTEXT_SIZE_BYTES = 100_000
DEFAULT_MAX_CONTEXT_TOKENS = 25_000
"""About what the bytes above are in plain English."""

DEFAULT_ENABLED_SOURCES: tuple[ContextSource, ...] = ("memory", "state")
INJECTED_CONTEXT, HANDOFF_CONTEXT = "injected_context", "handoff_context"
VALID_INJECTION_TARGETS: frozenset[str] = frozenset({INJECTED_CONTEXT, HANDOFF_CONTEXT})


def new_gap_id() -> str:
    """A name for a gap that no other has."""
    return f"gap-{secrets.token_hex(6)}"


def timestamp() -> str:
    """This moment, as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat()


@dataclass(frozen=True, slots=True)
class Sign:
    """One reason to believe that context is missing: how sure, the evidence, what is needed, and by whom.

    `at` is the place of the message that shows it, if one does.
    """

    reason: GapReason
    confidence: float
    evidence: str
    needs: str = ""
    agent: str = ""
    at: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The sign as plain values."""
        return {"reason": self.reason, "confidence": self.confidence, "evidence": self.evidence}


@dataclass(frozen=True, slots=True)
class ContextGap:
    """An agent lacks context. `reason` is the surest of `reasons`, all of which were found."""

    gap_id: str
    agent: str
    reason: GapReason
    context_query: str
    confidence: float
    indicators: tuple[str, ...]
    detected_at: str = field(default_factory=timestamp)
    reasons: tuple[Sign, ...] = ()
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        _warn_unless(self.reason in VALID_GAP_REASONS, "ContextGap", "reason", self.reason)
        _warn_unless(_is_share(self.confidence), "ContextGap", "confidence", self.confidence)
        _warn_unless(bool(self.agent), "ContextGap", "agent", self.agent)
        _warn_unless(bool(self.gap_id), "ContextGap", "gap_id", self.gap_id)

    def to_dict(self) -> dict[str, Any]:
        """The gap as plain values."""
        return {
            "gap_id": self.gap_id,
            "agent": self.agent,
            "reason": self.reason,
            "detected_at": self.detected_at,
            "context_query": self.context_query,
            "confidence": self.confidence,
            "indicators": list(self.indicators),
            "reasons": [sign.to_dict() for sign in self.reasons],
            "notes": [f"{note.part}: {note.message}" for note in self.notes],
        }


@dataclass(frozen=True, slots=True)
class RetrievedContext:
    """Something that may fill a gap. `relevance_score` means the same whatever the source."""

    source: ContextSource
    content: str
    relevance_score: float
    metadata: Mapping[str, Any] = field(default_factory=dict)
    retrieved_at: str = field(default_factory=timestamp)

    def __post_init__(self) -> None:
        _warn_unless(self.source in VALID_CONTEXT_SOURCES, "RetrievedContext", "source", self.source)
        fits = _is_share(self.relevance_score)
        _warn_unless(fits, "RetrievedContext", "relevance_score", self.relevance_score)
        _warn_unless(bool(self.content), "RetrievedContext", "content", self.content)

    def to_dict(self) -> dict[str, Any]:
        """The context as plain values."""
        return {
            "source": self.source,
            "content": self.content,
            "relevance_score": self.relevance_score,
            "metadata": dict(self.metadata),
            "retrieved_at": self.retrieved_at,
        }


@dataclass(frozen=True, slots=True)
class InjectionResult:
    """What was done about a gap.

    `contexts_retrieved` is all that was found for it, `payload` what of that was injected. `update` is what a
    node of a graph returns, so that the state gets it even where it cannot be written in place. The receipt,
    if an engine keeps one, says why each was taken or left.
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

    def __post_init__(self) -> None:
        known = self.injection_target in VALID_INJECTION_TARGETS
        _warn_unless(known, "InjectionResult", "injection_target", self.injection_target)
        size = self.total_context_size
        _warn_unless(_is_count(size), "InjectionResult", "total_context_size", size)
        _warn_unless(self.duration_ms >= 0, "InjectionResult", "duration_ms", self.duration_ms)

    def to_dict(self) -> dict[str, Any]:
        """The injection as plain values."""
        return {
            "gap": self.gap.to_dict(),
            "contexts_retrieved": [context.to_dict() for context in self.contexts_retrieved],
            "injected": self.injected,
            "injection_target": self.injection_target,
            "total_context_size": self.total_context_size,
            "duration_ms": self.duration_ms,
            "notes": [f"{note.part}: {note.message}" for note in self.notes],
            "receipt_id": self.receipt_id,
        }


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
        _warn_unless(_is_share(floor), "InjectionConfig", "min_relevance_score", floor)
        for name in ("max_context_items", "max_context_size_bytes", "max_context_tokens"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise ValidationError(f"{name} must be a whole number, not {value!r}")
            _warn_unless(value > 0, "InjectionConfig", name, value)
        sources: object = self.enabled_sources
        if isinstance(sources, str):  # else its letters would be taken for sources
            raise ValidationError(f"enabled_sources must be a tuple, not the text {sources!r}")
        unknown = sorted(set(self.enabled_sources) - VALID_CONTEXT_SOURCES)
        _warn_unless(not unknown, "InjectionConfig", "enabled_sources", unknown)

    def to_dict(self) -> dict[str, Any]:
        """The limits as plain values."""
        return {
            "max_context_items": self.max_context_items,
            "min_relevance_score": self.min_relevance_score,
            "max_context_size_bytes": self.max_context_size_bytes,
            "enabled_sources": list(self.enabled_sources),
            "log_injections": self.log_injections,
            "max_context_tokens": self.max_context_tokens,
        }


def _warn_unless(sound: bool, kind: str, name: str, value: object) -> None:  # noqa: FBT001  (what is asked)
    if not sound:
        _log.warning("a value makes no sense", type=kind, field=name, value=repr(value)[:200])


def _is_share(value: object) -> bool:
    return _is_number(value) and 0.0 <= value <= 1.0  # type: ignore[operator]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
