from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.edges.install.agents import AGENTS
from foreword.edges.install.changes import apply, backups, plan_installation, plan_removal
from foreword.edges.install.commands import Place
from foreword.edges.install.targets import JsonFile

NAMES = sorted(AGENTS)
SHARED = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "PreCompact", "SessionEnd"]
EVENTS = [*SHARED[:4], "PostToolUseFailure", *SHARED[4:]]
SETTINGS = """\
{
    "model": "opus",
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "notify-send done"}]}
        ],
        "PreToolUse": []
    },
    "futureKey": {"b": 1, "a": [1, 2,    3]}
}"""


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user's home folder with nothing in it."""
    folder = tmp_path / "user with spaces"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def settings(user):
    """Claude Code's settings, with things in them that are somebody else's."""
    file = user / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(SETTINGS)
    return file


def _files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _hooks(file):
    return json.loads(file.read_text())["hooks"]


def _command(group):
    return shlex.split(group["hooks"][0]["command"])


# What is written


def test_a_foreword_that_was_removed_blocks_nobody(foreword, user):
    foreword("install", "claude-code")
    command = _hooks(user / ".claude" / "settings.json")["UserPromptSubmit"][0]["hooks"][0]["command"]
    for gone in (command.replace("hook_client", "gone"), command.replace("python", "gone")):
        assert (
            subprocess.run(["sh", "-c", gone], capture_output=True, check=False, timeout=60).returncode == 0
        )


def test_claude_code_gets_a_hook_for_each_event_and_the_memory_tools(foreword, user, home):
    ran = foreword("install", "claude-code")
    assert ran.code == 0
    assert "restart running Claude Code sessions" in ran.err
    hooks = _hooks(user / ".claude" / "settings.json")
    assert list(hooks) == EVENTS
    assert hooks["SessionStart"][0]["matcher"] == "startup|resume|clear|compact"
    server = json.loads((user / ".claude.json").read_text())["mcpServers"]["foreword"]
    assert [server["command"], *server["args"]] == [sys.executable, "-I", "-m", "foreword", "mcp"]
    assert server["env"] == {"FOREWORD_HOME": str(home)}


def test_a_hook_names_interpreter_client_data_and_deadline_by_absolute_paths(foreword, user, home):
    foreword("install", "claude-code")
    group = _hooks(user / ".claude" / "settings.json")["UserPromptSubmit"][0]
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


def test_a_folder_with_spaces_and_quotes_survives_the_shell(foreword, user, tmp_path, monkeypatch):
    odd = tmp_path / 'it\'s a "home" $HOME'
    monkeypatch.setenv("FOREWORD_HOME", str(odd))
    foreword("install", "claude-code")
    command = _hooks(user / ".claude" / "settings.json")["Stop"][0]["hooks"][0]["command"]
    words = ["python3", "-c", "import sys; print(sys.argv[1:])", *shlex.split(command)]
    spoken = subprocess.run(
        ["sh", "-c", shlex.join(words)], capture_output=True, text=True, check=True, timeout=60
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
    foreword, user, agent, file, second
):
    foreword("install", agent)
    for groups in _hooks(user / file).values():
        words = _command(groups[0])
        deadline = float(words[words.index("--deadline-ms") + 1]) / 1000
        assert deadline < groups[0]["hooks"][0]["timeout"] / second <= 10


def test_codex_gets_hooks_and_a_table_and_is_told_to_trust_them(foreword, user):
    config = user / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text('model = "x"  # mine\n')
    ran = foreword("install", "codex")
    assert "trust them" in ran.err
    assert list(_hooks(config.with_name("hooks.json"))) == SHARED
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


def test_a_foreign_file_in_the_plugins_place_is_left_alone(foreword, user):
    file = user / ".config" / "opencode" / "plugin" / "foreword.js"
    file.parent.mkdir(parents=True)
    file.write_text("// somebody's own\n")
    ran = foreword("install", "opencode")
    assert ran.code == 2
    assert "not written by Foreword" in ran.err
    assert list(_files(user)) == [file.relative_to(user)]


def test_without_the_tools_only_hooks_are_installed_and_earlier_tools_go(foreword, user):
    foreword("install", "claude-code", "--no-mcp")
    assert not (user / ".claude.json").exists()
    foreword("install", "claude-code")
    assert (user / ".claude.json").exists()
    foreword("install", "claude-code", "--no-mcp")
    assert not (user / ".claude.json").exists()
    assert list(_hooks(user / ".claude" / "settings.json")) == EVENTS


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
    foreword, user, tmp_path, monkeypatch, agent, variable, files
):
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    foreword("install", agent)
    assert set(_files(tmp_path / "elsewhere")) == set(map(Path, files))
    assert not _files(user)


