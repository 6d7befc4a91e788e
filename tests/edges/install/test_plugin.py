"""The plugin for Claude Code: what it holds, and what it cannot stand beside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foreword.edges.install.agents import AGENTS

NAMES = sorted(AGENTS)
SHARED = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreCompact", "SessionEnd"]


def test_a_plugin_is_a_marketplace_with_hooks_a_skill_a_command_and_tools(
    foreword, user, tmp_path, read_files, read_hooks
):
    folder = tmp_path / "market place"
    ran = foreword("install", "claude-code", "--plugin", str(folder))
    assert ran.code == 0
    assert f"claude plugin marketplace add '{folder}'" in ran.err
    assert not read_files(user)
    market = json.loads((folder / ".claude-plugin" / "marketplace.json").read_text())
    plugin = folder / market["plugins"][0]["source"]
    assert json.loads((plugin / ".claude-plugin" / "plugin.json").read_text())["name"] == "foreword"
    hooks = read_hooks(plugin / "hooks" / "hooks.json")
    assert list(hooks) == [*SHARED[:4], "PostToolUseFailure", "Stop", "SessionEnd"]
    assert "--event Stop " in hooks["Stop"][0]["hooks"][0]["command"]
    assert (plugin / "skills" / "recall" / "SKILL.md").read_text().startswith("---\nname: recall\n")
    assert "doctor" in (plugin / "commands" / "status.md").read_text()
    assert "foreword" in json.loads((plugin / ".mcp.json").read_text())["mcpServers"]
    assert foreword("install", "claude-code", "--plugin", str(folder)).out == "nothing to change\n"
    foreword("uninstall", "claude-code", "--plugin", str(folder))
    assert not folder.exists()


def test_removing_a_plugin_leaves_what_others_put_there(foreword, user, tmp_path, read_files):
    folder = tmp_path / "market"
    foreword("install", "claude-code", "--plugin", str(folder), "--no-mcp")
    (folder / "foreword" / "notes.md").write_text("mine")
    foreword("uninstall", "claude-code", "--plugin", str(folder))
    assert read_files(folder) == {Path("foreword/notes.md"): b"mine"}


def test_a_plugin_is_not_written_into_somebody_elses_marketplace(foreword, user, tmp_path, read_files):
    file = tmp_path / "market" / ".claude-plugin" / "marketplace.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"name": "other"}')
    assert foreword("install", "claude-code", "--plugin", str(tmp_path / "market")).code == 2
    assert set(read_files(tmp_path / "market")) == {Path(".claude-plugin/marketplace.json")}


def test_a_plugin_beside_the_hooks_is_refused_and_the_other_way_round(foreword, user, settings, tmp_path):
    foreword("install", "claude-code")
    ran = foreword("install", "claude-code", "--plugin", str(tmp_path / "market"))
    assert ran.code == 2
    assert "first run: foreword uninstall claude-code --scope user" in ran.err
    foreword("uninstall", "claude-code")
    settings.write_text('{"enabledPlugins": {"foreword@foreword": true}}')
    ran = foreword("install", "claude-code")
    assert ran.code == 2
    assert "claude plugin uninstall" in ran.err


@pytest.mark.parametrize("agent", NAMES)
@pytest.mark.parametrize(("first", "second"), [("user", "project"), ("project", "user")])
def test_one_agent_is_installed_in_one_scope(foreword, user, agent, first, second, read_files):
    foreword("install", agent, "--scope", first)
    ran = foreword("install", agent, "--scope", second)
    assert ran.code == 2
    assert f"first run: foreword uninstall {agent} --scope {first}" in ran.err
    assert bool(read_files(user)) is (first == "user")


def test_a_plugin_is_for_claude_code_alone(foreword, user, tmp_path):
    assert foreword("install", "codex", "--plugin", str(tmp_path / "market")).code == 2
    assert foreword("uninstall", "gemini", "--plugin", str(tmp_path / "market")).code == 2
