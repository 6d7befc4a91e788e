"""Kills, full disks, crowds and failing encoders: what was acknowledged stays, and the rest still answers.

Every kind of fault has a short form in the ordinary run; `pytest -m soak` repeats kills and crowds for long.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from foreword.engine.context_engine import ContextEngine
from foreword.engine.defaults import code_parts_and_mentioned_entities
from foreword.errors import EmbeddingError, StorageError, StoreFull
from foreword.store.base import ListRelations
from foreword.store.sqlite import SqliteStore
from foreword.testing import HashEmbeddings, WordTokens

pytestmark = pytest.mark.slow

TIMEOUT_SECONDS = 120
SOAK_STEPS = int(os.environ.get("FOREWORD_SOAK", "400"))  # read before the tests clear the environment
W = "kept"

# What a child does: random writes, each announced before it begins and acknowledged when it has returned.
_LIFE = """
import json, os, random, sys
from datetime import datetime, timedelta, UTC
from pathlib import Path
from foreword import config
from foreword.engine.context_engine import ContextEngine
from foreword.engine.defaults import code_parts_and_mentioned_entities
from foreword.store.base import PutReceipt
from foreword.store.sqlite import SqliteStore
from foreword.testing import HashEmbeddings, WordTokens
from foreword.types import Item, Receipt

NOW = datetime(2026, 1, 15, tzinfo=UTC)
WORDS = "harbour gate lamp Ada Grace parse_date open_file tide wind rope anchor keeper".split()

def engine_at(folder):
    settings = config.Settings(home=Path(folder))
    options = {"settings": settings, "counter": WordTokens(), "clock": lambda: NOW}
    store = SqliteStore(Path(folder), code_parts_and_mentioned_entities)
    return ContextEngine(store, HashEmbeddings(32), **options)

class Life:
    def __init__(self, folder, log, name):
        self.engine, self.name, self.number = engine_at(folder), name, 0
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.chance = random.Random(name)
        self.mine = []

    def say(self, *words):
        os.write(self.log, (json.dumps(words) + "\\n").encode())

    def item(self):
        self.number += 1
        text = " ".join(self.chance.choices(WORDS, k=8))
        kind = self.chance.choice(["memory", "turn"])
        name = f"{self.name}-{self.number}"
        return Item(f"{text} {name}", "kept", kind=kind, id=name, session=self.name, created_at=NOW)

    def put(self, count):
        items = [self.item() for _ in range(count)]
        self.engine.remember_all(items, "kept")
        self.say("put", *[item.id for item in items])
        self.mine += [item.id for item in items]

    def delete(self):
        if self.mine:
            name = self.mine.pop(self.chance.randrange(len(self.mine)))
            self.say("deleting", name)
            self.engine.forget("kept", name, verify=False)
            self.say("deleted", name)

    def relate(self):
        if len(self.mine) > 1:
            ends = self.chance.sample(self.mine, 2)
            self.engine.relate(*ends, "kept")
            self.say("related", *ends)

    def receipt(self):
        self.number += 1
        name = f"r{self.name}-{self.number}"
        self.engine.store.batch([PutReceipt("kept", Receipt(name, "kept", NOW, "why", "chat", 10, 5))])
        self.say("receipt", name)

    def step(self):
        match self.chance.randrange(10):
            case 0 | 1 | 2:
                self.put(1)
            case 3:
                self.put(5)
            case 4 | 5:
                self.delete()
            case 6:
                self.relate()
            case 7:
                self.engine.embed_pending("kept")
            case 8:
                self.receipt()
            case 9:
                self.engine.build_context(" ".join(self.chance.choices(WORDS, k=3)), "kept")
"""

# A nursery imports once and forks a child for each life, so that a birth costs milliseconds.
_NURSERY = (
    _LIFE
    + """
for line in sys.stdin:
    name, folder, log = json.loads(line)
    child = os.fork()
    if not child:
        life = Life(folder, log, name)
        while True:
            life.step()
    print(child, flush=True)
    os.waitpid(child, 0)
    print("dead", flush=True)
