"""Tokens among sources: by weight, with nothing wasted and nobody pushed out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.compose.assembly import (
    MAX_ITEM_FRACTION,
    MIN_COST_TOKENS,
    WEIGHTS,
    allowances,
    choose_items,
    item_cap,
)

SOURCES = tuple(WEIGHTS)
COSTS = st.dictionaries(
    st.sampled_from(SOURCES), st.lists(st.integers(MIN_COST_TOKENS, 900), max_size=20), max_size=5
)


def ranks(costs):
    return {source: [1 / (place + 1) for place in range(len(each))] for source, each in costs.items()}


def picked(costs, budget):
    given = allowances({source: WEIGHTS[source] for source in costs}, costs, budget)
    capped = {s: [min(cost, item_cap(given[s])) for cost in each] for s, each in costs.items()}
    return choose_items(ranks(costs), lambda source, at, _: capped[source][at], given, budget), capped, given


def test_hungry_sources_are_given_what_the_document_says():
    costs = {source: [100] * 50 for source in SOURCES}
    given = allowances(WEIGHTS, costs, 1800)
    assert given == pytest.approx(
        {"experience": 600, "code": 400, "commit": 400, "value": 200, "memory": 200}
    )


def test_what_a_source_does_not_need_goes_to_the_others_by_weight():
    costs = {"memory": [30], "value": [], "experience": [100] * 50, "code": [100] * 50}
    given = allowances(WEIGHTS, costs, 1230)
    assert given["experience"] == pytest.approx(720)
    assert given["code"] == pytest.approx(480)
    assert given["value"] == 0


def test_an_item_has_at_most_a_quarter_of_its_source():
    assert item_cap(400) == 400 * MAX_ITEM_FRACTION


def test_an_item_that_is_long_is_not_cut_while_others_leave_room():
    costs = {"memory": [300], "experience": [40], "code": [40]}
    given = allowances(WEIGHTS, costs, 2000)
    assert item_cap(given["memory"]) >= 300


def test_alone_an_item_that_is_too_long_has_its_quarter():
    given = allowances(WEIGHTS, {"memory": [800]}, 2000)
    assert item_cap(given["memory"]) == 500


def test_what_is_too_long_is_passed_over_and_the_rest_goes_on():
    costs = [40, 90, 50]
    taken = choose_items({"memory": [3, 2, 1]}, lambda _, at, __: costs[at], {"memory": 100}, 100)
    assert taken == {"memory": [0, 2]}


def test_what_is_left_goes_to_the_best_that_was_passed_over():
    costs = {"memory": [80], "code": [60, 50, 50]}
    order = {"memory": [0.1], "code": [0.9, 0.2, 0.8]}
    taken = choose_items(order, lambda source, at, _: costs[source][at], {"memory": 80, "code": 60}, 200)
    assert taken == {"memory": [0], "code": [0, 2]}


def test_nobody_asks_what_cannot_fit_would_cost():
    asked = []
    taken = choose_items(
        {"memory": [3, 2, 1]}, lambda _, at, __: asked.append(at) or 95, {"memory": 100}, 100
    )
    assert taken == {"memory": [0]}
    assert asked == [0]


def test_a_cost_that_is_too_much_need_not_be_known():
    costs = [40, None, 50]
    taken = choose_items({"memory": [3, 2, 1]}, lambda _, at, __: costs[at], {"memory": 100}, 100)
    assert taken == {"memory": [0, 2]}


@given(COSTS, st.integers(-50, 4000))
def test_no_more_is_spent_than_there_is(costs, budget):
    taken, capped, _ = picked(costs, budget)
    assert sum(capped[source][at] for source, places in taken.items() for at in places) <= max(0, budget)


@given(COSTS, st.integers(1, 4000))
def test_no_item_takes_more_than_its_cap_and_no_source_less_than_its_share(costs, budget):
    _, capped, given = picked(costs, budget)
    filled = [source for source in costs if costs[source]]
    total = sum(WEIGHTS[source] for source in filled)
    for source in filled:
        assert given[source] >= budget * WEIGHTS[source] / total - 1e-6
        assert max(capped[source]) <= item_cap(given[source])


@given(COSTS, st.integers(1, 4000))
def test_nothing_that_still_fits_is_left_out(costs, budget):
    taken, capped, _ = picked(costs, budget)
    left = budget - sum(capped[source][at] for source, places in taken.items() for at in places)
    out = [capped[s][at] for s in costs for at in range(len(costs[s])) if at not in taken[s]]
    assert all(cost > left for cost in out)
