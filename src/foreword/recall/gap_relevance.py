"""One relevance for every source of context: the engine's own probability, told on a scale that fits a floor.

A memory comes with the probability that the engine gives it. A text of a state is judged by the same curve:
its cosine to the question and the share of the question's words that it has, weighed as for an item of its
kind that stands alone. Where no encoder looks, the words stand for the cosine too.

The scale moves the odds: a probability of `SPOKEN`, from which on the engine speaks, has the relevance
`DEFAULT_MIN_RELEVANCE_SCORE`, so that the default floor of 0.7 keeps what the engine would say and nothing
else. On this scale .5 is a probability of .018, .9 one of .14, .98 one of a half; strangers have .3 or less.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from foreword.recall.fuse import BLENDS, OTHER, UNRELATED
from foreword.recall.gap_types import DEFAULT_MIN_RELEVANCE_SCORE
from foreword.recall.gap_words import coverage, roots, weights

if TYPE_CHECKING:
    from collections.abc import Sequence

SPOKEN = 0.04
"""The least probability of relevance that the engine finds worth saying."""

BY_WORDS = 0.25
"""How much nearer than a stranger a text is taken to be that has all the words of the question."""

_ALONE = 0.85
"""What the neighbours of a text are taken for, as nobody looked at them: a little less than itself."""


def _log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


_SHIFT = _log_odds(DEFAULT_MIN_RELEVANCE_SCORE) - _log_odds(SPOKEN)


def relevance(probability: float) -> float:
    """A probability of relevance, told on the scale of `InjectionConfig.min_relevance_score`."""
    if not 0.0 < probability < 1.0:
        return 1.0 if probability >= 1.0 else 0.0
    return 1 / (1 + math.exp(-_log_odds(probability) - _SHIFT))


def probability(cosine: float | None, covered: float, kind: str) -> float:
    """How likely a text of this kind is relevant that is so near and has so much of the question."""
    blend = BLENDS.get(kind, OTHER)
    near = UNRELATED + BY_WORDS * covered if cosine is None else cosine
    value = (near + blend.lexical * covered) * (1 + blend.beside * _ALONE) / (1 + blend.beside)
    return blend.probability(value, blend.known * covered + blend.named * blend.nameless)


def stretched(cosine: float, unrelated: float) -> float:
    """A cosine as the bundled encoder would have it, given what this one gives to strangers."""
    return 1 - (1 - UNRELATED) / (1 - unrelated) * (1 - cosine)


def covered(question: str, texts: Sequence[str]) -> list[float]:
    """How much of a question each of the texts has, words that few of them have counting more."""
    asked, held = roots(question), [roots(text) for text in texts]
    weighed = weights(held, asked)
    return [coverage(text, weighed) for text in held]


def by_words(question: str, texts: Sequence[str], kinds: Sequence[str]) -> list[float]:
    """The relevance of each of the texts, judged by its words alone."""
    shares = covered(question, texts)
    return [relevance(probability(None, share, kind)) for share, kind in zip(shares, kinds, strict=True)]
