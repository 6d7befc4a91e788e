"""A file becomes what is stored of it: read, cut, without secrets, its tokens counted, as the spaces see it.

Knows one file at a time, and no store, so that several processes can read beside the one that writes. These
are started by their command line, not by `multiprocessing`, which would run the caller's own script again. A
file that makes its reader crash is left out, and the rest is read by another. Readers end when this process
does, however it ends.
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

from foreword.capture.folder.file_items import cut_file, file_stamp
from foreword.capture.folder.walk import read_file
from foreword.capture.item_checks import check_item, have_no_secrets, redact_item
from foreword.engine.defaults import views_of_item
from foreword.errors import ValidationError
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO, Self

    from foreword.capture.folder.walk import Skipped, SourceFile
    from foreword.text.tokens import Tokenizer
    from foreword.types import Item, Views

    Request = tuple[SourceFile, str]
    """A file, and the hash that is known of it."""

_log = get_logger("foreword.indexer")

_MAX_PROCESSES = 3
"""At most how many readers are started; one writer cannot keep up with more."""

_FILES_PER_REQUEST = 16
_REQUESTS_AHEAD = 2
"""How many requests are made for each reader before their answers are wanted."""

_COLLECTION_THRESHOLD = 50_000


@dataclass(frozen=True, slots=True)
class FileRead:
    """What a file holds: the hash of its bytes, its items, and what the spaces see of them.

    Without a hash it was left out; `skipped` counts why, and how many of its parts were. Without items it
    holds nothing worth storing; where they are None, it holds what it held before.
    """

    hash: str
    items: tuple[Item, ...] | None = ()
    views: tuple[Views, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads the files of one folder.

    `prefix` stands before a file's path where it is shown; `root` is the folder, where that is not the
    workspace's own. Items say how their file looked, so that one can see later whether they still hold.
    """

    workspace: str
    prefix: str
    tokenizer: Tokenizer
    root: str = ""

    def read(self, file: SourceFile, known_hash: str = "") -> FileRead:
        """What a file holds; its items are None when its hash is still the one that is known."""
        skipped: Counter[str] = Counter()
        content = read_file(file, skipped=cast("Skipped", skipped))
        if content is None:
            return FileRead("", skipped=skipped)
        if content.hash == known_hash:
            return FileRead(known_hash, None)
        cut = cut_file(file, content.data, self.prefix + file.path, self.workspace, skipped)
        if skipped and not cut.items:
            return FileRead("", skipped=skipped)
        stamp = file_stamp(file, content.hash, self.root)
        items = self.prepare(cut.items, skipped, stamp, verbatim=cut.verbatim)
        return FileRead(content.hash, items, tuple(map(views_of_item, items)), skipped)

    def prepare(
        self,
        items: Sequence[Item],
        skipped: Counter[str],
        stamp: Mapping[str, str] = MappingProxyType({}),
        *,
        verbatim: bool = False,
    ) -> tuple[Item, ...]:
        """Items as they may be stored: checked, counted, stamped, without secrets; none with nothing left.

        `verbatim` says that their texts stand word for word in a text without secrets.
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

    def can_be_sent(self) -> bool:
        """Whether another process can read like this: a caller's own tokenizer is known here alone."""
        return type(self.tokenizer).__module__.startswith("foreword.")


def count_processes() -> int:
    """How many readers to start on this machine; none where they would only take turns with the writer."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, _MAX_PROCESSES) if processors > 1 else 0


class ReaderPool:
    """Several processes that read for this one. Raises OSError where they cannot be started."""

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
        """What each of these files holds, in order."""
        waiting: deque[Future[list[FileRead]]] = deque()
        ahead = _REQUESTS_AHEAD * self._idle.qsize()
        files = iter(requests)
        while batch := list(islice(files, _FILES_PER_REQUEST)):
            waiting.append(self._threads.submit(self._read_batch_in_process, batch))
            if len(waiting) > ahead:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()

    def _read_batch_in_process(self, batch: list[Request]) -> list[FileRead]:
        """What these files hold; one that makes its reader crash is left out as unreadable."""
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
        return [read for request in batch for read in self._read_batch_in_process([request])]


class _ReaderProcess:
    """One reader process, seen from outside."""

    def __init__(self, reader: FileReader) -> None:
        self._child = subprocess.Popen(  # noqa: S603  (this very interpreter)
            # Without -P, what lies in the working folder could pass for a module of Python's own.
            [sys.executable, "-P", "-c", f"from {__name__} import serve_requests; serve_requests()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._reader = reader

    def wait_until_ready(self) -> Self:
        """This process, once it can read. Raises OSError when it does not start."""
        try:
            self._send_object(self._reader)
            self._receive_object()
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.end()
            raise OSError(f"a reader did not start: {error}") from error
        return self

    def read(self, batch: list[Request]) -> list[FileRead] | None:
        """What these files hold; None where that is an error, which whoever reads them will meet."""
        self._send_object(batch)
        return cast("list[FileRead] | None", self._receive_object())

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._child.kill()
        with suppress(BrokenPipeError):  # what was not sent yet need not be
            self._child.communicate()

    def _send_object(self, value: object) -> None:
        pipe = cast("BinaryIO", self._child.stdin)
        pickle.dump(value, pipe, pickle.HIGHEST_PROTOCOL)
        pipe.flush()

    def _receive_object(self) -> object:
        return pickle.load(cast("BinaryIO", self._child.stdout))  # noqa: S301  (our own child)


def serve_requests() -> None:
    """Answer requests on the standard input until it ends; the answers go to what was the standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks is interrupted too, and ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else that is printed may stand between the answers
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
        except Exception:  # noqa: BLE001  (the process that asks reads it then, and meets the same error)
            answer = None
