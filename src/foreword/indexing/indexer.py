"""Indexes a folder: stores its code, documents and commits as items, and keeps these in step with it.

A file with the same size and time as before is not read; a file that changed is read, split and stored in
place of its old items; the items of a file that is gone are removed. Each file is stored whole or not at all,
so that an interrupted run can be continued. Secrets are removed from a file before it is split, and from
every item again before it is stored. Makes no vectors: that is `ContextEngine.embed_pending`.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from foreword.capture.code.languages import DOCUMENTS
from foreword.capture.folder.commits import newest_commit_sha, read_commit_items
from foreword.capture.folder.git import GitFailed, find_repository_folder, run_git
from foreword.capture.folder.storable import path_as_valid_text
from foreword.capture.folder.walk import find_files, is_file_gone
from foreword.indexing import reading
from foreword.log import get_logger
from foreword.options import check_workspace
from foreword.store.base import DropFiles, FileState, PutFile, StoredFile
from foreword.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import PurePosixPath

    from foreword.capture.folder.walk import Skipped, SourceFile
    from foreword.engine.context_engine import ContextEngine
    from foreword.indexing.reading import FileRead
    from foreword.types import Item

    Progress = Callable[[str, int, int | None], None]
    """Called with what is being indexed, how many are done, and how many there are, if that is known."""

_log = get_logger("foreword.indexer")

_FILES_PER_COMMIT = 250
_ITEMS_PER_COMMIT = 8_000
"""How many items share a transaction: enough to save waits for the disk, few enough to lose little."""

_MIN_FILES_FOR_PROCESSES = 100
"""When at least this many files have changed, other processes read them."""

_LEFT_OUT = "left out: "
"""The beginning of the hash in the mark of a file that was read and not stored; its reason follows."""

_HISTORY_MARK = ".git"


@dataclass(frozen=True, slots=True)
class Indexed:
    """The numbers of one indexing run: new or changed files, their units, new commits, unchanged files.

    `skipped` counts the files that were left out, by reason; `removed` those that no longer exist.
    """

    files: int = 0
    units: int = 0
    commits: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    removed: int = 0
    unchanged: int = 0
    seconds: float = 0.0

    @property
    def has_changes(self) -> bool:
        """Whether the run stored or removed anything."""
        return bool(self.files or self.commits or self.removed)


@dataclass(frozen=True, slots=True)
class SourceFolder:
    """A folder to index for a workspace, and the prefixes of its files' paths.

    `shown_prefix` is put before a file's path where it is shown: the path from the workspace's own folder or,
    outside of that, the folder's name. `mark_prefix` is put before it in marks, which are unique that way.
    """

    folder: Path
    shown_prefix: str
    mark_prefix: str

    @classmethod
    def for_folder_in_workspace(cls, folder: Path, workspace: str) -> SourceFolder:
        """The folder with the prefixes that its files have in a workspace."""
        real = Path(os.path.realpath(folder))
        own = Path(workspace)
        if own.is_absolute() and real.is_relative_to(home := Path(os.path.realpath(own))):
            inside = path_as_valid_text(real.relative_to(home).as_posix())
            prefix = "" if inside == "." else f"{inside}/"
            return cls(real, prefix, prefix)
        name, path = path_as_valid_text(real.name), path_as_valid_text(real.as_posix())
        return cls(real, f"{name}/" if name else "", f"{path.rstrip('/')}/")

    @property
    def path_outside_workspace(self) -> str:
        """The folder's path if it is outside of the workspace's folder, where shown paths lead to no file."""
        return "" if self.shown_prefix == self.mark_prefix else path_as_valid_text(str(self.folder))

    def is_mark_path_in_folder(self, path: str) -> bool:
        """Whether the path of a mark is that of a file in this folder."""
        return path.startswith(self.mark_prefix) and (bool(self.mark_prefix) or not path.startswith("/"))

    def device_and_inode(self) -> tuple[int, int] | None:
        """The folder's device and inode, by which a replaced folder is noticed; None if it cannot be read."""
        try:
            found = self.folder.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


class Indexer:
    """Keeps the items of one engine in step with the folders that they come from."""

    def __init__(self, engine: ContextEngine) -> None:
        self._engine = engine

    def index(
        self,
        root: Path,
        workspace: str,
        *,
        code: bool = True,
        commits: bool | None = None,
        documents: bool = True,
        progress: Progress = lambda _label, _done, _total: None,
    ) -> Indexed:
        """Bring a workspace in step with a folder's code, commits and documents, as far as asked for.

        With `commits=None`, commits are read if the folder has a git history; with True, GitFailed if not.
        """
        check_workspace(workspace)
        run = _IndexingRun(
            self._engine, workspace, SourceFolder.for_folder_in_workspace(root, workspace), progress
        )
        if code or documents:
            run.index_files(code=code, documents=documents)
        if commits is not False:
            run.index_history(required=bool(commits))
        return run.result()


