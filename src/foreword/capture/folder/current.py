"""A file's items as they are now: what is cut from it, and whether what was cut before still stands in it.

An item of a file bears a stamp, the size, the time and the hash of the file when it was read: as long as the
file has the first two, nothing is read, and as long as it has the third, nothing is cut. Looks only at files
below the folder that the workspace is named after, or that the item says it is from; follows no link, and
cuts no more than a few, because somebody waits for the answer: the rest is marked. So is what is from a
folder that only the item names: whoever wrote the item may have made that up, and no file is told for it.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from foreword.capture.code.languages import DOCUMENTS, language_of
from foreword.capture.code.units import units
from foreword.capture.documents.pieces import chunks
from foreword.capture.folder import walk
from foreword.capture.folder.decode import decoded, path_text
from foreword.capture.folder.moments import moment
from foreword.capture.folder.walk import SourceFile
from foreword.capture.purge import are_clean, without_keys
from foreword.capture.redact import marks_private
from foreword.capture.statement import without_secrets
from foreword.errors import ValidationError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Mapping, Sequence

    from foreword.capture.folder.walk import Content
    from foreword.types import Item

_log = get_logger("foreword.capture")

STAMP, ROOT = "stamp", "root"
GONE = "what its file holds now"
NO_FILE = "nothing; its file is gone"
RENEWED = "told as its file is now"
CHANGED = "told as it was; its file has changed since"
MARK = "(file changed since indexed)"

_LOOKED_AT = 50
_CUT, _SECONDS = 4, 0.03
_MOST_BYTES = 400_000
_SLOW = "pdf"


@dataclass(frozen=True, slots=True)
class Cut:
    """The items of a file. `verbatim`: their texts stand word for word in a file without secrets."""

    items: list[Item]
    verbatim: bool = False


def cut(file: SourceFile, data: bytes, path: str, workspace: str, skipped: Counter[Any] | None = None) -> Cut:
    """The items of a file, told under a path; without its keys, but each is still to be checked."""
    when = moment(file.mtime_ns / 1e9)
    language = language_of(file.path, data)
    if language == _SLOW:
        return Cut(chunks(path, data, workspace, when, skipped))
    whole = decoded(data)
    text = without_keys(whole)
    if language in DOCUMENTS:
        return Cut(chunks(path, text.encode(), workspace, when, skipped))
    return Cut(units(path, text, language, workspace, when), text is whole and not marks_private(text))


def stamp(file: SourceFile, digest: str, root: str = "") -> dict[str, str]:
    """What items say of their file, so that `look` can look; nothing if its name cannot be told.

    `root` is the folder that was read, where that is not the workspace's own.
    """
    name = str(file.absolute)
    if path_text(name) != name:
        return {}
    return {STAMP: f"{_times(file)}{digest}"} | ({ROOT: root} if root else {})


def look(items: Sequence[Item], expires: float | None = None) -> dict[str, tuple[Item | None, str]]:
    """What became of items of files since, by id: the item as it is to be told, and what to say of that.

    None where there is no such item any more; items that have not changed are left out. After the instant
    `expires` nothing is looked at.
    """
    seen: dict[str, tuple[Item | None, str]] = {}
    started = time.monotonic()
    patience = _Patience(started + _SECONDS if expires is None else min(expires, started + _SECONDS))
    files = _by_file(items)
    lost = {folder for folder in {folder for folder, _ in files} if not folder.is_there()}
    for (folder, path), held in [one for one in files.items() if one[0][0] not in lost][:_LOOKED_AT]:
        if expires is not None and time.monotonic() > expires:
            break
        try:
            file = folder.file(path)
        except OSError as error:
            _log.warning("a file cannot be looked at", path=path, problem=error.strerror or str(error))
            continue
        if file is None:
            seen |= {item.id: (None, NO_FILE) for item in held}
        else:
            seen |= _looked_into(file, folder, held, patience)
    return seen


@dataclass(slots=True)
class _Patience:
    """How long, and how often, files may be cut again."""

    until: float
    left: int = _CUT

    def lasts(self) -> bool:
        """Whether one more may be; then that one is counted."""
        self.left -= 1
        return self.left >= 0 and time.monotonic() < self.until


@dataclass(frozen=True, slots=True)
class _Folder:
    """Where the files of a workspace are: in the folder it is named after, or in one that items name."""

    workspace: str
    named: str = ""

    def is_there(self) -> bool:
        """Whether there is such a folder here; if not, nobody can say what became of its files."""
        folder = Path(self.named or self.workspace)
        there = folder.is_absolute() and folder.is_dir()
        if not there:
            _log.warning("a folder cannot be looked into; its files are told as they were", path=str(folder))
        return there

    def file(self, path: str) -> SourceFile | None:
        """A file as it is now; None when there is none. What leads elsewhere is an error; nobody looks."""
        root, parts = self._root(path), PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts:
            raise OSError(f"{path!r} is not a path below a workspace's folder")
        absolute = Path(root, *parts.parts)
        if os.path.realpath(absolute.parent) != str(absolute.parent):
            raise OSError("it is behind a link")
        try:
            found = absolute.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is a file no more")
        return SourceFile(path, absolute, found.st_size, found.st_mtime_ns, language_of(path))

    def _root(self, path: str) -> str:
        """The folder that a path begins in. What is read from another folder begins with that one's name."""
        folder = Path(self.named or self.workspace)
        if not self.named or not folder.name:
            return os.path.realpath(folder)
        if PurePosixPath(path).parts[:1] != (folder.name,) or os.path.realpath(folder) != str(folder):
            raise OSError(f"{path!r} is not a path below {self.named}")
        return str(folder.parent)


