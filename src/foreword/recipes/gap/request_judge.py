"""Judges whether a sentence asks for something that its speaker lacks.

Each sentence is first judged by learned weights of its words and of those of its neighbours, so that a
question that is answered at once does not count; sentences without any word that could ask are skipped. If a
reader is passed, it then reads the sentences that may ask within their passage, which decides; in a long
message, only those that would ask if they stood alone. A message asks when one of its sentences does, however
long the rest is. `tools/fit_requests.py` writes the weights to a JSON file beside this module,
`tools/teach_requests.py` teaches the reader.

It works best for English, which most of the lessons were written in; other languages are judged in English,
word by word. `foreword eval --gaps` has the numbers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import chain, pairwise

from foreword.errors import EmbeddingError
from foreword.log import get_logger
from foreword.recipes.gap.vocabulary import EXPLICIT_REQUEST, group_of_word, remove_quoted_terms
from foreword.text.translate import to_english

_log = get_logger("foreword.gap")

WEIGHTS_FILE = "request_weights.json"

MIN_READ_SCORE = -5.0
"""The least score by words with which a sentence is read by the reader."""

MAX_READ_SENTENCES = 4
"""At most how many sentences of a message, the likeliest by their words, the reader reads."""

MAX_READ_AT_ONCE = 2
"""At most how many passages are read at once: the reader reads each in one thread."""

MAX_PASSAGE_CHARACTERS = 700
"""At most how much of a message the reader sees around a sentence."""

MIN_ALONE_LOGIT = 0.0
"""In long messages: the least logit of a sentence by itself with which it is read within its passage. What
stands around a sentence answers or settles a question, and seldom makes one."""

WORDS_SHARE, ASKING_LOGIT = 0.2, -2.25
"""The share of the score by words that is added to the reader's logit, and the sum from which on a sentence
asks."""

CLEAR_MARGIN = 1.0
"""The least margin over the threshold with which a sentence clearly asks."""

NEVER_ASKS = -9.0
"""The margin of a sentence without any word that could ask."""

MAX_WORDS_IN_ROW, MAX_GROUPS_IN_ROW = 3, 4
MAX_PAIR_DISTANCE = 6
"""At most how many places apart two word groups still make a feature; common groups are not counted."""

LONG_MESSAGE = 6
"""A message of more sentences than this is long: in it, a bare question is seldom a request."""

_CJK = "\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(rf"[{_CJK}]|@?[^\W\d_{_CJK}](?:[\w'/.-]*\w)?|\d[\d.,:%]*|[?!,;:()—–-]")
_WIDE_MARKS = str.maketrans("？！，；：（）’", "?!,;:()'")
_NUMBER, _NAME, _IDENTIFIER, _MENTION, _NO_GROUP = "0", "Name", "#", "@", "_"
_SHORT_FORMS = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}
_VERB_BEFORE_NOT = {"ca": "can", "wo": "will"}
_COMMON_GROUPS = frozenset({_NO_GROUP, ",", _NAME, _NUMBER, "BE", "THIS"})
_ASKING_GROUPS = frozenset(
    {
        *("I", "SOMEBODY", "NOBODY", "NOT", "NO", "NOTHING", "WITHOUT", "WH", "IF", "OR", "UNABLE"),
        *("VAGUE", "GUESS", "LACK", "ENOUGH", "INFO", "ASK", "GONE", "ACCESS", "HOLD", "BUT"),
    }
)
"""A sentence without a question mark and without a word of these groups asks for nothing."""

FeaturesOf = Callable[[str], frozenset[str]]
"""From a sentence to the features that it has by itself."""

ReadSentences = Callable[[str, Sequence[str]], Sequence[float]]
"""From a passage and some of its sentences to a logit for each: whether it asks for what is lacking."""


@dataclass(frozen=True, slots=True)
class RequestWeights:
    """The learned weights, as in `request_weights.json`.

    Without a reader a sentence asks when its score, `start` plus its features, is at least `threshold`. A
    long message, where there is more to mistake, has a threshold of its own.
    """

    start: float
    features: Mapping[str, float]
    threshold: float
    long_threshold: float


@cache
def load_request_weights() -> RequestWeights:
    """The weights that come with Foreword; read once."""
    file = resources.files("foreword.recipes.gap").joinpath(WEIGHTS_FILE)
    return RequestWeights(**json.loads(file.read_text(encoding="utf-8")))


def largest_request_margin(sentences: Sequence[str]) -> float:
    """The largest margin over the threshold of any sentence by its words; 0 or more asks."""
    return max(request_margins(sentences), default=NEVER_ASKS)


def request_margins(sentences: Sequence[str], read: ReadSentences | None = None) -> list[float]:
    """The margin of each sentence of a message over the threshold, so that 0 or more asks.

    Sentences of other languages are judged in English, word by word: most of the lessons were English.
    """
    sentences = [to_english(remove_quoted_terms(sentence)) for sentence in sentences]
    weights, scores = load_request_weights(), request_scores(tuple(sentences))
    is_long = len(sentences) > LONG_MESSAGE
    threshold = weights.long_threshold if is_long else weights.threshold
    margins = [NEVER_ASKS if score is None else score - threshold for score in scores]
    # In a long text, "it is unclear" is more often about the world.
    clear = [not is_long and EXPLICIT_REQUEST.search(sentence) is not None for sentence in sentences]
    if any(clear):  # it asks, whatever the reader would say
        return [max(0.0, margin) if said else margin for margin, said in zip(margins, clear, strict=True)]
    if read is not None:
        try:
            return _margins_by_reader(sentences, scores, read)
        except EmbeddingError as error:
            _log.warning("a message is judged by its words alone", problem=str(error))
    return margins


def _margins_by_reader(
    sentences: Sequence[str], scores: Sequence[float | None], read: ReadSentences
) -> list[float]:
    """The margins of the sentences that the reader reads; the others surely ask for nothing."""
    likely = [at for at, score in enumerate(scores) if score is not None and score >= MIN_READ_SCORE]
    likely = sorted(likely, key=lambda at: -(scores[at] or 0.0))[:MAX_READ_SENTENCES]
    if len(sentences) > LONG_MESSAGE:
        likely = _find_sentences_asking_alone(sentences, likely, read)
    by_passage: dict[str, list[int]] = {}
    for at in likely:
        by_passage.setdefault(passage_around(sentences, at), []).append(at)
    margins = [NEVER_ASKS] * len(sentences)
    for at, logit in _read_in_parallel(sentences, list(by_passage.items()), read):
        margins[at] = logit + WORDS_SHARE * (scores[at] or 0.0) - ASKING_LOGIT
    return margins


def _find_sentences_asking_alone(
    sentences: Sequence[str], likely: Sequence[int], read: ReadSentences
) -> list[int]:
    """The places of the sentences that would ask if they stood alone: the others need no passage."""
    shares = [("", likely[first::MAX_READ_AT_ONCE]) for first in range(min(len(likely), MAX_READ_AT_ONCE))]
    logits = _read_in_parallel(sentences, shares, read)
    return [at for at, alone in logits if alone >= MIN_ALONE_LOGIT]


def _read_in_parallel(
    sentences: Sequence[str], shares: Sequence[tuple[str, Sequence[int]]], read: ReadSentences
) -> Iterator[tuple[int, float]]:
    """The places to read with their logits; `shares` are passages with places in them, read in threads."""

    def read_sentences_of_passage(share: tuple[str, Sequence[int]]) -> Sequence[float]:
        passage, places = share
        return read(passage, [sentences[at] for at in places])

    if len(shares) < MAX_READ_AT_ONCE:
        logits = list(map(read_sentences_of_passage, shares))
    else:
        with ThreadPoolExecutor(MAX_READ_AT_ONCE, thread_name_prefix="foreword-requests") as pool:
            logits = list(pool.map(read_sentences_of_passage, shares))
    for (_, places), found in zip(shares, logits, strict=True):
        yield from zip(places, found, strict=True)


def passage_around(sentences: Sequence[str], at: int) -> str:
    """The sentence at an index with those around it, as many as the reader may see."""
    first = last = at
    room = MAX_PASSAGE_CHARACTERS - len(sentences[at])
    while True:
        after = last + 1 < len(sentences) and len(sentences[last + 1]) < room
        if after:
            last += 1
            room -= len(sentences[last]) + 1
        before = first > 0 and len(sentences[first - 1]) < room
        if before:
            first -= 1
            room -= len(sentences[first]) + 1
        if not (before or after):
            return " ".join(sentences[first : last + 1])


@lru_cache(maxsize=1024)
def request_scores(sentences: tuple[str, ...]) -> tuple[float | None, ...]:
    """The score of each sentence by its features; None for those that cannot ask."""
    weights = load_request_weights()
    return tuple(
        None if features is None else score_features(weights.features, weights.start, features)
        for features in features_by_sentence(sentences, weighed_features_of_sentence)
    )


def score_features(weights: Mapping[str, float], start: float, features: Iterable[str]) -> float:
    """`start` plus the sum of the known features' weights divided by the root of their number."""
    known = [weights[feature] for feature in features if feature in weights]
    return start + sum(known) / math.sqrt(len(known) or 1)


