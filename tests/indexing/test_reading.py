"""Processes that read for another: the same as if it read itself, whatever becomes of one of them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from foreword.capture.folder.walk import find_files
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.indexing import indexer, reading
from foreword.indexing.indexer import Indexer
from foreword.indexing.reading import FileRead, FileReader, ReaderPool
from foreword.text.tokens import WordTokenizer

FILES = 40
PATIENCE_SECONDS = 120
"""How long a process may take before a test fails."""


@pytest.fixture
def root(tmp_path):
    """A project of many files."""
    folder = tmp_path / "many"
    for number in range(FILES):
        file = folder / f"part{number % 3}" / f"m{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'"""Part {number}."""\n\n\ndef step_{number}(x):\n    return x + {number}\n')
    (folder / "notes.md").write_text("# Notes\n\nWhat the parts do.\n")
    return folder


@pytest.fixture
def reader(root):
    return FileReader(str(root), "", WordTokenizer())


@pytest.fixture
def requests(root):
    return [(file, "") for file in find_files(root)]


@pytest.fixture
def many(monkeypatch):
    """Let a few files be many."""
    monkeypatch.setattr(indexer, "_MIN_FILES_FOR_PROCESSES", FILES)
    monkeypatch.setattr(reading, "choose_reader_count", lambda: 2)


def _index(home, root, **chosen):
    with ContextEngine(settings=Settings(home=home, embedding="none"), **chosen) as engine:
        indexed = Indexer(engine).index(root, str(root))
        assert engine.store.check(str(root)) == ()
        return indexed, list(engine.store.scan(str(root)))


def test_what_others_read_is_what_one_would_read_oneself_in_the_same_order(reader, requests):
    with ReaderPool(reader, 2) as pool:
        assert list(pool.read(requests)) == [reader.read(*request) for request in requests]
        assert list(pool.read([])) == []


def test_a_file_whose_bytes_are_known_is_not_cut_again(reader, requests):
    known = [(file, reader.read(file).hash) for file, _ in requests]
    with ReaderPool(reader, 1) as pool:
        assert all(read.items is None for read in pool.read(known))


def test_a_folder_is_remembered_the_same_whoever_reads_it(tmp_path, root, many, monkeypatch):
    started = []
    monkeypatch.setattr(reading, "ReaderPool", lambda *given: started.append(given) or ReaderPool(*given))
    by_others, stored = _index(tmp_path / "one", root)
    monkeypatch.setattr(indexer, "_MIN_FILES_FOR_PROCESSES", 10_000)
    by_itself, same = _index(tmp_path / "two", root)
    assert len(started) == 1
    assert (
        (by_others.files, by_others.units) == (by_itself.files, by_itself.units) == (FILES + 1, len(stored))
    )
    assert [(item.text, item.metadata, item.tokens) for item in stored] == [
        (item.text, item.metadata, item.tokens) for item in same
    ]


def _tokenizer(tmp_path, monkeypatch, name, body):
    """A tokenizer in a module that other processes can import too."""
    (tmp_path / f"{name}.py").write_text(
        f"import os\n\nclass Odd:\n    def count(self, text):\n{textwrap.indent(body, ' ' * 8)}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return __import__(name).Odd()


def test_a_file_that_makes_its_reader_crash_is_left_out_alone(tmp_path, reader, requests, monkeypatch):
    body = 'if "step_7(" in text:\n    os._exit(3)\nreturn len(text)'
    deadly = FileReader(reader.workspace, "", _tokenizer(tmp_path, monkeypatch, "deadly", body))
    with ReaderPool(deadly, 2) as pool:
        read = list(pool.read(requests))
    left_out = [file.path for (file, _), one in zip(requests, read, strict=True) if not one.hash]
    assert left_out == ["part1/m7.py"]
    assert FileRead("", skipped={"unreadable": 1}) in read


def test_an_error_in_a_reader_is_met_by_the_one_who_asks(tmp_path, reader, requests, monkeypatch):
    body = 'raise LookupError("this counts nothing")'
    picky = FileReader(reader.workspace, "", _tokenizer(tmp_path, monkeypatch, "picky", body))
    with ReaderPool(picky, 2) as pool, pytest.raises(LookupError, match="counts nothing"):
        list(pool.read(requests))


def test_what_lies_in_the_working_folder_is_not_run(tmp_path, reader, requests, monkeypatch):
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("queue", "pickle", "subprocess", "foreword"):
        (trap / f"{name}.py").write_text(f"open({str(trap / 'sprung')!r}, 'w')")
    monkeypatch.chdir(trap)
    with ReaderPool(reader, 1) as pool:
        assert all(read.hash for read in pool.read(requests))
    assert not (trap / "sprung").exists()


def test_where_no_process_can_be_started_files_are_read_one_after_another(tmp_path, root, many, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    assert _index(tmp_path / "home", root)[0].files == FILES + 1


def test_a_process_that_ends_at_once_is_as_good_as_none(tmp_path, root, many, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert _index(tmp_path / "home", root)[0].files == FILES + 1


def test_with_a_tokenizer_of_the_callers_own_no_process_is_started(tmp_path, root, many, monkeypatch):
    class Letters(WordTokenizer):
        def count(self, text):
            return len(text)

    monkeypatch.setattr(reading, "ReaderPool", None)
    _, stored = _index(tmp_path / "home", root, counter=Letters())
    assert all(item.tokens == len(item.text) for item in stored)


def test_one_processor_is_left_to_the_one_who_writes(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert reading.choose_reader_count() == 0
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert 1 < reading.choose_reader_count() < 8


def test_a_script_that_guards_nothing_is_run_once(tmp_path, root):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            from pathlib import Path
            from foreword.config import Settings
            from foreword.engine.context_engine import ContextEngine
            from foreword.indexing import indexer, reading

            indexer._MIN_FILES_FOR_PROCESSES, reading.choose_reader_count = 10, lambda: 2
            settings = Settings(home=Path({str(tmp_path / "home")!r}), embedding="none")
            with ContextEngine(settings=settings) as e:
                print(indexer.Indexer(e).index(Path({str(root)!r}), "w").files)
            """
        )
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )
    assert (done.stdout, done.stderr) == (f"{FILES + 1}\n", "")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_readers_end_when_the_process_they_read_for_is_killed(root):
    program = f"""
import sys
from foreword.indexing.reading import FileReader, ReaderPool
from foreword.text.tokens import WordTokenizer
with ReaderPool(FileReader({str(root)!r}, "", WordTokenizer()), 2) as pool:
    print(*[pool._idle.get()._child.pid for _ in range(2)], flush=True)
    sys.stdin.read()
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as child:
        watchdog = threading.Timer(PATIENCE_SECONDS, child.kill)
        watchdog.start()
        places = [Path("/proc", pid) for pid in child.stdout.readline().split()]
        watchdog.cancel()
        assert len(places) == 2, f"no readers within {PATIENCE_SECONDS} seconds"
        assert all(place.exists() for place in places)
        child.kill()
    patience = time.monotonic() + PATIENCE_SECONDS
    while any(_runs(place) for place in places) and time.monotonic() < patience:
        time.sleep(0.01)
    assert not any(_runs(place) for place in places), f"readers still run after {PATIENCE_SECONDS} seconds"


def _runs(place):
    try:
        return place.joinpath("stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
