"""Learn which words show a decision: writes the weights that `foreword.knowledge.settled` reads.

    python tools/fit_settled.py

The examples are the user's statements in measure/lessons, by all writers but those kept for the test;
decisions and rules count as decisions, the other types do not. Few features keep a weight (L1). The threshold
is the score at which statements of writers that were left out of the fit reach `PRECISION`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from foreword.knowledge.settled import WEIGHTS_FILE, statement_features

LESSONS = Path(__file__).parent.parent / "measure" / "lessons"
KEPT_FOR_TEST = {"h9", "h16"}
SETTLES = {"decision", "rule"}
STRENGTH = 1.0
PRECISION = 0.8
MIN_EXAMPLES = 4


def read_examples() -> list[tuple[str, str, bool]]:
    """The writer, the text and whether it is a decision, for each statement of a user."""
    found = []
    for file in sorted(LESSONS.glob("h*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            said = (one for one in json.loads(line)["statements"] if one["who"] == "user")
            found += [
                (file.stem, one["text"], one["type"] in SETTLES)
                for one in said
                if one["type"] not in ("correction", "question")
            ]
    return found


def fit(rows: list[dict[str, float]], labels: np.ndarray) -> tuple[DictVectorizer, LogisticRegression]:
    """The vectorizer and the model that are fitted to these examples."""
    names = DictVectorizer()
    table = names.fit_transform(rows)
    table.indices, table.indptr = table.indices.astype(np.int32), table.indptr.astype(np.int32)
    model = LogisticRegression(C=STRENGTH, l1_ratio=1, solver="liblinear", max_iter=2000)
    return names, model.fit(table, labels)


def frequent_features(texts: list[str]) -> list[dict[str, float]]:
    """The features of each text, without rare ones."""
    every = [statement_features(text) for text in texts]
    counts: dict[str, int] = {}
    for features in every:
        for name in features:
            counts[name] = counts.get(name, 0) + 1
    return [{name: 1.0 for name in features if counts[name] >= MIN_EXAMPLES} for features in every]


def cross_validated_scores(hands: np.ndarray, rows: list[dict[str, float]], labels: np.ndarray) -> np.ndarray:
    """The score of each example by a model that saw nothing of its writer."""
    scores = np.zeros(len(rows))
    for hand in sorted(set(hands)):
        inside = hands == hand
        names, model = fit([row for row, own in zip(rows, inside, strict=True) if not own], labels[~inside])
        own_rows = [row for row, own in zip(rows, inside, strict=True) if own]
        scores[inside] = model.decision_function(names.transform(own_rows))
    return scores


def find_threshold(scores: np.ndarray, labels: np.ndarray) -> float:
    """The lowest score at and above which the statements reach `PRECISION`."""
    order = np.argsort(-scores)
    precision = np.cumsum(labels[order]) / np.arange(1, len(order) + 1)
    last = int(np.nonzero(precision >= PRECISION)[0][-1])
    return float(scores[order][last])


def main() -> None:
    """Fit, choose the threshold, write the weights and print how many there are."""
    examples = [one for one in read_examples() if one[0] not in KEPT_FOR_TEST]
    hands = np.array([hand for hand, _, _ in examples])
    labels = np.array([settles for _, _, settles in examples])
    rows = frequent_features([text for _, text, _ in examples])
    scores = cross_validated_scores(hands, rows, labels)
    threshold = find_threshold(scores, labels)
    names, model = fit(rows, labels)
    pairs = zip(names.get_feature_names_out(), model.coef_[0], strict=True)
    features = {name: round(float(weight), 2) for name, weight in sorted(pairs) if abs(weight) >= 0.02}
    weights = {
        "start": round(float(model.intercept_[0]), 2),
        "threshold": round(threshold, 2),
        "features": features,
    }
    WEIGHTS_FILE.write_text(json.dumps(weights, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    found = scores >= threshold
    recall = (found & labels).sum() / labels.sum()
    print(  # noqa: T201  (what a tool is for)
        f"{len(features)} weights, threshold {threshold:.2f}, recall of hands left out {recall:.2f}"
    )


if __name__ == "__main__":
    main()
