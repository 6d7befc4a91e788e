from __future__ import annotations

import asyncio
import threading
from itertools import pairwise
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from foreword.config import Settings
from foreword.edges.langgraph import ContextMiddleware
from foreword.engine.context_engine import ContextEngine
from foreword.testing import HashEmbeddings
from foreword.text.frame import wrap_in_frame
from foreword.types import Filters

OPENING = wrap_in_frame("-").split("\n")[0]
STATEMENTS = (
    "We chose Postgres over MySQL for its JSON operators.",
    "The session timeout for staff is thirty minutes.",
    "Deploys happen on Tuesdays, never on Fridays.",
)


class Scripted(BaseChatModel):
    """A model that says what it was told to, and remembers what it was shown."""

    replies: list[Any]
    seen: list[Any]

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        reply = self.replies[min(len(self.seen), len(self.replies) - 1)]
        self.seen.append(list(messages))
        message = AIMessage(reply) if isinstance(reply, str) else reply
        return ChatResult(generations=[ChatGeneration(message=message)])


def _agent(middleware, *replies, tools=(), saver=None):
    model = Scripted(replies=list(replies or ["Noted."]), seen=[])
    agent = create_agent(
        model, tools=list(tools), middleware=[middleware], checkpointer=saver or InMemorySaver()
    )
    return agent, model


def _ask(agent, text, thread="t1"):
    return agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}})


def _text_of(messages):
    return "\n".join(message.text for message in messages)


@pytest.fixture
def middleware(engine, project):
    return ContextMiddleware(engine, "shop", deadline_ms=20_000)


def test_the_model_sees_the_context_and_the_state_does_not(middleware):
    agent, model = _agent(middleware)
    state = _ask(agent, "Which database did we choose?")
    assert OPENING in _text_of(model.seen[0])
    assert "Postgres over MySQL" in _text_of(model.seen[0])
    assert _text_of(model.seen[0]).endswith("Which database did we choose?")
    assert "Postgres" not in _text_of(state["messages"])


def test_the_same_holds_for_an_agent_that_is_awaited(middleware):
    agent, model = _agent(middleware)
    asked = {"messages": [HumanMessage("Which database did we choose?")]}
    asyncio.run(agent.ainvoke(asked, {"configurable": {"thread_id": "t1"}}))
    assert "Postgres over MySQL" in _text_of(model.seen[0])


def test_nothing_is_added_when_nothing_is_relevant_or_nothing_was_asked(middleware):
    agent, model = _agent(middleware)
    _ask(agent, "Recommend a recipe with aubergines")
    _ask(agent, "thanks")
    assert OPENING not in _text_of(model.seen[-1])


def test_a_loop_of_tools_keeps_the_context(middleware):
    def look_up(name: str) -> str:
        """Look something up."""
        return f"{name}: nothing"

    call = AIMessage("", tool_calls=[{"name": "look_up", "args": {"name": "x"}, "id": "1"}])
    agent, model = _agent(middleware, call, "Postgres.", tools=[look_up])
    _ask(agent, "Which database did we choose?")
    first, second = model.seen
    assert second[: len(first)] == first
    assert "Postgres over MySQL" in _text_of(second)


def test_what_stands_in_the_thread_is_not_said_again(middleware):
    agent, model = _agent(middleware)
    _ask(agent, "Which database did we choose?")
    _ask(agent, "Remind me: which database did we choose?")
    assert _text_of(model.seen[1]).count("Postgres over MySQL") == 1
    assert model.seen[1][0] == model.seen[0][0]


def test_threads_are_told_apart(middleware):
    agent, model = _agent(middleware)
    _ask(agent, "Which database did we choose?", "t1")
    _ask(agent, "Which database did we choose?", "t2")
    assert "Postgres over MySQL" in _text_of(model.seen[1])


