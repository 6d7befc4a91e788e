from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

from foreword.edges.langgraph import GapState, gap_node, get_outcome, injected_text
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
    gap_outcome: dict[str, Any]
    next_agent: str


class Reduced(MessagesState, GapState):
    current_agent: str


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
def test_where_nothing_is_missing_the_outcome_is_all_that_changes(engine, project, messages):
    update = gap_node(engine, "shop").invoke({"current_agent": "developer", "messages": messages})
    assert set(update) == {"gap_outcome"}
    assert update["gap_outcome"]["outcome"] == get_outcome(update) == "none"
    assert injected_text({}) == ""
    assert get_outcome({}) == get_outcome({"gap_outcome": "x"}) == "none"


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


def test_a_failure_is_a_warning_and_the_graph_goes_on(engine, project, caplog):
    engine.close()
    update = gap_node(engine, "shop").invoke({"current_agent": "developer", "messages": [ASKS]})
    assert set(update) == {"gap_outcome"}
    assert "failed" in update["gap_outcome"]["problem"]
    assert "a source of context did not answer" in caplog.text


def test_limits_that_make_no_sense_do_not_stop_a_graph(engine, project, caplog):
    state = {"current_agent": "developer", "messages": [ASKS]}
    assert get_outcome(gap_node(engine, "shop", "all of it").invoke(state)) == "none"
    assert "a gap was not filled" in caplog.text


# What came of it


def test_the_outcome_says_what_happened(engine, project):
    graph = _graph(gap_node(engine, "shop"))
    filled = graph.invoke({"current_agent": "developer", "messages": [ASKS]})["gap_outcome"]
    assert filled["outcome"] == "filled"
    assert filled["gaps"][0]["agent"] == "developer"
    assert filled["items"] > 0 < filled["tokens"]
    assert filled["duration_ms"] > 0
    assert engine.explain("shop", filled["receipt_id"]).injected_entries
    strange = AIMessage("I need more information about the zebra enclosure heating valves.", name="developer")
    unfilled = graph.invoke({"current_agent": "developer", "messages": [strange]})["gap_outcome"]
    assert (unfilled["outcome"], unfilled["items"]) == ("unfilled", 0)
    assert engine.explain("shop", unfilled["receipt_id"]).injected_entries == ()


def test_context_leaves_the_state_when_the_agent_went_on(engine, project):
    graph = _graph(gap_node(engine, "shop", GENEROUS), Reduced)
    state = graph.invoke({"current_agent": "developer", "messages": [ASKS]})
    assert injected_text(state)
    state["messages"].append(AIMessage("Done: it is Postgres.", name="developer"))
    state = graph.invoke(state)
    assert injected_text(state) == ""
    assert get_outcome(state) == "none"


def test_whose_words_they_are_stands_in_the_text(engine, clock):
    engine.remember(
        "Refunds above 500 euros are approved by Mara.",
        "shop",
        kind="document",
        metadata={"path": "docs/refunds.md"},
    )
    engine.embed_pending("shop")
    asks = AIMessage("I need more information: who approves refunds above 500 euros?", name="developer")
    state = _graph(gap_node(engine, "shop", GENEROUS)).invoke(
        {"messages": [asks], "current_agent": "developer"}
    )
    assert "docs/refunds.md" in injected_text(state)
    assert "“Refunds above 500 euros are approved by Mara.”" in injected_text(state)


def test_an_unfilled_gap_goes_to_a_person_and_the_answer_closes_it(engine, project):
    def develop(state):
        answered = any("boiler room" in message.text for message in state["messages"])
        said = "Done: the valve is in the boiler room." if answered else STRANGE
        return {"messages": [AIMessage(said, name="developer")], "current_agent": "developer"}

    def ask_person(state):
        answer = interrupt({"asked": state["gap_outcome"]["gaps"][0]["context_query"]})
        return {"messages": [HumanMessage(answer)]}

    graph = StateGraph(Reduced)
    graph.add_node("develop", develop)
    graph.add_node("gap", gap_node(engine, "shop"))
    graph.add_node("person", ask_person)
    graph.add_edge(START, "develop")
    graph.add_edge("develop", "gap")
    graph.add_conditional_edges("gap", get_outcome, {"none": END, "filled": "develop", "unfilled": "person"})
    graph.add_edge("person", "develop")
    compiled, config = graph.compile(checkpointer=InMemorySaver()), {"configurable": {"thread_id": "t"}}
    stopped = compiled.invoke({"messages": [HumanMessage("Close the valve")]}, config)
    assert "zebra" in stopped["__interrupt__"][0].value["asked"]
    state = compiled.invoke(Command(resume="It is in the boiler room of the zebra enclosure."), config)
    assert state["messages"][-1].text.startswith("Done")
    assert get_outcome(state) == "none"


STRANGE = "I need more information: where is the heating valve of the zebra enclosure?"


# Schemas, branches and sub-graphs


@pytest.mark.parametrize(
    ("schema", "missing"), [(MessagesState, "injected_context, gap_outcome"), (Reduced, "")]
)
def test_a_schema_without_the_keys_is_a_warning_when_the_graph_is_compiled(engine, schema, missing, caplog):
    _graph(gap_node(engine, "shop"), schema)
    assert ("schema lacks keys" in caplog.text) == bool(missing)
    assert missing in caplog.text


