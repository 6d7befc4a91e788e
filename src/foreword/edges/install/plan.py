"""What an installation would change, file by file, before anything is changed.

A plan reads and compares; only `apply` writes. What was there before comes back byte for byte when nothing
but our own parts has changed since: the copy made before the first change, with our parts put in again, must
give exactly the file as it is. Where something else changed too, our parts are cut out and the rest stays.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.edges.install.files import Written, backups, contents, new_backup, write
from foreword.errors import ValidationError

if TYPE_CHECKING:
    from pathlib import Path

    from foreword.edges.install.json_text import Json
    from foreword.edges.install.targets import Parts, Target


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file; None is no file. `backup` is a copy to make, `spent` one no longer needed."""

    path: Path
    before: bytes | None
    after: bytes | None
    backup: Path | None = None
    spent: Path | None = None

    @property
    def action(self) -> str:
        """What becomes of it, in a word."""
        if self.before == self.after:
            return "unchanged"
        if self.after is None:
            return "removed"
        if self.before is None:
            return "created"
        return "restored" if self.spent else "changed"

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (
            "" if data is None else data.decode(errors="replace") for data in (self.before, self.after)
        )
        lines = difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            str(self.path) if self.before is not None else "/dev/null",
            str(self.path) if self.after is not None else "/dev/null",
            n=2,
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def installation(target: Target) -> Change:
    """The change that makes a file hold what is wanted of it, and no other part of ours."""
    if not target.wanted:
        return removal(target)
    try:
        before = contents(target.path)
        written = Written.read(before or b"")
        parts = target.ours(written.text)
        wanted = {path: _merged(path, parts.get(path), new) for path, new in target.wanted.items()}
        if parts == wanted:
            return Change(target.path, before, before)
        bare, _ = _without(target, written, parts)
        after = written.bytes(target.added(bare or "", wanted))
    except ValidationError as error:
        raise ValidationError(f"{target.path} was left alone: {error}") from error
    first = before is not None and not parts
    return Change(target.path, before, after, backup=new_backup(target.path) if first else None)


def removal(target: Target) -> Change:
    """The change that takes everything of ours out of a file."""
    try:
        before = contents(target.path)
        written = Written.read(before or b"")
        parts = target.ours(written.text)
        if not parts:
            return Change(target.path, before, before)
        bare, spent = _without(target, written, parts)
    except ValidationError as error:
        raise ValidationError(f"{target.path} was left alone: {error}") from error
    return Change(target.path, before, None if bare is None else written.bytes(bare), spent=spent)


def installed(target: Target) -> Parts:
    """The parts of ours that a file holds now."""
    try:
        return target.ours(Written.read(contents(target.path) or b"").text)
    except ValidationError as error:
        raise ValidationError(f"{target.path} cannot be read: {error}") from error


def apply(change: Change) -> None:
    """Make a change, unless somebody changed the file since it was looked at."""
    if change.action == "unchanged":
        return
    if contents(change.path) != change.before:
        raise ValidationError(
            f"{change.path} has just been changed by another program; run the command again"
        )
    if change.backup is not None:
        write(change.backup, change.before or b"", like=change.path)
    if change.after is None:
        change.path.unlink()
    else:
        write(change.path, change.after)
    if change.spent is not None:
        change.spent.unlink(missing_ok=True)


def _without(target: Target, written: Written, parts: Parts) -> tuple[str | None, Path | None]:
    """The text as it was before us, and the copy that says so; no text when the file is all ours."""
    if not parts:
        return written.text, None
    for backup in backups(target.path):
        data = contents(backup) or b""
        if written.bytes(target.added(Written.read(data).text, parts)) == written.bytes(written.text):
            return Written.read(data).text, backup
    if target.added("", parts) == written.text:
        return None, None
    return target.removed(written.text), None


def _merged(path: tuple[str, ...], old: Json, new: Json) -> Json:
    """What a part should be: keys that others gave a member of ours stay; groups of hooks are ours alone."""
    if path[0] != "hooks" and isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merged(path, old.get(key), one) for key, one in new.items()}}
    return new
