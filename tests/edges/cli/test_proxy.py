"""`foreword proxy`, as a process of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import httpx2
import pytest

from foreword.edges.cli.main import run


@pytest.mark.slow
def test_it_says_where_it_is_and_answers_there_until_it_is_stopped(tmp_path, first_json):
    command = [sys.executable, "-m", "foreword", "proxy", "--upstream", "http://127.0.0.1:9/v1"]
    command += ["--port", "0", "--json", "-w", "shop"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            facts = first_json(process)
            body = {"messages": [{"role": "user", "content": "Hello"}]}
            answer = httpx2.post(f"{facts['url']}/chat/completions", json=body, timeout=120, trust_env=False)
        finally:
            process.terminate()
            process.wait(120)
    assert facts["workspace"] == "shop"
    assert (answer.status_code, answer.json()["error"]["type"]) == (502, "upstream_unreachable")
    assert process.returncode in (0, -signal.SIGTERM)


def test_a_port_that_is_taken_is_named(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run(["proxy", "--upstream", "http://127.0.0.1:9/v1", "--port", port]) == 1
    assert f"port {port} cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize(
    "url", ["api.openai.com/v1", "ftp://x", "http://", "http://me:pw@x/v1", "http://x/v1?key=1"]
)
def test_an_upstream_that_is_no_base_url_is_a_usage_error(url, capsys):
    assert run(["proxy", "--upstream", url]) == 2
    assert "upstream" in capsys.readouterr().err
