from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foreword.recall.dedupe import put_successors_first, split_off_repeats, split_off_superseded
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
