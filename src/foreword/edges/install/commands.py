"""The command lines that agents are told to run, and how to know them again.

A hook runs the plain interpreter behind the virtual environment, without site packages, on one file: that
starts in ten milliseconds where a full start takes a hundred. Every path is absolute, because an agent's PATH
and folder are its own.
"""

from __future__ import annotations

import itertools
import math
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
_DEADLINES = {"SessionStart": 3000}  # which may have to wait for the service to start
_DEADLINE = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an installation goes: whose settings, and the Foreword that they will call."""

    home: Path
    user: Path = field(default_factory=Path.home)
    project: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    python: str = field(default_factory=lambda: str(Path(sys.executable).absolute()))

    def folder(self, variable: str, name: str) -> Path:
        """An agent's settings folder: in the project, or where its variable says, or in the user's home."""
        if self.project is not None:
            return self.project / name
        named = self.environment.get(variable)
        return Path(named).expanduser().absolute() if named else self.user / name

    def hook(self, agent: str, event: str) -> str:
        """The shell command that hands one event to Foreword.

        It never fails: an interpreter that does not find its file exits with 2, which tells an agent to
        refuse the prompt, and a Foreword that was removed must not do that.
        """
        return f"{shlex.join(self.hook_words(agent, event))} || true"

    def hook_words(self, agent: str, event: str) -> list[str]:
        """The same as a list of words."""
        return [
            os.path.realpath(self.python),
            *("-I", "-S", str(CLIENT)),
            *("--home", str(self.home.absolute())),
            *("--agent", agent),
            *("--event", event),
            *("--deadline-ms", str(_DEADLINES.get(event, _DEADLINE))),
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
    """What can be read off an installed hook command."""

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
    except ValueError:
        return None
    client = next((word for word in words if word.endswith(_MARK)), "")
    options = dict(itertools.pairwise(words))
    try:
        deadline = float(options.get("--deadline-ms", "nan"))
    except ValueError:
        return None
    if not client or math.isnan(deadline):
        return None
    return HookCommand(
        words[0], client, options.get("--home", ""), options.get("--python", words[0]), deadline
    )
