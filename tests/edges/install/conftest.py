from __future__ import annotations

import json

import pytest


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
def foreign_settings():
    """Settings of Claude Code with things in them that are somebody else's."""
    return """\
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
def settings(user, foreign_settings):
    """Claude Code's settings file, with things in it that are somebody else's."""
    file = user / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(foreign_settings)
    return file


@pytest.fixture
def read_files():
    """The content of every file in a folder, by its path."""

    def read(folder):
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    return read


@pytest.fixture
def read_hooks():
    """The hooks that a settings file names."""
    return lambda file: json.loads(file.read_text())["hooks"]
