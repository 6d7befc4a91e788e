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
    tidy_step,
    unwrap_command,
    unwrap_step,
)
from foreword.capture.runs.scope import FILE_ENDING
from foreword.capture.tool_calls import (
    folder_in_project,
    is_read_only_command,
    is_shell_tool,
    read_command,
    read_file_changes,
)
from foreword.text.shell import restore_texts

if TYPE_CHECKING:
    from foreword.capture.tool_calls import ToolCall

FILE_PATTERN = re.compile(rf"(?:[\w.-]+[/\\])*[\w-][\w.-]*{FILE_ENDING}\b|(?:Dockerfile|Makefile)\b")
"""The name of a file of code, settings or text, with its folders."""

_STEP_END = re.compile(r"&&|\|\||;|\n")
_GIT = re.compile(r"git (?:-\S+ \S+ )?")
_UNDO = re.compile(
    r"(?:restore(?! --staged)\b|reset --hard\b|revert\b|stash(?! (?:pop|apply|list|show|drop))\b"
    r"|checkout (?:\S+ )?--(?= )|checkout (?=\.(?: |$)|\S*[./]\S*(?: |$)))(.*)"
)
_SWITCH = re.compile(
    r"(?:switch|checkout) (?!.* --(?: |$))(?:--detach |-[fdm] )*"
    r"(?:-[bBcC] (?P<made>\S+) ?)?(?P<branch>-|[^\s-]\S*|)$"
)
"""Goes to another branch or commit, and may make a new branch there or, without another, here."""

_REDO = re.compile(r"stash (?:pop|apply)\b")
_REVERT = re.compile(r"revert (?:-\S+ )*HEAD(?: |$)")
_COMMIT = re.compile(r"commit\b(?!.*--dry-run)")
_MERGE = re.compile(r"(?:merge|cherry-pick|rebase) (?:-\S+ )*(?P<branch>[^\s-]\S*)")
_CHANGES_NO_CODE = re.compile(
    rf"{_GIT.pattern}(?!(?:pull|merge|rebase|cherry-pick|apply|am|submodule)\b)"
    r"|(?:foreword|gh|kill|touch|ch(?:mod|own)|curl|wget|https?|ping|ssh|nano|vim?|code|open)\b"
    r"|(?:py(?:thon[\d.]*)? -m )?(?:(?:ruff|cargo|go|dotnet|terraform|mix|deno|biome) (?:fmt|format)"
    r"|black|isort|yapf|autopep8|(?:go|rust|sh|clang-)f(?:ormat|mt)|goimports|prettier|dprint"
    r"|(?:ruff|eslint|flake8|pylint|pyright|mypy|bandit|vulture|shellcheck|stylelint|golangci-lint"
    r"|cargo clippy|go vet)(?!.*--fix))\b"
)
_REDIRECTS_TO = re.compile(r"(?<![\d&<>=-])1?>{1,2}\|?\s*([^\s&|;<>()]+)")
_WRITES_ARGUMENTS = re.compile(
    r"(?:sed|perl|ruby|g?awk|yq) (?:.* )?(?:-\w*i\S*|--in-?place\S*)(?= )|(?:tee|truncate|patch|(?:git )?mv) "
)
_WRITES_LAST_ARGUMENT = re.compile(r"(?:cp|install|ln) |(?:curl|wget) .*-(?:o|O|-output\S*)[ =]")
_REMOVES = re.compile(r"(?:git )?rm ")
_INTERPRETER = re.compile(r"(?:py(?:thon[\d.]*)?|node|deno|bun|ruby|perl|php|(?:ba|z)?sh|go run)\b ?")
_WRITES_IN_CODE = re.compile(
    r"(?<!stdout\.)(?<!stderr\.)\bwrite(?:_text|_bytes|FileSync|File)?\(|\bopen\([^)\n]*,\s*['\"][wax]"
)
_OUTSIDE = re.compile(r"/(?:tmp|dev|var|proc)/|~|\.\./")


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
    place = folder_in_project(str(Path(folder, path)), project) if path else None
    return path if place is None else place


def _read_step_changes(step: str) -> list[SeenChange]:
    """The changes, undos and redos of one step of a command line, without what wraps it."""
    if done := _read_git_step(step):
        return done
    if _REMOVES.match(step):  # what was changed in a removed file is gone with it
        gone = [SeenChange("undo", path) for path in files_named_in(step)]
        return [*gone, SeenChange("change", command=restore_texts(step))]
    written = _files_written_by(step)
    if written or _WRITES_ARGUMENTS.match(step) or _WRITES_LAST_ARGUMENT.match(step):
        return [SeenChange("change", path) for path in written]
    rest = _REDIRECTS_TO.sub(" ", step).strip()
    if not rest or is_read_only_command(rest) or _CHANGES_NO_CODE.match(rest):
        return []
    if interpreter := _INTERPRETER.match(rest):
        # A script may change anything, but not because of the files that it is given.
        script, _, options = rest[interpreter.end() :].partition(" ")
        if not FILE_PATTERN.fullmatch(script) and script != "-m":
            return []
        step = f"{interpreter.group()}{script} {FILE_PATTERN.sub(' ', options)}".strip()
    return [SeenChange("change", command=restore_texts(step))]


def _read_git_step(step: str) -> list[SeenChange]:
    """What a step of git does to the changes made before it; nothing if it does nothing to them."""
    git = _GIT.match(step)
    done = step[git.end() :] if git else ""
    if _REDO.match(done):
        return [SeenChange("redo")]
    if _REVERT.match(done):
        return [SeenChange("revert")]
    if _COMMIT.match(done):
        return [SeenChange("commit")]
    if merged := _MERGE.match(done):  # what it brings may also be new
        return [SeenChange("merge", branch=merged["branch"]), SeenChange("change", command=step)]
    undo, switched = _UNDO.match(done), _SWITCH.match(done)
    found = [SeenChange("undo", path) for path in files_named_in(undo[1]) or [""]] if undo else []
    if (
        switched
        and switched["branch"]
        and not re.fullmatch(rf"\.|{FILE_PATTERN.pattern}", switched["branch"])
    ):
        found.append(SeenChange("switch", branch=switched["branch"]))
    if switched and switched["made"]:
        found.append(SeenChange("branch", branch=switched["made"]))
    return found


def _files_written_by(step: str) -> list[str]:
    """The files of a project that a step writes."""
    written = _REDIRECTS_TO.findall(step)
    if _WRITES_ARGUMENTS.match(step):
        written += files_named_in(step)
    elif _WRITES_LAST_ARGUMENT.match(step):
        written += step.split()[-1:]
    elif _INTERPRETER.match(step) and _WRITES_IN_CODE.search(code := restore_texts(step)):
        written += FILE_PATTERN.findall(code)
    return [
        path for path in dict.fromkeys(written) if FILE_PATTERN.fullmatch(path) and not _OUTSIDE.match(path)
    ]


def files_named_in(command: str) -> list[str]:
    """The words of a command that name files of code, settings or text."""
    return [word for word in command.split() if FILE_PATTERN.fullmatch(word)]


def is_removal(command: str) -> bool:
    """Whether a command removes files."""
    return bool(_REMOVES.match(unwrap_step(command)))
