"""A folder becomes memory and stays in step with it: its files as units and sections, its history as commits.

What did not change costs a look at its size and time; what changed is read, cut and kept in place of what it
held; what is gone goes. Each file is kept whole or not at all, so that whoever is interrupted starts again
where they were. Takes secrets out of a file before it is cut, and of every item again before it is kept.
Refuses to make vectors: `ContextEngine.embed_pending` does, for whatever lacks them.
"""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from foreword.capture.code.languages import DOCUMENTS
from foreword.capture.folder import commits as history
from foreword.capture.folder import walk
from foreword.capture.folder.git import GitFailed, ask
from foreword.capture.folder.roots import Root
from foreword.indexing import readers
from foreword.indexing.reading import Reading
from foreword.log import get_logger
from foreword.options import named
from foreword.store.base import DropFiles, FileMark, PutFile, Refiled
from foreword.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import PurePosixPath

    from foreword.capture.folder.walk import SourceFile
    from foreword.capture.folder.worth import Skipped
    from foreword.engine.context_engine import ContextEngine
    from foreword.indexing.reading import FileRead
    from foreword.types import Item

    Progress = Callable[[str, int, int | None], None]
    """What is being done, how much of it is done, and how much there is, where that is known."""

_log = get_logger("foreword.indexing.indexer")

_FILES = 250
_ITEMS = 8000
"""How much shares a commit: enough that the disk is not waited for, little enough to lose nothing much."""

_MANY = 100
"""From so many files on, other processes read them."""

_LEFT_OUT = "left out: "
"""How the mark of a file begins that was read once and found not worth keeping."""

_HISTORY = ".git"