def _branches(engine, agents):
    """A graph that sends a state of its own for each agent to the node, all at once."""

    def fan_out(_state):
        said = {
            "developer": ASKS,
            "operator": TIMEOUT,
            "writer": AIMessage("The page is done.", name="writer"),
        }
        return [Send("gap", {"messages": [said[name]], "current_agent": name}) for name in agents]

    graph = StateGraph(Reduced)
    graph.add_node("start", lambda _state: {})
    graph.add_node("gap", gap_node(engine, "shop"))
    graph.add_edge(START, "start")
    graph.add_conditional_edges("start", fan_out, ["gap"])
    graph.add_edge("gap", END)
    return graph.compile()


TIMEOUT = AIMessage("I need more information: what is the session timeout for staff?", name="operator")


def test_branches_that_run_at_once_are_all_kept(engine, project):
    state = _branches(engine, ["developer", "operator", "writer"]).invoke({"messages": []})
    assert "Postgres over MySQL" in injected_text(state)
    assert "thirty minutes" in injected_text(state)
    assert state["gap_outcome"]["outcome"] == "filled"
    assert {gap["agent"] for gap in state["gap_outcome"]["gaps"]} == {"developer", "operator"}


def test_two_that_are_sent_the_same_give_it_once(engine, project):
    state = _branches(engine, ["developer", "developer"]).invoke({"messages": []})
    contents = [one["content"] for one in state["injected_context"]["contexts"]]
    assert len(contents) == len(set(contents)) > 0


def test_what_a_sub_graph_fills_and_clears_reaches_the_graph_around_it(engine, project):
    inner = _graph(gap_node(engine, "shop", GENEROUS), Reduced)
    outer = StateGraph(Reduced)
    outer.add_node("inner", inner)
    outer.add_edge(START, "inner")
    outer.add_edge("inner", END)
    graph, config = outer.compile(checkpointer=InMemorySaver()), {"configurable": {"thread_id": "t"}}
    state = graph.invoke({"messages": [ASKS], "current_agent": "developer"}, config)
    assert "Postgres over MySQL" in injected_text(state)
    state = graph.invoke({"messages": [AIMessage("Done: it is Postgres.", name="developer")]}, config)
    assert injected_text(state) == ""


NOBODY_KNOWS = AIMessage("I need more information: in which city is the spare parts warehouse?", name="ops")
CALM = AIMessage("The page is done.", name="writer")


def _sub_graphs_at_once(**sub_graphs):
    """A graph that runs all these sub-graphs in the same step."""
    graph = StateGraph(Reduced)
    for name, inner in sub_graphs.items():
        graph.add_node(name, inner)
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph.compile()


def _sub_graph_that_says(message, *nodes):
    """A sub-graph whose agent says this, with these nodes after it."""
    graph = StateGraph(Reduced)
    graph.add_node("agent", lambda _state: {"messages": [message]})
    graph.add_edge(START, "agent")
    for number, (before, node) in enumerate(zip(("agent", "0", "1"), nodes, strict=False)):
        graph.add_node(str(number), node)
        graph.add_edge(before, str(number))
    return graph.compile()


@pytest.mark.parametrize("names", [("first", "second"), ("second", "first")])
def test_a_gap_that_one_sub_graph_cannot_fill_is_not_hidden_by_another(engine, project, names):
    node = gap_node(engine, "shop")
    inner = dict(zip(names, (_sub_graph_that_says(one, node) for one in (NOBODY_KNOWS, CALM)), strict=True))
    graph = _sub_graphs_at_once(**{name: inner[name] for name in sorted(inner)})
    for state in (
        graph.invoke({"messages": []}),
        asyncio.run(graph.ainvoke({"messages": []})),
    ):
        assert get_outcome(state) == "unfilled"
        assert [gap["agent"] for gap in state["gap_outcome"]["gaps"]] == ["ops"]


def test_a_sub_graph_without_a_node_does_not_bring_back_an_old_outcome(engine, project):
    quiet = _sub_graph_that_says(CALM)
    graph = _sub_graphs_at_once(
        asks=_sub_graph_that_says(NOBODY_KNOWS, gap_node(engine, "shop")), quiet=quiet
    )
    old = _graph(gap_node(engine, "shop"), Reduced).invoke({"messages": [CALM]})["gap_outcome"]
    assert get_outcome(graph.invoke({"messages": [], "gap_outcome": old})) == "unfilled"


def test_within_a_sub_graph_the_last_outcome_counts(engine, project):
    def answer(_state):
        return {"messages": [HumanMessage("The spare parts warehouse is in Rotterdam.")]}

    node = gap_node(engine, "shop")
    inner = _sub_graph_that_says(NOBODY_KNOWS, node, answer, node)
    assert get_outcome(_sub_graphs_at_once(inner=inner).invoke({"messages": []})) == "none"


def test_what_branches_are_given_is_counted_together(engine, project):
    outcome = _branches(engine, ["developer", "operator"]).invoke({"messages": []})["gap_outcome"]
    alone = [
        _branches(engine, [name]).invoke({"messages": []})["gap_outcome"]
        for name in ("developer", "operator")
    ]
    for counted in ("items", "tokens"):
        assert outcome[counted] == sum(one[counted] for one in alone) > 0
