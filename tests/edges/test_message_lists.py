from __future__ import annotations

import asyncio
import copy
import subprocess
import sys

import pytest
from agents import Agent as OpenAIAgent
from agents import Model, RunConfig, Runner
from agents.items import ModelResponse
from agents.usage import Usage
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelResponse as PydanticResponse
from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from foreword.edges.message_lists import with_context_anthropic, with_context_openai
from foreword.edges.openai_agents import context_filter
from foreword.edges.pydantic_ai import ForewordContext
from foreword.text.frame import remove_frames, wrap_in_frame

QUESTION = "Which database did we choose?"
FOUND = "Postgres over MySQL"
OPENING = wrap_in_frame("-").split("\n")[0]
PATIENT = 20_000


@pytest.fixture
def ask_openai(engine, project):
    """Ask as OpenAI's client would; gives the messages."""

    def ask(messages, **options):
        return with_context_openai(messages, engine, "shop", deadline_ms=PATIENT, **options)

    return ask


def test_the_context_stands_before_the_users_last_message(ask_openai):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": QUESTION},
        {"role": "tool", "tool_call_id": "1", "content": "rows: 0"},
    ]
    before = copy.deepcopy(messages)
    given = ask_openai(messages)
    assert messages == before
    assert [*given[:3], *given[4:]] == messages
    assert given[3]["role"] == "user"
    assert FOUND in given[3]["content"]
    assert remove_frames(given[3]["content"]) == ""


def test_nothing_is_added_when_nothing_is_relevant_or_asked(ask_openai):
    for messages in (
        [],
        [{"role": "system", "content": QUESTION}],
        [{"role": "user", "content": "Recommend a recipe with aubergines"}],
        [{"role": "user", "content": "thanks"}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}],
        [{"role": "user", "content": None}],
    ):
        assert ask_openai(messages) == messages


def test_a_context_that_stands_there_already_is_not_added_again(ask_openai):
    once = ask_openai([{"role": "user", "content": QUESTION}])
    assert ask_openai(once) == once


def test_what_came_in_and_what_goes_out_share_nothing(ask_openai):
    messages = [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
    given = ask_openai(messages)
    given[-1]["content"][0]["text"] = "changed"
    assert messages[0]["content"][0]["text"] == QUESTION


def test_a_budget_holds(ask_openai, engine):
    [context, _] = ask_openai([{"role": "user", "content": QUESTION}], budget=120)
    assert engine.tokenizer.count(context["content"]) <= 120 + engine.tokenizer.count(wrap_in_frame("-"))


@pytest.mark.parametrize(
    "system",
    ["", "Be brief.", [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]],
)
def test_for_anthropic_the_context_ends_the_system_prompt(engine, project, system):
    messages = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "nothing"}]},
    ]
    before = copy.deepcopy((messages, system))
    given = with_context_anthropic(messages, engine, "shop", system=system, deadline_ms=PATIENT)
    assert (messages, system) == before
    assert given["messages"] == messages
    if isinstance(system, str):
        assert given["system"].startswith(system)
        assert FOUND in given["system"]
    else:
        assert given["system"][:-1] == system
        assert FOUND in given["system"][-1]["text"]


def test_for_anthropic_no_context_and_no_system_is_no_system(engine, project):
    messages = [{"role": "user", "content": "Recommend a recipe with aubergines"}]
    assert with_context_anthropic(messages, engine, "shop", deadline_ms=PATIENT) == {"messages": messages}


def test_a_failure_is_no_context_and_a_warning(engine, project, caplog):
    engine.close()
    messages = [{"role": "user", "content": QUESTION}]
    assert with_context_openai(messages, engine, "shop") == messages
    assert "no context for a message" in caplog.text


parts = st.lists(
    st.fixed_dictionaries({"type": st.text(), "text": st.text() | st.none()}) | st.text(), max_size=2
)
lists = st.lists(
    st.fixed_dictionaries(
        {},
        optional={"role": st.sampled_from(["user", "assistant"]), "content": st.none() | st.text() | parts},
    ),
    max_size=4,
)


@given(lists)
def test_whatever_the_messages_are_they_come_back(engine, messages):
    before = copy.deepcopy(messages)
    assert with_context_openai(messages, engine, "empty") == before
    assert with_context_anthropic(messages, engine, "empty")["messages"] == before
    assert messages == before


WITHOUT = """
import importlib, sys
sys.modules[sys.argv[2]] = None
try:
    importlib.import_module("foreword.edges." + sys.argv[1])
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langgraph", "langgraph", "langgraph"),
        ("openai_agents", "agents", "openai-agents"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ],
)
def test_what_is_not_installed_is_said_with_how_to_install_it(module, package, extra):
    command = [sys.executable, "-c", WITHOUT, module, package]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.startswith("MissingExtra")
    assert f"pip install 'foreword[{extra}]'" in ran.stdout


class ScriptedModel(Model):
    """A model of the OpenAI Agents SDK that says one thing, and remembers what it was shown."""

    def __init__(self):
        self.seen = []

    async def get_response(self, system_instructions, input, *_, **__):  # noqa: A002  (the SDK's word)
        self.seen.append(input)
        text = ResponseOutputText(type="output_text", text="Postgres.", annotations=[])
        message = ResponseOutputMessage(
            id="1", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


def test_an_agent_of_openai_sees_the_context_and_its_run_does_not_keep_it(engine, project):
    model = ScriptedModel()
    config = RunConfig(
        call_model_input_filter=context_filter(engine, "shop", deadline_ms=PATIENT), tracing_disabled=True
    )
    result = asyncio.run(Runner.run(OpenAIAgent("clerk", model=model), QUESTION, run_config=config))
    assert result.final_output == "Postgres."
    assert FOUND in str(model.seen[0][0])
    assert model.seen[0][-1]["content"] == QUESTION
    assert FOUND not in str(result.to_input_list())


def test_an_agent_of_pydantic_sees_the_context_and_its_history_does_not(engine, project):
    seen = []

    def answer(messages, _):
        seen.append(copy.deepcopy(messages))
        return PydanticResponse([ToolCallPart("look", {})] if len(seen) == 1 else [TextPart("Postgres.")])

    agent = PydanticAgent(
        FunctionModel(answer), capabilities=[ForewordContext(engine, "shop", deadline_ms=PATIENT)]
    )

    @agent.tool_plain
    def look() -> str:
        """Look."""
        return "nothing"

    result = asyncio.run(agent.run(QUESTION))
    assert result.output == "Postgres."
    for messages in seen:
        context, question = messages[0].parts[-2:]
        assert FOUND in context.content
        assert context.content.startswith(OPENING)
        assert question.content == QUESTION
    assert FOUND not in str(result.all_messages())


def test_an_agent_of_pydantic_that_asks_nothing_known_is_left_alone(engine, project):
    agent = PydanticAgent(
        FunctionModel(lambda messages, _: PydanticResponse([TextPart(str(len(messages[0].parts)))])),
        capabilities=[ForewordContext(engine, "shop", deadline_ms=PATIENT)],
    )
    assert asyncio.run(agent.run("Recommend a recipe with aubergines")).output == "1"