@pytest.mark.parametrize(
    ("agent", "files"),
    [
        ("claude-code", [".claude/settings.local.json", ".mcp.json"]),
        ("codex", [".codex/hooks.json", ".codex/config.toml"]),
        ("gemini", [".gemini/settings.json"]),
        ("opencode", [".opencode/plugin/foreword.js", "opencode.json"]),
    ],
)
def test_a_project_has_files_of_its_own_at_its_root(foreword, user, monkeypatch, agent, files):
    project = Path.cwd()
    subprocess.run(["git", "init", "-q"], check=True, timeout=60)
    (project / "deep").mkdir()
    monkeypatch.chdir(project / "deep")
    foreword("install", agent, "--scope", "project")
    there = {path for path in _files(project) if path.parts[0] != ".git"}
    assert there == set(map(Path, files))
    assert not _files(user)
    foreword("uninstall", agent, "--scope", "project")
    assert not {path for path in _files(project) if path.parts[0] != ".git"}


# Other people's settings


@pytest.mark.parametrize("agent", NAMES)
def test_the_second_time_nothing_changes(foreword, user, agent):
    foreword("install", agent)
    before = _files(user)
    ran = foreword("install", agent)
    assert (ran.code, ran.out, ran.err) == (0, "nothing to change\n", "")
    assert foreword("install", agent, "--json").json["changed"] is False
    assert _files(user) == before


@pytest.mark.parametrize("agent", NAMES)
def test_what_was_not_there_before_is_gone_afterwards(foreword, user, agent):
    foreword("install", agent)
    assert _files(user)
    assert foreword("uninstall", agent).code == 0
    assert not _files(user)
    assert foreword("uninstall", agent).out == "nothing to change\n"


def test_everything_else_keeps_its_place_and_its_wording(foreword, settings):
    foreword("install", "claude-code")
    text = settings.read_text()
    assert '"futureKey": {"b": 1, "a": [1, 2,    3]}' in text
    hooks = _hooks(settings)
    assert hooks["Stop"][0]["hooks"][0]["command"] == "notify-send done"
    assert len(hooks["Stop"]) == 2
    assert list(json.loads(text)) == ["model", "hooks", "futureKey"]


def test_a_copy_is_kept_before_the_first_change_and_goes_with_it(foreword, settings):
    settings.chmod(0o640)
    ran = foreword("install", "claude-code")
    [copy] = backups(settings)
    assert str(copy) in ran.out
    assert copy.read_text() == SETTINGS
    assert copy.stat().st_mode & 0o777 == settings.stat().st_mode & 0o777 == 0o640
    foreword("install", "claude-code", "--no-mcp")
    assert backups(settings) == [copy]
    assert "restored" in foreword("uninstall", "claude-code").out
    assert settings.read_text() == SETTINGS
    assert not backups(settings)


