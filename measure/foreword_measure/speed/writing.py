"""How many items a second are stored durably, and for how many the bundled encoder makes vectors.

A write is acknowledged only when it is on the disk, so these numbers depend on the disk as much as on us.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword_measure.report import Table
from foreword_measure.speed import corpus
from foreword_measure.speed.clock import Spread, spread, time_milliseconds
from foreword_measure.speed.corpus import WORKSPACE

if TYPE_CHECKING:
    from pathlib import Path

    from foreword.types import Item
    from foreword_measure.speed.clock import Progress

TARGETS = {"batches of 500": 1_500, "one by one": 300}
_BATCH = 500
_THREADS = 4
_MAX_ITEMS = {"batches of 500": 5_000, "one by one": 1_000, "one by one, 4 threads": 2_000, "embedded": 512}


def measure(folder: Path, sizes: tuple[int, ...], progress: Progress) -> tuple[list[Table], dict[str, Any]]:
    """Write items in each way, at most as many as the largest size, each time into a new workspace."""
    items = max(sizes)
    ways = {
        "batches of 500": _write_batches,
        "one by one": _write_one_by_one,
        "one by one, 4 threads": _write_from_threads,
        "embedded": _make_vectors,
    }
    found: dict[str, tuple[float, Spread]] = {}
    for done, (name, way) in enumerate(ways.items(), 1):
        count = min(items, _MAX_ITEMS[name])
        seconds, calls = way(folder / f"write-{done}", [corpus.invent_item(at) for at in range(count)])
        found[name] = (count / seconds, spread(calls))
        progress("write", done, len(ways))
    data = {name: {"per_second": rate, "call_ms": calls.as_dict()} for name, (rate, calls) in found.items()}
    return [_table(found, items)], data


def _write_batches(home: Path, items: list[Item]) -> tuple[float, list[float]]:
    with _open_warm_engine(home) as engine:
        started = time.perf_counter()
        calls = [
            time_milliseconds(lambda: engine.remember_all(items[at : at + _BATCH], WORKSPACE))  # noqa: B023
            for at in range(0, len(items), _BATCH)
        ]
        return time.perf_counter() - started, calls


def _write_one_by_one(home: Path, items: list[Item]) -> tuple[float, list[float]]:
    with _open_warm_engine(home) as engine:
        started = time.perf_counter()
        calls = _remember_each(engine, items)
        return time.perf_counter() - started, calls


def _write_from_threads(home: Path, items: list[Item]) -> tuple[float, list[float]]:
    """Write items one by one from several threads, which share their commits."""
    with _open_warm_engine(home) as engine, ThreadPoolExecutor(_THREADS) as pool:
        started = time.perf_counter()
        parts = [items[at::_THREADS] for at in range(_THREADS)]
        calls = [call for part in pool.map(lambda part: _remember_each(engine, part), parts) for call in part]
        return time.perf_counter() - started, calls


def _remember_each(engine: ContextEngine, items: list[Item]) -> list[float]:
    return [time_milliseconds(lambda: engine.remember_all([item], WORKSPACE)) for item in items]  # noqa: B023


def _make_vectors(home: Path, items: list[Item]) -> tuple[float, list[float]]:
    """Make vectors for short texts that are stored already; loading the encoder is not timed."""
    from foreword.spaces.bundled import BundledEmbeddingProvider

    with ContextEngine(settings=_settings(home)) as engine:
        short = [replace(item, text=corpus.invent_short_text(at), about="") for at, item in enumerate(items)]
        engine.remember_all(short, WORKSPACE)
    encoder = BundledEmbeddingProvider()
    encoder.load()
    with ContextEngine(embedding_provider=encoder, settings=_settings(home)) as engine:
        ends = [time.perf_counter()]
        engine.embed_pending(WORKSPACE, lambda _: ends.append(time.perf_counter()))
    calls = [(end - start) * 1000 for start, end in pairwise(ends)]
    return ends[-1] - ends[0], calls


def _open_warm_engine(home: Path) -> ContextEngine:
    """An engine that has written once, so that its files exist and the tokenizer is loaded already."""
    engine = ContextEngine(settings=_settings(home))
    engine.remember("Before the clock runs.", WORKSPACE)
    return engine


def _settings(home: Path) -> Settings:
    return Settings(home=home, embedding="none")


def _table(found: dict[str, tuple[float, Spread]], items: int) -> Table:
    rows = []
    for name, (rate, calls) in found.items():
        target = TARGETS.get(name)
        met = None if target is None else "yes" if rate >= target else "no"
        times = (round(number, 2) for number in (calls.min, calls.p50, calls.p99))
        rows.append((name, min(items, _MAX_ITEMS[name]), round(rate), calls.count, *times, target, met))
    return Table(
        "Writing, items a second",
        ("how", "items", "per second", "calls", "min ms", "p50 ms", "p99 ms", "target, at least", "met"),
        tuple(rows),
        (
            "items of 8 to 60 words, on the disk before the call returns; no vectors but in the last row",
            "embedded: the bundled encoder over texts of 12 words; a call is a batch of 64",
        ),
    )
