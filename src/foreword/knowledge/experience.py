"""One experience: what was wanted, what was believed, what was done and expected, and what came of it.

    goal → hypothesis → action → prediction → outcome → surprise, root cause, lesson

Knows the words an experience may use, what makes one complete, how sure its outcome is, and how it is written
to an item's metadata and read from it. Stores nothing.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from foreword.errors import ValidationError
from foreword.knowledge.evidence import PROOFS, evidence_to_metadata, read_evidence
from foreword.text.words import content_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foreword.knowledge.evidence import Evidence, Proof
    from foreword.types import Item

Domain = Literal[
    "debugging",
    "refactoring",
    "feature",
    "testing",
    "configuration",
    "documentation",
    "performance",
    "security",
    "integration",
]
Strategy = Literal[
    "systematic-elimination",
    "trial-and-error",
    "research-first",
    "divide-and-conquer",
    "root-cause-analysis",
    "copy-from-similar",
    "check-assumptions",
    "read-the-error",
    "ask-user",
]
Status = Literal["confirmed", "falsified", "abandoned"]
AnyStatus = Literal["open", "confirmed", "falsified", "abandoned"]
Tier = Literal["gold", "silver", "bronze", "abandoned"]
Cause = Literal[
    "wrong-assumption",
    "missing-knowledge",
    "oversight",
    "environment-issue",
    "misleading-symptom",
    "incomplete-fix",
    "wrong-scope",
    "test-isolation",
    "timing-issue",
]
DOMAINS: tuple[Domain, ...] = get_args(Domain)
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
STATUSES: tuple[Status, ...] = get_args(Status)
TIERS: tuple[Tier, ...] = get_args(Tier)
CAUSES: tuple[Cause, ...] = get_args(Cause)

OPEN = "open"
"""The status of an experience that has no outcome yet."""

TIER_WEIGHTS: Mapping[Tier, float] = {"gold": 1.0, "silver": 0.8, "bronze": 0.5, "abandoned": 0.2}
"""How much an outcome counts. Gold: what failed before the change passes after it; silver: a run or the
agent says so; bronze: the hypothesis was a guess; abandoned: it was given up."""

OPEN_WEIGHT = 0.5
"""How much an experience without an outcome counts."""

MAX_TEXT_CHARACTERS = 4_000
MAX_NOTE_CHARACTERS = 2_000
MAX_NOTES = 50
MAX_HISTORY_ENTRIES = 40
MAX_AMENDMENTS = 20
"""At most this many of the last notes, history entries and amendments are kept."""

_VAGUE_WORDS = (
    "maybe perhaps probably possibly might may should work works working fix fixes fixed help helps thing "
    "something somehow somewhere things wrong broken bug bugs issue issues problem problems try trying fine "
    "ok right code change changes need needs make makes"
)
_VAGUE = frozenset(_VAGUE_WORDS.split())
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """An earlier plan, which was given up at `timestamp`, and what a run had shown of it."""

    timestamp: datetime
    hypothesis: str
    action: str
    prediction: str
    result: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an experience ended; `auto_captured` if a test or build run showed it, and not the agent.

    `proof` says what showed it; `names` are what failed before the change and passes after it.
    """

    status: Status
    result: str
    captured_at: datetime
    auto_captured: bool = False
    proof: Proof = "stated"
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Amendment:
    """An earlier verdict that was changed: its status and result, when it was changed, and why."""

    timestamp: datetime
    status: str
    result: str
    reason: str


@dataclass(frozen=True, slots=True)
class RootCause:
    """Why a hypothesis failed."""

    category: Cause
    description: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """What worked, and what to take from it."""

    what_worked: str
    takeaway: str = ""


