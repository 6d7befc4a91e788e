"""Fit the curves that turn a blend into a probability, from labelled sets.

    python tools/calibrate.py DATA HOME [--lane full]

DATA is a folder of labelled sets (docs/quality.md says what a set is), HOME keeps their vectors between runs.
Every question is asked of its own workspace and of one that does not hold its evidence; what comes back is
labelled relevant or not, and for each kind of item a logistic curve is fitted by Newton's method. Prints the
`middle` and `slope` of `foreword.recall.fuse.BLENDS` (fast lane) or `foreword.recall.rerank.OPINIONS` (full).
The data stays where it is: the package holds the coefficients alone.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foreword.evaluate import labelled, runs
from foreword.recall.rerank import OPINIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.engine import ContextEngine
    from foreword.evaluate.labelled import LabelledSet
    from foreword.evaluate.runs import Stock

_ASKED = 150
_TOP = 10
_UNREAD = -11.0


def main() -> None:
    """Read the sets, ask, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("home", type=Path)
    parser.add_argument("--lane", choices=("fast", "full"), default="fast")
    asked = parser.parse_args()
    points: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    folders = [one for one in sorted(asked.data.iterdir()) if (one / "qrels.tsv").is_file()]
    for folder in folders:
        for kind, blend, relevant in _points(labelled.read(folder), asked.home, asked.lane):
            points[kind].append((blend, relevant))
        print(folder.name, "asked", flush=True)  # noqa: T201
    for kind, seen in sorted(points.items()):
        middle, slope, error = fit(np.array(seen))
        shown = f"middle={middle:.3f} slope={slope:.1f}"
        print(f"{kind:10} {shown}  calibration error {error:.3f} on {len(seen)} results")  # noqa: T201


def fit(points: np.ndarray) -> tuple[float, float, float]:
    """The curve through (blend, relevant) points: middle, slope, and expected calibration error."""
    inputs = np.c_[points[:, 0], np.ones(len(points))]
    weights = np.zeros(2)
    for _ in range(50):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        bend = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + 1e-3 * np.eye(2)
        weights -= np.linalg.solve(bend, inputs.T @ (chances - points[:, 1]) + 1e-3 * weights)
    chances = 1 / (1 + np.exp(-inputs @ weights))
    bins = np.minimum((chances * 10).astype(int), 9)
    gaps = [
        abs(chances[bins == b].mean() - points[bins == b, 1].mean()) * (bins == b).mean() for b in set(bins)
    ]
    return -weights[1] / weights[0], weights[0], float(sum(gaps))


def _points(given: LabelledSet, home: Path, lane: str) -> Iterator[tuple[str, float, bool]]:
    chance = random.Random(7)  # noqa: S311  (a sample, not a secret)
    inside = home / given.name
    stocks = runs.keep(given, inside, lambda *_: None)
    with runs.engine_in(inside) as engine:
        runs.embed(engine, stocks, lambda *_: None)
        for question in chance.sample(given.questions, min(_ASKED, len(given.questions))):
            gains = stocks[question.scope].gains(question)
            yield from _asked(engine, question.text, question.scope, stocks, gains, lane)
            strange = [scope for scope in stocks if scope != question.scope]
            if strange:
                yield from _asked(engine, question.text, chance.choice(strange), stocks, {}, lane)


def _asked(
    engine: ContextEngine, text: str, scope: str, stocks: dict[str, Stock], gains: dict[str, float], lane: str
) -> Iterator[tuple[str, float, bool]]:
    for result in engine.search(text, scope, limit=_TOP, lane=lane):
        blend = result.scores["blend"]
        opinion = OPINIONS.get(result.memory.kind)
        if lane == "full" and opinion:
            blend += opinion.weight * result.scores.get("rerank", _UNREAD)
        holders = stocks[scope].holders.get(result.memory.id, ())
        yield result.memory.kind, blend, any(gains.get(holder, 0) > 0 for holder in holders)


if __name__ == "__main__":
    main()
