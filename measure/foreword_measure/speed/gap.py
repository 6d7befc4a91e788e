"""How long it takes to see that an agent lacks nothing, and to fill a gap if it lacks something.

The workspace is filled in one process and queried in another. Words are synthetic, and so are the vectors of
stored items and the codes of their tokens; the encoders are the bundled ones, so that times include encoding
the question and the messages of a state.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from dataclasses import replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from foreword.config import Settings
from foreword.edges.cli.demo import sample_as_json_lines
from foreword.engine.context_engine import ContextEngine
from foreword.recipes.gap.engine_memory import EngineMemory
from foreword.recipes.gap.injection import manage_context_injection
from foreword.recipes.gap.types import InjectionConfig
from foreword.recipes.gap.vocabulary import split_sentences_and_clauses
from foreword.spaces.bundled import BundledEmbeddingProvider
from foreword.spaces.dense import DenseSpace
from foreword.spaces.tokens import TokenEncoder
from foreword.store.base import Amend
from foreword.testing import FixedClock
from foreword_measure.speed import corpus
from foreword_measure.speed.clock import spreads
from foreword_measure.speed.corpus import WORKSPACE
from foreword_measure.speed.parts import fill_and_ask, send, spread_table, target_table

if TYPE_CHECKING:
    from pathlib import Path

    from foreword_measure.report import Table
    from foreword_measure.speed.clock import Progress, Samples

SIZE = 10_000
ROWS = (
    ("no gap in a state of 500 messages", "no gap", 5.0),
    ("no gap, the last reply of 300 words, with the reader", "no gap, long", 5.0),
    ("a gap, the messages never seen before", "new messages", 60.0),
    ("a gap, most messages seen at the last gap", "known messages", 60.0),
)
"""What is measured: its name, its key, and the target for the median in milliseconds."""

_MESSAGES = 500
_LONG_WORDS = 300
_RUNS, _WARM_UP_RUNS, _MIN_SENTENCE_CHARACTERS = 20, 3, 30
_CONFIG = InjectionConfig(min_relevance_score=0.0)  # synthetic questions find nothing relevant
_AGENTS = ("dev", "pm", "architect", "tester")


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Measure gaps in a workspace of 10,000 items, or of the largest size if that is less."""
    size = min(SIZE, max(sizes))
    _, asked = fill_and_ask("gap", folder / "gap", size, label="gap: ", progress=progress)
    note = "encoding the question and the messages is part of it; cpu is what all threads compute"
    title = f"Gaps, {size:,} memories, milliseconds"
    parts = {name: times for name, times in asked["times"].items() if ": " in name}
    tables = [
        target_table(title, ROWS, asked["times"], note),
        spread_table("Parts of it, milliseconds", parts),
    ]
    return tables, {"size": size} | asked


# Tasks, each in its own process --------------------------------------------------------------------------


def fill(folder: Path, size: int) -> dict[str, Any]:
    """Store `size` items, with synthetic vectors and codes of tokens in the spaces of the bundled encoders.

    An item without either would be encoded in the background while gaps are measured.
    """
    space = DenseSpace(BundledEmbeddingProvider())
    settings = Settings(home=folder, embedding="none")
    with ContextEngine(settings=settings, clock=FixedClock(corpus.time_after(size))) as engine:
        for done in corpus.fill(engine, space, size):
            send(progress=[done, size])
        codes = corpus.make_put_token_codes(list(engine.store.scan(WORKSPACE)))
        engine.store.batch([replace(codes, digest=TokenEncoder().digest)])
    return {"size": size}


def ask(folder: Path, size: int) -> dict[str, Any]:
    """Look for gaps where there are none, and fill some; returns the times."""
    settings, clock = Settings(home=folder), FixedClock(corpus.time_after(size))
    with ContextEngine(settings=settings, clock=clock) as engine:
        times = asyncio.run(_measure_states(engine, size))
    return {"times": spreads(times)}


