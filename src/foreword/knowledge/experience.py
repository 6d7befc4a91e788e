"""One experience: what was wanted, what was believed, what was done and expected, and what came of it.

    goal → hypothesis → action → prediction → outcome → surprise, root cause, lesson

Knows the words an experience may use, what makes one complete, how sure its outcome is, and how it is written
into an item's metadata and read from it. Stores nothing.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from foreword.errors import ValidationError
from foreword.text.words import telling

if TYPE_CHECKING:
    from collections.abc import Mapping

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
Standing = Literal["open", "confirmed", "falsified", "abandoned"]
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
"""How an experience stands that has no outcome yet."""

WEIGHTS: Mapping[Tier, float] = {"gold": 1.0, "silver": 0.8, "bronze": 0.5, "abandoned": 0.2}
"""How much an outcome counts: told by a run, by the agent, by an agent that had guessed, or given up."""

UNWEIGHED = 0.5
"""How much an experience counts that has no outcome yet."""

MOST_CHARACTERS = 4_000
MOST_NOTE = 2_000
MOST_NOTES = 50
MOST_HISTORY = 40
"""So long an experience may be; of its history and its notes, the last are kept."""

_VAGUE_WORDS = (
    "maybe perhaps probably possibly might may should work works working fix fixes fixed help helps thing "
    "something somehow somewhere things wrong broken bug bugs issue issues problem problems try trying fine "
    "ok right code change changes need needs make makes"
)
_VAGUE = frozenset(_VAGUE_WORDS.split())
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """What was believed, done and expected before, until this moment."""

    timestamp: datetime
    hypothesis: str
    action: str
    prediction: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it; `auto_captured` when a test or build run said so, and not the agent."""

    status: Status
    result: str
    captured_at: datetime
    auto_captured: bool = False


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

    @property
    def status(self) -> str:
        """`open`, or how it ended."""
        return self.outcome.status if self.outcome else OPEN

    @property
    def weight(self) -> float:
        """How much it counts, 0 to 1."""
        return WEIGHTS[self.tier] if self.tier else UNWEIGHED

    @property
    def lacks(self) -> tuple[str, ...]:
        """What a falsified experience still has to say: its surprise, its root cause, or nothing."""
        if self.status != "falsified":
            return ()
        told = {"surprise": self.surprise, "root_cause": self.root_cause}
        return tuple(name for name, value in told.items() if not value)


def tier_of(experience: Experience) -> Tier | None:
    """How sure the outcome is: gold from a run, silver from the agent, bronze when it had only guessed."""
    if experience.outcome is None:
        return None
    if experience.outcome.status == "abandoned":
        return "abandoned"
    if experience.outcome.auto_captured:
        return "gold"
    return "bronze" if says_little(experience.hypothesis, experience.goal) else "silver"


def says_little(hypothesis: str, goal: str) -> bool:
    """Whether a hypothesis adds nothing to the goal but words such as `maybe` and `works`."""
    return not set(telling(hypothesis)) - set(telling(goal)) - _VAGUE


# What may be said ----------------------------------------------------------------------------------------


def said(name: str, text: object, most: int = MOST_CHARACTERS, *, empty: bool = False) -> str:
    """A text that an experience can hold, or an error that says what is wrong with it."""
    if not isinstance(text, str):
        raise ValidationError(f"{name} must be text, not {type(text).__name__}")
    if not empty and not text.strip():
        raise ValidationError(f"{name} is empty; say it in a sentence")
    if len(text) > most:
        raise ValidationError(f"{name} has {len(text):,} characters; the most is {most:,}: say it shorter")
    if _NO_TEXT.search(text):
        raise ValidationError(f"{name} holds a NUL or half a character; it is not text")
    return text.strip()


def one_of(name: str, value: object, known: tuple[_Word, ...]) -> _Word:
    """One of the known words, or an error that lists them."""
    for word in known:
        if word == value:
            return word
    raise ValidationError(f"no {name} named {value!r}; there are: {', '.join(known)}")


def sound_cause(value: RootCause | None) -> RootCause | None:
    """A root cause whose category is known and that says something, or an error."""
    if value is None:
        return None
    return RootCause(
        one_of("root cause", value.category, CAUSES), said("the root cause's description", value.description)
    )


def sound_lesson(value: Lesson | None) -> Lesson | None:
    """A lesson that says what worked, or an error."""
    if value is None:
        return None
    return Lesson(
        said("what_worked", value.what_worked), said("the lesson's takeaway", value.takeaway, empty=True)
    )


# In an item's metadata -----------------------------------------------------------------------------------

_PLAIN = ("goal", "hypothesis", "action", "prediction")


def facts(experience: Experience) -> dict[str, Any]:
    """An experience as an item's metadata."""
    outcome = experience.outcome
    return {
        "experience": experience.id,
        "started_at": experience.created_at.isoformat(),
        "domain": experience.domain,
        "strategy": experience.strategy,
        **{name: getattr(experience, name) for name in _PLAIN},
        "history": [
            [entry.timestamp.isoformat(), entry.hypothesis, entry.action, entry.prediction]
            for entry in experience.history
        ],
        "iteration_count": experience.iteration_count,
        "outcome": asdict(outcome) | {"captured_at": outcome.captured_at.isoformat()} if outcome else None,
        "surprise": experience.surprise,
        "root_cause": asdict(experience.root_cause) if experience.root_cause else None,
        "lesson": asdict(experience.lesson) if experience.lesson else None,
        "tier": experience.tier,
        "notes": list(experience.notes),
    }


def experience_of(item: Item) -> Experience | None:
    """The experience that an item holds; None when it is a statement of that kind, or was written over."""
    if item.kind != "experience" or "experience" not in item.metadata:
        return None
    try:
        return _read(item.metadata, item.session)
    except (KeyError, TypeError, ValueError, ValidationError):
        return None


def _read(held: Mapping[str, Any], session: str | None) -> Experience:
    outcome, root, learnt = held["outcome"], held["root_cause"], held["lesson"]
    return Experience(
        id=str(held["experience"]),
        session=session,
        created_at=datetime.fromisoformat(held["started_at"]),
        domain=one_of("domain", held["domain"], DOMAINS),
        strategy=one_of("strategy", held["strategy"], STRATEGIES),
        goal=str(held["goal"]),
        hypothesis=str(held["hypothesis"]),
        action=str(held["action"]),
        prediction=str(held["prediction"]),
        history=tuple(
            HistoryEntry(datetime.fromisoformat(at), *map(str, rest)) for at, *rest in held["history"]
        ),
        iteration_count=int(held["iteration_count"]),
        outcome=_outcome(outcome) if outcome else None,
        surprise=str(held["surprise"]),
        root_cause=_root_cause(root) if root else None,
        lesson=Lesson(str(learnt["what_worked"]), str(learnt["takeaway"])) if learnt else None,
        tier=one_of("tier", held["tier"], TIERS) if held["tier"] else None,
        notes=tuple(map(str, held["notes"])),
    )


def _outcome(held: Mapping[str, Any]) -> Outcome:
    status = one_of("status", held["status"], STATUSES)
    captured_at = datetime.fromisoformat(held["captured_at"])
    return Outcome(status, str(held["result"]), captured_at, auto_captured=bool(held["auto_captured"]))


def _root_cause(held: Mapping[str, Any]) -> RootCause:
    return RootCause(one_of("root cause", held["category"], CAUSES), str(held["description"]))
