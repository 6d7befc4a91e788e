"""Small labelled sets on disk, and the evaluation of one without a model."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from foreword.testing import HashEmbeddings
from foreword.text.words import content_words
from foreword_measure.quality import evaluate

TURNS = [
    ("t1", "chat", "Ann", "The lighthouse keeper moved to Bergen in spring."),
    ("t2", "chat", "Ben", "My sister bakes bread with walnuts."),
    ("t3", "chat", "Ann", "We repaired the boat engine on Saturday."),
    ("u1", "other", "Cy", "The lighthouse keeper retired."),
]
QUERIES = [
    ("q1", "chat", "Where did the lighthouse keeper go?", "single"),
    ("q2", "chat", "What bread does the sister bake, and who fixed the boat engine?", "multi"),
    ("q3", "chat", "What is the capital of Peru?", "single"),
]
QRELS = [("q1", "t1", 1), ("q2", "t2", 1), ("q2", "t3", 2), ("q3", "t1", 0)]


class Overlap:
    """A cross-encoder that counts the words which question and text share."""

    def __init__(self):
        self.read = []

    def scores(self, query, texts, expires=None):
        self.read.append((query, len(texts)))
        return [float(len(set(content_words(query)) & set(content_words(text)))) for text in texts]


@pytest.fixture
def judge():
    """A cross-encoder without a model."""
    return Overlap()


@pytest.fixture
def measure():
    """`evaluate` without a model, in the fast lane unless told otherwise."""

    def run(folder, provider=None, **options):
        return evaluate(
            folder,
            provider=provider or HashEmbeddings(),
            **{"lanes": ("fast",), "reranker": Overlap(), **options},
        )

    return run


def _lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def _write(folder, corpus, queries, qrels, **more):
    folder.mkdir(exist_ok=True)
    (folder / "corpus.jsonl").write_text(_lines(corpus))
    (folder / "queries.jsonl").write_text(_lines(queries))
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in qrels)]
    (folder / "qrels.tsv").write_text("\n".join(rows) + "\n")
    for name, value in more.items():
        (folder / f"{name}.jsonl").write_text(_lines(value))
    return folder


@pytest.fixture
def write_set():
    """Write a labelled set into a folder."""
    return _write


@pytest.fixture
def chat(tmp_path):
    corpus = [
        {
            "id": one, "scope": scope, "kind": "turn", "speaker": who, "text": text,
            "time": "2024-05-01T10:00:00Z", "session": "s1",
        }
        for one, scope, who, text in TURNS
    ]  # fmt: skip
    queries = [{"id": q, "scope": s, "text": t, "category": c} for q, s, t, c in QUERIES]
    return _write(tmp_path / "chat", corpus, queries, QRELS)


def _source(name, lines):
    return "\n".join(f"{name}_{n} = compute({n})  # a line of {name}" for n in range(1, lines + 1))


@pytest.fixture
def files(tmp_path):
    corpus = [
        {"id": "f1", "text": _source("alpha", 100), "meta": {"path": "src/alpha.py", "repo": "r"}},
        {"id": "f2", "text": _source("beta", 90), "meta": {"path": "src/beta.py", "repo": "r"}},
        {"id": "f3", "text": "short = 1", "meta": {"path": "src/short.py", "repo": "r"}},
    ]
    queries = [{"id": "q", "scope": "v2", "text": "beta_80 is computed wrongly", "category": "r"}]
    scopes = [
        {"scope": "v1", "docs": [["src/alpha.py", "f1"]]},
        {"scope": "v2", "docs": [["lib/alpha.py", "f1"], ["src/beta.py", "f2"], ["src/short.py", "f3"]]},
    ]
    return _write(tmp_path / "files", corpus, queries, [("q", "f2", 1)], scopes=scopes)


@pytest.fixture
def scenario_data(monkeypatch):
    """The folder of scenarios, which is not part of the repository."""
    beside = Path(__file__).parents[4] / "shared" / "data"
    folder = Path(os.environ.get("FOREWORD_DATA") or beside) / "scenarios"
    monkeypatch.delenv("FOREWORD_DATA", raising=False)  # it is not a setting of the engine's
    if not (folder / "scenarios.jsonl").is_file():
        pytest.skip(f"no scenarios in {folder}; set FOREWORD_DATA to the folder that holds scenarios")
    return folder
