"""How fast a large graph store is, compared with LangGraph's own store in memory.

Each user has a hundred values, all under one label; ten values are under another label. The values have no
vectors: finding them by name, and filtering them, is measured.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import MissingExtra
from foreword.testing import FixedClock
from foreword_measure.report import Table
from foreword_measure.speed.clock import spreads, time_milliseconds
from foreword_measure.speed.parts import target_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from langgraph.store.base import BaseStore

    from foreword_measure.speed.clock import Progress, Samples

SIZE = 100_000
RUNS = 30
WORKS: dict[str, tuple[float | None, Callable[[BaseStore, int], object]]] = {
    "get a value": (None, lambda store, run: store.get(("users", f"u{run}"), "k1")),
    "search under one label that all share": (10.0, lambda store, _: store.search(("users",), limit=10)),
    "the same, page 20": (10.0, lambda store, _: store.search(("users",), limit=10, offset=190)),
    "search under one label that few have": (10.0, lambda store, _: store.search(("rare",), limit=10)),
    "the same with a filter that a tenth passes": (
        10.0,
        lambda store, _: store.search(("users",), filter={"n": {"$lt": 10}}, limit=10),
    ),
    "search under one user": (10.0, lambda store, run: store.search(("users", f"u{run}"), limit=10)),
    "list the namespaces of one user": (
        None,
        lambda store, run: store.list_namespaces(prefix=("users", f"u{run}")),
    ),
    "put a value": (None, lambda store, run: store.put(("users", f"u{run}"), "new", {"n": run})),
}
"""The operations: the name, the target for the median in milliseconds, and the function."""

_PER_USER, _RARE, _BATCH = 100, 10, 500


def measure(
    folder: Path, sizes: tuple[int, ...], progress: Progress, runs: int = RUNS
) -> tuple[list[Table], dict[str, Any]]:
    """Fill both stores with as many values as the largest size, at most 100,000, and query them in turn."""
    size = min(max(sizes), SIZE)
    try:
        from langgraph.store.memory import InMemoryStore

        from foreword.edges.langgraph import ForewordStore
    except (ModuleNotFoundError, MissingExtra):
        return [
            Table("Graph store", ("what",), (), ("LangGraph is not installed: nothing was measured",))
        ], {}
    settings = Settings(home=folder / "graph-store", embedding="none")
    with ContextEngine(settings=settings, clock=FixedClock()) as engine:
        stores: dict[str, BaseStore] = {
            "": ForewordStore(engine, "bench"),
            " (InMemoryStore)": InMemoryStore(),
        }
        for store in stores.values():
            _fill(store, size, progress)
        times = _time_operations_in_turn(stores, runs, max(1, size // _PER_USER), progress)
    rows = [
        (name + mark, name + mark, None if mark else target)
        for name, (target, _) in WORKS.items()
        for mark in stores
    ]
    found = spreads(times)
    note = "a put is on the disk when it returns, and nothing in memory survives the process"
    return [target_table(f"Graph store, {size:,} values, milliseconds", rows, found, note)], {
        "values": size,
        "times": found,
    }


def _fill(store: BaseStore, size: int, progress: Progress) -> None:
    from langgraph.store.base import PutOp

    puts = [
        PutOp(
            ("users", f"u{at // _PER_USER}"),
            f"k{at % _PER_USER}",
            {"n": at % _PER_USER, "text": f"value {at}"},
        )
        for at in range(size)
    ] + [PutOp(("rare", "few"), f"k{at}", {"n": at}) for at in range(_RARE)]
    for start in range(0, len(puts), _BATCH):
        store.batch(puts[start : start + _BATCH])
        progress(f"store: fill {type(store).__name__}", start, size)


def _time_operations_in_turn(
    stores: dict[str, BaseStore], runs: int, users: int, progress: Progress
) -> Samples:
    """The times of every operation on every store, in turn, without the first run."""
    times: Samples = defaultdict(list)
    for run in range(runs + 1):
        for name, (_, work) in WORKS.items():
            for mark, store in stores.items():
                taken = time_milliseconds(lambda work=work, store=store, at=run % users: work(store, at))  # type: ignore[misc]
                if run:
                    times[name + mark].append(taken)
        progress("store: ask", run, runs)
    return times
