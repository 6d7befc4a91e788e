"""The real Claude Code, from its prompt through the installed hooks to what the model is sent."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys

import pytest

pytestmark = pytest.mark.slow

FACT = "The staging database of the lighthouse project is called heron-42 and stands in Frankfurt."
WORD = "heron-42"
PROMPT = "What is the staging database of the lighthouse project called?"
LATER = "And where does the staging database of the lighthouse project stand?"

TRIED = (
    *("--domain", "debugging", "--strategy", "read-the-error", "--goal", "make the price test pass"),
    *("--hypothesis", "prices round to one place", "--action", "round to two places in price.py"),
    *("--prediction", "test_price passes"),
)


def test_without_foreword_the_model_knows_nothing(world, claude):
    world.foreword("remember", FACT)
    assert claude(PROMPT)["result"] == "Understood."
    assert PROMPT in world.model.texts[-1]
    assert WORD not in world.model.texts[-1]


def test_what_was_remembered_is_in_what_the_model_is_sent(world, claude):
    world.foreword("remember", FACT)
    world.install("claude-code")
    world.serve()
    world.ask_until_told(WORD, claude, (PROMPT,), (LATER, "--continue"))
    assert "foreword-context" in world.model.texts[-1]


def test_the_first_session_starts_the_service_and_waits_for_it(world, claude):
    world.foreword("remember", FACT)
    world.install("claude-code")
    world.ask_until_told(WORD, claude, (PROMPT,), (LATER, "--continue"))
    assert world.status()["running"]


def test_nothing_is_said_twice_in_a_session(world, claude):
    world.foreword("remember", FACT)
    world.install("claude-code")
    world.serve()
    world.ask_until_told(WORD, claude, (PROMPT,), (LATER, "--continue"))
    claude(LATER, "--continue")
    first, second = world.model.texts[-2:]
    assert PROMPT in second
    assert second.count(WORD) == first.count(WORD) >= 1


def test_another_session_is_told_again(world, claude):
    world.foreword("remember", FACT)
    world.install("claude-code")
    world.serve()
    world.ask_until_told(WORD, claude, (PROMPT,), (LATER, "--continue"))
    world.ask_until_told(WORD, claude, (LATER,), (PROMPT, "--continue"))
    told = world.model.texts[-1]
    assert LATER in told  # the second session's first prompt
    assert WORD in told


def test_nothing_of_ours_but_what_we_say_is_in_the_context_after_a_compact(world, claude):
    world.foreword("remember", FACT)
    world.install("claude-code")
    world.serve()
    claude(PROMPT)
    claude("/compact", "--continue")
    world.ask_until_told(WORD, claude, (LATER, "--continue"))
    assert not [text for text in world.model.texts if "hook_client" in text]


def test_a_brief_arrives_before_a_tool_runs(world, claude):
    world.model.command = "echo running the kestrel migration"
    world.install("claude-code")
    world.serve()
    claude("Good morning.")  # the session begins with nothing to be told
    world.foreword("remember", "The kestrel migration locks the orders table for ten minutes.")
    count = world.ask_until_told("orders table", claude, ("USE_TOOL", "--continue"))
    assert not [text for text in world.model.texts[: 2 * count] if "orders table" in text]


def test_red_then_a_change_then_green_proves_an_experience_and_the_next_failure_is_told_of_it(world, claude):
    (world.project / "test_price.py").write_text(
        "from price import price\n\ndef test_price():\n    assert price(2.25) == 2.25\n"
    )
    broken = "def price(amount):\n    return round(amount, 1)\n"
    (world.project / "price.py").write_text(broken)
    run = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
    world.install("claude-code")
    world.serve()
    session = claude("Good morning.")["session_id"]
    world.foreword("experience", "start", "--session", session, *TRIED)

    def statuses():
        return [one["status"] for one in json.loads(world.foreword("experience", "list", "--json").stdout)]

    for command in (run, "sed -i 's/amount, 1/amount, 2/' price.py", run):
        world.model.command = command
        assert statuses() == ["open"]
        claude("USE_TOOL", "--continue")
    world.until(lambda: statuses() == ["confirmed"], "the experience was not confirmed")
    [experience] = json.loads(world.foreword("experience", "list", "--json").stdout)
    assert experience["tier"] == "gold"
    (world.project / "price.py").write_text(broken)
    world.ask_until_told("Premortem", claude, ("USE_TOOL",))
    assert "round to one place" in world.model.texts[-1]


def test_a_prompt_becomes_a_turn_and_so_does_the_answer(world, claude):
    world.install("claude-code")
    world.serve()
    claude("Please rename the lighthouse module to beacon.")
    world.foreword("stop")
    assert world.search_texts("rename lighthouse beacon") == [
        "Please rename the lighthouse module to beacon."
    ]


def test_what_foreword_said_is_not_remembered_as_new(world, claude):
    world.foreword("remember", FACT)
    world.install("claude-code")
    world.serve()
    world.ask_until_told(WORD, claude, (PROMPT,), (LATER, "--continue"))
    claude(LATER, "--continue")
    world.foreword("stop")
    assert not [text for text in world.search_texts("staging database heron") if WORD in text]


def test_a_killed_service_costs_a_session_nothing_and_loses_no_prompt(world, claude):
    world.install("claude-code")
    pid = world.serve()
    claude("Good morning.")
    os.kill(pid, signal.SIGKILL)
    said = claude("Please rename the lighthouse module to beacon.", "--continue")
    assert said["result"] == "Understood."
    assert "rename the lighthouse module" in world.model.texts[-1]
    world.until(lambda: world.search_texts("rename lighthouse beacon"), "the prompt was not stored")


def test_a_service_that_sleeps_holds_nobody_up_and_catches_up(world, claude):
    world.install("claude-code")
    pid = world.serve()
    claude("Good morning.")
    os.kill(pid, signal.SIGSTOP)
    try:  # it is answered although the service stands still until after that
        said = claude("Please rename the lighthouse module to beacon.", "--continue")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert said["result"] == "Understood."
    assert "rename the lighthouse module" in world.model.texts[-1]
    world.until(lambda: world.search_texts("rename lighthouse beacon"), "the prompt was not stored")


def test_a_foreword_that_is_gone_costs_a_session_nothing(world, claude):
    world.install("claude-code")
    settings = world.home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace("hook_client.py", "gone/hook_client.py"))
    assert claude(PROMPT)["result"] == "Understood."
    assert PROMPT in world.model.texts[-1]


def test_after_uninstalling_the_model_is_told_nothing(world, claude):
    world.foreword("remember", FACT)
    world.install("claude-code")
    world.foreword("uninstall", "claude-code")
    claude(PROMPT)
    assert WORD not in world.model.texts[-1]


def test_a_projects_installation_works_in_that_project(world, claude):
    world.foreword("remember", FACT)
    world.install("claude-code", "--scope", "project")
    world.serve()
    world.ask_until_told(WORD, claude, (PROMPT,), (LATER, "--continue"))
    assert WORD in world.model.texts[-1]
    assert "foreword" in (world.project / ".claude" / "settings.local.json").read_text(encoding="utf-8")


def test_the_memory_tools_connect(world, claude):
    world.install("claude-code")
    world.serve()  # else the tools start one, and it may come up after this test has stopped it
    assert "Connected" in next(line for line in claude.run("mcp", "list").splitlines() if "foreword" in line)


def test_the_plugin_is_valid_and_does_the_same(world, claude):
    world.foreword("remember", FACT)
    folder = world.root / "market"
    world.install("claude-code", "--plugin", str(folder))
    for part in (folder, folder / "foreword"):
        assert "Validation passed" in claude.run("plugin", "validate", str(part))
    claude.run("plugin", "marketplace", "add", str(folder))
    claude.run("plugin", "install", "foreword@foreword")
    world.serve()
    world.ask_until_told(WORD, claude, (PROMPT,), (LATER, "--continue"))
    assert "foreword:recall" in world.model.texts[-1]


def test_in_a_pause_the_model_is_sent_the_prompt_alone_and_nothing_is_kept(world, claude):
    world.foreword("remember", FACT)
    world.install("claude-code")
    world.serve()
    world.foreword("pause", "--for", "1h")
    said = f"{PROMPT} Between us: the password of the harbour office is pelican."
    shown = claude.run("-p", said, "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash")
    assert "Foreword is paused until" in shown
    assert said in world.model.texts[0]
    assert WORD not in world.model.texts[0]
    assert "foreword-context" not in world.model.texts[0]
    assert "paused" not in world.model.texts[0]
    world.foreword("stop")
    held = [path for path in world.data.rglob("*") if path.is_file() and b"pelican" in path.read_bytes()]
    assert held == []


def test_the_user_is_told_how_much_was_recalled_and_the_model_is_not(world, claude):
    world.foreword("remember", FACT)
    world.install("claude-code")
    world.serve()
    shown = claude.run("-p", PROMPT, "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash")
    assert WORD in world.model.texts[0]
    assert "Foreword: 1 recalled" not in world.model.texts[0]
    assert "Foreword: 1 recalled" in shown


def test_wrong_settings_are_told_in_the_session(world, claude):
    world.install("claude-code")
    world.data.mkdir(exist_ok=True)
    (world.data / "config.toml").write_text("tokn = 3\n")
    shown = claude.run("-p", PROMPT, "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash")
    (world.data / "config.toml").unlink()
    assert "Foreword is off: unknown setting 'tokn'" in shown
    assert PROMPT in world.model.texts[0]
