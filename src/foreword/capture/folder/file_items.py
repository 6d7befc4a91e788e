"""Cut a file into items, and find out how stored items differ from their files now.

An item of a file has a stamp: the size, the time and the hash of the file when it was read. If size and time
are the same, the file is not read again, and if the hash is the same, it is not cut again. Only files below
the workspace's folder, or the folder that the item names, are read; links are not followed. Only a few files
are cut again, because the user waits for the answer; the items of the others are marked as changed. So are
items from a folder that only they name: their author may have invented it, so the content of its files is not
shown.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from foreword.capture.code.languages import DOCUMENTS, language_of
from foreword.capture.excludes import Excludes
from foreword.capture.folder.storable import clamp_file_time, decode_text, path_as_valid_text
from foreword.capture.folder.walk import SourceFile, read_file
from foreword.capture.item_checks import have_no_secrets, redact_item
from foreword.capture.redact import has_private_mark, redact_file_text
from foreword.config import load_project_settings
from foreword.errors import ValidationError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Sequence

    from foreword.capture.folder.walk import FileContent
    from foreword.types import Item

    Changes = dict[str, tuple[Item | None, str]]
    """The changes of items, by id: the item as it is to be shown, or None, and a note for the receipt."""

_log = get_logger("foreword.capture")

STAMP, ROOT = "stamp", "root"
GONE = "what its file holds now"
NO_FILE = "nothing; its file is gone"
RENEWED = "told as its file is now"
CHANGED = "told as it was; its file has changed since"
MARK = "(file changed since indexed)"

_MAX_FILES = 50
_MAX_FILES_CUT = 4
_CUT_SECONDS = 0.03
_MAX_BYTES_CUT = 400_000


@dataclass(frozen=True, slots=True)
class FileItems:
    """The items of a file. `verbatim`: their texts are copied unchanged from a file without secrets."""

    items: list[Item]
    verbatim: bool = False


def cut_file(
    file: SourceFile, data: bytes, path: str, workspace: str, skipped: Counter[Any] | None = None
) -> FileItems:
    """The items of a file, with `path` as the path to show.

    The secrets of the file are removed, but each item must still be checked.
    """
    # Imported here, since a context whose files have not changed cuts none.
    from foreword.capture.code.units import cut_code
    from foreword.capture.documents.chunking import cut_document

    created_at = clamp_file_time(file.mtime_ns / 1e9)
    language = language_of(file.path, data)
    if language == "pdf":
        return FileItems(cut_document(path, data, workspace, created_at, skipped))
    text = decode_text(data)
    redacted = redact_file_text(text)
    if language in DOCUMENTS:
        return FileItems(cut_document(path, redacted.encode(), workspace, created_at, skipped))
    items = cut_code(path, redacted, language, workspace, created_at)
    return FileItems(items, verbatim=redacted is text and not has_private_mark(text))


def file_version_metadata(file: SourceFile, digest: str, root: str = "") -> dict[str, str]:
    """The metadata that `find_item_changes` needs; empty if the file's name is not valid text.

    `root` is the folder that was read, if that is not the workspace's own.
    """
    name = str(file.absolute)
    if path_as_valid_text(name) != name:
        return {}
    return {STAMP: f"{_stamp_part_before_hash(file)}{digest}"} | ({ROOT: root} if root else {})


def _stamp_part_before_hash(file: SourceFile) -> str:
    """The part of a stamp before the hash: the size and time of the file."""
    return f"{file.size}-{file.mtime_ns}-"


def find_item_changes(items: Sequence[Item], expires: float | None = None) -> Changes:
    """The items whose files have changed since they were read, as they are to be shown now, each with a note.

    An item that no longer exists has None. Unchanged items are left out. After the instant `expires` no more
    files are checked.
    """
    changes: Changes = {}
    cut_until = time.monotonic() + _CUT_SECONDS
    budget = _CuttingBudget(cut_until if expires is None else min(expires, cut_until))
    by_file = _group_items_by_file(items)
    present = {folder for folder in {folder for folder, _ in by_file} if folder.exists()}
    groups = [group for group in by_file.items() if group[0][0] in present]
    for (folder, path), items_of_file in groups[:_MAX_FILES]:
        if expires is not None and time.monotonic() > expires:
            break
        try:
            file = folder.find_file(path)
        except OSError as error:
            _log.warning("a file cannot be looked at", path=path, problem=error.strerror or str(error))
            continue
        if file is None:
            changes |= {item.id: (None, NO_FILE) for item in items_of_file}
        else:
            changes |= _find_changes_in_file(file, folder, items_of_file, budget)
    return changes


@dataclass(slots=True)
class _CuttingBudget:
    """The limit of time and of files for cutting files again."""

    until: float
    files_left: int = _MAX_FILES_CUT

    def spend_budget_on_one_file(self) -> bool:
        """Count one more file, and return whether it may be cut."""
        self.files_left -= 1
        return self.files_left >= 0 and time.monotonic() < self.until


@dataclass(frozen=True, slots=True)
class _SourceFolder:
    """The folder of a workspace's files: the one it is named after, or one that its items name."""

    workspace: str
    from_items: str = ""

    def exists(self) -> bool:
        """Whether the folder exists on this machine; if not, changes of its files cannot be found."""
        folder = Path(self.from_items or self.workspace)
        is_there = folder.is_absolute() and folder.is_dir()
        if not is_there:
            _log.warning("a folder cannot be looked into; its files are told as they were", path=str(folder))
        return is_there

    def find_file(self, path: str) -> SourceFile | None:
        """A file as it is now; None if it is gone or excluded. Raises OSError if the path leads elsewhere."""
        root, parts = self._find_base_folder(path), PurePosixPath(path)
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
        if Excludes(load_project_settings(Path(root)).exclude).match(absolute, follow=False):
            return None
        return SourceFile(path, absolute, found.st_size, found.st_mtime_ns, language_of(path))

    def _find_base_folder(self, path: str) -> str:
        """The folder in which a path starts. A path from a folder that items name starts with its name."""
        folder = Path(self.from_items or self.workspace)
        if not self.from_items or not folder.name:
            return os.path.realpath(folder)
        if PurePosixPath(path).parts[:1] != (folder.name,) or os.path.realpath(folder) != str(folder):
            raise OSError(f"{path!r} is not a path below {self.from_items}")
        return str(folder.parent)