def test_what_others_changed_meanwhile_stays_when_ours_goes(foreword, settings):
    foreword("install", "claude-code")
    [copy] = backups(settings)
    said = json.loads(settings.read_text())
    said["model"] = "sonnet"
    said["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "later"}]})
    settings.write_text(json.dumps(said, indent=2))
    foreword("uninstall", "claude-code")
    left = json.loads(settings.read_text())
    assert left["model"] == "sonnet"
    assert [group["hooks"][0]["command"] for group in left["hooks"]["Stop"]] == ["notify-send done", "later"]
    assert "hook_client" not in settings.read_text()
    assert copy.exists()


def test_a_hook_that_somebody_put_beside_ours_stays(foreword, settings):
    foreword("install", "claude-code")
    said = json.loads(settings.read_text())
    said["hooks"]["PreCompact"][0]["hooks"].append({"type": "command", "command": "theirs"})
    settings.write_text(json.dumps(said, indent=2))
    foreword("install", "claude-code")
    assert "nothing to change" in foreword("install", "claude-code").out
    foreword("uninstall", "claude-code")
    assert _hooks(settings)["PreCompact"] == [{"hooks": [{"type": "command", "command": "theirs"}]}]


def test_a_foreword_that_moved_is_found_and_its_hooks_renewed(foreword, settings, tmp_path, monkeypatch):
    foreword("install", "claude-code")
    monkeypatch.setenv("FOREWORD_HOME", str(tmp_path / "new home"))
    assert "changed" in foreword("install", "claude-code").out
    hooks = _hooks(settings)
    assert len(hooks["Stop"]) == 2
    assert "new home" in hooks["Stop"][1]["hooks"][0]["command"]
    foreword("uninstall", "claude-code")
    assert settings.read_text() == SETTINGS


def test_doubled_hooks_become_single_again(foreword, settings):
    foreword("install", "claude-code")
    said = json.loads(settings.read_text())
    said["hooks"]["SessionEnd"] *= 2
    settings.write_text(json.dumps(said, indent=2))
    foreword("install", "claude-code")
    assert len(_hooks(settings)["SessionEnd"]) == 1


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_what_others_added_to_our_server_stays(foreword, user, agent):
    foreword("install", agent)
    if agent == "codex":
        file = user / ".codex" / "config.toml"
        file.write_text(
            file.read_text() + "startup_timeout_sec = 30\n[mcp_servers.foreword.tools.x]\na = true\n"
        )
    else:
        file = user / ".claude.json"
        said = json.loads(file.read_text())
        said["mcpServers"]["foreword"] |= {"alwaysLoad": True}
        said["mcpServers"]["foreword"]["env"] |= {"FOREWORD_EMBEDDING": "none"}
        file.write_text(json.dumps(said))
    assert foreword("install", agent).out == "nothing to change\n"
    file.write_text(file.read_text().replace(str(sys.executable), "/old/python"))
    assert "changed" in foreword("install", agent).out
    text = file.read_text()
    assert "/old/python" not in text
    whole = tomllib.loads(text)["mcp_servers"] if agent == "codex" else json.loads(text)["mcpServers"]
    if agent == "codex":
        assert (whole["foreword"]["startup_timeout_sec"], whole["foreword"]["tools"]) == (
            30,
            {"x": {"a": True}},
        )
    else:
        assert whole["foreword"]["alwaysLoad"] is True
        assert whole["foreword"]["env"]["FOREWORD_EMBEDDING"] == "none"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"{ }\n",
        b'{"hooks": {}}',
        b'{"hooks": {"Stop": []}}\n',
        b'\xef\xbb\xbf{\r\n  "a": 1\r\n}\r\n',
        b'{\n\t"a": "\xc3\xa4"\n}',
        b'{"hooks":{"Stop":[{"hooks":[]}]},"z":1}',
    ],
)
def test_every_byte_comes_back(foreword, settings, data):
    settings.write_bytes(data)
    assert foreword("install", "claude-code").code == 0
    assert list(_files(settings.parent)) != [Path("settings.json")]
    foreword("uninstall", "claude-code")
    assert settings.read_bytes() == data
    assert list(_files(settings.parent)) == [Path("settings.json")]


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_groups = st.dictionaries(st.sampled_from(["Stop", "PreToolUse", "Other"]), st.lists(_json, max_size=2))


