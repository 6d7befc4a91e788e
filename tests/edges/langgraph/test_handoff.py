"""Supervisors and swarms: the receiver of a hand-off has its context before it starts."""

from __future__ import annotations

import asyncio

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph

from foreword.edges.langgraph import (
    GapMiddleware,
    GapState,
    get_outcome,
    handoff_node,
    handoff_tool,
    injected_text,
)
from foreword.recipes.gap.types import InjectionConfig

GENEROUS = InjectionConfig(min_relevance_score=0.3)
TASK = "Set the session timeout for staff"


class State(MessagesState, GapState):
    next_agent: str
    current_agent: str
    active_agent: str
    current_task: str


def said(model):
    return "\n".join(message.text for message in model.seen[-1])


@pytest.mark.parametrize("awaited", [False, True])
def test_a_supervisors_worker_is_given_what_its_task_needs(engine, project, awaited):
    shown = []

    def work(state):
        shown.append(injected_text(state))
        return {"current_agent": "developer"}

    graph = StateGraph(State)
    graph.add_node(
        "supervisor",
        lambda _: {"current_agent": "supervisor", "next_agent": "developer", "current_task": TASK},
    )
    graph.add_node("handoff", handoff_node(engine, "shop", GENEROUS))
    graph.add_node("developer", work)
    graph.add_edge(START, "supervisor")
    graph.add_edge("supervisor", "handoff")
    graph.add_edge("handoff", "developer")
    graph.add_edge("developer", END)
    compiled = graph.compile()
    state = asyncio.run(compiled.ainvoke({"messages": []})) if awaited else compiled.invoke({"messages": []})
    assert "thirty minutes" in shown[0]
    assert get_outcome(state) == "filled"
    assert state["gap_outcome"]["receiver"] == "developer"


@pytest.mark.parametrize("awaited", [False, True])
def test_an_agent_of_a_swarm_hands_over_with_context(engine, project, scripted, awaited):
    call = AIMessage("", tool_calls=[{"name": "hand_over_to_developer", "args": {"task": TASK}, "id": "1"}])
    planner, developer = scripted(call), scripted("Done.")
    hand_over = handoff_tool(engine, "shop", "developer", GENEROUS)
    graph = StateGraph(State)
    graph.add_node(
        "planner", create_agent(planner, tools=[hand_over], name="planner"), destinations=("developer",)
    )
    graph.add_node(
        "developer", create_agent(developer, middleware=[GapMiddleware(engine, "shop")], name="developer")
    )
    graph.add_edge(START, "planner")
    graph.add_edge("developer", END)
    compiled, asked = graph.compile(), {"messages": [HumanMessage("Please see to the sign-in.")]}
    state = asyncio.run(compiled.ainvoke(asked)) if awaited else compiled.invoke(asked)
    assert state["messages"][-1].text == "Done."
    assert state["active_agent"] == "developer"
    assert "thirty minutes" in said(developer)
    assert "thirty minutes" not in str(state["messages"])


def test_calls_beside_a_hand_off_are_not_left_without_an_answer(engine, project, scripted):
    @tool
    def look_up(word: str) -> str:
        """Look a word up."""
        return word

    calls = [
        {"name": "hand_over_to_senior_developer", "args": {"task": TASK}, "id": "1"},
        {"name": "look_up", "args": {"word": "timeout"}, "id": "2"},
    ]
    parts = [{"type": "text", "text": "Over."}, *({"type": "tool_use", **call} for call in calls)]
    planner, developer = scripted(AIMessage(parts, tool_calls=calls)), scripted("Done.")
    hand_over = handoff_tool(engine, "shop", "senior developer", GENEROUS)  # no blanks in a tool's name
    graph = StateGraph(State)
    graph.add_node(
        "planner", create_agent(planner, tools=[hand_over, look_up]), destinations=("senior developer",)
    )
    graph.add_node("senior developer", create_agent(developer))
    graph.add_edge(START, "planner")
    graph.add_edge("senior developer", END)
    graph.compile().invoke({"messages": [HumanMessage("Please see to the sign-in.")]})
    _, asking, answer = developer.seen[-1]
    assert [call["id"] for call in asking.tool_calls] == [answer.tool_call_id] == ["1"]
    assert [part["id"] for part in asking.content if part["type"] == "tool_use"] == ["1"]
    assert answer.name == "hand_over_to_senior_developer"


def test_a_memory_that_fails_does_not_stop_a_hand_off(engine, project, caplog):
    engine.close()
    update = handoff_node(engine, "shop").invoke(
        {"next_agent": "developer", "current_task": TASK, "messages": []}
    )
    assert get_outcome(update) in ("none", "unfilled")
    assert caplog.text
