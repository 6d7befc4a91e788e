"""The demonstration: three months of a small team's memory, and questions that it answers.

Knows the sample that comes with the package and how to ask; prints nothing and chooses no folder.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from foreword.engine.context_engine import ContextEngine
    from foreword.recipes.chat import ContextResult

WORKSPACE = "lighthouse"
BUDGET = 400
QUESTIONS = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, the context that was built for it, and how long that took."""

    question: str
    result: ContextResult
    milliseconds: float

    @property
    def decisions(self) -> Mapping[str, int]:
        """How many candidates met each fate."""
        return Counter(entry.decision for entry in self.result.receipt.entries)


def sample_lines() -> list[str]:
    """The sample as lines that can be imported: items, then the relations between them."""
    return [*_lines("lighthouse.jsonl"), *_lines("relations.jsonl")]


def questions(limit: int = QUESTIONS) -> list[str]:
    """The first questions of the sample."""
    return [json.loads(line)["question"] for line in _lines("questions.jsonl")[:limit]]


def ask(engine: ContextEngine, workspace: str, budget: int = BUDGET) -> Iterator[Answer]:
    """Build a context for each question."""
    for question in questions():
        started = time.perf_counter()
        result = engine.build_context(question, workspace, token_budget=budget)
        yield Answer(question, result, (time.perf_counter() - started) * 1000)


def _lines(name: str) -> list[str]:
    text = resources.files("foreword.edges.cli").joinpath("sample_data", name).read_text(encoding="utf-8")
    return text.rstrip("\n").split("\n")
