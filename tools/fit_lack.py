"""Teach the judge that hears whether a sentence of a long message asks for what its speaker lacks.

    python tools/fit_lack.py [--check]

Reads tools/gap_messages.jsonl (text, gap, writer), measure/lacks/teach.jsonl (text, lack, and the sentences
that ask) and, as talk that asks nothing, what the people of the sample project say without a question mark,
docstrings of half of the standard library, half of the messages of this repository's commits and of the
sections of its pages, and the descriptions of the packages installed here. Never reads
measure/lacks/test.jsonl. Short messages are read alone and once more within a long reply made of others that
ask nothing. Of a message that only is known to ask, the sentence that does is the one that the judge of the
round before thinks likeliest.

Writes src/foreword/recipes/gap/sentence_weights.json: the weight of every feature by logistic regression;
then, beside a score that never saw the message, the weights of the bundled encoder's vectors.
Prints how far to trust it: each writer judged by a judge that read only the others. The thresholds are found
in the same way, since unknown writers will be judged: the lowest at which 96 of 100 that are found do ask
among the messages of the first two writers, because the others wrote what is hard to tell, more often than
it comes in life, and at which no more than 12 of 1,000 ordinary texts are taken for a request. With --check
nothing is written. Needs `pip install '.[learn]'`.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from foreword.edges.cli.demo import sample_lines
from foreword.recipes.gap.message_text import own_sentences
from foreword.recipes.gap.sentence_judge import (
    LONG_MESSAGE,
    MAX_ENCODED_SENTENCES,
    NEVER_ASKS,
    UNDECIDED_SCORES,
    WEIGHTS_FILE,
    SentenceWeights,
    combined_score,
    features_by_sentence,
    sum_features,
)
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace
from foreword_measure.quality.ordinary import (
    TAUGHT_HALF,
    commit_messages,
    docstrings,
    markdown_sections,
    page_sections,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ROOT = Path(__file__).parent.parent
_MESSAGES, _LESSONS = _ROOT / "tools" / "gap_messages.jsonl", _ROOT / "measure" / "lacks" / "teach.jsonl"
_OUTPUT = _ROOT / "src" / "foreword" / "recipes" / "gap" / WEIGHTS_FILE
_MIN_SENTENCES, _MAX_FEATURES = 3, 5000
"""In how many sentences a feature must be at least, and how many features are kept at most."""
_SCALE, _VECTOR_SCALE = 3.0, 3.0
_FEATURE_REGULARISATION, _VECTOR_REGULARISATION = 2.0, 0.5
_ORDINARY_WEIGHT, _ROUNDS = 1.0, 2
_FEW_SENTENCES = 3
"""Up to how many sentences a message is learned from as a whole in the first round."""
_MIN_PRECISION, _MAX_FALSE_ALARMS, _RESAMPLES = 0.96, 0.012, 200
_LIFELIKE_WRITERS = ("first", "second")
_ORDINARY = {"docstrings": "first", "descriptions": "second", "commits": "third", "pages": "fifth"}
"""The kinds of ordinary text, each with the writer beside whom it is judged, by one that read none of it."""
_SAMPLE = "sample"
_DOCSTRINGS, _SECTIONS = 2500, 1500
"""How many docstrings and sections of descriptions are read, drawn by lot."""
_MAX_FILLER = 4
"""Messages of at most so many sentences are put together to long replies."""
_FOLDS = ("first", "second", "third", "fifth", "lessons")


@dataclass(frozen=True, slots=True)
class Example:
    """A message: its sentences and their features, whether it asks, who wrote it.

    `asks` marks the sentences of which at least one asks, `learned` those that are learned from: of a message
    that was put into a long reply, its own.
    """

    sentences: tuple[str, ...]
    features: list[frozenset[str] | None]
    gap: bool
    writer: str
    asks: tuple[bool, ...] | None
    learned: range
    inside: bool = False

    @property
    def fold(self) -> str:
        """The fold it is judged in: its writer's; what has none of its own is spread over all."""
        if self.writer in _FOLDS or self.writer in _ORDINARY:
            return _ORDINARY.get(self.writer, self.writer)
        return _FOLDS[crc32(" ".join(self.sentences).encode()) % len(_FOLDS)]


@dataclass(frozen=True, slots=True)
class Row:
    """A sentence to learn from: its features, its vector's key, whether it asks, and how much it counts."""

    features: frozenset[str]
    sentence: str
    asks: bool
    weight: float


