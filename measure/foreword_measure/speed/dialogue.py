"""How long a long conversation takes: making the prompt for its next turn, keeping a turn, opening it again.

The workspace is filled and asked in processes of their own (`dialogue_child`). Words are made up, and so are
the vectors of what is kept; the encoder is the bundled one, so that times include what it takes to encode the
question, and the turns that are added meanwhile are encoded behind them.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from foreword_measure.report import Cell, Table
from foreword_measure.speed.processes import run

if TYPE_CHECKING:
    from pathlib import Path

    from foreword_measure.speed.measure import Progress

CHUNKS, TURNS = 10_000, 1_000
ROWS = (
    ("inject_context, 4096 tokens", "inject", 60.0),
    ("adding a turn", "add", 10.0),
    ("opening the session again", "open", None),
)
"""What is measured: its name, its key, and the most milliseconds it may take at the median."""


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Fill a workspace with 10,000 chunks and 1,000 turns, or a tenth of the largest size if that is less."""
    chunks = min(CHUNKS, max(sizes))
    turns = min(TURNS, max(1, chunks // 10))
    home = folder / "dialogue"
    try:
        _run("fill", home, chunks, turns, progress)
        facts = {"chunks": chunks, "turns": turns} | _run("ask", home, chunks, turns, progress)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return [_times(facts), _parts(facts), _prompts(facts)], facts


def _run(task: str, home: Path, chunks: int, turns: int, progress: Progress) -> dict[str, Any]:
    """What the child that does a task found."""
    label = f"dialogue: {task} {chunks:,}"
    return run(
        "foreword_measure.speed.dialogue_child", task, home, chunks, turns, label=label, progress=progress
    )


def _times(facts: dict[str, Any]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, key, target in ROWS:
        each = facts["times"][key]
        computed = round(facts["times"][f"{key} (cpu)"]["p50"], 1)
        met = None if target is None else "yes" if each["p50"] <= target else "no"
        rows.append((name, *_cells(each), computed, target, met))
    return Table(
        f"A conversation of {facts['turns']:,} turns, {facts['chunks']:,} chunks of documents, milliseconds",
        ("what", "runs", "min", "p50", "p99", "max", "p50 of cpu", "target p50, at most", "met"),
        tuple(rows),
        ("encoding the question is part of it; cpu is what the thread that asks computes",),
    )


def _parts(facts: dict[str, Any]) -> Table:
    rows = tuple((name, *_cells(each)) for name, each in facts["times"].items() if ": " in name)
    return Table("Parts of it, milliseconds", ("what", "runs", "min", "p50", "p99", "max"), rows)


def _prompts(facts: dict[str, Any]) -> Table:
    rows = tuple((name, *_cells(each)) for name, each in facts["prompts"].items())
    return Table("What the prompts hold", ("what", "prompts", "min", "p50", "p99", "max"), rows)


def _cells(each: dict[str, float]) -> tuple[Cell, ...]:
    return (each["count"], *(round(each[key], 2) for key in ("min", "p50", "p99", "max")))
