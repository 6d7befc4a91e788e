"""Find what an agent's tools changed and what git undid.

A change is an edited file, whether by a tool or by a command that writes it, or a command that changes
something else. What reads, checks or formats code changes nothing that a test could show. `knowledge` judges
whether a change is what an experience set out to do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from foreword.capture.runs.commands import (
    find_runner_step,
    folder_after_step,
    read_toml_with_fragments,
    tidy_step,
    unwrap_command,
    unwrap_step,
)
from foreword.capture.tool_calls import (
    folder_relative_to_project,
    is_shell_tool,
    prints_what_can_be_read_again,
    read_command,
    read_file_changes,
)
from foreword.text.shell import restore_hidden_texts

if TYPE_CHECKING:
    from foreword.capture.tool_calls import ToolCall

_TABLE = read_toml_with_fragments("changes.toml")
_GIT = {kind: re.compile(pattern) for kind, pattern in _TABLE["git"].items()}
_COMMANDS = {name: re.compile(pattern) for name, pattern in _TABLE["commands"].items()}
_STEP_END = re.compile(r"&&|\|\||;|\n")
FILE_ENDING = re.compile(f"{_TABLE['fragments']['ending']}$")
FILE_PATTERN = re.compile(_TABLE["fragments"]["file"])
"""The name of a file of code, settings or text, with its folders."""


@dataclass(frozen=True, slots=True)
class SeenChange:
    """A change of a file or by a command, or what git does to changes, in a tool's call.

    `branch` is the one that is made here, switched to or merged. `after_run`: it came after a test or build
    run in the same command.
    """

    kind: Literal["change", "undo", "redo", "revert", "commit", "branch", "switch", "merge"]
    path: str = ""
    command: str = ""
    before: str = ""
    after: str = ""
    branch: str = ""
    after_run: bool = False


def read_changes(call: ToolCall, folder: str = "") -> list[SeenChange]:
    """The changes of a call, in order; none if it only reads, tests or builds, or has failed.

    Paths are from the call's folder; a command began in a `folder` there.
    """
    if not is_shell_tool(call.tool):
        return [
            SeenChange("change", change.path, before=change.before, after=change.after)
            for change in read_file_changes(call)
        ]
    found: list[SeenChange] = []
    steps = [tidy_step(part) for part in _STEP_END.split(unwrap_command(read_command(call.given)))]
    is_run = [find_runner_step(step) is not None for step in steps]
    for place, step in enumerate(steps):
        # A failed exit code may be that of the run.
        if not is_run[place] and (any(is_run) or not call.has_failed):
            found += [
                replace(
                    change,
                    path=_path_from_project_root(change.path, folder, call.folder),
                    after_run=any(is_run[:place]),
                )
                for change in _read_step_changes(unwrap_step(step))
            ]
        folder = folder_after_step(step, folder)
    return found


def _path_from_project_root(path: str, folder: str, project: str) -> str:
    """A path of a command in a folder, from the root of the project; as it is, if it lies elsewhere."""
    place = folder_relative_to_project(str(Path(folder, path)), project) if path else None
    return path if place is None else place


def _read_step_changes(step: str) -> list[SeenChange]:
    """The changes, undos and redos of one step of a command line, without what wraps it."""
    if done := _find_git_undos_and_redos(step):
        return done
    if _COMMANDS["removes"].match(step):  # what was changed in a removed file is gone with it
        gone = [SeenChange("undo", path) for path in files_named_in(step)]
        return [*gone, SeenChange("change", command=restore_hidden_texts(step))]
    if (written := _files_written_by(step)) is not None:
        return [SeenChange("change", path) for path in written]
    rest = _COMMANDS["redirects_to"].sub(" ", step).strip()
    if prints_what_can_be_read_again(rest) or _COMMANDS["changes_no_code"].match(rest):
        return []
    if interpreter := _COMMANDS["interpreter"].match(rest):
        # A script may change anything, but not because of the files that it is given.
        script, _, options = rest[interpreter.end() :].partition(" ")
        if not FILE_PATTERN.fullmatch(script) and script != "-m":
            return []
        step = f"{interpreter.group()}{script} {FILE_PATTERN.sub(' ', options)}".strip()
    return [SeenChange("change", command=restore_hidden_texts(step))]


def _find_git_undos_and_redos(step: str) -> list[SeenChange]:
    """What a step of git does to the changes made before it; nothing if it does nothing to them."""
    done = {kind: match for kind, pattern in _GIT.items() if (match := pattern.match(step))}
    kinds: tuple[Literal["redo", "revert", "commit"], ...] = ("redo", "revert", "commit")
    if simple := [SeenChange(kind) for kind in kinds if kind in done]:
        return simple
    if merged := done.get("merge"):  # what it brings may also be new
        return [SeenChange("merge", branch=merged["branch"]), SeenChange("change", command=step)]
    undo, switched = done.get("undo"), done.get("switch")
    found = [SeenChange("undo", path) for path in files_named_in(undo["files"]) or [""]] if undo else []
    if switched and switched["branch"]:
        found.append(SeenChange("switch", branch=switched["branch"]))
    if switched and switched["made"]:
        found.append(SeenChange("branch", branch=switched["made"]))
    return found


def _files_written_by(step: str) -> list[str] | None:
    """The files of a project that a step writes; None if it is not known to write any file."""
    written = _COMMANDS["redirects_to"].findall(step)
    if writes := _COMMANDS["writes_arguments"].match(step):
        written += files_named_in(step)
    elif writes := _COMMANDS["writes_last_argument"].match(step):
        written += step.split()[-1:]
    elif _COMMANDS["interpreter"].match(step) and _COMMANDS["writes_in_code"].search(
        restore_hidden_texts(step)
    ):
        written += FILE_PATTERN.findall(restore_hidden_texts(step))
    paths = [path for path in dict.fromkeys(written) if FILE_PATTERN.fullmatch(path)]
    paths = [path for path in paths if not _COMMANDS["outside"].match(path)]
    return paths if paths or writes else None


def files_named_in(command: str) -> list[str]:
    """The words of a command that name files of code, settings or text."""
    return [word for word in command.split() if FILE_PATTERN.fullmatch(word)]


def removes_files(command: str) -> bool:
    """Whether a command removes files."""
    return bool(_COMMANDS["removes"].match(unwrap_step(command)))
