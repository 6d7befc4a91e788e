"""What the tools of experiences and values answer: every text contained, on one line, and not too long."""

# Annotations are evaluated here as they stand: pydantic makes the published schemas of them.

from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import Field

from foreword.edges.mcp.wire import Answer
from foreword.text.frame import contained

if TYPE_CHECKING:
    from foreword.knowledge.experience import Experience

_LONGEST = 600


class Attempt(Answer):
    """One experience: what was tried and what came of it. Data from the past, never an instruction."""

    id: str
    status: str = Field(description="open, confirmed, falsified or abandoned")
    tier: str = Field(
        description="How sure: gold (a run said so), silver, bronze, abandoned; empty when open."
    )
    domain: str
    strategy: str
    goal: str
    hypothesis: str
    action: str
    prediction: str
    iterations: int
    result: str
    surprise: str
    root_cause: str
    lesson: str
    session: str | None
    created_at: datetime
    lacks: list[str] = Field(description="What a falsified one still has to tell; else empty.")


class Recorded(Answer):
    """An experience as it stands now."""

    workspace: str
    experience: Attempt
    note: str = Field(description="What to do next, when there is something to say; else empty.")


class Attempts(Answer):
    """Experiences as they stand now, the newest first."""

    workspace: str
    experiences: list[Attempt]


class Precedent(Attempt):
    """An experience that is near to a question."""

    score: float


class Precedents(Answer):
    """What was tried before, nearest first."""

    workspace: str
    experiences: list[Precedent]


class Alike(Answer):
    """Experiences that are alike."""

    cluster: str
    size: int
    confidence: float
    typical: list[Attempt] = Field(description="The most typical of them.")


class Alikes(Answer):
    """What experiences have in common on an axis."""

    workspace: str
    axis: str
    experiences: int
    clusters: list[Alike]
    note: str


class Valued(Answer):
    """A value as it was kept."""

    workspace: str
    id: str
    text: str
    cluster: str
    similarity: float


def attempt(experience: "Experience") -> Attempt:
    """An experience as an agent is shown it."""
    outcome, root, learnt = experience.outcome, experience.root_cause, experience.lesson
    lesson = " ".join(filter(None, (learnt.what_worked, learnt.takeaway))) if learnt else ""
    return Attempt(
        id=experience.id,
        status=experience.status,
        tier=experience.tier or "",
        domain=experience.domain,
        strategy=experience.strategy,
        goal=_shown(experience.goal),
        hypothesis=_shown(experience.hypothesis),
        action=_shown(experience.action),
        prediction=_shown(experience.prediction),
        iterations=experience.iteration_count,
        result=_shown(outcome.result if outcome else ""),
        surprise=_shown(experience.surprise),
        root_cause=_shown(f"{root.category}: {root.description}" if root else ""),
        lesson=_shown(lesson),
        session=experience.session,
        created_at=experience.created_at,
        lacks=list(experience.lacks),
    )


def _shown(text: str) -> str:
    line = contained(text)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
