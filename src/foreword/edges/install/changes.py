"""Change other programs' settings files: what would change, file by file, and then the change itself.

Planning reads and compares; only `apply` writes, and it replaces a file whole or not at all. The mode and
owner of a file stay, a link stays a link, and a backup of what was there before the first change is kept.
Removing restores the backup byte for byte when nothing but our own parts has changed since: the backup with
our parts put in again must be exactly the file as it is. Otherwise our parts are cut out and the rest stays.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.edges.install.settings_text import Json
    from foreword.edges.install.targets import Parts, Target

_BYTE_ORDER_MARK = "\ufeff"
_BACKUP_MARK, _BACKUP_SUFFIX = ".before-foreword-", ".backup"


# Texts and their bytes -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EncodedText:
    """The text of a UTF-8 file, and how it was encoded: with a byte order mark or not, and its line ends."""

    text: str
    has_mark: bool = False
    newline: str = "\n"

    @classmethod
    def decode(cls, data: bytes) -> EncodedText:
        """The text in these bytes; a ValidationError names the line that is not UTF-8."""
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise ValidationError(f"line {line} is not UTF-8") from error
        has_mark = text.startswith(_BYTE_ORDER_MARK)
        text = text.removeprefix(_BYTE_ORDER_MARK)
        windows = "\r\n" in text and text.count("\r\n") == text.count("\n")
        return cls(text.replace("\r\n", "\n") if windows else text, has_mark, "\r\n" if windows else "\n")

    def encode(self, text: str) -> bytes:
        """Another text, encoded in the same way."""
        text = text if self.newline == "\n" else text.replace("\n", self.newline)
        return ((_BYTE_ORDER_MARK if self.has_mark else "") + text).encode()


def read_bytes(path: Path) -> bytes | None:
    """What a file holds, or None if there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_text(path: Path) -> EncodedText:
    """The text of a file; empty if there is none."""
    return EncodedText.decode(read_bytes(path) or b"")


# Planning ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file; None is no file.

    `backup` is a copy to make before the change, `restored` the backup that the change puts back.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    backup: Path | None = None
    restored: Path | None = None

    @property
    def action(self) -> str:
        """What becomes of it, in a word."""
        if self.before == self.after:
            return "unchanged"
        if self.after is None:
            return "removed"
        if self.before is None:
            return "created"
        return "restored" if self.restored else "changed"

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (
            (data or b"").decode(errors="replace").splitlines(keepends=True)
            for data in (self.before, self.after)
        )
        old, new = ("/dev/null" if data is None else str(self.path) for data in (self.before, self.after))
        lines = difflib.unified_diff(before, after, old, new, n=2)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def plan_installation(target: Target) -> Change:
    """The change that makes a file hold what is wanted of it, and no other part of ours."""
    if not target.wanted:
        return plan_removal(target)
    with _name_file_in_errors(target, "was left alone"):
        before = read_bytes(target.path)
        old = EncodedText.decode(before or b"")
        parts = target.ours(old.text)
        wanted = {path: _merge_part(path, parts.get(path), new) for path, new in target.wanted.items()}
        if parts == wanted:
            return Change(target.path, before, before)
        without_ours, _ = _text_before_installation(target, old, parts)
        after = old.encode(target.add(without_ours or "", wanted))
    backup = _new_backup_path(target.path) if before is not None and not parts else None
    return Change(target.path, before, after, backup=backup)


def plan_removal(target: Target) -> Change:
    """The change that takes everything of ours out of a file."""
    with _name_file_in_errors(target, "was left alone"):
        before = read_bytes(target.path)
        old = EncodedText.decode(before or b"")
        parts = target.ours(old.text)
        if not parts:
            return Change(target.path, before, before)
        rest, restored = _text_before_installation(target, old, parts)
    return Change(target.path, before, None if rest is None else old.encode(rest), restored=restored)


def installed_parts(target: Target) -> Parts:
    """The parts of ours that a file holds now."""
    with _name_file_in_errors(target, "cannot be read"):
        return target.ours(read_text(target.path).text)


@contextlib.contextmanager
def _name_file_in_errors(target: Target, problem: str) -> Iterator[None]:
    """Put the path of the file and the problem before the message of a ValidationError."""
    try:
        yield
    except ValidationError as error:
        raise ValidationError(f"{target.path} {problem}: {error}") from error


def _text_before_installation(
    target: Target, old: EncodedText, parts: Parts
) -> tuple[str | None, Path | None]:
    """The text as it was before us, and the backup that it comes from; no text when the file is all ours."""
    if not parts:
        return old.text, None
    for backup in backups(target.path):
        text = read_text(backup).text
        if old.encode(target.add(text, parts)) == old.encode(old.text):
            return text, backup
    if target.add("", parts) == old.text:
        return None, None
    return target.remove(old.text), None


def _merge_part(path: tuple[str, ...], old: Json, new: Json) -> Json:
    """What a part should be: keys that others gave a member of ours stay; groups of hooks are ours alone."""
    if path[0] != "hooks" and isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merge_part(path, old.get(key), value) for key, value in new.items()}}
    return new


def backups(path: Path) -> list[Path]:
    """The copies that were made of a file before it was first changed, the newest first."""
    prefix = path.name + _BACKUP_MARK
    files = path.parent.iterdir() if path.parent.is_dir() else ()
    names = (file.name for file in files if file.name.startswith(prefix) and file.suffix == _BACKUP_SUFFIX)
    return [path.with_name(name) for name in sorted(names, reverse=True)]


def _new_backup_path(path: Path) -> Path:
    """Where the next copy of a file goes: beside it, with the time in its name."""
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    return path.with_name(f"{path.name}{_BACKUP_MARK}{time}{_BACKUP_SUFFIX}")


# Writing -------------------------------------------------------------------------------------------------


def apply(change: Change) -> None:
    """Make a change, unless somebody changed the file since it was looked at."""
    if change.action == "unchanged":
        return
    if read_bytes(change.path) != change.before:
        raise ValidationError(
            f"{change.path} has just been changed by another program; run the command again"
        )
    if change.backup is not None:
        _replace_file(change.backup, change.before or b"", mode_of=change.path)
    if change.after is None:
        change.path.unlink()
    else:
        _replace_file(change.path, change.after)
    if change.restored is not None:
        change.restored.unlink(missing_ok=True)


def _replace_file(path: Path, data: bytes, *, mode_of: Path | None = None) -> None:
    """Replace a file in one step; a new file gets the mode and owner of `mode_of`."""
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            _copy_mode_and_owner(file.fileno(), target if target.exists() else mode_of)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # so that the rename survives a power cut
    finally:
        os.close(folder)


def _copy_mode_and_owner(handle: int, model: Path | None) -> None:
    """Give an open file the mode and owner of another, or those that any new file here would have."""
    if model is None:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)
        return
    status = model.stat()
    os.fchmod(handle, stat.S_IMODE(status.st_mode))
    with contextlib.suppress(PermissionError):  # only root may give files away, and only root needs to
        os.fchown(handle, status.st_uid, status.st_gid)
