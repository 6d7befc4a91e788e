"""How long it takes to assemble a context from five sources, and a premortem, and how much memory it needs.

The workspace is filled in one process and queried in another. The words and vectors are synthetic, and the
encoder costs no time: times are those of a question without its embedding. The first call is different: it
uses the bundled encoders, in a process that has imported nothing yet, and everything counts.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
import tracemalloc
from collections import defaultdict
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from foreword.compose.assembled import make_context_item
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
    experience_to_metadata,
)
from foreword.knowledge.experiences import Experiences
from foreword.options import SearchOptions
from foreword.recall.dedupe import find_containing_texts
from foreword.recipes.assembled.assembler import TYPES, ContextAssembler, arrange_by_source
from foreword.recipes.assembled.searcher import EngineSearcher
from foreword.recipes.assembled.stages import AssembledDraft, fit_budget
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace
from foreword.spaces.tokens import TokenEncoder
from foreword.store.base import Amend, PutVectors, Vector
from foreword.testing import FixedClock
from foreword.types import SearchResult
from foreword_measure.report import Table
from foreword_measure.speed import corpus
from foreword_measure.speed.clock import resident_bytes, spread, spreads, time_wall_and_cpu_milliseconds
from foreword_measure.speed.corpus import WORKSPACE
from foreword_measure.speed.parts import (
    environment_with_bytecode,
    fill_and_ask,
    send,
    spread_table,
    target_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from foreword.compose.assembled import FormattedContext
    from foreword.engine.embedder import View
    from foreword.types import Item, Kind
    from foreword_measure.speed.clock import Progress, Samples

SIZE = 50_000
_MB = 1_000_000
TARGET_MB = 50.0
ROWS = (
    ("assemble_context", "assemble_context", 100.0),
    ("get_premortem_context", "get_premortem_context", 150.0),
    ("first assemble_context in a fresh process", "first", 400.0),
    ("near duplicates among 200 items", "dedupe", 50.0),
    ("wording and fitting 100 items", "formatting", 10.0),
)
"""What is measured: its name, its key, and the target for the median in milliseconds."""

_ROUNDS, _QUESTIONS, _COMPARED, _REPEATED = 3, 5, 200, 20
_FIRST_CALLS = 3
_FIRST_CALL = """
import sys, time
started = time.perf_counter()
import asyncio
from foreword.assembled import ContextAssembler, EngineSearcher, Experiences
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from pathlib import Path
with ContextEngine(settings=Settings(home=Path(sys.argv[1]))) as engine:
    assembler = ContextAssembler(EngineSearcher(engine, sys.argv[2], Experiences(engine)), floor=0.0)
    asyncio.run(assembler.assemble_context(sys.argv[3], sys.argv[4:], record=False))
    print((time.perf_counter() - started) * 1000)
"""
_SOURCES: tuple[Kind, ...] = ("memory", "code", "experience", "value", "commit")


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Fill a workspace with 50,000 items, or as many as the largest size if that is less, and assemble."""
    size = min(SIZE, max(sizes))
    _, asked = fill_and_ask("assemble", folder / "assemble", size, label="assemble: ", progress=progress)
    title = f"Assembling from {size:,} items of five sources, milliseconds"
    note = "cpu is what the threads that work on it compute, all together; sources are asked at once"
    parts = {name: one for name, one in asked["times"].items() if ": " in name and "items" not in name}
    tables = [
        target_table(title, ROWS, asked["times"], note),
        spread_table("Parts of it, milliseconds", parts),
        _memory_table(size, asked),
    ]
    return tables, {"size": size} | asked


def _memory_table(size: int, asked: dict[str, Any]) -> Table:
    median, most = (round(asked["held_bytes"][key] / _MB, 1) for key in ("p50", "max"))
    resident = round(asked["resident_bytes"] / _MB, 1)
    row = (size, median, most, TARGET_MB, "yes" if most < TARGET_MB else "no", resident)
    return Table(
        "Memory in MB",
        ("items", "held by one, p50", "held by one, max", "target, below", "met", "whole process"),
        (row,),
        ("held is what an assembly allocates at its peak; the whole process includes mapped files",),
    )


