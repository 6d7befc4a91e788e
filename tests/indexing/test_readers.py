"""Processes that read for another: the same as if it read itself, whatever becomes of one of them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from foreword.capture.folder import walk
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.indexing import indexer, readers
from foreword.indexing.indexer import Indexer
from foreword.indexing.reading import FileRead, Reading
from foreword.text.tokens import WordTokenizer

FILES = 40


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
def reading(root):
    return Reading(str(root), "", WordTokenizer())


@pytest.fixture
def asked(root):
    return [(file, "") for file in walk.files(root)]


@pytest.fixture
def many(monkeypatch):
    """Let a few files be many."""
    monkeypatch.setattr(indexer, "_MANY", FILES)
    monkeypatch.setattr(readers, "count", lambda: 2)


def _index(home, root, **chosen):
    with ContextEngine(settings=Settings(home=home, embedding="none"), **chosen) as engine:
        indexed = Indexer(engine).index(root, str(root))
        assert engine.store.check(str(root)) == ()
        return indexed, list(engine.store.scan(str(root)))


def test_what_others_read_is_what_one_would_read_oneself_in_the_same_order(reading, asked):
    with readers.Readers(reading, 2) as others:
        assert list(others.read(asked)) == [reading.read(*one) for one in asked]
        assert list(others.read([])) == []


def test_a_file_whose_bytes_are_known_is_not_cut_again(reading, asked):
    known = [(file, reading.read(file).hash) for file, _ in asked]
    with readers.Readers(reading, 1) as others:
        assert all(read.items is None for read in others.read(known))


def test_a_folder_is_remembered_the_same_whoever_reads_it(tmp_path, root, many, monkeypatch):
    started = []
    monkeypatch.setattr(readers, "Readers", lambda *given: started.append(given) or _real(*given))
    by_others, kept = _index(tmp_path / "one", root)
    monkeypatch.setattr(indexer, "_MANY", 10_000)
    by_itself, same = _index(tmp_path / "two", root)
    assert len(started) == 1
    assert (by_others.files, by_others.units) == (by_itself.files, by_itself.units) == (FILES + 1, len(kept))
    assert [(item.text, item.metadata, item.tokens) for item in kept] == [
        (item.text, item.metadata, item.tokens) for item in same
    ]


_real = readers.Readers


def test_a_file_that_brings_its_reader_down_is_left_out_alone(tmp_path, reading, asked, monkeypatch):
    (tmp_path / "deadly.py").write_text(
        textwrap.dedent(
            """
            import os

            class Deadly:
                def count(self, text):
                    if "step_7(" in text:
                        os._exit(3)
                    return len(text)
            """
        )
    )
    monkeypatch.syspath_prepend(tmp_path)
    import deadly

    deadly_reading = Reading(reading.workspace, "", deadly.Deadly())
    with readers.Readers(deadly_reading, 2) as others:
        read = list(others.read(asked))
    fallen = [file.path for (file, _), one in zip(asked, read, strict=True) if not one.hash]
    assert fallen == ["part1/m7.py"]
    assert FileRead("", skipped={"unreadable": 1}) in read


def test_an_error_in_a_reader_is_met_by_the_one_who_asks(tmp_path, reading, asked, monkeypatch):
    (tmp_path / "picky.py").write_text(
        textwrap.dedent(
            """
            class Picky:
                def count(self, text):
                    raise LookupError("this counts nothing")
            """
        )
    )
    monkeypatch.syspath_prepend(tmp_path)
    import picky

    picky_reading = Reading(reading.workspace, "", picky.Picky())
    with readers.Readers(picky_reading, 2) as others, pytest.raises(LookupError, match="counts nothing"):
        list(others.read(asked))


def test_what_lies_in_the_folder_one_stands_in_is_not_run(tmp_path, reading, asked, monkeypatch):
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("queue", "pickle", "subprocess", "foreword"):
        (trap / f"{name}.py").write_text(f"open({str(trap / 'sprung')!r}, 'w')")
    monkeypatch.chdir(trap)
    with readers.Readers(reading, 1) as others:
        assert all(read.hash for read in others.read(asked))
    assert not (trap / "sprung").exists()


def test_where_no_process_can_be_started_files_are_read_one_after_another(tmp_path, root, many, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    assert _index(tmp_path / "home", root)[0].files == FILES + 1


def test_a_process_that_ends_at_once_is_as_good_as_none(tmp_path, root, many, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert _index(tmp_path / "home", root)[0].files == FILES + 1


def test_who_counts_in_a_way_of_their_own_reads_themselves(tmp_path, root, many, monkeypatch):
    class Letters(WordTokenizer):
        def count(self, text):
            return len(text)

    monkeypatch.setattr(readers, "Readers", None)
    _, kept = _index(tmp_path / "home", root, counter=Letters())
    assert all(item.tokens == len(item.text) for item in kept)


def test_one_processor_is_left_to_the_one_who_writes(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert readers.count() == 0
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert 1 < readers.count() < 8


def test_a_script_that_guards_nothing_is_run_once(tmp_path, root):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            from pathlib import Path
            from foreword import indexer, readers
            from foreword.config import Settings
            from foreword.engine.context_engine import ContextEngine

            indexer._MANY, readers.count = 10, lambda: 2
            settings = Settings(home=Path({str(tmp_path / "home")!r}), embedding="none")
            with ContextEngine(settings=settings) as e:
                print(indexer.Indexer(e).index(Path({str(root)!r}), "w").files)
            """
        )
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{FILES + 1}\n", "")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_readers_end_when_the_process_they_read_for_is_killed(root):
    program = f"""
import time
from foreword.indexing.readers import Readers
from foreword.indexing.reading import Reading
from foreword.text.tokens import WordTokenizer
with Readers(Reading({str(root)!r}, "", WordTokenizer()), 2) as others:
    print(*[others._idle.get()._child.pid for _ in range(2)], flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        places = [Path("/proc", pid) for pid in child.stdout.readline().split()]
        assert all(place.exists() for place in places)
        child.kill()
    patience = time.monotonic() + 30
    while any(_runs(place) for place in places) and time.monotonic() < patience:
        time.sleep(0.01)
    assert not any(_runs(place) for place in places)


def _runs(place):
    try:
        return place.joinpath("stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