@dataclass(frozen=True, slots=True)
class Experience:
    """One attempt. It is open until it has an outcome; its id stays the same through all its versions."""

    id: str
    session: str | None
    created_at: datetime
    domain: Domain
    strategy: Strategy
    goal: str
    hypothesis: str
    action: str
    prediction: str
    history: tuple[HistoryEntry, ...] = ()
    iteration_count: int = 1
    outcome: Outcome | None = None
    surprise: str = ""
    root_cause: RootCause | None = None
    lesson: Lesson | None = None
    tier: Tier | None = None
    notes: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    amendments: tuple[Amendment, ...] = ()

    @property
    def status(self) -> str:
        """`open`, or how it ended."""
        return self.outcome.status if self.outcome else OPEN

    @property
    def weight(self) -> float:
        """How much it counts, 0 to 1."""
        return TIER_WEIGHTS[self.tier] if self.tier else OPEN_WEIGHT

    @property
    def lacks(self) -> tuple[str, ...]:
        """The explanations that are missing, by the names of their fields.

        A falsified experience needs a surprise and a root cause; one that a run confirmed after a failure
        needs a root cause.
        """
        if self.status == "falsified":
            explanation = {"surprise": self.surprise, "root_cause": self.root_cause}
            return tuple(name for name, value in explanation.items() if not value)
        failed = any(one.kind == "run" and not one.passed for one in self.evidence)
        by_run = self.outcome is not None and self.outcome.auto_captured and self.status == "confirmed"
        had_failed = by_run and (failed or bool(self.outcome and self.outcome.names))
        return ("root_cause",) if had_failed and self.root_cause is None else ()


def outcome_tier(experience: Experience) -> Tier | None:
    """How sure the outcome of an experience is; None if it has no outcome.

    Gold when what failed before the change passes after it; silver when a run passed after the change, or the
    agent says so; bronze when the hypothesis was only a guess.
    """
    if experience.outcome is None:
        return None
    if experience.outcome.status == "abandoned":
        return "abandoned"
    if experience.outcome.proof == "failed then passed":
        return "gold"
    return "bronze" if is_vague_hypothesis(experience.hypothesis, experience.goal) else "silver"


def is_vague_hypothesis(hypothesis: str, goal: str) -> bool:
    """Whether a hypothesis adds nothing to the goal but words such as `maybe` and `works`."""
    return not set(content_words(hypothesis)) - set(content_words(goal)) - _VAGUE


# Checks --------------------------------------------------------------------------------------------------


def check_text(
    name: str, text: object, max_characters: int = MAX_TEXT_CHARACTERS, *, may_be_empty: bool = False
) -> str:
    """The text, stripped; ValidationError when it is not text, is empty or is too long."""
    if not isinstance(text, str):
        raise ValidationError(f"{name} must be text, not {type(text).__name__}")
    if not may_be_empty and not text.strip():
        raise ValidationError(f"{name} is empty; say it in a sentence")
    if len(text) > max_characters:
        length = f"{name} has {len(text):,} characters; the most is {max_characters:,}"
        raise ValidationError(f"{length}: say it shorter")
    if _NOT_TEXT.search(text):
        raise ValidationError(f"{name} holds a NUL or half a character; it is not text")
    return text.strip()


def check_choice(name: str, value: object, known: tuple[_Word, ...]) -> _Word:
    """The value, if it is one of the known words; else a ValidationError that lists them."""
    for word in known:
        if word == value:
            return word
    raise ValidationError(f"no {name} named {value!r}; there are: {', '.join(known)}")


def check_root_cause(value: RootCause | None) -> RootCause | None:
    """The root cause; ValidationError when its category is not known or its description is empty."""
    if value is None:
        return None
    category = check_choice("root cause", value.category, CAUSES)
    return RootCause(category, check_text("the root cause's description", value.description))


def check_lesson(value: Lesson | None) -> Lesson | None:
    """The lesson; ValidationError when it does not say what worked."""
    if value is None:
        return None
    what_worked = check_text("what_worked", value.what_worked)
    return Lesson(what_worked, check_text("the lesson's takeaway", value.takeaway, may_be_empty=True))


