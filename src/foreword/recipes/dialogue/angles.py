"""A question, understood from the talk: asked alone, after the last exchange, and after the last two.

"How do I do that?" says little by itself. What it is about was said just before, seldom by a name that could
be put in its place; "do you ship to Norway?" may come after anything. So documents are searched for several
texts, the *angles*, and each weighs as much as its question probably means it: the fewer words of its own a
question has, and the more it begins like a continuation, the more it leans on the talk. A message that
neither asks nor answers ("sounds fair") is not completed: it wants nothing.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from foreword.text.question import asks, question_first
from foreword.text.words import STOPWORDS, split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Turn

_TURNS_BEFORE = (2, 4)
"""How many turns stand before the question in each angle but the first; these weigh the same."""

_MAX_TURN_CHARACTERS = 300
"""At most how much of a turn stands there: its end, which is what the next turn goes on from."""

_CONTINUES = re.compile(
    r"\W*(?:and|so|but|or|then|also|now|yes|no|ok|okay|what about|how about|und|aber|dann|et|mais|alors|y"
    r"|pero|entonces)\b",
    re.IGNORECASE,
)
_LEANING, _OF_A_WORD, _OF_CONTINUING = 2.35, -0.84, 2.23
"""The log-odds that a question leans on the talk: of one without words of its own, what each word adds, and
what it adds to begin like a continuation. Fitted with the curves of `rag.py`."""

_MIN_WEIGHT = 0.1
"""An angle that weighs less is not asked for."""


class Angle(NamedTuple):
    """A text to search for, and how probably that is what the question means."""

    text: str
    weight: float = 1.0


def question_angles(query: str, talk: Sequence[Turn]) -> tuple[Angle, ...]:
    """The texts that stand for a question that is asked after the talk, the question alone first."""
    question = question_first(query)
    spoken = [turn for turn in talk if turn.role in ("user", "assistant") and turn.text.strip()]
    if not spoken or not (asks(question) or _awaits_answer(spoken[-1])):
        return (Angle(question),)
    said = [turn.text.strip()[-_MAX_TURN_CHARACTERS:] for turn in spoken[-max(_TURNS_BEFORE) :]]
    completed = dict.fromkeys("\n".join([*said[-turns:], question]) for turns in _TURNS_BEFORE)
    leaning = leans_on_talk(question)
    angles = [Angle(question, 1 - leaning), *(Angle(text, leaning / len(completed)) for text in completed)]
    kept = [angle for angle in angles if angle.weight >= _MIN_WEIGHT]
    whole = sum(angle.weight for angle in kept)
    return tuple(angle._replace(weight=angle.weight / whole) for angle in kept)


def leans_on_talk(question: str) -> float:
    """How probably a question means something that was said before it."""
    words = sum(word not in STOPWORDS for word in split_words(question))
    log_odds = _LEANING + _OF_A_WORD * words + _OF_CONTINUING * bool(_CONTINUES.match(question))
    return 1 / (1 + math.exp(-log_odds))


def _awaits_answer(turn: Turn) -> bool:
    """Whether the assistant asked, so that what follows goes on with what the user wants."""
    return turn.role == "assistant" and asks(turn.text[-_MAX_TURN_CHARACTERS:])
