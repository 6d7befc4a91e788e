"""The report of a labelled set: tables of runs, recalls, categories and times, and the same as data.

Nothing is measured here. Questions to which nothing is relevant are counted and left out of every mean.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from foreword_measure.quality import metrics
from foreword_measure.quality.metrics import mean_by_measure, percentile
from foreword_measure.quality.runs import BASELINES, OURS
from foreword_measure.quality.silence import BUDGET, MAX_FOREIGN_SHARE
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from foreword_measure.quality.silence import InjectionCounts, Silence
    from foreword_measure.report import Cell

    Means = Mapping[str, float | None]

ADVERSARIAL = "adversarial"
ALL_BUT = f"all but {ADVERSARIAL}"

_WITH_INTERVAL = ("NDCG@10", "R@10")
"""The metrics that are shown with an interval."""

_MAIN = (*_WITH_INTERVAL, *(f"T@{budget}" for budget in metrics.BUDGETS))
_RECALLS = ("hit@5", "R@5", "all@5", "hit@10", "R@10", "all@10", "R@20", "R@50", "MRR")
_CATEGORY = ("NDCG@10", "R@5", "R@10", "R@50", "hit@5", "MRR", "T@1000")
_SUMMARY = ("hit@5", "T@500", "T@1000", "T@4000")


@dataclass(frozen=True, slots=True)
class QuestionScores:
    """The measurements of one question; there are no scores if nothing is relevant to it.

    `scored_results` has, for each lane, the scores of the first ten results, and whether each is relevant.
    """

    question: str
    scope: str
    category: str
    runs: Mapping[str, Mapping[str, float]]
    embedding_ms: float
    search_ms: Mapping[str, float]
    scored_results: Mapping[str, Sequence[tuple[float, bool]]]


@dataclass(frozen=True, slots=True)
class SetFacts:
    """What was measured: the set, how much of it could be stored, the encoder, and the spaces not used."""

    name: str
    items: int
    empty: int
    encoder: str
    without: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The set's name, and the spaces that the engine did not use."""
        return f"{self.name} without {', '.join(self.without)}" if self.without else self.name


def build_report(about: SetFacts, rows: Sequence[QuestionScores], silence: Silence | None = None) -> Report:
    """The whole report of one set."""
    scored = [row for row in rows if row.runs]
    measured = list(scored[0].runs if scored else rows[0].search_ms)
    overall = _mean_by_run(scored, measured)
    intervals = {run: {name: _interval(scored, run, name) for name in _WITH_INTERVAL} for run in overall}
    grouped = _group_by_category(scored)
    categories = {category: _mean_by_run(inside, measured) for category, inside in grouped.items()}
    sizes = {category: len(inside) for category, inside in grouped.items()}
    times = _time_spreads(rows)
    tables = [_main_table(about, rows, overall, intervals), _recall_table(about, overall)]
    if any(grouped):
        tables.append(_category_table(about, categories, sizes, best_lane(overall)))
    tables.append(_time_table(about, times))
    data = {
        "set": about.name,
        "without": list(about.without),
        "items": about.items,
        "empty_items": about.empty,
        "encoder": about.encoder,
        "queries": len(rows),
        "queries_without_relevant_items": len(rows) - len(scored),
        "runs": overall,
        "intervals": intervals,
        "categories": {name: {"queries": sizes[name], "runs": categories[name]} for name in grouped},
        "milliseconds": times,
        "per_query": [_query_to_json(row) for row in scored],
    }
    if silence is not None:
        bins = {
            run: metrics.bin_by_score(_scored_results(scored, run)) for run in OURS.values() if run in overall
        }
        tables += [_silence_table(about, silence), _reliability_table(about, bins)]
        data["silence"] = {
            "from": silence.origin,
            "runs": {k: _silence_json(v) for k, v in silence.runs.items()},
        }
        data["reliability"] = {
            run: {"expected_error": metrics.calibration_error(inside), "bins": [asdict(b) for b in inside]}
            for run, inside in bins.items()
        }
    return Report(tuple(tables), data)


