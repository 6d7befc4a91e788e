from __future__ import annotations

import pytest

from foreword.recall.dedupe import refresh_from_files
from foreword.types import Item, SearchResult


def _result(name, kind="code"):
    return SearchResult(Item(f"text of {name}", "shop", kind=kind, id=name), 0.5, ranks={"lexical": 1})


@pytest.fixture
def look():
    """Somebody who saw that one item changed and another is gone, and remembers what was asked."""

    def seen(items, expires):
        seen.asked = [item.id for item in items], expires
        return {
            "new": (Item("as it is", "shop", kind="code", id="new"), "told anew"),
            "gone": (None, "no more"),
        }

    return seen


def test_only_what_comes_from_files_is_looked_at(look):
    refresh_from_files([_result("a"), _result("b", "memory"), _result("c", "document")], look, 7.0)
    assert look.asked == (["a", "c"], 7.0)


def test_what_changed_is_told_as_it_is_in_its_old_place(look):
    results = [_result("a"), _result("new"), _result("b")]
    kept, dropped, notes = refresh_from_files(results, look, None)
    assert [result.memory.text for result in kept] == ["text of a", "as it is", "text of b"]
    assert (kept[1].score, kept[1].ranks) == (results[1].score, results[1].ranks)
    assert not dropped
    assert [(note.part, note.message) for note in notes] == [("files", "new is told anew")]


def test_what_is_gone_is_dropped_and_why(look):
    kept, dropped, notes = refresh_from_files([_result("gone"), _result("a")], look, None)
    assert [result.memory.id for result in kept] == ["a"]
    assert [(one.result.memory.id, one.reason, one.detail) for one in dropped] == [
        ("gone", "superseded", "no more")
    ]
    assert not notes
