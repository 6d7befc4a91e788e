"""What lies in a state: merged, never evicted while it is needed, cleared when its gap is closed."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.recipes.gap.engine_memory import EngineMemory
from foreword.recipes.gap.injection import manage_context_injection
from foreword.recipes.gap.payload import (
    MAX_CLOSED,
    gap_key,
    make_payload,
    make_update_clearing_closed_gaps,
    merge_payloads,
)
from foreword.recipes.gap.types import ContextGap, InjectionConfig, RetrievedContext, new_gap_id

DATABASE = "I need more information: which database did we choose, Postgres or MySQL?"
TIMEOUT = "I need more information: what is the session timeout for staff?"


def agent(name, said):
    return {"role": "assistant", "name": name, "content": said}


def a_gap(query="which database", name="dev"):
    return ContextGap(new_gap_id(), name, "clarification_requested", query, 0.9, ("asked",))


def payload(*contents, gap=None):
    contexts = [RetrievedContext("memory", content, 0.9) for content in contents]
    return make_payload(gap or a_gap(), contexts, 1)


def contents(held):
    return [one["content"] for one in held["contexts"]]


@pytest.fixture
def fill(engine, project):
    memory = EngineMemory(engine, "shop")

    def run(state, **limits):
        return asyncio.run(manage_context_injection(state, memory, InjectionConfig(**limits)))

    return run


def test_a_second_pass_keeps_what_the_first_gave(fill):
    state = {"messages": [agent("dev", DATABASE)], "current_agent": "dev"}
    first = fill(state)
    given_first = dict(state["injected_context"])
    for _ in range(4):  # in, out, in, out: the best must not be evicted
        again = fill(state)
        assert contents(state["injected_context"])[0] == contents(given_first)[0]
        assert again.outcome == "filled"
    assert (first.outcome, first.injected, again.injected, again.given_before) == (
        "filled",
        True,
        False,
        True,
    )
    assert again.update == {}


def test_an_agent_that_asks_the_same_again_is_not_helped_by_what_it_has(fill):
    state = {"messages": [agent("dev", DATABASE)], "current_agent": "dev"}
    assert fill(state).outcome == "filled"
    state["messages"].append(agent("dev", DATABASE))
    assert fill(state).outcome == "unfilled"


def test_a_gap_that_is_closed_leaves_nothing_behind(fill):
    state = {"messages": [agent("dev", DATABASE)], "current_agent": "dev"}
    fill(state)
    state["messages"].append(agent("dev", "Done: the service uses Postgres, and the tests pass."))
    assert fill(state) is None
    assert contents(state["injected_context"]) == []
    assert state["injected_context"]["total_items"] == 0


def test_what_was_given_stays_until_its_agent_had_its_turn(fill):
    state = {"messages": [agent("dev", DATABASE)], "current_agent": "dev"}
    fill(state)
    state["messages"].append(agent("pm", "The database is in the plan for Postgres, go on."))
    fill(state)
    assert "We chose Postgres" in str(state["injected_context"])


def test_two_gaps_of_one_agent_stand_side_by_side(fill):
    state = {"messages": [agent("dev", DATABASE)], "current_agent": "dev"}
    fill(state)
    state["messages"].append(agent("dev", TIMEOUT))
    fill(state)
    assert "We chose Postgres" in str(state["injected_context"])
    assert "thirty minutes" in str(state["injected_context"])
    assert len(state["injected_context"]["open"]) == 2


def test_another_agents_gap_is_cleared_when_it_went_on(fill):
    state = {"messages": [agent("dev", DATABASE)], "current_agent": "dev"}
    fill(state)
    state["messages"] += [agent("dev", "Postgres it is, done."), agent("ops", TIMEOUT)]
    fill(state)
    assert "We chose Postgres" not in str(contents(state["injected_context"]))
    assert "thirty minutes" in str(contents(state["injected_context"]))


def test_the_limits_hold_for_all_that_was_given(fill):
    state = {"messages": [agent("dev", DATABASE)], "current_agent": "dev"}
    fill(state)
    state["messages"].append(agent("dev", TIMEOUT))
    held = dict(state["injected_context"])
    update = fill(state, max_context_size_bytes=60).update["injected_context"]
    assert merge_payloads(held, update)["total_size_bytes"] <= 60  # also where a reducer merges it
    assert state["injected_context"]["total_size_bytes"] <= 60
    assert "thirty minutes" in str(contents(state["injected_context"]))


# Merging


def test_equal_contexts_are_one_for_both_gaps():
    one, other = a_gap("which database"), a_gap("which port")
    held = merge_payloads(payload("It is Postgres.", gap=one), payload("it  is postgres.", "5432", gap=other))
    assert contents(held) == ["It is Postgres.", "5432"]
    closed = merge_payloads(held, {**held, "contexts": [], "open": {}, "closed": [gap_key(one)]})
    assert contents(closed) == ["It is Postgres.", "5432"]
    closed = merge_payloads(closed, {**closed, "contexts": [], "open": {}, "closed": [gap_key(other)]})
    assert contents(closed) == []


def test_what_was_cleared_does_not_come_back_from_an_older_copy():
    gap = a_gap()
    outer = payload("It is Postgres.", gap=gap)
    inner = merge_payloads(outer, {**outer, "contexts": [], "open": {}, "closed": [gap_key(gap)]})
    assert contents(merge_payloads(outer, inner)) == []  # what a sub-graph gives back
    again = merge_payloads(inner, payload("It is Postgres.", gap=gap))
    assert contents(again) == ["It is Postgres."]
    assert again["closed"] == []


@pytest.mark.parametrize("nothing", [None, {}])
def test_nothing_clears_everything(nothing):
    assert merge_payloads(payload("x"), nothing) == {}


def test_a_value_that_is_no_payload_takes_the_place_of_one():
    assert merge_payloads(payload("x"), {"task": "ship"}) == {"task": "ship"}
    handed = merge_payloads({"task": "ship"}, payload("x"))
    assert handed["task"] == "ship"
    assert contents(handed) == ["x"]


said = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=3)


@given(st.lists(said, min_size=1, max_size=4))
def test_branches_may_come_in_any_order(branches):
    made = [payload(*texts, gap=a_gap(str(at))) for at, texts in enumerate(branches)]
    orders = (made, made[::-1])
    merged = []
    for order in orders:
        held = {}
        for one in order:
            held = merge_payloads(held, one)
        merged.append(held)
    assert (
        sorted(contents(merged[0])) == sorted(contents(merged[1])) == sorted({t for b in branches for t in b})
    )
    assert merged[0]["open"].keys() == merged[1]["open"].keys()


def test_few_closed_gaps_are_remembered():
    held = {}
    for at in range(MAX_CLOSED + 5):
        gap = a_gap(str(at))
        held = merge_payloads(held, payload("x", gap=gap))
        held = merge_payloads(held, {**held, "contexts": [], "open": {}, "closed": [gap_key(gap)]})
    assert len(held["closed"]) == MAX_CLOSED


@pytest.mark.parametrize("held", [None, "x", 5, [1], {}, {"open": 5}])
def test_where_no_gap_can_be_read_there_is_nothing_to_clear(held):
    assert (
        make_update_clearing_closed_gaps({"messages": [], "injected_context": held, "handoff_context": held})
        == {}
    )


@pytest.mark.parametrize("record", [None, {}])
def test_a_gap_of_which_nothing_is_recorded_is_closed(record):
    held = {"open": {"k": record}}
    update = make_update_clearing_closed_gaps(
        {"messages": [], "injected_context": held, "handoff_context": held}
    )
    assert {target: (one["open"], one["closed"]) for target, one in update.items()} == {
        "injected_context": ({}, ["k"]),
        "handoff_context": ({}, ["k"]),
    }
