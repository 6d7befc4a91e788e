"""The real Codex, from its prompt through the installed hooks to what the model is sent."""

from __future__ import annotations

import os
import signal
import tomllib

import pytest

pytestmark = pytest.mark.slow

FACT = "The staging database of the lighthouse project is called heron-42 and stands in Frankfurt."
WORD = "heron-42"
PROMPT = "What is the staging database of the lighthouse project called?"
LATER = "And where does the staging database of the lighthouse project stand?"


def test_what_was_remembered_is_in_what_the_model_is_sent(world, codex):
    world.foreword("remember", FACT)
    codex(PROMPT)
    assert WORD not in world.model.texts[-1]
    world.install("codex")
    world.serve()
    world.ask_until_told(WORD, codex, (PROMPT,), ("resume", "--last", LATER))


def test_the_first_session_starts_the_service_and_waits_for_it(world, codex):
    world.foreword("remember", FACT)
    world.install("codex")
    world.ask_until_told(WORD, codex, (PROMPT,), ("resume", "--last", LATER))
    assert world.status()["running"]


def test_nothing_is_said_twice_in_a_session(world, codex):
    world.foreword("remember", FACT)
    world.install("codex")
    world.serve()
    world.ask_until_told(WORD, codex, (PROMPT,), ("resume", "--last", LATER))
    codex("resume", "--last", LATER)
    first, second = world.model.texts[-2:]
    assert PROMPT in second
    assert second.count(WORD) == first.count(WORD) >= 1


def test_a_brief_arrives_before_a_tool_runs(world, codex):
    world.model.command = "echo running the kestrel migration"
    world.install("codex")
    world.serve()
    codex("Good morning.")  # the session begins with nothing to be told
    world.foreword("remember", "The kestrel migration locks the orders table for ten minutes.")
    count = world.ask_until_told("orders table", codex, ("resume", "--last", "USE_TOOL"))
    assert not [text for text in world.model.texts[: 2 * count] if "orders table" in text]


def test_a_prompt_becomes_a_turn(world, codex):
    world.install("codex")
    world.serve()
    codex("Please rename the lighthouse module to beacon.")
    world.foreword("stop")
    assert world.search_texts("rename lighthouse beacon") == [
        "Please rename the lighthouse module to beacon."
    ]


def test_a_killed_service_costs_a_session_nothing_and_loses_no_prompt(world, codex):
    world.install("codex")
    pid = world.serve()
    codex("Good morning.")
    os.kill(pid, signal.SIGKILL)
    assert "Understood." in codex("resume", "--last", "Please rename the lighthouse module to beacon.")
    assert "rename the lighthouse module" in world.model.texts[-1]
    world.until(lambda: world.search_texts("rename lighthouse beacon"), "the prompt was not stored")


def test_a_service_that_sleeps_holds_nobody_up(world, codex):
    world.install("codex")
    pid = world.serve()
    os.kill(pid, signal.SIGSTOP)
    try:
        assert "Understood." in codex("Please rename the lighthouse module to beacon.")
    finally:
        os.kill(pid, signal.SIGCONT)
    world.until(lambda: world.search_texts("rename lighthouse beacon"), "the prompt was not stored")


def test_codex_reads_its_settings_as_before_and_knows_the_tools(world, codex):
    file = world.home / ".codex" / "config.toml"
    before = file.read_text()
    world.install("codex")
    assert "foreword" in codex.run("mcp", "list")
    assert tomllib.loads(file.read_text())["model_providers"]["fake"]["name"] == "fake"
    world.foreword("uninstall", "codex")
    assert file.read_text() == before
    assert not file.with_name("hooks.json").exists()
