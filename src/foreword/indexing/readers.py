"""Processes that read files beside this one, so that reading waits neither for writing nor for one processor.

They are started by their command line, not by `multiprocessing`, which would run the caller's own script
again. A file that brings its reader down is left out, and the rest is read by another. They end when this
process does, however it ends.
"""

from __future__ import annotations

import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, cast

from foreword.indexing.reading import FileRead
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO, Self

    from foreword.capture.folder.walk import SourceFile
    from foreword.indexing.reading import Reading

    Asked = tuple[SourceFile, str]
    """A file, and the hash that is known of it."""

_log = get_logger("foreword.indexing.indexer")

_MOST = 3
"""More than these give one writer nothing to wait for."""

_TOGETHER = 16
_AHEAD = 2
"""So many files are asked for at once; and so many times that, of each reader, before they are wanted."""

_FEW_COLLECTIONS = 50_000


def count() -> int:
    """How many readers are worth starting on this machine; none where they would only take turns with us."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, _MOST) if processors > 1 else 0


def can_take(reading: Reading) -> bool:
    """Whether another process can read like this: the caller's own way of counting is known to us alone."""
    return type(reading.tokenizer).__module__.startswith("foreword.")


class Readers:
    """Several processes that read for this one. Where they cannot be started, that is an `OSError`."""

    def __init__(self, reading: Reading, processes: int) -> None:
        self._reading = reading
        self._idle: queue.SimpleQueue[_Process] = queue.SimpleQueue()
        self._beside = ThreadPoolExecutor(processes, "foreword-reader")
        try:
            for _ in range(processes):
                self._idle.put(_Process(reading))
            for _ in range(processes):
                self._idle.put(self._idle.get().ready())
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let them finish what they are at, and end."""
        self._beside.shutdown(cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().end()

    def read(self, asked: Iterable[Asked]) -> Iterator[FileRead]:
        """What each of these files holds, in order."""
        waiting: deque[Future[list[FileRead]]] = deque()
        ahead = _AHEAD * self._idle.qsize()
        files = iter(asked)
        while batch := list(islice(files, _TOGETHER)):
            waiting.append(self._beside.submit(self._ask, batch))
            if len(waiting) > ahead:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()

    def _ask(self, batch: list[Asked]) -> list[FileRead]:
        process = self._idle.get()
        try:
            read = process.read(batch)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            process.end()
            process = _Process(self._reading).ready()
            _log.warning("a reader ended", files=[file.path for file, _ in batch], problem=str(error))
        else:
            return [self._reading.read(*one) for one in batch] if read is None else read
        finally:
            self._idle.put(process)
        if len(batch) == 1:
            return [FileRead("", skipped={"unreadable": 1})]
        return [read for one in batch for read in self._ask([one])]


class _Process:
    """One reader, seen from outside."""

    def __init__(self, reading: Reading) -> None:
        self._child = subprocess.Popen(
            # Without -P, what lies in the folder we stand in could pass for a module of Python's own.
            [sys.executable, "-P", "-m", "foreword.indexing.readers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._reading = reading

    def ready(self) -> Self:
        """This process, once it can read."""
        try:
            self._say(self._reading)
            self._hear()
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.end()
            raise OSError(f"a reader did not start: {error}") from error
        return self

    def read(self, batch: list[Asked]) -> list[FileRead] | None:
        """What these files hold; None where that is an error, which whoever reads them will meet."""
        self._say(batch)
        return cast("list[FileRead] | None", self._hear())

    def end(self) -> None:
        """End it, whatever it is at."""
        self._child.kill()
        with suppress(BrokenPipeError):  # what was not said yet need not be
            self._child.communicate()

    def _say(self, what: object) -> None:
        pipe = cast("BinaryIO", self._child.stdin)
        pickle.dump(what, pipe, pickle.HIGHEST_PROTOCOL)
        pipe.flush()

    def _hear(self) -> object:
        return pickle.load(cast("BinaryIO", self._child.stdout))  # noqa: S301  (our own child)


def _serve() -> None:
    """Read what is asked for on the standard input until it ends; answer on what was the standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks is interrupted too, and ends us
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what else is said must not stand between the answers
    gc.set_threshold(_FEW_COLLECTIONS)
    reading: Reading = pickle.load(sys.stdin.buffer)  # noqa: S301  (of our parent)
    answer: object = "ready"
    while True:
        pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()
        try:
            batch: list[Asked] = pickle.load(sys.stdin.buffer)  # noqa: S301
        except EOFError:
            return
        try:
            answer = [reading.read(*one) for one in batch]
        except Exception:  # noqa: BLE001  (whoever asks reads it then, and meets the same error)
            answer = None


if __name__ == "__main__":
    _serve()