"""
)


class Acknowledged:
    """What the children said: what was done, and what was only begun."""

    def __init__(self, *logs):
        self.put, self.deleting, self.deleted = set(), set(), set()
        self.related, self.receipts = set(), set()
        for log in logs:
            for line in log.read_text().splitlines() if log.exists() else ():
                self._add(*json.loads(line))

    def _add(self, what, *names):
        match what:
            case "put":
                self.put.update(names)
            case "deleting":
                self.deleting.update(names)
            case "deleted":
                self.deleted.update(names)
            case "related":
                self.related.add(names)
            case "receipt":
                self.receipts.update(names)


def _assert_kept(folder, acknowledged):
    """Nothing acknowledged is lost, nothing deleted is back, and everything derived agrees."""
    with SqliteStore(folder, code_parts_and_mentioned_entities) as store:
        there = {item.id for item in store.scan(W)}
        assert acknowledged.put - acknowledged.deleting <= there
        assert not acknowledged.deleted & there
        edges = {(edge.from_id, edge.to_id) for edge in store.run(ListRelations(W))}
        kept = {ends for ends in acknowledged.related if not acknowledged.deleting & set(ends)}
        assert kept <= edges
        assert all(store.receipt(W, name) is not None for name in list(acknowledged.receipts)[-5:])
        assert store.check(W) == ()


@contextmanager
def _child(script, *arguments):
    """A process that runs a script; it and its children are killed at the end, if they still run."""
    command = [sys.executable, "-c", script, *arguments]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes, bufsize=0, start_new_session=True) as child:
        try:
            yield child
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


def _read_line(child, what):
    """The next line that a child prints; the test fails if none comes."""
    ready, _, _ = select.select([child.stdout], [], [], TIMEOUT_SECONDS)
    line = child.stdout.readline() if ready else b""
    assert line, f"{what}: no answer within {TIMEOUT_SECONDS} seconds, or the process is gone"
    return line.strip().decode()


def _wait_for_lines(log, count):
    """Wait until a log has this many lines."""
    _until(lambda: log.exists() and log.read_bytes().count(b"\n") >= count, f"{count} lines in {log.name}")


def _until(condition, what):
    """Wait for another thread or process to have done something; if it never does, the test fails."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {TIMEOUT_SECONDS} seconds"
        select.select([], [], [], 0.002)