@dataclass(frozen=True, slots=True)
class FeatureWeights:
    """What the first step learns."""

    features: dict[str, float]
    start: float

    def score(self, features: frozenset[str]) -> float:
        """The score of a sentence."""
        return sum_features(self.features, self.start, features)


def main() -> None:
    """Read the examples, fit the weights, print how good they are, write them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    asked = parser.parse_args()
    examples = read_examples()
    _print(f"{len(examples)} messages, {sum(one.gap for one in examples)} of them ask")
    known = fit_weights(examples)
    _print(f"thresholds: {known.threshold:.2f} by words, {known.combined_threshold:.2f} with the encoder")
    if not asked.check:
        _OUTPUT.write_text(json.dumps(asdict(known), ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
        _print(f"{len(known.features)} features, {_OUTPUT.stat().st_size:,} bytes in {_OUTPUT.name}")


# Examples -------------------------------------------------------------------------------------------------


def read_examples() -> list[Example]:
    """Everything that is learned from."""
    written = map(json.loads, _MESSAGES.read_text(encoding="utf-8").splitlines())
    lessons = map(json.loads, _LESSONS.read_text(encoding="utf-8").splitlines())
    turns = (line["text"] for line in map(json.loads, sample_lines()) if line.get("kind") == "turn")
    ordinary = {
        "docstrings": _draw(docstrings(TAUGHT_HALF), _DOCSTRINGS),
        "descriptions": _draw(_descriptions(), _SECTIONS),
        "commits": commit_messages(TAUGHT_HALF),
        "pages": list(page_sections(TAUGHT_HALF)),
    }
    alone = [
        *(_example(row["text"], row["writer"], gap=row["gap"]) for row in written),
        *(_example(row["text"], "lessons", gap=row["lack"], asks=row["asks"]) for row in lessons),
        *(_example(text, _SAMPLE, gap=False) for text in turns if "?" not in text),
        *(_example(text, kind, gap=False) for kind, texts in ordinary.items() for text in texts),
    ]
    fillers = [one.sentences for one in alone if not one.gap and 0 < len(one.sentences) <= _MAX_FILLER]
    short = [one for one in alone if one.writer not in _ORDINARY and 0 < len(one.sentences) <= _MAX_FILLER]
    return [*alone, *(_put_inside(one, fillers) for one in short)]


def _example(text: str, writer: str, *, gap: bool, asks: list[str] | None = None) -> Example:
    sentences = own_sentences(text)
    spelled = [_letters(one) for one in asks or ()]
    marked = tuple(
        gap
        and (not spelled or any(_letters(sentence) in one or one in _letters(sentence) for one in spelled))
        for sentence in sentences
    )
    learned = range(len(sentences))
    return Example(sentences, features_by_sentence(sentences), gap, writer, marked, learned)


def _put_inside(one: Example, fillers: list[tuple[str, ...]]) -> Example:
    """The same message within a long reply that is made of others, which ask nothing."""
    draw = random.Random(" ".join(one.sentences))  # noqa: S311
    before = [each for _ in range(draw.randint(1, 4)) for each in draw.choice(fillers)]
    after = [each for _ in range(draw.randint(1, 4)) for each in draw.choice(fillers)]
    sentences = (*before, *one.sentences, *after)
    asks = (*(False,) * len(before), *(one.asks or ()), *(False,) * len(after))
    learned = range(len(before), len(before) + len(one.sentences))
    return Example(
        sentences, features_by_sentence(sentences), one.gap, one.writer, asks, learned, inside=True
    )


def _letters(text: str) -> str:
    """The letters of a text, by which a marked sentence is found again whatever was taken out around it."""
    return "".join(filter(str.isalnum, " ".join(own_sentences(text))))


def _descriptions() -> Iterator[str]:
    for installed in sorted(metadata.distributions(), key=lambda one: one.metadata["Name"] or ""):
        yield from markdown_sections(str(installed.metadata.get_payload() or ""))


def _draw(texts: Iterable[str], count: int) -> list[str]:
    every = sorted(texts)
    random.Random(0).shuffle(every)  # noqa: S311
    return every[:count]


# Fitting --------------------------------------------------------------------------------------------------


def fit_weights(examples: list[Example]) -> SentenceWeights:
    """The weights that a set of examples teaches; prints how good they are on writers never read."""
    encoder = BundledEmbeddingProvider()
    by_words = fit_features(examples)
    vectors = _embed(encoder, [row.sentence for row in _rows(examples, by_words)])
    unseen: dict[int, list[float | None]] = {}
    for fold in _FOLDS:
        part = fit_features([one for one in examples if one.fold != fold])
        for at, one in enumerate(examples):
            if one.fold == fold:
                unseen[at] = [None if each is None else part.score(each) for each in one.features]
    known = _fit_vectors(examples, by_words, unseen, vectors)
    combined: dict[int, list[float | None]] = {}
    for fold in _FOLDS:
        part_known = _fit_vectors(examples, by_words, unseen, vectors, without=fold)
        for at, one in enumerate(examples):
            if one.fold == fold:
                combined[at] = _weigh_vectors(part_known, one, unseen[at], vectors)
    plain = np.array([_surest(unseen[at]) for at in range(len(examples))])
    both = np.array([_surest(combined[at]) for at in range(len(examples))])
    threshold, combined_threshold = _threshold(examples, plain), _threshold(examples, both)
    long = _threshold(examples, both, inside=True)
    more = round(max(0.0, long - combined_threshold), 3)
    extra = np.array([more if one.inside else 0.0 for one in examples])
    margins = {"words": plain - threshold - extra, "with the encoder": both - combined_threshold - extra}
    _print_quality(examples, margins)
    return SentenceWeights(
        start=round(by_words.start, 3),
        features={name: round(value, 2) for name, value in sorted(by_words.features.items())},
        threshold=threshold,
        encoder=DenseSpace(encoder).digest,
        combined_start=known.combined_start,
        share=known.share,
        vector=known.vector,
        combined_threshold=combined_threshold,
        more_if_long=more,
    )


def fit_features(examples: list[Example]) -> FeatureWeights:
    """What each feature is worth; those of least worth are left out, and the others weighed again."""
    known = FeatureWeights({}, 0.0)
    for done in range(_ROUNDS):
        rows = list(_rows(examples, known if done else None))
        counted = Counter(name for row in rows for name in row.features)
        names = sorted(name for name, count in counted.items() if count >= _MIN_SENTENCES)
        fitted = _fit(_matrix(rows, names), rows, _FEATURE_REGULARISATION)
        best = np.argsort(-np.abs(fitted.coef_[0]), kind="stable")[:_MAX_FEATURES]
        names = sorted(names[at] for at in best)
        fitted = _fit(_matrix(rows, names), rows, _FEATURE_REGULARISATION)
        worth = (fitted.coef_[0] * _SCALE).tolist()
        known = FeatureWeights(dict(zip(names, worth, strict=True)), float(fitted.intercept_[0]))
    return known


def _rows(examples: list[Example], known: FeatureWeights | None) -> Iterator[Row]:
    """The sentences to learn from, each in its place."""
    for one in examples:
        asks = one.asks or (False,) * len(one.sentences)
        found = [(at, one.features[at]) for at in one.learned if one.features[at] is not None]
        yield from _likeliest_rows(one, [each for each in found if asks[each[0]]], known)
        calm = [each for each in found if not any(asks[max(0, each[0] - 1) : each[0] + 2])]
        weight = _ORDINARY_WEIGHT if one.writer in _ORDINARY else 1 / math.sqrt(min(len(calm), 3) or 1)
        yield from (Row(features, one.sentences[at], asks=False, weight=weight) for at, features in calm)


def _likeliest_rows(
    one: Example, asking: list[tuple[int, frozenset[str]]], known: FeatureWeights | None
) -> Iterator[Row]:
    """Of the sentences that may ask, the one that the judge chooses; in the first round, all of a few."""
    if known is not None and asking:
        at, features = max(asking, key=lambda each: known.score(each[1]))
        yield Row(features, one.sentences[at], asks=True, weight=1.0)
    elif len(asking) <= _FEW_SENTENCES:
        yield from (
            Row(features, one.sentences[at], asks=True, weight=1 / len(asking)) for at, features in asking
        )


def _matrix(rows: list[Row], names: list[str]) -> csr_matrix:
    """A row of features for each sentence, of the same length however many there are."""
    column = {name: at for at, name in enumerate(names)}
    chosen = [[column[name] for name in row.features if name in column] for row in rows]
    values = [_SCALE / math.sqrt(len(row)) for row in chosen for _ in row]
    ends = np.cumsum([0, *(len(row) for row in chosen)])
    return csr_matrix((values, [at for row in chosen for at in row], ends), shape=(len(rows), len(names)))


def _fit(inputs: csr_matrix | np.ndarray, rows: list[Row], loose: float) -> LogisticRegression:
    weights = [row.weight for row in rows]
    return LogisticRegression(C=loose, max_iter=500).fit(
        inputs, [row.asks for row in rows], sample_weight=weights
    )


def _embed(encoder: BundledEmbeddingProvider, sentences: Iterable[str]) -> dict[str, np.ndarray]:
    every = list(dict.fromkeys(sentences))
    return dict(zip(every, map(np.array, encoder.embed_batch(every)), strict=True))


def _fit_vectors(
    examples: list[Example],
    by_words: FeatureWeights,
    unseen: dict[int, list[float | None]],
    vectors: dict[str, np.ndarray],
    without: str = "",
) -> SentenceWeights:
    """The weights of vectors beside scores that never saw the sentence, from sentences that are undecided."""
    rows, scores = [], []
    for at, one in enumerate(examples):
        if one.fold == without:
            continue
        by_sentence = dict(zip(one.sentences, unseen[at], strict=True))
        for row in _rows([one], by_words):
            score = by_sentence[row.sentence]
            if score is not None and _is_undecided(score):
                rows.append(row)
                scores.append(score)
    meant = np.array([vectors[row.sentence] for row in rows]) * _VECTOR_SCALE
    fitted = _fit(np.c_[scores, meant], rows, _VECTOR_REGULARISATION)
    share, *vector = fitted.coef_[0]
    rounded = [round(float(value) * _VECTOR_SCALE, 3) for value in vector]
    start = round(float(fitted.intercept_[0]), 3)
    return SentenceWeights(0, {}, 0, "", start, round(float(share), 3), rounded, 0, 0)


def _weigh_vectors(
    known: SentenceWeights, one: Example, scores: list[float | None], vectors: dict[str, np.ndarray]
) -> list[float | None]:
    """The scores of a message with the vectors of the likeliest undecided sentences weighed in."""
    undecided = [at for at, score in enumerate(scores) if score is not None and _is_undecided(score)]
    undecided.sort(key=lambda at: -(scores[at] or 0.0))
    weighed = list(scores)
    for at in undecided[:MAX_ENCODED_SENTENCES]:
        if (vector := vectors.get(one.sentences[at])) is not None:
            weighed[at] = combined_score(known, scores[at] or 0.0, vector.tolist())
    return weighed


def _surest(scores: list[float | None]) -> float:
    return max((score for score in scores if score is not None), default=NEVER_ASKS)


def _is_undecided(score: float) -> bool:
    return UNDECIDED_SCORES[0] < score < UNDECIDED_SCORES[1]


# Thresholds and quality -----------------------------------------------------------------------------------


def _threshold(examples: list[Example], held: np.ndarray, *, inside: bool = False) -> float:
    """The lowest that is precise enough on lifelike writers and calm enough on ordinary texts so long."""
    gaps = np.array([one.gap for one in examples])
    lifelike = np.array([one.writer in _LIFELIKE_WRITERS and one.inside == inside for one in examples])
    ordinary = np.array(
        [one.writer in _ORDINARY and (len(one.sentences) > LONG_MESSAGE) == inside for one in examples]
    )
    draw = np.random.default_rng(0)
    chances = [draw.integers(lifelike.sum(), size=lifelike.sum()) for _ in range(_RESAMPLES)]
    precise = np.median([_lowest_threshold(held[lifelike][at], gaps[lifelike][at]) for at in chances])
    calm = np.quantile(held[ordinary], 1 - _MAX_FALSE_ALARMS)
    _print(f"precise from {precise:.2f}, calm from {calm:.2f}")
    return round(float(max(precise, calm)), 3)


def _lowest_threshold(held: np.ndarray, gaps: np.ndarray) -> float:
    order = np.argsort(-held)
    precise = np.cumsum(gaps[order]) / np.arange(1, len(gaps) + 1)
    return float(held[order][np.flatnonzero(precise >= _MIN_PRECISION)[-1]])


def _print_quality(examples: list[Example], margins: dict[str, np.ndarray]) -> None:
    gaps = np.array([one.gap for one in examples])
    writers = np.array([f"{one.writer}, inside" if one.inside else one.writer for one in examples])
    for writer in sorted(set(writers)):
        own = writers == writer
        for name, margin in margins.items():
            found = margin[own] >= 0
            right = int((found & gaps[own]).sum())
            wrong, missed = int(found.sum()) - right, int(gaps[own].sum()) - right
            counts = f"right {right:4}  wrong {wrong:4}  missed {missed:4}  of {int(own.sum())}"
            _print(f"{writer:16} unseen, {name:18} {counts}")


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
