"""How long a question takes, and how much memory and disk it needs, by the size of a workspace.

Every size is filled and queried in its own processes, so that memory is measured for each. Vectors are
synthetic, and the encoders cost no time: times are those of a question without its embedding.
"""

from __future__ import annotations

import time
from collections import defaultdict
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.spaces.dense import DenseSpace
from foreword.store.base import Amend, PutRelations, Search
from foreword.testing import FixedClock
from foreword.types import Query, VectorProbe
from foreword_measure.report import Cell, Table
from foreword_measure.speed import corpus
from foreword_measure.speed.clock import (
    peak_bytes,
    resident_bytes,
    spreads,
    time_milliseconds,
    time_wall_and_cpu_milliseconds,
)
from foreword_measure.speed.corpus import WORKSPACE
from foreword_measure.speed.parts import SPREAD_COLUMNS, cells, fill_and_ask, send, target_verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from foreword.types import Probe, Receipt, SearchResult
    from foreword_measure.speed.clock import Progress, Samples
    from foreword_measure.speed.corpus import Question

TARGETS_MS = {10_000: 12.0, 100_000: 60.0}
FULL_LANE_MS = 400.0
TARGETS_MB = {100_000: 400.0}
OPERATIONS = ("search", "search, one session", "build_context")
BEHIND = "receipt, behind the answer"
_MB = 1_000_000
_ROUNDS = 3
_PROBE_LIMIT = 50


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Fill and query a workspace of each size; it is removed before the next one is created."""
    found: dict[int, dict[str, Any]] = {}
    for size in sorted(set(sizes)):
        home = folder / f"search-{size}"
        filled, asked = fill_and_ask("searching", home, size, label="", progress=progress)
        found[size] = {"fill": filled, **asked}
    largest = max(found)
    tables = [
        _times_table(found),
        _full_lane_table(found),
        _memory_table(found),
        *([_growth_table(found)] if len(found) > 1 else []),
        _spread_table(f"Stages of build_context at {largest:,} items", found[largest]["stages"]),
        _spread_table(f"Spaces alone at {largest:,} items", found[largest]["probes"], _PROBE_NOTES),
        _spread_table(f"Search by shape of question at {largest:,} items", _times_by_shape(found[largest])),
    ]
    return tables, {str(size): facts for size, facts in found.items()}


_PROBE_NOTES = (
    "one probe, a round trip to the store and the items it finds; 'nothing' is a round trip without a probe",
    "graph is what it adds to a search by words",
)


def _times_table(found: dict[int, dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for size, facts in found.items():
        for name in (*OPERATIONS, BEHIND):
            each, computing = (facts["operations"][key] for key in (name, f"{name} (cpu)"))
            target = TARGETS_MS.get(size) if name in OPERATIONS else None
            cpu = round(computing["p50"], 2)
            rows.append((size, name, *cells(each), cpu, target, target_verdict(each["p50"], target)))
    return Table(
        "Searching, milliseconds apart from embedding the question",
        ("items", "what", *SPREAD_COLUMNS, "p50 of cpu", "target p50, at most", "met"),
        tuple(rows),
        (
            "66 questions of 2 to 14 words, three rounds after one to warm up; all spaces are asked",
            "cpu is what the asking thread computed, without waiting for the disk, other threads or programs",
        ),
    )


def _full_lane_table(found: dict[int, dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for size, facts in found.items():
        each, read = facts["full"]["search"], facts["full"]["candidates read"]
        rows.append(
            (size, *cells(each), round(read["p50"]), FULL_LANE_MS, target_verdict(each["p99"], FULL_LANE_MS))
        )
    return Table(
        f"Searching with the cross-encoder, under a deadline of {FULL_LANE_MS:.0f} ms",
        ("items", *SPREAD_COLUMNS, "candidates read, p50", "target p99, at most", "met"),
        tuple(rows),
        ("each question once: what the cross-encoder has read it does not read again",),
    )


def _memory_table(found: dict[int, dict[str, Any]]) -> Table:
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
        rows.append((size, *memory, target, target_verdict(memory[2], target), *disk, *rates))
    return Table(
        "Memory in MB, disk in bytes an item",
        (
            "items", "after the first search", "after all", "peak", "target, at most", "met",
            "disk", "of which vector codes", "stored per second", "codes made, ms", "first search, ms",
        ),
        tuple(rows),
        ("resident memory of the process that asks, mapped files included; it did not fill the workspace",),
    )  # fmt: skip


def _growth_table(found: dict[int, dict[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for small, large in pairwise(found):
        ratios = [
            found[large]["operations"][name]["p50"] / found[small]["operations"][name]["p50"]
            for name in OPERATIONS
        ]
        rows.append((f"{small:,} to {large:,}", *(round(n, 1) for n in (large / small, *ratios))))
    return Table("Growth of the median, times", ("from, to", "items", *OPERATIONS), tuple(rows))


def _spread_table(title: str, spreads: dict[str, Any], notes: tuple[str, ...] = ()) -> Table:
    rows = tuple((name, *cells(each)) for name, each in spreads.items())
    return Table(f"{title}, milliseconds", ("what", *SPREAD_COLUMNS), rows, notes)


def _times_by_shape(facts: dict[str, Any]) -> dict[str, Any]:
    operations: dict[str, Any] = facts["operations"]
    return {name.removeprefix("search: "): each for name, each in operations.items() if ": " in name}


# Tasks, each in its own process ---------------------------------------------------------------------------


def fill(folder: Path, size: int) -> dict[str, Any]:
    """Store `size` items with their vectors and relations; returns how long that took."""
    settings = Settings(home=folder, embedding="none")
    space = DenseSpace(corpus.FreeEncoder())
    writing = 0.0
    with ContextEngine(settings=settings, clock=FixedClock(corpus.time_after(size))) as engine:
        engine.tokenizer.count("loaded before the clock runs")
        for start in range(0, size, corpus.BATCH):
            stop = min(size, start + corpus.BATCH)
            items = [corpus.invent_item(at) for at in range(start, stop)]
            started = time.perf_counter()
            kept = engine.remember_all(items, WORKSPACE)
            writing += time.perf_counter() - started
            engine.store.batch(
                [
                    corpus.make_put_vectors(space, kept, start),
                    corpus.make_put_token_codes(kept),
                    PutRelations(WORKSPACE, corpus.invent_relations(start, stop)),
                ]
            )
            send(progress=[stop, size])
        codes = time_milliseconds(lambda: engine.store.search(_search_for_any_vector(space)))
    return {
        "stored_per_second": size / writing,
        "codes_ms": codes,
        "peak_bytes": peak_bytes(),
        "disk_bytes": _file_bytes(folder),
        "codes_bytes": _file_bytes(folder, "*.codes"),
    }


def ask(folder: Path, size: int) -> dict[str, Any]:
    """Ask every question in every way, several times; returns the times."""
    settings = Settings(home=folder, embedding="none")
    clock = FixedClock(corpus.time_after(size))
    questions = corpus.invent_questions(size)
    with ContextEngine(
        embedding_provider=corpus.FreeEncoder(),
        token_space=corpus.FreeTokens(),
        settings=settings,
        clock=clock,
    ) as engine:
        first = time_milliseconds(lambda: engine.search(questions[0].text, WORKSPACE))
        opened = resident_bytes()
        times, stages = _ask_all(engine, questions, size)
        memory = {"opened_bytes": opened, "asked_bytes": resident_bytes(), "peak_bytes": peak_bytes()}
        probes = _probe_all(engine, questions, clock)
        full = _ask_full_lane(engine, questions)
    groups = {"operations": times, "stages": stages, "probes": probes, "full": full}
    return {"first_ms": first, **memory} | {group: spreads(samples) for group, samples in groups.items()}


def _ask_all(engine: ContextEngine, questions: list[Question], size: int) -> tuple[Samples, Samples]:
    """The times of each operation, and of each stage, without the first round, which warms the caches."""
    times: Samples = defaultdict(list)
    stages: Samples = defaultdict(list)
    for turn in range(_ROUNDS + 1):
        for done, question in enumerate(questions, 1):
            taken, receipt = _ask_one(engine, question, size)
            if turn:
                for name, value in taken.items():
                    times[name].append(value)
                for stage in receipt.stages:
                    stages[stage.stage].append(stage.milliseconds)
            send(progress=[turn * len(questions) + done, (_ROUNDS + 1) * len(questions)])
    return times, stages


def _ask_one(engine: ContextEngine, question: Question, size: int) -> tuple[dict[str, float], Receipt]:
    text, session = question.text, corpus.session_name(size // 2)
    built: list[Receipt] = []
    asked: dict[str, Callable[[], object]] = {
        "search": lambda: engine.search(text, WORKSPACE),
        "search, one session": lambda: engine.search(text, WORKSPACE, session=session),
        "build_context": lambda: built.append(engine.build_context(text, WORKSPACE).receipt),
        # A write that changes nothing waits for all writes before it: this measures the writing of the
        # receipt, and the next question starts without it.
        "receipt, behind the answer": lambda: engine.store.batch([Amend(WORKSPACE, "nobody")]),
    }
    taken: dict[str, float] = {}
    for name, work in asked.items():
        taken[name], taken[f"{name} (cpu)"] = time_wall_and_cpu_milliseconds(work)
    return taken | {f"search: {question.shape}": taken["search"]}, built[0]


def _ask_full_lane(engine: ContextEngine, questions: list[Question]) -> Samples:
    """The times of each question with the cross-encoder, asked once, since the cross-encoder caches."""
    engine.search(questions[0].text, WORKSPACE, lane="full")
    times: Samples = {"search": [], "candidates read": []}
    for question in questions[1:]:
        found: list[SearchResult] = []
        # Not a lambda, which would bind the loop's last question.
        taken = time_milliseconds(partial(_search_into, found, engine, question.text))
        times["search"].append(taken)
        times["candidates read"].append(sum("rerank" in result.scores for result in found))
    return times


def _search_into(found: list[SearchResult], engine: ContextEngine, text: str) -> None:
    found += engine.search(text, WORKSPACE, limit=50, deadline_ms=FULL_LANE_MS)


def _probe_all(engine: ContextEngine, questions: list[Question], clock: FixedClock) -> Samples:
    """The times of each space alone: its round trip to the store, with the items it finds."""
    times: Samples = defaultdict(list)
    for question in questions:
        query = Query(question.text, WORKSPACE, clock())
        probes = {space.name: space.probe(query) for space in engine.kit.spaces}
        for name, probe in probes.items():
            if probe is not None and name != "graph":
                times[name].append(_round_trip(engine, probe))
        graph, lexical = probes["graph"], probes["lexical"]
        if graph is not None and lexical is not None:
            # Neighbours need something to be neighbours of: this is what they add to a search by words.
            times["graph"].append(
                max(0.0, _round_trip(engine, lexical, graph) - _round_trip(engine, lexical))
            )
        times["nothing"].append(_round_trip(engine))
    return times


def _round_trip(engine: ContextEngine, *probes: Probe) -> float:
    operation = Search(WORKSPACE, probes, limit=_PROBE_LIMIT)
    return time_milliseconds(lambda: engine.store.search(operation))


def _search_for_any_vector(space: DenseSpace) -> Search:
    """A search with any vector: the first one creates the file of codes, which is part of filling."""
    vector = tuple(corpus.FreeEncoder().embed("any"))
    return Search(WORKSPACE, (VectorProbe(space.name, space.digest, vector),), limit=_PROBE_LIMIT)


def _file_bytes(folder: Path, pattern: str = "*") -> int:
    """The size of all files that match a pattern, once the database is closed."""
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


TASKS = {"fill": fill, "ask": ask}
