"""Pieces of several sources in one document: what fits, what is cut, what is over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.assembled import CONTEXT, SPARE, TITLES, ContextItem, FormattedContext, context_footer
from foreword.compose.assembly import Layout, Piece, fit_document
from foreword.text.tokens import TiktokenTokenizer

TOKENS = TiktokenTokenizer()
LAYOUT = Layout(CONTEXT, tuple(TITLES.values()), lambda pieces: context_footer(len(pieces), len(pieces)))


def piece(name, words, source="memory", rank=0.5):
    item = ContextItem(source, f"**Memory**: {'word ' * words}".rstrip(), rank, {"id": name})
    return Piece(name, item, TITLES[source], rank)


def fitted(pieces, budget, *, hard=False):
    return fit_document(pieces, LAYOUT, budget, TOKENS, hard=hard)


def names(pieces):
    return [one.id for one in pieces]


def test_sections_come_in_order_and_pieces_in_the_order_given():
    made = fitted([piece("c", 5, "commit", 0.9), piece("a", 5), piece("b", 5, rank=0.9)], 500)
    assert made.text.index("## Memories") < made.text.index("## Commits")
    assert names(made.pieces) == ["c", "a", "b"]
    assert made.tokens == TOKENS.count(made.text)


def test_a_section_without_pieces_has_no_heading():
    assert "## Code" not in fitted([piece("a", 5)], 500).text


def test_a_long_piece_is_cut_to_a_quarter_and_says_where_the_rest_is():
    made = fitted([piece("a", 2000), piece("b", 20)], 2000)
    assert TOKENS.count(made.pieces[0].item.content) <= 500
    assert made.pieces[0].item.content.endswith("*(truncated, full memory ID: a)*")
    assert names(made.pieces) == ["a", "b"]


def test_a_list_that_is_no_experience_keeps_all_its_lines_whatever_they_are_called():
    said = "**Memory**: The plan\n" + "\n".join(f"- **{name}**: {'word ' * 90}" for name in SPARE)
    plan = Piece("a", ContextItem("memory", said, 0.5, {"id": "a"}), TITLES["memory"], 0.5)
    assert all(f"**{name}**: word" in fitted([plan], 800).text for name in SPARE)


def test_what_is_left_out_is_told():
    made = fitted([piece(str(n), 60) for n in range(30)], 500)
    assert len(made.pieces) + len(made.left_out) == 30
    assert made.left_out


def test_a_soft_budget_is_exceeded_rather_than_saying_nothing():
    made = fitted([piece("a", 300), piece("b", 300, rank=0.9)], 20)
    assert names(made.pieces) == ["b"]
    assert made.tokens > 20


def test_a_hard_budget_is_kept_even_if_nothing_can_be_said():
    made = fitted([piece("a", 300)], 20, hard=True)
    assert (made.text, made.tokens, made.pieces) == ("", 0, ())
    assert names(made.left_out) == ["a"]


def test_nothing_makes_nothing():
    assert fitted([], 100).text == ""


def test_a_context_says_whether_it_is_over():
    assert FormattedContext("x", (), 5, {}, over_by=3).limit_exceeded
    assert not FormattedContext("x", (), 5, {}).limit_exceeded


@given(
    st.lists(st.tuples(st.integers(1, 400), st.sampled_from(tuple(TITLES))), max_size=25),
    st.integers(1, 3000),
    st.booleans(),
)
def test_budgets_hold_by_the_exact_count(sizes, budget, hard):
    pieces = [piece(str(n), words, source, 1 / (n + 1)) for n, (words, source) in enumerate(sizes)]
    made = fitted(pieces, budget, hard=hard)
    assert made.tokens == TOKENS.count(made.text)
    assert made.tokens <= budget or (not hard and len(made.pieces) == 1)
    assert sorted(names(made.pieces) + names(made.left_out)) == sorted(names(pieces))


@pytest.mark.parametrize("budget", [300, 1000, 2000])
def test_most_of_a_budget_is_used_when_there_is_enough_to_say(budget):
    pieces = [piece(f"{source}{n}", 25, source, 1 / (n + 1)) for n in range(30) for source in TITLES]
    assert fitted(pieces, budget).tokens > 0.85 * budget
