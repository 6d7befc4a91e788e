"""Pieces of several sources in one document: what fits, what is cut, what is over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.assembled import CONTEXT, DISPENSABLE_LINES, TITLES, ContextItem, FormattedContext
from foreword.compose.assembly import (
    MAX_ITEM_FRACTION,
    MIN_COST_TOKENS,
    WEIGHTS,
    ContextLayout,
    Piece,
    build_document_within_budget,
    choose_item_positions_within_budget,
    context_footer,
    divide_tokens_among_sources,
    max_item_tokens,
)
from foreword.text.tokens import TiktokenTokenizer

TOKENS = TiktokenTokenizer()
LAYOUT = ContextLayout(CONTEXT, tuple(TITLES.values()), context_footer)


def piece(name, words, source="memory", rank=0.5):
    item = ContextItem(source, f"**Memory**: {'word ' * words}".rstrip(), rank, {"id": name})
    return Piece(name, item, TITLES[source], rank)


def fit(pieces, budget, *, hard=False):
    return build_document_within_budget(pieces, LAYOUT, budget, TOKENS, hard=hard)


def names(pieces):
    return [one.id for one in pieces]


def test_sections_come_in_order_and_pieces_in_the_order_given():
    made = fit([piece("c", 5, "commit", 0.9), piece("a", 5), piece("b", 5, rank=0.9)], 500)
    assert made.text.index("## Memories") < made.text.index("## Commits")
    assert names(made.pieces) == ["c", "a", "b"]
    assert made.tokens == TOKENS.count(made.text)


def test_a_section_without_pieces_has_no_heading():
    assert "## Code" not in fit([piece("a", 5)], 500).text


def test_a_long_piece_leaves_room_for_the_others_and_says_where_the_rest_is():
    made = fit([piece("a", 2000), *(piece(f"b{n}", 200, rank=0.4) for n in range(7))], 2000)
    assert len(made.pieces) == 8
    assert 400 < TOKENS.count(made.pieces[0].item.content) <= 600
    assert made.pieces[0].item.content.endswith("*(truncated, full memory ID: a)*")
    assert all("truncated" not in one.item.content for one in made.pieces[1:])


def test_a_long_piece_takes_what_nobody_else_needs():
    made = fit([piece("a", 2000), piece("b", 20)], 2000)
    assert names(made.pieces) == ["a", "b"]
    assert made.tokens > 1980


# Nothing is wasted


MIXED = st.lists(st.tuples(st.integers(1, 500), st.sampled_from(tuple(TITLES))), min_size=1, max_size=25)


def mixed_pieces(sizes):
    return [piece(str(n), words, source, 1 / (n + 1)) for n, (words, source) in enumerate(sizes)]


@given(MIXED)
def test_what_fits_is_told_whole_to_the_last_token(sizes):
    pieces = mixed_pieces(sizes)
    whole = TOKENS.count(LAYOUT.document(pieces))
    for hard in (True, False):
        made = fit(pieces, whole, hard=hard)
        assert [one.item for one in made.pieces] == [one.item for one in pieces]
        assert (made.tokens, made.left_out) == (whole, ())


@given(MIXED, st.integers(150, 4000))
def test_nothing_is_cut_and_nothing_is_left_out_that_there_is_room_for(sizes, budget):
    pieces = mixed_pieces(sizes)
    made = fit(pieces, budget)
    free = budget - made.tokens
    written = {one.id: one.item.content for one in pieces}
    for one in made.pieces:
        is_cut = one.item.content != written[one.id]
        assert not is_cut or TOKENS.count(written[one.id]) - one.tokens > free
        assert not is_cut or free <= 16  # what is left cannot hold another word beside the note
    for one in made.left_out:
        assert TOKENS.count(one.item.content) > free - 16  # a section of its own has a heading


def test_free_tokens_go_to_what_was_cut_before_what_was_left_out():
    long = [piece("a", 900, rank=0.9), piece("b", 900, rank=0.8)]
    short = [piece(f"c{n}", 60, rank=0.1) for n in range(12)]
    made = fit([*long, *short], 1000)
    told = {one.id: one.tokens for one in made.pieces}
    assert told["a"] > told["b"]
    assert made.tokens > 990


@pytest.mark.parametrize("words", [45, 60, 75, 85])
def test_where_no_source_has_tokens_for_its_best_what_is_left_of_the_budget_is_used(words):
    made = fit(
        [piece(f"{source}{n}", words, source, 0.9 - n / 10) for source in WEIGHTS for n in (0, 1)], 150
    )
    assert names(made.pieces)[:2] == ["experience0", "code0"]
    assert 140 < made.tokens <= 150


def test_a_list_that_is_no_experience_keeps_all_its_lines_whatever_they_are_called():
    said = "**Memory**: The plan\n" + "\n".join(f"- **{name}**: {'word ' * 90}" for name in DISPENSABLE_LINES)
    plan = Piece("a", ContextItem("memory", said, 0.5, {"id": "a"}), TITLES["memory"], 0.5)
    assert all(f"**{name}**: word" in fit([plan], 800).text for name in DISPENSABLE_LINES)


def test_what_is_left_out_is_told():
    made = fit([piece(str(n), 60) for n in range(30)], 500)
    assert len(made.pieces) + len(made.left_out) == 30
    assert made.left_out


def test_a_soft_budget_is_exceeded_rather_than_saying_nothing():
    made = fit([piece("a", 300), piece("b", 300, rank=0.9)], 20)
    assert names(made.pieces) == ["b"]
    assert made.tokens > 20


def test_a_hard_budget_is_kept_even_if_nothing_can_be_said():
    made = fit([piece("a", 300)], 20, hard=True)
    assert (made.text, made.tokens, made.pieces) == ("", 0, ())
    assert names(made.left_out) == ["a"]


def test_nothing_makes_nothing():
    assert fit([], 100).text == ""


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
    made = fit(pieces, budget, hard=hard)
    assert made.tokens == TOKENS.count(made.text)
    assert made.tokens <= budget or (not hard and len(made.pieces) == 1)
    assert sorted(names(made.pieces) + names(made.left_out)) == sorted(names(pieces))


@pytest.mark.parametrize("budget", [300, 1000, 2000])
def test_most_of_a_budget_is_used_when_there_is_enough_to_say(budget):
    pieces = [piece(f"{source}{n}", 25, source, 1 / (n + 1)) for n in range(30) for source in TITLES]
    assert fit(pieces, budget).tokens > 0.85 * budget


# Tokens among sources: by weight, with nothing wasted and nobody pushed out

SOURCES = tuple(WEIGHTS)
COSTS = st.dictionaries(
    st.sampled_from(SOURCES), st.lists(st.integers(MIN_COST_TOKENS, 900), max_size=20), max_size=5
)


def counts(costs):
    return {source: len(each) for source, each in costs.items()}


def pick_items(costs, budget):
    given = divide_tokens_among_sources({source: WEIGHTS[source] for source in costs}, costs, budget)
    capped = {s: [min(cost, max_item_tokens(given[s])) for cost in each] for s, each in costs.items()}
    return (
        choose_item_positions_within_budget(
            counts(costs), lambda source, at, _: capped[source][at], given, budget
        ),
        capped,
        given,
    )


def test_hungry_sources_are_given_what_the_document_says():
    costs = {source: [100] * 50 for source in SOURCES if source != "document"}
    given = divide_tokens_among_sources(WEIGHTS, costs, 1800)
    assert given == pytest.approx(
        {"experience": 600, "code": 400, "commit": 400, "value": 200, "memory": 200}
    )


def test_what_a_source_does_not_need_goes_to_the_others_by_weight():
    costs = {"memory": [30], "value": [], "experience": [100] * 50, "code": [100] * 50}
    given = divide_tokens_among_sources(WEIGHTS, costs, 1230)
    assert given["experience"] == pytest.approx(720)
    assert given["code"] == pytest.approx(480)
    assert given["value"] == 0


def test_an_item_has_at_most_a_quarter_of_its_source():
    assert max_item_tokens(400) == 400 * MAX_ITEM_FRACTION


def test_an_item_that_is_long_is_not_cut_while_others_leave_room():
    costs = {"memory": [300], "experience": [40], "code": [40]}
    given = divide_tokens_among_sources(WEIGHTS, costs, 2000)
    assert max_item_tokens(given["memory"]) >= 300


def test_alone_an_item_that_is_too_long_has_its_quarter():
    given = divide_tokens_among_sources(WEIGHTS, {"memory": [800]}, 2000)
    assert max_item_tokens(given["memory"]) == 500


def test_what_is_too_long_is_passed_over_and_the_rest_goes_on():
    costs = [40, 90, 50]
    taken = choose_item_positions_within_budget(
        {"memory": 3}, lambda _, at, __: costs[at], {"memory": 100}, 100
    )
    assert taken == {"memory": [0, 2]}


def test_nobody_asks_what_cannot_fit_would_cost():
    asked = []
    taken = choose_item_positions_within_budget(
        {"memory": 3}, lambda _, at, __: asked.append(at) or 95, {"memory": 100}, 100
    )
    assert taken == {"memory": [0]}
    assert asked == [0]


def test_a_cost_that_is_too_much_need_not_be_known():
    costs = [40, None, 50]
    taken = choose_item_positions_within_budget(
        {"memory": 3}, lambda _, at, __: costs[at], {"memory": 100}, 100
    )
    assert taken == {"memory": [0, 2]}


@given(COSTS, st.integers(-50, 4000))
def test_no_more_is_spent_than_there_is(costs, budget):
    taken, capped, _ = pick_items(costs, budget)
    assert sum(capped[source][at] for source, places in taken.items() for at in places) <= max(0, budget)


@given(COSTS, st.integers(1, 4000))
def test_no_item_takes_more_than_its_cap_and_no_source_less_than_its_share(costs, budget):
    _, capped, given = pick_items(costs, budget)
    filled = [source for source in costs if costs[source]]
    total = sum(WEIGHTS[source] for source in filled)
    for source in filled:
        assert given[source] >= budget * WEIGHTS[source] / total - 1e-6
        assert max(capped[source]) <= max_item_tokens(given[source])
