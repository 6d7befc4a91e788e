"""One compiled graph, many users at once, restarts in between: nobody reads a word of somebody else's."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import get_runtime

from foreword.config import Settings
from foreword.edges.langgraph import ContextMiddleware, ForewordStore, GapMiddleware
from foreword.engine.context_engine import ContextEngine
from foreword.recipes.gap.types import InjectionConfig
from foreword.testing import HashEmbeddings

USERS = [f"user{number:02}" for number in range(50)]
TOPICS = ("allergy", "car", "city", "sister", "garden", "holiday")
WORKSPACE = "acme/{user_id}"
GENEROUS = InjectionConfig(min_relevance_score=0.3)


def secret_of(user, topic):
    """A word that nobody else has."""
    return f"{topic}of{user}"


class Witness(BaseChatModel):
    """A model that asks for what it was not told, answers what it was, and notes every prompt by its user."""

    prompts: list[tuple[str, str]]
    lock: Any

    @property
    def _llm_type(self):
        return "witness"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        shown = "\n".join(message.text for message in messages)
        asked = next(message.text for message in reversed(messages) if "What about" in message.text)
        topic = next(topic for topic in TOPICS if f"my {topic}" in asked)
        with self.lock:
            self.prompts.append((get_runtime().context["user_id"], shown))
        known = f"{topic}of" in shown or "I need more" in messages[-2].text if len(messages) > 1 else False
        said = "Noted, thank you." if known else f"I need more information: what is known about the {topic}?"
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


def remember_everyone(engine):
    for user in USERS:
        store = ForewordStore(engine, WORKSPACE).for_run(user_id=user)
        for topic in TOPICS:
            engine.remember(f"What is known about my {topic}: {secret_of(user, topic)}.", f"acme/{user}")
            store.put(("facts",), topic, {"text": secret_of(user, topic)})
        engine.embed_pending(f"acme/{user}")


def compile_agent(engine, model, saver):
    def recall(topic: str) -> str:
        """What the store holds."""
        return get_runtime().store.get(("facts",), topic).value["text"]

    middleware = [
        ContextMiddleware(engine, WORKSPACE, deadline_ms=60_000, capture=True),
        GapMiddleware(engine, WORKSPACE, GENEROUS),
    ]
    return create_agent(
        model, [recall], middleware=middleware, checkpointer=saver, store=ForewordStore(engine, WORKSPACE)
    )


def talk(agent, at, user):
    topic = TOPICS[at % len(TOPICS)]
    # Every user has a thread of the same name prefix, as products do.
    config = {"configurable": {"thread_id": f"{user}-{at // 10}"}}
    agent.invoke(
        {"messages": [HumanMessage(f"What about my {topic}? ({at})")]}, config, context={"user_id": user}
    )


def run_users(home, prompts_wanted, restarts):
    """Let everybody talk at once until there were so many prompts; the engine restarts in between."""
    model, saver = Witness(prompts=[], lock=threading.Lock()), InMemorySaver()
    at = 0
    for stop in range(1, restarts + 2):
        with ContextEngine(embedding_provider=HashEmbeddings(), settings=Settings(home=home)) as engine:
            if at == 0:
                remember_everyone(engine)
            agent = compile_agent(engine, model, saver)
            with ThreadPoolExecutor(16) as people:
                while len(model.prompts) < prompts_wanted * stop / (restarts + 1):
                    list(people.map(partial(talk, agent, at), USERS))
                    at += 1
    return model.prompts


def check_prompts(prompts):
    """No prompt has a word of another user, and most have one of their own."""
    foreign = 0
    served = 0
    for user, shown in prompts:
        words = {word.strip(".,()") for word in shown.split() if "ofuser" in word}
        served += any(word.endswith(f"of{user}") for word in words)
        foreign += any(not word.endswith(f"of{user}") for word in words)
    return foreign, served


@pytest.mark.slow
def test_fifty_users_at_once_read_no_word_of_each_other(home):
    prompts = run_users(home, 200, restarts=1)
    foreign, served = check_prompts(prompts)
    assert foreign == 0
    assert {user for user, _ in prompts} == set(USERS)
    assert served > len(prompts) / 2


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_in_five_thousand_prompts_there_is_no_foreign_word(home, report_numbers):
    prompts = run_users(home, 5_000, restarts=4)
    foreign, served = check_prompts(prompts)
    report_numbers("fifty users on one graph", prompts=len(prompts), foreign=foreign, served=served)
    assert foreign == 0
    assert len(prompts) >= 5_000
