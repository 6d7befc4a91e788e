"""Rates how relevant a text is for filling a gap, on one scale for every source; and whether it can answer.

The scale: the odds of a probability are multiplied by a constant, so that `MIN_SPOKEN_PROBABILITY`, the
engine's own floor, becomes `DEFAULT_MIN_RELEVANCE_SCORE`: the default floor of 0.7 lets pass what passes the
engine's floor and nothing else. A score of .5 is a probability of .018, .9 one of .14, .98 one of a half.

A memory comes with the engine's probability. A text of a state gets one from its cosine to the question and
its coverage, the share of the question's words that it has; the curves are fitted so that as many texts pass
as would with the engine. Without an encoder coverage decides alone: a third of the question must be there.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from foreword.recall.fuse import UNRELATED_COSINE
from foreword.recipes.gap.request_judge import CLEAR_MARGIN, largest_request_margin
from foreword.recipes.gap.types import DEFAULT_MIN_RELEVANCE_SCORE
from foreword.recipes.gap.vocabulary import (
    ACKNOWLEDGEMENT,
    NO_ANSWER,
    group_of_word,
    remove_quotations,
    split_sentences_and_clauses,
    word_prefixes,
)
from foreword.text.words import split_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MIN_SPOKEN_PROBABILITY = 0.04
"""The engine's floor: the least probability of relevance that is worth saying."""

MIN_REPLY_WORDS = 3
"""At least how many content words a spoken reply has that shares none with the question."""


CURVES: Mapping[str, tuple[float, float, float]] = {"turn": (-7.58, 7.03, 2.21)}
OTHER_CURVE = (-11.2, 13.18, 4.66)
"""For each kind of text the base of the logistic curve and the weights of cosine and coverage."""

WORD_CURVES: Mapping[str, tuple[float, float]] = {"turn": (-5.3, 6.0)}
OTHER_WORD_CURVE = (-5.3, 7.0)
"""The same for texts whose cosine is not known: base and weight of coverage."""


def _odds_from_probability(probability: float) -> float:
    return probability / (1 - probability)


_ODDS_FACTOR = _odds_from_probability(DEFAULT_MIN_RELEVANCE_SCORE) / _odds_from_probability(
    MIN_SPOKEN_PROBABILITY
)


def relevance_from_probability(probability: float) -> float:
    """A probability as a relevance, on the scale of `InjectionConfig.min_relevance_score`."""
    if probability >= 1.0:
        return 1.0
    odds = _ODDS_FACTOR * _odds_from_probability(max(0.0, probability))
    return odds / (1 + odds)


@lru_cache(maxsize=1024)
def rate_relevance(cosine: float | None, coverage: float, kind: str) -> float:
    """The relevance of a text of this kind, given its cosine, if known, and its coverage of the question."""
    if cosine is None:
        base, weight = WORD_CURVES.get(kind, OTHER_WORD_CURVE)
        logit = base + weight * coverage
    else:
        base, cosine_weight, weight = CURVES.get(kind, OTHER_CURVE)
        logit = base + cosine_weight * cosine + weight * coverage
    return relevance_from_probability(1 / (1 + math.exp(-logit)))


def rate_relevance_by_words(question: str, texts: Sequence[str], kinds: Sequence[str]) -> list[float]:
    """The relevance of each text, by its words alone."""
    coverages = question_coverage(question, texts)
    return [rate_relevance(None, coverage, kind) for coverage, kind in zip(coverages, kinds, strict=True)]


def rescale_to_bundled_encoder(cosine: float, unrelated_cosine: float) -> float:
    """A cosine on the bundled encoder's scale, given this encoder's cosine of unrelated texts."""
    return 1 - (1 - UNRELATED_COSINE) / (1 - unrelated_cosine) * (1 - cosine)


def question_coverage(question: str, texts: Sequence[str]) -> list[float]:
    """The share of a question's words that each text has, 0 to 1; words that few texts have count more."""
    question_words = word_prefixes(question)
    shared_words = [_prefixes_in_text(question_words, text) for text in texts]
    counts = Counter(word for shared in shared_words for word in shared)
    weights = {word: math.log1p((1 + len(texts)) / (1 + max(1, counts[word]))) for word in question_words}
    total = sum(weights.values())
    return [
        sum(weight for word, weight in weights.items() if word in shared) / total if shared else 0.0
        for shared in shared_words
    ]


def _prefixes_in_text(prefixes: frozenset[str], text: str) -> frozenset[str]:
    """Those of the prefixes with which words of a text begin, stopwords aside."""
    if text.isascii():  # then lower case is all that sets its words apart from its letters
        lower = text.lower()
        if not any(prefix in lower for prefix in prefixes):
            return frozenset()
    return prefixes & word_prefixes(text)


def has_statement_beyond_question(text: str, question: str, *, spoken: bool = False) -> bool:
    """Whether any sentence of a text is a statement and not just the question again.

    Similarity does not show this: nothing is more similar to a question than the same question. With `spoken`
    the text was said in a conversation: "go on" and "no idea" are no answers, and a few words are too little.
    """
    question_words = word_prefixes(question)
    stated = [
        sentence
        for sentence in split_sentences_and_clauses(text)
        if _is_statement(sentence, spoken=spoken) and not _repeats_question(sentence, question_words)
    ]
    if not stated:
        return False
    if not spoken or len(word_prefixes(" ".join(stated))) >= MIN_REPLY_WORDS:
        return True
    return bool(word_prefixes(text) & question_words)


def _is_statement(sentence: str, *, spoken: bool) -> bool:
    """Whether a sentence is no question and, if spoken, no acknowledgement, evasion or request either."""
    if sentence.rstrip("\"')]*_ ").endswith("?"):
        return False
    if not spoken:
        return True
    lower = sentence.casefold()
    if ACKNOWLEDGEMENT.fullmatch(lower) or NO_ANSWER.search(lower):
        return False
    return largest_request_margin((remove_quotations(sentence),)) < CLEAR_MARGIN


def _repeats_question(sentence: str, question_prefixes: frozenset[str]) -> bool:
    """Whether a sentence repeats the question, without a question mark."""
    spelled = split_words(sentence)
    is_question = bool(spelled) and group_of_word(spelled[0]) in ("WH", "WHEN", "IF")
    return is_question and word_prefixes(sentence) <= question_prefixes
