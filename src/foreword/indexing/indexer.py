"""A folder becomes memory and stays in step with it: its files as units and sections, its history as commits.

What did not change costs a look at its size and time; what changed is read, cut and stored in place of what
it held; what is gone is removed. Each file is stored whole or not at all, so that whoever is interrupted
starts again where they were. Takes secrets out of a file before it is cut, and of every item again before it
is stored. Makes no vectors: `ContextEngine.embed_pending` does, for whatever lacks them.
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
from foreword.capture.folder.commits import newest_commit, read_commit_items
from foreword.capture.folder.git import GitFailed, run_git
from foreword.capture.folder.storable import storable_path
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
    """What is being done, how much of it is done, and how much there is, where that is known."""

_log = get_logger("foreword.indexer")

_FILES_PER_COMMIT = 250
_ITEMS_PER_COMMIT = 8_000
"""How many items share a transaction: enough not to wait for the disk, few enough to lose little."""

_MIN_FILES_FOR_PROCESSES = 100
"""When at least this many files have changed, other processes read them."""

_LEFT_OUT = "left out: "
"""How the hash begins in the mark of a file that was read once and found not worth storing."""

_HISTORY = ".git"


@dataclass(frozen=True, slots=True)
class Indexed:
    """What became of a folder: files stored anew, their units, commits stored anew; and what cost nothing.

    `skipped` counts the files that were left out, by reason; `removed` those that are no more.
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
        """Whether anything is stored now that was not before, or the other way round."""
        return bool(self.files or self.commits or self.removed)


@dataclass(frozen=True, slots=True)
class SourceFolder:
    """A folder as a workspace sees it.

    `shown_prefix` stands before a file's path where it is shown: from the workspace's own folder or, outside
    of it, from the root. `mark_prefix` stands before it in marks: no file of another folder has that path.
    """

    folder: Path
    shown_prefix: str
    mark_prefix: str

    @classmethod
    def in_workspace(cls, folder: Path, workspace: str) -> SourceFolder:
        """The root that a folder is for a workspace."""
        real = Path(os.path.realpath(folder))
        own = Path(workspace)
        if own.is_absolute() and real.is_relative_to(home := Path(os.path.realpath(own))):
            inside = storable_path(real.relative_to(home).as_posix())
            prefix = "" if inside == "." else f"{inside}/"
            return cls(real, prefix, prefix)
        name, path = storable_path(real.name), storable_path(real.as_posix())
        return cls(real, f"{name}/" if name else "", f"{path.rstrip('/')}/")

    @property
    def outer_path(self) -> str:
        """The folder, where it is neither the workspace's own nor in it: a path as shown leads to no file."""
        return "" if self.shown_prefix == self.mark_prefix else storable_path(str(self.folder))

    def holds_mark(self, path: str) -> bool:
        """Whether the path of a mark is that of a file below the root."""
        return path.startswith(self.mark_prefix) and (bool(self.mark_prefix) or not path.startswith("/"))

    def identity(self) -> tuple[int, int] | None:
        """What tells the folder from another of the same name; None when it cannot be looked at."""
        try:
            found = self.folder.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


