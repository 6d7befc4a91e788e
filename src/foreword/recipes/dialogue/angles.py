"""The texts by which documents are searched for a question: it alone, after the last exchange, after two.

"How do I do that?" says little by itself: what it is about was said just before it. "Do you ship to Norway?"
needs nothing before it. So documents are searched by several texts, the *angles*, each weighted by the
probability that it is what the question means: the fewer content words a question has, and the more it begins
like a continuation, the more probably it depends on the talk before it. A message that neither asks nor
answers ("sounds fair") is searched for alone.
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
"""How many turns are put before the question in each angle but the first; these angles weigh the same."""

_MAX_TURN_CHARACTERS = 300
"""At most how much of each such turn is used: its end, since the next turn goes on from there."""

_CONTINUES = re.compile(
    r"\W*(?:and|so|but|or|then|also|now|yes|no|ok|okay|what about|how about|und|aber|dann|et|mais|alors|y"
    r"|pero|entonces)\b",
    re.IGNORECASE,
)
_LOG_ODDS_START, _LOG_ODDS_PER_WORD, _LOG_ODDS_CONTINUING = 2.35, -0.84, 2.23
"""The log-odds that a question depends on the talk before it: for one without content words, what each
content word adds, and what beginning like a continuation adds. Fitted with the curves of `rag.py`."""

_MIN_WEIGHT = 0.1
"""An angle that weighs less is not searched."""


class Angle(NamedTuple):
    """A text to search by, and the probability that it is what the question means."""

    text: str
    weight: float = 1.0


def question_angles(query: str, talk: Sequence[Turn]) -> tuple[Angle, ...]:
    """The texts to search by for a question that is asked after some talk, the question alone first."""
    question = question_first(query)
    spoken = [turn for turn in talk if turn.role in ("user", "assistant") and turn.text.strip()]
    if not spoken or not (asks(question) or _awaits_answer(spoken[-1])):
        return (Angle(question),)
    turn_texts = [turn.text.strip()[-_MAX_TURN_CHARACTERS:] for turn in spoken[-max(_TURNS_BEFORE) :]]
    completed = dict.fromkeys("\n".join([*turn_texts[-turns:], question]) for turns in _TURNS_BEFORE)
    leaning = probability_of_leaning(question)
    angles = [Angle(question, 1 - leaning), *(Angle(text, leaning / len(completed)) for text in completed)]
    kept = [angle for angle in angles if angle.weight >= _MIN_WEIGHT]
    whole = sum(angle.weight for angle in kept)
    return tuple(angle._replace(weight=angle.weight / whole) for angle in kept)


def probability_of_leaning(question: str) -> float:
    """The probability that a question depends on what was said before it."""
    words = sum(word not in STOPWORDS for word in split_words(question))
    log_odds = (
        _LOG_ODDS_START + _LOG_ODDS_PER_WORD * words + _LOG_ODDS_CONTINUING * bool(_CONTINUES.match(question))
    )
    return 1 / (1 + math.exp(-log_odds))


def _awaits_answer(turn: Turn) -> bool:
    """Whether a turn is a question of the assistant, so that the user's next message answers it."""
    return turn.role == "assistant" and asks(turn.text[-_MAX_TURN_CHARACTERS:])
