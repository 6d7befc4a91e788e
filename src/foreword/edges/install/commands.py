"""The command lines that agents run, and how to recognise and read them later.

A hook runs the plain interpreter behind the virtual environment, without site packages, on one file: that
starts in ten milliseconds where a full start takes a hundred. Every path is absolute, because an agent's PATH
and folder are its own.
"""

from __future__ import annotations

import itertools
import os
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import foreword

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT = Path(foreword.__file__).resolve().parent / "edges" / "hook_client.py"
_MARK = "foreword/edges/hook_client.py"
_DEADLINE_MS = 250
_SESSION_START_DEADLINE_MS = 3000  # it may have to wait for the service to start


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an installation goes: whose settings, with which parts, and the Foreword that they will call."""

    home: Path
    user: Path = field(default_factory=Path.home)
    project: Path | None = None
    mcp: bool = True
    """Whether the memory tools are wanted, too."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    python: str = field(default_factory=lambda: str(Path(sys.executable).absolute()))

    def folder(self, variable: str, name: str) -> Path:
        """An agent's settings folder: in the project, or where its variable says, or in the user's home."""
        if self.project is not None:
            return self.project / name
        path = self.environment.get(variable)
        return Path(path).expanduser().absolute() if path else self.user / name

    def hook(self, agent: str, event: str) -> str:
        """The shell command that hands one event to Foreword.

        It never fails: an interpreter that does not find its file exits with 2, which tells an agent to
        refuse the prompt, and a Foreword that was removed must not do that.
        """
        return f"{shlex.join(self.hook_words(agent, event))} || true"

    def hook_words(self, agent: str, event: str) -> list[str]:
        """The same command as a list of words, without the shell."""
        return [
            os.path.realpath(self.python),
            *("-I", "-S", str(CLIENT)),
            *("--home", str(self.home.absolute())),
            *("--agent", agent),
            *("--event", event),
            *("--deadline-ms", str(_SESSION_START_DEADLINE_MS if event == "SessionStart" else _DEADLINE_MS)),
            *("--python", self.python),
        ]

    def foreword(self, *words: str) -> list[str]:
        """A Foreword command as a list of words; the agent's folder cannot shadow the package."""
        return [self.python, "-I", "-m", "foreword", *words]

    @property
    def variables(self) -> dict[str, str]:
        """The environment that a Foreword command needs to find its data."""
        return {"FOREWORD_HOME": str(self.home.absolute())}


@dataclass(frozen=True, slots=True)
class HookCommand:
    """The parts of an installed hook command."""

    interpreter: str
    client: str
    home: str
    python: str
    deadline_ms: float


def is_ours(command: object) -> bool:
    """Whether a hook's command runs Foreword's client, whichever Foreword installed it."""
    return isinstance(command, str) and _MARK in command


def read_command(command: str) -> HookCommand | None:
    """The parts of an installed hook command, or None if somebody has changed its shape."""
    try:
        words = shlex.split(command)
        options = dict(itertools.pairwise(words))
        deadline = float(options["--deadline-ms"])
        client = next(word for word in words if word.endswith(_MARK))
    except (ValueError, KeyError, StopIteration):
        return None
    python = options.get("--python", words[0])
    return HookCommand(words[0], client, options.get("--home", ""), python, deadline)
