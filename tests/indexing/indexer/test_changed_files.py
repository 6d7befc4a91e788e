"""What is shown of files that have changed since they were indexed."""

from __future__ import annotations

import asyncio
import os
import secrets
import string
import time
from collections import Counter
from pathlib import Path

import pytest

from foreword.capture.folder.file_items import CHANGED, NO_FILE, RENEWED, find_item_changes
from foreword.recipes.assembled.assembler import ContextAssembler
from foreword.recipes.assembled.searcher import EngineSearcher
from foreword.recipes.coding.injection import InjectionPipeline
from foreword.types import Filters, Item

LEDGER = (Path(__file__).parent / "ledger.txt").read_text()
GUIDE = (Path(__file__).parent / "guide.txt").read_text()


# What is told of files that have changed since -------------------------------------------------------------


@pytest.fixture
def ask_recipes(engine, root):
    """Ask about something in every recipe; gives what each says, with its receipt."""

    def ask(question, **chosen):
        chat = engine.build_context(question, str(root), floor=0.0, **chosen)
        coding = InjectionPipeline(engine, floor=0.0).generate_context(
            question, "", workspace=str(root), deadline_ms=chosen.get("deadline_ms")
        )
        assembler = ContextAssembler(
            EngineSearcher(engine, str(root), deadline_ms=None), floor=0.0, timeout=60
        )
        assembled = asyncio.run(assembler.assemble_context(question, ["code"]))
        return [
            (chat.context, chat.receipt),
            (coding.formatted_context, coding.receipt),
            (assembled.markdown, assembled.receipt),
        ]

    return ask


def _notes(receipt):
    """What a receipt says of files; an assembled one names the source that said it."""
    return [note.message for note in receipt.notes if "files" in (note.part, note.message.partition(":")[0])]


SETTLE = "settle: move everything from one ledger to another"


def test_code_is_told_as_its_file_is_now(index, ask_recipes, root, write_file):
    index()
    write_file(
        root, "src/ledger.py", LEDGER.replace("def settle(ledger, other)", "def settle(ledger, other, fee=2)")
    )
    for text, receipt in ask_recipes(SETTLE):
        assert "fee=2" in text
        assert any("as its file is now" in note for note in _notes(receipt))


def test_what_did_not_change_is_told_without_a_word(index, ask_recipes, root, write_file):
    index()
    write_file(root, "src/ledger.py", LEDGER)  # the same bytes at another time
    for text, receipt in ask_recipes(SETTLE):
        assert "settle" in text
        assert "changed since" not in text
        assert not _notes(receipt)


def test_a_unit_that_its_file_has_no_more_is_not_told(engine, index, ask_recipes, root, write_file):
    index()
    at = LEDGER.index("def settle")
    write_file(root, "src/ledger.py", LEDGER[:at] + LEDGER[LEDGER.index("def report") :])
    for text, receipt in ask_recipes(SETTLE):
        assert "def settle" not in text
        assert ("superseded", "what its file holds now") in [(e.decision, e.detail) for e in receipt.entries]


def test_a_file_that_is_gone_is_not_told(index, ask_recipes, root):
    index()
    (root / "src/ledger.py").unlink()
    for text, receipt in ask_recipes(SETTLE):
        assert "settle" not in text
        assert ("superseded", NO_FILE) in [(e.decision, e.detail) for e in receipt.entries]


def test_a_file_that_cannot_be_cut_in_time_is_told_with_a_mark(
    index, ask_recipes, root, monkeypatch, write_file
):
    index()
    monkeypatch.setattr("foreword.capture.folder.file_items._MAX_BYTES_CUT", 10)
    write_file(root, "src/ledger.py", LEDGER.replace("other.book(", "other.receive("))
    for text, receipt in ask_recipes(SETTLE):
        assert "(file changed since indexed)" in text
        assert any("as it was" in note for note in _notes(receipt))


def test_after_the_deadline_no_file_is_looked_at(index, engine, root):
    index()
    found = engine.store.scan(str(root), Filters(kinds=("code",)))
    (root / "src/ledger.py").unlink()
    assert find_item_changes(list(found), time.monotonic() - 1) == {}


@pytest.mark.parametrize("workspace", [None, "by name"])
def test_what_is_from_another_folder_is_marked_when_its_file_has_changed(
    index, items, tmp_path, workspace, write_file
):
    other = tmp_path / "shop-lib"
    write_file(other, "src/ledger.py", LEDGER)
    index(other, workspace)
    held = items(workspace, kinds=("code",))
    assert find_item_changes(held) == {}
    write_file(other, "src/ledger.py", LEDGER.replace("other.book(", "other.receive("))
    seen = find_item_changes(held)
    assert {told for _, told in seen.values()} == {CHANGED}
    assert not any("receive" in item.text for item, _ in seen.values())
    assert all(item.text.startswith("(file changed since indexed)") for item, _ in seen.values())
    (other / "src/ledger.py").unlink()
    assert {item for item, _ in find_item_changes(held).values()} == {None}
    other.rename(tmp_path / "moved")
    assert find_item_changes(held) == {}  # nobody can say what became of it


