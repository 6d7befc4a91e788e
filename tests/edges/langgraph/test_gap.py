from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph

from foreword.edges.langgraph import gap_node, injected_text
from foreword.recipes.gap.types import InjectionConfig
from foreword.text.frame import wrap_in_frame

ASKS = AIMessage(
    "I need more information: which database did we choose, Postgres or MySQL?", name="developer"
)
GENEROUS = InjectionConfig(min_relevance_score=0.3)


class State(TypedDict, total=False):
    current_agent: str
    messages: list[Any]
    injected_context: dict[str, Any]
    handoff_context: dict[str, Any]
    next_agent: str


@dataclass
class Typed:
    messages: list[Any] = field(default_factory=list)
    current_agent: str = "developer"
    injected_context: dict[str, Any] = field(default_factory=dict)


def _graph(node, schema=State):
    graph = StateGraph(schema)
    graph.add_node("gap", node)
    graph.add_edge(START, "gap")
    graph.add_edge("gap", END)
    return graph.compile()


def test_a_gap_is_filled_in_the_state(engine, project):
    state = _graph(gap_node(engine, "shop", GENEROUS)).invoke(
        {"current_agent": "developer", "messages": [ASKS]}
    )
    assert "Postgres over MySQL" in injected_text(state)
    assert injected_text(state).startswith(wrap_in_frame("-").split("\n")[0])
    assert state["messages"] == [ASKS]


def test_the_same_in_an_awaited_graph_and_inside_a_running_loop(engine, project):
    graph = _graph(gap_node(engine, "shop", GENEROUS))

    async def both():
        asked = {"current_agent": "developer", "messages": [ASKS]}
        return await graph.ainvoke(asked), graph.invoke(asked)

    for state in asyncio.run(both()):
        assert "Postgres over MySQL" in injected_text(state)


def test_a_state_that_is_an_object_is_filled_too(engine, project):
    state = _graph(gap_node(engine, "shop", GENEROUS), Typed).invoke(Typed(messages=[ASKS]))
    assert "Postgres over MySQL" in injected_text(state)


def test_the_state_that_a_node_is_given_is_not_written(engine, project):
    given = {"current_agent": "developer", "messages": [ASKS]}
    assert gap_node(engine, "shop", GENEROUS).invoke(given)
    assert set(given) == {"current_agent", "messages"}


@pytest.mark.parametrize("messages", [[], [AIMessage("The tests pass.", name="developer")]])
def test_where_nothing_is_missing_the_update_is_empty(engine, project, messages):
    assert gap_node(engine, "shop").invoke({"current_agent": "developer", "messages": messages}) == {}
    assert injected_text({}) == ""


def test_what_was_given_once_is_not_given_again(engine, project):
    graph = _graph(gap_node(engine, "shop", GENEROUS))
    once = graph.invoke({"current_agent": "developer", "messages": [ASKS]})
    assert graph.invoke(once)["injected_context"] == once["injected_context"]


@pytest.mark.parametrize(
    "held", [None, "x", 5, [1], {}, {"contexts": None}, {"contexts": [None, {"content": ""}]}]
)
def test_what_no_node_put_there_is_no_text(held):
    assert injected_text({"injected_context": held}) == ""
    assert injected_text(Typed(injected_context=held)) == ""
    assert injected_text(None) == ""


def test_a_failure_is_an_empty_update_and_a_warning(engine, project, caplog):
    engine.close()
    assert gap_node(engine, "shop").invoke({"current_agent": "developer", "messages": [ASKS]}) == {}
    assert "a source of context did not answer" in caplog.text


def test_limits_that_make_no_sense_do_not_stop_a_graph(engine, project, caplog):
    state = {"current_agent": "developer", "messages": [ASKS]}
    assert gap_node(engine, "shop", "all of it").invoke(state) == {}
    assert "a gap was not filled" in caplog.text
