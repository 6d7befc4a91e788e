"""Fit the weights that say how probably a question depends on the talk before it.

    python tools/fit_leaning.py

Reads the questions of measure/leaning and measure/documents, encodes each with the bundled encoder, and fits
a logistic regression to the vector, the number of content words, and whether it begins like a continuation.
What is kept for the test (`test.jsonl`, `quillbook`) is not learned from: it prints how well the old curve of
words alone, and the new weights, order its questions (the area under the curve). Writes the weights beside
`foreword.recipes.dialogue.angles`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foreword.recipes.dialogue import angles
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Array = np.ndarray[Any, np.dtype[np.float64]]

_ROOT = Path(__file__).parents[1]
_LESSONS = (
    "leaning/l1.jsonl",
    "leaning/l2.jsonl",
    "leaning/l3.jsonl",
    "documents/fjordline",
    "documents/grasmo",
)
_TESTS = ("leaning/test.jsonl", "documents/quillbook")
_PENALTY, _STEPS = 100.0, 50


def main() -> None:
    """Fit, print how the tests are ordered, and write the weights."""
    space = DenseSpace(BundledEmbeddingProvider())
    signs, leans = _read_all(_LESSONS, space)
    weights = fit(signs, leans)
    for name in _TESTS:
        tested, wanted = _read_all([name], space)
        by_words = np.array([angles.log_odds_of_follow_up(int(one[1]), bool(one[2])) for one in tested])
        areas = area_under_curve(by_words, wanted), area_under_curve(tested @ weights, wanted)
        print(f"{name}: words alone {areas[0]:.3f}, with the vector {areas[1]:.3f}")  # noqa: T201
    kept = {
        "encoder": space.digest,
        "start": round(float(weights[0]), 4),
        "word": round(float(weights[1]), 4),
        "continuing": round(float(weights[2]), 4),
        "vector": [round(float(one), 4) for one in weights[3:]],
    }
    place = Path(angles.__file__).with_name(angles.WEIGHTS_FILE)
    place.write_text(json.dumps(kept) + "\n", encoding="utf-8")


def _read_all(names: Iterable[str], space: DenseSpace) -> tuple[Array, Array]:
    """The signs of the questions of some files or folders, a row each, and whether each leans."""
    read = [one for name in names for one in _read_questions(_ROOT / "measure" / name)]
    signs = [
        [1.0, *map(float, angles.continuation_signs(question)), *space.embed_question(question)]
        for question, _ in read
    ]
    return np.array(signs), np.array([leans for _, leans in read], dtype=float)


def _read_questions(place: Path) -> Iterator[tuple[str, bool]]:
    """The questions of one file, or of the questions about pages in a folder, and whether each leans."""
    path = place / "questions.jsonl" if place.is_dir() else place
    for line in path.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        if "leans" in one:
            yield one["question"], one["leans"]
        elif one["kind"] != "unanswerable":
            yield one["question"], one["kind"] == "follow-up"


def fit(signs: Array, leans: Array) -> Array:
    """The weights of a logistic regression with a ridge penalty, for signs that are not standardised."""
    middle, width = signs.mean(axis=0), signs.std(axis=0) + 1e-6
    middle[0], width[0] = 0.0, 1.0
    scaled = (signs - middle) / width
    penalty = np.full(signs.shape[1], _PENALTY)
    penalty[0] = 0.0
    weights = np.zeros(signs.shape[1])
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (chances - leans) + penalty * weights
        bend = (scaled * (chances * (1 - chances))[:, None]).T @ scaled + np.diag(penalty + 1e-9)
        weights -= np.linalg.solve(bend, slope)
    plain: Array = weights / width
    plain[0] = weights[0] - (weights[1:] * middle[1:] / width[1:]).sum()
    return plain


def area_under_curve(scores: Array, wanted: Array) -> float:
    """How often a question that leans has a higher score than one that does not."""
    yes, no = scores[wanted == 1][:, None], scores[wanted == 0][None]
    return float(np.mean((yes > no) + 0.5 * (yes == no)))


if __name__ == "__main__":
    main()
