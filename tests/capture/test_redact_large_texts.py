"""Redacting texts so large or so deep that every step must be cheap."""

from __future__ import annotations

import sysconfig
import time
from pathlib import Path

import pytest

from foreword.capture.redact import find_secrets, redact, redact_json


def _standard_library(without):
    folder = Path(sysconfig.get_path("stdlib"))
    return [path for path in sorted(folder.rglob("*.py")) if without.isdisjoint(path.parts)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "without",
    [
        {"site-packages", "test", "tests", "idlelib"},
        pytest.param({"site-packages"}, marks=pytest.mark.soak),
    ],
    ids=["half", "everything"],
)
def test_fewer_than_one_false_alarm_in_two_megabytes_of_code(without):
    size, alarms = 0, []
    for path in _standard_library(without):
        text = path.read_text(encoding="utf-8", errors="replace")
        size += len(text)
        found = find_secrets(text)
        alarms += [f"{path.name}: {text[secret.start - 20 : secret.end]!r}" for secret in found]
        if not found and "<private" not in text:
            assert redact(text) == text
    assert size > 5_000_000
    assert len(alarms) <= size / 2_000_000, "\n".join(alarms)


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


UNITS = [
    *("a", "A", "0", "M", " ", "\n", '"', "'", "\\", "=", "a=", ":", "-", "_", ".", "<", "a-"),
    *("a.", "%20", "%3D", "&quot;", "\\u003d", "=3D", "$", "$1$", "\\n"),
    *("password=", "password='", 'password="', 'pwd=\\"', "password: str ", "--password ", "password\n"),
    *("<password>", "key ", "password for the ", "password is a b c d e f g ", "a1 is my password "),
    *("пароль ", "密码", "密码是", "clave es ", "passwort lautet "),
    *("eyJ", "eyJ-", "eyJaaaaaaaaaaaa.", "eyJhbGciOiJI \n", "sk-", "AKIA", "://", "://a:", "://a:b@"),
    *("-us", ":AA", "Q~", "JQQJ99", "AAAA", "lQ", "AKIAABCDEFGHIJKLMNOP "),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAA", "Private-Lines: 1\n"),
    *("-----END PRIVATE KEY-----", "---END ", "MIIEvQIBADANBgkqhkiG9w0B", "MIIEvQIBADANBgkqhkiG9w0B\n"),
    *("Bearer ", "Basic ", "mysql ", "mysql -u ", "mysql a b c d e f g h ", "docker login ", "echo a | "),
    *("cookie: a=b; ", "Cookie: sid=", "mnemonic abc ", "passphrase abc def ", "create user ", "user a / "),
    *("enable secret ", "machine a login b password ", "exponent: aa:bb:", "backup codes ab12-cd34 "),
    *("identified by ", "sp_addlogin ''", "YWJjZGVmZ2hpamtsbW5vcA== ", "user,password\n", "password,"),
    *("<private>", "<private ", "</private>", "<pri<private></private>vate>", "\x1b[31m"),
    *("=A1b2", "token = a1 "),
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_a_password_after_much_of_any_mark_is_redacted(unit):
    """What comes first costs no more than its length, see below, and hides nothing that comes behind it."""
    text = unit * (50_000 // len(unit))
    assert "hunter2x" not in redact(f"{text}\n\npassword=hunter2x\n")


@pytest.mark.slow
def test_eight_times_the_text_takes_about_eight_times_as_long():
    def seconds(text):
        """How long this thread computes, at best: other threads and pauses of the machine do not count."""
        taken = []
        for _ in range(3):
            started = time.thread_time()
            redact(text)
            taken.append(time.thread_time() - started)
        return min(taken)

    steep = {}
    for unit in UNITS:
        short, long = (unit * (size // len(unit)) for size in (5_000, 40_000))
        redact(unit * 10)  # compiles the patterns
        growth = seconds(long) / max(1e-3, seconds(short))
        if growth > 30:  # its square would be 64
            steep[unit] = growth
    assert not steep
