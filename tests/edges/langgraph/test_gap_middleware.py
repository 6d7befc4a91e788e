"""An agent of `create_agent` that lacks something is given it and answers again."""

from __future__ import annotations

import asyncio

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from foreword.edges.langgraph import ContextMiddleware, GapMiddleware, GapState, get_outcome, injected_text
from foreword.recipes.gap.types import InjectionConfig

ASKS = "I need more information: which database did we choose, Postgres or MySQL?"
GENEROUS = InjectionConfig(min_relevance_score=0.3)


@pytest.fixture
def make_agent(engine, project, scripted):
    def make(*replies, tools=(), more=(), limits=GENEROUS):
        model = scripted(*replies)
        middleware = [GapMiddleware(engine, "shop", limits), *more]
        agent = create_agent(model, tools=list(tools), middleware=middleware, checkpointer=InMemorySaver())
        return agent, model

    return make


def _ask(agent, text="Set up the database.", awaited=False):
    asked, config = {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t"}}
    return asyncio.run(agent.ainvoke(asked, config)) if awaited else agent.invoke(asked, config)


def _text_of(messages):
    return "\n".join(message.text for message in messages)


@pytest.mark.parametrize("awaited", [False, True])
def test_an_agent_that_asks_is_called_again_with_the_answer(make_agent, awaited):
    agent, model = make_agent(ASKS, "Done: it is Postgres.")
    state = _ask(agent, awaited=awaited)
    assert "Postgres over MySQL" in _text_of(model.seen[1])
    assert model.seen[1][: len(model.seen[0])] == model.seen[0]  # what is cached stays valid
    assert isinstance(model.seen[1][-1], HumanMessage)
    assert state["messages"][-1].text == "Done: it is Postgres."
    assert "Postgres over MySQL" not in _text_of(state["messages"])
    assert get_outcome(state) == "none"  # of the last answer
    assert injected_text(state) == ""


def test_an_agent_that_nothing_helps_ends_with_its_question(make_agent):
    asks = "I need more information about the zebra enclosure heating valves."
    agent, model = make_agent(asks, limits=InjectionConfig())
    state = _ask(agent)
    assert len(model.seen) == 1
    assert state["messages"][-1].text == asks
    assert get_outcome(state) == "unfilled"


def test_an_agent_that_asks_for_ever_is_not_called_for_ever(make_agent):
    agent, model = make_agent(ASKS)
    assert get_outcome(_ask(agent)) == "unfilled"
    assert len(model.seen) <= 3


def test_an_agent_that_lacks_nothing_is_left_alone(make_agent):
    agent, model = make_agent("It is done.")
    assert get_outcome(_ask(agent)) == "none"
    assert model.seen == [model.seen[0]]


def test_context_never_stands_between_a_call_and_its_result(make_agent):
    def look_up(name: str) -> str:
        """Look something up."""
        return f"{name}: found"

    call = AIMessage("", tool_calls=[{"name": "look_up", "args": {"name": "x"}, "id": "1"}])
    agent, model = make_agent(ASKS, call, "Done: it is Postgres.", tools=[look_up])
    _ask(agent)
    for at, message in enumerate(model.seen[-1]):
        if isinstance(message, ToolMessage):
            assert model.seen[-1][at - 1].tool_calls
    assert model.seen[-1][: len(model.seen[-2])] == model.seen[-2]


def test_it_goes_with_the_other_middleware(engine, make_agent):
    more = [ContextMiddleware(engine, "shop", deadline_ms=20_000)]
    agent, model = make_agent("I need more information: what does Priya prefer?", "Done.", more=more)
    _ask(agent, "Which database did we choose?")
    assert "Postgres over MySQL" in _text_of(model.seen[0])
    assert "small pull requests" in _text_of(model.seen[1])


def test_of_two_agents_that_work_at_once_the_one_that_lacks_something_counts(make_agent):
    lost, _ = make_agent(
        "I need more information about the zebra enclosure heating valves.", limits=InjectionConfig()
    )
    calm, _ = make_agent("The page is done.", limits=InjectionConfig())

    class Shared(MessagesState, GapState):
        pass

    graph = StateGraph(Shared)
    for name, agent in (("first", lost), ("second", calm)):
        graph.add_node(name, agent)
        graph.add_edge(START, name)
    assert get_outcome(_ask(graph.compile(checkpointer=InMemorySaver()))) == "unfilled"
