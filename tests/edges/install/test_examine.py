from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from foreword.edges.install.agents import AGENTS
from foreword.edges.install.examine import examine_installed_agents, parse_hook_command

SETTINGS = ".claude/settings.json"


@pytest.fixture
def environment(foreword, user):
    """What the doctor says of the installation, by name."""
    return lambda: {one["name"]: one for one in foreword("doctor", "--json").json["environment"]}


@pytest.fixture
def change_settings(user):
    """Change the settings of Claude Code as text."""

    def change(old, new, name=SETTINGS):
        file = user / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    return change


def test_an_installation_in_no_agent_is_no_problem(environment):
    found = environment()
    assert found["agents"]["ok"]
    assert "foreword install claude-code" in found["agents"]["value"]
    assert "service" not in found


@pytest.mark.parametrize(
    ("agent", "value"),
    [
        ("claude-code", "7 hooks, memory tools"),
        ("codex", "7 hooks, memory tools"),
        ("gemini", "4 hooks, memory tools"),
        ("opencode", "a plugin, memory tools"),
    ],
)
def test_what_was_just_installed_is_well(foreword, environment, agent, value):
    foreword("install", agent)
    found = environment()
    assert (found[agent]["ok"], found[agent]["value"]) == (True, value)
    assert found["service"] == {
        "name": "service",
        "value": "not running; the next hook starts it",
        "ok": True,
        "advice": "",
    }


def test_a_projects_own_installation_is_looked_at_too(foreword, environment):
    foreword("install", "claude-code", "--scope", "project", "--no-mcp")
    assert environment()["claude-code, this project"]["value"] == "7 hooks, no memory tools"


def test_an_installation_in_two_scopes_is_a_problem(foreword, user):
    foreword("install", "claude-code", "--scope", "project")
    (user / ".claude").mkdir()
    (user / SETTINGS).write_text(Path(".claude/settings.local.json").read_text())
    ran = foreword("doctor")
    assert ran.code == 1
    assert "foreword uninstall claude-code --scope project" in " ".join(ran.out.split())


def test_a_home_that_is_the_project_is_looked_at_once(foreword, user, home, monkeypatch):
    monkeypatch.chdir(user)
    foreword("install", "codex")
    assert foreword("install", "codex").out == "nothing to change\n"
    assert [one.name for one in examine_installed_agents(home, user)] == ["codex"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "foreword/edges/hook_client.py",
            "gone/foreword/edges/hook_client.py",
            "hook_client.py is not there",
        ),
        (os.path.realpath(sys.executable), "/gone/python", "/gone/python is not there"),
        (f"--python {sys.executable}", "--python /gone/venv/python", "/gone/venv/python is not there"),
        ("--home ", "--home /elsewhere/and", "the hooks use the data in /elsewhere"),
        ('"timeout": 5', '"timeout": 5000', "does not fit its deadline"),
        ('"timeout": 5', '"timeout": 0.1', "does not fit its deadline"),
        ("--deadline-ms 250", "--deadline-ms soon", "cannot be read"),
        ("--deadline-ms 250", "--deadline-ms 'soon", "cannot be read"),
        ("--deadline-ms 250", "", "cannot be read"),
        ("UserPromptSubmit", "UserPromptSubmitted", "no hook for UserPromptSubmit"),
    ],
)
def test_what_no_longer_works_is_named_with_what_to_do(
    foreword, environment, change_settings, old, new, complaint
):
    foreword("install", "claude-code")
    change_settings(old, new)
    found = environment()["claude-code"]
    assert found["ok"] is False
    assert complaint in found["value"]
    assert found["advice"] == "run: foreword install claude-code"
    foreword("install", "claude-code")
    assert environment()["claude-code"]["ok"] is True


def test_milliseconds_are_right_where_the_agent_counts_in_them(foreword, environment, change_settings):
    foreword("install", "gemini")
    assert environment()["gemini"]["ok"] is True
    change_settings('"timeout": 5000', '"timeout": 5', ".gemini/settings.json")
    assert "5 ms" in environment()["gemini"]["value"]


def test_a_hook_without_a_timeout_has_the_agents_own(foreword, environment, user):
    foreword("install", "claude-code")
    said = json.loads((user / SETTINGS).read_text())
    del said["hooks"]["Stop"][0]["hooks"][0]["timeout"]
    (user / SETTINGS).write_text(json.dumps(said))
    assert environment()["claude-code"]["ok"] is True


def test_doubled_hooks_are_a_problem(foreword, environment, user):
    foreword("install", "claude-code")
    said = json.loads((user / SETTINGS).read_text())
    said["hooks"]["Stop"] *= 2
    (user / SETTINGS).write_text(json.dumps(said))
    assert "Stop has more than one hook of ours" in environment()["claude-code"]["value"]


def test_tools_whose_program_is_gone_are_a_problem(foreword, environment, change_settings):
    foreword("install", "claude-code")
    change_settings(sys.executable, "/gone/python", ".claude.json")
    assert "memory tools' program is not there: /gone/python" in environment()["claude-code"]["value"]


def test_an_older_plugin_is_a_problem(foreword, environment, change_settings):
    foreword("install", "opencode")
    change_settings("const PATIENCE = 5000", "const PATIENCE = 1", ".config/opencode/plugin/foreword.js")
    assert "is not the plugin of this Foreword" in environment()["opencode"]["value"]


def test_a_plugin_is_looked_at_where_claude_code_runs_one(foreword, environment, user, tmp_path):
    folder = tmp_path / "market place"
    foreword("install", "claude-code", "--plugin", str(folder))
    told = {
        "enabledPlugins": {"foreword@foreword": True},
        "extraKnownMarketplaces": {"foreword": {"source": {"source": "directory", "path": str(folder)}}},
    }
    (user / ".claude").mkdir()
    (user / SETTINGS).write_text(json.dumps(told))
    assert environment()["claude-code plugin"]["value"] == f"7 hooks in {folder}"
    (folder / "foreword" / "hooks" / "hooks.json").unlink()
    found = environment()["claude-code plugin"]
    assert found["ok"] is False
    assert found["advice"] == f"run: foreword install claude-code --plugin '{folder}'"


def test_settings_that_cannot_be_read_are_a_problem(environment, user):
    (user / ".claude").mkdir()
    (user / SETTINGS).write_text("{")
    found = environment()["claude-code"]
    assert found["ok"] is False
    assert "line 1" in found["value"]


def test_every_agent_says_what_it_needs():
    for name, agent in AGENTS.items():
        assert name == agent.name
        assert agent.timeout_unit in (1.0, 0.001)


def test_a_command_that_is_not_ours_is_not_read():
    assert parse_hook_command("notify-send done") is None
