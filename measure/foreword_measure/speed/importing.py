"""How long `import foreword` takes: the time of a new interpreter with it and without it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

from foreword_measure.report import Cell, Table
from foreword_measure.speed.clock import spread, time_milliseconds
from foreword_measure.speed.parts import environment_with_bytecode

if TYPE_CHECKING:
    from pathlib import Path

    from foreword_measure.speed.clock import Progress, Spread

RUNS = 25
TARGET = 30.0
_BARE = "bare interpreter"
_STATEMENTS = {
    _BARE: "pass",
    "import foreword": "import foreword",
    "and its ContextEngine": "from foreword import ContextEngine",
}


def measure(
    folder: Path, _sizes: tuple[int, ...], progress: Progress, runs: int = RUNS
) -> tuple[list[Table], dict[str, Any]]:
    """Start interpreters in turn, so that other load on the machine affects all of them."""
    samples: dict[str, list[float]] = {name: [] for name in _STATEMENTS}
    environment = environment_with_bytecode(folder / "bytecode")
    for run in range(runs + 1):
        for name, statement in _STATEMENTS.items():
            taken = time_milliseconds(lambda: _start(statement, environment))  # noqa: B023  (called before the loop goes on)
            if run:  # the first run of each writes bytecode and fills the disk's cache
                samples[name].append(taken)
        progress("import", run, runs)
    spreads = {name: spread(values) for name, values in samples.items()}
    return [_table(spreads)], {name: each.as_dict() for name, each in spreads.items()}


def _start(statement: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", statement]
    subprocess.run(command, check=True, timeout=60, env=environment)  # noqa: S603  (a constant)


def _table(spreads: dict[str, Spread]) -> Table:
    bare = spreads[_BARE]
    rows: list[tuple[Cell, ...]] = []
    for name, each in spreads.items():
        more = each.p50 - bare.p50
        target, met = (
            (TARGET, "yes" if more <= TARGET else "no") if name == "import foreword" else (None, None)
        )
        rows.append(
            (name, each.count, *(round(n, 1) for n in (each.min, each.p50, each.p99, more)), target, met)
        )
    return Table(
        "Cold start, milliseconds",
        ("what", "runs", "min", "p50", "p99", "p50 more than bare", "target, at most", "met"),
        tuple(rows),
        ("each run is a fresh process; the three take turns",),
    )
