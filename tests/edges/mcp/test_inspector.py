"""The MCP Inspector, another's client in another's language, against `foreword mcp` over both transports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

CACHE = os.environ.get("FOREWORD_AGENTS_CACHE", "")  # read before the tests clear the environment
INSPECTOR = Path(CACHE) / "node_modules" / ".bin" / "mcp-inspector"
FOREWORD = Path(sys.executable).parent / "foreword"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not CACHE or not INSPECTOR.exists(),
        reason="the MCP Inspector is not installed where FOREWORD_AGENTS_CACHE says; run: make agents",
    ),
]


@pytest.fixture(params=["stdio", "http"])
def inspect(request, tmp_path, home, first_json):
    """A function that asks over one transport; gives the exit code and what was answered."""
    shared = {"FOREWORD_HOME": str(home), "FOREWORD_WORKSPACE": "shop", "FOREWORD_EMBEDDING": "none"}
    node = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    if request.param == "stdio":
        covered = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        given = [f"{name}={value}" for name, value in {**shared, **covered}.items()]
        yield _make_asker(node, [str(FOREWORD), "mcp", *(part for one in given for part in ("-e", one))])
        return
    serving = subprocess.Popen(
        [FOREWORD, "mcp", "--http", "--json"], stdout=subprocess.PIPE, text=True, env={**os.environ, **shared}
    )
    where = first_json(serving)
    token = Path(where["token_file"]).read_text().strip()
    target = [where["url"], "--transport", "http"]
    yield _make_asker(node, [*target, "--header", f"Authorization: Bearer {token}"])
    serving.send_signal(signal.SIGINT)
    serving.communicate(timeout=120)


def _make_asker(environment, target):
    def ask(*arguments):
        ran = subprocess.run(
            [INSPECTOR, "--cli", *target, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ran.stdout, ran.stderr
        return ran.returncode, json.loads(ran.stdout)

    return ask


def _tool(ask, name, *arguments):
    code, answer = ask("--method", "tools/call", "--tool-name", name, "--tool-arg", *arguments)
    return code, answer


def test_the_inspector_finds_stores_and_reads_what_the_server_offers(inspect):
    code, listed = inspect("--method", "tools/list", "--strict")
    assert code == 0, "a schema that other clients could not read"
    assert {tool["name"] for tool in listed["tools"]} >= {"memory_search", "memory_store", "context_build"}
    assert all(tool["outputSchema"]["type"] == "object" for tool in listed["tools"])

    code, kept = _tool(inspect, "memory_store", "text=The gate is blue.", "type=fact", "importance=0.9")
    assert code == 0
    memory = kept["structuredContent"]["memory"]
    assert (memory["trust"], memory["importance"]) == ("agent", 0.9)
    code, found = _tool(inspect, "memory_search", "query=which colour has the gate", "limit=3")
    assert [one["id"] for one in found["structuredContent"]["memories"]] == [memory["id"]]
    assert json.loads(found["content"][0]["text"]) == found["structuredContent"]

    uri = f"foreword://workspaces/shop/items/{memory['id']}"
    code, read = inspect("--method", "resources/read", "--uri", uri)
    assert json.loads(read["contents"][0]["text"])["text"] == "The gate is blue."
    code, templates = inspect("--method", "resources/templates/list")
    assert len(templates["resourceTemplates"]) == 3
    code, prompt = inspect(
        "--method", "prompts/get", "--prompt-name", "recall", "--prompt-args", "topic=gate colour"
    )
    assert "The gate is blue." in prompt["messages"][0]["content"]["text"]


def test_the_inspector_is_told_of_a_mistake_and_not_of_a_crash(inspect):
    code, answer = _tool(inspect, "memory_get", "id=nobody")
    assert code != 0
    assert answer["isError"]
    assert "search for it first" in answer["content"][0]["text"]
    assert "Traceback" not in json.dumps(answer)
