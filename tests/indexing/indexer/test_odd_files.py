"""Files, folders and names that are out of the ordinary, or cannot be looked at."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from foreword.capture.folder.file_items import find_item_changes
from foreword.config import Settings
from foreword.engine.context_engine import ContextEngine
from foreword.indexing.indexer import Indexer

GUIDE = (Path(__file__).parent / "guide.txt").read_text()


# What is odd about files


@pytest.mark.parametrize("at", ["2262-04-13", "2446-01-01", "12000-01-01", "1800-01-01", "1969-12-31"])
def test_a_file_of_any_time_is_kept(index, items, root, at, write_file):
    seconds = (int(at.split("-")[0]) - 1970) * 31_556_952
    try:
        os.utime(root / "docs/guide.md", ns=(0, seconds * 10**9))
    except OSError:
        pytest.skip("this file system cannot keep that time")
    assert index().files == 3
    assert any("thirty days" in item.text for item in items())
    assert index().unchanged == 3
    os.utime(root / "docs/guide.md", ns=(0, (seconds + 1) * 10**9))
    assert index().unchanged == 3  # its bytes are the same
    write_file(root, "docs/guide.md", GUIDE.replace("thirty", "sixty"))
    os.utime(root / "docs/guide.md", ns=(0, (seconds + 3) * 10**9))
    assert index().files == 1


def test_names_that_are_no_text_are_names_of_two_files(index, items, root):
    for letter, said in (
        (b"\xe9", "Coffee is roasted on Mondays."),
        (b"\xe8", "Tea is steeped on Tuesdays."),
    ):
        (root / os.fsdecode(b"caf" + letter + b".md")).write_text(said)
    assert index().files == 5
    assert {"Coffee is roasted on Mondays.", "Tea is steeped on Tuesdays."} <= {i.text for i in items()}
    again = index()
    assert (again.files, again.unchanged, again.removed) == (0, 5, 0)


def test_a_folder_whose_name_is_no_text_is_read_like_others(index, items, root, write_file):
    odd = root.parent / os.fsdecode(b"caf\xe9")
    write_file(odd, "guide.md", GUIDE)
    for workspace in ("by name", str(root.parent)):
        assert index(odd, workspace).files == 1
        assert index(odd, workspace).unchanged == 1
        assert {item.metadata["path"] for item in items(workspace)} == {"caf\\xe9/guide.md"}
        assert find_item_changes(items(workspace)) == {}


def test_a_document_that_cannot_be_read_is_left_out_and_counted_as_that_alone(index, root):
    (root / "docs/paper.pdf").write_bytes(b"%PDF-1.4\nnothing of the kind")
    first, second = index(), index()
    assert (first.files, first.skipped) == (3, {"broken": 1})
    assert (second.files, second.unchanged, second.skipped) == (0, 3, {"broken": 1})


def test_where_memories_are_kept_is_no_part_of_the_project(root, write_file):
    home = root / "state" / "foreword"
    with ContextEngine(settings=Settings(home=home, embedding="none")) as engine:
        write_file(home, "run/service.log", "a line that only the service said\n")
        indexed = Indexer(engine).index(root, str(root))
        assert indexed.files == 3
        assert not any("only the service" in item.text for item in engine.store.scan(str(root)))
        assert Indexer(engine).index(home, str(home)).files == 1  # whoever asks for it, gets it


def test_a_header_is_known_by_what_comes_after_its_comment(index, items, root, write_file):
    said = "/*\n" + " * A page of a licence that nobody reads, and that is long.\n" * 200 + " */\n"
    body = "".join(f"  int cost_{n}(int a) {{\n    return a + {n};\n  }}\n\n" for n in range(20))
    write_file(root, "src/cart.h", f"{said}namespace shop {{\nclass Cart {{\n public:\n{body}}};\n}}\n")
    index()
    [kept] = [item for item in items(kinds=("code",)) if item.metadata["name"] == "cost_3"]
    assert (kept.metadata["language"], kept.metadata["qualified_name"]) == ("cpp", "shop.Cart.cost_3")
    write_file(
        root, "src/cart.h", f"{said}namespace shop {{\nclass Cart {{\n public:\n{body}}};\n}}\n// end\n"
    )
    assert [told for _, told in find_item_changes([kept]).values()] == [""]  # the same, as C++ still


# What cannot be looked at


_OVERRIDES = 0b110
"""What lets root pass by permissions, in Linux: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""


@contextmanager
def _held_to_permissions():
    """As anybody is: root, too, is refused what the mode of a file refuses its owner."""
    if os.geteuid():
        yield
        return
    if sys.platform != "linux":
        pytest.skip("root may read everything here")
    libc = ctypes.CDLL(None, use_errno=True)
    header, before = struct.pack("Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
    assert not libc.capget(header, before)
    effective, *rest = struct.unpack("6I", before.raw)
    assert not libc.capset(header, struct.pack("6I", effective & ~_OVERRIDES, *rest))
    try:
        yield
    finally:
        assert not libc.capset(header, before)


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o311])
@pytest.mark.parametrize("tracked", [None, False, True])
def test_a_folder_that_cannot_be_looked_into_keeps_what_is_known_of_it(
    index, items, root, mode, tracked, commit_all, run_git, write_file
):
    write_file(root, "closed/deep/rules.md", "# Rules\n\nReturns are free.\n")
    write_file(root, "closed/tax.md", "# Tax\n\nTax is added last.\n")
    if tracked is not None:
        run_git(root, "init", "-q")
    if tracked:
        commit_all(root, "everything")
    index()
    known = {item.id for item in items()}
    (root / "docs/guide.md").unlink()
    (root / "closed").chmod(mode)
    try:
        with _held_to_permissions():
            indexed = index()
    finally:
        (root / "closed").chmod(0o700)
    assert indexed.removed == 1
    assert {"Returns are free.", "Tax is added last."} <= {item.text for item in items()}
    assert len(known - {item.id for item in items()}) == 2  # the guide's
    assert index().removed == 0


def test_a_folder_that_moves_while_it_is_read_keeps_what_is_known_of_it(
    index, items, root, tmp_path, write_file
):
    index()
    known = {item.id for item in items()}
    write_file(root, "docs/new.md", "# New\n\nSomething new.\n")

    def move(label, done, _total):
        if (label, done) == ("files", 0):
            root.rename(tmp_path / "moved")

    assert index(progress=move, commits=False).removed == 0
    assert {item.id for item in items()} == known
    root.mkdir()

    def replace(label, done, _total):
        if (label, done) == ("files", 0):
            root.rmdir()
            (tmp_path / "moved").rename(root)

    assert index(progress=replace, commits=False).removed == 0
    assert {item.id for item in items()} == known
    (root / "docs/new.md").unlink()
    assert index().removed == 0
