"""Find what an agent's tools changed and what git undid, and whether a change fits the agent's action.

A change is an edited file, whether by a tool or by a command that writes it, or a command that changes
something else. If an action names files or names in code, a change fits if it has one of them; if it names
none, every change to code or settings fits, and a change to documents or tests only if the action mentions
these. A command fits if it shares a word with the action. What reads, checks or formats code changes nothing
that a test could show. In doubt a change does not fit, because a wrong verdict is worse than none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from foreword.capture.runs.commands import HEREDOC, find_runner_step, folder_after_step, unwrap_step
from foreword.capture.tool_calls import (
    SHELL_QUOTATION,
    folder_in_project,
    is_read_only_command,
    is_shell_tool,
    read_command,
    read_file_changes,
)
from foreword.text.words import content_words

if TYPE_CHECKING:
    from foreword.capture.tool_calls import ToolCall

_STEP = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
_TEXT = re.compile(f"{HEREDOC.pattern}|{SHELL_QUOTATION.pattern}")
"""A heredoc or a quotation. The groups of a heredoc come first: its first line, and the word that ends it."""

_UNDO = re.compile(
    r"git\s+(?:-\S+\s+\S+\s+)?(?:restore(?!\s+--staged)\b|reset\s+--hard\b|revert\b|stash(?!\s+(?:pop|apply|list|show|drop))\b"
    r"|checkout\s+(?:\S+\s+)?--(?=\s)|checkout\s+(?=\.(?:\s|$)|\S*[./]\S*(?:\s|$)))(.*)"
)
_REDO = re.compile(r"git\s+(?:-\S+\s+\S+\s+)?stash\s+(?:pop|apply)\b")
_REVERT = re.compile(r"git\s+(?:-\S+\s+\S+\s+)?revert\s+(?:-\S+\s+)*HEAD(?:\s|$)")
_COMMIT = re.compile(r"git\s+(?:-\S+\s+\S+\s+)?commit\b(?!.*--dry-run)")
_SWITCH = re.compile(
    r"git\s+(?:-\S+\s+\S+\s+)?(?:switch|checkout)\s+(?!.*\s--(?:\s|$))(?:--detach\s+|-[fdm]\s+)*"
    r"(?:-[bBcC]\s+(?P<made>\S+)\s*)?(?P<branch>-|[^\s-]\S*|)\s*$"
)
"""A step that goes to another branch or commit, and may make a new branch there or, without another, here."""

_MERGE = re.compile(
    r"git\s+(?:-\S+\s+\S+\s+)?(?:merge|cherry-pick|rebase)\s+(?:-\S+\s+)*(?P<branch>[^\s-]\S*)"
)
_CHANGES_NO_CODE = re.compile(
    r"git\s+(?:-\S+\s+\S+\s+)?(?!(?:pull|merge|rebase|cherry-pick|apply|am|submodule)\b)"
    r"|(?:foreword|gh|kill|touch|ch(?:mod|own)|curl|wget|https?|ping|ssh|nano|vim?|code|open)\b"
    r"|(?:py(?:thon[\d.]*)?\s+-m\s+)?(?:(?:ruff|cargo|go|dotnet|terraform|mix|deno|biome)\s+(?:fmt|format)"
    r"|black|isort|yapf|autopep8|(?:go|rust|sh|clang-)f(?:ormat|mt)|goimports|prettier|dprint"
    r"|(?:ruff|eslint|flake8|pylint|pyright|mypy|bandit|vulture|shellcheck|stylelint|golangci-lint"
    r"|cargo\s+clippy|go\s+vet)(?!.*--fix))\b"
)
_REDIRECTS_TO = re.compile(r"(?<![\d&<>=-])1?>{1,2}\|?\s*([^\s&|;<>()]+)")
_WRITES_ARGUMENTS = re.compile(
    r"(?:sed|perl|ruby|g?awk|yq)\s(?:.*\s)?(?:-\w*i\S*|--in-?place\S*)(?=\s)|(?:tee|truncate|patch|(?:git\s+)?mv)\s"
)
_WRITES_LAST_ARGUMENT = re.compile(r"(?:cp|install|ln)\s|(?:curl|wget)\s.*-(?:o|O|-output\S*)[\s=]")
_REMOVES = re.compile(r"(?:git\s+)?rm\s")
_INTERPRETER = re.compile(r"(?:py(?:thon[\d.]*)?|node|deno|bun|ruby|perl|php|(?:ba|z)?sh|go\s+run)\b\s*")
_WRITES_IN_CODE = re.compile(
    r"(?<!stdout\.)(?<!stderr\.)\bwrite(?:_text|_bytes|FileSync|File)?\(|\bopen\([^)\n]*,\s*['\"][wax]"
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
_SPEAKS_OF_REMOVING = re.compile(
    r"\b(?:remov|delet|drop|clear|clean|purg|eras|wip|uninstall|get(?:ting)? rid|without)", re.IGNORECASE
)
_OUTSIDE = re.compile(r"/(?:tmp|dev|var|proc)/|~|\.\./")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MIN_PART_LETTERS = 3


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
    has_run = False
    steps = _split_steps_outside_quotes(read_command(call.given))
    runs = any(find_runner_step(step) for step in steps)
    for step in steps:
        if find_runner_step(step):
            has_run = True
        elif not (call.has_failed and not runs):  # a failed exit code may be that of the run
            found += [
                replace(
                    change, path=_path_from_project_root(change.path, folder, call.folder), after_run=has_run
                )
                for change in _read_step_changes(step)
            ]
        folder = folder_after_step(step, folder)
    return found


def _path_from_project_root(path: str, folder: str, project: str) -> str:
    """A path of a command in a folder, from the root of the project; as it is, if it lies elsewhere."""
    place = folder_in_project(str(Path(folder, path)), project) if path else None
    return path if place is None else place


def _split_steps_outside_quotes(command: str) -> list[str]:
    """The steps of a command line; quoted text and heredocs are never split."""
    texts: list[str] = []

    def set_aside(match: re.Match[str]) -> str:
        first_line = (match[1] or "").rstrip("\n")  # `<<EOF && pytest`: more steps may follow on it
        texts.append(match.group()[len(first_line) :])
        return f"{first_line}\0{len(texts) - 1}\0"

    parts = _STEP.split(_TEXT.sub(set_aside, command))
    return [
        re.sub(r"\0(\d+)\0", lambda at: texts[int(at[1])], part).strip() for part in parts if part.strip()
    ]


def _read_step_changes(step: str) -> list[SeenChange]:
    """The changes, undos and redos of one step of a command line."""
    bare = unwrap_step(step)
    if bare.startswith("git ") and (done := _read_git_step(bare)):
        return done
    plain = _TEXT.sub(lambda text: f"{(text[1] or '').rstrip()}_", bare)
    if _REMOVES.match(plain):  # what was changed in a removed file is gone with it
        gone = [SeenChange("undo", path, step) for path in _files_named_in(plain)]
        return [*gone, SeenChange("change", command=step)]
    written = _files_written_by(plain, bare)
    if written or _WRITES_ARGUMENTS.match(plain) or _WRITES_LAST_ARGUMENT.match(plain):
        return [SeenChange("change", path) for path in written]
    rest = _REDIRECTS_TO.sub(" ", plain).strip()
    if is_read_only_command(rest) or _CHANGES_NO_CODE.match(rest):
        return []
    if interpreter := _INTERPRETER.match(rest):
        # A script may change anything, but not because of the files that it is given.
        script, _, options = rest[interpreter.end() :].partition(" ")
        if not _FILE.fullmatch(script) and script != "-m":
            return []
        step = f"{interpreter.group()}{script} {_FILE.sub(' ', options)}".strip()
    return [SeenChange("change", command=step)]


def _read_git_step(step: str) -> list[SeenChange]:
    """What a step of git does to the changes made before it; nothing if it does nothing to them."""
    if _REDO.match(step):
        return [SeenChange("redo", command=step)]
    if _REVERT.match(step):
        return [SeenChange("revert", command=step)]
    if _COMMIT.match(step):
        return [SeenChange("commit", command=step)]
    if merged := _MERGE.match(step):  # what it brings may also be new
        return [SeenChange("merge", branch=merged["branch"]), SeenChange("change", command=step)]
    undo, switched = _UNDO.match(step), _SWITCH.match(step)
    done = [SeenChange("undo", path, step) for path in _files_named_in(undo[1]) or [""]] if undo else []
    if switched and switched["branch"] and not re.fullmatch(rf"\.|{_FILE.pattern}", switched["branch"]):
        done.append(SeenChange("switch", branch=switched["branch"]))
    if switched and switched["made"]:
        done.append(SeenChange("branch", branch=switched["made"]))
    return done


def _files_written_by(plain: str, step: str) -> list[str]:
    """The files of a project that a step writes; `plain` is the step without quoted texts and heredocs."""
    written = _REDIRECTS_TO.findall(plain)
    if _WRITES_ARGUMENTS.match(plain):
        written += _files_named_in(plain)
    elif _WRITES_LAST_ARGUMENT.match(plain):
        written += plain.split()[-1:]
    elif _INTERPRETER.match(plain) and _WRITES_IN_CODE.search(step):
        written += _FILE.findall(step)
    return [path for path in dict.fromkeys(written) if _FILE.fullmatch(path) and not _OUTSIDE.match(path)]


def _files_named_in(command: str) -> list[str]:
    """The words of a command that name files of code, settings or text."""
    return [word for word in command.split() if _FILE.fullmatch(word)]


def change_fits_action(change: SeenChange, action: str, hypothesis: str) -> bool:
    """Whether a change belongs to an action, which was taken on a hypothesis."""
    files = _FILE.findall(action)
    folders = [name.rstrip("/") for name in _FOLDER.findall(action) if not _FILE.search(name)]
    names = [next(filter(None, found)) for found in _CODE_NAME.findall(_FILE.sub(" ", action))]
    if change.command:
        return _command_fits_action(change.command, files, action, hypothesis)
    if files and any(_path_ends_with(change.path, file) for file in files):
        return True
    if any(f"/{folder}/" in f"/{change.path}/" for folder in folders):
        return True
    if any(_mentions_code_name(change, name) for name in names):
        return True
    if files or folders or names:
        return False
    if _DOCUMENT.search(change.path):
        return bool(_SPEAKS_OF_DOCUMENTS.search(action))
    return not _TEST_FILE.search(change.path) or bool(_SPEAKS_OF_TESTS.search(action))


def _path_ends_with(path: str, named: str) -> bool:
    """Whether a path ends with a file's name and, if it names folders, with these."""
    return f"/{path}".replace("\\", "/").endswith(f"/{named.removeprefix('./')}".replace("\\", "/"))


