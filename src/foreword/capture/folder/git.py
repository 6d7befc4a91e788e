"""Run git to read a repository, without hooks, helpers, pagers, fetching and prompts.

A repository's own settings are not trusted: those that start programs or change the output are switched off.
Environment variables that point git to another repository, as git sets for its hooks, are not passed on.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """Git has failed; `reason` is the first line of its error output."""

    def __init__(self, root: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(f"git cannot read {root}: {reason or 'it does not say why'}")


def run_git(root: Path, *arguments: str) -> str:
    """The output of a git command in a folder, as one text. Raises GitFailed."""
    return b"".join(_stream_git_output(root, arguments)).decode(errors="replace").strip()


def find_repository_folder(root: Path) -> Path:
    """The top folder of a repository's files, or the repository's own folder if it is bare."""
    try:
        return Path(run_git(root, "rev-parse", "--show-toplevel"))
    except GitFailed:
        return Path(run_git(root, "rev-parse", "--absolute-git-dir"))


def stream_git_fields(root: Path, *arguments: str) -> Iterator[bytes]:
    """The fields that a git command prints with NUL after each, as a stream. Raises GitFailed."""
    rest = b""
    for chunk in _stream_git_output(root, arguments):
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
    if rest:
        yield rest


def _stream_git_output(root: Path, arguments: tuple[str, ...]) -> Iterator[bytes]:
    """The output of git as a stream; the process is killed when the caller stops reading."""
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
    """Start git in a folder, with its error output in the file `errors`. Raises GitFailed."""
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
