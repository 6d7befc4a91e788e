"""Fit the curves that turn a blend into a probability, from labelled sets.

    python tools/calibrate.py DATA HOME [--lane full]

DATA is a folder of labelled sets (docs/quality.md says what a set is), HOME keeps their vectors between runs.
Every question is asked in its own workspace and in one that does not hold its evidence; each result is
labelled relevant or not, and for each kind of item a logistic curve is fitted by Newton's method. Prints, for
the fast lane, `middle`, `slope`, `known` and `named` of `foreword.recall.fuse.BLENDS`; for the full lane
`middle` and `slope` of `foreword.recall.rerank.RERANK_CURVES`. A curve may then be shifted, so that one floor
serves all kinds. The data are not copied: the package has only the coefficients.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foreword import pipeline
from foreword.options import SearchOptions
from foreword.recall.fuse import BLENDS, DEFAULT_BLEND, known_shares_of_question, weight_of_name_spaces
from foreword.recall.rerank import RERANK_CURVES
from foreword_measure.quality import labelled, runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.engine.context_engine import ContextEngine
    from foreword_measure.quality.labelled import LabelledSet
    from foreword_measure.quality.runs import StoredScope

    Point = tuple[str, list[float], bool]

_MAX_QUESTIONS = 150
_TOP = 10
_UNREAD_SCORE = -11.0


def main() -> None:
    """Read the sets, ask their questions, fit the curves and print them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("home", type=Path)
    parser.add_argument("--lane", choices=("fast", "full"), default="fast")
    asked = parser.parse_args()
    points: dict[str, list[tuple[list[float], bool]]] = defaultdict(list)
    folders = [one for one in sorted(asked.data.iterdir()) if (one / "qrels.tsv").is_file()]
    for folder in folders:
        for kind, signs, relevant in _read_points(labelled.read_set(folder), asked.home, asked.lane):
            points[kind].append((signs, relevant))
        print(folder.name, "asked", flush=True)  # noqa: T201
    for kind, seen in sorted(points.items()):
        weights, error = fit(np.array([signs for signs, _ in seen]), np.array([yes for _, yes in seen]))
        slope, *more, start = weights
        named = dict(zip(("known", "named"), more, strict=False))
        shown = " ".join(f"{name}={value:.2f}" for name, value in {"slope": slope, **named}.items())
        middle = f"middle={-start / slope:.3f}"
        print(f"{kind:10} {middle} {shown}  calibration error {error:.3f} on {len(seen)}")  # noqa: T201


def fit(signs: np.ndarray, relevant: np.ndarray) -> tuple[np.ndarray, float]:
    """The weights of a logistic curve, with the intercept last, and its expected calibration error."""
    inputs = np.c_[signs, np.ones(len(signs))]
    weights = np.zeros(inputs.shape[1])
    for _ in range(60):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        bend = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + 1e-2 * np.eye(len(weights))
        weights -= np.linalg.solve(bend, inputs.T @ (chances - relevant) + 1e-2 * weights)
    chances = 1 / (1 + np.exp(-inputs @ weights))
    bins = np.minimum((chances * 10).astype(int), 9)
    gaps = [
        abs(chances[bins == b].mean() - relevant[bins == b].mean()) * (bins == b).mean() for b in set(bins)
    ]
    return weights, float(sum(gaps))


def _read_points(given: LabelledSet, home: Path, lane: str) -> Iterator[Point]:
    chance = random.Random(7)  # noqa: S311  (a sample, not a secret)
    inside = home / given.name
    stored_scopes = runs.store_set(given, inside, lambda *_: None)
    with runs.open_engine_in(inside) as engine:
        runs.make_vectors(engine, stored_scopes, lambda *_: None)
        for question in chance.sample(given.questions, min(_MAX_QUESTIONS, len(given.questions))):
            gains = stored_scopes[question.scope].gains(question)
            yield from _label_results(engine, question.text, question.scope, stored_scopes, gains, lane)
            foreign = [scope for scope in stored_scopes if scope != question.scope]
            if foreign:
                yield from _label_results(
                    engine, question.text, chance.choice(foreign), stored_scopes, {}, lane
                )


def _label_results(
    engine: ContextEngine,
    text: str,
    scope: str,
    stored_scopes: dict[str, StoredScope],
    gains: dict[str, float],
    lane: str,
) -> Iterator[Point]:
    draft = engine.draft(text, scope, SearchOptions(limit=_TOP, lane=lane), "search", 0)
    draft = pipeline.run(draft, pipeline.SEARCH)
    for result in draft.results:
        holders = stored_scopes[scope].documents_of_item.get(result.memory.id, ())
        relevant = any(gains.get(holder, 0) > 0 for holder in holders)
        blend, opinion = BLENDS.get(result.memory.kind, DEFAULT_BLEND), RERANK_CURVES.get(result.memory.kind)
        signs = [
            result.scores["blend"] - weight_of_name_spaces(draft.found, blend),
            *known_shares_of_question(draft.found, blend),
        ]
        if lane == "full" and opinion:
            signs = [result.scores["blend"] + opinion.weight * result.scores.get("rerank", _UNREAD_SCORE)]
        yield result.memory.kind, signs, relevant


if __name__ == "__main__":
    main()
