"""One relevance for every source of context: the engine's own probability, told on a scale that fits a floor.

A memory comes with the probability that the engine gives it. A text of a state is judged by its cosine to the
question and by the share of the question's words that it has; the curves are fitted so that, of the same
texts, as many are probable enough to be said as the engine would say. Where no encoder looks, words alone
decide, and must be more: a third of the question.

The scale betters the odds, always by the same factor, so that a probability of `SPOKEN`, from which on the
engine speaks, has the relevance `DEFAULT_MIN_RELEVANCE_SCORE`: the default floor of 0.7 keeps what the engine
would say and nothing else. On this scale .5 is a probability of .018, .9 one of .14, .98 one of a half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.recall.fuse import UNRELATED_COSINE
from foreword.recall.gaps.types import DEFAULT_MIN_RELEVANCE_SCORE
from foreword.recall.gaps.words import coverage, roots, weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SPOKEN = 0.04
"""The least probability of relevance that the engine finds worth saying."""


@dataclass(frozen=True, slots=True)
class Curve:
    """How nearness and words become a probability for one kind of text; `by_words` is for words alone."""

    base: float
    near: float
    words: float
    by_words: tuple[float, float]

    def probability(self, cosine: float | None, covered: float) -> float:
        """How likely a text is relevant that is so near, if that is known, and has so many of the words."""
        if cosine is None:
            base, words = self.by_words
            return _logistic(base + words * covered)
        return _logistic(self.base + self.near * cosine + self.words * covered)


CURVES: Mapping[str, Curve] = {"turn": Curve(-7.58, 7.03, 2.21, by_words=(-5.3, 6.0))}
OTHER = Curve(-11.2, 13.18, 4.66, by_words=(-5.3, 7.0))


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def _odds(probability: float) -> float:
    return probability / (1 - probability)


_BETTER = _odds(DEFAULT_MIN_RELEVANCE_SCORE) / _odds(SPOKEN)


def relevance(probability: float) -> float:
    """A probability of relevance, told on the scale of `InjectionConfig.min_relevance_score`."""
    if probability >= 1.0:
        return 1.0
    better = _BETTER * _odds(max(0.0, probability))
    return better / (1 + better)


def judged(cosine: float | None, covered: float, kind: str) -> float:
    """The relevance of a text of this kind that is so near and has so much of the question."""
    return relevance(CURVES.get(kind, OTHER).probability(cosine, covered))


def stretched(cosine: float, unrelated: float) -> float:
    """A cosine as the bundled encoder would have it, given what this one gives to strangers."""
    return 1 - (1 - UNRELATED_COSINE) / (1 - unrelated) * (1 - cosine)


def covered(question: str, texts: Sequence[str]) -> list[float]:
    """How much of a question each of the texts has, words that few of them have counting more."""
    asked, held = roots(question), [roots(text) for text in texts]
    weighed = weights(held, asked)
    return [coverage(text, weighed) for text in held]


def by_words(question: str, texts: Sequence[str], kinds: Sequence[str]) -> list[float]:
    """The relevance of each of the texts, judged by its words alone."""
    shares = covered(question, texts)
    return [judged(None, share, kind) for share, kind in zip(shares, kinds, strict=True)]