@pytest.mark.parametrize("kills", [8, pytest.param(100, marks=pytest.mark.soak)])
def test_kills_lose_nothing_that_was_acknowledged(tmp_path, kills, report_fault):
    folder, log = tmp_path / "data", tmp_path / "log"
    log.touch()
    chance = random.Random(11)
    with _child(_NURSERY) as nursery:
        for kill in range(1, kills + 1):
            nursery.stdin.write(json.dumps([f"k{kill}", str(folder), str(log)]).encode() + b"\n")
            victim = int(_read_line(nursery, "a child"))
            # The moment of the kill: while the database is opened, or after a few writes, in the midst of
            # whatever comes then (writing, erasing, embedding).
            if kill % 4:
                _wait_for_lines(log, log.read_bytes().count(b"\n") + chance.randrange(8, 24))
            select.select([], [], [], chance.uniform(0.0, 0.05))
            os.kill(victim, signal.SIGKILL)
            assert _read_line(nursery, "the death of a child") == "dead"
            if kill % max(4, kills // 10) == 0:
                _assert_kept(folder, Acknowledged(log))
    acknowledged = Acknowledged(log)
    assert len(acknowledged.put) > kills  # enough was done between the kills to lose
    assert acknowledged.deleted
    assert acknowledged.related
    assert acknowledged.receipts
    done = len(acknowledged.put) + len(acknowledged.deleted) + len(acknowledged.related)
    report_fault(1, {"kills of a writer": kills}, acknowledged=done + len(acknowledged.receipts))


_CROWD = (
    _LIFE
    + """
folder, log, name, role, steps = sys.argv[1:]
life = Life(folder, log, name)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(steps)):
    if role == "writer":
        life.step()
    else:
        words = " ".join(life.chance.choices(WORDS, k=3))
        life.engine.search(words, "kept", include_relationships=True)
        life.engine.preview_context(words, "kept")
        life.engine.search_by_vector(HashEmbeddings(32).embed(words), "kept")
        life.engine.count("kept")
        life.engine.explain("kept")
        life.engine.store.workspaces()
        life.say("read", words)
life.engine.close()
"""
)


@pytest.mark.parametrize("steps", [12, pytest.param(SOAK_STEPS, marks=pytest.mark.soak)])
def test_four_writers_and_four_readers_do_not_disturb_each_other(tmp_path, steps, report_fault):
    folder = tmp_path / "data"
    roles = ["writer"] * 4 + ["reader"] * 4
    logs = [tmp_path / f"log{n}" for n in range(8)]
    with ExitStack() as stack:
        children = [
            stack.enter_context(_child(_CROWD, str(folder), str(log), f"c{n}", role, str(steps)))
            for n, (role, log) in enumerate(zip(roles, logs, strict=True))
        ]
        for child in children:
            assert _read_line(child, "a child of the crowd") == "ready"
        for child in children:
            child.stdin.write(b"go\n")
        complaints = [child.communicate(timeout=TIMEOUT_SECONDS + 2 * steps)[1] for child in children]
    for child, complaint in zip(children, complaints, strict=True):
        assert child.returncode == 0, complaint.decode()
        assert b"Error" not in complaint, complaint.decode()
        assert b"warning" not in complaint.lower(), complaint.decode()
    acknowledged = Acknowledged(*logs[:4])
    assert len(acknowledged.put) > steps
    assert all(log.read_text().count("read") >= steps for log in logs[4:])
    _assert_kept(folder, acknowledged)
    report_fault(5, {"steps beside readers": 8 * steps}, acknowledged=len(acknowledged.put))


# Eight processes that are forked after the imports, so that they begin at the same moment.
_EIGHT = (
    _LIFE
    + """
import time, traceback
from foreword.store.base import Repair

def write(log, name):
    life = Life(folder, log, name)
    for _ in range(int(steps)):
        began = time.monotonic()
        life.step()
        life.say("took", time.monotonic() - began)

def maintain(log, name):
    life = Life(folder, log, name)
    life.put(1)
    while not os.path.exists(end):
        life.engine.store.run(Repair("kept"))
        life.engine.store.check("kept")
        life.engine.store.back_up("kept", "by-hand")
        life.say("maintained")

def start(work, log, name):
    child = os.fork()
    if not child:
        try:
            work(log, name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child

folder, logs, steps = sys.argv[1:]
end = logs + "-end"
keeper = start(maintain, logs + "-keeper", "keeper")
children = [start(write, f"{logs}-{number}", f"w{number}") for number in range(8)]
codes = [os.waitpid(child, 0)[1] for child in children]
open(end, "w").close()
sys.exit(any([*codes, os.waitpid(keeper, 0)[1]]))
"""
)


@pytest.mark.parametrize("steps", [8, pytest.param(SOAK_STEPS, marks=pytest.mark.soak)])
def test_eight_writers_beside_one_who_repairs_and_backs_up(tmp_path, steps, report_fault):
    folder, logs = tmp_path / "data", tmp_path / "log"
    with _child(_EIGHT, str(folder), str(logs), str(steps)) as child:
        _, complaint = child.communicate(timeout=TIMEOUT_SECONDS + 4 * steps)
    assert child.returncode == 0, complaint.decode()
    assert b"locked" not in complaint
    written = [tmp_path / f"log-{number}" for number in range(8)]
    acknowledged = Acknowledged(*written, tmp_path / "log-keeper")
    _assert_kept(folder, acknowledged)
    said = [json.loads(line) for log in written for line in log.read_text().splitlines()]
    waits = [seconds for what, seconds, *_ in said if what == "took"]
    repairs = (tmp_path / "log-keeper").read_text().count("maintained")
    caused = {"steps of writers": len(waits), "repairs and backups": repairs}
    report_fault(5, caused, acknowledged=len(acknowledged.put), longest_wait=max(waits))


# A full disk


def _engine(folder, provider=None):
    provider = HashEmbeddings(32) if provider is None else provider
    return ContextEngine(
        SqliteStore(folder, code_parts_and_mentioned_entities), provider, counter=WordTokens()
    )


def _fill_up(engine, number=0):
    """Remember until there is no room; gives what was acknowledged, and the error."""
    kept = []
    while True:
        text = f"harbour {number} " + " ".join(f"w{number}x{n}" for n in range(60))
        try:
            kept.append(engine.remember(text, W).id)
        except StorageError as error:
            return kept, error
        number += 1


def _assert_reads(engine, kept):
    assert [item.id for item in engine.store.get(W, *kept)] == kept
    assert len(engine.search("harbour", W, limit=20)) == min(20, len(kept))
    assert engine.preview_context("harbour", W).context
    assert engine.count(W).items == len(kept)


@contextmanager
def _small_disk(folder):
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    if made.returncode:
        pytest.skip(f"mounting is not allowed here: {made.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=TIMEOUT_SECONDS)


def test_a_full_disk_loses_nothing_reads_go_on_and_writes_resume_when_there_is_room(tmp_path, report_fault):
    with _small_disk(tmp_path / "disk") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 2_500_000)
        with _engine(disk / "data") as engine:
            kept, error = _fill_up(engine)
            assert isinstance(error, StoreFull)
            assert "free some" in str(error)
            assert len(kept) > 20
            _assert_reads(engine, kept)
            for attempt in range(3):  # it stays full, and stays sound
                more, _ = _fill_up(engine, 1000 * (attempt + 1))
                kept += more
                _assert_reads(engine, kept)
            ballast.unlink()
            kept += [engine.remember(f"harbour again {n}", W).id for n in range(50)]
            _assert_reads(engine, kept)
            engine.forget(W, kept.pop())
            engine.embed_pending(W)
            assert engine.store.check(W) == ()
        with _engine(disk / "data") as engine:
            _assert_reads(engine, kept)
            assert engine.store.check(W) == ()
    report_fault(3, {"fillings": 4}, acknowledged=len(kept))


def test_forgetting_works_on_a_full_disk_or_says_why_not(tmp_path):
    with _small_disk(tmp_path / "disk") as disk, _engine(disk / "data") as engine:
        kept, _ = _fill_up(engine)
        engine.search("harbour", W)
        try:
            gone = set(engine.forget(W, *kept[:50], verify=False).ids)
        except StoreFull:
            gone = set()
        _assert_reads(engine, [name for name in kept if name not in gone])


_LIMITED = """
import json, resource, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_faults import W, _assert_reads, _engine, _fill_up
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
with _engine(Path(sys.argv[1])) as engine:
    engine.remember("harbour zero", W)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, hard))
    kept, error = _fill_up(engine)
    first = [item.id for item in engine.store.scan(W)][:1]
    _assert_reads(engine, first + kept)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    kept += [engine.remember(f"harbour again {n}", W).id for n in range(20)]
    _assert_reads(engine, first + kept)
    assert engine.store.check(W) == ()
print(len(kept), type(error).__name__)
"""


def test_a_file_that_may_not_grow_loses_nothing_and_writes_resume_when_it_may(tmp_path):
    command = [sys.executable, "-c", _LIMITED, str(tmp_path / "data"), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 0, done.stderr
    count, error = done.stdout.split()
    assert int(count) > 30
    assert error in ("StoreFull", "StorageError")


# Encoders that fail


class Failing(HashEmbeddings):
    """An encoder whose every call fails."""

    def __init__(self, error):
        super().__init__(32)
        self.error = error

    def embed(self, text):
        raise self.error

    def embed_batch(self, texts):
        raise self.error


class Hanging(HashEmbeddings):
    """An encoder that does not answer until it is let go."""

    def __init__(self):
        super().__init__(32)
        self.let_go = threading.Event()

    def embed(self, text):
        assert self.let_go.wait(TIMEOUT_SECONDS), "nobody let the encoder go"
        return super().embed(text)


def test_when_the_encoder_fails_words_still_find_and_the_receipt_says_so(tmp_path, caplog):
    with _engine(tmp_path, Failing(EmbeddingError("no such model"))) as engine:
        kept = engine.remember("The harbour gate opens at dawn.", W)
        result = engine.build_context("harbour gate", W)
        assert [memory.memory.id for memory in result.memories] == [kept.id]
        assert kept.text in result.context
        notes = {note.part: note.message for note in result.receipt.notes}
        assert "no such model" in notes["semantic"]
        with pytest.raises(EmbeddingError):
            engine.embed_pending(W)
        assert engine.count(W).vectors == {}
    assert "no such model" in caplog.text
    with _engine(tmp_path) as engine:  # a later encoder makes up for it
        engine.embed_pending(W)
        assert engine.count(W).vectors == {"semantic": 1}
        assert engine.explain(W).notes == result.receipt.notes


def test_an_encoder_that_fails_in_a_foreign_way_does_not_stop_the_embedding_of_later_items(tmp_path, caplog):
    provider = HashEmbeddings(32)
    failing = Failing(RuntimeError("CUDA says no"))
    provider.embed_batch = failing.embed_batch
    with _engine(tmp_path, provider) as engine:
        engine.remember("The harbour gate", W)
        _until(lambda: "CUDA says no" in caplog.text, "a warning in the log")
        del provider.embed_batch
        engine.remember("The lamp", W)
        _until(lambda: engine.count(W).vectors == {"semantic": 2}, "two vectors")
        assert engine.search("lamp", W)[0].memory.text == "The lamp"


def test_when_the_encoder_hangs_the_deadline_holds_and_the_other_spaces_answer(tmp_path):
    provider = Hanging()
    with _engine(tmp_path, provider) as engine:
        try:
            kept = engine.remember("The harbour gate opens at dawn.", W)
            result = engine.build_context("harbour gate", W, deadline_ms=2_000)
            assert [memory.memory.id for memory in result.memories] == [kept.id]
            assert [note.part for note in result.receipt.notes] == ["semantic"]
            assert "late" in result.receipt.notes[0].message
            assert engine.search("harbour", W, deadline_ms=2_000)[0].memory.id == kept.id
        finally:
            provider.let_go.set()


def test_an_encoder_that_hangs_does_not_keep_the_engine_from_closing(tmp_path, monkeypatch):
    monkeypatch.setattr("foreword.engine.embedder.CLOSE_TIMEOUT_SECONDS", 0.1)
    provider = Hanging()
    engine = _engine(tmp_path, provider)
    try:
        engine.remember("The harbour gate opens at dawn.", W)
        engine.close()
        with _engine(tmp_path) as again:
            assert again.search("harbour", W)
    finally:
        provider.let_go.set()
        engine._embedder._thread.join(TIMEOUT_SECONDS)
        assert not engine._embedder._thread.is_alive(), "the embedder's thread has not ended"