def test_code_of_a_named_workspace_is_told_with_a_mark(engine, index, root, write_file):
    index(root, "by name")
    write_file(root, "src/ledger.py", LEDGER.replace("other.book(", "other.receive("))
    context = engine.build_context(SETTLE, "by name", floor=0.0)
    assert "(file changed since indexed)" in context.context


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        ("x", "x/a.py"),
        ("{root}", "a.py"),
        ("{root}", "shop/../a.py"),
        ("{root}", "/a.py"),
        ("{link}", "link/a.py"),
    ],
)
def test_no_item_leads_out_of_the_folder_that_it_names(tmp_path, root, folder, path):
    (tmp_path / "link").symlink_to(root)
    named = folder.format(root=root, link=tmp_path / "link")
    item = Item("x", "w", kind="code", id="1", metadata={"path": path, "stamp": "0-0", "root": named})
    assert find_item_changes([item]) == {}


def test_a_link_is_not_followed(index, items, root, tmp_path, write_file):
    index()
    secret = tmp_path / "elsewhere" / "ledger.py"
    write_file(
        tmp_path, "elsewhere/ledger.py", LEDGER.replace("fee", "token").replace("other):", "other, outside):")
    )
    (root / "src/ledger.py").unlink()
    (root / "src/ledger.py").symlink_to(secret)
    held = items(kinds=("code",))
    assert find_item_changes(held) == {}
    (root / "src/ledger.py").unlink()
    (root / "src").rename(root / "was")
    (root / "src").symlink_to(secret.parent, target_is_directory=True)
    assert find_item_changes(held) == {}


@pytest.mark.parametrize("path", ["../shop/src/ledger.py", "/etc/passwd", "src/../../x", ""])
def test_a_path_that_leads_elsewhere_is_not_looked_at(root, path):
    item = Item("x", str(root), kind="code", id="1", metadata={"path": path, "stamp": "0-0"})
    assert find_item_changes([item]) == {}


def test_a_secret_that_a_file_has_got_since_is_not_told(index, ask_recipes, root, write_file):
    index()
    key = "AKIA" + "".join(secrets.choice(string.ascii_uppercase + "234567") for _ in range(16))
    write_file(
        root, "src/ledger.py", LEDGER.replace("    while ledger", f"    key = {key!r}\n    while ledger")
    )
    for text, _ in ask_recipes(SETTLE):
        assert "settle" in text
        assert key not in text


def test_an_unchanged_unit_in_a_changed_file_is_told_at_its_new_line(
    index, items, ask_recipes, root, write_file
):
    index()
    before = {item.metadata["name"]: item for item in items(kinds=("code",)) if item.metadata.get("name")}
    write_file(root, "src/ledger.py", LEDGER.replace("import decimal", "import decimal\nimport enum\n"))
    line = before["settle"].metadata["start_line"] + 2
    assert f"ledger.py:{line}" in ask_recipes(SETTLE)[-1][0]
    index()
    after = {item.metadata["name"]: item for item in items(kinds=("code",)) if item.metadata.get("name")}
    assert after["settle"].id == before["settle"].id
    assert after["settle"].metadata["start_line"] == line
    assert find_item_changes(list(after.values())) == {}


def test_a_section_of_a_document_is_told_as_it_is_now(index, engine, root, write_file):
    index()
    write_file(root, "docs/guide.md", GUIDE.replace("thirty", "sixty"))
    context = engine.build_context("When is a refund booked?", str(root), floor=0.0)
    assert "sixty days" in context.context
    assert "thirty days" not in context.context


def test_only_a_few_files_are_cut_again(index, items, root, monkeypatch, write_file):
    for number in range(12):
        write_file(root, f"src/part{number}.py", f"def act_{number}():\n    return {number}\n")
    index()
    for number in range(12):
        write_file(root, f"src/part{number}.py", f"def act_{number}():\n    return {number}00\n")
    seen = find_item_changes([item for item in items(kinds=("code",)) if "part" in item.metadata["path"]])
    assert Counter(told for _, told in seen.values()) == {RENEWED: 4, CHANGED: 8}
    monkeypatch.setattr("foreword.capture.folder.file_items._CUT_SECONDS", 0)
    seen = find_item_changes([item for item in items(kinds=("code",)) if "part" in item.metadata["path"]])
    assert Counter(told for _, told in seen.values()) == {CHANGED: 12}


def test_files_that_were_only_touched_are_the_same_however_many(index, items, root, monkeypatch, write_file):
    monkeypatch.setattr("foreword.capture.folder.file_items._CUT_SECONDS", 0)
    for number in range(12):
        write_file(root, f"src/part{number}.py", f"def act_{number}():\n    return {number}\n")
    index()
    for path in (root / "src").iterdir():
        os.utime(path, ns=(1, 1))
    assert find_item_changes(items(kinds=("code",))) == {}