class _IndexingRun:
    """One pass over one folder."""

    def __init__(self, engine: ContextEngine, workspace: str, root: SourceFolder, progress: Progress) -> None:
        self._engine = engine
        self._store = engine.store
        self._workspace = workspace
        self._root = root
        self._progress = progress
        self._started_at = time.monotonic()
        self._marks = engine.store.files(workspace)
        self._reader = reading.FileReader(
            workspace, root.shown_prefix, engine.tokenizer, root.path_outside_workspace
        )
        self._skip_counts: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def result(self) -> Indexed:
        """The numbers of this run."""
        return Indexed(
            **{name: self._counts[name] for name in ("files", "units", "commits", "removed", "unchanged")},
            skipped=dict(self._skip_counts.most_common()),
            seconds=time.monotonic() - self._started_at,
        )

    # Files

    def index_files(self, *, code: bool, documents: bool) -> None:
        """Store the files that changed; then remove those that no longer exist."""
        identity, home = self._root.device_and_inode(), self._engine.settings.home
        found = list(find_files(self._root.folder, skipped=cast("Skipped", self._skip_counts), apart=home))
        wanted = [file for file in found if (documents if file.language in DOCUMENTS else code)]
        changed = [file for file in wanted if not self._count_if_unchanged(file)]
        with ThreadPoolExecutor(1) as writer:  # the next files are read while the last are written
            writing: Future[None] | None = None
            for batch in _group_into_transactions(self._read_as_write_operations(changed)):
                if writing is not None:
                    writing.result()
                writing = writer.submit(self._store_files, batch)
            if writing is not None:
                writing.result()
        if identity is not None and identity == self._root.device_and_inode():
            self._remove_missing_files({self._path_of_file_mark(file) for file in found})
        else:
            _log.warning("a folder moved while it was read; nothing is dropped", root=str(self._root.folder))

    def _read_as_write_operations(self, files: Sequence[SourceFile]) -> Iterator[PutFile]:
        """The write operations for files, each yielded as its file is read."""
        self._progress("files", 0, len(files))
        for done, (file, read) in enumerate(zip(files, self._read_files(files), strict=True), 1):
            yield from self._make_write_operation(file, read)
            self._progress("files", done, len(files))

    def _read_files(self, files: Sequence[SourceFile]) -> Iterator[FileRead]:
        """The contents of files, in order; other processes read them if they are many."""
        requests = [(file, mark.hash if (mark := self._stored_mark(file)) else "") for file in files]
        pool = self._start_reader_pool() if len(files) >= _MIN_FILES_FOR_PROCESSES else None
        if pool is None:
            yield from (self._reader.read(*request) for request in requests)
            return
        with pool:
            yield from pool.read(requests)

    def _start_reader_pool(self) -> reading.ReaderPool | None:
        """A pool of reader processes; None if they would not help or cannot be started."""
        processes = reading.choose_reader_count() if self._reader.can_run_in_another_process() else 0
        try:
            return reading.ReaderPool(self._reader, processes) if processes else None
        except OSError as error:
            _log.warning("files are read one after another", problem=str(error))
            return None

    def _path_of_file_mark(self, file: SourceFile) -> str:
        return self._root.mark_prefix + file.path

    def _stored_mark(self, file: SourceFile) -> FileState | None:
        """The stored mark of a file, if there is one."""
        return self._marks.get(self._path_of_file_mark(file))

    def _count_if_unchanged(self, file: SourceFile) -> bool:
        """Whether a file has the same size and time as in its stored mark; if so, count it as unchanged."""
        mark = self._stored_mark(file)
        if mark is None or (mark.size, mark.mtime_ns) != (
            file.size,
            _wrap_file_time_to_64_bits(file.mtime_ns),
        ):
            return False
        if mark.hash.startswith(_LEFT_OUT):
            self._skip_counts[mark.hash.removeprefix(_LEFT_OUT)] += 1
        else:
            self._counts["unchanged"] += 1
        return True

    def _make_write_operation(self, file: SourceFile, read: FileRead) -> Iterator[PutFile]:
        """The write operation for a file: its items, or only its new mark if its bytes are the same."""
        self._skip_counts.update(read.skipped)
        mark = FileState(
            self._path_of_file_mark(file), file.size, _wrap_file_time_to_64_bits(file.mtime_ns), read.hash
        )
        if not read.hash:
            reason = next(iter(read.skipped), "")
            # An unreadable file may be readable the next time, so its old items stay.
            if reason != "unreadable":
                yield PutFile(self._workspace, replace(mark, hash=f"{_LEFT_OUT}{reason}"), ())
        elif read.items is None:
            self._counts["unchanged"] += 1
            yield PutFile(self._workspace, mark, (), keep_earlier=True)
        else:
            self._counts["files"] += 1
            yield PutFile(self._workspace, mark, read.items, views=read.views)

    def _store_files(self, batch: Sequence[PutFile]) -> None:
        for refiled in cast("list[StoredFile]", self._store.batch(batch)):
            self._counts["units"] += len(refiled.stored)

    def _remove_missing_files(self, found_paths: set[str]) -> None:
        """Remove the items of files that no longer exist in the folder, or may no longer be read."""
        visible: dict[PurePosixPath, bool] = {}
        gone = [
            path
            for path in self._marks
            if self._root.is_mark_path_in_folder(path)
            and path not in found_paths
            and path.rpartition("/")[2] != _HISTORY_MARK
            and is_file_gone(self._root.folder, path.removeprefix(self._root.mark_prefix), visible)
        ]
        if gone:
            self._store.run(DropFiles(self._workspace, tuple(gone)))
            self._counts["removed"] += len(gone)

    # History

    def index_history(self, *, required: bool) -> None:
        """Store the commits since the last stored one, and remove those that were rewritten."""
        folder = self._root.folder
        try:
            newest = newest_commit_sha(folder)
            top = SourceFolder.for_folder_in_workspace(find_repository_folder(folder), self._workspace)
        except GitFailed as failed:
            if required:
                raise
            if not failed.reason.startswith("not a git repository"):
                _log.warning("history is left out", root=str(folder), problem=failed.reason)
            return
        mark = FileState(top.mark_prefix + _HISTORY_MARK, 0, 0, newest)
        known = self._marks.get(mark.path, replace(mark, hash="")).hash
        if known == newest:
            return
        self._progress("commits", 0, None)
        since = self._find_last_common_commit(known, newest)
        unfinished = replace(mark, hash=since)
        if since != known:
            rewritten = self._list_ids_of_unreachable_commits(newest)
            self._store.run(PutFile(self._workspace, unfinished, (), keep_earlier=True, except_ids=rewritten))
        commits = read_commit_items(folder, self._workspace, since)
        while batch := list(islice(commits, _ITEMS_PER_COMMIT)):
            # Commits come newest first, so the newest is marked as stored only when all are.
            self._store_commits(unfinished, batch)
        self._store.run(PutFile(self._workspace, mark, (), keep_earlier=True))

    def _find_last_common_commit(self, known: str, newest: str) -> str:
        """The last stored commit that is still in the history; "" when there is none."""
        try:
            return run_git(self._root.folder, "merge-base", known, newest) if known else ""
        except GitFailed:
            return ""

    def _list_ids_of_unreachable_commits(self, newest: str) -> tuple[str, ...]:
        """The ids of stored commits that are no longer in the history of the newest commit."""
        alive = set(run_git(self._root.folder, "rev-list", newest).split()) if newest else set()
        stored = self._store.scan(self._workspace, Filters(kinds=("commit",)))
        return tuple(item.id for item in stored if item.metadata.get("sha") not in alive)

    def _store_commits(self, mark: FileState, batch: Sequence[Item]) -> None:
        put = PutFile(
            self._workspace,
            mark,
            self._reader.check_and_redact_items(batch, self._skip_counts),
            keep_earlier=True,
        )
        self._counts["commits"] += sum(stored.new for stored in self._store.run(put).stored)
        self._progress("commits", self._counts["commits"], None)


def _wrap_file_time_to_64_bits(mtime_ns: int) -> int:
    """The time of a file in 64 bits, as the store holds it; the same time always gives the same."""
    return (mtime_ns + (1 << 63)) % (1 << 64) - (1 << 63)


def _group_into_transactions(puts: Iterable[PutFile]) -> Iterator[list[PutFile]]:
    """The operations in batches, each small enough to share a transaction."""
    batch: list[PutFile] = []
    items = 0
    for put in puts:
        batch.append(put)
        items += len(put.items)
        if len(batch) >= _FILES_PER_COMMIT or items >= _ITEMS_PER_COMMIT:
            yield batch
            batch, items = [], 0
    if batch:
        yield batch
