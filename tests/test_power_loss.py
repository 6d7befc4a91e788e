"""A power cut and a failing disk, caused for real: what was acknowledged is there, and the database is whole.

The writes of a child are recorded with strace. A cut keeps what was flushed, and of the rest any part, down
to single sectors, in any combination. Errors are injected into the child's own system calls.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from foreword.edges import hook_client
from foreword.engine.defaults import code_parts_and_mentioned_entities
from foreword.store.sqlite import SqliteStore
from foreword.types import Item

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]

W = "kept"
SECTOR = 512
TIMEOUT_SECONDS = 600

_CHILD = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from foreword.engine.defaults import code_parts_and_mentioned_entities
from foreword.errors import StorageError
from foreword.store.sqlite import SqliteStore
from foreword.types import Item

log = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
store = SqliteStore(Path(sys.argv[1]), code_parts_and_mentioned_entities)
for number in range(int(sys.argv[3])):
    name = f"item-{number}"
    text = " ".join(f"word{number}x{at}" for at in range(40))
    try:
        store.put("kept", [Item(text, "kept", id=name, created_at=datetime(2026, 1, 15, tzinfo=UTC))])
    except StorageError:
        continue
    os.write(log, f"{name}\\n".encode())
os._exit(0)
"""

_CALL = re.compile(
    r"^\d+\s+(?P<call>pwrite64|write|ftruncate|fsync|fdatasync|unlink)\(\d+<(?P<path>[^>]*)>"
    r'(?:, "(?P<data>(?:\\x[0-9a-f]{2})*)")?(?:, (?P<one>\d+))?(?:, (?P<two>\d+))?'
)


