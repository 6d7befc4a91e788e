"""Reads files into items: split, without secrets, with tokens counted and views made, in several processes.

Reads one file at a time and uses no store, so that several processes can read beside the one that writes.
These are started by their command line, not by `multiprocessing`, which would run the caller's own script
again. A file that makes its reader crash is left out, and a new reader reads the others. Readers end when
this process ends, however it ends.
"""

from __future__ import annotations

import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from foreword.capture.folder.file_items import cut_file, file_version_metadata
from foreword.capture.folder.walk import read_file
from foreword.capture.item_checks import check_item, have_no_secrets, redact_item
from foreword.engine.defaults import code_parts_and_mentioned_entities
from foreword.errors import ValidationError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO, Self

    from foreword.capture.folder.walk import Skipped, SourceFile
    from foreword.text.tokens import Tokenizer
    from foreword.types import Item, Views

    Request = tuple[SourceFile, str]
    """A file, and the hash of its bytes when it was last read; "" if it was not."""

_log = get_logger("foreword.indexer")

_MAX_PROCESSES = 3
"""At most how many readers are started; one writer cannot keep up with more."""

_FILES_PER_REQUEST = 16
_REQUESTS_AHEAD = 2
"""How many requests are sent ahead for each reader."""

_COLLECTION_THRESHOLD = 50_000


