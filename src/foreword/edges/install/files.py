"""Read and replace other programs' settings files: whole or not at all, with a copy of what was there before.

A file is replaced by renaming a complete new one over it; its mode and owner stay, and a link stays a link.
Text is UTF-8, with or without a byte order mark, its lines ended in either way; whatever it is, it stays so.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from foreword.errors import ValidationError

_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Written:
    """A text without the accidents of how it was written down, and those accidents."""

    text: str
    marked: bool = False
    newline: str = "\n"

    @classmethod
    def read(cls, data: bytes) -> Written:
        """The text in these bytes."""
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise ValidationError(f"line {line} is not UTF-8") from error
        marked = text.startswith(_MARK)
        text = text.removeprefix(_MARK)
        windows = "\r\n" in text and text.count("\r\n") == text.count("\n")
        return cls(text.replace("\r\n", "\n") if windows else text, marked, "\r\n" if windows else "\n")

    def bytes(self, text: str) -> bytes:
        """Another text, written down in the same way."""
        text = text if self.newline == "\n" else text.replace("\n", self.newline)
        return ((_MARK if self.marked else "") + text).encode()


def contents(path: Path) -> bytes | None:
    """What a file holds, or None if there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def backups(path: Path) -> list[Path]:
    """The copies that were made of a file before it was first changed, the newest first."""
    prefix, suffix = _backup_name(path)
    if not path.parent.is_dir():
        return []
    names = [one.name for one in path.parent.iterdir()]
    found = sorted(name for name in names if name.startswith(prefix) and name.endswith(suffix))
    return [path.with_name(name) for name in reversed(found)]


def new_backup(path: Path) -> Path:
    """Where the next copy of a file goes: beside it, with the time in its name."""
    prefix, suffix = _backup_name(path)
    return path.with_name(prefix + datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ") + suffix)


def _backup_name(path: Path) -> tuple[str, str]:
    return f"{path.name}.before-foreword-", ".backup"


def write(path: Path, data: bytes, *, like: Path | None = None) -> None:
    """Replace a file in one step; a new file gets the mode of the file it is `like`."""
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            _dress(file.fileno(), target if target.exists() else like)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _dress(handle: int, model: Path | None) -> None:
    """Give an open file the mode and owner of another, or those that any new file here would have."""
    if model is None:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)
        return
    was = model.stat()
    os.fchmod(handle, stat.S_IMODE(was.st_mode))
    with contextlib.suppress(PermissionError):  # only root may give files away, and only root needs to
        os.fchown(handle, was.st_uid, was.st_gid)


def _sync(folder: Path) -> None:
    """Make a rename in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
