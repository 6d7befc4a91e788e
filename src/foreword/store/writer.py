"""The only thread that changes a database: one connection, `BEGIN IMMEDIATE`, and a queue of jobs.

Jobs that wait together are committed together, so that many small writes share one flush to disk. A job that
fails is rolled back alone, to its savepoint. A job's result is handed over after the commit, when it is
durable.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_JOBS = 64
"""At most this many jobs share a commit, so that the first need not wait long for the last."""

_LINGER_SECONDS = 0.02
"""How many seconds a job that nobody waits for waits for others to share its commit."""


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[apsw.Connection], Any]
    done: Future[Any]
    can_wait: bool


class Writer:
    """Runs jobs on a database's write connection, in the order they are submitted."""

    def __init__(self, db: apsw.Connection, after_commit: Callable[[apsw.Connection], None]) -> None:
        self._db = db
        self._after_commit = after_commit
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._submitting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="foreword-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[apsw.Connection], Any], *, can_wait: bool = False) -> Future[Any]:
        """Queue a job; the future has its result once it is durable. One that can wait may take longer."""
        done: Future[Any] = Future()
        with self._submitting:
            if self._closed:
                done.set_exception(apsw.ConnectionClosedError("the store is closed"))
            else:
                self._jobs.put(_Job(work, done, can_wait))
        return done

    def close(self) -> None:
        """Finish the queue and stop."""
        with self._submitting:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()
        self._db.close()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            group = [job]
            closing = False
            with suppress(queue.Empty):
                while len(group) < _MAX_JOBS and not closing:
                    following = self._next(group)
                    closing = following is None
                    group += [] if following is None else [following]
            self._commit(group)
            if closing:
                return

    def _next(self, group: list[_Job]) -> _Job | None:
        """The next job in the queue; if nobody waits for the group, one that comes within a moment."""
        if all(job.can_wait for job in group):
            return self._jobs.get(timeout=_LINGER_SECONDS)
        return self._jobs.get_nowait()

    def _commit(self, group: list[_Job]) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            if len(group) == 1:
                # Without a savepoint, which slows down every statement by the number of pages changed so far.
                outcomes: list[tuple[Any, BaseException | None]] = [(group[0].work(self._db), None)]
            else:
                outcomes = [self._attempt(job) for job in group]
            self._db.execute("COMMIT")
        except Exception as error:  # noqa: BLE001  (handed to everyone who waits; the thread must live on)
            with suppress(apsw.Error):
                self._db.execute("ROLLBACK")
            for job in group:
                job.done.set_exception(error)
            return
        self._after_commit(self._db)
        for job, (result, failure) in zip(group, outcomes, strict=True):
            if failure is None:
                job.done.set_result(result)
            else:
                job.done.set_exception(failure)

    def _attempt(self, job: _Job) -> tuple[Any, BaseException | None]:
        """Run one job inside a savepoint; a failure undoes that job and no other."""
        self._db.execute("SAVEPOINT job")
        try:
            result, failure = job.work(self._db), None
        except Exception as error:
            if not self._db.in_transaction:  # a full disk or an I/O error has already undone everything
                raise
            self._db.execute("ROLLBACK TO job")
            result, failure = None, error
        self._db.execute("RELEASE job")
        return result, failure