class _FreeEncoder(corpus.FreeEncoder):
    """An encoder without cost under the bundled encoder's name, for which a first call finds all vectors."""

    model = BundledEmbeddingProvider.model
    fingerprint = BundledEmbeddingProvider.fingerprint


# Tasks, each in its own process --------------------------------------------------------------------------


def fill(folder: Path, size: int) -> dict[str, Any]:
    """Store `size` items, a fifth of each source, with all their vectors: nothing is left to embed."""
    space = DenseSpace(_FreeEncoder())
    with ContextEngine(
        settings=Settings(home=folder, embedding="none"), clock=FixedClock(corpus.time_after(size))
    ) as engine:
        for start in range(0, size, corpus.BATCH):
            stop = min(size, start + corpus.BATCH)
            kept = engine.remember_all([_make_item(at) for at in range(start, stop)], WORKSPACE)
            engine.store.batch([_make_put_vectors(space, view, kept, start) for view in _VIEWS])
            engine.store.batch([replace(corpus.make_put_token_codes(kept), digest=TokenEncoder().digest)])
            send(progress=[stop, size])
    return {"size": size}


def ask(folder: Path, size: int) -> dict[str, Any]:
    """Assemble contexts and premortems several times over; returns how long each took, and its memory."""
    settings, clock = Settings(home=folder, embedding="none"), FixedClock(corpus.time_after(size))
    with ContextEngine(embedding_provider=_FreeEncoder(), settings=settings, clock=clock) as engine:
        times = asyncio.run(_measure_assemblies(engine, size)) | _measure_steps(engine)
        times["first"] = _measure_first_calls(folder, size)
        resident = resident_bytes()
        held = asyncio.run(_measure_memory(engine, size))
    return {"times": spreads(times), "held_bytes": spread(held).as_dict(), "resident_bytes": resident}


async def _measure_assemblies(engine: ContextEngine, size: int) -> Samples:
    """The times of every question in every round, without the first round, which warms the caches."""
    assembler = _make_assembler(engine)
    questions = [question.text for question in corpus.invent_questions(size, _QUESTIONS)]
    feared = [(domain, strategy) for domain, strategy in product(DOMAINS, (None, *STRATEGIES[:2]))]
    times: Samples = defaultdict(list)
    done, total = 0, (_ROUNDS + 1) * (len(questions) + len(feared))
    for turn in range(_ROUNDS + 1):
        counted: Samples = times if turn else defaultdict(list)
        for text in questions:
            await _time_assembly(engine, counted, "assemble_context", assembler.assemble_context(text, TYPES))
        for domain, strategy in feared:
            premortem = assembler.get_premortem_context(domain, strategy)
            await _time_assembly(engine, counted, "get_premortem_context", premortem)
        done += len(questions) + len(feared)
        send(progress=[done, total])
    return times


