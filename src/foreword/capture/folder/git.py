"""The git command line, asked to read: it runs no hook, helper or pager, fetches nothing and never asks.

A repository's own settings are a stranger's: those that start programs or change what is printed are switched
off. Variables that point git at another repository, as git sets them for its hooks, are not passed on.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import TYPE_CHECKING

from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_QUIET = (
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "log.showRoot=true",
    "-c",
    "submodule.recurse=false",
)
_POINTING = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)
_CHOSEN = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
}
_CHUNK = 1 << 16


class GitFailed(ValidationError):
    """Git gave up; `reason` is what it said, on one line."""

    def __init__(self, root: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(f"git cannot read {root}: {reason or 'it does not say why'}")


def ask(root: Path, *arguments: str) -> str:
    """What git answers to a short question about a folder."""
    return b"".join(_printed(root, arguments)).decode(errors="replace").strip()


def fields(root: Path, *arguments: str) -> Iterator[bytes]:
    """What git prints with NUL after each field, as it comes."""
    rest = b""
    for chunk in _printed(root, arguments):
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole
    if rest:
        yield rest


def _printed(root: Path, arguments: tuple[str, ...]) -> Iterator[bytes]:
    """What git prints; the process ends when nobody listens any more."""
    with tempfile.TemporaryFile() as errors, _started(root, arguments, errors.fileno()) as process:
        assert process.stdout is not None  # noqa: S101  (it was asked for)
        try:
            while chunk := os.read(process.stdout.fileno(), _CHUNK):
                yield chunk
            done = process.wait() == 0
        finally:
            process.kill()
        if not done:
            errors.seek(0)
            raise GitFailed(root, _reason(errors.read(_CHUNK)))


def _started(root: Path, arguments: tuple[str, ...], errors: int) -> subprocess.Popen[bytes]:
    kept = {name: value for name, value in os.environ.items() if name not in _POINTING}
    command = ["git", *_QUIET, "-C", os.fspath(root), *arguments]
    try:
        return subprocess.Popen(  # noqa: S603  (a fixed program; the folder is one argument)
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=kept | _CHOSEN
        )
    except FileNotFoundError:
        raise GitFailed(root, "git is not installed; install it, or leave history out") from None
    except (OSError, ValueError) as error:
        raise GitFailed(root, f"git could not be started: {error}") from error


def _reason(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ").removeprefix("error: ")[:300] if lines else ""