# In an item's metadata -----------------------------------------------------------------------------------


def experience_to_metadata(experience: Experience) -> dict[str, Any]:
    """An experience as an item's metadata."""
    fields = asdict(experience)
    del fields["id"], fields["session"], fields["created_at"]
    if experience.outcome:
        names = list(experience.outcome.names)
        fields["outcome"] |= {"captured_at": experience.outcome.captured_at.isoformat(), "names": names}
    fields["history"] = [
        [entry.timestamp.isoformat(), entry.hypothesis, entry.action, entry.prediction, entry.result]
        for entry in experience.history
    ]
    fields["notes"] = list(experience.notes)
    fields["evidence"] = evidence_to_metadata(experience.evidence)
    fields["amendments"] = [
        [one.timestamp.isoformat(), one.status, one.result, one.reason] for one in experience.amendments
    ]
    for name in ("evidence", "amendments"):  # most have none
        if not fields[name]:
            del fields[name]
    return {"experience": experience.id, "started_at": experience.created_at.isoformat(), **fields}


def read_experience(item: Item) -> Experience | None:
    """The experience that an item holds; None when its metadata does not hold one."""
    if item.kind != "experience" or "experience" not in item.metadata:
        return None
    try:
        return _experience_from_metadata(item.metadata, item.session)
    except (KeyError, TypeError, ValueError, ValidationError):
        return None


def _experience_from_metadata(metadata: Mapping[str, Any], session: str | None) -> Experience:
    """The experience that metadata describes; the errors that malformed metadata causes are raised."""
    outcome, root_cause, lesson = metadata["outcome"], metadata["root_cause"], metadata["lesson"]
    read = _outcome_from_fields(outcome) if outcome else None
    tier = check_choice("tier", metadata["tier"], TIERS) if metadata["tier"] else None
    if tier == "gold" and read is not None and read.proof != "failed then passed":
        tier = "silver"  # stored by a version that took any line of a run for proof
    return Experience(
        id=str(metadata["experience"]),
        session=session,
        created_at=datetime.fromisoformat(metadata["started_at"]),
        domain=check_choice("domain", metadata["domain"], DOMAINS),
        strategy=check_choice("strategy", metadata["strategy"], STRATEGIES),
        goal=str(metadata["goal"]),
        hypothesis=str(metadata["hypothesis"]),
        action=str(metadata["action"]),
        prediction=str(metadata["prediction"]),
        history=tuple(
            HistoryEntry(datetime.fromisoformat(at), *map(str, rest)) for at, *rest in metadata["history"]
        ),
        iteration_count=int(metadata["iteration_count"]),
        outcome=read,
        surprise=str(metadata["surprise"]),
        root_cause=_root_cause_from_fields(root_cause) if root_cause else None,
        lesson=Lesson(str(lesson["what_worked"]), str(lesson["takeaway"])) if lesson else None,
        tier=tier,
        notes=tuple(map(str, metadata["notes"])),
        evidence=read_evidence(metadata.get("evidence", [])),
        amendments=tuple(
            Amendment(datetime.fromisoformat(at), *map(str, rest))
            for at, *rest in metadata.get("amendments", ())
        ),
    )


def _outcome_from_fields(fields: Mapping[str, Any]) -> Outcome:
    status = check_choice("status", fields["status"], STATUSES)
    return Outcome(
        status,
        str(fields["result"]),
        datetime.fromisoformat(fields["captured_at"]),
        auto_captured=bool(fields["auto_captured"]),
        proof=check_choice("proof", fields.get("proof", "stated"), PROOFS),
        names=tuple(map(str, fields.get("names", ()))),
    )


def _root_cause_from_fields(fields: Mapping[str, Any]) -> RootCause:
    return RootCause(check_choice("root cause", fields["category"], CAUSES), str(fields["description"]))
