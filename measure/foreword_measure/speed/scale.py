"""The speed of one workspace in SQLite, in PostgreSQL, and in PostgreSQL with Qdrant, by size and clients.

The servers are real and are started for this (`foreword_measure.servers`), on the same machine: over a
network, each question would cost some ten round trips more. Vectors are synthetic, and the encoders cost no
time. Recall compares the vectors' list with an exact comparison with every code in the rows. Stores are
filled by one process and measured by another (`scale_data`).
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from foreword.spaces.dense import DenseSpace
from foreword.store.base import Delete, Search
from foreword.store.vector_part import cosines_to_codes
from foreword.types import Filters, VectorProbe
from foreword_measure.report import Table
from foreword_measure.speed import corpus, scale_data
from foreword_measure.speed.clock import (
    resident_bytes,
    spread,
    time_milliseconds,
    time_wall_and_cpu_milliseconds,
)
from foreword_measure.speed.corpus import WORKSPACE
from foreword_measure.speed.parts import run_task, send, target_verdict
from foreword_measure.speed.scale_data import ENGINES, STORES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from foreword.engine.context_engine import ContextEngine
    from foreword_measure.report import Cell
    from foreword_measure.speed.clock import Progress
    from foreword_measure.speed.corpus import Question
    from foreword_measure.speed.scale_data import Server

CLIENTS = (1, 4, 16, 64)
TARGETS_MS = {
    ("SQLite", 100_000): 35.0,
    ("PostgreSQL", 100_000): 40.0,
    ("SQLite", 1_000_000): 80.0,
    ("PostgreSQL", 1_000_000): 60.0,
    ("PostgreSQL + Qdrant", 1_000_000): 60.0,
}
"""The target median, in milliseconds, for building a context with one client and without encoding."""

_MB = 1_000_000
_WRITTEN = 1_000
_QUESTIONS_PER_CLIENT = 12
_RECALL_QUESTIONS = 30
_RECALL_AT = 50


def measure(
    folder: Path,
    sizes: tuple[int, ...],
    progress: Progress,
    *,
    stores: tuple[str, ...] = (),
    only_fill: bool = False,
) -> tuple[list[Table], dict[str, Any]]:
    """Fill some stores, or all, at every size, as far as they are not filled yet; then measure each.

    With `only_fill` nothing is measured.
    """
    scale_data.check_room(folder, sizes)
    found: dict[str, dict[str, Any]] = {}
    for size in sorted(set(sizes)):
        home = folder / str(size)
        home.mkdir(exist_ok=True)
        home.chmod(0o755)  # what is in it is made up, and PostgreSQL may run as another user
        for place, engine in enumerate(ENGINES):
            if stores and STORES[place] not in stores:
                continue
            label = f"{engine}, {size:,} items"
            filled = scale_data.read_facts(home, engine)
            filled = filled or _run_in_process(home, "fill", size, place, f"{label}: fill", progress)
            asked = {} if only_fill else _run_in_process(home, "ask", size, place, f"{label}: ask", progress)
            found[f"{engine} {size}"] = {"engine": engine, "size": size, **filled, **asked}
    facts = list(found.values())
    make_tables = (_filling_table, _sizes_table, _asking_table, _clients_table, _growth_table)
    return [make_table(facts) for make_table in make_tables[: 1 if only_fill else None]], found


def _run_in_process(
    home: Path, task: str, size: int, place: int, label: str, progress: Progress
) -> dict[str, Any]:
    """Run a task of this part in its own process."""
    return run_task("scale", task, home, size, place, label=label, progress=progress)


# Tasks, each in its own process --------------------------------------------------------------------------


def fill(folder: Path, size: int, place: int) -> dict[str, Any]:
    """Fill a store as far as it is not filled yet; returns the facts about the filling."""
    scale_data.fill(folder, ENGINES[place], size, lambda done, total: send(progress=[done, total]))
    return scale_data.read_facts(folder, ENGINES[place])


def ask(folder: Path, size: int, place: int) -> dict[str, Any]:
    """Query a store in every way; returns the times, the recall, and the memory and disk that it needs."""
    steps = len(CLIENTS) + 3
    with scale_data.open_engine(folder, ENGINES[place], size) as (engine, servers):
        questions = corpus.invent_questions(size)
        for question in questions:  # the first round warms the caches and is not counted
            engine.build_context(question.text, WORKSPACE)
        send(progress=[1, steps])
        facts: dict[str, Any] = {"asked": _ask_one_by_one(engine, questions, size), "clients": {}}
        facts |= _measure_sizes(engine, servers)
        for done, clients in enumerate(CLIENTS, 2):
            each = min(_QUESTIONS_PER_CLIENT, 1 + size // 1000)
            facts["clients"][str(clients)] = _ask_at_once(engine, questions, clients, each)
            send(progress=[done, steps])
        facts["recall"] = _measure_recall(engine, servers, questions, size)
        send(progress=[steps - 1, steps])
        facts["stored_per_second"] = _measure_writing(engine)
    return facts


TASKS = {"fill": fill, "ask": ask}


def _measure_sizes(engine: ContextEngine, servers: Sequence[Server]) -> dict[str, float]:
    """The memory of this process and of the servers, and the bytes of the store on the disk."""
    if servers:
        disk = sum(server.disk_bytes(is_alone=len(servers) == 1) for server in servers)
    else:
        store: Any = engine.store
        disk = sum(path.stat().st_size for path in store.path_of_database(WORKSPACE).parent.iterdir())
    return {
        "process_bytes": resident_bytes(),
        "server_bytes": sum(server.resident_bytes() for server in servers),
        "disk_bytes": disk,
    }


def _measure_writing(engine: ContextEngine) -> float:
    """How many items a second are stored in another workspace of the store, in batches."""
    workspace = f"{WORKSPACE}-writing"
    engine.tokenizer.count("loaded before the clock runs")
    taken = 0.0
    for start in range(0, _WRITTEN, corpus.BATCH):
        items = [corpus.invent_item(at) for at in range(start, start + corpus.BATCH)]
        taken += time_milliseconds(partial(engine.remember_all, items, workspace))
    engine.store.delete(Delete(workspace, filters=Filters()))
    return _WRITTEN / taken * 1000


def _ask_one_by_one(
    engine: ContextEngine, questions: Sequence[Question], size: int
) -> dict[str, dict[str, float]]:
    """The times of each operation with one client, and its processor time."""
    session = corpus.session_name(size // 2)
    operations: dict[str, Callable[[str], object]] = {
        "search": lambda text: engine.search(text, WORKSPACE),
        "search, one session": lambda text: engine.search(text, WORKSPACE, session=session),
        "search, one kind": lambda text: engine.search(text, WORKSPACE, kinds=("turn",)),
        "build_context": lambda text: engine.build_context(text, WORKSPACE),
        "build_context, one session": lambda text: engine.build_context(text, WORKSPACE, session=session),
        "build_context, one kind": lambda text: engine.build_context(text, WORKSPACE, kinds=("turn",)),
    }
    found = {}
    for name, operation in operations.items():
        times = [time_wall_and_cpu_milliseconds(partial(operation, question.text)) for question in questions]
        computing = spread([computed for _, computed in times])
        found[name] = spread([taken for taken, _ in times]).as_dict() | {"cpu": computing.p50}
    return found


def _ask_at_once(
    engine: ContextEngine, questions: Sequence[Question], clients: int, each: int
) -> dict[str, float]:
    """The times of contexts built by several clients at once, and how many contexts a second were built.

    Contexts for which no vectors were compared are counted: a server that fails would else look fast.
    """
    texts = [question.text for question in islice(cycle(questions), clients * each)]
    blind: list[str] = []

    def build(text: str) -> None:
        notes = engine.build_context(text, WORKSPACE).receipt.notes
        blind.extend(note.message for note in notes if note.part == DenseSpace.name)

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        taken = list(pool.map(lambda text: time_milliseconds(partial(build, text)), texts))
    rate = len(texts) / (time.perf_counter() - began)
    return spread(taken).as_dict() | {"per_second": rate, "without_vectors": len(blind)}


def _measure_recall(
    engine: ContextEngine, servers: Sequence[Server], questions: Sequence[Question], size: int
) -> dict[str, float]:
    """The share of the really nearest vectors that a search lists, over all items and within one kind."""
    encoder = corpus.FreeEncoder()
    space = DenseSpace(encoder)
    kinds, codes = scale_data.read_codes(engine, servers, size)
    turns = kinds == "turn"
    recalls: dict[str, list[float]] = {"everything": [], "one kind": []}
    for question in questions[:_RECALL_QUESTIONS]:
        vector = tuple(encoder.embed(question.text))
        cosines = cosines_to_codes(vector, codes)
        for name, filters in (("everything", Filters()), ("one kind", Filters(kinds=("turn",)))):
            allowed = cosines if filters.empty else cosines[turns]
            limit = min(_RECALL_AT, len(allowed))
            worst = np.partition(allowed, -limit)[-limit]
            probe = VectorProbe(space.name, space.digest, vector)
            found = engine.store.search(Search(WORKSPACE, (probe,), filters, limit))
            listed = [score for _, score in found.lists.get(space.name, ())]
            recalls[name].append(sum(score >= worst - 1e-9 for score in listed) / max(1, limit))
    return {name: float(np.mean(values)) for name, values in recalls.items()} | {"vectors": len(codes)}


# Tables --------------------------------------------------------------------------------------------------


def _filling_table(facts: Sequence[dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in facts:
        rate = one.get("bulk_items_per_second") or one.get("sent_vectors_per_second")
        numbers = (rate, one["fill_seconds"], one.get("index_seconds"), one["fill_own_cpu_seconds"])
        rows.append((one["engine"], one["size"], *(None if n is None else round(n) for n in numbers)))
    return Table(
        "Filling",
        ("store", "items", "items/s", "s in all", "s for the index of vectors", "s of cpu, servers apart"),
        tuple(rows),
        ("thousands of items a transaction; what is there already is not filled again, and its times stay",),
    )


def _sizes_table(facts: Sequence[dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            one["engine"],
            one["size"],
            round(one["stored_per_second"]),
            *(round(one[key] / _MB) for key in ("process_bytes", "server_bytes", "disk_bytes")),
            round(one["disk_bytes"] / one["size"]),
        )
        for one in facts
    ]
    columns = ("store", "items", "items/s", "own MB", "servers MB", "disk MB", "bytes an item")
    return Table(
        "Writing, memory and disk",
        columns,
        tuple(rows),
        ("items/s by `remember_all`, 500 a transaction, in another workspace of the same store",),
    )


def _asking_table(facts: Sequence[dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in facts:
        for name, times in one["asked"].items():
            target = TARGETS_MS.get((one["engine"], one["size"])) if name == "build_context" else None
            recall = None
            if "session" not in name:
                recall = round(one["recall"]["one kind" if "kind" in name else "everything"], 4)
            shown = (round(times[key], 1) for key in ("p50", "p99", "cpu"))
            rows.append(
                (
                    one["engine"],
                    one["size"],
                    name,
                    *shown,
                    target,
                    target_verdict(times["p50"], target),
                    recall,
                )
            )
    return Table(
        "One client, milliseconds apart from encoding",
        (
            *("store", "items", "operation", "p50", "p99"),
            *("p50 of cpu", "target p50, at most", "met", "recall of vectors"),
        ),
        tuple(rows),
        (
            f"recall at {_RECALL_AT} against comparing every vector",
            "cpu is what the asking thread computed; what servers compute is not in it",
        ),
    )


def _clients_table(facts: Sequence[dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            one["engine"],
            one["size"],
            int(clients),
            *(round(times[key], 1) for key in ("p50", "p99")),
            round(times["per_second"]),
            round(times["without_vectors"]),
        )
        for one in facts
        for clients, times in one["clients"].items()
    ]
    columns = ("store", "items", "clients", "p50", "p99", "contexts/s", "without vectors")
    return Table("build_context by several clients at once, milliseconds", columns, tuple(rows))


_GROWING: dict[str, Callable[[dict[str, Any]], float]] = {
    "search, p50 ms": lambda one: float(one["asked"]["search"]["p50"]),
    "build_context, p50 ms": lambda one: float(one["asked"]["build_context"]["p50"]),
    "build_context, one kind, p50 ms": lambda one: float(one["asked"]["build_context, one kind"]["p50"]),
    "build_context, 16 clients, p50 ms": lambda one: float(one["clients"]["16"]["p50"]),
    "written items/s": lambda one: float(one["stored_per_second"]),
    "memory, own and servers, MB": lambda one: float(one["process_bytes"] + one["server_bytes"]) / _MB,
    "disk MB": lambda one: float(one["disk_bytes"]) / _MB,
}
"""What may grow with the number of items."""


def _growth_table(facts: Sequence[dict[str, Any]]) -> Table:
    """How each number grows from one size to the next; a size that a store was not measured at is empty."""
    sizes = sorted({one["size"] for one in facts})
    rows: list[tuple[Cell, ...]] = []
    for engine in dict.fromkeys(one["engine"] for one in facts):
        by_size = {one["size"]: one for one in facts if one["engine"] == engine}
        for name, read in _GROWING.items():
            values = {size: read(one) for size, one in by_size.items()}
            cells = (round(values[size], 1) if size in values else None for size in sizes)
            rows.append((engine, name, *cells, _growth_for_ten_times_the_items(values)))
    columns = ("store", "what", *(f"{size:,}" for size in sizes), "times, for ten times the items")
    return Table("How each grows", columns, tuple(rows))


def _growth_for_ten_times_the_items(values: Mapping[int, float]) -> float | None:
    """By how much a number is multiplied when there are ten times as many items; None from one size."""
    if len(values) < 2 or min(values.values()) <= 0:
        return None
    least, most = min(values), max(values)
    decades = math.log10(most / least)
    return round(math.exp(math.log(values[most] / values[least]) / decades), 2)
