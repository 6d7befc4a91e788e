"""The git command line, used to read: it runs no hook, helper or pager, fetches nothing and never prompts.

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

_SETTINGS = (
    "core.fsmonitor=false",
    "log.showSignature=false",
    "log.showRoot=true",
    "submodule.recurse=false",
)
_COMMAND = ("git", "--no-pager", *(word for setting in _SETTINGS for word in ("-c", setting)))
_VARIABLES_REMOVED = frozenset(
    {
        *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE"),
        *("GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_WORK_TREE"),
    }
)
_SWITCHED_OFF = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
_BUFFER_BYTES = 1 << 16
_MAX_REASON_CHARACTERS = 300


class GitFailed(ValidationError):
    """Git gave up; `reason` is what it printed, on one line."""

    def __init__(self, root: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(f"git cannot read {root}: {reason or 'it does not say why'}")


def run_git(root: Path, *arguments: str) -> str:
    """What git prints about a folder, where that is short. Raises GitFailed."""
    return b"".join(_stream_git_output(root, arguments)).decode(errors="replace").strip()


def stream_git_fields(root: Path, *arguments: str) -> Iterator[bytes]:
    """What git prints with NUL after each field, as it comes. Raises GitFailed."""
    rest = b""
    for chunk in _stream_git_output(root, arguments):
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
    if rest:
        yield rest


def _stream_git_output(root: Path, arguments: tuple[str, ...]) -> Iterator[bytes]:
    """What git prints; the process ends when the caller stops reading."""
    with tempfile.TemporaryFile() as errors, _start_git_process(root, arguments, errors.fileno()) as process:
        assert process.stdout is not None  # noqa: S101  (it was asked for)
        try:
            while chunk := os.read(process.stdout.fileno(), _BUFFER_BYTES):
                yield chunk
            succeeded = process.wait() == 0
        finally:
            process.kill()
        if not succeeded:
            errors.seek(0)
            lines = errors.read(_BUFFER_BYTES).decode(errors="replace").strip().splitlines() or [""]
            reason = lines[0].removeprefix("fatal: ").removeprefix("error: ")
            raise GitFailed(root, reason[:_MAX_REASON_CHARACTERS])


def _start_git_process(root: Path, arguments: tuple[str, ...], errors: int) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name not in _VARIABLES_REMOVED}
    try:
        return subprocess.Popen(  # noqa: S603  (a fixed program; the folder is one argument)
            [*_COMMAND, "-C", os.fspath(root), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment | _SWITCHED_OFF | {"LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise GitFailed(root, "git is not installed; install it, or leave history out") from None
    except (OSError, ValueError) as error:
        raise GitFailed(root, f"git could not be started: {error}") from error
