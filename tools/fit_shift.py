"""Fit the curves that tell a change of subject, from dialogues with known boundaries.

    python tools/fit_shift.py DIR DIR…

Each DIR holds dialogues.jsonl (docs/quality.md says what a set is). Every turn after the first is read as a
prompt; a curve over its signs is fitted to whether it begins a subject, all sets with equal weight, by
Newton's method with a little ridge. Prints the weights of `MEANING` and `WORDS` in
`foreword.recall.divergence`, the thresholds, and how reliable they are: five folds over dialogues, and each
set judged by a curve that never saw it. The data are not copied: the package has only the coefficients.
"""

from __future__ import annotations

import argparse
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foreword.recall.divergence import ShiftSigns, read_shift_signs
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace
from foreword_measure.quality import boundaries, shifts
from foreword_measure.quality.boundaries import BETA, Tally

if TYPE_CHECKING:
    from collections.abc import Callable

_FOLDS = 5
_RIDGE = 1.0
_NAMES = [field.name for field in fields(ShiftSigns)]
_MEANING, _WORDS = "MEANING", "WORDS"
_VECTOR_SIGNS = ("near", "last", "settled")
_CUTS = [round(0.05 + 0.01 * step, 2) for step in range(91)]
_MIN_PRECISION = {"medium": 0.8, "high": 0.9}


@dataclass(frozen=True, slots=True)
class Points:
    """For every place of a set: its signs, whether a subject begins, its dialogue, if it only replies."""

    inputs: np.ndarray
    opens: np.ndarray
    dialogue: np.ndarray
    replies: np.ndarray


def main() -> None:
    """Read the sets, embed their turns, fit the curves and print them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    asked = parser.parse_args()
    dense = DenseSpace(BundledEmbeddingProvider())
    sets = {}
    for folder in asked.folders:
        encoded = shifts.encode_dialogues(shifts.read_set(folder), dense, lambda *_: None)
        sets[folder.resolve().name] = encoded
        _print(f"{folder.name}: {len(encoded)} dialogues read")
    for curve in (_MEANING, _WORDS):
        _print(f"\n{curve}")
        _fit_and_print(curve, {name: _make_points(encoded, curve) for name, encoded in sets.items()})


def _make_points(encoded: list[shifts.EncodedDialogue], curve: str) -> Points:
    rows, opens, numbers, replies = [], [], [], []
    for number, one in enumerate(encoded):
        for (prompt, past), true in zip(one.places(), one.dialogue.opens, strict=True):
            rows.append(astuple(read_shift_signs(prompt, past)))
            opens.append(true)
            numbers.append(number)
            replies.append(prompt.replies)
    inputs = np.array(rows)
    if curve == _WORDS:
        inputs[:, [_NAMES.index(name) for name in _VECTOR_SIGNS]] = 0.0
    return Points(inputs, np.array(opens), np.array(numbers), np.array(replies))


def fit(sets: list[Points]) -> np.ndarray:
    """The weights of the signs, with the intercept last; every set counts the same."""
    inputs = np.concatenate([one.inputs for one in sets])
    opens = np.concatenate([one.opens for one in sets]).astype(float)
    counts = np.concatenate([np.full(len(one.opens), 1 / len(one.opens)) for one in sets])
    counts *= len(opens) / counts.sum()
    middle, spread = inputs.mean(axis=0), inputs.std(axis=0)
    spread[spread == 0] = 1.0
    scaled = np.c_[(inputs - middle) / spread, np.ones(len(inputs))]
    ridge = _RIDGE * np.eye(scaled.shape[1])
    ridge[-1, -1] = 0.0
    weights = np.zeros(scaled.shape[1])
    for _ in range(50):
        chances = 1 / (1 + np.exp(-scaled @ weights))
        bend = (scaled * (counts * chances * (1 - chances))[:, None]).T @ scaled + ridge
        weights -= np.linalg.solve(bend, scaled.T @ (counts * (chances - opens)) + ridge @ weights)
    slopes = weights[:-1] / spread
    return np.r_[slopes, weights[-1] - slopes @ middle]


def chances(points: Points, weights: np.ndarray) -> np.ndarray:
    """The probability of a shift at every place."""
    return 1 / (1 + np.exp(-points.inputs @ weights[:-1] - weights[-1]))


def _fit_and_print(curve: str, sets: dict[str, Points]) -> None:
    weights = fit(list(sets.values()))
    shown = ", ".join(f"{name}={value:.2f}" for name, value in zip(_NAMES, weights, strict=False))
    _print(f"{curve} = Curve(Signs({shown}), {weights[-1]:.2f})")
    unseen = {name: _cross_validated_chances(name, sets) for name in sets}
    threshold = max(
        _CUTS, key=lambda cut: _mean_over_sets(sets, unseen, cut, lambda counted: counted.f_score(BETA))
    )
    _print(f"threshold {threshold:.2f}: the best mean F{BETA:g} of all sets")
    for severity, least in _MIN_PRECISION.items():
        sure = [
            c
            for c in _CUTS
            if _mean_over_sets(sets, unseen, c, lambda counted: counted.precision or 0.0) >= least
        ]
        _print(f"{severity} from {min(sure, default=1.0):.2f}: alerts are right {least:.0%} of the time")
    for name, points in sets.items():
        _print_line(f"{name}, {_FOLDS} folds", points, unseen[name], threshold)
        others = [other for other_name, other in sets.items() if other_name != name]
        if others:
            _print_line(f"{name}, fitted on the others", points, chances(points, fit(others)), threshold)


def _cross_validated_chances(name: str, sets: dict[str, Points]) -> np.ndarray:
    """The probabilities for one set, each dialogue by a curve that was fitted without it."""
    points = sets[name]
    unseen = np.zeros(len(points.opens))
    for fold in range(_FOLDS):
        seen = fit([_select(one, one.dialogue % _FOLDS != fold) for one in sets.values()])
        unseen = np.where(points.dialogue % _FOLDS == fold, chances(points, seen), unseen)
    return unseen


def _select(points: Points, chosen: np.ndarray) -> Points:
    return Points(*(getattr(points, field.name)[chosen] for field in fields(Points)))


def _mean_over_sets(
    sets: dict[str, Points], unseen: dict[str, np.ndarray], cut: float, measure: Callable[[Tally], float]
) -> float:
    return float(
        np.mean([measure(_count_alerts(points, unseen[name], cut)) for name, points in sets.items()])
    )


def _count_alerts(points: Points, unseen: np.ndarray, cut: float) -> Tally:
    alerts = (unseen >= cut) & ~points.replies
    return Tally(int((alerts & points.opens).sum()), int(alerts.sum()), int(points.opens.sum()))


def _print_line(what: str, points: Points, unseen: np.ndarray, threshold: float) -> None:
    counted = _count_alerts(points, unseen, threshold)
    auc = boundaries.roc_auc(unseen.tolist(), points.opens.tolist())
    _print(
        f"{what:40} ROC-AUC {auc:.3f}  precision {counted.precision or 0:.3f}  "
        f"recall {counted.recall or 0:.3f}  F1 {counted.f_score(1):.3f}  F0.5 {counted.f_score(0.5):.3f}"
    )


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
