"""A document and a premortem are the same through every door: Python, the command line, HTTP and MCP."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys

import anyio
import httpx
import pytest
from mcp.client import Client

from foreword import ContextAssembler
from foreword.assembled import EngineSearcher, Failure
from foreword.edges.mcp import server as mcp_server
from foreword.edges.service.__main__ import build_application
from foreword.knowledge.experience import Lesson, RootCause
from foreword.knowledge.experiences import Experiences
from foreword.text.frame import wrap_in_frame

TOKEN = secrets.token_urlsafe(32)
ERROR = "TimeoutError: the pool of connections is empty after thirty seconds"
ABOUT = (
    (
        "the connection pool runs empty",
        "a connection is not given back after an exception",
        "TimeoutError at checkout",
    ),
    ("the invoice shows yesterday", "a date was taken without its zone", "wrong day on the invoice"),
    ("the search index is stale", "the reindex job had died silently", "old titles in the search"),
)


@pytest.fixture
def shop(engine):
    """A workspace with memories and experiences, and an engine that has closed its files' writers."""
    engine.remember("The pool of connections holds ten connections at most.", "shop", type="fact")
    experiences = Experiences(engine)
    for goal, cause, result in ABOUT:
        begun = experiences.start(
            "shop", domain="debugging", strategy="read-the-error", goal=goal, hypothesis=f"{goal} by chance",
            action="wait longer", prediction="no more errors",
        )  # fmt: skip
        experiences.resolve(
            "shop", begun.id, "falsified", result, surprise=f"{goal} all the same",
            root_cause=RootCause("oversight", cause), lesson=Lesson("reading the code", f"mind that {cause}"),
        )  # fmt: skip
    engine.store.batch([])
    return engine


def ask_python(engine, method, *given, **more):
    searcher = EngineSearcher(engine, "shop", Experiences(engine), deadline_ms=None)
    return asyncio.run(getattr(ContextAssembler(searcher, timeout=60), method)(*given, record=False, **more))


def ask_cli(home, *arguments):
    """The command in a process of its own, as a user runs it."""
    environment = {**os.environ, "FOREWORD_HOME": str(home), "FOREWORD_EMBEDDING": "none"}
    ran = subprocess.run(
        [sys.executable, "-m", "foreword", *arguments, "--workspace", "shop", "--dry-run", "--json"],
        capture_output=True, text=True, env=environment, check=False, timeout=300,
    )  # fmt: skip
    return json.loads(ran.stdout)


def ask_http(engine, serve_application, path, body):
    with serve_application(
        lambda port: build_application(engine, token=TOKEN, port=port, status=dict)
    ) as port:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        url = f"http://127.0.0.1:{port}{path}"
        answer = httpx.post(
            url, json={"workspace": "shop", "preview": True, **body}, headers=headers, timeout=120
        )
    assert answer.status_code == 200, answer.text
    return answer.json()


def ask_mcp(engine, tool, **arguments):
    async def call():
        async with Client(mcp_server(engine, "shop")) as client:
            return (await client.call_tool(tool, arguments)).structured_content

    return anyio.run(call)


@pytest.fixture
def engine(home, clock):
    """An engine without a model: a process of its own would have another encoder than a test's."""
    from foreword.config import Settings
    from foreword.engine.context_engine import ContextEngine

    with ContextEngine(settings=Settings(home=home, embedding="none"), clock=clock) as engine:
        yield engine


def test_a_document_is_the_same_through_every_door(shop, home, serve_application):
    query, types = "How many connections does the pool of connections hold?", ["memories", "experiences"]
    here = ask_python(shop, "assemble_context", query, types)
    assert "ten connections" in here.markdown
    over_http = ask_http(shop, serve_application, "/v1/assemble", {"query": query, "types": types})
    assert over_http["markdown"] == here.markdown
    assert over_http["token_count"] == here.token_count
    assert over_http["sources_used"] == dict(here.sources_used)
    assert [item["content"] for item in over_http["items"]] == [item.content for item in here.items]
    over_mcp = ask_mcp(shop, "context_assemble", query=query, types=types)
    assert over_mcp["context"] == wrap_in_frame(here.markdown)
    assert over_mcp["tokens"] == here.token_count
    told = ask_cli(home, "assemble", query, "--type", "memories", "--type", "experiences")
    assert (told["context"], told["tokens"]) == (here.markdown, here.token_count)


@pytest.mark.parametrize("error", ["", ERROR])
def test_a_premortem_is_the_same_through_every_door(shop, home, serve_application, error):
    failure = Failure(("test_checkout",), error) if error else None
    here = ask_python(shop, "get_premortem_context", "debugging", failure=failure)
    assert here.markdown.startswith("# Premortem: debugging\n\n")
    assert ("## Nearest Precedents" in here.markdown) == bool(error)
    asked = {"tests": ["test_checkout"], "error": error} if error else {}
    over_http = ask_http(shop, serve_application, "/v1/premortem", {"domain": "debugging", **asked})
    assert over_http["markdown"] == here.markdown
    over_mcp = ask_mcp(shop, "context_premortem", domain="debugging", **asked)
    assert over_mcp["context"] == wrap_in_frame(here.markdown)
    words = ("--test", "test_checkout", "--error", error) if error else ()
    assert ask_cli(home, "premortem", "debugging", *words)["context"] == here.markdown


def test_a_failure_that_nothing_is_near_to_is_answered_with_silence_everywhere(shop, home, serve_application):
    error = "KeyError: 'zebra'"
    assert ask_python(shop, "get_premortem_context", "debugging", failure=Failure(error=error)).markdown == ""
    assert ask_http(shop, serve_application, "/v1/premortem", {"error": error})["markdown"] == ""
    assert ask_mcp(shop, "context_premortem", error=error)["context"] == ""


def test_a_wrong_question_is_refused_with_advice(shop, serve_application, foreword):
    with serve_application(lambda port: build_application(shop, token=TOKEN, port=port, status=dict)) as port:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        for path, body in (
            ("assemble", {"query": "x", "types": ["dreams"]}),
            ("premortem", {"domain": "dreams"}),
        ):
            url = f"http://127.0.0.1:{port}/v1/{path}"
            answer = httpx.post(url, json={"workspace": "shop", **body}, headers=headers, timeout=120)
            assert answer.status_code == 400
    assert "there are: " in foreword("premortem", "dreams").err
    assert "dreams" in foreword("assemble", "x", "--type", "dreams").err
