"""MCP as agents meet it: the official client, over stdin and stdout of a real process and over real HTTP."""

from __future__ import annotations

import json
import logging
from urllib.parse import quote

import anyio
import jsonschema
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from foreword.edges.mcp import server as mcp_server
from foreword.edges.mcp.protocol import INSTRUCTIONS

TOOLS = {
    "memory_search": (True, False),
    "memory_get": (True, False),
    "memory_store": (False, False),
    "memory_update": (False, True),
    "memory_forget": (False, True),
    "ledger_record": (False, False),
    "ledger_list": (True, False),
    "ledger_close": (False, True),
    "context_build": (True, False),
    "context_why": (True, False),
    "experience_start": (False, False),
    "experience_update": (False, False),
    "experience_resolve": (False, False),
    "experience_amend": (False, True),
    "experience_list": (True, False),
    "experience_search": (True, False),
    "value_clusters": (True, False),
    "value_propose": (False, False),
    "value_contradict": (False, False),
    "context_assemble": (True, False),
    "context_premortem": (True, False),
}
"""Each tool: whether it only reads, and whether it can destroy."""


# Over every transport ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_part_of_the_protocol_works_over_every_transport(
    connect, project, answer_of, refusal_of, run_async
):
    """One connection for everything, since a server that is started takes seconds; reading comes first."""

    async def run():
        async with connect() as client:
            await _read_resources_and_prompts(client, project, answer_of)
            await _make_mistakes(client, answer_of, refusal_of)
            await _use_every_kind_of_tool(client, answer_of, refusal_of)
            await _call_eight_at_once(client, answer_of)
            return client.instructions

    assert run_async(run).startswith(INSTRUCTIONS)


async def _read_resources_and_prompts(client, project, answer_of):
    """Resources and prompts give what the tools give."""
    listed = {str(one.uri) for one in (await client.list_resources()).resources}
    assert listed == {"foreword://recent", "foreword://receipts/latest"}
    assert len((await client.list_resource_templates()).resource_templates) == 3
    built = answer_of(await client.call_tool("context_build", {"task": "Which database did we choose?"}))

    async def read(uri):
        return json.loads((await client.read_resource(f"foreword://{uri}")).contents[0].text)

    recent = await read("recent")
    assert recent == await read("workspaces/shop/recent")
    assert recent["memories"][0]["id"] == project[-1].id
    assert (await read("receipts/latest"))["receipt"] == built["receipt"]
    assert (await read("workspaces/shop/receipts/latest"))["receipt"] == built["receipt"]
    assert (await read(f"workspaces/shop/items/{project[0].id}"))["text"] == project[0].text
    recall = await client.get_prompt("recall", {"topic": "the database we chose"})
    assert "Postgres over MySQL" in recall.messages[0].content.text
    assert "not instructions" in recall.messages[0].content.text
    keep = await client.get_prompt("remember_this", {"what": "the port is 8080"})
    assert "the port is 8080" in keep.messages[0].content.text
    assert "memory_store" in keep.messages[0].content.text
    named = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
    assert named["recall"].arguments[0].required
    assert not named["remember_this"].arguments[0].required


async def _make_mistakes(client, answer_of, refusal_of):
    """Mistakes are answers with advice, and the connection lives on."""
    for tool, arguments, advice in [
        ("memory_store", {"text": "   "}, "say something"),
        ("memory_search", {"query": "x", "limit": 1000}, "limit"),
        ("memory_search", {"query": "x", "since": "yesterday"}, "2026-01-31"),
        ("memory_update", {"id": "nobody", "confidence": 1}, "search for it"),
        ("memory_forget", {}, "say what to forget"),
        ("context_why", {"receipt": "nothing"}, "build a context"),
    ]:
        assert advice in refusal_of(await client.call_tool(tool, arguments))
    with pytest.raises(MCPError, match="search for it"):
        await client.read_resource("foreword://workspaces/shop/items/nobody")
    with pytest.raises(MCPError):
        await client.get_prompt("recall", {})
    assert answer_of(await client.call_tool("memory_search", {"query": "Postgres"}))["memories"]


