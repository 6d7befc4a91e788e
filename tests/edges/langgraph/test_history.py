"""A conversation as LangChain's history, with LangChain's own messages and runnables."""

from __future__ import annotations

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables.history import RunnableWithMessageHistory

from foreword.edges.langgraph import ForewordChatHistory

CALL = {"name": "stock", "args": {"cake": "plum"}, "id": "call-1", "type": "tool_call"}
IMAGE = {"type": "image_url", "image_url": {"url": "https://x.example/cake.png"}}


@pytest.fixture
def history(engine):
    return ForewordChatHistory(engine, "shop", "c-1")


def test_messages_come_back_as_they_were_added_after_it_is_opened_again(history, engine):
    added = [
        SystemMessage("You are a baker."),
        HumanMessage([{"type": "text", "text": "Is this"}, IMAGE, {"type": "text", "text": "yours?"}]),
        AIMessage("", tool_calls=[CALL]),
        ToolMessage("17 are left", tool_call_id="call-1"),
        AIMessage("It is, and 17 are left."),
        HumanMessage("Thanks!", name="Ben"),
    ]
    history.add_messages(added)
    again = ForewordChatHistory(engine, "shop", "c-1").messages
    assert [type(one) for one in again] == [type(one) for one in added]
    assert [one.content for one in again] == [one.content for one in added]
    assert again[2].tool_calls == [CALL]
    assert again[3].tool_call_id == "call-1"
    assert again[5].name == "Ben"


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
def test_a_runnable_goes_on_with_its_conversation_and_others_do_not_see_it(engine):
    seen = []
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{question}")])
    model = FakeListChatModel(responses=["Hello Mara.", "Mara.", "I do not know."])
    chain = RunnableWithMessageHistory(
        prompt | (lambda value: seen.append(value.to_messages()) or value) | model,
        lambda session_id: ForewordChatHistory(engine, "shop", session_id),
        input_messages_key="question",
        history_messages_key="history",
    )
    for question, session in (("I am Mara.", "a"), ("Who am I?", "a"), ("Who am I?", "b")):
        chain.invoke({"question": question}, {"configurable": {"session_id": session}})
    assert [message.content for message in seen[1]] == ["I am Mara.", "Hello Mara.", "Who am I?"]
    assert [message.content for message in seen[2]] == ["Who am I?"]


def test_a_prompt_for_a_question_holds_what_is_known_of_the_user(engine):
    ForewordChatHistory(engine, "shop", "c-1", user="mara").add_user_message("I'm allergic to nuts.")
    other = ForewordChatHistory(engine, "shop", "c-2", user="mara", base_instructions="You are a baker.")
    system, question = other.prompt(HumanMessage("What is for dessert?"), 1000)
    assert isinstance(system, SystemMessage)
    assert "allergic to nuts" in question.content


def test_clear_forgets_this_conversation_alone(engine, history):
    other = ForewordChatHistory(engine, "shop", "c-2")
    history.add_user_message("Hello there")
    other.add_user_message("Good morning")
    history.clear()
    assert history.messages == []
    assert [message.content for message in other.messages] == ["Good morning"]


async def _add_and_get(history):
    await history.aadd_messages([HumanMessage("Hello there")])
    return await history.aget_messages()


def test_the_async_forms_do_the_same(history):
    import asyncio

    assert [message.content for message in asyncio.run(_add_and_get(history))] == ["Hello there"]
