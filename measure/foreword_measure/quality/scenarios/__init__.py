"""Whether injected contexts help: scenarios are replayed, their questions asked, and the answers scored.

`reading` reads the file, `replay` replays each history through the interfaces that users use, `baselines`
answers from the same history in two plain ways, `scoring` has the measures.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.testing import FixedClock
from foreword_measure.quality.scenarios.baselines import (
    LAST,
    LAST_TURNS,
    NEAREST,
    NEAREST_EVENTS,
    answer_with_last_turns,
    answer_with_nearest,
)
from foreword_measure.quality.scenarios.reading import read_scenarios
from foreword_measure.quality.scenarios.replay import open_engine, replay_scenario
from foreword_measure.quality.scenarios.scoring import MEASURES, mean_measures, score_scenario
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from foreword.spaces.base import Reranker
    from foreword.spaces.providers import EmbeddingProvider
    from foreword_measure.quality.runs import Progress
    from foreword_measure.quality.scenarios.reading import Answer, Scenario
    from foreword_measure.quality.scenarios.scoring import Score
    from foreword_measure.report import Cell

    Runs = Mapping[str, Sequence[Score]]

__all__ = ["measure_scenarios"]

OURS = "foreword"

_GROUPINGS: Mapping[str, Callable[[Score], str]] = {
    "recipe": lambda score: score.scenario.recipe,
    "language": lambda score: score.scenario.language,
    "kind": lambda score: score.ask.kind,
}
_ALL = "all"
_NOTES = (
    "found: needed facts that are in the text; whole: asks with all of them and nothing outdated",
    "stale: asks told something outdated; noise: tokens in pieces without a needed or helpful fact",
    "silent: asks that got nothing, of those that should; tokens: size of a text; alerts: those judged right",
    f"{NEAREST}: the {NEAREST_EVENTS} events nearest to the question by cosine; "
    f"{LAST}: the {LAST_TURNS} turns before it",
)
_KIND_NOTE = "forbids: something outdated could be told; silent: nothing should be; start: a session begins"


def measure_scenarios(
    path: Path,
    *,
    outputs: Path | None = None,
    limit: int | None = None,
    baselines: bool = True,
    without: Sequence[str] = (),
    progress: Progress,
    provider: EmbeddingProvider | None = None,
    reranker: Reranker | None = None,
) -> Report:
    """Replay the scenarios of a file, or the first `limit`, and score our answers and those of the baselines.

    `outputs` receives our answers, one line for each ask. `without` names spaces that the engine does not
    use, or `reader` or `replacements`.
    """
    scenarios = read_scenarios(path, limit)
    encoder = provider or BundledEmbeddingProvider()
    runs: dict[str, list[Score]] = defaultdict(list)
    with ExitStack() as stack:
        file = stack.enter_context(_open_outputs(outputs)) if outputs else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foreword-eval-")))
        clock = FixedClock()
        engine = stack.enter_context(open_engine(folder / "home", clock, provider, reranker, without))
        for done, scenario in enumerate(scenarios):
            progress("scenarios", done, len(scenarios))
            answers = {OURS: replay_scenario(scenario, engine, clock, folder / f"repository-{done}")}
            if baselines:
                answers[NEAREST] = answer_with_nearest(scenario, encoder)
                answers[LAST] = answer_with_last_turns(scenario)
            for run, given in answers.items():
                runs[run] += score_scenario(scenario, given)
            _write_answers(file, answers[OURS])
        progress("scenarios", len(scenarios), len(scenarios))
    return _report(path.name, scenarios, runs)


def _open_outputs(path: Path) -> IO[str]:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise ValidationError(f"cannot write the answers to {path}: {error.strerror}") from error


def _write_answers(file: IO[str] | None, answers: Mapping[str, Answer]) -> None:
    """Write the answers of one scenario, one line for each ask."""
    if file is None:
        return
    for answer in answers.values():
        line = {"ask": answer.ask, "text": answer.text, "pieces": answer.pieces, "alert": bool(answer.alert)}
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    file.flush()


# The report ----------------------------------------------------------------------------------------------


def _report(name: str, scenarios: Sequence[Scenario], runs: Runs) -> Report:
    asks = len(runs[OURS])
    grouped = {by: _group_runs(runs, key) for by, key in _GROUPINGS.items()}
    title = f"{name}: {len(scenarios):,} scenarios, {asks:,} asks"
    notes = {"recipe": _NOTES, "kind": (_KIND_NOTE,)}
    tables = tuple(
        _table(f"{title}, by {by}", by, groups, notes.get(by, ())) for by, groups in grouped.items()
    )
    data = {
        "file": name,
        "scenarios": len(scenarios),
        "asks": asks,
        **{f"by_{by}": groups for by, groups in grouped.items()},
        "per_ask": [_ask_as_json(run, score) for run, scores in runs.items() for score in scores],
    }
    return Report(tables, data)


def _group_runs(runs: Runs, key: Callable[[Score], str]) -> dict[str, dict[str, dict[str, float | None]]]:
    """The means of every run in every group; the first group is all asks together."""
    names = [_ALL, *dict.fromkeys(sorted(map(key, runs[OURS])))]
    groups: dict[str, dict[str, dict[str, float | None]]] = {}
    for name in names:
        inside = {run: [one for one in scores if name in (_ALL, key(one))] for run, scores in runs.items()}
        groups[name] = {run: {"asks": len(scores), **mean_measures(scores)} for run, scores in inside.items()}
    return groups


def _table(
    title: str,
    by: str,
    groups: Mapping[str, Mapping[str, Mapping[str, float | None]]],
    notes: tuple[str, ...],
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for group, runs in groups.items():
        for run, values in runs.items():
            measured = (_round(values[name]) for name in MEASURES)
            rows.append((group, run, values["asks"], *measured))
    return Table(title, (by, "run", "asks", *MEASURES), tuple(rows), notes)


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _ask_as_json(run: str, score: Score) -> dict[str, Any]:
    return {
        "run": run,
        "ask": score.ask.id,
        "scenario": score.scenario.id,
        "kind": score.ask.kind,
        **score.measures,
        "missed": list(score.missed),
        "told": list(score.told),
    }
