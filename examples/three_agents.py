"""Three agents build a feature. One of them lacks a decision that was made long ago.

Run `python examples/three_agents.py`. Without Foreword, the developer asks until the graph gives up; with a
gap node, the decision is found and the work goes on. The model is scripted: no key and no network needed.
"""

from __future__ import annotations

import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel

from foreword import ContextEngine
from foreword.config import Settings
from foreword.edges.langgraph import GapState, gap_node, injected_text

Graph = CompiledStateGraph[Any, Any, Any, Any]

TASK = "Sign-in for warehouse staff"
STEPS = 12
MEMORIES = [
    ("decision", "Session tokens for staff expire after 15 idle minutes, because scanners are shared."),
    ("decision", "We chose Postgres over MySQL for its JSON operators."),
    ("workflow", "Deploys happen on Tuesdays, never on Fridays."),
]


class State(MessagesState, GapState):
    """What the three agents share."""

    current_task: str
    current_agent: str


def scripted(messages: list[AnyMessage]) -> AIMessage:
    """A model that answers as each role would, given what it was shown; the developer needs a number."""
    role, shown = messages[0].text.split(".")[0], "\n".join(message.text for message in messages)
    if role == "analyst":
        answer = "Staff scan a badge to sign in, and are signed out again when they walk away."
    elif role == "architect":
        answer = "The badge service issues a session token; the API checks it with every request."
    elif "15 idle minutes" in shown:
        answer = "Done: tokens expire after 15 idle minutes, and a test holds that."
    else:
        answer = "I need more information: after how many idle minutes do session tokens for staff expire?"
    return AIMessage(answer, name=role)


def agent(role: str) -> Runnable[State, dict[str, Any]]:
    """A node that shows the model the conversation, and whatever was injected."""
    model = RunnableLambda(scripted)

    def speak(state: State) -> dict[str, Any]:
        prompt = SystemMessage(f"{role}.\n{injected_text(state)}")
        return {"current_agent": role, "messages": [model.invoke([prompt, *state["messages"]])]}

    return RunnableLambda(speak)


def build(gap: Runnable[Any, Any] | None = None) -> Graph:
    """From analyst to architect to developer, and back to the developer until it is done."""
    graph = StateGraph(State)
    for role in ("analyst", "architect", "developer"):
        graph.add_node(role, agent(role))
    graph.add_edge(START, "analyst")
    graph.add_edge("analyst", "architect")
    graph.add_edge("architect", "developer")
    again = "developer"
    if gap is not None:
        graph.add_node("gap", gap)
        graph.add_edge("gap", "developer")
        again = "gap"
    graph.add_conditional_edges(
        "developer",
        lambda state: END if state["messages"][-1].text.startswith("Done") else again,
        [END, again],
    )
    return graph.compile()


def run(graph: Graph) -> list[str]:
    """What happened, one line for each step."""
    start = {"current_task": TASK, "messages": [HumanMessage(TASK)]}
    lines: list[str] = []
    try:
        for step in graph.stream(start, {"recursion_limit": STEPS}, stream_mode="updates"):
            for node, update in step.items():
                said = update["messages"][-1].text if node != "gap" else injected_text(update)
                lines.append(f"[b]{node}[/b]: {said}")
    except GraphRecursionError:
        lines.append(f"[red]gave up after {STEPS} steps[/red]")
    counted = [(line, len(list(times))) for line, times in groupby(lines)]
    return [f"{line} [b]× {times}[/b]" if times > 1 else line for line, times in counted]


def main() -> None:
    """Both runs, side by side."""
    with (
        tempfile.TemporaryDirectory() as home,
        ContextEngine(settings=Settings(home=Path(home))) as engine,
    ):
        for label, text in MEMORIES:
            engine.remember(text, "warehouse", type=label)
        engine.embed_pending("warehouse")
        runs = {
            "without Foreword": run(build()),
            "with a gap node": run(build(gap_node(engine, "warehouse"))),
        }
    console = Console(width=120)
    panels = [Panel("\n\n".join(lines), title=title, width=58) for title, lines in runs.items()]
    console.print(Columns(panels))


if __name__ == "__main__":
    main()
