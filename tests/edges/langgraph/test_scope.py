"""Whose workspace it is comes from the run, and nobody is ever given somebody else's."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TypedDict
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime  # noqa: TC002  (LangGraph reads what a node asks for)

from foreword.edges.langgraph import (
    ContextMiddleware,
    ForewordStore,
    GapMiddleware,
    GapState,
    gap_node,
    injected_text,
)
from foreword.edges.langgraph.scope import WorkspaceScope
from foreword.errors import ValidationError

ASKS = AIMessage("I need more information: which allergy does the guest have?", name="cook")


def resolve(workspace, context=None, **configurable):
    return WorkspaceScope(workspace).workspace_of_run(
        {"configurable": configurable}, SimpleNamespace(context=context)
    )


def test_a_name_is_the_same_for_every_run():
    assert resolve("acme") == "acme"
    assert resolve("acme/{{plain}}") == "acme/{plain}"
    assert (
        WorkspaceScope("acme").workspace_of_current_run() == WorkspaceScope("acme").fixed_workspace == "acme"
    )


def test_a_template_is_filled_from_config_context_or_metadata():
    @dataclass
    class Context:
        user_id: str

    assert resolve("acme/{user_id}", user_id="mara") == "acme/mara"
    assert resolve("acme/{user_id}", {"user_id": "mara"}) == "acme/mara"
    assert resolve("acme/{user_id}", Context("mara"), user_id="mara") == "acme/mara"
    assert resolve("acme/{user.id}", {"user": {"id": 7}}) == "acme/7"
    assert resolve("{id}", {"id": UUID(int=1)}) == str(UUID(int=1))
    metadata = {"configurable": {}, "metadata": {"user_id": "mara"}}
    assert WorkspaceScope("acme/{user_id}").workspace_of_run(metadata) == "acme/mara"


@pytest.mark.parametrize("value", [None, "", "  ", True, 1.5, [], {}, ["mara"], b"mara", object()])
def test_a_value_that_names_nobody_is_an_error_that_names_it(value):
    with pytest.raises(ValidationError, match="user_id"):
        resolve("acme/{user_id}", {"user_id": value})
    with pytest.raises(ValidationError, match="user_id"):
        resolve("acme/{user_id}", user_id=value)


def test_two_values_that_differ_are_an_error():
    with pytest.raises(ValidationError, match=r"user_id.*'mara'.*'ben'"):
        resolve("acme/{user_id}", {"user_id": "mara"}, user_id="ben")


@pytest.mark.parametrize(
    "template", ["acme/{}", "acme/{0}", "acme/{user_id", "{a}{b}", "{a}x{b}", "acme/{a b}", "{a!r}", "{a:.1}"]
)
def test_a_template_that_cannot_tell_users_apart_is_refused(template):
    with pytest.raises(ValidationError):
        WorkspaceScope(template)


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8).filter(
    str.strip
)


@given(st.tuples(names, names), st.tuples(names, names))
def test_two_users_never_share_a_name(one, other):
    def spelled(pair):
        return resolve("acme/{team}/{user}", team=pair[0], user=pair[1])

    assert (spelled(one) == spelled(other)) == (one == other)
    assert WorkspaceScope("acme/{team}/{user}").matches_template(spelled(one))


def test_a_function_is_given_config_and_runtime():
    def choose(config, runtime):
        return f"{runtime.context['firm']}-{config['configurable']['user_id']}"

    assert resolve(choose, {"firm": "acme"}, user_id="mara") == "acme-mara"
    with pytest.raises(ValidationError, match="must return the name"):
        resolve(lambda _config, _runtime: "")
    with pytest.raises(KeyError):  # what the user's own function raises is the user's
        resolve(choose, {"firm": "acme"})


def test_outside_of_a_run_there_is_no_workspace():
    with pytest.raises(ValidationError, match=r"'acme/\{user_id\}' .*no graph is running here.*for_run"):
        WorkspaceScope("acme/{user_id}").workspace_of_current_run()


def test_an_error_shows_how_a_path_is_passed():
    with pytest.raises(ValidationError) as caught:
        WorkspaceScope("acme/{user.id}").workspace_of_run({})
    example = '{"configurable": {"user": {"id": …}}}'
    assert example in str(caught.value)
    assert (
        WorkspaceScope("acme/{user.id}").workspace_of_run(json.loads(example.replace("…", "7"))) == "acme/7"
    )


# In a graph


class State(GapState, total=False):
    messages: list
    seen: str


@pytest.fixture
def guests(engine):
    for user, allergy in (("mara", "walnuts"), ("ben", "shellfish")):
        engine.remember(f"The guest has an allergy: {allergy}.", f"acme/{user}", type="fact")
        engine.embed_pending(f"acme/{user}")
    return {"mara": "walnuts", "ben": "shellfish"}


def graph_of(*nodes, store=None, context=None):
    graph = StateGraph(State, context_schema=context)
    graph.add_sequence(list(nodes))
    graph.add_edge(START, nodes[0][0])
    graph.add_edge(nodes[-1][0], END)
    return graph.compile(store=store)


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("through", ["config", "context"])
def test_one_compiled_graph_serves_two_users(engine, guests, awaited, through):
    class Context(TypedDict):
        user_id: str

    graph = graph_of(("gap", gap_node(engine, "acme/{user_id}")), context=Context)
    for user, allergy in guests.items():
        asked = {"messages": [ASKS]}
        given = (
            {"context": {"user_id": user}}
            if through == "context"
            else {"config": {"configurable": {"user_id": user}}}
        )
        state = asyncio.run(graph.ainvoke(asked, **given)) if awaited else graph.invoke(asked, **given)
        assert allergy in injected_text(state)
        assert not any(other in injected_text(state) for other in set(guests.values()) - {allergy})


def test_a_node_without_a_user_stops_the_run(engine, guests):
    graph = graph_of(("gap", gap_node(engine, "acme/{user_id}")))
    with pytest.raises(ValidationError, match="needs 'user_id'"):
        graph.invoke({"messages": [ASKS]})


@pytest.mark.parametrize("kind", [ContextMiddleware, GapMiddleware])
def test_an_agent_without_a_user_stops_the_run(engine, guests, kind):
    agent = create_agent(FakeListChatModel(responses=["ok"]), middleware=[kind(engine, "acme/{user_id}")])
    with pytest.raises(ValidationError, match="needs 'user_id'"):
        agent.invoke({"messages": [("user", "Which allergy?")]})
    agent.invoke({"messages": [("user", "Which allergy?")]}, {"configurable": {"user_id": "mara"}})


def test_a_store_is_each_users_own(engine):
    store = ForewordStore(engine, "acme/{user_id}", ttl={"default_ttl": 10})

    def keep(state, runtime: Runtime):
        runtime.store.put(("notes",), "last", {"text": state["seen"]})
        return {"seen": str([item.value["text"] for item in runtime.store.search(("notes",))])}

    graph = graph_of(("keep", keep), store=store)
    for user in ("mara", "ben"):
        state = graph.invoke({"seen": user}, {"configurable": {"user_id": user}})
        assert state["seen"] == str([user])
    assert store.for_run(user_id="mara").get(("notes",), "last").value == {"text": "mara"}
    with pytest.raises(ValidationError, match="no graph is running"):
        store.get(("notes",), "last")
    engine.clock.advance(minutes=11)
    assert store.sweep_ttl() == 2  # those of both
