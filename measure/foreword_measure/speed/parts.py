"""What the parts of the bench share: tasks in child processes, and the rows of tables.

A part that needs child processes has `TASKS`: `fill` creates a workspace, `ask` opens it and measures. These
are two processes, because the memory that filling needs is no cost of a user's search. A child writes lines
of JSON: `{"progress": [done, total]}` often, `{"result": {…}}` once, at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from foreword.errors import ForewordError
from foreword_measure.report import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from foreword_measure.report import Cell
    from foreword_measure.speed.clock import Progress

SPREAD_COLUMNS = ("runs", "min", "p50", "p99", "max")

# Processes -----------------------------------------------------------------------------------------------


def fill_and_ask(
    part: str, home: Path, *sizes: int, label: str, progress: Progress
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run both tasks of a part, each in its own process, and remove the home; returns their results."""
    try:
        filled, asked = (
            run_task(part, task, home, *sizes, label=f"{label}{task} {sizes[0]:,}", progress=progress)
            for task in ("fill", "ask")
        )
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return filled, asked


def run_task(part: str, task: str, home: Path, *sizes: int, label: str, progress: Progress) -> dict[str, Any]:
    """Run one task in a child process, report its progress under a label, and return its result."""
    module = "foreword_measure.speed"
    command = [sys.executable, "-P", "-m", module, part, task, str(home), *map(str, sizes)]
    result: dict[str, Any] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603  (ourselves)
        try:
            for line in child.stdout or ():
                message = json.loads(line)
                result = message.get("result", result)
                if "progress" in message:
                    progress(label, *message["progress"])
        except BaseException:
            child.kill()  # otherwise it would write to a folder that is about to be removed
            raise
    if child.returncode or not result:
        raise ForewordError(
            f"{label} failed: its process ended with {child.returncode}; what it wrote above says why"
        )
    return result


def send(**message: object) -> None:
    """Send a message to the parent process at once."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def environment_with_bytecode(folder: Path) -> dict[str, str]:
    """The environment of a child that keeps in this folder what it compiles, as an installation does.

    Where Python is told to keep nothing, each child would compile the whole package again.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder)}


# Tables --------------------------------------------------------------------------------------------------


def cells(spread: Mapping[str, float], digits: int = 2) -> tuple[Cell, ...]:
    """The cells of a spread, under `SPREAD_COLUMNS`."""
    return (spread["count"], *(round(spread[key], digits) for key in ("min", "p50", "p99", "max")))


def target_verdict(value: float, target: float | None) -> str | None:
    """`yes` if a value is at most its target, else `no`; None without a target."""
    return None if target is None else "yes" if value <= target else "no"


def target_table(
    title: str, rows: Sequence[tuple[str, str, float | None]], times: Mapping[str, Any], note: str
) -> Table:
    """A table of times and their targets; a row is a name, the key of its times, and the target."""
    table: list[tuple[Cell, ...]] = []
    for name, key, target in rows:
        median, cpu = times[key]["p50"], times.get(f"{key} (cpu)", {}).get("p50")
        computed = None if cpu is None else round(cpu, 1)
        table.append((name, *cells(times[key]), computed, target, target_verdict(median, target)))
    columns = ("what", *SPREAD_COLUMNS, "p50 of cpu", "target p50, at most", "met")
    return Table(title, columns, tuple(table), (note,))


def spread_table(title: str, spreads: Mapping[str, Any], what: str = "what", runs: str = "runs") -> Table:
    """A table of spreads, a row for each."""
    rows = tuple((name, *cells(spread)) for name, spread in spreads.items())
    return Table(title, (what, runs, *SPREAD_COLUMNS[1:]), rows)
