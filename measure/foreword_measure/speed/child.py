"""One size of the search measurement, in a process of its own, so that its memory is its own.

    python -m foreword_measure.speed.child fill FOLDER SIZE     makes the workspace
    python -m foreword_measure.speed.child ask FOLDER SIZE      opens it and asks

Filling and asking are two processes: what filling leaves in memory is nothing a user's search would pay for.
Both write lines of JSON to stdout: `{"progress": [done, total]}` often, `{"result": {…}}` once, at the end.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.spaces.dense import DenseSpace
from foreword.store.base import Amend, PutVectors, Relate, Search, Vector
from foreword.testing import FixedClock
from foreword.types import Query, VectorProbe
from foreword_measure.speed import corpus
from foreword_measure.speed.corpus import WORKSPACE
from foreword_measure.speed.measure import both_clocks, milliseconds, peak_bytes, resident_bytes, spread
from foreword_measure.speed.processes import answer, say

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from foreword.types import Item, Probe, Receipt, SearchResult
    from foreword_measure.speed.corpus import Question

BATCH = 500
ROUNDS = 3
_DEPTH = 50
DEADLINE_MS = 400.0

Samples = dict[str, list[float]]


def fill(folder: Path, size: int) -> dict[str, Any]:
    """Store so many items with their vectors and relations; gives how fast that went."""
    settings = Settings(home=folder, embedding="none")
    space = DenseSpace(corpus.FreeEncoder())
    writing = 0.0
    with ContextEngine(settings=settings, clock=FixedClock(corpus.after(size))) as engine:
        engine.tokenizer.count("loaded before the clock runs")
        for start in range(0, size, BATCH):
            stop = min(size, start + BATCH)
            items = [corpus.item(at) for at in range(start, stop)]
            started = time.perf_counter()
            kept = engine.remember_all(items, WORKSPACE)
            writing += time.perf_counter() - started
            engine.store.batch(
                [_vectors(space, kept, start), Relate(WORKSPACE, corpus.relations(start, stop))]
            )
            say(progress=[stop, size])
        codes = milliseconds(lambda: engine.store.search(_any_vector(space)))
    return {
        "stored_per_second": size / writing,
        "codes_ms": codes,
        "peak_bytes": peak_bytes(),
        "disk_bytes": _bytes(folder),
        "codes_bytes": _bytes(folder, "*.codes"),
    }


def ask(folder: Path, size: int) -> dict[str, Any]:
    """Ask every question in every way, several times over; gives how long each took."""
    settings = Settings(home=folder, embedding="none")
    clock = FixedClock(corpus.after(size))
    questions = corpus.questions(size)
    with ContextEngine(embedding_provider=corpus.FreeEncoder(), settings=settings, clock=clock) as engine:
        first = milliseconds(lambda: engine.search(questions[0].text, WORKSPACE))
        opened = resident_bytes()
        times, stages = _ask_all(engine, questions, size)
        memory = {"opened_bytes": opened, "asked_bytes": resident_bytes(), "peak_bytes": peak_bytes()}
        probes = _probe_all(engine, questions, clock)
        full = _ask_full_lane(engine, questions)
    groups = {"operations": times, "stages": stages, "probes": probes, "full": full}
    return {"first_ms": first, **memory} | {
        group: {name: spread(values).as_dict() for name, values in samples.items()}
        for group, samples in groups.items()
    }


def _ask_all(engine: ContextEngine, questions: list[Question], size: int) -> tuple[Samples, Samples]:
    """Times of each operation, and of each stage. The first round warms the caches and is not counted."""
    times: Samples = defaultdict(list)
    stages: Samples = defaultdict(list)
    for turn in range(ROUNDS + 1):
        for done, question in enumerate(questions, 1):
            taken, receipt = _ask_one(engine, question, size)
            if turn:
                for name, value in taken.items():
                    times[name].append(value)
                for stage in receipt.stages:
                    stages[stage.stage].append(stage.milliseconds)
            say(progress=[turn * len(questions) + done, (ROUNDS + 1) * len(questions)])
    return times, stages


def _ask_one(engine: ContextEngine, question: Question, size: int) -> tuple[dict[str, float], Receipt]:
    text, session = question.text, corpus.session(size // 2)
    built: list[Receipt] = []
    asked: dict[str, Callable[[], object]] = {
        "search": lambda: engine.search(text, WORKSPACE),
        "search, one session": lambda: engine.search(text, WORKSPACE, session=session),
        "build_context": lambda: built.append(engine.build_context(text, WORKSPACE).receipt),
        # A write that changes nothing is done when all before it are: how long the receipt took meanwhile,
        # and a quiet start for the next question.
        "receipt, behind the answer": lambda: engine.store.batch([Amend(WORKSPACE, "nobody")]),
    }
    taken: dict[str, float] = {}
    for name, work in asked.items():
        taken[name], taken[f"{name} (cpu)"] = both_clocks(work)
    return taken | {f"search: {question.shape}": taken["search"]}, built[0]


def _ask_full_lane(engine: ContextEngine, questions: list[Question]) -> Samples:
    """Each question once, with a deadline that leaves the cross-encoder time; what it read it remembers."""
    engine.search(questions[0].text, WORKSPACE, lane="full")
    times: Samples = {"search": [], "candidates read": []}
    for question in questions[1:]:
        found: list[SearchResult] = []
        taken = milliseconds(
            partial(_extend, found, engine, question.text)  # a lambda would bind the loop's last question
        )
        times["search"].append(taken)
        times["candidates read"].append(sum("rerank" in result.scores for result in found))
    return times


def _extend(found: list[SearchResult], engine: ContextEngine, text: str) -> None:
    found += engine.search(text, WORKSPACE, limit=50, deadline_ms=DEADLINE_MS)


def _probe_all(engine: ContextEngine, questions: list[Question], clock: FixedClock) -> Samples:
    """Each space alone: its round trip to the store, with the items it finds."""
    times: Samples = defaultdict(list)
    for question in questions:
        query = Query(question.text, WORKSPACE, clock())
        probes = {space.name: space.probe(query) for space in engine.kit.spaces}
        for name, probe in probes.items():
            if probe is not None and name != "graph":
                times[name].append(_trip(engine, probe))
        graph, lexical = probes["graph"], probes["lexical"]
        if graph is not None and lexical is not None:
            # Neighbours are neighbours of something: what they add to a search by words.
            times["graph"].append(max(0.0, _trip(engine, lexical, graph) - _trip(engine, lexical)))
        times["nothing"].append(_trip(engine))
    return times


def _trip(engine: ContextEngine, *probes: Probe) -> float:
    operation = Search(WORKSPACE, probes, limit=_DEPTH)
    return milliseconds(lambda: engine.store.search(operation))


def _vectors(space: DenseSpace, items: list[Item], start: int) -> PutVectors:
    values = corpus.vectors(start, start + len(items)).tolist()
    made = (
        Vector(item.id, space.view_hash(item), tuple(one)) for item, one in zip(items, values, strict=True)
    )
    return PutVectors(WORKSPACE, space.name, space.digest, tuple(made))


def _any_vector(space: DenseSpace) -> Search:
    """A search by any vector: the first one makes the file of codes, which is part of filling."""
    vector = tuple(corpus.FreeEncoder().embed("any"))
    return Search(WORKSPACE, (VectorProbe(space.name, space.digest, vector),), limit=_DEPTH)


def _bytes(folder: Path, pattern: str = "*") -> int:
    """How much the files of this name hold, once the database is closed."""
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


_TASKS = {"fill": fill, "ask": ask}


if __name__ == "__main__":
    answer(_TASKS, sys.argv[1:])
