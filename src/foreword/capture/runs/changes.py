"""Find what an agent's tools changed and what git undid, and whether a change fits the agent's action.

A change is an edited file, or a command that changes something. If an action names files or names in code, a
change fits if it has one of them; if it names none, every change to code or settings fits, and a change to
documents or tests only if the action mentions these. A command fits if it shares a word with the action. In
doubt a change does not fit, because a wrong verdict is worse than none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from foreword.capture.runs.commands import find_runner_step
from foreword.capture.runs.scope import subject_key
from foreword.capture.tool_calls import (
    SHELL_QUOTATION,
    is_shell_tool,
    only_reads,
    read_command,
    read_file_changes,
)
from foreword.text.words import content_words

if TYPE_CHECKING:
    from foreword.capture.runs.judge import Attempt
    from foreword.capture.tool_calls import ToolCall

_STEP = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
_BEFORE_COMMAND = re.compile(r"^(?:\w+=\S*\s+|(?:sudo|time|command)\s+)*")
_UNDO = re.compile(
    r"git\s+(?:-\S+\s+\S+\s+)?(?:restore(?!\s+--staged)\b|reset\s+--hard\b|revert\b|stash(?!\s+(?:pop|apply|list|show|drop))\b"
    r"|checkout\s+(?:\S+\s+)?--(?=\s)|checkout\s+(?=\.(?:\s|$)|\S*[./]\S*(?:\s|$)))(.*)"
)
_REDO = re.compile(r"git\s+(?:-\S+\s+\S+\s+)?stash\s+(?:pop|apply)\b")
_CHANGES_NO_CODE = re.compile(
    r"git\s+(?:-\S+\s+\S+\s+)?(?!(?:pull|merge|rebase|cherry-pick|apply|am|mv|rm|submodule)\b)|foreword\b|gh\b|kill\b"
)
_FILE = re.compile(
    r"(?:[\w.-]+[/\\])*[\w-][\w.-]*\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|rb|exs?|php|cs|swift|cc?|cpp|hh?|hpp|sh|vue|sql|css"
    r"|html|json|ya?ml|toml|ini|cfg|conf|env|lock|md|txt|rst|xml|gradle|proto|tf|ipynb)\b|(?:Dockerfile|Makefile)\b"
)
_FOLDER = re.compile(r"(?<![\w./])(?:\./)?[\w.-]+(?:/[\w.-]+)+/?")
_CODE_NAME = re.compile(
    r"`([^`\n]{2,60})`|\b([a-z]+(?:_[a-z0-9]+)+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*|[A-Z]+(?:_[A-Z0-9]+)+)\b|\b(\w+)\(\)"
)
_DOCUMENT = re.compile(
    r"\.(?:md|rst|txt|adoc|org)$|(?:^|/)(?:LICENSE|CHANGELOG|NOTICE|docs?/)", re.IGNORECASE
)
_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|fixtures)/|(?:^|/)test_|[._-](?:test|spec)s?\.\w+$|Tests?\.\w+$"
)
_SPEAKS_OF_DOCUMENTS = re.compile(
    r"\b(?:docs?|documentation|documents?|readme|changelog|manual|guide|page|text)\b", re.IGNORECASE
)
_SPEAKS_OF_TESTS = re.compile(
    r"\b(?:tests?|fixtures?|mocks?|stubs?|assert\w*|expectations?|expected|snapshots?|specs?|seed|conftest)\b",
    re.IGNORECASE,
)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MIN_PART_LETTERS = 3


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A change of a file or by a command, or an undo or redo of changes, in a tool's call.

    `after_run`: it came after a test or build run in the same command.
    """

    kind: Literal["change", "undo", "redo"]
    path: str = ""
    command: str = ""
    before: str = ""
    after: str = ""
    after_run: bool = False


