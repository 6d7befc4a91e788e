from __future__ import annotations

import io
import json
import logging
from dataclasses import dataclass

import pytest

from foreword.edges import cli


@dataclass(frozen=True)
class Ran:
    """What a command did: its exit code, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self, typed: str = "") -> None:
        super().__init__(io.BytesIO(typed.encode()), encoding="utf-8")

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal():
    return Terminal


@pytest.fixture
def foreword(tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own, without a model; gives exit code, stdout and stderr."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FOREWORD_EMBEDDING", "none")

    def run(*arguments: str, stdin: bytes | Terminal = b"") -> Ran:
        given = (
            stdin if isinstance(stdin, Terminal) else io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
        )
        monkeypatch.setattr("sys.stdin", given)
        capsys.readouterr()
        code = cli.run(list(arguments))
        return Ran(code, *capsys.readouterr())

    yield run
    logger = logging.getLogger("foreword")
    logger.handlers = []
    logger.setLevel(logging.NOTSET)


@pytest.fixture
def shop(foreword):
    """A workspace with three items; gives their ids."""
    texts = {
        "postgres": ("We chose Postgres over MySQL for its JSON operators.", "decision"),
        "tuesday": ("Deploys happen on Tuesdays, never on Fridays.", "workflow"),
        "timeout": ("The session timeout for staff is thirty minutes.", "fact"),
    }
    return {
        name: foreword("remember", text, "--type", label, "--session", name, "--source", "mara").out.strip()
        for name, (text, label) in texts.items()
    }
