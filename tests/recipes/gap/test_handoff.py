"""Before a hand-off the receiver is given what its task needs; nobody has to notice a gap first."""

from __future__ import annotations

import asyncio

import pytest

from foreword.recipes.gap.engine_memory import EngineMemory
from foreword.recipes.gap.handoff import prepare_handoff
from foreword.recipes.gap.types import InjectionConfig

GENEROUS = InjectionConfig(min_relevance_score=0.3)


@pytest.fixture
def memory(engine, project):
    return EngineMemory(engine, "shop")


def prepare(state, memory=None, config=GENEROUS, **asked):
    return asyncio.run(prepare_handoff(state, memory, config, **asked))


def contents(state):
    return [one["content"] for one in state["handoff_context"]["contexts"]]


def test_the_task_brings_what_is_known_about_it(engine, memory):
    state = {"next_agent": "dev", "current_agent": "pm", "messages": []}
    result = prepare(state, memory, task="Set the session timeout for staff")
    assert (result.receiver, result.outcome) == ("dev", "filled")
    assert "The session timeout for staff is thirty minutes." in contents(state)
    assert result.update["handoff_context"] == state["handoff_context"]
    assert engine.explain("shop", result.receipt_id).injected_entries


def test_what_is_required_is_searched_for_one_by_one(memory):
    state = {
        "handoff_context": {
            "task": "Write the deployment page",
            "to_agent": "writer",
            "required_context": [
                "When do deploys happen, and never on which day?",
                "Which database did we choose?",
            ],
        },
    }
    result = prepare(state, memory)
    assert result.receiver == "writer"
    assert state["handoff_context"]["task"] == "Write the deployment page"
    assert {
        "Deploys happen on Tuesdays, never on Fridays.",
        "We chose Postgres over MySQL for its JSON operators.",
    } <= set(contents(state))


def test_what_nothing_meets_is_named(memory):
    wanted = "the heating valves of the zebra enclosure"
    result = prepare({}, memory, InjectionConfig(), receiver="dev", required_context=[wanted])
    assert (result.missing, result.outcome) == ((wanted,), "unfilled")


def test_a_value_of_the_senders_state_that_is_required_by_name_is_handed_over():
    state = {"api_contract": {"path": "/orders", "method": "POST"}, "messages": []}
    result = prepare(state, receiver="dev", required_context=["api_contract"])
    assert result.outcome == "filled"
    assert "/orders" in contents(state)[0]
    assert state["handoff_context"]["contexts"][0]["metadata"]["place"] == "api_contract"


def test_the_senders_messages_are_searched_too():
    said = {
        "role": "assistant",
        "name": "architect",
        "content": "The badge service issues session tokens for staff.",
    }
    state = {"messages": [said]}
    prepare(state, receiver="dev", task="Check the session tokens that the badge service issues for staff")
    assert said["content"] in contents(state)


def test_where_nothing_is_needed_nothing_is_given(memory):
    state = {"messages": []}
    result = prepare(state, memory, receiver="dev")
    assert (result.outcome, result.update, set(state)) == ("none", {}, {"messages"})


def test_the_next_receiver_is_not_given_what_the_last_one_was(memory):
    state = {"messages": []}
    for receiver, task in (("dev", "Set the session timeout for staff"), ("ops", "When do deploys happen?")):
        prepare(state, memory, InjectionConfig(max_context_items=1), receiver=receiver, task=task)
    assert "The session timeout for staff is thirty minutes." not in contents(state)
    assert "Deploys happen on Tuesdays, never on Fridays." in contents(state)


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"handoff_context": "x"},
        {"handoff_context": {"required_context": 5}},
        {"required_context": {"a": 1}},
    ],
)
def test_no_state_makes_a_hand_off_fail(state, memory):
    prepare(state, memory, receiver="dev", task="Set the session timeout")
    assert "The session timeout for staff is thirty minutes." in contents(state)
