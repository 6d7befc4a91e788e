"""A question, understood from the talk: asked alone, after the last exchange, and after the last two.

"How do I do that?" says little by itself. What it is about was said just before, seldom by a name that could
be put in its place. So documents are searched for several texts, the *angles*, and what agrees with all of
them is what is meant. A message that neither asks nor answers ("sounds fair") is not completed: it wants
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.text.question import asks, question_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Turn

_TURNS_BEFORE = (2, 4)
"""How many turns stand before the question in each angle but the first."""

_MAX_TURN_CHARACTERS = 300
"""At most how much of a turn stands there: its end, which is what the next turn goes on from."""


def question_angles(query: str, talk: Sequence[Turn]) -> tuple[str, ...]:
    """The texts that stand for a question that is asked after the talk, the question alone first."""
    question = question_first(query)
    spoken = [turn for turn in talk if turn.role in ("user", "assistant") and turn.text.strip()]
    if not spoken or not (asks(question) or _awaits_answer(spoken[-1])):
        return (question,)
    angles = [question]
    for turns in _TURNS_BEFORE:
        before = [turn.text.strip()[-_MAX_TURN_CHARACTERS:] for turn in spoken[-turns:]]
        angles.append("\n".join([*before, question]))
    return tuple(dict.fromkeys(angles))


def _awaits_answer(turn: Turn) -> bool:
    """Whether the assistant asked, so that what follows goes on with what the user wants."""
    return turn.role == "assistant" and asks(turn.text[-_MAX_TURN_CHARACTERS:])