def _looked_into(
    file: SourceFile, folder: _Folder, held: Sequence[Item], patience: _Patience
) -> dict[str, tuple[Item | None, str]]:
    """What became of the items of a file that is there."""
    times = _times(file)
    if all(item.metadata[STAMP].startswith(times) for item in held):
        return {}
    content = walk.read(file) if file.size <= _MOST_BYTES else None
    changed = [item for item in held if content is None or not item.metadata[STAMP].endswith(content.hash)]
    now = None
    quick = not folder.named and file.language != _SLOW
    if changed and content is not None and quick and patience.lasts():
        now = _cut_again(file, content, folder.workspace)
    return {item.id: became for item in changed if (became := _became(item, now)) is not None}


def _times(file: SourceFile) -> str:
    return f"{file.size}-{file.mtime_ns}-"


def _by_file(items: Iterable[Item]) -> Mapping[tuple[_Folder, str], list[Item]]:
    """Stamped items by folder and path."""
    files: dict[tuple[_Folder, str], list[Item]] = {}
    for item in items:
        path, root = item.metadata.get("path"), item.metadata.get(ROOT, "")
        if isinstance(path, str) and isinstance(root, str) and isinstance(item.metadata.get(STAMP), str):
            files.setdefault((_Folder(item.workspace, root), path), []).append(item)
    return files


def _cut_again(file: SourceFile, content: Content, workspace: str) -> list[Item] | None:
    """The items of a file as it is now; None when a part of it may not be told."""
    fresh = cut(file, content.data, file.path, workspace)
    clean = are_clean(fresh.items, texts=not fresh.verbatim)
    mark = stamp(file, content.hash)
    try:
        made = fresh.items if clean else [without_secrets(item) for item in fresh.items]
        return [replace(item, metadata={**item.metadata, **mark}) for item in made]
    except ValidationError:
        return None


def _became(item: Item, now: list[Item] | None) -> tuple[Item | None, str] | None:
    """What an item of a file that changed is now; None when it is the same, wherever it stands."""
    if now is None:
        return _marked(item), CHANGED
    same = next((one for one in now if (one.text, one.about) == (item.text, item.about)), None)
    if same is not None:
        return (replace(item, metadata=same.metadata), "") if same.metadata != item.metadata else None
    heirs = [one for one in now if _name(one) == _name(item)]
    if not heirs and item.metadata.get("qualified_name") and item.metadata.get("unit") != "window":
        return None, GONE
    if len(heirs) != 1 or item.metadata.get("unit") == "window":
        return _marked(item), CHANGED
    new = heirs[0]
    told = replace(item, text=new.text, about=new.about, metadata=new.metadata, created_at=new.created_at)
    return told, RENEWED


def _name(item: Item) -> tuple[object, ...]:
    """By what a part of a file is known: its name, or the headings above it."""
    held = item.metadata
    return item.kind, held.get("unit"), held.get("qualified_name"), tuple(held.get("headings") or ())


def _marked(item: Item) -> Item:
    """The item, saying of itself that it may not be true any more, in whichever form it is told."""
    held = dict(item.metadata)
    if held.get("signature"):
        held["docstring"] = f"{MARK} {held.get('docstring') or ''}".rstrip()
    return replace(item, text=f"{MARK} {item.text}", metadata=held)
