"""A folder and what is remembered of it: in step after every change, interruption and rewritten history."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.errors import ValidationError
from foreword.indexing.indexer import Indexer
from foreword.testing import HashEmbeddings

LEDGER = (Path(__file__).parent / "ledger.txt").read_text()
GUIDE = (Path(__file__).parent / "guide.txt").read_text()


def _names(items):
    return {item.metadata.get("qualified_name") for item in items}


# Files


def test_the_code_and_the_documents_of_a_folder_are_remembered(index, items, engine, root):
    indexed = index()
    assert (indexed.files, indexed.removed, indexed.unchanged, indexed.commits) == (3, 0, 0, 0)
    assert indexed.units == len(items()) == engine.count(str(root)).items
    assert {"Ledger", "Ledger.book", "Ledger.balance", "settle", "report"} <= _names(items(kinds=("code",)))
    assert any("thirty days" in item.text for item in items(kinds=("document",)))
    assert all(item.tokens == engine.tokenizer.count(item.text) for item in items())
    assert {item.source.name for item in items()} == {
        "file:src/ledger.py",
        "file:src/tiny.py",
        "file:docs/guide.md",
    }
    found = engine.search("move everything to another ledger", str(root))
    assert found[0].memory.metadata["qualified_name"] == "settle"
    assert engine.store.check(str(root)) == ()


def test_a_second_time_nothing_is_read(index, items, root):
    index()
    before = items()
    ledger = root / "src/ledger.py"
    times = ledger.stat()
    ledger.write_text(LEDGER.replace("nothing", "NOTHING"))  # as long as before, and no newer
    os.utime(ledger, ns=(times.st_atime_ns, times.st_mtime_ns))
    again = index()
    assert (again.files, again.units, again.unchanged, again.has_changes) == (0, 0, 3, False)
    assert items() == before


def test_a_changed_file_replaces_its_units_and_the_rest_keeps_id_and_vector(home, root, write_file):
    with ContextEngine(settings=Settings(home=home), embedding_provider=HashEmbeddings()) as engine:
        indexer, workspace = Indexer(engine), str(root)
        indexer.index(root, workspace)
        assert engine.embed_pending(workspace) == engine.count(workspace).items
        before = {item.metadata["qualified_name"]: item for item in engine.store.scan(workspace)
                  if item.metadata["path"] == "src/ledger.py"}  # fmt: skip
        write_file(root, "src/ledger.py", "# moved by a line\n" + LEDGER.replace("while ledger", "if ledger"))
        changed = indexer.index(root, workspace)
        assert (changed.files, changed.unchanged) == (1, 2)
        after = {item.metadata["qualified_name"]: item for item in engine.store.scan(workspace)
                 if item.metadata["path"] == "src/ledger.py"}  # fmt: skip
        assert after.keys() == before.keys()
        assert {name for name in after if after[name].id != before[name].id} <= {"settle", ""}
        assert after["settle"].id != before["settle"].id
        assert "if ledger.balance()" in after["settle"].text
        assert after["report"].metadata["start_line"] == before["report"].metadata["start_line"] + 1
        assert engine.embed_pending(workspace) <= 2
        assert engine.store.check(workspace) == ()


def test_a_file_that_was_only_touched_is_read_once_and_kept_as_it_is(index, items, root):
    index()
    before = items()
    os.utime(root / "src/ledger.py", ns=(0, 1_700_000_000_000_000_000))
    assert (index().files, items()) == (0, before)
    (root / "src/ledger.py").write_text(LEDGER.replace("nothing", "NOTHING"))
    os.utime(root / "src/ledger.py", ns=(0, 1_700_000_000_000_000_000))
    assert (index().files, items()) == (0, before)  # its new time is known


def test_a_deleted_file_goes_and_a_renamed_one_moves(index, items, root):
    index()
    (root / "docs/guide.md").unlink()
    (root / "src/ledger.py").rename(root / "src/book.py")
    indexed = index()
    assert (indexed.files, indexed.removed, indexed.unchanged) == (1, 2, 1)
    assert {item.metadata["path"] for item in items()} == {"src/book.py", "src/tiny.py"}


def test_a_file_that_is_ignored_from_now_on_goes(index, items, root, run_git, write_file):
    run_git(root, "init", "-q")
    index()
    write_file(root, ".gitignore", "docs/\n")
    assert index().removed == 1
    assert items(kinds=("document",)) == []


def test_what_is_left_out_is_counted_every_time_and_read_once(index, items, root):
    (root / "picture.py").write_bytes(b"\0\1\2" * 500)
    first = index()
    again = index()
    assert first.skipped["binary"] == again.skipped["binary"] == 1
    (root / "picture.py").write_bytes(b"x = 1\ny = 2".ljust(1500))
    os.utime(root / "picture.py", ns=(0, 0))
    assert (index().files, "binary" in index().skipped) == (1, False)
    (root / "picture.py").write_bytes(b"\0\1\2" * 500)
    os.utime(root / "picture.py", ns=(0, 1))
    assert index().skipped["binary"] == 1
    assert not any(item.metadata["path"] == "picture.py" for item in items())


def test_a_file_that_vanishes_while_it_is_waited_for_keeps_what_is_known_of_it(
    engine, index, items, root, write_file
):
    index()
    before = items()
    write_file(root, "src/ledger.py", LEDGER + "\n# more\n")

    def lose(_label, _done, _total):
        (root / "src/ledger.py").unlink(missing_ok=True)

    assert index(progress=lose).skipped == {"unreadable": 1}
    assert items() == before
    assert index().removed == 1


def test_only_what_was_asked_for_is_read_and_the_rest_stays(index, items, root):
    assert index(documents=False).files == 2
    assert items(kinds=("document",)) == []
    assert index(code=False).files == 1
    assert (index(code=False).unchanged, index().unchanged) == (1, 3)
    (root / "src/tiny.py").unlink()
    assert index(code=False).removed == 1  # it is no more, whoever asks


def test_a_folder_of_the_workspace_is_told_by_its_place_in_it(index, items, root):
    index(root / "src")
    assert {item.metadata["path"] for item in items()} == {"src/ledger.py", "src/tiny.py"}
    assert index().unchanged == 2
    (root / "docs/guide.md").unlink()
    assert index(root / "src").removed == 0
    assert index().removed == 1


def test_folders_outside_the_workspace_do_not_drive_each_other_out(index, items, root, tmp_path, write_file):
    for name in ("one/lib", "two/lib"):
        write_file(tmp_path / name, "src/ledger.py", LEDGER.replace("Ledger", f"Of{name[:3].title()}"))
    index()
    own = index().unchanged
    assert index(tmp_path / "one/lib").files == 1
    assert index(tmp_path / "two/lib").files == 1
    assert (index().unchanged, index().removed) == (own, 0)
    assert {"OfOne", "OfTwo", "Ledger"} <= _names(items())
    assert "lib/src/ledger.py" in {item.metadata["path"] for item in items()}
    (tmp_path / "one/lib/src/ledger.py").unlink()
    assert index(tmp_path / "one/lib").removed == 1
    assert {"OfTwo", "Ledger"} <= _names(items())
    assert "OfOne" not in _names(items())


def test_a_workspace_with_a_name_takes_any_folder(index, items, root):
    index(workspace="shop")
    assert {item.metadata["path"] for item in items("shop")} == {
        "shop/src/ledger.py", "shop/src/tiny.py", "shop/docs/guide.md",
    }  # fmt: skip
    assert index(workspace="shop").unchanged == 3


def test_what_is_forgotten_is_gone_and_comes_back_when_the_folder_is_indexed_again(
    engine, index, items, root
):
    index()
    forgotten = engine.forget(str(root), source="file:src/ledger.py")
    assert forgotten.problems == ()
    assert not any(item.metadata["path"] == "src/ledger.py" for item in items())
    assert "src/ledger.py" not in engine.store.files(str(root))
    assert index().files == 1


def test_a_folder_that_is_not_there_and_a_workspace_without_a_name_are_refused(index, root, tmp_path):
    with pytest.raises(ValidationError, match="not a folder"):
        index(tmp_path / "nowhere")
    with pytest.raises(ValidationError):
        index(workspace=" ")


def test_an_empty_folder_gives_nothing(index, tmp_path):
    (tmp_path / "empty").mkdir()
    indexed = index(tmp_path / "empty")
    assert (indexed.files, indexed.has_changes, indexed.skipped) == (0, False, {})


def test_progress_is_told_to_the_end(index):
    told = []
    index(progress=lambda *step: told.append(step))
    assert told[0] == ("files", 0, 3)
    assert told[-1] == ("files", 3, 3)


PATHS = st.sampled_from(["a.py", "b.py", "c/d.py", "notes.md", "plain.txt"])
BODIES = st.sampled_from(
    [
        "",
        "x = 1\n",
        LEDGER,
        LEDGER.replace("def settle", "def resettle"),
        LEDGER[: len(LEDGER) // 2],
        GUIDE,
        GUIDE + "\n# More\n\nSomething else.\n",
    ]
)


@given(st.lists(st.lists(st.tuples(PATHS, st.none() | BODIES), max_size=4), min_size=1, max_size=4))
def test_after_any_changes_the_memory_is_what_a_fresh_reading_would_give(tmp_path_factory, write_file, steps):
    folder = tmp_path_factory.mktemp("any")
    root = folder / "project"
    root.mkdir()
    with ContextEngine(settings=Settings(home=folder / "home", embedding="none")) as engine:
        for changes in steps:
            for path, body in changes:
                if body is None:
                    (root / path).unlink(missing_ok=True)
                else:
                    write_file(root, path, body)
            Indexer(engine).index(root, str(root))
        Indexer(engine).index(root, "fresh")
        assert _facts_of(engine, str(root)) == _facts_of(engine, "fresh", "project/")
        assert engine.store.check(str(root)) == ()


def _facts_of(engine, workspace, prefix=""):
    facts = ("path", "start_line", "end_line", "hash")
    return {
        (item.text, tuple(str(item.metadata.get(fact)).removeprefix(prefix) for fact in facts))
        for item in engine.store.scan(workspace)
    }


# Interruption


def test_whoever_is_interrupted_goes_on_where_they_were(engine, index, root, monkeypatch, write_file):
    monkeypatch.setattr("foreword.indexing.indexer._FILES_PER_COMMIT", 4)
    for number in range(20):
        write_file(root, f"many/{number:02}.py", LEDGER.replace("Ledger", f"Ledger{number}"))

    def tire(_label, done, _total):
        if done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index(progress=tire)
    assert engine.store.check(str(root)) == ()
    kept = engine.store.files(str(root))
    assert 0 < len(kept) < 23
    assert all(mark.items for mark in kept.values())
    rest = index()
    assert (rest.unchanged, rest.files) == (len(kept), 23 - len(kept))


@pytest.mark.slow
def test_a_killed_process_leaves_whole_files_and_the_next_one_goes_on(home, root, write_file):
    for number in range(60):
        write_file(root, f"many/{number:02}.py", LEDGER.replace("Ledger", f"Ledger{number}"))
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        import foreword.indexing.indexer as indexer
        from foreword.config import Settings
        from foreword.engine.context_engine import ContextEngine
        indexer._FILES_PER_COMMIT = 5
        def tell(_label, done, _total):
            if done >= 30:
                print("half", flush=True)
        with ContextEngine(settings=Settings(home=Path(sys.argv[1]), embedding="none")) as engine:
            indexer.Indexer(engine).index(Path(sys.argv[2]), sys.argv[2], progress=tell)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(home), str(root)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    watchdog = threading.Timer(120, process.kill)
    watchdog.start()
    assert process.stdout.readline(), "the process did not get to the middle within 120 seconds"
    watchdog.cancel()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=120)
    with ContextEngine(settings=Settings(home=home, embedding="none")) as engine:
        assert engine.store.check(str(root)) == ()
        kept = len(engine.store.files(str(root)))
        rest = Indexer(engine).index(root, str(root))
        assert (rest.unchanged, rest.files) == (kept, 63 - kept)
        Indexer(engine).index(root, "fresh")
        assert _facts_of(engine, str(root)) == _facts_of(engine, "fresh", "shop/")


def test_the_default_root_of_a_workspace_may_be_reached_by_a_link(engine, index, root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    index()
    assert Indexer(engine).index(Path(tmp_path / "link"), str(root)).unchanged == 3
