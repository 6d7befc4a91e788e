"""How long the ledger takes: storing a turn, beginning a session, and listing what holds.

The turns are the statements of `measure/lessons`, repeated, in sessions of forty, so that decisions, open
ends and corrections are as frequent as in real use. There is no encoder, since vectors are made after a
write.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.capture.agent import AgentEvent
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.engine.ledger import Ledger
from foreword.recipes.coding.companion import CodingCompanion
from foreword.testing import FixedClock
from foreword.types import Item, Source
from foreword_measure.speed.clock import spreads
from foreword_measure.speed.parts import target_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.types import Trust
    from foreword_measure.report import Table
    from foreword_measure.speed.clock import Progress, Samples

RUNS = 50
SIZE = 10_000
ROWS: tuple[tuple[str, str, float | None], ...] = (
    ("keep a turn", "keep", 15.0),
    ("begin a session", "start", 60.0),
    ("list decisions", "decisions", None),
    ("list open ends", "open", None),
)
_BATCH = 500
_SESSION = 40
_LESSONS = Path(__file__).parents[2] / "lessons"


def measure(
    folder: Path, sizes: tuple[int, ...], progress: Progress, runs: int = RUNS
) -> tuple[list[Table], dict[str, Any]]:
    """Fill a workspace, then store turns, begin sessions and list what holds, in turn."""
    size = min(max(sizes), SIZE)
    project = folder / "ledger-project"
    (project / ".git").mkdir(parents=True)
    clock = FixedClock()
    settings = Settings(home=folder / "ledger", embedding="none")
    with ContextEngine(settings=settings, clock=clock) as engine:
        workspace = str(project.resolve())
        _fill(engine, workspace, size, clock, progress)
        times = _time_in_turn(engine, workspace, clock, runs, progress)
    note = f"{size:,} items, the latest 1,000 statements are read; the first call of each is not counted"
    found = spreads(times)
    return [target_table("Ledger, milliseconds", ROWS, found, note)], {"items": size, "times": found}


def _fill(engine: ContextEngine, workspace: str, size: int, clock: FixedClock, progress: Progress) -> None:
    for start in range(0, size, _BATCH):
        count = min(_BATCH, size - start)
        engine.remember_all(
            [_make_turn(workspace, at, clock) for at in range(start, start + count)], workspace
        )
        progress("ledger: fill", start + count, size)
    clock.advance(hours=2)  # so that all sessions are over


def _make_turn(workspace: str, at: int, clock: FixedClock) -> Item:
    who, text = _read_statements()[at % len(_read_statements())]
    clock.advance(minutes=3)
    session = f"session-{at // _SESSION}"
    return Item(text, workspace, kind="turn", session=session, source=Source(who, who), created_at=clock())


def _time_in_turn(
    engine: ContextEngine, workspace: str, clock: FixedClock, runs: int, progress: Progress
) -> Samples:
    companion, ledger = CodingCompanion(engine), Ledger(engine, workspace)
    times: Samples = defaultdict(list)
    for run in range(runs + 1):
        clock.advance(minutes=1)
        prompt = f"{_read_statements()[run * 7][1]} ({run})"
        kept = AgentEvent("UserPromptSubmit", clock(), f"live-{run}", workspace, prompt=prompt)
        begun = AgentEvent("SessionStart", clock(), f"new-{run}", workspace, source="startup")
        works: dict[str, Callable[[], object]] = {
            "keep": lambda: companion.keep(kept),  # noqa: B023  (called before the next run)
            "start": lambda: companion.say(begun),  # noqa: B023
            "decisions": ledger.list_decisions,
            "open": ledger.list_open_ends,
        }
        for name, work in works.items():
            started, computing = time.perf_counter(), time.process_time()
            work()
            if run:
                times[name].append((time.perf_counter() - started) * 1000)
                times[f"{name} (cpu)"].append((time.process_time() - computing) * 1000)
        clock.advance(seconds=timedelta(hours=2).total_seconds())
        progress("ledger", run + 1, runs + 1)
    return dict(times)


@cache
def _read_statements() -> tuple[tuple[Trust, str], ...]:
    """The statements of users, agents and tools in the lessons, each with who said it."""
    found: list[tuple[Trust, str]] = []
    for file in sorted(_LESSONS.glob("h*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            statements = json.loads(line)["statements"]
            found += [
                (statement["who"], statement["text"])
                for statement in statements
                if statement["who"] in ("user", "agent", "tool")
            ]
    return tuple(found)
