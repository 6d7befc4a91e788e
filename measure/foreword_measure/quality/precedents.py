"""Whether a failure finds its precedent, nothing is found without one, and experiences find their themes.

Three sets of experiences (`experiences/README.md`) are stored as an agent's experiences are. Each failed run
is read as a hook reads it, and a premortem is asked for. Then the experiences are grouped, and the groups are
compared with the themes that they were written for.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.capture.runs.run import read_run_result
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ValidationError
from foreword.knowledge.axes import AXES
from foreword.knowledge.experience import Lesson, RootCause
from foreword.knowledge.experiences import Experiences
from foreword.knowledge.values import Values
from foreword.recipes.assembled.assembler import ContextAssembler
from foreword.recipes.assembled.searcher import EngineSearcher
from foreword.recipes.coding.companion import read_failure
from foreword_measure.report import Report, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.spaces.providers import EmbeddingProvider
    from foreword_measure.report import Cell

SETS = ("shop", "farm", "transit")
FIRST = 2
"""The precedent must be among so many first ones."""

_TOLD_TOKENS = 800


@dataclass(frozen=True, slots=True)
class AskedFailure:
    """A failed run: its precedent, if any, and the experiences shown, nearest first, with their fits."""

    id: str
    precedent: str | None
    told: tuple[str, ...]
    fits: tuple[float, ...]

    @property
    def is_right(self) -> bool:
        """Whether the precedent is among the first; without a precedent, whether nothing is shown."""
        return self.precedent in self.told[:FIRST] if self.precedent else not self.told


def read_rows(name: str) -> list[dict[str, Any]]:
    """The rows of one of the sets' files; ValidationError if it cannot be read."""
    file = resources.files("foreword_measure.quality").joinpath("experiences", f"{name}.jsonl")
    try:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    except (OSError, ValueError) as error:
        raise ValidationError(f"cannot read {name}.jsonl: {error}") from error


def measure_experiences(provider: EmbeddingProvider | None = None) -> Report:
    """How well failures find their precedents and experiences their themes, in each set."""
    failures: dict[str, list[AskedFailure]] = {}
    themes: dict[tuple[str, str], dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="foreword-eval-") as home:
        settings = Settings(home=Path(home))
        with ContextEngine(embedding_provider=provider, settings=settings) as engine:
            for name in SETS:
                rows = read_rows(name)
                ids = store_experiences(engine, name, rows)
                failures[name] = asyncio.run(ask_failures(engine, name, ids))
                truth = {row["id"]: row["theme"] for row in rows}
                for axis in AXES:
                    groups = [
                        [ids[member] for member in cluster.members]
                        for cluster in Values(engine).clusters(name, axis).clusters
                    ]
                    themes[name, axis] = compare_with_themes(groups, truth)
    return _report(failures, themes)


def store_experiences(
    engine: ContextEngine, workspace: str, rows: Sequence[Mapping[str, str]]
) -> dict[str, str]:
    """Store the experiences with their vectors; returns the id in the set for each id in the store."""
    experiences, ids = Experiences(engine), {}
    for row in rows:
        begun = experiences.start(
            workspace,
            domain=row["domain"],
            strategy=row["strategy"],
            goal=row["goal"],
            hypothesis=row["hypothesis"],
            action=row["action"],
            prediction=row["prediction"],
        )
        experiences.resolve(
            workspace,
            begun.id,
            row["status"],
            row["result"],
            surprise=row["surprise"],
            root_cause=RootCause(row["cause"], row["because"]) if row["because"] else None,  # type: ignore[arg-type]
            lesson=Lesson(row["worked"], row["takeaway"]),
        )
        ids[begun.id] = row["id"]
    engine.embed_pending(workspace)
    return ids


async def ask_failures(engine: ContextEngine, workspace: str, ids: Mapping[str, str]) -> list[AskedFailure]:
    """Ask for a premortem for each failed run of a set."""
    assembler = ContextAssembler(
        EngineSearcher(engine, workspace, Experiences(engine), deadline_ms=None), timeout=60
    )
    asked = []
    for row in read_rows(f"{workspace}_failures"):
        run = read_run_result(row["command"], row["output"], row["exit"])
        if run is None:
            raise ValidationError(f"{row['id']} is no failed run")
        context = await assembler.get_premortem_context(
            "debugging", max_tokens=_TOLD_TOKENS, failure=read_failure(run, row["output"]), record=False
        )
        told = [item for item in context.items if item.source == "experience"]
        entries = context.receipt.entries if context.receipt else ()
        fits = tuple(round(entry.score, 3) for entry in entries)
        names = tuple(ids[item.metadata["id"]] for item in told)
        asked.append(AskedFailure(row["id"], row["precedent"], names, fits))
    return asked


def compare_with_themes(groups: Sequence[Sequence[str]], truth: Mapping[str, str]) -> dict[str, float]:
    """How well groups agree with themes: precision and recall of pairs, and the adjusted Rand index."""
    labels = {member: place for place, group in enumerate(groups) for member in group}
    pairs = list(combinations(sorted(truth), 2))
    together = [labels.get(one, one) == labels.get(other, other) for one, other in pairs]
    same = [truth[one] == truth[other] for one, other in pairs]
    both = sum(a and b for a, b in zip(together, same, strict=True))
    found, wanted = sum(together), sum(same)
    chance = found * wanted / len(pairs)
    most = (found + wanted) / 2
    precision, recall = both / max(1, found), both / max(1, wanted)
    return {
        "themes": len(set(truth.values())),
        "clusters": len(groups),
        "grouped": len(labels) / len(truth),
        "adjusted rand": (both - chance) / (most - chance) if most != chance else 0.0,
        "precision": precision,
        "recall": recall,
        "F1": 2 * precision * recall / max(1e-9, precision + recall),
    }


def _report(
    failures: Mapping[str, Sequence[AskedFailure]], themes: Mapping[tuple[str, str], Mapping[str, float]]
) -> Report:
    counts = {name: _count_right(asked) for name, asked in failures.items()}
    wrong = [one for asked in failures.values() for one in asked if not one.is_right]
    notes = (
        f"told: the labelled precedent is among the first {FIRST} of a premortem; silent: nothing is told",
        "aims: told 17 of 20, silent 8 of 10; the floor was fitted on shop and farm",
    )
    columns = ("precedents", "told", "without", "silent")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(counts[name][column] for column in columns)) for name in counts
    )
    measures = tuple(next(iter(themes.values())))
    groups: tuple[tuple[Cell, ...], ...] = tuple(
        (name, axis, *(numbers[measure] for measure in measures)) for (name, axis), numbers in themes.items()
    )
    missed = tuple(
        (one.id, one.precedent or "-", ", ".join(one.told) or "-", ", ".join(map(str, one.fits[:3])))
        for one in wrong
    )
    tables = (
        Table("Premortems of failures", ("set", *columns), rows, notes),
        Table("Themes of experiences", ("set", "axis", *measures), groups),
        Table("Failures answered wrongly", ("failure", "precedent", "told", "fits"), missed),
    )
    data = {
        "premortems": counts,
        "themes": {f"{name} {axis}": dict(one) for (name, axis), one in themes.items()},
    }
    return Report(tables, data | {"wrong": [one.id for one in wrong]})


def _count_right(asked: Sequence[AskedFailure]) -> dict[str, int]:
    labelled = [one for one in asked if one.precedent]
    others = [one for one in asked if not one.precedent]
    return {
        "precedents": len(labelled),
        "told": sum(one.is_right for one in labelled),
        "without": len(others),
        "silent": sum(one.is_right for one in others),
    }
