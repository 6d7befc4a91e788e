"""The files of a folder that git does not know, without those that its `.gitignore` files name.

An ignore file speaks for its own folder and those below; the nearest one that says anything decides. A
repository without files of its own, as servers keep them, is nobody's code.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from foreword.capture.folder.decode import path_text
from foreword.capture.folder.worth import is_built
from foreword.errors import MissingExtra
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pathspec import GitIgnoreSpec

    from foreword.capture.folder.worth import Skipped

_log = get_logger(__name__)

_KEPT_BY_OTHERS = frozenset({".git", ".hg", ".svn", ".jj", "CVS", ".bzr"})
_BARE = frozenset({("HEAD", False), ("objects", True), ("refs", True)})
"""What every folder of git's own holds."""

_LONGEST_IGNORE_FILE = 100_000


def listed(root: Path, counted: Skipped) -> Iterator[str]:
    """The paths below a folder, with slashes, that no ignore file names. Links are listed, never entered."""
    waiting: list[tuple[str, tuple[tuple[str, GitIgnoreSpec], ...]]] = [("", ())]
    while waiting:
        folder, above = waiting.pop()
        specs = _with_own(root, folder, above)
        entries = list(_entries(root, folder, counted))
        if _BARE.issubset((name.removeprefix(folder), is_folder) for name, is_folder in entries):
            counted["repository"] += 1
            continue
        for name, is_folder in entries:
            if _ignored(f"{name}/" if is_folder else name, specs):
                counted["ignored"] += 1
            elif is_folder and is_built(name):
                counted["generated"] += 1
            elif is_folder:
                waiting.append((f"{name}/", specs))
            else:
                yield name


def _entries(root: Path, folder: str, counted: Skipped) -> Iterator[tuple[str, bool]]:
    try:
        with os.scandir(root / folder) as entries:
            for entry in entries:
                if entry.name not in _KEPT_BY_OTHERS:
                    yield folder + entry.name, entry.is_dir(follow_symlinks=False)
    except OSError as error:
        _log.warning("a folder cannot be read", path=path_text(folder), problem=error.strerror or str(error))
        counted["unreadable"] += 1


def _with_own(
    root: Path, folder: str, above: tuple[tuple[str, GitIgnoreSpec], ...]
) -> tuple[tuple[str, GitIgnoreSpec], ...]:
    """The ignore files that speak for a folder, the nearest first."""
    own = root / folder / ".gitignore"
    try:
        if own.is_symlink() or not own.is_file():
            return above
        with own.open(encoding="utf-8", errors="replace") as file:
            lines = file.read(_LONGEST_IGNORE_FILE).splitlines()
    except OSError as error:
        _log.warning("an ignore file cannot be read", path=path_text(folder), problem=str(error.strerror))
        return above
    return ((folder, _spec(lines, folder)), *above)


def _spec(lines: list[str], folder: str) -> GitIgnoreSpec:
    try:
        from pathspec import GitIgnoreSpec
    except ImportError as error:
        raise MissingExtra("pathspec", "code") from error
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        sound = [line for line in lines if _is_pattern(line)]
        _log.warning("an ignore file has lines that are no patterns", path=path_text(folder))
        return GitIgnoreSpec.from_lines(sound)


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _ignored(name: str, specs: tuple[tuple[str, GitIgnoreSpec], ...]) -> bool:
    for folder, spec in specs:
        said = spec.check_file(name.removeprefix(folder)).include
        if said is not None:
            return said
    return False
