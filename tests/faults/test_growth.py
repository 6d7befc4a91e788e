"""Captures without end, many of them repeated or forgotten: disk, log and memory stay in proportion."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.store.base import Repair
from foreword.testing import HashEmbeddings
from foreword.types import Item

pytestmark = pytest.mark.slow

W = "growing"
BATCH = 100
MAX_LOG_BYTES = 64_000_000
WORDS = [
    f"{first}{second}"
    for first in ["harbour", "gate", "lamp", "tide", "wind", "rope"]
    for second in range(200)
]


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def disk_bytes(folder, pattern="*"):
    return sum(path.stat().st_blocks * 512 for path in folder.rglob(pattern) if path.is_file())


def make_batch(chance, number, kept):
    """Items of which every fifth says again what another said."""
    texts = [
        chance.choice(kept)
        if kept and at % 5 == 0
        else f"{number}-{at} {' '.join(chance.choices(WORDS, k=40))}"
        for at in range(BATCH)
    ]
    return [Item(text, W, session=f"s{number % 50}") for text in texts]


@pytest.mark.parametrize("captures", [1_500, pytest.param(50_000, marks=pytest.mark.soak)])
def test_what_grows_is_what_was_kept(captures, home, report_fault):
    chance, acknowledged, kept = random.Random(9), {}, []
    log_bytes, weights = 0, []
    with ContextEngine(embedding_provider=HashEmbeddings(64), settings=Settings(home=home)) as engine:
        for number in range(captures // BATCH):
            for item in engine.remember_all(make_batch(chance, number, kept), W):
                acknowledged[item.id] = item.text
                kept.append(item.text)
            engine.build_context(" ".join(chance.choices(WORDS, k=4)), W)
            if number % 10 == 9:
                gone = chance.sample(sorted(acknowledged), 20)
                engine.forget(W, *gone, verify=False)
                for name in gone:
                    acknowledged.pop(name)
                engine.embed_pending(W)
            if number % max(1, captures // BATCH // 4) == 0:
                engine.store.run(Repair(W))
                weights.append(resident_bytes())
            log_bytes = max(log_bytes, disk_bytes(home, "*-wal"))
        engine.embed_pending(W)
        assert engine.store.check(W) == ()
        there = {item.id: item.text for item in engine.store.scan(W)}
    text = sum(len(one.encode()) for one in there.values())
    ratio = disk_bytes(home) / (text + 64 * len(there))
    growth = weights[-1] / weights[len(weights) // 2] - 1
    log = f"log {log_bytes / 1e6:.0f} MB"
    saw = f"disk {ratio:.1f} times the text, {log}, memory {growth:+.0%} in the last half"
    lost = sum(there.get(name) != said for name, said in acknowledged.items())
    report_fault(9, {"captures": captures}, acknowledged=len(acknowledged), lost=lost, saw=saw)
    assert log_bytes <= MAX_LOG_BYTES
    assert set(there) == set(acknowledged)