def build_summary(reports: Sequence[Report]) -> Report:
    """Many sets in one table, with a row for each set."""
    sets = {report.data["set"]: _summary_row(report.data["runs"]) for report in reports}
    columns = ("set", *next(iter(sets.values()), {}))
    rows = tuple((name, *map(_round, values.values())) for name, values in sets.items())
    notes = (
        f"{', '.join(_SUMMARY)}: of the full lane, or of the fast one where that alone was measured",
        f"best baseline: the NDCG@10 of the best of {', '.join(BASELINES)}",
    )
    return Report((Table("summary", columns, rows, notes),), {"summary": sets})


def best_lane(runs: Mapping[str, Means]) -> str:
    """The lane with the best NDCG@10; of equals, the quicker one."""
    lanes = [lane for lane in OURS.values() if lane in runs]
    return max(lanes, key=lambda lane: runs[lane]["NDCG@10"] or 0.0)


def _summary_row(runs: Mapping[str, Means]) -> dict[str, float | None]:
    fast, full = runs.get(OURS["fast"], {}), runs.get(OURS["full"], {})
    lanes = {"fast": fast, "full": full}
    short = {f"{lane} {name}": values.get(name) for lane, values in lanes.items() for name in _WITH_INTERVAL}
    short |= {name: (full or fast).get(name) for name in _SUMMARY}
    others = [value for run in BASELINES if (value := runs.get(run, {}).get("NDCG@10")) is not None]
    return {**short, "best baseline": max(others, default=None)}


# Numbers


def _mean_by_run(rows: Sequence[QuestionScores], names: Sequence[str]) -> dict[str, dict[str, float | None]]:
    return {name: mean_by_measure([row.runs[name] for row in rows]) for name in names}


def _interval(rows: Sequence[QuestionScores], run: str, name: str) -> tuple[float, float] | None:
    return metrics.confidence_interval([row.runs[run][name] for row in rows], [row.scope for row in rows])


def _group_by_category(rows: Sequence[QuestionScores]) -> dict[str, list[QuestionScores]]:
    """The questions by category; beside adversarial ones, all others together are a further group."""
    names = sorted({row.category for row in rows})
    grouped = {name: [row for row in rows if row.category == name] for name in names}
    if ADVERSARIAL in grouped and len(grouped) > 1:
        grouped[ALL_BUT] = [row for row in rows if row.category != ADVERSARIAL]
    return grouped


def _time_spreads(rows: Sequence[QuestionScores]) -> dict[str, dict[str, float | None]]:
    times = {lane: _spread([row.search_ms[lane] for row in rows]) for lane in rows[0].search_ms}
    return {**times, "embedding the question": _spread([row.embedding_ms for row in rows])}


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    mean = sum(values) / len(values) if values else None
    return {"mean": mean, "p50": percentile(values, 0.5), "p95": percentile(values, 0.95)}


def _scored_results(rows: Sequence[QuestionScores], run: str) -> list[tuple[float, bool]]:
    return [pair for row in rows for pair in row.scored_results[run]]


def _silence_json(counts: InjectionCounts) -> dict[str, float | None]:
    return {**asdict(counts), "foreign_injected_share": counts.noise, "evidence_kept": counts.evidence_kept}