def read_changes(call: ToolCall) -> list[SeenChange]:
    """The changes of a call, in order; none if it only reads, tests or builds, or has failed."""
    if not is_shell_tool(call.tool):
        return [
            SeenChange("change", change.path, before=change.before, after=change.after)
            for change in read_file_changes(call)
        ]
    found: list[SeenChange] = []
    has_run = False
    steps = _split_steps(read_command(call.given))
    runs = any(find_runner_step(step) for step in steps)
    for step in steps:
        if find_runner_step(step):
            has_run = True
        elif not (call.has_failed and not runs):  # a failed exit code may be that of the run
            found += _read_step_changes(step, after_run=has_run)
    return found


def _split_steps(command: str) -> list[str]:
    """The steps of a command line; quoted text is never split."""
    quoted: list[str] = []

    def set_aside(match: re.Match[str]) -> str:
        quoted.append(match.group())
        return f"\0{len(quoted) - 1}\0"

    parts = _STEP.split(SHELL_QUOTATION.sub(set_aside, command))
    return [
        re.sub(r"\0(\d+)\0", lambda at: quoted[int(at[1])], part).strip() for part in parts if part.strip()
    ]


def _read_step_changes(step: str, *, after_run: bool) -> list[SeenChange]:
    """The changes, undos and redos of one step of a command line."""
    bare = _BEFORE_COMMAND.sub("", step)
    if _REDO.match(bare):
        return [SeenChange("redo", command=step, after_run=after_run)]
    if undo := _UNDO.match(bare):
        words = [word for word in undo[1].split() if not word.startswith("-")]
        paths = [word for word in words if _FILE.fullmatch(word)] or [""]
        return [SeenChange("undo", path, step, after_run=after_run) for path in paths]
    if only_reads(step) or _CHANGES_NO_CODE.match(bare):
        return []
    return [SeenChange("change", command=step, after_run=after_run)]


def fits_action(change: SeenChange, attempt: Attempt) -> bool:
    """Whether a change belongs to the action of an attempt."""
    action = attempt.action
    files = _FILE.findall(action)
    folders = [name.rstrip("/") for name in _FOLDER.findall(action) if not _FILE.search(name)]
    names = [next(filter(None, found)) for found in _CODE_NAME.findall(_FILE.sub(" ", action))]
    if change.command:
        return _command_fits(change.command, files, f"{action} {attempt.hypothesis}")
    if files and any(_path_ends_with(change.path, file) for file in files):
        return True
    if any(f"/{folder}/" in f"/{change.path}/" for folder in folders):
        return True
    if any(_has_code_name(change, name) for name in names):
        return True
    if files or folders or names:
        return False
    if _DOCUMENT.search(change.path):
        return bool(_SPEAKS_OF_DOCUMENTS.search(action))
    return not _TEST_FILE.search(change.path) or bool(_SPEAKS_OF_TESTS.search(action))


def _path_ends_with(path: str, named: str) -> bool:
    """Whether a path ends with a file's name and, if it names folders, with these."""
    return f"/{path}".replace("\\", "/").endswith(f"/{named.removeprefix('./')}".replace("\\", "/"))


def _has_code_name(change: SeenChange, name: str) -> bool:
    """Whether a change has a name in code in its texts, or a part of the name in the name of its file."""
    if name in change.before or name in change.after:
        return True
    parts = {part.lower() for part in _PART.findall(name) if len(part) >= _MIN_PART_LETTERS}
    stem = re.sub(r"\.\w+$", "", change.path.rpartition("/")[2])
    return bool(parts & {part.lower() for part in _PART.findall(stem)})


def _command_fits(command: str, files: list[str], description: str) -> bool:
    """Whether a command contains one of these files, or shares a word with the description."""
    if any(subject_key(file) and file.rpartition("/")[2] in command for file in files):
        return True
    words = set(content_words(SHELL_QUOTATION.sub(lambda text: text.group()[1:-1], command)))
    return bool({word for word in words if len(word) >= _MIN_PART_LETTERS} & set(content_words(description)))
