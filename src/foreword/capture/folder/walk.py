"""Which files of a folder are worth reading, and what each holds.

In a repository git tells them; elsewhere the folder is walked. Nothing outside the folder is read: a link is
never followed. Whatever is left out is counted, by reason.

`files` looks at names and sizes alone, so that what did not change costs nothing; `read` looks inside.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from foreword.capture.code.languages import language_of
from foreword.capture.folder.decode import bytes_hash, path_text
from foreword.capture.folder.git import GitFailed, fields
from foreword.capture.folder.ignored import listed
from foreword.capture.folder.worth import Limits, by_content, by_name
from foreword.errors import ValidationError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.capture.folder.worth import Reason, Skipped

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file worth reading: `path` from the folder, with slashes; `language` as far as its name tells it."""

    path: str
    absolute: Path
    size: int
    mtime_ns: int
    language: str


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds, and the hash that names it."""

    data: bytes
    hash: str


_DEFAULT = Limits()
_NO_REPOSITORY = ("not a git repository", "not installed", "run in a work tree")
_ALWAYS_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def files(
    root: Path, limits: Limits = _DEFAULT, skipped: Skipped | None = None, apart: Path | None = None
) -> Iterator[SourceFile]:
    """The files of a folder that are worth reading, in the order of their names; the rest is counted.

    What is in the folder `apart`, if that is in this one, is left out like what is ignored.
    """
    counted = Counter() if skipped is None else skipped
    real = Path(os.path.realpath(root))
    if not real.is_dir():
        raise ValidationError(f"{root} is not a folder; give the folder of a project")
    inside: dict[str, bool] = {}
    other = _prefix(real, apart)
    for name in sorted(_names(real, counted)):
        if reason := by_name(name) or _leading(real, name, inside) or _in(name, other):
            counted[reason] += 1
            continue
        file = _looked_at(real, name, limits, counted)
        if file:
            yield file


def is_gone(root: Path, path: str, seen: dict[PurePosixPath, bool]) -> bool:
    """Whether a file that was there, and that `files` does not tell now, is there no more, or not to be read.

    It is not gone if it, or a folder above it, cannot be looked at. What was looked at is `seen`.
    """
    here = PurePosixPath(path)
    for place in (*reversed(here.parents), here):
        if place not in seen:
            seen[place] = _can_be_seen(root / place)
        if not seen[place]:
            return False
    return True


def _can_be_seen(place: Path) -> bool:
    """Whether one can look at a place, and into it if it is a folder; where nothing is, there is nothing."""
    try:
        if stat.S_ISDIR(place.lstat().st_mode):
            os.scandir(place).close()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError as error:
        _log.warning("a place cannot be looked at", path=place.name, problem=error.strerror or str(error))
        return False
    return True


def read(file: SourceFile, limits: Limits = _DEFAULT, skipped: Skipped | None = None) -> Content | None:
    """What a file holds; None, and counted, when that is nothing to read."""
    counted = Counter() if skipped is None else skipped
    most = limits.of(file.language)
    try:
        data = _bytes(file.absolute, most + 1)
    except OSError as error:
        _log.warning("a file cannot be read", path=file.path, problem=error.strerror or str(error))
        counted["unreadable"] += 1
        return None
    reason = "huge" if len(data) > most else by_content(data, file.language, limits)
    if reason:
        counted[reason] += 1
        return None
    return Content(data, bytes_hash(data))


def _names(root: Path, counted: Skipped) -> Iterator[str]:
    """The paths in a folder that git would see, or that its ignore files leave over."""
    try:
        known = set(fields(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"))
    except GitFailed as failed:
        known = set()
        if not any(said in failed.reason for said in _NO_REPOSITORY):
            _log.warning("git cannot list a folder; it is walked", folder=str(root), problem=failed.reason)
    if known:  # a folder that git ignores as a whole, or does not know, is walked instead
        counted.update({"ignored": count} if (count := _ignored(root)) else {})
        yield from (os.fsdecode(name) for name in known)
    else:
        yield from listed(root, counted)


def _prefix(root: Path, apart: Path | None) -> str:
    """How the paths begin that are in another folder; "" when that is not in this one."""
    there = Path(os.path.realpath(apart)) if apart is not None else root
    return f"{there.relative_to(root).as_posix()}/" if there != root and there.is_relative_to(root) else ""


def _in(name: str, prefix: str) -> Reason | None:
    return "ignored" if prefix and name.startswith(prefix) else None


def _ignored(root: Path) -> int:
    """How much git ignores in a folder; a folder in it counts once."""
    listing = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    try:
        return sum(1 for _ in fields(root, *listing))
    except GitFailed:
        return 0  # some versions of git stumble here; the number is all that is lost


def _leading(root: Path, name: str, inside: dict[str, bool]) -> Reason | None:
    """Why a path is left out by where it leads; folders are asked once."""
    folder = os.path.dirname(name)  # noqa: PTH120  (a path with odd bytes stays as it is)
    if folder not in inside:
        there = os.path.join(root, folder)  # noqa: PTH118
        inside[folder] = not folder or os.path.realpath(there) == there
    if not inside[folder]:
        return _led(root, name)
    return _led(root, name) if os.path.islink(os.path.join(root, name)) else None  # noqa: PTH114, PTH118


def _led(root: Path, name: str) -> Reason:
    there = os.path.realpath(os.path.join(root, name))  # noqa: PTH118
    return "link" if f"{there}{os.sep}".startswith(f"{root}{os.sep}") else "link out"


def _looked_at(root: Path, name: str, limits: Limits, counted: Skipped) -> SourceFile | None:
    absolute = root / name
    try:
        found = absolute.lstat()
    except FileNotFoundError:
        return None  # git still knows it, but it was deleted
    except OSError as error:
        _log.warning("a file cannot be read", path=path_text(name), problem=error.strerror or str(error))
        counted["unreadable"] += 1
        return None
    if not stat.S_ISREG(found.st_mode):
        counted["repository" if stat.S_ISDIR(found.st_mode) else "binary"] += 1
        return None
    language = language_of(name)
    if found.st_size > limits.of(language):
        counted["huge"] += 1
        return None
    return SourceFile(path_text(name), absolute, found.st_size, found.st_mtime_ns, language)


def _bytes(path: Path, most: int) -> bytes:
    """The first bytes of a file, which is no link: it was none when its name was read."""
    with open(os.open(path, _ALWAYS_OPEN), "rb") as file:  # noqa: PTH123  (flags)
        return file.read(most)
