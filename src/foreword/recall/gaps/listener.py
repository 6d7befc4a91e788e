"""Hears whether a message asks for what its speaker lacks: a judge that was taught by examples.

Traits of the message are weighed, and the sum is held against a threshold. Where that leaves it undecided and
an encoder is at hand, what the message means is weighed as well. The weights come from `tools/fit_gap.py`
and lie beside this module as plain JSON; no library of learning is needed here, and no encoder.

The examples are by five hands and in English. Of messages by a hand that the judge never read it finds
fewer than of those, and other languages it does not understand; `foreword eval --gaps` has the numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from foreword.errors import EmbeddingError
from foreword.log import get_logger
from foreword.recall.gaps.phrases import PLAINLY
from foreword.recall.gaps.traits import traits
from foreword.recall.gaps.words import own_voice, sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_log = get_logger("foreword.gap")

WEIGHTS = "weights.json"

UNDECIDED = (-1.5, 3.0)
"""A message whose traits weigh more than the one and less than the other is worth an encoder's time."""

Encode = Callable[[str], Sequence[float]]
"""Gives the vector of a text, by the encoder that the weights name by its digest."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each trait is worth; and, where traits leave it undecided, what a vector's directions are worth.

    A message asks when it weighs `least` or more; with a vector, when both together weigh `least_meant`.
    """

    start: float
    traits: Mapping[str, float]
    least: float
    encoder: str
    start_meant: float
    share: float
    vector: Sequence[float]
    least_meant: float


@cache
def weights() -> Weights:
    """The weights that come with Foreword; read once."""
    file = resources.files("foreword.recall.gaps").joinpath(WEIGHTS)
    return Weights(**json.loads(file.read_text(encoding="utf-8")))


def voice(text: str) -> tuple[str, ...]:
    """The sentences of a message that are its speaker's own."""
    return tuple(sentences(own_voice(text)))


def certainty(said: tuple[str, ...], encode: Encode | None = None) -> float:
    """How far beyond the threshold a message lies, given its sentences: it asks from zero on."""
    if any(map(PLAINLY.search, said)):  # in so many words: no encoder need decide
        return max(0.0, _weighed(said, None))
    return _weighed(said, encode)


def _weighed(said: tuple[str, ...], encode: Encode | None) -> float:
    known = weights()
    weight = trait_weight(said)
    if encode is None or not said or not UNDECIDED[0] < weight < UNDECIDED[1]:
        return weight - known.least
    try:
        vector = encode(" ".join(said))
    except EmbeddingError as error:
        _log.warning("a message is judged by its words alone", problem=str(error))
        return weight - known.least
    return meant_weight(known, weight, vector) - known.least_meant


@lru_cache(maxsize=1024)
def trait_weight(said: tuple[str, ...]) -> float:
    """What the traits of a message are worth; a message that says nothing weighs nothing against it."""
    known = weights()
    return weighed(known.traits, known.start, traits(said))


def weighed(worth: Mapping[str, float], start: float, found: Iterable[str]) -> float:
    """The sum of what is known of the traits, made smaller the more of them there are."""
    each = [worth[trait] for trait in found if trait in worth]
    return start + sum(each) / math.sqrt(len(each) or 1)


def meant_weight(known: Weights, weight: float, vector: Sequence[float]) -> float:
    """What traits and meaning are worth together."""
    meant = sum(worth * value for worth, value in zip(known.vector, vector, strict=True))
    return known.start_meant + known.share * weight + meant
