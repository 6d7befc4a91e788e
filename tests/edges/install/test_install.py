from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from foreword.edges.install.agents import AGENTS, InstallPlace
from foreword.edges.install.changes import (
    JsonFile,
    list_settings_backups,
    plan_installation,
    write_file_change,
)
from foreword.recipes.coding.companion import ACTING_TOOLS

NAMES = sorted(AGENTS)
SHARED = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreCompact", "SessionEnd"]
EVENTS = [*SHARED[:4], "PostToolUseFailure", "Stop", "SessionEnd"]


def _command(group):
    return shlex.split(group["hooks"][0]["command"])


# What is written


def test_a_foreword_that_was_removed_blocks_nobody(foreword, user, read_hooks):
    foreword("install", "claude-code")
    command = read_hooks(user / ".claude" / "settings.json")["UserPromptSubmit"][0]["hooks"][0]["command"]
    for gone in (command.replace("hook_client", "gone"), command.replace("python", "gone")):
        assert (
            subprocess.run(["sh", "-c", gone], capture_output=True, check=False, timeout=120).returncode == 0
        )


def test_claude_code_gets_a_hook_for_each_event_and_the_memory_tools(foreword, user, home, read_hooks):
    ran = foreword("install", "claude-code")
    assert ran.code == 0
    assert "restart running Claude Code sessions" in ran.err
    hooks = read_hooks(user / ".claude" / "settings.json")
    assert list(hooks) == EVENTS
    assert hooks["SessionStart"][0]["matcher"] == "startup|resume|clear|compact"
    assert {name.casefold() for name in hooks["PreToolUse"][0]["matcher"].split("|")} <= ACTING_TOOLS
    for path in (user / ".claude", user / ".claude" / "settings.json", user / ".claude.json"):
        assert path.stat().st_mode & 0o077 == 0, path
    server = json.loads((user / ".claude.json").read_text())["mcpServers"]["foreword"]
    assert [server["command"], *server["args"]] == [sys.executable, "-I", "-m", "foreword", "mcp"]
    assert server["env"] == {"FOREWORD_HOME": str(home)}


def test_a_hook_names_interpreter_client_data_and_deadline_by_absolute_paths(
    foreword, user, home, read_hooks
):
    foreword("install", "claude-code")
    group = read_hooks(user / ".claude" / "settings.json")["UserPromptSubmit"][0]
    interpreter, *words, otherwise, succeed = _command(group)
    assert (otherwise, succeed) == ("||", "true")
    assert interpreter == os.path.realpath(sys.executable)
    assert words[:2] == ["-I", "-S"]
    assert Path(words[2]).parts[-3:] == ("foreword", "edges", "hook_client.py")
    assert dict(zip(words[3::2], words[4::2], strict=True)) == {
        "--home": str(home),
        "--agent": "claude-code",
        "--event": "UserPromptSubmit",
        "--deadline-ms": "250",
        "--python": sys.executable,
    }


def test_a_folder_with_spaces_and_quotes_survives_the_shell(
    foreword, user, tmp_path, monkeypatch, read_hooks
):
    odd = tmp_path / 'it\'s a "home" $HOME'
    monkeypatch.setenv("FOREWORD_HOME", str(odd))
    foreword("install", "claude-code")
    command = read_hooks(user / ".claude" / "settings.json")["Stop"][0]["hooks"][0]["command"]
    words = ["python3", "-c", "import sys; print(sys.argv[1:])", *shlex.split(command)]
    spoken = subprocess.run(
        ["sh", "-c", shlex.join(words)], capture_output=True, text=True, check=True, timeout=120
    )
    assert repr(str(odd)) in spoken.stdout


@pytest.mark.parametrize(
    ("agent", "file", "second"),
    [
        ("claude-code", ".claude/settings.json", 1),
        ("codex", ".codex/hooks.json", 1),
        ("gemini", ".gemini/settings.json", 1000),
    ],
)
def test_timeouts_are_in_the_agents_own_unit_and_longer_than_the_deadline(
    foreword, user, agent, file, second, read_hooks
):
    foreword("install", agent)
    for groups in read_hooks(user / file).values():
        words = _command(groups[0])
        deadline = float(words[words.index("--deadline-ms") + 1]) / 1000
        assert deadline < groups[0]["hooks"][0]["timeout"] / second <= 10


def test_codex_gets_hooks_and_a_table_and_is_told_to_trust_them(foreword, user, read_hooks):
    config = user / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text('model = "x"  # mine\n')
    ran = foreword("install", "codex")
    assert "trust them" in ran.err
    hooks = read_hooks(config.with_name("hooks.json"))
    assert list(hooks) == SHARED
    assert set(hooks["PreToolUse"][0]["matcher"].casefold().split("|")) <= ACTING_TOOLS
    assert config.read_text().startswith('model = "x"  # mine\n')
    assert tomllib.loads(config.read_text())["mcp_servers"]["foreword"]["args"] == [
        "-I",
        "-m",
        "foreword",
        "mcp",
    ]