# Features -------------------------------------------------------------------------------------------------


def features_by_sentence(
    sentences: Sequence[str], features_of: FeaturesOf | None = None
) -> list[frozenset[str] | None]:
    """The features of each sentence of a message, with its neighbours; None for those that cannot ask.

    With `features_of`, what a sentence has by itself is what that says, instead of every feature.
    """
    features_of = features_of or features_of_sentence
    return [
        _features_with_neighbours(sentences, at, features_of) if may_be_request(one) else None
        for at, one in enumerate(sentences)
    ]


def _features_with_neighbours(sentences: Sequence[str], at: int, features_of: FeaturesOf) -> frozenset[str]:
    """The features of the sentence at an index together with its neighbours; its own are marked `this`.

    `?WH BE` is a question in which a form of "to be" follows a question word, `NOT..SAY` a sentence in which
    a verb of saying comes some way after a negation, `this NOT` a negation in the sentence itself. All
    numbers are one feature, and so are all names and all identifiers.
    """
    end = len(sentences) - 1
    first, last = max(0, at - 1), min(end, at + 1)
    near = sentences[first : last + 1]
    questions = [_is_question(one) for one in near]
    features = {"long" if end > LONG_MESSAGE else "short"}.union(*map(features_of, near))
    if any(questions):
        features.add("asks")
    if any(question and not following for question, following in pairwise(questions)):
        features.add("asks and goes on")
    if last == end:
        features |= _word_group_features("last", near[-1], 1)
    if first < last:
        features |= _word_group_features("first", near[0], 1)
        features |= _word_group_features("this ?" if questions[at - first] else "this", sentences[at], 2)
    return frozenset(features)