def test_what_has_left_the_messages_may_be_said_again(middleware):
    agent, model = _agent(middleware)
    state = _ask(agent, "Which database did we choose?")
    gone = [RemoveMessage(message.id) for message in state["messages"]]
    agent.update_state({"configurable": {"thread_id": "t1"}}, {"messages": gone})
    _ask(agent, "So which database was it that we chose?")
    assert len(model.seen[1]) == 1
    assert "Postgres over MySQL" in _text_of(model.seen[1])


def test_another_process_that_takes_the_thread_over_says_it_anew(engine, middleware):
    _ask(_agent(middleware)[0], "Which database did we choose?")
    agent, model = _agent(ContextMiddleware(engine, "shop", deadline_ms=20_000))
    _ask(agent, "Which database did we choose?")
    assert "Postgres over MySQL" in _text_of(model.seen[0])


def test_a_thread_is_the_same_to_the_byte_after_a_restart(home, clock, scripted):
    saver, seen = InMemorySaver(), []
    questions = [
        "Which database did we choose?",
        "What is the session timeout for staff?",
        "And when do we deploy?",
    ]
    for question in questions:  # each in a process of its own, as it were
        with ContextEngine(
            embedding_provider=HashEmbeddings(), settings=Settings(home=home), clock=clock
        ) as engine:
            if not seen:
                for text in STATEMENTS:
                    engine.remember(text, "shop")
                engine.embed_pending("shop")
            model = scripted("Noted.")
            restarted = ContextMiddleware(engine, "shop", deadline_ms=20_000)
            _ask(create_agent(model, middleware=[restarted], checkpointer=saver), question)
            seen.append(model.seen[-1])
            assert restarted.tokens("t1") > 0
        clock.advance(days=8)  # so that anything worded anew would differ
    for earlier, later in pairwise(seen):
        assert [message.content for message in later[: len(earlier)]] == [
            message.content for message in earlier
        ]
    assert "Postgres over MySQL" in _text_of(seen[0])


def test_what_was_forgotten_between_two_processes_is_gone(engine, project, middleware):
    saver = InMemorySaver()
    _ask(_agent(middleware, saver=saver)[0], "Which database did we choose?")
    engine.forget("shop", project[0].id)
    agent, model = _agent(ContextMiddleware(engine, "shop", deadline_ms=20_000), saver=saver)
    _ask(agent, "What is the session timeout for staff?")
    assert "Postgres over MySQL" not in _text_of(model.seen[0])
    assert "thirty minutes" in _text_of(model.seen[0])


def test_the_tokens_of_a_thread_are_counted_and_limited(engine, project):
    middleware = ContextMiddleware(engine, "shop", deadline_ms=20_000, thread_budget=100)
    agent, model = _agent(middleware)
    _ask(agent, "Which database did we choose?")
    first = middleware.tokens("t1")
    assert 0 < first <= 100
    for question in (
        "What is the session timeout for staff?",
        "When do deploys happen?",
        "What does Priya prefer?",
    ):
        _ask(agent, question)
        assert middleware.tokens("t1") <= 100
    assert middleware.tokens("t1") == engine.tokenizer.count("") + sum(
        engine.tokenizer.count(message.text.rpartition("\n\n")[0])
        for message in model.seen[-1]
        if isinstance(message, HumanMessage) and OPENING in message.text
    )


def test_what_was_forgotten_is_not_sent_again(engine, project, middleware):
    agent, model = _agent(middleware)
    _ask(agent, "Which database did we choose?")
    _ask(agent, "What is the session timeout for staff?")
    engine.forget("shop", project[0].id)
    _ask(agent, "Thanks, and what does Priya prefer?")
    assert "Postgres over MySQL" in _text_of(model.seen[1])
    assert "Postgres over MySQL" not in _text_of(model.seen[2])
    assert "thirty minutes" in _text_of(model.seen[2])  # the others stay


