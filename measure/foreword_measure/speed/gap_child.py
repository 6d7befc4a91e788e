"""Gaps in states of 500 messages, filled from one workspace, measured in a process of its own.

    python -m foreword_measure.speed.gap_child fill FOLDER SIZE     makes the workspace
    python -m foreword_measure.speed.gap_child ask FOLDER SIZE      opens it and fills gaps

Both write lines of JSON to stdout: `{"progress": [done, total]}` often, `{"result": {…}}` once, at the end.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import defaultdict
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from foreword.config import Settings
from foreword.edges.cli.sample import sample_lines
from foreword.engine.context_engine import ContextEngine
from foreword.recall.gaps.detect import find_gap
from foreword.recall.gaps.types import InjectionConfig
from foreword.recall.gaps.words import sentences
from foreword.recipes.gap.engine_memory import EngineMemory
from foreword.recipes.gap.injection import manage_context_injection
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace
from foreword.store.base import Amend, PutVectors, Vector
from foreword.testing import FixedClock
from foreword_measure.speed import corpus
from foreword_measure.speed.corpus import WORKSPACE
from foreword_measure.speed.measure import both_clocks, spread
from foreword_measure.speed.processes import answer, say

if TYPE_CHECKING:
    from pathlib import Path

    from foreword.types import Item

MESSAGES = 500
_BATCH, _RUNS, _WARM, _SENTENCE = 500, 20, 3, 30
_CONFIG = InjectionConfig(min_relevance_score=0.0)  # made-up questions are beside the point
_AGENTS = ("dev", "pm", "architect", "tester")

Samples = dict[str, list[float]]


def fill(folder: Path, size: int) -> dict[str, Any]:
    """Store so many items; their vectors are made up, in the space of the bundled encoder."""
    space = DenseSpace(BundledEmbeddingProvider())
    settings = Settings(home=folder, embedding="none")
    with ContextEngine(settings=settings, clock=FixedClock(corpus.after(size))) as engine:
        for start in range(0, size, _BATCH):
            stop = min(size, start + _BATCH)
            kept = engine.remember_all([corpus.item(at) for at in range(start, stop)], WORKSPACE)
            engine.store.batch([_vectors(space, kept, start)])
            say(progress=[stop, size])
    return {"size": size}


def ask(folder: Path, size: int) -> dict[str, Any]:
    """Look for gaps where there are none, and fill some; gives how long each took."""
    settings, clock = Settings(home=folder), FixedClock(corpus.after(size))
    with ContextEngine(settings=settings, clock=clock) as engine:
        times = asyncio.run(_asked(engine, size))
    return {"times": {name: spread(values).as_dict() for name, values in times.items()}}


async def _asked(engine: ContextEngine, size: int) -> Samples:
    """Every kind of state so many times; the first few warm the caches and are not counted."""
    times: Samples = defaultdict(list)
    for turn in range(_RUNS + _WARM):
        counted: Samples = times if turn >= _WARM else defaultdict(list)
        asker = _Asker(engine, counted)
        history = [_message(size + turn * MESSAGES + at) for at in range(MESSAGES)]
        calm = {"messages": history, "current_agent": "dev"}
        taken, computing = both_clocks(partial(find_gap, calm))
        counted["no gap"].append(taken)
        counted["no gap (cpu)"].append(computing)
        for name in ("new messages", "known messages"):
            await asker.fill(name, history, _sentences()[len(times[name]) * 13 + len(name)])
        say(progress=[turn + 1, _RUNS + _WARM])
    return times


class _Asker:
    """Fills gaps from one memory, and notes how long each takes."""

    def __init__(self, engine: ContextEngine, times: Samples) -> None:
        self._engine = engine
        self._memory = EngineMemory(engine, WORKSPACE)
        self._times = times

    async def fill(self, name: str, history: list[dict[str, str]], question: str) -> None:
        """Fill the gap of an agent that asks a question after so much talk."""
        request = f"I need more information about this: {question}"
        asking = {"role": "assistant", "name": "dev", "content": request}
        state = {"messages": [*history[1:], asking], "current_agent": "dev"}
        started, computing = time.perf_counter(), time.process_time()
        result = await manage_context_injection(state, self._memory, _CONFIG)
        self._times[name].append((time.perf_counter() - started) * 1000)
        self._times[f"{name} (cpu)"].append((time.process_time() - computing) * 1000)
        self._engine.store.batch([Amend(WORKSPACE, "nobody")])  # the receipt is written before the next one
        receipt = self._engine.explain(WORKSPACE, result.receipt_id) if result else None
        for stage in receipt.stages if receipt else ():
            self._times[f"{name}: {stage.stage}"].append(stage.milliseconds)


def _message(at: int) -> dict[str, str]:
    """A message in plain English, since an encoder takes twice as long for words that are none."""
    spoken = _sentences()
    said = f"{spoken[at % len(spoken)]} {spoken[at * 7 % len(spoken)]}"
    return {"role": "assistant", "name": _AGENTS[at % len(_AGENTS)], "content": said}


@cache
def _sentences() -> tuple[str, ...]:
    """What the sample's people say that asks nothing."""
    texts = [json.loads(line).get("text", "") for line in sample_lines()]
    every = (sentence for text in texts for sentence in sentences(text))
    return tuple(sentence for sentence in every if len(sentence) > _SENTENCE and "?" not in sentence)


def _vectors(space: DenseSpace, items: list[Item], start: int) -> PutVectors:
    values = corpus.vectors(start, start + len(items)).tolist()
    made = (
        Vector(item.id, space.view_hash(item), tuple(one)) for item, one in zip(items, values, strict=True)
    )
    return PutVectors(WORKSPACE, space.name, space.digest, tuple(made))


_TASKS = {"fill": fill, "ask": ask}


if __name__ == "__main__":
    answer(_TASKS, sys.argv[1:])
