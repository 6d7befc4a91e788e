"""Events that wait: stored once, in order, whatever happens on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime

import pytest

from foreword.edges.service import spool
from foreword.edges.shared import spool_files
from foreword.errors import StoreDamaged, StoreFull


@pytest.fixture
def folder(home):
    made = home / "spool"
    made.mkdir(parents=True)
    return made


class Keeps:
    """Stores turns in a real engine; remembers the order in which they came."""

    def __init__(self, engine):
        self.engine = engine
        self.texts = []

    def capture(self, payload, at):
        text = json.loads(payload)["prompt"]
        self.texts.append(text)
        self.engine.remember(text, "shop", kind="turn", session="s", created_at=at)


@pytest.fixture
def keeps(engine):
    return Keeps(engine)


def leave(folder, at, text):
    path = folder / f"{at:.6f}-{os.urandom(4).hex()}.event"
    path.write_text(json.dumps({"prompt": text}))
    return path


def texts(engine):
    return sorted(item.text for item in engine.store.scan("shop"))


def test_what_waits_is_stored_at_its_own_time_and_removed(folder, keeps, engine):
    leave(folder, 1_760_000_000.25, "We deploy on Tuesdays.")
    assert spool.drain_spool(folder, keeps.capture) == spool.DrainResult(stored=1)
    (item,) = engine.store.scan("shop")
    assert item.created_at == datetime.fromtimestamp(1_760_000_000.25, UTC)
    assert list(folder.iterdir()) == []


def test_the_oldest_comes_first(folder, keeps):
    for at, text in ((1_760_000_002.5, "third"), (1_760_000_001.5, "second"), (1_760_000_000.5, "first")):
        leave(folder, at, text)
    spool.drain_spool(folder, keeps.capture)
    assert keeps.texts == ["first", "second", "third"]


def test_an_event_that_is_there_twice_is_stored_once(folder, keeps, engine):
    leave(folder, 1_760_000_000.0, "said once")
    leave(folder, 1_760_000_000.0, "said once")
    spool.drain_spool(folder, keeps.capture)
    assert texts(engine) == ["said once"]


def test_the_same_words_said_again_later_are_another_event(folder, keeps, engine):
    leave(folder, 1_760_000_000.0, "go on")
    leave(folder, 1_760_000_060.0, "go on")
    spool.drain_spool(folder, keeps.capture)
    assert texts(engine) == ["go on", "go on"]


def test_what_is_being_stored_already_is_left_alone(folder, keeps):
    mine, other = leave(folder, 1_760_000_000.0, "in work"), leave(folder, 1_760_000_001.0, "waits")
    assert spool.drain_spool(folder, keeps.capture, {str(mine)}) == spool.DrainResult(stored=1, waiting=1)
    assert keeps.texts == ["waits"]
    assert mine.exists()
    assert not other.exists()


def test_no_folder_is_an_empty_one(home, keeps):
    assert spool.drain_spool(home / "spool", keeps.capture) == spool.DrainResult()
    assert spool.measure_spool(home / "spool") == {"files": 0, "bytes": 0}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("1760000000.0-a.event", b"not json"),
        ("1760000000.0-a.event", b""),
        ("1760000000.0-a.event", b'["a list"]'),
        ("yesterday-a.event", b"{}"),
        ("nan-a.event", b"{}"),
        ("1e300-a.event", b"{}"),
        ("1760000000.0-a.event", b'{"no": "prompt"}'),
    ],
)
def test_what_cannot_be_read_is_set_aside_and_the_rest_is_stored(
    folder, keeps, engine, caplog, name, content
):
    (folder / name).write_bytes(content)
    leave(folder, 1_790_000_000.0, "after it")
    drained = spool.drain_spool(folder, keeps.capture)
    assert (drained.stored, drained.bad, drained.waiting) == (1, 1, 0)
    assert (folder / "bad" / name).read_bytes() == content
    assert texts(engine) == ["after it"]
    assert "set aside" in caplog.text


def test_a_link_is_not_followed(folder, keeps, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text('{"prompt": "elsewhere"}')
    (folder / "1760000000.0-a.event").symlink_to(secret)
    assert spool.drain_spool(folder, keeps.capture).bad == 1
    assert secret.exists()


def test_only_so_much_that_cannot_be_read_is_kept(folder, keeps, monkeypatch):
    monkeypatch.setattr(spool, "_MAX_BAD_FILES", 3)
    for at in range(5):
        (folder / f"176000000{at}.0-a.event").write_text("no")
    spool.drain_spool(folder, keeps.capture)
    assert sorted(path.name[:10] for path in (folder / "bad").iterdir()) == [
        "1760000002",
        "1760000003",
        "1760000004",
    ]


def test_a_store_that_cannot_write_leaves_everything_for_later(folder, keeps, engine, monkeypatch):
    for at in range(3):
        leave(folder, 1_760_000_000.0 + at, f"event {at}")

    def full(*_):
        raise StoreFull("no space left on the disk; free some")

    with monkeypatch.context() as patch:
        patch.setattr(engine.store, "batch", full)
        assert spool.drain_spool(folder, keeps.capture) == spool.DrainResult(waiting=3)
    assert spool.drain_spool(folder, keeps.capture).stored == 3
    assert texts(engine) == ["event 0", "event 1", "event 2"]


@pytest.mark.parametrize("field", ["cwd", "working_directory"])
def test_one_damaged_workspace_holds_up_no_other_and_its_own_events_stay_in_order(folder, engine, field):
    """The first of a workspace that cannot be written waits, with all that came after it there."""
    for at, (cwd, text) in enumerate([("/a", "a0"), ("/b", "b0"), ("/a", "a1"), ("/b", "b1"), ("/a", "a2")]):
        name = f"{1_760_000_000 + at}.0-x.event"
        (folder / name).write_text(json.dumps({field: cwd, "prompt": text}))
    stored, damaged = [], {"/a"}

    def store(payload, _at):
        event = json.loads(payload)
        if event[field] in damaged:
            raise StoreDamaged("the file is damaged")
        stored.append(event["prompt"])

    assert spool.drain_spool(folder, store) == spool.DrainResult(stored=2, waiting=3)
    assert stored == ["b0", "b1"]
    damaged.clear()
    assert spool.drain_spool(folder, store).stored == 3
    assert stored == ["b0", "b1", "a0", "a1", "a2"]


def test_an_event_for_which_an_older_one_must_go_says_so_to_the_user(home, monkeypatch):
    monkeypatch.setattr(spool_files, "MAX_SPOOL_FILES", 2)
    written = [spool_files.write_to_spool(str(home), f"{1_760_000_000 + at}.0", b"{}") for at in range(3)]
    assert ["the oldest of it is not remembered" in notice for _, notice in written] == [False, False, True]


def test_too_many_events_lose_the_oldest_with_a_warning(folder, keeps, engine, monkeypatch, caplog):
    monkeypatch.setattr(spool_files, "MAX_SPOOL_FILES", 2)
    for at in range(4):
        leave(folder, 1_760_000_000.0 + at, f"event {at}")
    drained = spool.drain_spool(folder, keeps.capture)
    assert (drained.stored, drained.dropped) == (2, 2)
    assert texts(engine) == ["event 2", "event 3"]
    assert "the spool is full" in caplog.text


def test_a_hook_makes_room_for_its_event(folder, home, monkeypatch):
    monkeypatch.setattr(spool_files, "MAX_SPOOL_BYTES", 100)
    old = leave(folder, 1_760_000_000.0, "x" * 80)
    made = spool_files.write_to_spool(str(home), "1760000001.000000", b'{"prompt": "new"}')
    assert not old.exists()
    assert [str(path) for path in folder.iterdir()] == [made[0]]
    assert "dropped" in (home / "run" / "hook.log").read_text()


def test_what_was_half_written_by_who_died_is_swept(folder, keeps):
    old, new = folder / ".1760000000.0-a.tmp", folder / ".1760000000.0-b.tmp"
    for path in (old, new):
        path.write_text('{"prompt": "half')
    os.utime(old, (time.time() - 600,) * 2)
    spool.drain_spool(folder, keeps.capture)
    assert [path.name for path in folder.iterdir()] == [new.name]


@pytest.mark.slow
def test_a_process_killed_while_it_drains_neither_loses_nor_doubles(home, folder, keeps, engine):
    """Each time at another event; what it had stored and not yet removed is not stored again."""
    code = textwrap.dedent("""
        import json, os, signal, sys
        from pathlib import Path
        from foreword.config import Settings
        from foreword.edges.service import spool
        from foreword.engine.context_engine import ContextEngine
        engine = ContextEngine(settings=Settings(home=Path(sys.argv[1]), embedding="none"))
        left = int(sys.argv[2])
        class Dies:
            def capture(self, payload, at):
                global left
                text = json.loads(payload)["prompt"]
                engine.remember(text, "shop", kind="turn", session="s", created_at=at)
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
        spool.drain_spool(Path(sys.argv[1]) / "spool", Dies().capture)
    """)
    for at in range(12):
        leave(folder, 1_760_000_000.0 + at, f"event {at:02}")
    for dies_at in (1, 3, 2):
        done = subprocess.run([sys.executable, "-c", code, str(home), str(dies_at)], check=False, timeout=120)
        assert done.returncode == -signal.SIGKILL
    assert len(list(folder.glob("*.event"))) == 12 - 3  # (the last of each was stored and not removed)
    spool.drain_spool(folder, keeps.capture)
    assert texts(engine) == [f"event {at:02}" for at in range(12)]
