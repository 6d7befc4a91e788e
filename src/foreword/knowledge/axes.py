"""Four ways to look at an experience: the whole, its strategy, its surprise, its root cause.

Each axis is a text made of the experience alone, embedded in a vector space of its own by the one encoder, so
that experiences can be alike in why they failed though their goals have nothing in common. An experience that
has nothing to say on an axis has no text there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from foreword.knowledge.experience import experience_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from foreword.knowledge.experience import Experience
    from foreword.types import Item

Axis = Literal["full", "strategy", "surprise", "root_cause"]
AXES: tuple[Axis, ...] = get_args(Axis)

SPACES: Mapping[Axis, str] = {
    "full": "semantic",
    "strategy": "strategy",
    "surprise": "surprise",
    "root_cause": "root_cause",
}
"""The vector space of each axis; the whole is an item's text, which the semantic space has anyway."""


def full(experience: Experience) -> str:
    """The whole story: it is the text of the experience's item."""
    lines = [
        ("Goal", experience.goal),
        ("Hypothesis", experience.hypothesis),
        ("Action", experience.action),
        ("Prediction", experience.prediction),
    ]
    if experience.outcome:
        lines.append(("Outcome", f"{experience.outcome.status} - {experience.outcome.result}"))
    lines += [("Surprise", experience.surprise), ("Lesson", _what_worked(experience))]
    return _lines(lines)


def strategy(experience: Experience) -> str:
    """How a way of working fared; nothing before there is an outcome."""
    if experience.outcome is None:
        return ""
    ended = f"{experience.outcome.status} after {experience.iteration_count} iteration(s)"
    return _lines(
        [
            ("Strategy", experience.strategy),
            ("Applied to", experience.goal),
            ("Outcome", ended),
            ("What worked", _what_worked(experience)),
        ]
    )


def surprise(experience: Experience) -> str:
    """What was expected and what came instead; nothing when nothing surprised."""
    if experience.outcome is None or not experience.surprise:
        return ""
    root = experience.root_cause
    return _lines(
        [
            ("Expected", experience.prediction),
            ("Actual", experience.outcome.result),
            ("Surprise", experience.surprise),
            ("Root cause", f"{root.category} - {root.description}" if root else ""),
        ]
    )


def root_cause(experience: Experience) -> str:
    """Why the hypothesis failed; nothing when nobody has said so."""
    if experience.outcome is None or experience.root_cause is None:
        return ""
    return _lines(
        [
            ("Category", experience.root_cause.category),
            ("Description", experience.root_cause.description),
            ("Context", f"{experience.domain} - {experience.strategy}"),
            ("Original hypothesis", experience.hypothesis),
        ]
    )


def gist(axis: Axis, experience: Experience) -> str:
    """What an experience says on an axis in a sentence, as somebody would say it who sums up several."""
    learnt, root = experience.lesson, experience.root_cause
    lesson = (learnt.takeaway or learnt.what_worked) if learnt else ""
    match axis:
        case "surprise":
            return experience.surprise
        case "root_cause":
            return root.description if root else ""
        case "strategy":
            return f"{experience.strategy}: {lesson or experience.goal}"
        case "full":
            return lesson or experience.goal


def _what_worked(experience: Experience) -> str:
    return experience.lesson.what_worked if experience.lesson else ""


def _lines(lines: list[tuple[str, str]]) -> str:
    """The lines that say something, each under its name."""
    return "\n".join(f"{name}: {text}" for name, text in lines if text)


_TEXTS: Mapping[Axis, Callable[[Experience], str]] = {
    "full": full,
    "strategy": strategy,
    "surprise": surprise,
    "root_cause": root_cause,
}


_NEEDED: Mapping[Axis, str] = {
    "full": "experience",
    "strategy": "outcome",
    "surprise": "surprise",
    "root_cause": "root_cause",
}
"""Without this in its metadata, an item has no text on an axis."""


def text(axis: Axis, item: Item) -> str:
    """What the encoder sees of an item on an axis; empty when that is nothing."""
    if not item.metadata.get(
        _NEEDED[axis]
    ):  # most experiences say nothing on some axis: that is told at once
        return ""
    experience = experience_of(item)
    if experience is None:
        return ""
    return item.searchable if axis == "full" else _TEXTS[axis](experience)


def _shown(axis: Axis) -> Callable[[Item], str]:
    return lambda item: text(axis, item)


VIEWS: tuple[tuple[str, tuple[str, ...], Callable[[Item], str]], ...] = tuple(
    (SPACES[axis], ("experience",), _shown(axis)) for axis in AXES if axis != "full"
)
"""The spaces that an embedder keeps beside the semantic one, for experiences only."""
