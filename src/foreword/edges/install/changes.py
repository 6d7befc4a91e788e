"""Change other programs' settings files: find Foreword's parts in them, plan a change, apply it.

Planning reads and compares; only `write_file_change` writes, and it replaces a file whole or not at all. The
mode and owner of a file stay, a new file is readable by its owner alone, a link stays a link, and a backup of
the file before the first change is kept.
Removing restores the backup byte for byte if nothing but our own parts has changed since: the backup with our
parts added again must equal the file as it is. Otherwise our parts are cut out and the rest stays.
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
from typing import TYPE_CHECKING, Any

from foreword.edges.install import settings_text
from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.edges.install.settings_text import Json

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

    def encode_same_way(self, text: str) -> bytes:
        """Another text, encoded in the same way."""
        text = text if self.newline == "\n" else text.replace("\n", self.newline)
        return ((_BYTE_ORDER_MARK if self.has_mark else "") + text).encode()


def read_bytes(path: Path) -> bytes | None:
    """The content of a file, or None if there is no such file."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_text(path: Path) -> EncodedText:
    """The text of a file; empty if there is none."""
    return EncodedText.decode(read_bytes(path) or b"")


# The three kinds of file, and what in them is Foreword's --------------------------------------------------


CLIENT_MARK = "foreword/edges/hook_client.py"
"""Every hook of ours runs a file of this name, whichever version of Foreword installed it."""

Parts = dict[tuple[str, ...], Any]
"""Foreword's parts of a file, by their path in it; under `hooks` and an event, a part is one group."""


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON file with our groups of hooks, our named members, or both."""

    path: Path
    wanted: Parts
    members: tuple[tuple[str, ...], ...] = ()
    comments: bool = False

    def find_our_parts(self, text: str) -> Parts:
        """Each group that runs our client, a list if an event has several, and each member with our name."""
        settings = self._read_settings(text)
        groups: dict[str, list[Any]] = {}
        for event, place, _ in _locate_our_hooks(settings):
            groups.setdefault(event, []).append(settings["hooks"][event][place])
        parts: Parts = {
            ("hooks", event): ours[0] if len(ours) == 1 else ours for event, ours in groups.items()
        }
        for path in self.members:
            if (member := settings_text.find_value_at_path(settings, path)) is not None:
                parts[path] = member
        order = list(self.wanted)
        return dict(sorted(parts.items(), key=lambda part: order.index(part[0]) if part[0] in order else 99))

    def add_parts(self, text: str, parts: Parts) -> str:
        """The text with our groups at the end of their lists, and our members at the end of their objects."""
        for path, new in parts.items():
            write = (
                settings_text.append_json_element if path[0] == "hooks" else settings_text.insert_json_value
            )
            text = write(text, path, new, comments=self.comments)
        return text

    def remove_our_parts(self, text: str) -> str:
        """The text without our hooks and members, and without lists and objects that this leaves empty."""
        while hooks := list(_locate_our_hooks(self._read_settings(text))):
            event, group, hook = hooks[-1]
            path = ("hooks", event, group, "hooks", hook)
            text = settings_text.delete_json_value(text, path, comments=self.comments)
        for member in self.members:
            if settings_text.find_value_at_path(self._read_settings(text), member) is not None:
                text = settings_text.delete_json_value(text, member, comments=self.comments)
        return text

    def _read_settings(self, text: str) -> dict[str, Any]:
        """The settings as a JSON object; ValidationError if they are anything else."""
        settings = settings_text.read_json(text, comments=self.comments)
        if not isinstance(settings, dict):
            raise ValidationError("it is not a JSON object")
        return settings


def _locate_our_hooks(settings: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """The places of our hooks: the event, the index of the group, the index of the hook in it."""
    events = settings.get("hooks")
    for event, groups in events.items() if isinstance(events, dict) else ():
        for place, group in enumerate(groups if isinstance(groups, list) else ()):
            hooks = group.get("hooks") if isinstance(group, dict) else None
            for number, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                command = hook.get("command") if isinstance(hook, dict) else None
                if isinstance(command, str) and CLIENT_MARK in command:
                    yield event, place, number


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A TOML file with one table that is ours."""

    path: Path
    wanted: Parts
    table: settings_text.Table

    def find_our_parts(self, text: str) -> Parts:
        """Our table, if it is there."""
        table = settings_text.find_value_at_path(settings_text.read_toml(text), self.table)
        return {} if table is None else {self.table: table}

    def add_parts(self, text: str, parts: Parts) -> str:
        """The text with our table at its end."""
        for new in parts.values():
            text = settings_text.add_toml_table(text, self.table, new)
        return text

    def remove_our_parts(self, text: str) -> str:
        """The text without our table and the tables below it."""
        return settings_text.delete_toml_table(text, self.table) if self.find_our_parts(text) else text


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file that is all ours; it is recognised by `mark`."""

    path: Path
    wanted: Parts
    mark: str

    def find_our_parts(self, text: str) -> Parts:
        """The whole text; ValidationError if it is somebody else's file, without our mark."""
        if not text:
            return {}
        if self.mark not in text:
            raise ValidationError("it was not written by Foreword; move it away first")
        return {("",): text}

    def add_parts(self, text: str, parts: Parts) -> str:
        """The text with all our parts after it."""
        return text + "".join(parts.values())

    def remove_our_parts(self, text: str) -> str:
        """An empty text, since the whole file is ours."""
        return "" if self.find_our_parts(text) else text


