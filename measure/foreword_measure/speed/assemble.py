"""How long it takes to assemble a context from five sources, and a premortem, and what that costs.

The workspace is filled and asked in processes of their own (`assemble_child`). The words and vectors are made
up and the encoder is free: times are those of a question whose embedding costs nothing.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from foreword_measure.report import Cell, Table
from foreword_measure.speed.processes import run

if TYPE_CHECKING:
    from pathlib import Path

    from foreword_measure.speed.measure import Progress

SIZE = 50_000
_MB = 1_000_000
TARGET_MB = 50.0
ROWS = (
    ("assemble_context", "assemble_context", 100.0),
    ("get_premortem_context", "get_premortem_context", 150.0),
    ("near duplicates among 200 items", "dedupe", 50.0),
    ("wording and fitting 100 items", "formatting", 10.0),
)
"""What is measured: its name, its key, and the most milliseconds it may take at the median."""


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Fill a workspace with 50,000 items, or as many as the largest size if that is less, and assemble."""
    size = min(SIZE, max(sizes))
    home = folder / "assemble"
    try:
        _run("fill", home, size, progress)
        facts = {"size": size} | _run("ask", home, size, progress)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return [_times(facts), _parts(facts), _memory(facts)], facts


def _run(task: str, home: Path, size: int, progress: Progress) -> dict[str, Any]:
    """What the child that does a task found."""
    label = f"assemble: {task} {size:,}"
    return run("foreword_measure.speed.assemble_child", task, home, size, label=label, progress=progress)


def _times(facts: dict[str, Any]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, key, target in ROWS:
        each = facts["times"][key]
        computed = facts["times"].get(f"{key} (cpu)", {}).get("p50")
        cpu = None if computed is None else round(computed, 1)
        rows.append((name, *_cells(each), cpu, target, "yes" if each["p50"] <= target else "no"))
    return Table(
        f"Assembling from {facts['size']:,} items of five sources, milliseconds",
        ("what", "runs", "min", "p50", "p99", "max", "p50 of cpu", "target p50, at most", "met"),
        tuple(rows),
        ("cpu is what the threads that work on it compute, all together; sources are asked at once",),
    )


def _parts(facts: dict[str, Any]) -> Table:
    rows = tuple(
        (name, *_cells(each)) for name, each in facts["times"].items() if ": " in name and "items" not in name
    )
    return Table("Parts of it, milliseconds", ("what", "runs", "min", "p50", "p99", "max"), rows)


def _memory(facts: dict[str, Any]) -> Table:
    middle, most = (round(facts["held_bytes"][key] / _MB, 1) for key in ("p50", "max"))
    resident = round(facts["resident_bytes"] / _MB, 1)
    row = (facts["size"], middle, most, TARGET_MB, "yes" if most < TARGET_MB else "no", resident)
    return Table(
        "Memory in MB",
        ("items", "held by one, p50", "held by one, max", "target, below", "met", "whole process"),
        (row,),
        ("held is what an assembly allocates at its peak; the whole process includes mapped files",),
    )


def _cells(each: dict[str, float]) -> tuple[Cell, ...]:
    return (each["count"], *(round(each[key], 2) for key in ("min", "p50", "p99", "max")))
