"""Teach the judge that hears whether an agent asks for what it lacks.

    python tools/fit_gap.py [--check]

Reads tools/gap_messages.jsonl (text, gap, writer) and, as talk that asks nothing, what the people of the
sample project say without a question mark. Writes src/foreword/recipes/gap/weights.json: the weight of every
trait by logistic regression; then, beside a weight that never saw the message, the weights of the directions
of the bundled encoder's vectors. Prints how far to trust it: each writer judged by a judge that read only the
others. The thresholds are found in the same way, since unknown writers will be judged: they are the lowest at
which 96 of 100 that are found do ask, among the messages of the first two writers, because the others wrote
what is hard to tell, more often than it comes in life. With --check nothing is written.
Needs `pip install '.[learn]'`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from foreword.edges.cli.demo import sample_lines
from foreword.recipes.gap.classifier import (
    UNDECIDED_SCORES,
    WEIGHTS_FILE,
    RequestWeights,
    combined_score,
    message_features,
    sum_features,
    unquoted_sentences,
)
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace

_MESSAGES = Path(__file__).with_name("gap_messages.jsonl")
_OUTPUT = Path(__file__).parent.parent / "src" / "foreword" / "recipes" / "gap" / WEIGHTS_FILE
_MIN_MESSAGES, _MAX_TRAITS = 3, 5000
"""In how many messages a trait must be at least, and how many traits are kept at most."""
_SCALE, _MEANT_SCALE, _MEANING_REGULARISATION = 3.0, 3.0, 0.5
_MIN_PRECISION, _RESAMPLES = 0.96, 500
"""A little more than the target, because messages by unknown writers are judged a little worse."""
_LIFELIKE_WRITERS = ("first", "second")
_SAMPLE_WRITER = "sample"


@dataclass(frozen=True, slots=True)
class Example:
    """A message: its sentences, its traits, its vector, whether it asks, and who wrote it."""

    sentences: tuple[str, ...]
    features: frozenset[str]
    vector: np.ndarray
    gap: bool
    writer: str


def main() -> None:
    """Read the examples, fit the weights, print how good they are, write them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    asked = parser.parse_args()
    examples = read_examples(_MESSAGES)
    for writer in sorted({one.writer for one in examples}):
        others = [one for one in examples if one.writer != writer]
        _print_quality(writer, [one for one in examples if one.writer == writer], fit_weights(others))
    known = fit_weights(examples)
    _print(f"thresholds: {known.threshold:.2f} by traits, {known.combined_threshold:.2f} with the encoder")
    if not asked.check:
        _OUTPUT.write_text(json.dumps(asdict(known), ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
        _print(f"{len(known.features)} traits, {_OUTPUT.stat().st_size:,} bytes in {_OUTPUT.name}")


def read_examples(path: Path) -> list[Example]:
    """The examples of a file, each with its vector."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    sample_turns = [line for line in map(json.loads, sample_lines()) if line.get("kind") == "turn"]
    rows += [
        {**line, "gap": False, "writer": _SAMPLE_WRITER} for line in sample_turns if "?" not in line["text"]
    ]
    said = [unquoted_sentences(row["text"]) for row in rows]
    vectors = np.array(BundledEmbeddingProvider().embed_batch([" ".join(one) for one in said]))
    return [
        Example(sentences, message_features(sentences), vector, bool(row["gap"]), row["writer"])
        for row, sentences, vector in zip(rows, said, vectors, strict=True)
    ]


def fit_weights(examples: list[Example]) -> RequestWeights:
    """The weights that a set of examples teaches."""
    gaps = np.array([one.gap for one in examples])
    worth, start = _fit_traits(examples)
    unseen, unseen_meant = np.zeros(len(examples)), np.zeros(len(examples))
    for learn, judge in _split_by_writer(examples):
        part, begin = _fit_traits([examples[at] for at in learn])
        unseen[judge] = [sum_features(part, begin, examples[at].features) for at in judge]
    for learn, judge in _split_by_writer(examples):
        both = _fit_meaning([examples[at] for at in learn], unseen[learn])
        unseen_meant[judge] = [combined_score(both, unseen[at], examples[at].vector) for at in judge]
    known = _fit_meaning(examples, unseen)
    mixed = np.where(_is_undecided(unseen), unseen_meant, unseen)
    lifelike = np.array([one.writer in _LIFELIKE_WRITERS for one in examples])
    return RequestWeights(
        start=round(start, 3),
        features={trait: round(value, 2) for trait, value in sorted(worth.items())},
        threshold=_threshold(unseen[lifelike], gaps[lifelike]),
        encoder=DenseSpace(BundledEmbeddingProvider()).digest,
        combined_start=known.combined_start,
        share=known.share,
        vector=known.vector,
        combined_threshold=_threshold(mixed[lifelike], gaps[lifelike]),
    )


def _fit_traits(examples: list[Example]) -> tuple[dict[str, float], float]:
    """What each trait is worth; those of least worth are left out, and the others weighed again."""
    counted = Counter(trait for one in examples for trait in one.features)
    names = sorted(trait for trait, count in counted.items() if count >= _MIN_MESSAGES)
    fitted = _fit(_matrix(examples, names), examples)
    best = np.argsort(-np.abs(fitted.coef_[0]), kind="stable")[:_MAX_TRAITS]
    names = sorted(names[at] for at in best)
    fitted = _fit(_matrix(examples, names), examples)
    return dict(zip(names, (fitted.coef_[0] * _SCALE).tolist(), strict=True)), float(fitted.intercept_[0])


def _matrix(examples: list[Example], names: list[str]) -> csr_matrix:
    """A row of traits for each example, of the same length however many there are."""
    column = {name: at for at, name in enumerate(names)}
    rows = [[column[trait] for trait in one.features if trait in column] for one in examples]
    values = [_SCALE / math.sqrt(len(row)) for row in rows for _ in row]
    ends = np.cumsum([0, *(len(row) for row in rows)])
    return csr_matrix((values, [at for row in rows for at in row], ends), shape=(len(rows), len(names)))


def _fit_meaning(examples: list[Example], unseen: np.ndarray) -> RequestWeights:
    vectors = np.array([one.vector for one in examples]) * _MEANT_SCALE
    fitted = _fit(np.c_[unseen, vectors], examples, _MEANING_REGULARISATION)
    share, *vector = fitted.coef_[0]
    rounded = [round(float(value) * _MEANT_SCALE, 3) for value in vector]
    return RequestWeights(
        0, {}, 0, "", round(float(fitted.intercept_[0]), 3), round(float(share), 3), rounded, 0
    )


def _fit(inputs: csr_matrix | np.ndarray, examples: list[Example], loose: float = 1.0) -> LogisticRegression:
    return LogisticRegression(C=loose, max_iter=4000).fit(inputs, [one.gap for one in examples])


def _split_by_writer(examples: list[Example]) -> list[tuple[np.ndarray, np.ndarray]]:
    """For every writer, where the messages of the others are, and where the writer's own."""
    writers = np.array([one.writer for one in examples])
    return [(np.flatnonzero(writers != one), np.flatnonzero(writers == one)) for one in np.unique(writers)]


def _threshold(held: np.ndarray, gaps: np.ndarray) -> float:
    """The lowest at which as many as wanted of those found do ask; the median over many drawings."""
    draw = np.random.default_rng(0)
    drawn = (draw.integers(len(gaps), size=len(gaps)) for _ in range(_RESAMPLES))
    return round(float(np.median([_lowest_threshold(held[chosen], gaps[chosen]) for chosen in drawn])), 3)


def _lowest_threshold(held: np.ndarray, gaps: np.ndarray) -> float:
    order = np.argsort(-held)
    precise = np.cumsum(gaps[order]) / np.arange(1, len(gaps) + 1)
    return float(held[order][np.flatnonzero(precise >= _MIN_PRECISION)[-1]])


def _is_undecided(weight: np.ndarray) -> np.ndarray:
    return (weight > UNDECIDED_SCORES[0]) & (weight < UNDECIDED_SCORES[1])


def _print_quality(writer: str, examples: list[Example], known: RequestWeights) -> None:
    gaps = np.array([one.gap for one in examples])
    first = np.array([sum_features(known.features, known.start, one.features) for one in examples])
    both = [combined_score(known, weight, one.vector) for weight, one in zip(first, examples, strict=True)]
    alone = first >= known.threshold
    beside = np.where(_is_undecided(first), np.array(both) >= known.combined_threshold, alone)
    for name, found in (("traits", alone), ("with the encoder", beside)):
        right = int((found & gaps).sum())
        wrong, missed = int(found.sum()) - right, int(gaps.sum()) - right
        counts = f"right {right:4}  wrong {wrong:4}  missed {missed:4}  of {len(gaps)}"
        _print(f"{writer:8} unseen, {name:18} {counts}")


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