def test_gemini_gets_its_own_events_and_keeps_its_comments(foreword, user):
    file = user / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text('{\n  // dark at night\n  "ui": {"theme": "Default"},\n}\n')
    assert foreword("install", "gemini").code == 0
    text = file.read_text()
    assert "// dark at night" in text
    for event in ("SessionStart", "BeforeAgent", "AfterTool", "SessionEnd"):
        assert f"--event {event} " in text
    foreword("uninstall", "gemini")
    assert file.read_text() == '{\n  // dark at night\n  "ui": {"theme": "Default"},\n}\n'


def test_opencode_gets_a_plugin_with_commands_and_a_server(foreword, user):
    foreword("install", "opencode")
    folder = user / ".config" / "opencode"
    text = (folder / "plugin" / "foreword.js").read_text()
    assert json.dumps(os.path.realpath(sys.executable)) in text
    assert '"--event",\n    "UserPromptSubmit"' in text
    server = json.loads((folder / "opencode.json").read_text())["mcp"]["foreword"]
    assert server["type"] == "local"
    assert server["command"][-1] == "mcp"


def test_opencodes_commented_settings_are_used_where_there_are_some(foreword, user):
    file = user / ".config" / "opencode" / "opencode.jsonc"
    file.parent.mkdir(parents=True)
    file.write_text("{} // empty\n")
    foreword("install", "opencode")
    assert "// empty" in file.read_text()
    assert not file.with_name("opencode.json").exists()


def test_a_foreign_file_in_the_plugins_place_is_left_alone(foreword, user, read_files):
    file = user / ".config" / "opencode" / "plugin" / "foreword.js"
    file.parent.mkdir(parents=True)
    file.write_text("// somebody's own\n")
    ran = foreword("install", "opencode")
    assert ran.code == 2
    assert "not written by Foreword" in ran.err
    assert list(read_files(user)) == [file.relative_to(user)]


def test_without_the_tools_only_hooks_are_installed_and_earlier_tools_go(foreword, user, read_hooks):
    foreword("install", "claude-code", "--no-mcp")
    assert not (user / ".claude.json").exists()
    foreword("install", "claude-code")
    assert (user / ".claude.json").exists()
    foreword("install", "claude-code", "--no-mcp")
    assert not (user / ".claude.json").exists()
    assert list(read_hooks(user / ".claude" / "settings.json")) == EVENTS


def test_without_the_package_that_serves_tools_they_are_left_out_and_that_is_said(
    foreword, user, monkeypatch
):
    monkeypatch.setattr("foreword.edges.cli.install.find_spec", lambda name: None)
    ran = foreword("install", "codex")
    assert ran.code == 0
    assert "pip install 'foreword[server]'" in ran.err
    assert not (user / ".codex" / "config.toml").exists()


# Where it is written


@pytest.mark.parametrize(
    ("agent", "variable", "files"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ["settings.json", ".claude.json"]),
        ("codex", "CODEX_HOME", ["hooks.json", "config.toml"]),
        ("opencode", "OPENCODE_CONFIG_DIR", ["plugin/foreword.js", "opencode.json"]),
    ],
)
def test_an_agents_own_variable_says_where_its_settings_are(
    foreword, user, tmp_path, monkeypatch, agent, variable, files, read_files
):
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    foreword("install", agent)
    assert set(read_files(tmp_path / "elsewhere")) == set(map(Path, files))
    assert not read_files(user)


@pytest.mark.parametrize(
    ("agent", "files"),
    [
        ("claude-code", [".claude/settings.local.json", ".mcp.json"]),
        ("codex", [".codex/hooks.json", ".codex/config.toml"]),
        ("gemini", [".gemini/settings.json"]),
        ("opencode", [".opencode/plugin/foreword.js", "opencode.json"]),
    ],
)
def test_a_project_has_files_of_its_own_at_its_root(foreword, user, monkeypatch, agent, files, read_files):
    project = Path.cwd()
    subprocess.run(["git", "init", "-q"], check=True, timeout=120)
    (project / "deep").mkdir()
    monkeypatch.chdir(project / "deep")
    foreword("install", agent, "--scope", "project")
    there = {path for path in read_files(project) if path.parts[0] != ".git"}
    assert there == set(map(Path, files))
    assert not read_files(user)
    foreword("uninstall", agent, "--scope", "project")
    assert not {path for path in read_files(project) if path.parts[0] != ".git"}


