"""Assemblies on one workspace of five sources, measured in a process of its own.

    python -m foreword_measure.speed.assemble_child fill FOLDER SIZE     makes the workspace
    python -m foreword_measure.speed.assemble_child ask FOLDER SIZE      opens it and assembles

Both write lines of JSON to stdout: `{"progress": [done, total]}` often, `{"result": {…}}` once, at the end.
"""

from __future__ import annotations

import asyncio
import sys
import time
import tracemalloc
from collections import defaultdict
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from foreword.compose.assembled import context_item
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.knowledge import axes
from foreword.knowledge.experience import (
    CAUSES,
    DOMAINS,
    STATUSES,
    STRATEGIES,
    TIERS,
    Experience,
    Lesson,
    Outcome,
    RootCause,
    to_metadata,
)
from foreword.knowledge.experiences import Experiences
from foreword.options import SearchOptions
from foreword.recall.alike import find_twins
from foreword.recipes.assembled.assembler import TYPES, ContextAssembler, planned
from foreword.recipes.assembled.searcher import Searcher
from foreword.recipes.assembled.stages import share_out
from foreword.spaces.dense import DenseSpace
from foreword.store.base import Amend, PutVectors, Vector
from foreword.testing import FixedClock
from foreword.types import SearchResult
from foreword_measure.speed import corpus
from foreword_measure.speed.corpus import WORKSPACE
from foreword_measure.speed.measure import both_clocks, resident_bytes, spread
from foreword_measure.speed.processes import answer, say

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from foreword.compose.assembled import FormattedContext
    from foreword.types import Item, Kind

_BATCH, _ROUNDS, _QUESTIONS, _COMPARED, _REPEATED = 500, 3, 5, 200, 20
_SOURCES: tuple[Kind, ...] = ("memory", "code", "experience", "value", "commit")

Samples = dict[str, list[float]]


def fill(folder: Path, size: int) -> dict[str, Any]:
    """Store so many items, a fifth of each source, with their vectors on every axis."""
    space = DenseSpace(corpus.FreeEncoder())
    with ContextEngine(
        settings=Settings(home=folder, embedding="none"), clock=FixedClock(corpus.after(size))
    ) as engine:
        for start in range(0, size, _BATCH):
            stop = min(size, start + _BATCH)
            kept = engine.remember_all([_item(at) for at in range(start, stop)], WORKSPACE)
            engine.store.batch([_vectors(space, axis, kept, start) for axis in axes.AXES])
            say(progress=[stop, size])
    return {"size": size}


def ask(folder: Path, size: int) -> dict[str, Any]:
    """Assemble contexts and premortems several times over; gives how long each took, and what grew."""
    settings, clock = Settings(home=folder, embedding="none"), FixedClock(corpus.after(size))
    with ContextEngine(embedding_provider=corpus.FreeEncoder(), settings=settings, clock=clock) as engine:
        times = asyncio.run(_asked(engine, size)) | _alone(engine)
        resident = resident_bytes()
        held = asyncio.run(_held(engine, size))
    measured = {name: spread(values).as_dict() for name, values in times.items()}
    return {"times": measured, "held_bytes": spread(held).as_dict(), "resident_bytes": resident}


async def _asked(engine: ContextEngine, size: int) -> Samples:
    """Every question in every round; the first round warms the caches and is not counted."""
    assembler = _assembler(engine)
    questions = [question.text for question in corpus.questions(size, _QUESTIONS)]
    feared = [(domain, strategy) for domain, strategy in product(DOMAINS, (None, *STRATEGIES[:2]))]
    times: Samples = defaultdict(list)
    done, total = 0, (_ROUNDS + 1) * (len(questions) + len(feared))
    for turn in range(_ROUNDS + 1):
        counted: Samples = times if turn else defaultdict(list)
        for text in questions:
            await _timed(engine, counted, "assemble_context", assembler.assemble_context(text, TYPES))
        for domain, strategy in feared:
            premortem = assembler.get_premortem_context(domain, strategy)
            await _timed(engine, counted, "get_premortem_context", premortem)
        done += len(questions) + len(feared)
        say(progress=[done, total])
    return times


