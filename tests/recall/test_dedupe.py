from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.recall.dedupe import (
    put_successors_first,
    refresh_from_files,
    split_off_repeats,
    split_off_superseded,
)
from foreword.types import Item, SearchResult


def result(name, score=0.5, text="", successor=None):
    return SearchResult(Item(text or f"something about {name}", "w", id=name, superseded_by=successor), score)


def ids(results):
    return [r.memory.id for r in results]


def test_a_superseded_result_steps_behind_its_successor_which_takes_its_place():
    order = put_successors_first(
        [result("old", 0.9, successor="new"), result("other", 0.8), result("new", 0.2)]
    )
    assert ids(order) == ["new", "old", "other"]
    assert order[0].score == 0.9


def test_a_successor_that_is_first_already_stays_where_it_is():
    order = [result("new"), result("other"), result("old", successor="new")]
    assert ids(put_successors_first(order)) == ["new", "other", "old"]


def test_a_chain_of_successors_ends_newest_first():
    chain = [result("one", successor="two"), result("two", successor="three"), result("three")]
    assert ids(put_successors_first(chain)) == ["three", "two", "one"]


def test_two_that_replace_each_other_do_no_harm():
    assert sorted(ids(put_successors_first([result("a", successor="b"), result("b", successor="a")]))) == [
        "a",
        "b",
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdefxyz")), unique_by=lambda pair: pair[0]
    )
)
def test_stepping_behind_loses_nothing(pairs):
    results = [result(name, successor=successor) for name, successor in pairs]
    assert sorted(ids(put_successors_first(results))) == sorted(ids(results))


def test_what_was_replaced_is_left_out_by_name():
    kept, dropped = split_off_superseded([result("old", successor="new"), result("new")])
    assert ids(kept) == ["new"]
    assert [(d.result.memory.id, d.reason, d.detail) for d in dropped] == [("old", "superseded", "new")]


def test_a_repeat_is_left_out_and_names_its_twin():
    kept, dropped = split_off_repeats(
        [
            result("a", text="The staff session timeout is fifteen minutes."),
            result("b", text="the staff session  timeout is fifteen minutes"),
            result("c", text="The staff session timeout was changed by Priya in October."),
        ]
    )
    assert ids(kept) == ["a", "c"]
    assert [(d.result.memory.id, d.reason, d.detail) for d in dropped] == [("b", "duplicate", "a")]


def test_one_differing_number_in_a_short_text_is_not_a_repeat():
    kept, _ = split_off_repeats([result("a", text="Retries: 3"), result("b", text="Retries: 9 at most")])
    assert ids(kept) == ["a", "b"]


def test_what_is_said_of_two_things_is_no_repeat():
    said = "The {} cluster runs on Hetzner machines in Falkenstein and is backed up every night."
    kept, _ = split_off_repeats(
        [result("a", text=said.format("staging")), result("b", text=said.format("billing"))]
    )
    assert ids(kept) == ["a", "b"]


# Results whose files have changed


def _result(name, kind="code"):
    return SearchResult(Item(f"text of {name}", "shop", kind=kind, id=name), 0.5, ranks={"lexical": 1})


@pytest.fixture
def look():
    """Somebody who saw that one item changed and another is gone, and remembers what was asked."""

    def look_at(items, expires):
        look_at.asked = [item.id for item in items], expires
        return {
            "new": (Item("as it is", "shop", kind="code", id="new"), "told anew"),
            "gone": (None, "no more"),
        }

    return look_at


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
