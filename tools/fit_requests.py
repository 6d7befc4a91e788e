"""Fit the weights by which words alone tell whether a sentence asks for what its speaker lacks.

    python tools/fit_requests.py [--check]

Reads tools/gap_messages.jsonl (text, gap, writer), the files teach*.jsonl of measure/lacks (text, lack, the
sentences that ask, and the writer, if it is not the first one) and, as texts that ask nothing,
reports of agents and commits in measure/lessons, sentences of the sample project without a question mark,
docstrings of half of the standard library, half of this repository's commit messages and of the sections of
its pages, and the descriptions of installed packages. Never reads a test file of measure/lacks. Short
messages are read alone and once more within a long reply made of reports. If a message is only known to ask
somewhere, the sentence that the judge of the round before finds likeliest counts as the one that asks.

Writes src/foreword/recipes/gap/request_weights.json: the weight of every feature by logistic regression, and
the thresholds. Prints how reliable it is: the writers are in five groups, and each group is judged by a judge
that was trained on the others only; the reports around a message are of its own group. The thresholds are
found in the same way, since unknown writers will be judged: those with the best F1 at which at most 15 of
1,000 ordinary texts, or 12 of 1,000 long ones, are mistaken for a request. With --check nothing is written.
Needs `pip install '.[learn]'`.
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
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from foreword.edges.cli.demo import sample_as_json_lines
from foreword.recipes.gap.message_text import sentences_in_own_words
from foreword.recipes.gap.request_judge import (
    LONG_MESSAGE,
    NEVER_ASKS,
    WEIGHTS_FILE,
    RequestWeights,
    features_by_sentence,
    score_features,
)
from foreword.recipes.gap.vocabulary import remove_quoted_terms
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
_MESSAGES, _LACKS = _ROOT / "tools" / "gap_messages.jsonl", _ROOT / "measure" / "lacks"
_LESSONS = sorted(_LACKS.glob("teach*.jsonl"))
_OUTPUT = _ROOT / "src" / "foreword" / "recipes" / "gap" / WEIGHTS_FILE
_HISTORIES = _ROOT / "measure" / "lessons"
_MIN_SENTENCES, _MAX_FEATURES = 3, 7000
"""In at least how many sentences a feature must occur, and at most how many features are kept."""
_SCALE, _REGULARISATION = 3.0, 2.0
_ROUNDS, _ALONE_WEIGHT = 2, 2.0
_FEW_SENTENCES = 3
"""In the first round, all sentences of a message with at most so many are learned from."""
_MAX_FALSE_ALARMS, _MAX_LONG_FALSE_ALARMS = 0.015, 0.012
_DOCSTRINGS, _SECTIONS = 1200, 800
"""How many docstrings and sections of descriptions are read, drawn at random."""
_MAX_SHORT, _MAX_REPORT, _MIN_AROUND, _MAX_AROUND = 4, 8, 5, 8
"""The most sentences of a message that is put among reports, and of each report; the fewest sentences of
reports around it, and the most on each side."""
_SAMPLE, _REPORTS = "sample", "reports of "
_GROUPS = (
    {"first", "chatty", "docstrings", "h5", "h10", "h15", "w1", "w7"},
    {"second", "terse", "nonnative", "descriptions", "h6", "h11", "h16", "w2", "w6"},
    {"third", "house", "formal", "commits", "repository", "h7", "h12", "h17", "w3", "w8"},
    {"fifth", "trades", "pages", "h8", "h13", "h18", "w4", "w13"},
    {"lessons", "agents", "replies", "reports", "h9", "h14", "w5", "w9"},
)
"""Groups of writers and kinds of ordinary text; each group is judged by a judge that read none of it."""
_ORDINARY = ("docstrings", "descriptions", "repository", "pages")


@dataclass(frozen=True, slots=True)
class Example:
    """A message: its sentences and their features, whether it asks for something, and its writer.

    `asks` marks the sentences of which at least one asks; `learned` are those to learn from: in a long reply,
    those of the message that was put into it.
    """

    sentences: tuple[str, ...]
    features: list[frozenset[str] | None]
    gap: bool
    writer: str
    asks: tuple[bool, ...] | None
    learned: range
    inside: bool = False

    @property
    def is_ordinary(self) -> bool:
        """Whether it is an ordinary text, not a message that was written as a lesson."""
        return self.writer in _ORDINARY or self.writer.startswith(_REPORTS)

    @property
    def weight(self) -> float:
        """How much it counts: a message alone counts more than the same message among reports."""
        return 1.0 if self.inside or self.is_ordinary else _ALONE_WEIGHT

    @property
    def is_long(self) -> bool:
        """Whether it is judged as a long message."""
        return len(self.sentences) > LONG_MESSAGE

    @property
    def group(self) -> int:
        """The group in which it is judged: its writer's, or a random one if the writer has none."""
        name = self.writer.removeprefix(_REPORTS)
        spread = crc32(" ".join(self.sentences).encode()) % len(_GROUPS)
        return next((at for at, group in enumerate(_GROUPS) if name in group), spread)