class Indexer:
    """Keeps what one engine knows of folders in step with them."""

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
        """Bring a workspace in step with a folder. What of it is not asked for stays as it was.

        `commits` None means: where there is a history.
        """
        check_workspace(workspace)
        run = _IndexingRun(self._engine, workspace, SourceFolder.in_workspace(root, workspace), progress)
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
        self._started = time.monotonic()
        self._marks = engine.store.files(workspace)
        self._reader = reading.FileReader(workspace, root.shown_prefix, engine.tokenizer, root.outer_path)
        self._skipped: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def result(self) -> Indexed:
        """What became of the folder."""
        return Indexed(
            **{name: self._counts[name] for name in ("files", "units", "commits", "removed", "unchanged")},
            skipped=dict(self._skipped.most_common()),
            seconds=time.monotonic() - self._started,
        )

    # Files

    def index_files(self, *, code: bool, documents: bool) -> None:
        """Store what changed, file by file; then remove what is no more."""
        identity, home = self._root.identity(), self._engine.settings.home
        found = list(find_files(self._root.folder, skipped=cast("Skipped", self._skipped), apart=home))
        wanted = [file for file in found if (documents if file.language in DOCUMENTS else code)]
        changed = [file for file in wanted if not self._count_if_unchanged(file)]
        with ThreadPoolExecutor(1) as writer:  # the next files are read while the last are written
            writing: Future[None] | None = None
            for batch in _group_into_batches(self._read_files_to_store(changed)):
                if writing is not None:
                    writing.result()
                writing = writer.submit(self._store_files, batch)
            if writing is not None:
                writing.result()
        if identity is not None and identity == self._root.identity():
            self._remove_missing_files({self._mark_path(file) for file in found})
        else:
            _log.warning("a folder moved while it was read; nothing is dropped", root=str(self._root.folder))

    def _read_files_to_store(self, files: Sequence[SourceFile]) -> Iterator[PutFile]:
        """What is to be stored of files, each as it is read."""
        self._progress("files", 0, len(files))
        for done, (file, read) in enumerate(zip(files, self._read_files(files), strict=True), 1):
            yield from self._puts_for_file(file, read)
            self._progress("files", done, len(files))

    def _read_files(self, files: Sequence[SourceFile]) -> Iterator[FileRead]:
        """What files hold; where they are many, other processes read them."""
        requests = [(file, mark.hash if (mark := self._stored_mark(file)) else "") for file in files]
        pool = self._start_reader_pool() if len(files) >= _MIN_FILES_FOR_PROCESSES else None
        if pool is None:
            yield from (self._reader.read(*request) for request in requests)
            return
        with pool:
            yield from pool.read(requests)

    def _start_reader_pool(self) -> reading.ReaderPool | None:
        """A pool of reader processes; None where they cannot help or cannot be started."""
        processes = reading.count_processes() if self._reader.can_be_sent() else 0
        try:
            return reading.ReaderPool(self._reader, processes) if processes else None
        except OSError as error:
            _log.warning("files are read one after another", problem=str(error))
            return None

    def _mark_path(self, file: SourceFile) -> str:
        return self._root.mark_prefix + file.path

    def _stored_mark(self, file: SourceFile) -> FileState | None:
        """The mark that is stored of a file, if any."""
        return self._marks.get(self._mark_path(file))

    def _count_if_unchanged(self, file: SourceFile) -> bool:
        """Whether a file has the size and the time that it had when it was read; if so, it is counted."""
        mark = self._stored_mark(file)
        if mark is None or (mark.size, mark.mtime_ns) != (file.size, _wrap_to_64_bits(file.mtime_ns)):
            return False
        if mark.hash.startswith(_LEFT_OUT):
            self._skipped[mark.hash.removeprefix(_LEFT_OUT)] += 1
        else:
            self._counts["unchanged"] += 1
        return True

    def _puts_for_file(self, file: SourceFile, read: FileRead) -> Iterator[PutFile]:
        """What is to be stored of a file: its items, or only its new mark where its bytes are the same."""
        self._skipped.update(read.skipped)
        mark = FileState(self._mark_path(file), file.size, _wrap_to_64_bits(file.mtime_ns), read.hash)
        if not read.hash:
            reason = next(iter(read.skipped), "")
            # What is unreadable may be readable the next time, and what is known of it still holds.
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
        """Remove files below the root that are there no more, or are not to be read any more."""
        visible: dict[PurePosixPath, bool] = {}
        gone = [
            path
            for path in self._marks
            if self._root.holds_mark(path)
            and path not in found_paths
            and path.rpartition("/")[2] != _HISTORY
            and is_file_gone(self._root.folder, path.removeprefix(self._root.mark_prefix), visible)
        ]
        if gone:
            self._store.run(DropFiles(self._workspace, tuple(gone)))
            self._counts["removed"] += len(gone)

    # History

    def index_history(self, *, required: bool) -> None:
        """Store the commits since the last that is known, and remove those that were rewritten."""
        folder = self._root.folder
        try:
            newest = newest_commit(folder)
            top = SourceFolder.in_workspace(_repository_folder(folder), self._workspace)
        except GitFailed as failed:
            if required:
                raise
            if not failed.reason.startswith("not a git repository"):
                _log.warning("history is left out", root=str(folder), problem=failed.reason)
            return
        mark = FileState(top.mark_prefix + _HISTORY, 0, 0, newest)
        known = self._marks.get(mark.path, replace(mark, hash="")).hash
        if known == newest:
            return
        self._progress("commits", 0, None)
        since = self._last_common_commit(known, newest)
        unfinished = replace(mark, hash=since)
        if since != known:
            rewritten = self._ids_of_rewritten_commits(newest)
            self._store.run(PutFile(self._workspace, unfinished, (), keep_earlier=True, except_ids=rewritten))
        commits = read_commit_items(folder, self._workspace, since)
        while batch := list(islice(commits, _ITEMS_PER_COMMIT)):
            # How far history is stored is said at the end: commits come newest first, and leave a hole.
            self._store_commits(unfinished, batch)
        self._store.run(PutFile(self._workspace, mark, (), keep_earlier=True))

    def _last_common_commit(self, known: str, newest: str) -> str:
        """The last commit that is known and still holds; "" when there is none."""
        try:
            return run_git(self._root.folder, "merge-base", known, newest) if known else ""
        except GitFailed:
            return ""

    def _ids_of_rewritten_commits(self, newest: str) -> tuple[str, ...]:
        """The ids of commits that are not behind the newest any more; of all, where there is none."""
        alive = set(run_git(self._root.folder, "rev-list", newest).split()) if newest else set()
        stored = self._store.scan(self._workspace, Filters(kinds=("commit",)))
        return tuple(item.id for item in stored if item.metadata.get("sha") not in alive)

    def _store_commits(self, mark: FileState, batch: Sequence[Item]) -> None:
        put = PutFile(self._workspace, mark, self._reader.prepare(batch, self._skipped), keep_earlier=True)
        self._counts["commits"] += sum(stored.new for stored in self._store.run(put).stored)
        self._progress("commits", self._counts["commits"], None)


def _repository_folder(root: Path) -> Path:
    """The folder that a history is of: that of the files, or of a repository without any, its own."""
    try:
        return Path(run_git(root, "rev-parse", "--show-toplevel"))
    except GitFailed:
        return Path(run_git(root, "rev-parse", "--absolute-git-dir"))


def _wrap_to_64_bits(number: int) -> int:
    """A number as a mark can hold it: another one where it is too large, but always the same."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _group_into_batches(puts: Iterable[PutFile]) -> Iterator[list[PutFile]]:
    """Files in batches, each small enough to share a transaction."""
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