@given(
    st.dictionaries(st.sampled_from(["model", "env", "mcpServers2"]), _json, max_size=3),
    st.none() | _groups,
    st.sampled_from([None, 2, 4, "\t"]),
    st.sampled_from(["", "\n"]),
)
def test_whatever_was_in_the_settings_comes_back(tmp_path_factory, others, hooks, indent, end):
    folder = tmp_path_factory.mktemp("agent")
    document = others if hooks is None else {**others, "hooks": hooks}
    before = (json.dumps(document, indent=indent) + end).encode()
    place = Place(home=folder / "home", user=folder, environment={})
    target = AGENTS["claude-code"].targets(place)[0]
    target.path.parent.mkdir()
    target.path.write_bytes(before)
    apply(plan_installation(target))
    after = json.loads(target.path.read_text())
    for event, groups in (hooks or {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    assert {key: after[key] for key in others} == others
    assert plan_installation(target).action == "unchanged"
    apply(plan_removal(target))
    assert target.path.read_bytes() == before


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
    foreword, user, agent, name, data, complaint
):
    file = user / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    ran = foreword("install", agent)
    assert (ran.code, ran.out) == (2, "")
    assert str(file) in ran.err
    assert complaint in ran.err
    assert _files(user) == {Path(name): data}


def test_a_folder_in_a_files_place_is_an_error_and_no_traceback(foreword, user):
    (user / ".claude" / "settings.json").mkdir(parents=True)
    ran = foreword("install", "claude-code")
    assert ran.code == 2
    assert "settings.json" in ran.err


def test_a_file_that_changes_while_we_look_is_not_overwritten(settings, home):
    target = AGENTS["claude-code"].targets(Place(home=home))[0]
    change = plan_installation(target)
    settings.write_text('{"newer": true}')
    with pytest.raises(Exception, match="run the command again"):
        apply(change)
    assert settings.read_text() == '{"newer": true}'


def test_a_failed_write_leaves_the_file_and_no_rubbish(foreword, settings, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    ran = foreword("install", "claude-code")
    assert ran.code == 2
    assert settings.read_text() == SETTINGS
    assert set(_files(settings.parent)) == {Path("settings.json")}


def test_a_link_stays_a_link_and_its_file_is_changed(foreword, settings, tmp_path):
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
    assert real.read_text() == SETTINGS


# Looking first


@pytest.mark.parametrize("agent", NAMES)
def test_a_dry_run_shows_a_diff_and_changes_nothing(foreword, user, agent):
    ran = foreword("install", agent, "--dry-run")
    assert ran.out.startswith("--- /dev/null\n+++ ")
    assert not _files(user)
    told = foreword("install", agent, "--dry-run", "--json").json
    assert told["changed"] is told["dry_run"] is True
    assert all(file["action"] == "created" and "+++" in file["diff"] for file in told["files"])
    foreword("install", agent)
    before = _files(user)
    assert foreword("uninstall", agent, "--dry-run").out.startswith("--- ")
    assert _files(user) == before


def test_a_diff_holds_what_changes_and_little_else(foreword, settings):
    diff = foreword("install", "claude-code", "--dry-run").out
    assert f"--- {settings}" in diff
    assert not [line for line in diff.splitlines() if line.startswith("-") and "opus" in line]


def test_json_names_files_actions_copies_and_what_is_left_to_do(foreword, settings):
    told = foreword("install", "claude-code", "--json").json
    assert [file["action"] for file in told["files"]] == ["changed", "created"]
    assert told["files"][0]["path"] == str(settings)
    assert told["files"][0]["backup"] == str(backups(settings)[0])
    assert any("restart" in line for line in told["next"])


def test_an_unknown_agent_is_wrong_usage(foreword, user):
    ran = foreword("install", "notepad")
    assert ran.code == 2
    assert "opencode" in ran.err


# The plugin


def test_a_plugin_is_a_marketplace_with_hooks_a_skill_a_command_and_tools(foreword, user, tmp_path):
    folder = tmp_path / "market place"
    ran = foreword("install", "claude-code", "--plugin", str(folder))
    assert ran.code == 0
    assert f"claude plugin marketplace add '{folder}'" in ran.err
    assert not _files(user)
    market = json.loads((folder / ".claude-plugin" / "marketplace.json").read_text())
    plugin = folder / market["plugins"][0]["source"]
    assert json.loads((plugin / ".claude-plugin" / "plugin.json").read_text())["name"] == "foreword"
    hooks = _hooks(plugin / "hooks" / "hooks.json")
    assert list(hooks) == EVENTS
    assert "--event Stop " in hooks["Stop"][0]["hooks"][0]["command"]
    assert (plugin / "skills" / "recall" / "SKILL.md").read_text().startswith("---\nname: recall\n")
    assert "doctor" in (plugin / "commands" / "status.md").read_text()
    assert "foreword" in json.loads((plugin / ".mcp.json").read_text())["mcpServers"]
    assert foreword("install", "claude-code", "--plugin", str(folder)).out == "nothing to change\n"
    foreword("uninstall", "claude-code", "--plugin", str(folder))
    assert not folder.exists()


def test_removing_a_plugin_leaves_what_others_put_there(foreword, user, tmp_path):
    folder = tmp_path / "market"
    foreword("install", "claude-code", "--plugin", str(folder), "--no-mcp")
    (folder / "foreword" / "notes.md").write_text("mine")
    foreword("uninstall", "claude-code", "--plugin", str(folder))
    assert _files(folder) == {Path("foreword/notes.md"): b"mine"}


def test_a_plugin_is_not_written_into_somebody_elses_marketplace(foreword, user, tmp_path):
    file = tmp_path / "market" / ".claude-plugin" / "marketplace.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"name": "other"}')
    assert foreword("install", "claude-code", "--plugin", str(tmp_path / "market")).code == 2
    assert set(_files(tmp_path / "market")) == {Path(".claude-plugin/marketplace.json")}


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
def test_one_agent_is_installed_in_one_scope(foreword, user, agent, first, second):
    foreword("install", agent, "--scope", first)
    ran = foreword("install", agent, "--scope", second)
    assert ran.code == 2
    assert f"first run: foreword uninstall {agent} --scope {first}" in ran.err
    assert bool(_files(user)) is (first == "user")


def test_a_plugin_is_for_claude_code_alone(foreword, user, tmp_path):
    assert foreword("install", "codex", "--plugin", str(tmp_path / "market")).code == 2
    assert foreword("uninstall", "gemini", "--plugin", str(tmp_path / "market")).code == 2


# Targets


def test_parts_of_hooks_that_are_no_groups_are_passed_over(tmp_path):
    file = JsonFile(tmp_path / "x", {})
    for text in ('{"hooks": 1}', '{"hooks": {"Stop": [1, {"hooks": 2}, {"hooks": [3]}]}}'):
        assert file.ours(text) == {}
        assert file.remove(text) == text
