"""How long a question takes, and what it costs in memory and on the disk, as a workspace grows.

Every size is filled and asked in processes of its own (`child`). Vectors are made up and the encoder is free:
times are those of a question whose embedding costs nothing.
"""

from __future__ import annotations

import shutil
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from foreword_measure.report import Cell, Table
from foreword_measure.speed.processes import run

if TYPE_CHECKING:
    from pathlib import Path

    from foreword_measure.speed.measure import Progress

TARGETS_MS = {10_000: 12.0, 100_000: 60.0}
FULL_LANE_MS = 400.0
TARGETS_MB = {100_000: 400.0}
OPERATIONS = ("search", "search, one session", "build_context")
BEHIND = "receipt, behind the answer"
_MB = 1_000_000
_SPREAD = ("runs", "min", "p50", "p99", "max")


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Fill and ask a workspace of each size; it is removed before the next one is made."""
    found: dict[int, dict[str, Any]] = {}
    for size in sorted(set(sizes)):
        home = folder / f"search-{size}"
        try:
            filled = _run("fill", home, size, progress)
            found[size] = {"fill": filled, **_run("ask", home, size, progress)}
        finally:
            shutil.rmtree(home, ignore_errors=True)
    largest = max(found)
    tables = [
        _times(found),
        _full_lane(found),
        _memory(found),
        *([_growth(found)] if len(found) > 1 else []),
        _largest(f"Stages of build_context at {largest:,} items", found[largest]["stages"]),
        _largest(f"Spaces alone at {largest:,} items", found[largest]["probes"], _PROBE_NOTES),
        _largest(f"Search by shape of question at {largest:,} items", _shapes(found[largest])),
    ]
    return tables, {str(size): facts for size, facts in found.items()}


_PROBE_NOTES = (
    "one probe, a round trip to the store and the items it finds; 'nothing' is a round trip without a probe",
    "graph is what it adds to a search by words",
)


def _run(task: str, home: Path, size: int, progress: Progress) -> dict[str, Any]:
    """What the child that does a task found."""
    label = f"{task} {size:,}"
    return run("foreword_measure.speed.child", task, home, size, label=label, progress=progress)


def _times(found: dict[int, dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for size, facts in found.items():
        for name in (*OPERATIONS, BEHIND):
            each, computing = (facts["operations"][key] for key in (name, f"{name} (cpu)"))
            target = TARGETS_MS.get(size) if name in OPERATIONS else None
            met = _met(each["p50"], target)
            rows.append((size, name, *_cells(each), round(computing["p50"], 2), target, met))
    return Table(
        "Searching, milliseconds apart from embedding the question",
        ("items", "what", *_SPREAD, "p50 of cpu", "target p50, at most", "met"),
        tuple(rows),
        (
            "66 questions of 2 to 14 words, three rounds after one to warm up; all spaces are asked",
            "cpu is what the asking thread computed, without waiting for the disk, other threads or programs",
        ),
    )


def _full_lane(found: dict[int, dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for size, facts in found.items():
        each, read = facts["full"]["search"], facts["full"]["candidates read"]
        rows.append((size, *_cells(each), round(read["p50"]), FULL_LANE_MS, _met(each["p99"], FULL_LANE_MS)))
    return Table(
        f"Searching with the cross-encoder, under a deadline of {FULL_LANE_MS:.0f} ms",
        ("items", *_SPREAD, "candidates read, p50", "target p99, at most", "met"),
        tuple(rows),
        ("each question once: what the cross-encoder has read it does not read again",),
    )


def _memory(found: dict[int, dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for size, facts in found.items():
        filled = facts["fill"]
        memory = [round(facts[key] / _MB, 1) for key in ("opened_bytes", "asked_bytes", "peak_bytes")]
        target = TARGETS_MB.get(size)
        disk = [round(filled[key] / size) for key in ("disk_bytes", "codes_bytes")]
        rates = (
            round(filled["stored_per_second"]),
            round(filled["codes_ms"], 1),
            round(facts["first_ms"], 1),
        )
        rows.append((size, *memory, target, _met(memory[2], target), *disk, *rates))
    return Table(
        "Memory in MB, disk in bytes an item",
        (
            "items", "after the first search", "after all", "peak", "target, at most", "met",
            "disk", "of which vector codes", "stored per second", "codes made, ms", "first search, ms",
        ),
        tuple(rows),
        ("resident memory of the process that asks, mapped files included; it did not fill the workspace",),
    )  # fmt: skip


def _growth(found: dict[int, dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for small, large in pairwise(found):
        ratios = [
            found[large]["operations"][name]["p50"] / found[small]["operations"][name]["p50"]
            for name in OPERATIONS
        ]
        rows.append((f"{small:,} to {large:,}", *(round(n, 1) for n in (large / small, *ratios))))
    return Table("Growth of the median, times", ("from, to", "items", *OPERATIONS), tuple(rows))


def _largest(title: str, spreads: dict[str, Any], notes: tuple[str, ...] = ()) -> Table:
    rows = tuple((name, *_cells(each)) for name, each in spreads.items())
    return Table(f"{title}, milliseconds", ("what", *_SPREAD), rows, notes)


def _shapes(facts: dict[str, Any]) -> dict[str, Any]:
    operations: dict[str, Any] = facts["operations"]
    return {name.removeprefix("search: "): each for name, each in operations.items() if ": " in name}


def _cells(each: dict[str, float]) -> tuple[Cell, ...]:
    return (each["count"], *(round(each[key], 2) for key in ("min", "p50", "p99", "max")))


def _met(value: float, target: float | None) -> str | None:
    return None if target is None else "yes" if value <= target else "no"