async def _measure_states(engine: ContextEngine, size: int) -> Samples:
    """The times of every kind of state, without the first few, which warm the caches."""
    times: Samples = defaultdict(list)
    for turn in range(_RUNS + _WARM_UP_RUNS):
        counted: Samples = times if turn >= _WARM_UP_RUNS else defaultdict(list)
        asker = _GapTimer(engine, counted)
        history = [_make_message(size + turn * _MESSAGES + at) for at in range(_MESSAGES)]
        calm = {"messages": history, "current_agent": "dev"}
        await asker.look_without_gap("no gap", calm)
        newest = {"role": "assistant", "name": "dev", "content": _make_long_reply(turn)}
        await asker.look_without_gap(
            "no gap, long", {"messages": [*history[1:], newest], "current_agent": "dev"}
        )
        for name in ("new messages", "known messages"):
            await asker.fill(name, history, _sample_sentences()[len(times[name]) * 13 + len(name)])
        send(progress=[turn + 1, _RUNS + _WARM_UP_RUNS])
    return times


class _GapTimer:
    """Looks for gaps and fills them from one memory, and records how long each takes."""

    def __init__(self, engine: ContextEngine, times: Samples) -> None:
        self._engine = engine
        self._memory = EngineMemory(engine, WORKSPACE)
        self._times = times

    async def look_without_gap(self, name: str, state: dict[str, Any]) -> None:
        """Look for a gap in a state that has none."""
        started, computing = time.perf_counter(), time.process_time()
        await manage_context_injection(state, self._memory, _CONFIG)
        self._times[name].append((time.perf_counter() - started) * 1000)
        self._times[f"{name} (cpu)"].append((time.process_time() - computing) * 1000)

    async def fill(self, name: str, history: list[dict[str, str]], question: str) -> None:
        """Fill the gap of an agent that asks a question after these messages."""
        request = f"I need more information about this: {question}"
        asking = {"role": "assistant", "name": "dev", "content": request}
        state = {"messages": [*history[1:], asking], "current_agent": "dev"}
        started, computing = time.perf_counter(), time.process_time()
        result = await manage_context_injection(state, self._memory, _CONFIG)
        self._times[name].append((time.perf_counter() - started) * 1000)
        self._times[f"{name} (cpu)"].append((time.process_time() - computing) * 1000)
        self._engine.store.batch([Amend(WORKSPACE, "nobody")])  # waits until the receipt is written
        receipt = self._engine.explain(WORKSPACE, result.receipt_id) if result else None
        for stage in receipt.stages if receipt else ():
            self._times[f"{name}: {stage.stage}"].append(stage.milliseconds)


def _make_message(at: int) -> dict[str, str]:
    """A message in plain English, since an encoder takes twice as long for invented words."""
    sentences = _sample_sentences()
    said = f"{sentences[at % len(sentences)]} {sentences[at * 7 % len(sentences)]}"
    return {"role": "assistant", "name": _AGENTS[at % len(_AGENTS)], "content": said}


def _make_long_reply(turn: int) -> str:
    """A reply of three hundred words that is new each time: every sentence has its own number."""
    sentences = _sample_sentences()
    words: list[str] = []
    for at in count(turn * 101):
        if len(words) >= _LONG_WORDS:
            return " ".join(words)
        words += f"{sentences[at % len(sentences)].rstrip('.')} ({at}).".split()
    return ""


@cache
def _sample_sentences() -> tuple[str, ...]:
    """The sentences of the sample project that ask nothing."""
    texts = [json.loads(line).get("text", "") for line in sample_as_json_lines()]
    every = (sentence for text in texts for sentence in split_sentences_and_clauses(text))
    return tuple(
        sentence for sentence in every if len(sentence) > _MIN_SENTENCE_CHARACTERS and "?" not in sentence
    )


TASKS = {"fill": fill, "ask": ask}
