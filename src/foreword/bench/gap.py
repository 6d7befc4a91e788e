"""How long it takes to see that an agent lacks nothing, and to fill a gap when it does.

The workspace is filled and asked in processes of their own (`gap_child`). Words are made up, and so are the
vectors of what is remembered; the encoder is the bundled one, so that times include what it takes to encode
the question and the messages of a state.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from foreword.errors import ForewordError
from foreword.report import Cell, Table

if TYPE_CHECKING:
    from pathlib import Path

    from foreword.bench.measure import Progress

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
    """Start a child, pass its progress on, and give what it found."""
    command = [sys.executable, "-m", "foreword.bench.gap_child", task, str(home), str(size)]
    result: dict[str, Any] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603  (ourselves)
        try:
            for line in child.stdout or ():
                said = json.loads(line)
                result = said.get("result", result)
                if "progress" in said:
                    progress(f"gap: {task} {size:,}", *said["progress"])
        except BaseException:
            child.kill()  # or it would fill a folder that is about to be removed
            raise
    if child.returncode or not result:
        raise ForewordError(
            f"filling gaps from {size:,} items failed; the {task} process ended with {child.returncode}"
        )
    return result


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