def _group_items_by_file(items: Iterable[Item]) -> dict[tuple[_SourceFolder, str], list[Item]]:
    """The items with a stamp, by folder and path."""
    files: dict[tuple[_SourceFolder, str], list[Item]] = {}
    for item in items:
        path, root = item.metadata.get("path"), item.metadata.get(ROOT, "")
        if isinstance(path, str) and isinstance(root, str) and isinstance(item.metadata.get(STAMP), str):
            files.setdefault((_SourceFolder(item.workspace, root), path), []).append(item)
    return files


def _find_changes_in_file(
    file: SourceFile, folder: _SourceFolder, items_of_file: Sequence[Item], budget: _CuttingBudget
) -> Changes:
    """The changes of the items of a file that exists."""
    size_and_time = _stamp_part_before_hash(file)
    if all(item.metadata[STAMP].startswith(size_and_time) for item in items_of_file):
        return {}
    content = read_file(file) if file.size <= _MAX_BYTES_CUT else None
    changed = [
        item for item in items_of_file if content is None or not item.metadata[STAMP].endswith(content.hash)
    ]
    current_items = None
    may_be_cut = not folder.from_items and file.language != "pdf"
    if changed and content is not None and may_be_cut and budget.spend_budget_on_one_file():
        current_items = _cut_changed_file(file, content, folder.workspace)
    return {
        item.id: change for item in changed if (change := _find_item_change(item, current_items)) is not None
    }


def _cut_changed_file(file: SourceFile, content: FileContent, workspace: str) -> list[Item] | None:
    """The items of a file as it is now; None if one of them has no text left without its secrets."""
    cut = cut_file(file, content.data, file.path, workspace)
    stamp = file_version_metadata(file, content.hash)
    clean = have_no_secrets(cut.items, texts=not cut.verbatim)
    try:
        items = cut.items if clean else [redact_item(item) for item in cut.items]
    except ValidationError:
        return None
    return [replace(item, metadata={**item.metadata, **stamp}) for item in items]


def _find_item_change(item: Item, current_items: list[Item] | None) -> tuple[Item | None, str] | None:
    """How an item of a changed file is to be shown, with a note; None if it is unchanged.

    Without `current_items` the item is marked as changed.
    """
    if current_items is None:
        return _mark_as_changed(item), CHANGED
    same = next(
        (current for current in current_items if (current.text, current.about) == (item.text, item.about)),
        None,
    )
    if same is not None:
        return (replace(item, metadata=same.metadata), "") if same.metadata != item.metadata else None
    successors = [
        current for current in current_items if _identify_in_file(current) == _identify_in_file(item)
    ]
    is_window = item.metadata.get("unit") == "window"
    if not successors and item.metadata.get("qualified_name") and not is_window:
        return None, GONE
    if len(successors) != 1 or is_window:
        return _mark_as_changed(item), CHANGED
    new = successors[0]
    renewed = replace(item, text=new.text, about=new.about, metadata=new.metadata, created_at=new.created_at)
    return renewed, RENEWED


def _identify_in_file(item: Item) -> tuple[object, ...]:
    """What identifies a part of a file: its kind and name, or the headings above it."""
    facts = item.metadata
    return item.kind, facts.get("unit"), facts.get("qualified_name"), tuple(facts.get("headings") or ())


def _mark_as_changed(item: Item) -> Item:
    """The item with a mark that its file has changed, in its text and its docstring."""
    metadata = dict(item.metadata)
    if metadata.get("signature"):
        metadata["docstring"] = f"{MARK} {metadata.get('docstring') or ''}".rstrip()
    return replace(item, text=f"{MARK} {item.text}", metadata=metadata)