async def _use_every_kind_of_tool(client, answer_of, refusal_of):
    """Every tool answers as its schema says."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == set(TOOLS)

    async def say(name, **arguments):
        said = answer_of(await client.call_tool(name, arguments))
        jsonschema.validate(said, tools[name].output_schema)
        jsonschema.validate(arguments, tools[name].input_schema)
        return said

    kept = await say("memory_store", text="Refunds need two signatures.", type="workflow", session="s1")
    new = kept["memory"]["id"]
    assert kept["memory"]["trust"] == "agent"
    found = await say("memory_search", query="who signs refunds", limit=3)
    assert found["memories"][0]["id"] == new
    whole = await say("memory_get", id=new)
    assert whole["text"] == "Refunds need two signatures."
    changed = await say("memory_update", id=new, confidence=0.5, metadata={"ticket": "LH-7"})
    assert changed["memory"]["confidence"] == 0.5
    built = await say("context_build", task="Refunds: how many signatures are needed?", token_budget=200)
    assert "two signatures" in built["context"]
    assert built["memories"][0] == new
    why = await say("context_why", receipt=built["receipt"])
    assert [one["id"] for one in why["injected"]] == built["memories"]
    line = await say("ledger_record", text="We refund within a week.", kind="rule", subject="refunds")
    assert line["memory"]["trust"] == "agent"
    listed = await say("ledger_list")
    assert "We refund within a week." in [one["text"] for one in listed["lines"]]
    closed = await say("ledger_close", id=line["memory"]["id"])
    assert closed["note"] == "closed"
    gone = await say("memory_forget", ids=[new])
    assert (gone["ids"], gone["left"]) == ([new], [])
    assert "search" in refusal_of(await client.call_tool("memory_get", {"id": new}))


async def _call_eight_at_once(client, answer_of):
    """Calls made at once are answered each with its own."""
    answers = {}

    async def store(number):
        said = answer_of(await client.call_tool("memory_store", {"text": f"Gate {number} opens at dawn."}))
        answers[number] = said["memory"]["text"]

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(store, number)
    assert answers == {number: f"Gate {number} opens at dawn." for number in range(8)}
    found = answer_of(await client.call_tool("memory_search", {"query": "gate dawn", "limit": 20}))
    assert set(answers.values()) <= {memory["text"] for memory in found["memories"]}


# What agents are told ------------------------------------------------------------------------------------


@pytest.fixture
def list_tools(engine, run_async):
    """The tools and the instructions of a server in this process."""

    def ask(workspace="shop"):
        async def run():
            async with Client(mcp_server(engine, workspace)) as client:
                return (await client.list_tools()).tools, client.instructions

        return run_async(run)

    return ask


def test_the_instructions_alone_are_enough_to_use_the_tools_well(engine, list_tools):
    for workspace in ("shop", None):
        _, instructions = list_tools(workspace)
        assert len(instructions.encode()) < 2000, "clients cut longer ones"
        for tool in set(TOOLS) - {"memory_get", "context_why"}:
            assert tool in instructions, tool
        for said in (
            "before you assume",
            "DO NOT STORE secrets",
            "NEVER INSTRUCTIONS",
            "replaces",
            "user asks",
        ):
            assert said in instructions, said
    assert "must name its workspace" in instructions


def test_every_tool_says_what_it_is_and_what_it_may_do(engine, list_tools):
    tools, _ = list_tools()
    assert {tool.name for tool in tools} == set(TOOLS)
    for tool in tools:
        reads, destroys = TOOLS[tool.name]
        hints = tool.annotations
        assert tool.title
        assert (hints.read_only_hint, hints.destructive_hint) == (reads, destroys), tool.name
        assert hints.open_world_hint is False
        assert hints.idempotent_hint is True
        assert tool.output_schema["type"] == "object"
        assert len(tool.description) < 1000
        assert "\n  " not in tool.description, "the indentation of a docstring shows"
        assert "workspace" in tool.input_schema["properties"]


# Workspaces ----------------------------------------------------------------------------------------------


def test_a_call_without_a_workspace_means_the_servers_own_or_is_refused(
    engine, project, refusal_of, run_async, answer_of
):
    async def ask(default, **arguments):
        async with Client(mcp_server(engine, default)) as client:
            result = await client.call_tool("memory_search", {"query": "Postgres", **arguments})
            listed = (await client.list_resources()).resources
            return result, listed

    own, listed = run_async(lambda: ask("shop"))
    assert answer_of(own)["memories"][0]["id"] == project[0].id
    assert listed
    refused, listed = run_async(lambda: ask(None))
    assert "name the workspace" in refusal_of(refused)
    assert not listed
    named, _ = run_async(lambda: ask(None, workspace="shop"))
    assert answer_of(named)["workspace"] == "shop"
    other, _ = run_async(lambda: ask("shop", workspace="other"))
    assert answer_of(other)["memories"] == []


def test_a_prompt_without_a_workspace_means_the_servers_own_or_is_refused(engine, project, run_async):
    async def recall(default, **arguments):
        async with Client(mcp_server(engine, default)) as client:
            prompt = await client.get_prompt("recall", {"topic": "the database we chose", **arguments})
            return prompt.messages[0].content.text

    assert "Postgres" in run_async(lambda: recall("shop"))
    assert "Postgres" in run_async(lambda: recall(None, workspace="shop"))
    assert "nothing relevant" in run_async(lambda: recall("shop", workspace="other"))

    async def ask_and_refuse():
        async with Client(mcp_server(engine, None)) as client:
            with pytest.raises(MCPError, match="name the workspace"):
                await client.get_prompt("recall", {"topic": "x"})

    run_async(ask_and_refuse)


def test_a_workspace_that_is_a_path_is_read_as_a_resource(engine, run_async):
    item = engine.remember("The gate is blue.", "/srv/../srv/my shop")
    uri = f"foreword://workspaces/{quote('/srv/../srv/my shop', safe='')}/items/{item.id}"

    async def read():
        async with Client(mcp_server(engine, None)) as client:
            return json.loads((await client.read_resource(uri)).contents[0].text)

    assert run_async(read)["text"] == "The gate is blue."


def test_a_store_that_fails_is_a_tools_error_and_no_crash(call, engine, refusal_of):
    path = engine.store.path_of_database("broken")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is not a database" * 1000)
    assert "doctor" in refusal_of(call("memory_get", workspace="broken", id="x"))


def test_making_a_server_leaves_the_root_logger_alone(engine, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    mcp_server(engine, "shop")
    assert logging.getLogger().handlers == []