def _mentions_code_name(change: SeenChange, name: str) -> bool:
    """Whether a change has a name in code in its texts, or a part of the name in the name of its file."""
    if name in change.before or name in change.after:
        return True
    parts = {part.lower() for part in _PART.findall(name) if len(part) >= _MIN_PART_LETTERS}
    stem = re.sub(r"\.\w+$", "", change.path.rpartition("/")[2])
    return bool(parts & {part.lower() for part in _PART.findall(stem)})


def _command_fits_action(command: str, files: list[str], action: str, hypothesis: str) -> bool:
    """Whether a command names one of these files, or shares a word with what is to be done and believed."""
    if _REMOVES.match(unwrap_step(command)) and not _SPEAKS_OF_REMOVING.search(action):
        return False
    if any(_path_ends_with(word, file) for file in files for word in _files_named_in(command)):
        return True
    without_quotes = SHELL_QUOTATION.sub(lambda text: text.group()[1:-1], command)
    # A file that stands in both and is another one has nothing in common but its folder.
    words, wanted = _FILE.sub(" ", without_quotes), _FILE.sub(" ", f"{action} {hypothesis}")
    shared = set(content_words(words)) & set(content_words(wanted if files else f"{action} {hypothesis}"))
    return any(len(word) >= _MIN_PART_LETTERS for word in shared)
