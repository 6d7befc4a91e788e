"""Redacting texts so large or so deep that every step must be cheap."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from foreword.capture.redact import find_secrets, redact, redact_json


def _standard_library():
    folder = Path(sysconfig.get_path("stdlib"))
    return [path for path in sorted(folder.rglob("*.py")) if "site-packages" not in path.parts]


@pytest.mark.slow
def test_fewer_than_one_false_alarm_in_a_megabyte_of_code():
    size, alarms = 0, []
    for path in _standard_library():
        text = path.read_text(encoding="utf-8", errors="replace")
        size += len(text)
        found = find_secrets(text)
        alarms += [f"{path.name}: {text[secret.start - 20 : secret.end]!r}" for secret in found]
        if not found and "<private" not in text:
            assert redact(text) == text
    assert size > 5_000_000
    assert len(alarms) <= size / 1_000_000, "\n".join(alarms)


def test_json_may_be_deep():
    value = leaf = []
    for _ in range(50_000):
        leaf.append([])
        leaf = leaf[0]
    leaf.append("password=hunter2x")
    leaf = redact_json(value)
    while isinstance(leaf, list):
        leaf = leaf[0]
    assert leaf == "password=[redacted:password]"


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        *("a", "A", "0", "M", " ", "\n", '"', "'", "\\", "=", "a=", ":", "-", "_", ".", "<", "a-"),
        *("a.", "%20"),
        *("password=", "password='", 'password="', 'pwd=\\"', "password: str ", "--password "),
        *("<password>", "key "),
        *("eyJ", "eyJ-", "eyJaaaaaaaaaaaa.", "sk-", "AKIA", "://", "://a:", "://a:b@", "-us", ":AA"),
        *("Q~", "JQQJ99"),
        *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAA", "Private-Lines: 1\n"),
        *("Bearer ", "Basic "),
        *("<private>", "<private ", "</private>", "<pri<private></private>vate>", "\x1b[31m"),
        *("=A1b2", "token = a1 "),
    ],
)
def test_a_password_after_a_megabyte_of_any_mark_is_redacted(unit):
    """Steps that grow with the square of the length would not come to an end within a test's time."""
    text = unit * (1_000_000 // len(unit))
    assert "hunter2x" not in redact(f"{text}\n\npassword=hunter2x\n")