@dataclass(frozen=True, slots=True)
class Indexed:
    """What became of a folder: files kept anew, their units, commits kept anew; and what cost nothing.

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
    def changed(self) -> bool:
        """Whether anything is kept now that was not before, or the other way round."""
        return bool(self.files or self.commits or self.removed)


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
        named(workspace)
        run = _Run(self._engine, workspace, Root.of(root, workspace), progress)
        if code or documents:
            run.files(code=code, documents=documents)
        if commits is not False:
            run.history(needed=bool(commits))
        return run.done()


class _Run:
    """One pass over one folder."""

    def __init__(self, engine: ContextEngine, workspace: str, root: Root, progress: Progress) -> None:
        self._engine = engine
        self._workspace = workspace
        self._root = root
        self._progress = progress
        self._started = time.monotonic()
        self._marks = engine.store.files(workspace)
        self._reading = Reading(workspace, root.shown, engine.tokenizer, root.outside)
        self._skipped: Counter[str] = Counter()
        self._count: Counter[str] = Counter()

    def done(self) -> Indexed:
        """What came of it."""
        return Indexed(
            **{name: self._count[name] for name in ("files", "units", "commits", "removed", "unchanged")},
            skipped=dict(self._skipped.most_common()),
            seconds=time.monotonic() - self._started,
        )

    # Files

    def files(self, *, code: bool, documents: bool) -> None:
        """Keep what changed, file by file; then let go of what is no more."""
        here, home = self._root.identity(), self._engine.settings.home
        found = list(walk.files(self._root.folder, skipped=cast("Skipped", self._skipped), apart=home))
        wanted = [file for file in found if (documents if file.language in DOCUMENTS else code)]
        changed = [file for file in wanted if not self._is_known(file)]
        with ThreadPoolExecutor(1) as beside:  # the next files are read while the last are written
            writing: Future[None] | None = None
            for batch in _batches(self._puts(changed), _FILES, _ITEMS):
                if writing is not None:
                    writing.result()
                writing = beside.submit(self._keep, batch)
            if writing is not None:
                writing.result()
        if here is not None and here == self._root.identity():
            self._drop({self._mark_path(file) for file in found})
        else:
            _log.warning("a folder moved while it was read; nothing is dropped", root=str(self._root.folder))

    def _puts(self, files: Sequence[SourceFile]) -> Iterator[PutFile]:
        """What is to be kept of files, each as it is read."""
        self._progress("files", 0, len(files))
        for done, (file, read) in enumerate(zip(files, self._read(files), strict=True), 1):
            yield from self._put(file, read)
            self._progress("files", done, len(files))

    def _read(self, files: Sequence[SourceFile]) -> Iterator[FileRead]:
        """What files hold; where they are many, other processes read them."""
        asked = [(file, self._known_hash(file)) for file in files]
        others = self._readers() if len(files) >= _MANY else None
        if others is None:
            yield from (self._reading.read(*one) for one in asked)
            return
        with others:
            yield from others.read(asked)

    def _readers(self) -> readers.Readers | None:
        processes = readers.count() if readers.can_take(self._reading) else 0
        try:
            return readers.Readers(self._reading, processes) if processes else None
        except OSError as error:
            _log.warning("files are read one after another", problem=str(error))
            return None

    def _known_hash(self, file: SourceFile) -> str:
        mark = self._marks.get(self._mark_path(file))
        return mark.hash if mark else ""

    def _mark_path(self, file: SourceFile) -> str:
        return self._root.marked + file.path

    def _is_known(self, file: SourceFile) -> bool:
        """Whether a file has the size and the time that it had when it was read."""
        mark = self._marks.get(self._mark_path(file))
        if mark is None or (mark.size, mark.mtime_ns) != (file.size, _in_64_bits(file.mtime_ns)):
            return False
        if mark.hash.startswith(_LEFT_OUT):
            self._skipped[mark.hash.removeprefix(_LEFT_OUT)] += 1
        else:
            self._count["unchanged"] += 1
        return True

    def _put(self, file: SourceFile, read: FileRead) -> Iterator[PutFile]:
        """What is to be kept of a file: its items, or only its new mark where its bytes are the same."""
        self._skipped.update(read.skipped)
        mark = FileMark(self._mark_path(file), file.size, _in_64_bits(file.mtime_ns), read.hash)
        if not read.hash:
            reason = next(iter(read.skipped), "")
            # What is unreadable may be readable the next time, and what is known of it still holds.
            if reason != "unreadable":
                yield PutFile(self._workspace, replace(mark, hash=f"{_LEFT_OUT}{reason}"), ())
        elif read.items is None:
            self._count["unchanged"] += 1
            yield PutFile(self._workspace, mark, (), more=True)
        else:
            self._count["files"] += 1
            yield PutFile(self._workspace, mark, read.items, views=read.views)

    def _keep(self, waiting: Sequence[PutFile]) -> None:
        if waiting:
            for kept in cast("list[Refiled]", self._engine.store.batch(waiting)):
                self._count["units"] += len(kept.stored)

    def _drop(self, found: set[str]) -> None:
        """Let go of files below the root that are there no more, or are not to be read any more."""
        seen: dict[PurePosixPath, bool] = {}
        gone = [
            path
            for path in self._marks
            if self._root.holds(path)
            and path not in found
            and path.rpartition("/")[2] != _HISTORY
            and walk.is_gone(self._root.folder, path.removeprefix(self._root.marked), seen)
        ]
        if gone:
            self._engine.store.batch([DropFiles(self._workspace, tuple(gone))])
            self._count["removed"] += len(gone)

    # History

    def history(self, *, needed: bool) -> None:
        """Keep the commits since the last that is known, and let go of those that were rewritten."""
        try:
            newest = history.head(self._root.folder)
            top = Root.of(_top(self._root.folder), self._workspace)
        except GitFailed as failed:
            if needed:
                raise
            if not failed.reason.startswith("not a git repository"):
                _log.warning("history is left out", root=str(self._root.folder), problem=failed.reason)
            return
        mark = FileMark(top.marked + _HISTORY, 0, 0, newest)
        known = self._marks.get(mark.path, replace(mark, hash="")).hash
        if known != newest:
            self._progress("commits", 0, None)
            since = self._common(known, newest)
            begun = replace(mark, hash=since)
            if since != known:
                less = self._rewritten(newest)
                self._engine.store.batch([PutFile(self._workspace, begun, (), more=True, less=less)])
            told = history.commits(self._root.folder, self._workspace, since)
            while batch := list(islice(told, _ITEMS)):
                # How far we are is said at the end: commits come newest first, so that there is a hole.
                self._keep_commits(begun, batch)
            self._engine.store.batch([PutFile(self._workspace, mark, (), more=True)])

    def _common(self, known: str, newest: str) -> str:
        """The last commit that is known and still holds; "" when there is none."""
        try:
            return ask(self._root.folder, "merge-base", known, newest) if known else ""
        except GitFailed:
            return ""

    def _rewritten(self, newest: str) -> tuple[str, ...]:
        """The ids of commits that are not behind the newest any more; of all, where there is none."""
        alive = set(ask(self._root.folder, "rev-list", newest).split()) if newest else set()
        kept = self._engine.store.scan(self._workspace, Filters(kinds=("commit",)))
        return tuple(item.id for item in kept if item.metadata.get("sha") not in alive)

    def _keep_commits(self, mark: FileMark, batch: Sequence[Item]) -> None:
        put = PutFile(self._workspace, mark, self._reading.sound(batch, self._skipped), more=True)
        kept: Refiled = self._engine.store.batch([put])[0]
        self._count["commits"] += sum(one.new for one in kept.stored)
        self._progress("commits", self._count["commits"], None)


def _top(root: Path) -> Path:
    """The folder that a history is of: that of the files, or of a repository without any, its own."""
    try:
        return Path(ask(root, "rev-parse", "--show-toplevel"))
    except GitFailed:
        return Path(ask(root, "rev-parse", "--absolute-git-dir"))


def _in_64_bits(number: int) -> int:
    """A number as a mark can hold it: another one where it is too large, but always the same."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _batches(puts: Iterable[PutFile], files: int, items: int) -> Iterator[list[PutFile]]:
    """Files in batches, each full when it holds so many files, or so many items."""
    batch: list[PutFile] = []
    held = 0
    for put in puts:
        batch.append(put)
        held += len(put.items)
        if len(batch) >= files or held >= items:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