# What cannot be done is said


@pytest.mark.parametrize(
    ("agent", "name", "data", "complaint"),
    [
        ("claude-code", ".claude/settings.json", b'{\n  "a": 1,\n}', "line 3"),
        ("claude-code", ".claude/settings.json", b"[]", "not a JSON object"),
        ("claude-code", ".claude/settings.json", b'{"hooks": []}', '"hooks" is not an object'),
        ("claude-code", ".claude/settings.json", b'{"hooks": {"Stop": {}}}', '"Stop" is not a list'),
        ("claude-code", ".claude.json", b'{"mcpServers": 1}', '"mcpServers" is not an object'),
        ("codex", ".codex/hooks.json", b"\xff\xfe", "not UTF-8"),
        ("codex", ".codex/config.toml", b"a = 1\nb = \n", "line 2"),
        ("codex", ".codex/config.toml", b"mcp_servers = {}\n", "by hand"),
        ("gemini", ".gemini/settings.json", b'{\n  // fine\n  "a" 1\n}', "line 3"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_nothing_is_touched(
    foreword, user, agent, name, data, complaint, read_files
):
    file = user / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    ran = foreword("install", agent)
    assert (ran.code, ran.out) == (2, "")
    assert str(file) in ran.err
    assert complaint in ran.err
    assert read_files(user) == {Path(name): data}


def test_a_folder_in_a_files_place_is_an_error_and_no_traceback(foreword, user):
    (user / ".claude" / "settings.json").mkdir(parents=True)
    ran = foreword("install", "claude-code")
    assert ran.code == 2
    assert "settings.json" in ran.err


def test_a_file_that_changes_while_we_look_is_not_overwritten(settings, home):
    target = AGENTS["claude-code"].targets(InstallPlace(home=home))[0]
    change = plan_installation(target)
    settings.write_text('{"newer": true}')
    with pytest.raises(Exception, match="run the command again"):
        write_file_change(change)
    assert settings.read_text() == '{"newer": true}'


def test_a_failed_write_leaves_the_file_and_no_rubbish(
    foreword, settings, monkeypatch, foreign_settings, read_files
):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    ran = foreword("install", "claude-code")
    assert ran.code == 2
    assert settings.read_text() == foreign_settings
    assert set(read_files(settings.parent)) == {Path("settings.json")}


def test_a_link_stays_a_link_and_its_file_is_changed(foreword, settings, tmp_path, foreign_settings):
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    settings.rename(real)
    settings.symlink_to(real)
    foreword("install", "claude-code")
    assert settings.is_symlink()
    assert "hook_client" in real.read_text()
    assert [path.name for path in real.parent.iterdir()] == ["claude.json"]
    foreword("uninstall", "claude-code")
    assert settings.is_symlink()
    assert real.read_text() == foreign_settings


# Looking first


@pytest.mark.parametrize("agent", NAMES)
def test_a_dry_run_shows_a_diff_and_changes_nothing(foreword, user, agent, read_files):
    ran = foreword("install", agent, "--dry-run")
    assert ran.out.startswith("--- /dev/null\n+++ ")
    assert not read_files(user)
    told = foreword("install", agent, "--dry-run", "--json").json
    assert told["changed"] is told["dry_run"] is True
    assert all(file["action"] == "created" and "+++" in file["diff"] for file in told["files"])
    foreword("install", agent)
    before = read_files(user)
    assert foreword("uninstall", agent, "--dry-run").out.startswith("--- ")
    assert read_files(user) == before


def test_a_diff_holds_what_changes_and_little_else(foreword, settings):
    diff = foreword("install", "claude-code", "--dry-run").out
    assert f"--- {settings}" in diff
    assert not [line for line in diff.splitlines() if line.startswith("-") and "opus" in line]


def test_json_names_files_actions_copies_and_what_is_left_to_do(foreword, settings):
    told = foreword("install", "claude-code", "--json").json
    assert [file["action"] for file in told["files"]] == ["changed", "created"]
    assert told["files"][0]["path"] == str(settings)
    assert told["files"][0]["backup"] == str(list_settings_backups(settings)[0])
    assert any("restart" in line for line in told["next"])


def test_an_unknown_agent_is_wrong_usage(foreword, user):
    ran = foreword("install", "notepad")
    assert ran.code == 2
    assert "opencode" in ran.err


# Targets


def test_parts_of_hooks_that_are_no_groups_are_passed_over(tmp_path):
    file = JsonFile(tmp_path / "x", {})
    for text in ('{"hooks": 1}', '{"hooks": {"Stop": [1, {"hooks": 2}, {"hooks": [3]}]}}'):
        assert file.find_our_parts(text) == {}
        assert file.remove_our_parts(text) == text
