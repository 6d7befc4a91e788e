"""Clients of the server: the official one, in this process, over stdin and stdout, and over HTTP."""

from __future__ import annotations

import json
import os
import secrets
import sys
from contextlib import asynccontextmanager
from functools import partial

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from foreword.edges.mcp import server as mcp_server
from foreword.edges.service.__main__ import build_application

TOKEN = secrets.token_urlsafe(32)


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch):
    """A tool of a server in this process searches however long that takes on a busy machine."""
    monkeypatch.setattr("foreword.edges.mcp.tools.DEADLINE_MS", 60_000.0)


def _run_async(work):
    async def limited():
        with anyio.fail_after(300):
            return await work()

    return anyio.run(limited)


@pytest.fixture
def run_async():
    """The result of an async function, which has five minutes."""
    return _run_async


@asynccontextmanager
async def _http_client(url, token=TOKEN, mode="auto"):
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as web,
        Client(streamable_http_client(url, http_client=web), mode=mode) as client,
    ):
        yield client


@pytest.fixture
def http_client():
    """A connected client over HTTP: `async with http_client(url, token) as client`."""
    return _http_client


def _server_command(*arguments, **environment):
    variables = {**os.environ, "FOREWORD_EMBEDDING": "none", **environment}
    words = ["-m", "foreword", "mcp", *arguments]
    return StdioServerParameters(command=sys.executable, args=words, env=variables)


@pytest.fixture
def server_command():
    """How an agent starts the server."""
    return _server_command


@pytest.fixture(params=["stdio", "stdio as of 2025", "http", "http as of 2025"])
def connect(request, engine, project, serve_application):
    """Over one transport, a function that gives a connected client whose workspace is `shop`."""
    transport, _, legacy = request.param.partition(" ")
    mode = "legacy" if legacy else "auto"
    if transport == "stdio":
        yield lambda: Client(_server_command("-w", "shop"), mode=mode)
        return
    build = partial(build_application, engine, token=TOKEN, status=dict, workspace="shop")
    with serve_application(lambda port: build(port=port)) as port:
        yield lambda: _http_client(f"http://127.0.0.1:{port}/mcp", mode=mode)


@pytest.fixture
def call(engine, project):
    """Call one tool of a server in this process; gives its result."""

    def call_tool(name, workspace="shop", **arguments):
        async def run():
            async with Client(mcp_server(engine, workspace)) as client:
                return await client.call_tool(name, arguments)

        return _run_async(run)

    return call_tool


@pytest.fixture
def answer_of():
    """The answer in a tool's result, which must be no error and the same in both forms."""

    def read(result):
        assert not result.is_error, result.content[0].text
        assert json.loads(result.content[0].text) == result.structured_content
        return result.structured_content

    return read


@pytest.fixture
def refusal_of():
    """The text of a tool's result, which must be an error."""

    def read(result):
        assert result.is_error
        text = result.content[0].text
        assert "Traceback" not in text
        return text

    return read