@dataclass(frozen=True, slots=True)
class FileRead:
    """What was read from a file: the hash of its bytes, its items, and their views.

    If the hash is empty, the file was left out; `skipped` has the reasons, also for parts that were left out.
    If `items` is None, the file has not changed; if it is empty, nothing in the file is worth storing.
    """

    hash: str
    items: tuple[Item, ...] | None = ()
    views: tuple[Views, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads the files of one folder.

    `prefix` is put before a file's path where it is shown; `root` is the folder, if it is outside of the
    workspace's own. Items get a stamp of their file, by which a later change of it is noticed.
    """

    workspace: str
    prefix: str
    tokenizer: Tokenizer
    root: str = ""

    def read(self, file: SourceFile, known_hash: str = "") -> FileRead:
        """The items of a file; None in their place if its hash is still `known_hash`."""
        skipped: Counter[str] = Counter()
        content = read_file(file, skipped=cast("Skipped", skipped))
        if content is None:
            return FileRead("", skipped=skipped)
        if content.hash == known_hash:
            return FileRead(known_hash, None)
        cut = cut_file(file, content.data, self.prefix + file.path, self.workspace, skipped)
        if skipped and not cut.items:
            return FileRead("", skipped=skipped)
        stamp = file_version_metadata(file, content.hash, self.root)
        items = self.check_and_redact_items(cut.items, skipped, stamp, verbatim=cut.verbatim)
        return FileRead(content.hash, items, tuple(map(code_parts_and_mentioned_entities, items)), skipped)

    def check_and_redact_items(
        self,
        items: Sequence[Item],
        skipped: Counter[str],
        stamp: Mapping[str, str] = MappingProxyType({}),
        *,
        verbatim: bool = False,
    ) -> tuple[Item, ...]:
        """The items ready to store: checked, without secrets, with tokens and stamp; unfit ones are left out.

        `verbatim` says that their texts are copied word for word from a text without secrets.
        """
        prepared: list[Item] = []
        clean = have_no_secrets(items, texts=not verbatim)
        for item in items:
            try:
                checked = check_item(item) if clean else redact_item(check_item(item))
            except ValidationError as error:
                skipped["unfit"] += 1
                _log.warning("a part of a file is not kept", about=item.about, problem=str(error))
                continue
            tokens = self.tokenizer.count(checked.text)
            prepared.append(replace(checked, tokens=tokens, metadata={**checked.metadata, **stamp}))
        return tuple(prepared)

    def can_run_in_another_process(self) -> bool:
        """Whether another process can use this reader: not if its tokenizer is the caller's own."""
        return type(self.tokenizer).__module__.startswith("foreword.")


def choose_reader_count() -> int:
    """How many readers to start on this machine; 0 if it has one processor, needed by the writer."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, _MAX_PROCESSES) if processors > 1 else 0


class ReaderPool:
    """Several processes that read files for this one. Raises OSError if they cannot be started."""

    def __init__(self, reader: FileReader, processes: int) -> None:
        self._reader = reader
        self._idle: queue.SimpleQueue[_ReaderProcess] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(processes, "foreword-reader")
        try:
            for _ in range(processes):
                self._idle.put(_ReaderProcess(reader))
            for _ in range(processes):
                self._idle.put(self._idle.get().wait_until_ready())
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the requests that have begun, then end the processes."""
        self._threads.shutdown(cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().end()

    def read(self, requests: Iterable[Request]) -> Iterator[FileRead]:
        """The contents of these files, in order."""
        waiting: deque[Future[list[FileRead]]] = deque()
        ahead = _REQUESTS_AHEAD * self._idle.qsize()
        files = iter(requests)
        while batch := list(islice(files, _FILES_PER_REQUEST)):
            waiting.append(self._threads.submit(self._read_batch_in_child_process, batch))
            if len(waiting) > ahead:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()

    def _read_batch_in_child_process(self, batch: list[Request]) -> list[FileRead]:
        """The contents of these files; one that makes its reader crash is left out as unreadable."""
        process = self._idle.get()
        try:
            read = process.read(batch)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            process.end()
            process = _ReaderProcess(self._reader).wait_until_ready()
            _log.warning("a reader ended", files=[file.path for file, _ in batch], problem=str(error))
        else:
            return [self._reader.read(*request) for request in batch] if read is None else read
        finally:
            self._idle.put(process)
        if len(batch) == 1:
            return [FileRead("", skipped={"unreadable": 1})]
        return [read for request in batch for read in self._read_batch_in_child_process([request])]


class _ReaderProcess:
    """One reader process, seen from outside."""

    def __init__(self, reader: FileReader) -> None:
        self._child = subprocess.Popen(  # noqa: S603  (this very interpreter)
            # Without -P, a file in the working folder could be imported in place of a standard module.
            [sys.executable, "-P", "-c", f"from {__name__} import serve_file_reads; serve_file_reads()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._reader = reader

    def wait_until_ready(self) -> Self:
        """Wait until the process can read, and return it. Raises OSError when it does not start."""
        try:
            self._send_object(self._reader)
            self._receive_object()
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.end()
            raise OSError(f"a reader did not start: {error}") from error
        return self

    def read(self, batch: list[Request]) -> list[FileRead] | None:
        """The contents of these files; None if the process met an error, which the caller will meet again."""
        self._send_object(batch)
        return cast("list[FileRead] | None", self._receive_object())

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        self._child.kill()
        with suppress(BrokenPipeError):  # requests not sent yet do not matter now
            self._child.communicate()

    def _send_object(self, value: object) -> None:
        pipe = cast("BinaryIO", self._child.stdin)
        pickle.dump(value, pipe, pickle.HIGHEST_PROTOCOL)
        pipe.flush()

    def _receive_object(self) -> object:
        return pickle.load(cast("BinaryIO", self._child.stdout))  # noqa: S301  (our own child)


def serve_file_reads() -> None:
    """Answer requests from standard input until it ends; the answers go to the original standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # anything printed goes to standard error, not between the answers
    gc.set_threshold(_COLLECTION_THRESHOLD)
    reader: FileReader = pickle.load(sys.stdin.buffer)  # noqa: S301  (of our parent)
    answer: object = "ready"
    while True:
        pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()
        try:
            batch: list[Request] = pickle.load(sys.stdin.buffer)  # noqa: S301
        except EOFError:
            return
        try:
            answer = [reader.read(*request) for request in batch]
        except Exception:  # noqa: BLE001  (the parent then reads the files, and meets the same error)
            answer = None