@dataclass(frozen=True, slots=True)
class Row:
    """A sentence to learn from: its features, its text, whether it asks, and how much it counts."""

    features: frozenset[str]
    sentence: str
    asks: bool
    weight: float


@dataclass(frozen=True, slots=True)
class FeatureWeights:
    """The weights that the first step learns: of the features, and the intercept."""

    features: dict[str, float]
    start: float

    def score(self, features: frozenset[str]) -> float:
        """The score of a sentence."""
        return score_features(self.features, self.start, features)


def main() -> None:
    """Read the examples, fit the weights, print how good they are, write them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    asked = parser.parse_args()
    examples = read_examples()
    _print(f"{len(examples)} messages, {sum(one.gap for one in examples)} of them ask")
    known = fit_weights(examples)
    _print(f"thresholds: {known.threshold:.2f}, {known.long_threshold:.2f} for long messages")
    if not asked.check:
        _OUTPUT.write_text(json.dumps(asdict(known), ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
        _print(f"{len(known.features)} features, {_OUTPUT.stat().st_size:,} bytes in {_OUTPUT.name}")


# Examples -------------------------------------------------------------------------------------------------


def read_examples() -> list[Example]:
    """All examples to learn from."""
    alone = read_messages()
    reports = [one for one in alone if one.writer.startswith(_REPORTS) and len(one.sentences) <= _MAX_REPORT]
    by_group = [[one.sentences for one in reports if one.group == at] for at in range(len(_GROUPS))]
    short = [one for one in alone if not one.is_ordinary and len(one.sentences) <= _MAX_SHORT]
    return [*alone, *(put_among_reports(one, by_group[one.group]) for one in short)]


def read_messages() -> list[Example]:
    """All messages and ordinary texts, each by itself."""
    written = _read_lines(_MESSAGES)
    lessons = [row for path in _LESSONS for row in _read_lines(path)]
    turns = (line["text"] for line in map(json.loads, sample_as_json_lines()) if line.get("kind") == "turn")
    ordinary = {
        "docstrings": _draw_sample(docstrings(TAUGHT_HALF), _DOCSTRINGS),
        "descriptions": _draw_sample(_read_descriptions(), _SECTIONS),
        "repository": commit_messages(TAUGHT_HALF),
        "pages": list(page_sections(TAUGHT_HALF)),
        **_read_reports_by_writer(),
    }
    alone = [
        *(_make_example(row["text"], row["writer"], gap=row["gap"]) for row in written),
        *(
            _make_example(row["text"], row.get("writer", "lessons"), gap=row["lack"], asks=row["asks"])
            for row in lessons
        ),
        *(_make_example(text, _SAMPLE, gap=False) for text in turns if "?" not in text),
        *(_make_example(text, kind, gap=False) for kind, texts in ordinary.items() for text in texts),
    ]
    return [one for one in alone if one.sentences]


def _read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _read_reports_by_writer() -> dict[str, list[str]]:
    """The English reports of agents and commits in the histories, without questions, by writer."""
    return {
        f"{_REPORTS}{path.stem}": [
            said["text"]
            for history in _read_lines(path)
            if history["language"] == "en"
            for said in history["statements"]
            if said["who"] in ("agent", "commit")
            and said["type"] in ("report", "fact", "decision")
            and "?" not in said["text"]
        ]
        for path in sorted(_HISTORIES.glob("*.jsonl"))
    }


def _make_example(text: str, writer: str, *, gap: bool, asks: list[str] | None = None) -> Example:
    sentences = tuple(map(remove_quoted_terms, sentences_in_own_words(text)))
    spelled = [_letters_only(one) for one in asks or ()]
    marked = tuple(
        gap
        and (
            not spelled
            or any(_letters_only(sentence) in one or one in _letters_only(sentence) for one in spelled)
        )
        for sentence in sentences
    )
    learned = range(len(sentences))
    return Example(sentences, features_by_sentence(sentences), gap, writer, marked, learned)


def put_among_reports(one: Example, reports: list[tuple[str, ...]]) -> Example:
    """The same message within a long reply made of reports, which ask nothing."""
    draw = random.Random(" ".join(one.sentences))  # noqa: S311
    before, after = _draw_reports(draw, reports), _draw_reports(draw, reports)
    while len(before) + len(after) < _MIN_AROUND:
        before += _draw_reports(draw, reports)
    sentences = (*before, *one.sentences, *after)
    asks = (*(False,) * len(before), *(one.asks or ()), *(False,) * len(after))
    learned = range(len(before), len(before) + len(one.sentences))
    return Example(
        sentences, features_by_sentence(sentences), one.gap, one.writer, asks, learned, inside=True
    )


def _draw_reports(draw: random.Random, reports: list[tuple[str, ...]]) -> list[str]:
    wanted, chosen = draw.randint(0, _MAX_AROUND), list[str]()
    while len(chosen) < wanted:
        chosen += draw.choice(reports)
    return chosen


def _letters_only(text: str) -> str:
    """The letters and digits of a text, to find a marked sentence again."""
    return "".join(filter(str.isalnum, " ".join(sentences_in_own_words(text))))


def _read_descriptions() -> Iterator[str]:
    for installed in sorted(metadata.distributions(), key=lambda one: one.metadata["Name"] or ""):
        yield from markdown_sections(str(installed.metadata.get_payload() or ""))


def _draw_sample(texts: Iterable[str], count: int) -> list[str]:
    every = sorted(texts)
    random.Random(0).shuffle(every)  # noqa: S311
    return every[:count]


# Fitting --------------------------------------------------------------------------------------------------


def fit_weights(examples: list[Example]) -> RequestWeights:
    """The weights from a set of examples; prints how good they are on writers that were left out."""
    fitted = fit_features(examples)
    highest = np.zeros(len(examples))
    for group in range(len(_GROUPS)):
        part = fit_features([one for one in examples if one.group != group])
        for at, one in enumerate(examples):
            if one.group == group:
                highest[at] = _highest_score(part, one)
    thresholds = [_find_threshold(examples, highest, is_long=is_long) for is_long in (False, True)]
    is_long = np.array([int(one.is_long) for one in examples])
    _print_quality(examples, highest - np.array(thresholds)[is_long])
    return RequestWeights(
        start=round(fitted.start, 3),
        features={name: round(value, 2) for name, value in sorted(fitted.features.items())},
        threshold=thresholds[0],
        long_threshold=thresholds[1],
    )


def _highest_score(known: FeatureWeights, one: Example) -> float:
    return max((known.score(each) for each in one.features if each is not None), default=NEVER_ASKS)


def fit_features(examples: list[Example]) -> FeatureWeights:
    """The weight of each feature; those with the least weight are dropped, and the rest fitted again."""
    known = FeatureWeights({}, 0.0)
    for done in range(_ROUNDS):
        rows = list(_make_rows(examples, known if done else None))
        counted = Counter(name for row in rows for name in row.features)
        names = sorted(name for name, count in counted.items() if count >= _MIN_SENTENCES)
        fitted = _fit_logistic(_make_matrix(rows, names), rows, _REGULARISATION)
        best = np.argsort(-np.abs(fitted.coef_[0]), kind="stable")[:_MAX_FEATURES]
        names = sorted(names[at] for at in best)
        fitted = _fit_logistic(_make_matrix(rows, names), rows, _REGULARISATION)
        worth = (fitted.coef_[0] * _SCALE).tolist()
        known = FeatureWeights(dict(zip(names, worth, strict=True)), float(fitted.intercept_[0]))
    return known


def _make_rows(examples: list[Example], known: FeatureWeights | None) -> Iterator[Row]:
    """The sentences to learn from: those that ask, and those that are not near one that asks."""
    for one in examples:
        asks = one.asks or (False,) * len(one.sentences)
        found = [(at, one.features[at]) for at in one.learned if one.features[at] is not None]
        yield from _likeliest_rows(one, [each for each in found if asks[each[0]]], known)
        calm = [each for each in found if not any(asks[max(0, each[0] - 1) : each[0] + 2])]
        weight = 1.0 if one.is_ordinary else one.weight / math.sqrt(min(len(calm), 3) or 1)
        yield from (Row(features, one.sentences[at], asks=False, weight=weight) for at, features in calm)


def _likeliest_rows(
    one: Example, asking: list[tuple[int, frozenset[str]]], known: FeatureWeights | None
) -> Iterator[Row]:
    """Of the sentences that may ask, the one the judge finds likeliest; in the first round, all of a few."""
    if known is not None and asking:
        at, features = max(asking, key=lambda each: known.score(each[1]))
        yield Row(features, one.sentences[at], asks=True, weight=one.weight)
    elif len(asking) <= _FEW_SENTENCES:
        yield from (
            Row(features, one.sentences[at], asks=True, weight=one.weight / len(asking))
            for at, features in asking
        )


def _make_matrix(rows: list[Row], names: list[str]) -> csr_matrix:
    """A row of features for each sentence, scaled so that all rows have the same length."""
    column = {name: at for at, name in enumerate(names)}
    chosen = [[column[name] for name in row.features if name in column] for row in rows]
    values = [_SCALE / math.sqrt(len(row)) for row in chosen for _ in row]
    ends = np.cumsum([0, *(len(row) for row in chosen)])
    return csr_matrix((values, [at for row in chosen for at in row], ends), shape=(len(rows), len(names)))


def _fit_logistic(inputs: csr_matrix, rows: list[Row], loose: float) -> LogisticRegression:
    weights = [row.weight for row in rows]
    return LogisticRegression(C=loose, max_iter=500).fit(
        inputs, [row.asks for row in rows], sample_weight=weights
    )


# Thresholds and quality -----------------------------------------------------------------------------------


def _find_threshold(examples: list[Example], held: np.ndarray, *, is_long: bool) -> float:
    """The threshold with the best F1 that has few enough false alarms on ordinary texts, short or long."""
    chosen = [at for at, one in enumerate(examples) if one.is_long == is_long]
    written = [at for at in chosen if not examples[at].is_ordinary]
    ordinary = [at for at in chosen if examples[at].is_ordinary]
    order = sorted(written, key=lambda at: -held[at])
    right = np.cumsum([examples[at].gap for at in order])
    best = int(np.argmax(2 * right / (np.arange(1, len(order) + 1) + right[-1])))
    balanced = held[order[best]]
    calm = np.quantile(held[ordinary], 1 - (_MAX_LONG_FALSE_ALARMS if is_long else _MAX_FALSE_ALARMS))
    for name, value in (("best F1", balanced), ("calm", calm)):
        heard = sum(held[at] >= value for at in written)
        found = sum(held[at] >= value and examples[at].gap for at in written)
        shares = f"precision {found / max(1, heard):.3f} recall {found / right[-1]:.3f}"
        alarms = sum(held[at] >= value for at in ordinary) / len(ordinary)
        _print(f"{'long' if is_long else 'short'}: {name} from {value:.2f}: {shares} alarms {alarms:.4f}")
    return round(float(max(balanced, calm)), 3)


def _print_quality(examples: list[Example], margins: np.ndarray) -> None:
    gaps = np.array([one.gap for one in examples])
    writers = np.array([f"{one.writer}, inside" if one.inside else one.writer for one in examples])
    for writer in sorted(set(writers)):
        own = writers == writer
        found = margins[own] >= 0
        right = int((found & gaps[own]).sum())
        wrong, missed = int(found.sum()) - right, int(gaps[own].sum()) - right
        _print(
            f"{writer:16} unseen: right {right:4}  wrong {wrong:4}  missed {missed:4}  of {int(own.sum())}"
        )


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
