"""Fit the projection of the encoder of tokens, from the histories in `measure/lessons`.

    python tools/fit_tokens.py [--dimensions 64]

The published encoder gives 384 numbers for each token, too many to store for every token of a memory. The
main components of the tokens of our own texts keep nearly all that comparisons need. Writes `projection.f32`
beside the model and prints its digest, which must be put into `foreword.spaces.tokens`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from pathlib import Path

import numpy as np

from foreword.spaces import tokens

_LESSONS = Path(__file__).parent.parent / "measure" / "lessons"
_MODELS = Path(tokens.__file__).parent / "models"
_MAX_STATEMENTS = 2000


def main() -> None:
    """Encode a sample of statements, fit the projection, write it and print its digest."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dimensions", type=int, default=tokens.DIMENSIONS)
    asked = parser.parse_args()
    states = np.concatenate(tokens.TokenEncoder().token_states(_read_statements()))
    content = main_components(states, asked.dimensions).astype("<f4").tobytes()
    (_MODELS / tokens.COLBERT.name / tokens.PROJECTION).write_bytes(content)
    print(hashlib.sha256(content).hexdigest())  # noqa: T201


def main_components(states: np.ndarray, dimensions: int) -> np.ndarray:
    """The directions, one in each column, that keep most of the states' lengths, the strongest first."""
    units = states / np.linalg.norm(states, axis=1, keepdims=True)
    _, directions = np.linalg.eigh((units.T @ units).astype(np.float64))
    return directions[:, ::-1][:, :dimensions]


def _read_statements() -> list[str]:
    """A sample of the statements and prompts of every history, always the same."""
    histories = [
        json.loads(line)
        for path in sorted(_LESSONS.glob("h*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    texts = [one["text"] for history in histories for one in (*history["statements"], *history["prompts"])]
    return random.Random(7).sample(texts, min(_MAX_STATEMENTS, len(texts)))  # noqa: S311  (a sample)


if __name__ == "__main__":
    main()
