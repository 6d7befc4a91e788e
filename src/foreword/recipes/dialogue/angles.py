"""The texts by which documents are searched for a question: it alone, after the last exchange, after two.

"How do I do that?" says little by itself: what it is about was said just before it. "Do you ship to Norway?"
needs nothing before it. So documents are searched by several texts, the *angles*, each weighted by the
probability that it is what the question means. How probably a question depends on the talk before it is
judged by learned weights of its vector, its number of content words and its beginning; without the bundled
encoder by the last two alone. A message that neither asks nor answers ("sounds fair") is searched for alone.
`tools/fit_leaning.py` writes the weights to a JSON file beside this module.
"""

from __future__ import annotations

import json
import math
import operator
import re
from functools import cache
from importlib import resources
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from foreword.text.question import asks_or_requests, shorten_with_question_first
from foreword.text.words import STOPWORDS, split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
content word adds, and what beginning like a continuation adds, where there is no vector. Fitted with the
curves of `rag.py`."""

WEIGHTS_FILE = "leaning_weights.json"

_MIN_WEIGHT = 0.1
"""An angle that weighs less is not searched."""


class Angle(NamedTuple):
    """A text to search by, and the probability that it is what the question means."""

    text: str
    weight: float = 1.0


class QuestionVector(NamedTuple):
    """The vector of a question, and the digest of the space of the encoder that made it."""

    encoder: str
    vector: Sequence[float]


class _LeaningWeights(NamedTuple):
    """The learned weights, as in `leaning_weights.json`, and the encoder whose vectors they are for."""

    encoder: str
    start: float
    word: float
    continuing: float
    vector: tuple[float, ...]


def search_angles_for_question(
    query: str, talk: Sequence[Turn], embed: Callable[[str], QuestionVector | None] | None = None
) -> tuple[Angle, ...]:
    """The texts to search by for a question that is asked after some talk, the question alone first.

    `embed` gives the vector of a question, or None; it is called only if there is talk to depend on.
    """
    question = shorten_with_question_first(query)
    spoken = _last_spoken_turns(talk, max(_TURNS_BEFORE))
    if not spoken or not (asks_or_requests(question) or _awaits_answer(spoken[-1])):
        return (Angle(question),)
    turn_texts = [turn.text.strip()[-_MAX_TURN_CHARACTERS:] for turn in spoken]
    completed = dict.fromkeys("\n".join([*turn_texts[-turns:], question]) for turns in _TURNS_BEFORE)
    leaning = probability_of_follow_up(question, embed(question) if embed else None)
    angles = [Angle(question, 1 - leaning), *(Angle(text, leaning / len(completed)) for text in completed)]
    kept = [angle for angle in angles if angle.weight >= _MIN_WEIGHT]
    whole = sum(angle.weight for angle in kept)
    return tuple(angle._replace(weight=angle.weight / whole) for angle in kept)


def _last_spoken_turns(talk: Sequence[Turn], most: int) -> list[Turn]:
    """The last turns of people and the assistant that have words, at most so many, in their order."""
    spoken = (turn for turn in reversed(talk) if turn.role in ("user", "assistant") and turn.text.strip())
    return list(islice(spoken, most))[::-1]


def probability_of_follow_up(question: str, embedded: QuestionVector | None = None) -> float:
    """The probability that a question depends on what was said before it."""
    words, continues = continuation_signs(question)
    weights = _load_weights()
    if embedded is None or embedded.encoder != weights.encoder:
        log_odds = log_odds_of_follow_up(words, continues)
    else:
        by_meaning = sum(map(operator.mul, weights.vector, embedded.vector))
        log_odds = weights.start + weights.word * words + weights.continuing * continues + by_meaning
    return 1 / (1 + math.exp(-log_odds))


def continuation_signs(question: str) -> tuple[int, bool]:
    """The number of a question's content words, and whether it begins like a continuation."""
    words = sum(word not in STOPWORDS for word in split_words(question))
    return words, _CONTINUES.match(question) is not None


def log_odds_of_follow_up(words: int, continues: bool) -> float:  # noqa: FBT001  (a sign like the other)
    """The log-odds that a question depends on the talk before it, by its words alone."""
    return _LOG_ODDS_START + _LOG_ODDS_PER_WORD * words + _LOG_ODDS_CONTINUING * continues


@cache
def _load_weights() -> _LeaningWeights:
    """The weights that come with Foreword; read once."""
    file = resources.files("foreword.recipes.dialogue").joinpath(WEIGHTS_FILE)
    return _LeaningWeights(**json.loads(file.read_text(encoding="utf-8")))


def _awaits_answer(turn: Turn) -> bool:
    """Whether a turn is a question of the assistant, so that the user's next message answers it."""
    return turn.role == "assistant" and asks_or_requests(turn.text[-_MAX_TURN_CHARACTERS:])
