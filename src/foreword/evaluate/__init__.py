"""How well does the engine find? A labelled set is stored, asked and measured, beside plain baselines.

`evaluate` is the whole of it: `labelled` reads the set, `runs` stores and asks, `metrics` scores, `tables`
reports. Nothing here changes how the engine searches, and the set's own data stays where it is.
"""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.errors import ValidationError
from foreword.evaluate import labelled, metrics, runs, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from foreword.engine import ContextEngine
    from foreword.evaluate.labelled import LabelledSet, Question
    from foreword.evaluate.metrics import Place
    from foreword.evaluate.runs import Answer, Stock
    from foreword.report import Report
    from foreword.spaces.providers import EmbeddingProvider

__all__ = ["evaluate"]


def _silent(_label: str, _done: int, _total: int) -> None:
    """Nobody watches."""


def evaluate(
    folder: Path,
    *,
    run_file: Path | None = None,
    limit: int | None = None,
    progress: Callable[[str, int, int], None] = _silent,
    home: Path | None = None,
    provider: EmbeddingProvider | None = None,
) -> Report:
    """Measure the default engine on a labelled set.

    With `home` the stored set and its vectors stay there, a folder a set, and are found again the next time.
    `run_file` receives the answers as `query-id Q0 doc-id rank score foreword`; `limit` is how many queries.
    """
    given = labelled.read(folder, limit)
    with nullcontext(home) if home else tempfile.TemporaryDirectory(prefix="foreword-eval-") as place:
        inside = Path(place) / given.name
        stocks = runs.keep(given, inside, progress)
        with runs.engine_in(inside, provider) as engine:
            runs.embed(engine, stocks, progress)
            answers = _answers(engine, given.questions, stocks, progress)
            encoder = _encoder(engine)
    if run_file:
        _write(run_file, given.questions, answers, stocks)
    rows = [_row(question, answer, stocks) for question, answer in zip(given.questions, answers, strict=True)]
    return tables.report(_about(given, encoder), rows)


def _answers(
    engine: ContextEngine,
    questions: tuple[Question, ...],
    stocks: dict[str, Stock],
    progress: Callable[[str, int, int], None],
) -> list[Answer]:
    answers = []
    for done, question in enumerate(questions):
        progress("asking", done, len(questions))
        answers.append(runs.ask(engine, question, stocks[question.scope]))
    progress("asking", len(questions), len(questions))
    return answers


def _row(question: Question, answer: Answer, stocks: dict[str, Stock]) -> tables.Row:
    gains = stocks[question.scope].gains(question)
    scored = {run: metrics.scores(places, gains) for run, places in answer.runs.items()} if gains else {}
    return tables.Row(question.id, question.category, scored, answer.embedding_ms, answer.search_ms)


def _about(given: LabelledSet, encoder: str) -> tables.About:
    every = [document for inside in given.documents.values() for document in inside]
    return tables.About(given.name, len(every), sum(not document.parts for document in every), encoder)


def _encoder(engine: ContextEngine) -> str:
    provider = next((space.provider for space in engine.kit.spaces if hasattr(space, "provider")), None)
    return "" if provider is None else str(provider.model)


def _write(
    path: Path, questions: Iterable[Question], answers: Iterable[Answer], stocks: dict[str, Stock]
) -> None:
    try:
        with path.open("w", encoding="utf-8") as file:
            for question, answer in zip(questions, answers, strict=True):
                stock = stocks[question.scope]
                file.writelines(_run_lines(question.id, answer.runs[runs.OURS], stock))
    except OSError as error:
        raise ValidationError(
            f"cannot write the run to {path}: {error.strerror}; give another file"
        ) from error


def _run_lines(query: str, places: Iterable[Place], stock: Stock) -> Iterable[str]:
    """One line a document, where it is first met; documents stored as the same items all get theirs."""
    seen: set[str] = set()
    score = float("inf")
    for place in places:
        # Readers of run files sort by score: it has to fall with the rank, however an engine counts.
        score = min(place.score, score - 1e-6)
        for document in (twin for one in place.documents for twin in stock.twins[one]):
            if document not in seen:
                seen.add(document)
                yield f"{query} Q0 {document} {len(seen)} {score:.6f} foreword\n"