@lru_cache(maxsize=4096)
def may_be_request(sentence: str) -> bool:
    """Whether a sentence has a question mark, or any word that can ask for something."""
    words = split_tokens(sentence)
    return "?" in words or any(
        group_of_word(word) in _ASKING_GROUPS or "\u3040" <= word[0] <= "\u9fff" for word in words
    )


@lru_cache(maxsize=1024)
def features_of_sentence(sentence: str) -> frozenset[str]:
    """What the judge weighs in a sentence: its rows of words and of word groups, and near pairs of groups."""
    words = split_tokens(sentence)
    groups, prefix = group_of_each_word(words), "?" if words[-1:] == ("?",) else ""
    rare = [group for group in groups if group not in _COMMON_GROUPS]
    pairs = (
        f"{group}..{other}"
        for index, group in enumerate(rare, 1)
        for other in rare[index : index + MAX_PAIR_DISTANCE]
    )
    rows = chain(
        _word_sequences_with_ends(words, MAX_WORDS_IN_ROW),
        _word_sequences_with_ends(groups, MAX_GROUPS_IN_ROW),
        pairs,
    )
    return frozenset(prefix + row for row in rows) if prefix else frozenset(rows)


@lru_cache(maxsize=4096)
def weighed_features_of_sentence(sentence: str) -> frozenset[str]:
    """The features of a sentence that have a weight: few do, and its neighbours are judged by them too."""
    return features_of_sentence(sentence) & load_request_weights().features.keys()


@lru_cache(maxsize=4096)
def _word_group_features(place: str, sentence: str, max_length: int) -> frozenset[str]:
    """The judge's features of a sentence at `place`: its rows of up to `max_length` word groups."""
    return frozenset(
        f"{place} {row}"
        for row in _word_sequences_with_ends(group_of_each_word(split_tokens(sentence)), max_length)
    )


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("\"')]*_ ").endswith(("?", "？"))


@lru_cache(maxsize=4096)
def split_tokens(sentence: str) -> tuple[str, ...]:
    """The words of a sentence in lower case, short forms spelled out, and its punctuation."""
    found = enumerate(_TOKEN.findall(sentence.translate(_WIDE_MARKS)))
    return tuple(word for index, token in found for word in _expand_token(token, is_first=not index) if word)


def group_of_each_word(words: Sequence[str]) -> list[str]:
    """The group of each word; neighbours without a group become a single `_`."""
    groups: list[str] = []
    for word in words:
        group = word if word == _NAME or not word[0].isalpha() else group_of_word(word) or _NO_GROUP
        if group != _NO_GROUP or groups[-1:] != [_NO_GROUP]:
            groups.append(group)
    return groups


def _word_sequences_with_ends(words: Sequence[str], max_length: int) -> Iterator[str]:
    """Every sequence of up to `max_length` neighbouring words; `<` and `>` mark the ends of the sentence."""
    bounded = ["<", *words, ">"]
    for length in range(1, max_length + 1):
        shifted = (bounded[start:] for start in range(length))
        yield from map(" ".join, zip(*shifted, strict=False))


@lru_cache(maxsize=16_384)
def _expand_token(token: str, *, is_first: bool) -> tuple[str, ...]:
    """The words of a token: a short form spelled out, a name or number replaced by a sign for its kind."""
    word = token.casefold()
    if not token[0].isalpha():
        return (_MENTION if token[0] == "@" else _NUMBER if token[0].isdigit() else token,)
    if word.endswith("n't"):
        return _VERB_BEFORE_NOT.get(word[:-3], word[:-3]), "not"
    if word == "cannot":
        return "can", "not"
    if "'" in token:
        head, _, tail = token.partition("'")
        short = (_SHORT_FORMS.get(tail, "'s"),) if tail in (*_SHORT_FORMS, "s") else None
        return *_expand_token(head, is_first=is_first), *(short or _expand_token(tail, is_first=False))
    if any(mark.isdigit() or mark in "_./" for mark in word) or token[1:] != token[1:].lower():
        return (_IDENTIFIER,)
    if not is_first and token[0].isupper() and word != "i" and group_of_word(word) is None:
        return (_NAME,)
    return tuple(word.split("-"))