def _run_child(folder, log, count, *options):
    """Run the child under strace; gives what strace wrote."""
    trace = log.with_suffix(".trace")
    command = ["strace", "-f", "-y", "-o", str(trace), *options]
    command += [sys.executable, "-c", _CHILD, str(folder), str(log), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    if "ptrace" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip(f"tracing is not allowed here: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stderr
    return trace.read_text(errors="replace") if trace.exists() else ""


def _acknowledged(log):
    return set(log.read_text().split()) if log.exists() else set()


def _items_after(folder):
    """The items of a workspace after a fault; the database has no problems."""
    with SqliteStore(folder, code_parts_and_mentioned_entities) as store:
        there = {item.id for item in store.scan(W)}
        assert store.check(W) == ()
    return there


# Power


@dataclass
class RecordedFile:
    """The writes to one file, in order, and how many of them were flushed before a cut."""

    writes: list[tuple[int, bytes | None]] = field(default_factory=list)
    flushed: int = 0

    def content_after_cut(self, chance):
        """What the disk may hold: all that was flushed, and of the rest any sectors."""
        content = bytearray()
        for number, (at, data) in enumerate(self.writes):
            is_sure = number < self.flushed
            if data is None:
                if is_sure or chance.random() < 0.5:
                    content[at:] = b"\0" * max(0, at - len(content)) if at > len(content) else b""
                continue
            for start in range(0, len(data), SECTOR):
                if is_sure or chance.random() < 0.5:
                    part, place = data[start : start + SECTOR], at + start
                    content += b"\0" * max(0, place + len(part) - len(content))
                    content[place : place + len(part)] = part
        return bytes(content)


def _read_calls(trace):
    """The calls of a trace, each as (name, path, offset or length, data)."""
    for line in trace.splitlines():
        if (call := _CALL.match(line)) is None:
            continue
        data = bytes.fromhex((call["data"] or "").replace("\\x", ""))
        last = call["two"] if call["call"] == "pwrite64" else call["one"]
        yield call["call"], call["path"], int(last or 0), data


def _cut(calls, cut, log):
    """What each file holds and what was acknowledged, when the power goes after so many calls."""
    files, said = {}, b""
    for name, path, number, data in calls[:cut]:
        if path == log:
            said += data
        elif "memory.db" in path and not path.endswith("-shm"):
            file = files.setdefault(path, RecordedFile())
            if name == "unlink":
                del files[path]  # SQLite flushes the folder next
            elif name == "pwrite64":
                file.writes.append((number, data))
            elif name == "ftruncate":
                file.writes.append((number, None))
            else:
                file.flushed = len(file.writes)
    return files, set(said.decode().split())


@pytest.mark.parametrize("cuts", [15, pytest.param(1000, marks=pytest.mark.soak)])
def test_a_power_cut_loses_nothing_that_was_acknowledged(tmp_path, cuts, report_fault):
    folder, log = tmp_path / "data", tmp_path / "log"
    watched = "trace=pwrite64,write,ftruncate,fsync,fdatasync,unlink"
    trace = _run_child(folder, log, 40, "-xx", "-s", "1000000", "-e", watched)
    calls = list(_read_calls(_with_readable_paths(trace)))
    assert _acknowledged(log) == {f"item-{number}" for number in range(40)}
    chance = random.Random(5)
    lost = kept = 0
    database = SqliteStore(tmp_path / "after", code_parts_and_mentioned_entities).path_of_database(W)
    for _ in range(cuts):
        files, acknowledged = _cut(calls, chance.randrange(len(calls)), str(log))
        shutil.rmtree(tmp_path / "after", ignore_errors=True)
        database.parent.mkdir(parents=True)
        for path, file in files.items():
            database.with_name(path.rsplit("/", 1)[-1]).write_bytes(file.content_after_cut(chance))
        there = _items_after(tmp_path / "after")
        lost += len(acknowledged - there)
        kept += len(acknowledged)
    report_fault(2, {"cuts of a database": cuts}, acknowledged=kept, lost=lost)
    assert kept


def _with_readable_paths(trace):
    """With -xx strace writes paths in hexadecimal, too; here they are text again, and `unlink` has one."""

    def decode(found):
        return "<" + bytes.fromhex(found[1].replace("\\x", "")).decode() + ">"

    trace = re.sub(r'unlink\("((?:\\x[0-9a-f]{2})+)"', r"unlink(0<\1>", trace)
    return re.sub(r"<((?:\\x[0-9a-f]{2})+)>", decode, trace)


def _trace_hook(home, number, trace):
    """Run a hook that finds no service, under strace; gives its calls, each with its process."""
    command = ["strace", "-f", "-y", "-o", str(trace), "-e", "trace=fsync,/^rename,/^mkdir,exit_group"]
    command += [os.path.realpath(sys.executable), "-I", "-S", hook_client.__file__, "--home", str(home)]
    command += ["--agent", "claude-code", "--event", "UserPromptSubmit", "--python", "/bin/false"]
    payload = json.dumps({"prompt": f"Order {number} was paid twice.", "session_id": "s", "cwd": "/nowhere"})
    subprocess.run(
        [*command, "--deadline-ms", "30000"], input=payload.encode(), timeout=TIMEOUT_SECONDS, check=True
    )
    begun, calls = {}, []
    for line in trace.read_text().splitlines():
        process, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            begun[process] = call
            continue
        if call.startswith("<... "):
            call = begun.pop(process) + call
        calls.append((int(process), call))
    return calls


def _is_spooled(calls):
    """Whether an event is sure to be in the spool after these calls: content, name, folders are flushed."""
    flushed = named = sure = False
    unsure = ""
    for _, call in calls:
        is_flush = call.startswith("fsync(")
        if call.startswith("mkdir") and '/spool"' in call and call.endswith("= 0"):
            unsure = str(Path(call.split('"')[1]).parent)
        elif is_flush and f"<{unsure}>" in call:
            unsure = ""
        flushed |= is_flush and ".tmp>" in call
        named |= flushed and call.startswith("rename") and '.event"' in call
        sure |= named and is_flush and "/spool>" in call
    return sure and not unsure


@pytest.mark.parametrize("events", [2, pytest.param(30, marks=pytest.mark.soak)])
def test_a_power_cut_loses_no_event_whose_hook_has_left(tmp_path, home, events, report_fault):
    cuts = kept = lost = 0
    home.mkdir()
    for number in range(events):
        calls = _trace_hook(home, number, tmp_path / "trace")
        hook = min(process for process, _ in calls)  # it was there before the process it leaves behind
        for cut in range(len(calls) + 1):
            left = any(process == hook and call.startswith("exit_group") for process, call in calls[:cut])
            cuts, kept = cuts + 1, kept + left
            lost += left and not _is_spooled(calls[:cut])
    report_fault(2, {"cuts beside a hook": cuts}, acknowledged=kept, lost=lost)
    assert kept


# A disk that fails, or is slow


def _long(*faults):
    return [pytest.param(*fault, marks=pytest.mark.soak) for fault in faults]


@pytest.mark.parametrize(
    ("name", "when"),
    [
        ("fdatasync", 3),
        ("pwrite64", 30),
        *_long(*(("fdatasync", number) for number in range(4, 20))),
        *_long(*(("pwrite64", number) for number in range(50, 500, 19))),
    ],
)
def test_a_failed_write_is_not_acknowledged_and_damages_nothing(tmp_path, name, when, report_fault):
    folder, log = tmp_path / "data", tmp_path / "log"
    fault = f"inject={name}:error=EIO:when={when}"
    trace = _run_child(folder, log, 20, "-e", f"trace={name}", "-e", fault)
    there = _items_after(folder)
    acknowledged = _acknowledged(log)
    errors = trace.count("(INJECTED)")
    lost = len(acknowledged - there)
    report_fault(4, {f"failures of {name}": errors}, acknowledged=len(acknowledged), lost=lost)
    assert errors


@pytest.mark.fault
def test_the_database_is_opened_by_sqlite_alone(tmp_path, report_fault):
    """Any other open and close of it in this process would drop SQLite's locks: see `store/sqlite.py`."""
    folder, log = tmp_path / "data", tmp_path / "log"
    trace = _run_child(folder, log, 3, "-e", "trace=openat")
    opened = [line for line in trace.splitlines() if re.search(r'memory\.db"', line)]
    assert opened
    assert all("O_RDWR|O_CREAT" in line and "O_NOFOLLOW" in line for line in opened), opened
    there = _items_after(folder)
    assert there == {"item-0", "item-1", "item-2"}
    report_fault(6, {"opens, all by SQLite": len(opened)}, acknowledged=3)


_TOUCH = """
import sqlite3, sys
for path in sys.stdin:
    path = path.strip()
    open(path, "rb").read(16)
    db = sqlite3.connect(path)
    print(db.execute("SELECT count(*) FROM items").fetchone()[0], flush=True)
    db.close()
    open(path, "rb").close()
"""


@pytest.mark.parametrize("touches", [20, pytest.param(500, marks=pytest.mark.soak)])
def test_another_program_that_opens_and_closes_the_database_takes_nothing_away(
    tmp_path, touches, report_fault
):
    """It sees all rows each time, and the log that holds them stays where the writer has it."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        subprocess.Popen([sys.executable, "-c", _TOUCH], **pipes) as other,
        SqliteStore(tmp_path, code_parts_and_mentioned_entities) as store,
    ):
        database, seen = store.path_of_database(W), []
        for number in range(touches):
            store.put(W, [Item(f"order {number}", W, id=f"item-{number}")])
            other.stdin.write(f"{database}\n")
            other.stdin.flush()
            seen.append(int(other.stdout.readline()))
        assert database.with_name(database.name + "-wal").exists()
        other.stdin.close()
    lost = touches - len(_items_after(tmp_path))
    assert seen == list(range(1, touches + 1))
    report_fault(6, {"opens by another program": touches}, acknowledged=touches, lost=lost)