async def _held(engine: ContextEngine, size: int) -> list[float]:
    """What one assembly holds at its peak beyond what was held before, every allocation counted."""
    assembler = _assembler(engine)
    held: list[float] = []
    tracemalloc.start()
    for question in corpus.questions(size, 1):
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        await assembler.assemble_context(question.text, TYPES)
        held.append(tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    return held


def _assembler(engine: ContextEngine) -> ContextAssembler:
    # Made-up questions are beside the point: without a floor all that is found is compared and worded.
    return ContextAssembler(Searcher(engine, WORKSPACE, Experiences(engine)), floor=0.0)


async def _timed(
    engine: ContextEngine, times: Samples, name: str, work: Coroutine[Any, Any, FormattedContext]
) -> None:
    """How long an assembly takes, what all threads computed meanwhile, and its parts."""
    started, computing = time.perf_counter(), time.process_time()
    context = await work
    times[name].append((time.perf_counter() - started) * 1000)
    times[f"{name} (cpu)"].append((time.process_time() - computing) * 1000)
    times[f"{name}: items"].append(len(context.items))
    for stage in context.receipt.stages if context.receipt else ():
        times[f"{name}: {stage.stage}"].append(stage.milliseconds)
    engine.store.batch([Amend(WORKSPACE, "nobody")])  # the receipt is written before the next question


def _alone(engine: ContextEngine) -> Samples:
    """What is done to found items, without finding them: comparing 200 of them, wording 100 of them."""
    items = [_item(at) for at in range(_COMPARED)]
    texts = [item.text for item in items]
    found = [
        SearchResult(item, 1 / (2 + at), 1 / (2 + at)) for at, item in enumerate(items[: _COMPARED // 2])
    ]
    samples: Samples = defaultdict(list)
    for _ in range(_REPEATED):
        for name, work in (
            ("dedupe", lambda: find_twins(texts)),
            ("formatting", lambda: _formatted(found, engine)),
        ):
            taken, computing = both_clocks(work)
            samples[name].append(taken)
            samples[f"{name} (cpu)"].append(computing)
    return samples


def _formatted(found: list[SearchResult], engine: ContextEngine) -> str:
    plan = planned({"everything": [context_item(result) for result in found]}, {})
    draft = replace(engine.draft("", WORKSPACE, SearchOptions(), "assembled", 2000), results=tuple(found))
    return share_out(plan)(draft).text


# What is stored ------------------------------------------------------------------------------------------


def _item(at: int) -> Item:
    """The item at this place: the corpus' words, as something of one of the five sources."""
    kind = _SOURCES[at % len(_SOURCES)]
    item = replace(corpus.item(at), kind=kind, session=None)
    if kind == "experience":
        lived = _experience(at, item)
        label = f"{lived.domain}/{lived.strategy}/{lived.status}"
        return replace(
            item, type=label, about="", text=axes.describe_whole(lived), metadata=to_metadata(lived)
        )
    told = _METADATA.get(kind)
    return replace(item, metadata=told(at) if told else {})


def _experience(at: int, item: Item) -> Experience:
    said = [corpus.short_text(at * 8 + part) for part in range(8)]
    status = STATUSES[at // 5 % len(STATUSES)]
    return Experience(
        id=item.id,
        session=None,
        created_at=item.created_at,
        domain=DOMAINS[at // 15 % len(DOMAINS)],
        strategy=STRATEGIES[at // 135 % len(STRATEGIES)],
        goal=said[0],
        hypothesis=said[1],
        action=said[2],
        prediction=said[3],
        outcome=Outcome(status, said[4], item.created_at),
        surprise=said[5],
        root_cause=RootCause(CAUSES[at % len(CAUSES)], said[6]),
        lesson=Lesson(said[7]),
        tier=TIERS[at % len(TIERS)],
    )


_METADATA: dict[Kind, Callable[[int], dict[str, Any]]] = {
    "code": lambda at: {
        "path": f"shop/part_{at % 977}.py",
        "language": "python",
        "unit": "function",
        "qualified_name": f"part_{at % 977}.act_{at}",
        "signature": f"def act_{at}(self, held: dict[str, str]) -> None:",
        "docstring": corpus.short_text(at),
        "start_line": at % 400,
    },
    "value": lambda at: {"axis": axes.AXES[at % len(axes.AXES)], "cluster_size": at % 40},
    "commit": lambda at: {
        "sha": f"{at:040x}",
        "author": corpus.lexicon().people[at % 12],
        "files_changed": [f"shop/part_{(at + step) % 977}.py" for step in range(1 + at % 4)],
    },
}


def _vectors(space: DenseSpace, axis: axes.Axis, items: list[Item], start: int) -> PutVectors:
    """A vector for each item that says something on an axis; on the whole, each says something."""
    shown = items if axis == "full" else [item for item in items if item.kind == "experience"]
    values = corpus.vectors(start, start + len(shown)).tolist()
    made = (
        Vector(
            item.id,
            space.view_hash(replace(item, about="", text=axes.axis_text(axis, item) or item.text)),
            tuple(one),
        )
        for item, one in zip(shown, values, strict=True)
    )
    return PutVectors(WORKSPACE, axes.SPACES[axis], space.digest, tuple(made))


_TASKS = {"fill": fill, "ask": ask}


if __name__ == "__main__":
    answer(_TASKS, sys.argv[1:])