@pytest.mark.parametrize("awaited", [False, True])
def test_where_it_is_not_known_what_was_forgotten_nothing_is_sent_again(engine, middleware, awaited, caplog):
    agent, model = _agent(middleware)
    _ask(agent, "Which database did we choose?")
    engine.close()
    asked, config = {"messages": [HumanMessage("Say it again.")]}, {"configurable": {"thread_id": "t1"}}
    asyncio.run(agent.ainvoke(asked, config)) if awaited else agent.invoke(asked, config)
    assert OPENING not in _text_of(model.seen[1])
    assert "no context for a message" in caplog.text


def test_content_in_parts_stays_in_parts(middleware):
    agent, model = _agent(middleware)
    parts = [{"type": "text", "text": "Which database did we choose?"}]
    agent.invoke({"messages": [HumanMessage(parts)]}, {"configurable": {"thread_id": "t1"}})
    content = model.seen[0][0].content
    assert [part["type"] for part in content] == ["text", "text"]
    assert content[0]["text"].startswith(OPENING)
    assert content[1:] == parts


def test_the_receipt_says_why(engine, middleware):
    agent, _ = _agent(middleware)
    assert middleware.receipt_id("t1") == ""
    _ask(agent, "Which database did we choose?")
    receipt = engine.explain("shop", middleware.receipt_id("t1"))
    assert receipt.session == "t1"
    assert receipt.injected_entries


def test_a_failure_is_no_context_and_a_warning(engine, middleware, caplog):
    engine.close()
    agent, model = _agent(middleware)
    assert _ask(agent, "Which database did we choose?")["messages"][-1].text == "Noted."
    assert OPENING not in _text_of(model.seen[0])
    assert "no context for a message" in caplog.text


@pytest.mark.parametrize("awaited", [False, True])
def test_what_is_too_late_is_not_waited_for(engine, project, caplog, awaited):
    middleware = ContextMiddleware(engine, "shop", deadline_ms=10)
    held = threading.Event()
    middleware._pipeline.generate_context = lambda *_, **__: held.wait(120)
    agent, model = _agent(middleware)
    asked = {"messages": [HumanMessage("Which database did we choose?")]}
    config = {"configurable": {"thread_id": "t1"}}
    asyncio.run(agent.ainvoke(asked, config)) if awaited else agent.invoke(asked, config)
    assert OPENING not in _text_of(model.seen[0])
    assert "TimeoutError" in caplog.text
    held.set()


def test_turns_are_remembered_once_when_asked_for(engine, project):
    def look_up(name: str) -> str:
        """Look something up."""
        return f"{name}: nothing"

    call = AIMessage("", tool_calls=[{"name": "look_up", "args": {"name": "x"}, "id": "1"}])
    middleware = ContextMiddleware(engine, "shop", deadline_ms=20_000, capture=True)
    agent, _ = _agent(middleware, call, "Postgres, since spring.", tools=[look_up])
    _ask(agent, "Which database did we choose?")
    turns = list(engine.store.scan("shop", Filters(kinds=("turn",), session="t1")))
    assert [(turn.about, turn.text) for turn in turns] == [
        ("user", "Which database did we choose?"),
        ("assistant", "Postgres, since spring."),
    ]


def test_nothing_is_remembered_unless_asked_for(engine, middleware):
    _ask(_agent(middleware)[0], "Which database did we choose?")
    assert engine.count("shop").kinds == {"memory": 5}


def test_what_cannot_be_remembered_does_not_lose_the_answer(engine, project, caplog):
    middleware = ContextMiddleware(engine, "shop", deadline_ms=20_000, capture=True)
    agent, _ = _agent(middleware)
    engine.close()
    assert _ask(agent, "Which database did we choose?")["messages"][-1].text == "Noted."
    assert "a turn was not remembered" in caplog.text


def test_it_works_outside_of_a_graph(middleware):
    request = ModelRequest(
        model=Scripted(replies=[""], seen=[]), messages=[HumanMessage("Which database did we choose?")]
    )
    seen = []

    def handler(given):
        seen.append(given)
        return ModelResponse(result=[AIMessage("x")])

    middleware.wrap_model_call(request, handler)
    assert "Postgres over MySQL" in _text_of(seen[0].messages)
    assert "Postgres" not in _text_of(request.messages)
