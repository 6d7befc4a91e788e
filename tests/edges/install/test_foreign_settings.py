"""What other people put into an agent's settings stays as it was."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreword.edges.install.agents import AGENTS, InstallPlace
from foreword.edges.install.changes import (
    list_settings_backups,
    plan_installation,
    plan_removal,
    write_file_change,
)

NAMES = sorted(AGENTS)


@pytest.mark.parametrize("agent", NAMES)
def test_the_second_time_nothing_changes(foreword, user, agent, read_files):
    foreword("install", agent)
    before = read_files(user)
    ran = foreword("install", agent)
    assert (ran.code, ran.out, ran.err) == (0, "nothing to change\n", "")
    assert foreword("install", agent, "--json").json["changed"] is False
    assert read_files(user) == before


@pytest.mark.parametrize("agent", NAMES)
def test_what_was_not_there_before_is_gone_afterwards(foreword, user, agent, read_files):
    foreword("install", agent)
    assert read_files(user)
    assert foreword("uninstall", agent).code == 0
    assert not read_files(user)
    assert foreword("uninstall", agent).out == "nothing to change\n"


def test_everything_else_keeps_its_place_and_its_wording(foreword, settings, read_hooks):
    foreword("install", "claude-code")
    text = settings.read_text()
    assert '"futureKey": {"b": 1, "a": [1, 2,    3]}' in text
    hooks = read_hooks(settings)
    assert hooks["Stop"][0]["hooks"][0]["command"] == "notify-send done"
    assert len(hooks["Stop"]) == 2
    assert list(json.loads(text)) == ["model", "hooks", "futureKey"]


def test_a_copy_is_kept_before_the_first_change_and_goes_with_it(foreword, settings, foreign_settings):
    settings.chmod(0o640)
    ran = foreword("install", "claude-code")
    [copy] = list_settings_backups(settings)
    assert str(copy) in ran.out
    assert copy.read_text() == foreign_settings
    assert (copy.stat().st_mode & 0o777, settings.stat().st_mode & 0o777) == (0o600, 0o640)
    foreword("install", "claude-code", "--no-mcp")
    assert list_settings_backups(settings) == [copy]
    assert "restored" in foreword("uninstall", "claude-code").out
    assert settings.read_text() == foreign_settings
    assert not list_settings_backups(settings)


def test_what_others_changed_meanwhile_stays_when_ours_goes(foreword, settings):
    foreword("install", "claude-code")
    [copy] = list_settings_backups(settings)
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


def test_a_hook_that_somebody_put_beside_ours_stays(foreword, settings, read_hooks):
    foreword("install", "claude-code")
    said = json.loads(settings.read_text())
    said["hooks"]["SessionEnd"][0]["hooks"].append({"type": "command", "command": "theirs"})
    settings.write_text(json.dumps(said, indent=2))
    foreword("install", "claude-code")
    assert "nothing to change" in foreword("install", "claude-code").out
    foreword("uninstall", "claude-code")
    assert read_hooks(settings)["SessionEnd"] == [{"hooks": [{"type": "command", "command": "theirs"}]}]


def test_a_foreword_that_moved_is_found_and_its_hooks_renewed(
    foreword, settings, tmp_path, monkeypatch, foreign_settings, read_hooks
):
    foreword("install", "claude-code")
    monkeypatch.setenv("FOREWORD_HOME", str(tmp_path / "new home"))
    assert "changed" in foreword("install", "claude-code").out
    hooks = read_hooks(settings)
    assert len(hooks["Stop"]) == 2
    assert "new home" in hooks["Stop"][1]["hooks"][0]["command"]
    foreword("uninstall", "claude-code")
    assert settings.read_text() == foreign_settings


def test_doubled_hooks_become_single_again(foreword, settings, read_hooks):
    foreword("install", "claude-code")
    said = json.loads(settings.read_text())
    said["hooks"]["SessionEnd"] *= 2
    settings.write_text(json.dumps(said, indent=2))
    foreword("install", "claude-code")
    assert len(read_hooks(settings)["SessionEnd"]) == 1


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
def test_every_byte_comes_back(foreword, settings, data, read_files):
    settings.write_bytes(data)
    assert foreword("install", "claude-code").code == 0
    assert list(read_files(settings.parent)) != [Path("settings.json")]
    foreword("uninstall", "claude-code")
    assert settings.read_bytes() == data
    assert list(read_files(settings.parent)) == [Path("settings.json")]


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
    place = InstallPlace(home=folder / "home", user=folder, environment={})
    target = AGENTS["claude-code"].targets(place)[0]
    target.path.parent.mkdir()
    target.path.write_bytes(before)
    write_file_change(plan_installation(target))
    after = json.loads(target.path.read_text())
    for event, groups in (hooks or {}).items():
        assert after["hooks"][event][: len(groups)] == groups
    assert {key: after[key] for key in others} == others
    assert plan_installation(target).action == "unchanged"
    write_file_change(plan_removal(target))
    assert target.path.read_bytes() == before
