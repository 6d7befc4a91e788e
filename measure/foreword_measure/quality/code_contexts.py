"""What a maintainer's questions about an indexed folder get: the right places, tests, tokens, or silence.

    python -m foreword_measure.quality.code_contexts FOLDER QUESTIONS

FOLDER must have been indexed (`foreword index`) into the current FOREWORD_HOME. QUESTIONS has a line for each
question, with the places that answer it: `path#name`, or `path` for lines outside definitions; no places if
silence is right. `code_contexts.jsonl` asks about this repository, `code_contexts_held.jsonl` about click and
starlette in one folder. When a function is renamed there, its label must be changed, too.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.config import load_settings
from foreword.engine.context_engine import ContextEngine
from foreword.recall.code_roles import code_role
from foreword.recipes.coding.injection import InjectionPipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.types import Item, Receipt

_COLUMNS = (
    "questions",
    "answered",
    "first",
    "code",
    "right",
    "tests",
    "signatures",
    "tokens",
    "off",
    "silent",
)


@dataclass(frozen=True, slots=True)
class CodeQuestion:
    """A question, and the places that answer it; without places, silence is right."""

    text: str
    places: tuple[str, ...]

    def is_answered_by(self, item: Item) -> bool:
        """Whether a piece of code is one of the places."""
        path, name = str(item.metadata.get("path", "")), str(item.metadata.get("qualified_name") or "")
        folders = [place[:-1] for place in self.places if place.endswith("/#")]
        return (f"{path}#{name}" if name else path) in self.places or path.startswith(tuple(folders))


def read_questions(path: Path) -> list[CodeQuestion]:
    """The questions of a file, one a line."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return [CodeQuestion(row["question"], tuple(row["places"])) for row in rows]


def count_answers(
    questions: Sequence[CodeQuestion], ask: Callable[[str], Receipt], engine: ContextEngine
) -> Counter[str]:
    """Counts over all questions: right places, tests, tokens and silence, as in the columns."""
    counts: Counter[str] = Counter()
    for question in questions:
        receipt = ask(question.text)
        told = [entry.item_id for entry in receipt.entries if entry.decision == "injected"]
        items = engine.store.get(receipt.workspace, *told) if told else ()
        code = [item for item in items if item is not None and item.kind == "code"]
        if not question.places:
            counts.update(off=1, silent=int(not told))
            continue
        right = [question.is_answered_by(item) for item in code]
        asks_for_tests = any(place.endswith("/#") for place in question.places)
        roles = Counter(code_role(item) for item in code)
        counts.update(
            questions=1,
            answered=int(any(right)),
            first=int(right[:1] == [True]),
            code=len(code),
            right=sum(right),
            tests=0 if asks_for_tests else roles["test"],
            signatures=roles["signature"],
            tokens=receipt.tokens,
        )
    return counts


def main(folder: str, questions: str) -> None:
    """Print a line for each recipe."""
    asked, workspace = read_questions(Path(questions)), str(Path(folder).resolve())
    with ContextEngine(settings=load_settings()) as engine:
        coding = InjectionPipeline(engine)
        recipes: dict[str, Callable[[str], Receipt]] = {
            "coding": lambda text: (
                coding.generate_context(text, "", workspace=workspace, record=False).receipt
            ),
            "chat": lambda text: engine.preview_context(text, workspace).receipt,
        }
        for name, ask in recipes.items():
            counts = count_answers(asked, ask, engine)
            print(name, *(f"{column} {counts[column]}" for column in _COLUMNS), sep="  ")  # noqa: T201  (a program)


if __name__ == "__main__":
    main(*sys.argv[1:3])