async def _measure_memory(engine: ContextEngine, size: int) -> list[float]:
    """How many bytes each assembly allocates at its peak, beyond those allocated before it."""
    assembler = _make_assembler(engine)
    held: list[float] = []
    tracemalloc.start()
    for question in corpus.invent_questions(size, 1):
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        await assembler.assemble_context(question.text, TYPES)
        held.append(tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    return held


def _measure_first_calls(folder: Path, size: int) -> list[float]:
    """How many milliseconds the first context of a new process takes, its imports included.

    One process before them compiles what is imported, as installing does.
    """
    command = [sys.executable, "-P", "-c", _FIRST_CALL, str(folder), WORKSPACE]
    environment = environment_with_bytecode(folder / "bytecode")
    texts = [question.text for question in corpus.invent_questions(size, 1)][: _FIRST_CALLS + 1]
    _, *counted = [
        float(
            subprocess.run(  # noqa: S603  (ourselves)
                [*command, text, *TYPES], capture_output=True, check=True, timeout=120, env=environment
            ).stdout
        )
        for text in texts
    ]
    return counted


def _make_assembler(engine: ContextEngine) -> ContextAssembler:
    # Synthetic questions find nothing relevant: without a floor, all that is found is compared and worded.
    return ContextAssembler(EngineSearcher(engine, WORKSPACE, Experiences(engine)), floor=0.0)


async def _time_assembly(
    engine: ContextEngine, times: Samples, name: str, work: Coroutine[Any, Any, FormattedContext]
) -> None:
    """Add to `times` how long an assembly takes, its processor time, and the time of each part."""
    started, computing = time.perf_counter(), time.process_time()
    context = await work
    times[name].append((time.perf_counter() - started) * 1000)
    times[f"{name} (cpu)"].append((time.process_time() - computing) * 1000)
    times[f"{name}: items"].append(len(context.items))
    for stage in context.receipt.stages if context.receipt else ():
        times[f"{name}: {stage.stage}"].append(stage.milliseconds)
    engine.store.batch([Amend(WORKSPACE, "nobody")])  # waits until the receipt is written


def _measure_steps(engine: ContextEngine) -> Samples:
    """The times of the steps after a search: comparing 200 items, and wording 100."""
    items = [_make_item(at) for at in range(_COMPARED)]
    texts = [item.text for item in items]
    found = [
        SearchResult(item, 1 / (2 + at), 1 / (2 + at)) for at, item in enumerate(items[: _COMPARED // 2])
    ]
    samples: Samples = defaultdict(list)
    for _ in range(_REPEATED):
        for name, work in (
            ("dedupe", lambda: find_containing_texts(texts)),
            ("formatting", lambda: _format_found(found, engine)),
        ):
            taken, computing = time_wall_and_cpu_milliseconds(work)
            samples[name].append(taken)
            samples[f"{name} (cpu)"].append(computing)
    return samples


def _format_found(found: list[SearchResult], engine: ContextEngine) -> str:
    plan = arrange_by_source({"everything": [make_context_item(result) for result in found]}, {})
    query = engine.draft("", WORKSPACE, SearchOptions(), "assembled", 2000).query
    draft = AssembledDraft(
        query=query, budget=2000, tokenizer=engine.tokenizer, plan=plan, results=tuple(found)
    )
    return fit_budget(draft).text


# What is stored ------------------------------------------------------------------------------------------


def _make_item(at: int) -> Item:
    """The item at this place of the corpus, as an item of one of the five sources."""
    kind = _SOURCES[at % len(_SOURCES)]
    item = replace(corpus.invent_item(at), kind=kind, session=None)
    if kind == "experience":
        lived = _make_experience(at, item)
        label = f"{lived.domain}/{lived.strategy}/{lived.status}"
        return replace(
            item,
            type=label,
            about="",
            text=axes.describe_whole_experience(lived),
            metadata=experience_to_metadata(lived),
        )
    make_metadata = _METADATA.get(kind)
    return replace(item, metadata=make_metadata(at) if make_metadata else {})


def _make_experience(at: int, item: Item) -> Experience:
    said = [corpus.invent_short_text(at * 8 + part) for part in range(8)]
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
        "docstring": corpus.invent_short_text(at),
        "start_line": at % 400,
    },
    "value": lambda at: {"axis": axes.AXES[at % len(axes.AXES)], "cluster_size": at % 40},
    "commit": lambda at: {
        "sha": f"{at:040x}",
        "author": corpus.lexicon().people[at % 12],
        "files_changed": [f"shop/part_{(at + step) % 977}.py" for step in range(1 + at % 4)],
    },
}


_VIEWS: tuple[View, ...] = ((axes.SPACES["full"], _SOURCES, lambda item: item.searchable), *axes.VIEWS)


def _make_put_vectors(space: DenseSpace, view: View, items: list[Item], start: int) -> PutVectors:
    """The operation that stores a vector for each item that has a text in this view."""
    name, kinds, shown = view
    texts = {item.id: shown(item) for item in items if item.kind in kinds}
    some = [item for item in items if texts.get(item.id)]
    values = corpus.invent_vectors(start, start + len(some)).tolist()
    made = (
        Vector(item.id, space.hash_of_embedded_text(replace(item, about="", text=texts[item.id])), tuple(one))
        for item, one in zip(some, values, strict=True)
    )
    return PutVectors(WORKSPACE, name, space.digest, tuple(made))


TASKS = {"fill": fill, "ask": ask}
