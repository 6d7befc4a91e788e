"""Whether a message asks for something that its speaker lacks: a linear classifier, learned from examples.

The features of a message are summed with their weights, and the sum is compared with a threshold. Where that
is close and an encoder is at hand, the vector of the message is weighed as well. `tools/fit_gap.py` writes
the weights, which lie beside this module as plain JSON; neither a learning library nor an encoder is needed.

The examples are by five writers and in English. Of messages by other writers it finds fewer, and it does not
understand other languages; `foreword eval --gaps` has the numbers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise

from foreword.errors import EmbeddingError
from foreword.log import get_logger
from foreword.recipes.gap.vocabulary import EXPLICIT_REQUEST, remove_quotations, split_sentences, word_group

_log = get_logger("foreword.gap")

WEIGHTS_FILE = "weights.json"

UNDECIDED_SCORES = (-1.5, 3.0)
"""The encoder is asked only about messages whose features score between these two."""

CLEAR_MARGIN = 1.0
"""At least how far beyond the threshold a message lies that clearly asks."""

MAX_WORDS_IN_ROW, MAX_GROUPS_IN_ROW = 3, 4
MAX_PAIR_DISTANCE = 6
"""At most how many places apart two word groups still make a feature together; common groups do not count."""

_TOKEN = re.compile(r"@?[^\W\d_][\w'/.-]*\w|[^\W\d_]|\d[\d.,:%]*|[?!,;:()—–-]")
_NUMBER, _NAME, _IDENTIFIER, _MENTION, _NO_GROUP = "0", "Name", "#", "@", "_"
_SHORT_FORMS = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}
_NEGATED = {"ca": "can", "wo": "will"}
_COMMON_GROUPS = frozenset({_NO_GROUP, ",", _NAME, _NUMBER, "BE", "THIS"})

Encode = Callable[[str], Sequence[float]]
"""Gives the vector of a text, from the encoder whose digest the weights name."""


@dataclass(frozen=True, slots=True)
class RequestWeights:
    """What was learned, as in `weights.json`.

    A message asks when its score, `start` plus its features, is at least `threshold`. With a vector it asks
    when `combined_start`, plus the score times `share`, plus the product with `vector`, is at least
    `combined_threshold`.
    """

    start: float
    features: Mapping[str, float]
    threshold: float
    encoder: str
    combined_start: float
    share: float
    vector: Sequence[float]
    combined_threshold: float


@cache
def load_weights() -> RequestWeights:
    """The weights that come with Foreword; read once."""
    file = resources.files("foreword.recipes.gap").joinpath(WEIGHTS_FILE)
    return RequestWeights(**json.loads(file.read_text(encoding="utf-8")))


def unquoted_sentences(text: str) -> tuple[str, ...]:
    """The sentences of a message, without what it quotes."""
    return tuple(split_sentences(remove_quotations(text)))


def request_score_margin(sentences: tuple[str, ...], encode: Encode | None = None) -> float:
    """How far beyond the threshold a message lies, given its own sentences; it asks if this is 0 or more."""
    weights, score = load_weights(), feature_score(sentences)
    margin = score - weights.threshold
    if any(map(EXPLICIT_REQUEST.search, sentences)):
        return max(0.0, margin)
    if encode is None or not sentences or not UNDECIDED_SCORES[0] < score < UNDECIDED_SCORES[1]:
        return margin
    try:
        vector = encode(" ".join(sentences))
    except EmbeddingError as error:
        _log.warning("a message is judged by its words alone", problem=str(error))
        return margin
    return combined_score(weights, score, vector) - weights.combined_threshold


@lru_cache(maxsize=1024)
def feature_score(sentences: tuple[str, ...]) -> float:
    """The score of a message by its features, given its own sentences."""
    weights = load_weights()
    return sum_features(weights.features, weights.start, message_features(sentences))


def sum_features(weights: Mapping[str, float], start: float, features: Iterable[str]) -> float:
    """`start` plus the weights of the features that are known, divided by the root of their number."""
    known = [weights[feature] for feature in features if feature in weights]
    return start + sum(known) / math.sqrt(len(known) or 1)


def combined_score(weights: RequestWeights, score: float, vector: Sequence[float]) -> float:
    """The score of a message by its features and its vector together."""
    product = sum(weight * value for weight, value in zip(weights.vector, vector, strict=True))
    return weights.combined_start + weights.share * score + product


# Features -------------------------------------------------------------------------------------------------


def message_features(sentences: Sequence[str]) -> frozenset[str]:
    """The features of a message, given its own sentences: rows of words and of groups, and pairs of groups.

    `?WH BE` is a question in which a form of "to be" follows a question word, `NOT..SAY` a sentence in which
    a verb of saying comes some way after a negation. Numbers, names and identifiers count only as such.
    """
    every = [words for sentence in sentences if (words := split_tokens(sentence))]
    questions = [words[-1] == "?" for words in every]
    features = {"asks"} if any(questions) else set()
    if any(question and not following for question, following in pairwise(questions)):
        features.add("asks and goes on")
    for index, words in enumerate(every):
        groups = word_groups(words)
        features.update(_gap_features(words, groups, "?" if questions[index] else ""))
        if index == len(every) - 1:
            features.update(f"last {word}" for word in (*words, *groups))
        elif index == 0:
            features.update(f"first {group}" for group in groups)
    return frozenset(features)


def split_tokens(sentence: str) -> list[str]:
    """The words of a sentence in lower case, short forms spelled out, and its punctuation."""
    found = enumerate(_TOKEN.findall(sentence))
    return [word for index, token in found for word in _expand_token(token, index) if word]


def word_groups(words: Sequence[str]) -> list[str]:
    """The group of each word; neighbours without a group become a single `_`."""
    groups: list[str] = []
    for word in words:
        group = word if word == _NAME or not word[0].isalpha() else word_group(word) or _NO_GROUP
        if group != _NO_GROUP or groups[-1:] != [_NO_GROUP]:
            groups.append(group)
    return groups


def _gap_features(words: Sequence[str], groups: Sequence[str], prefix: str) -> Iterator[str]:
    yield from (prefix + sequence for sequence in _word_sequences(words, MAX_WORDS_IN_ROW))
    yield from (prefix + sequence for sequence in _word_sequences(groups, MAX_GROUPS_IN_ROW))
    rare = [group for group in groups if group not in _COMMON_GROUPS]
    for index, group in enumerate(rare, 1):
        yield from (f"{prefix}{group}..{other}" for other in rare[index : index + MAX_PAIR_DISTANCE])


def _word_sequences(words: Sequence[str], max_length: int) -> Iterator[str]:
    """Every row of up to so many neighbours; `<` and `>` stand for the ends of the sentence."""
    bounded = ["<", *words, ">"]
    for length in range(1, max_length + 1):
        for index in range(len(bounded) - length + 1):
            yield " ".join(bounded[index : index + length])


def _expand_token(token: str, index: int) -> list[str]:
    """The words of a token: a short form spelled out, a name or a number as its kind."""
    word = token.casefold()
    if not token[0].isalpha():
        return [_MENTION if token[0] == "@" else _NUMBER if token[0].isdigit() else token]
    if word.endswith("n't"):
        return [_NEGATED.get(word[:-3], word[:-3]), "not"]
    if word == "cannot":
        return ["can", "not"]
    if "'" in token:
        head, _, tail = token.partition("'")
        return [*_expand_token(head, index), _SHORT_FORMS.get(tail, f"'{tail}")]
    if any(mark.isdigit() or mark in "_./" for mark in word) or token[1:] != token[1:].lower():
        return [_IDENTIFIER]
    if index and token[0].isupper() and word != "i":
        return [_NAME]
    return word.split("-")