def _query_to_json(row: QuestionScores) -> dict[str, Any]:
    return {
        "query": row.question,
        "scope": row.scope,
        "category": row.category,
        "search_ms": dict(row.search_ms),
        "runs": {run: dict(values) for run, values in row.runs.items()},
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


# Tables


def _recall_table(about: SetFacts, runs: Mapping[str, Means]) -> Table:
    rows = tuple((run, *(_round(values[name]) for name in _RECALLS)) for run, values in runs.items())
    note = "of what is relevant, among the first k: hit@k: any; R@k: the share; all@k: everything"
    return Table(f"{about.title}: recall", ("run", *_RECALLS), rows, (note,))


def _main_table(
    about: SetFacts,
    rows: Sequence[QuestionScores],
    runs: Mapping[str, Means],
    intervals: Mapping[str, Mapping[str, tuple[float, float] | None]],
) -> Table:
    columns = [part for name in _MAIN for part in ((name, "±") if name in _WITH_INTERVAL else (name,))]
    lines = tuple(
        (
            run,
            *(
                cell
                for name in _MAIN
                for cell in _value_and_interval(values[name], intervals[run].get(name), name)
            ),
        )
        for run, values in runs.items()
    )
    title = f"{about.title}: {about.items:,} items, {len(rows):,} queries"
    return Table(title, ("run", *columns), lines, _make_notes(about, rows))


def _value_and_interval(
    value: float | None, interval: tuple[float, float] | None, name: str
) -> tuple[Cell, ...]:
    """The cells of a metric: its mean and, for some metrics, half the width of its interval."""
    if name not in _WITH_INTERVAL:
        return (_round(value),)
    return _round(value), _round((interval[1] - interval[0]) / 2) if interval else None


def _make_notes(about: SetFacts, rows: Sequence[QuestionScores]) -> tuple[str, ...]:
    scored = [row for row in rows if row.runs]
    drawn = "scopes" if metrics.has_enough_groups([row.scope for row in scored]) else "queries"
    notes = [
        "R@k: recall; T@N: evidence recall in N tokens (characters / 4), in rank order until one is too many",
        f"±: half the 95 % interval, by {metrics.RESAMPLES:,} bootstrap resamples of the {drawn}",
        f"the encoder of semantic and RRF: {about.encoder}" if about.encoder else "there is no encoder",
    ]
    if len(scored) < len(rows):
        notes.append(f"{len(rows) - len(scored):,} queries have no relevant item and are not in the means")
    if about.empty:
        notes.append(f"{about.empty:,} items hold no text and could not be stored")
    return tuple(notes)


def _category_table(
    about: SetFacts, categories: Mapping[str, Mapping[str, Means]], sizes: Mapping[str, int], lane: str
) -> Table:
    rows = tuple(
        (category or "(none)", sizes[category], *(_round(runs[lane][name]) for name in _CATEGORY))
        for category, runs in categories.items()
    )
    return Table(f"{about.title}: {lane} by category", ("category", "queries", *_CATEGORY), rows)


def _time_table(about: SetFacts, times: Mapping[str, Means]) -> Table:
    columns = ("mean", "p50", "p95")
    rows = tuple((part, *(_round(spread[column]) for column in columns)) for part, spread in times.items())
    note = "a search is timed with its question embedded beforehand"
    return Table(f"{about.title}: milliseconds a query", ("part", *columns), rows, (note,))


_SILENCE_COLUMNS: Mapping[str, Callable[[InjectionCounts], Cell]] = {
    "foreign queries": lambda counts: counts.foreign,
    "injected for": lambda counts: _round(counts.noise),
    "own queries": lambda counts: counts.own,
    "answered": lambda counts: _round(counts.own_injected / counts.own if counts.own else None),
    "evidence": lambda counts: _round(counts.evidence),
    "without floor": lambda counts: _round(counts.evidence_without_floor),
    "kept": lambda counts: _round(counts.evidence_kept),
}


def _silence_table(about: SetFacts, silence: Silence) -> Table:
    rows = tuple(
        (run, *(cell(counts) for cell in _SILENCE_COLUMNS.values())) for run, counts in silence.runs.items()
    )
    origin = (
        f"foreign queries are of {silence.origin}; "
        f"something may be injected for {MAX_FOREIGN_SHARE} of them at most"
        if silence.origin
        else "no question here is foreign to its scope: silence needs a second set in the same call"
    )
    kept = f"kept: evidence in a context of {BUDGET:,} tokens, as a share of that without a floor"
    return Table(f"{about.title}: silence", ("run", *_SILENCE_COLUMNS), rows, (origin, kept))


def _reliability_table(about: SetFacts, bins: Mapping[str, Sequence[metrics.Bin]]) -> Table:
    rows = tuple(
        (run, f"{one.low:.1f}–{one.high:.1f}", _round(one.predicted), _round(one.observed), one.count)
        for run, inside in bins.items()
        for one in inside
    )
    errors = {run: metrics.calibration_error(inside) for run, inside in bins.items()}
    notes = ["the first ten results of every question: what the score says, and the share that is relevant"]
    notes += [f"expected calibration error, {run}: {e:.3f}" for run, e in errors.items() if e is not None]
    columns = ("run", "score", "predicted", "observed", "results")
    return Table(f"{about.title}: what a score means", columns, rows, tuple(notes))
