"""Judge whether a change is what an experience set out to do.

If its action names files, folders or names in code, a change fits if it has one of them; if it names none,
every change to code or settings fits, and a change to documents or tests only if the action mentions these. A
command fits if it shares a word with the action. In doubt a change does not fit, because a wrong verdict is
worse than none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.capture.runs.changes import FILE_PATTERN, files_named_in, removes_files
from foreword.text.words import content_words

if TYPE_CHECKING:
    from foreword.capture.runs.changes import SeenChange

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
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MIN_PART_LETTERS = 3


def change_fits_action(change: SeenChange, action: str, hypothesis: str) -> bool:
    """Whether a change belongs to an action, which was taken on a hypothesis."""
    files = FILE_PATTERN.findall(action)
    if change.command:
        return _command_fits_action(change.command, files, action, hypothesis)
    folders = [name.rstrip("/") for name in _FOLDER.findall(action) if not FILE_PATTERN.search(name)]
    names = [next(filter(None, found)) for found in _CODE_NAME.findall(FILE_PATTERN.sub(" ", action))]
    if files or folders or names:
        return (
            any(_path_ends_with(change.path, file) for file in files)
            or any(f"/{folder}/" in f"/{change.path}/" for folder in folders)
            or any(_mentions_code_name(change, name) for name in names)
        )
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
    if removes_files(command) and not _SPEAKS_OF_REMOVING.search(action):
        return False
    if any(_path_ends_with(word, file) for file in files for word in files_named_in(command)):
        return True
    # A file that stands in both and is another one has nothing in common but its folder.
    words, wanted = FILE_PATTERN.sub(" ", command), f"{action} {hypothesis}"
    shared = set(content_words(words)) & set(
        content_words(FILE_PATTERN.sub(" ", wanted) if files else wanted)
    )
    return any(len(word) >= _MIN_PART_LETTERS for word in shared)