TargetFile = JsonFile | TomlFile | WholeFile
"""A file that should hold our wanted parts; if none are wanted, ours should be removed."""


# Planning ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """The change of one file, from the bytes `before` to those `after`; None means that there is no file.

    `backup` is where to copy the file before the change, `restored` the backup that the change restores.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    backup: Path | None = None
    restored: Path | None = None

    @property
    def action(self) -> str:
        """The change in a word, such as `created`."""
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


def plan_installation(target: TargetFile) -> SettingsChange:
    """The change after which a file holds exactly our wanted parts, beside everybody else's."""
    if not target.wanted:
        return plan_removal(target)
    with _name_file_in_errors(target, "was left alone"):
        before = read_bytes(target.path)
        old = EncodedText.decode(before or b"")
        parts = target.find_our_parts(old.text)
        wanted = {path: _merge_part(path, parts.get(path), new) for path, new in target.wanted.items()}
        if parts == wanted:
            return SettingsChange(target.path, before, before)
        without_ours, _ = _text_before_installation(target, old, parts)
        after = old.encode_same_way(target.add_parts(without_ours or "", wanted))
    backup = _new_backup_path(target.path) if before is not None and not parts else None
    return SettingsChange(target.path, before, after, backup=backup)


def plan_removal(target: TargetFile) -> SettingsChange:
    """The change that removes all our parts from a file."""
    with _name_file_in_errors(target, "was left alone"):
        before = read_bytes(target.path)
        old = EncodedText.decode(before or b"")
        parts = target.find_our_parts(old.text)
        if not parts:
            return SettingsChange(target.path, before, before)
        rest, restored = _text_before_installation(target, old, parts)
    return SettingsChange(
        target.path, before, None if rest is None else old.encode_same_way(rest), restored=restored
    )


def find_installed_parts(target: TargetFile) -> Parts:
    """Our parts that a file holds now; ValidationError with the file's name if it cannot be read."""
    with _name_file_in_errors(target, "cannot be read"):
        return target.find_our_parts(read_text(target.path).text)


@contextlib.contextmanager
def _name_file_in_errors(target: TargetFile, problem: str) -> Iterator[None]:
    """Put the path of the file and the problem before the message of a ValidationError."""
    try:
        yield
    except ValidationError as error:
        raise ValidationError(f"{target.path} {problem}: {error}") from error


def _text_before_installation(
    target: TargetFile, old: EncodedText, parts: Parts
) -> tuple[str | None, Path | None]:
    """The text before our installation, and the backup it comes from; None if the file is all ours."""
    if not parts:
        return old.text, None
    for backup in list_settings_backups(target.path):
        text = read_text(backup).text
        if old.encode_same_way(target.add_parts(text, parts)) == old.encode_same_way(old.text):
            return text, backup
    if target.add_parts("", parts) == old.text:
        return None, None
    return target.remove_our_parts(old.text), None


def _merge_part(path: tuple[str, ...], old: Json, new: Json) -> Json:
    """The new part, with the keys that others added to the old one; groups of hooks are simply replaced."""
    if path[0] != "hooks" and isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merge_part(path, old.get(key), value) for key, value in new.items()}}
    return new


def list_settings_backups(path: Path) -> list[Path]:
    """The backups that were made of a file before it was first changed, the newest first."""
    prefix = path.name + _BACKUP_MARK
    files = path.parent.iterdir() if path.parent.is_dir() else ()
    names = (file.name for file in files if file.name.startswith(prefix) and file.suffix == _BACKUP_SUFFIX)
    return [path.with_name(name) for name in sorted(names, reverse=True)]


def _new_backup_path(path: Path) -> Path:
    """The path for the next backup of a file: beside it, with the time in its name."""
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    return path.with_name(f"{path.name}{_BACKUP_MARK}{time}{_BACKUP_SUFFIX}")


# Writing -------------------------------------------------------------------------------------------------


def write_file_change(change: SettingsChange) -> None:
    """Apply a change; ValidationError if somebody changed the file since it was planned."""
    if change.action == "unchanged":
        return
    if read_bytes(change.path) != change.before:
        raise ValidationError(
            f"{change.path} has just been changed by another program; run the command again"
        )
    if change.backup is not None:
        _replace_settings_file(change.backup, change.before or b"", owner_of=change.path)
    if change.after is None:
        change.path.unlink()
    else:
        _replace_settings_file(change.path, change.after)
    if change.restored is not None:
        change.restored.unlink(missing_ok=True)


def _replace_settings_file(path: Path, data: bytes, *, owner_of: Path | None = None) -> None:
    """Replace a file in one step. A new file is private, and gets the owner of `owner_of`."""
    target = Path(os.path.realpath(path))
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            is_new = not target.exists()
            _set_mode_and_owner(file.fileno(), owner_of if is_new else target, is_new=is_new)
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


def _set_mode_and_owner(handle: int, model: Path | None, *, is_new: bool) -> None:
    """Give an open file the owner of `model` and, unless it is new, its mode; a new one is private."""
    if is_new:
        os.fchmod(handle, 0o600)
    if model is None:
        return
    status = model.stat()
    if not is_new:
        os.fchmod(handle, stat.S_IMODE(status.st_mode))
    with contextlib.suppress(PermissionError):  # only root may change the owner, and only root needs to
        os.fchown(handle, status.st_uid, status.st_gid)
