"""The command `foreword mcp`: stdout, HTTP, and what it says to people."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import httpx
from mcp.client import Client

from foreword.edges.service.loopback import listen_on_loopback

# The command ---------------------------------------------------------------------------------------------


def _exchange_lines(process, *messages, last):
    """The lines that a process answers raw lines with, until the last id is answered; and its stderr."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in messages]
    too_late = threading.Timer(120, process.kill)
    too_late.start()
    process.stdin.write("\n".join([*lines, ""]))
    process.stdin.flush()
    told = []
    while line := process.stdout.readline():
        told.append(json.loads(line))
        if told[-1].get("id") == last:
            break
    rest, err = process.communicate(timeout=120)
    too_late.cancel()
    return told + [json.loads(line) for line in rest.splitlines()], err


def test_nothing_but_the_protocol_is_written_to_stdout_and_the_engine_waits(tmp_path):
    environment = {**os.environ, "FOREWORD_LOG_LEVEL": "debug"}
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "foreword", "mcp", "-w", "shop"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    answers, err = _exchange_lines(
        process,
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        "this is not JSON",
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        last=2,
    )
    assert process.returncode == 0
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert {1, 2} <= {answer.get("id") for answer in answers}
    for heavy in ("foreword.engine.context_engine", "numpy", "onnxruntime", "apsw"):
        assert not any(line.endswith(f" {heavy}") for line in err.splitlines()), heavy


def test_the_project_that_an_agent_names_is_the_workspace(
    tmp_path, home, server_command, run_async, answer_of
):
    inside = tmp_path / "project" / "src"
    inside.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()

    async def store():
        async with Client(server_command(CLAUDE_PROJECT_DIR=str(inside))) as client:
            return answer_of(await client.call_tool("memory_store", {"text": "The gate is blue."}))

    assert run_async(store)["workspace"] == str((tmp_path / "project").resolve())


@contextmanager
def _serving_http(*arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "foreword", "mcp", "--http", "-w", "shop", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "FOREWORD_EMBEDDING": "none"},
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)


def test_over_http_the_command_says_where_it_is_and_admits_only_the_token(
    home, first_json, http_client, run_async, answer_of
):
    with _serving_http("--json") as process:
        where = first_json(process)
        file = Path(where["token_file"])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700

        async def store():
            async with http_client(where["url"], token=file.read_text().strip()) as client:
                return answer_of(await client.call_tool("memory_store", {"text": "The gate is blue."}))

        assert run_async(store)["workspace"] == "shop"
        assert httpx.post(where["url"], json={}, timeout=120).status_code == 401
    assert process.returncode == 130


def test_a_port_that_is_taken_is_one_line_and_an_exit_code(foreword):
    with listen_on_loopback() as taken:
        ran = foreword("mcp", "--http", "--port", str(taken.getsockname()[1]))
    assert ran.code == 2
    assert "in use" in ran.err
    assert ran.out == ""


def test_a_person_at_the_terminal_is_told_that_an_agent_is_expected(foreword, terminal):
    ran = foreword("mcp", stdin=terminal())
    assert "an agent is expected" in ran.err


def test_without_the_packages_the_command_says_how_to_get_them(foreword, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    ran = foreword("mcp")
    assert ran.code == 5
    assert "foreword[server]" in ran.err
