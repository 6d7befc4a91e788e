"""What was measured, as a report: a table of runs, one of categories, one of times; and all of it as data.

Knows numbers and their names, and nothing of how they came about. Questions to which nothing is relevant are
counted and left out of every mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foreword.evaluate.metrics import METRICS, means, percentile
from foreword.evaluate.runs import OURS
from foreword.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.report import Cell


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one question; there are no scores when nothing is relevant to it."""

    question: str
    category: str
    runs: Mapping[str, Mapping[str, float]]
    embedding_ms: float
    search_ms: float


@dataclass(frozen=True, slots=True)
class About:
    """What was asked: the set, how much of it could be stored, and which encoder was used."""

    name: str
    items: int
    empty: int
    encoder: str


def report(about: About, rows: Sequence[Row]) -> Report:
    """The whole measurement."""
    scored = [row for row in rows if row.runs]
    overall = _by_run(scored)
    categories = {
        category: [row for row in scored if row.category == category]
        for category in sorted({row.category for row in scored})
    }
    by_category = {category: _by_run(inside) for category, inside in categories.items()}
    sizes = {category: len(inside) for category, inside in categories.items()}
    times = {"search": [r.search_ms for r in rows], "embedding the question": [r.embedding_ms for r in rows]}
    told = {name: _spread(values) for name, values in times.items()}
    title = f"{about.name}: {about.items:,} items, {len(rows):,} queries"
    tables = [Table(title, ("run", *METRICS), tuple(_lines(overall)), _notes(about, len(rows) - len(scored)))]
    if any(categories):
        tables.append(_category_table(about.name, by_category, sizes))
    tables.append(_time_table(about.name, told))
    data = {
        "set": about.name,
        "items": about.items,
        "empty_items": about.empty,
        "encoder": about.encoder,
        "queries": len(rows),
        "queries_without_relevant_items": len(rows) - len(scored),
        "runs": overall,
        "categories": {name: {"queries": sizes[name], "runs": by_category[name]} for name in categories},
        "milliseconds": told,
        "per_query": [_per_query(row) for row in scored],
    }
    return Report(tuple(tables), data)


def _by_run(rows: Sequence[Row]) -> dict[str, dict[str, float | None]]:
    names = list(rows[0].runs) if rows else [OURS]
    return {name: means([row.runs[name] for row in rows]) for name in names}


def _lines(runs: Mapping[str, Mapping[str, float | None]]) -> list[tuple[Cell, ...]]:
    return [(run, *(_short(values[name]) for name in METRICS)) for run, values in runs.items()]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _notes(about: About, skipped: int) -> tuple[str, ...]:
    notes = [
        "R@k: recall; T@N: evidence recall in N tokens (characters / 4), in rank order until one is too many",
        f"the encoder of semantic and RRF: {about.encoder}" if about.encoder else "there is no encoder",
    ]
    if skipped:
        notes.append(f"{skipped:,} queries have no relevant item and are not in the means")
    if about.empty:
        notes.append(f"{about.empty:,} items hold no text and could not be stored")
    return tuple(notes)


def _category_table(
    name: str,
    categories: Mapping[str, Mapping[str, Mapping[str, float | None]]],
    sizes: Mapping[str, int],
) -> Table:
    rows = [
        (category or "(none)", sizes[category], *line)
        for category, runs in categories.items()
        for line in _lines(runs)
    ]
    return Table(f"{name}: by category", ("category", "queries", "run", *METRICS), tuple(rows))


def _time_table(name: str, told: Mapping[str, Mapping[str, float | None]]) -> Table:
    columns = ("mean", "p50", "p95")
    rows = tuple((part, *(_short(spread[column]) for column in columns)) for part, spread in told.items())
    note = "a search is timed with its question embedded beforehand"
    return Table(f"{name}: milliseconds a query", ("part", *columns), rows, (note,))


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    mean = sum(values) / len(values) if values else None
    return {"mean": mean, "p50": percentile(values, 0.5), "p95": percentile(values, 0.95)}


def _per_query(row: Row) -> dict[str, Any]:
    return {
        "query": row.question,
        "category": row.category,
        "search_ms": row.search_ms,
        "runs": {run: dict(values) for run, values in row.runs.items()},
    }
