"""How long it takes to see that an agent lacks nothing, and to fill a gap when it does.

The workspace is filled and asked in processes of their own (`gap_child`). Words are made up, and so are the
vectors of what is remembered; the encoder is the bundled one, so that times include what it takes to encode
the question and the messages of a state.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from foreword_measure.report import Cell, Table
from foreword_measure.speed.processes import run

if TYPE_CHECKING:
    from pathlib import Path

    from foreword_measure.speed.measure import Progress

SIZE = 10_000
ROWS = (
    ("no gap in a state of 500 messages", "no gap", 5.0),
    ("a gap, the messages never seen before", "new messages", 60.0),
    ("a gap, most messages seen at the last gap", "known messages", 60.0),
)
"""What is measured: its name, its key, and the most milliseconds it may take at the median."""


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Fill a workspace with 10,000 items, or as many as the largest size if that is less, and fill gaps."""
    size = min(SIZE, max(sizes))
    home = folder / "gap"
    try:
        _run("fill", home, size, progress)
        facts = {"size": size} | _run("ask", home, size, progress)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return [_times(facts), _parts(facts)], facts


def _run(task: str, home: Path, size: int, progress: Progress) -> dict[str, Any]:
    """What the child that does a task found."""
    label = f"gap: {task} {size:,}"
    return run("foreword_measure.speed.gap_child", task, home, size, label=label, progress=progress)


def _times(facts: dict[str, Any]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, key, target in ROWS:
        each = facts["times"][key]
        computed = round(facts["times"][f"{key} (cpu)"]["p50"], 1)
        rows.append((name, *_cells(each), computed, target, "yes" if each["p50"] <= target else "no"))
    return Table(
        f"Gaps, {facts['size']:,} memories, milliseconds",
        ("what", "runs", "min", "p50", "p99", "max", "p50 of cpu", "target p50, at most", "met"),
        tuple(rows),
        ("encoding the question and the messages is part of it; cpu is what all threads compute",),
    )


def _parts(facts: dict[str, Any]) -> Table:
    rows = tuple((name, *_cells(each)) for name, each in facts["times"].items() if ": " in name)
    return Table("Parts of it, milliseconds", ("what", "runs", "min", "p50", "p99", "max"), rows)


def _cells(each: dict[str, float]) -> tuple[Cell, ...]:
    return (each["count"], *(round(each[key], 2) for key in ("min", "p50", "p99", "max")))
