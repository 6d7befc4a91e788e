"""The only thread that changes a database: one connection, `BEGIN IMMEDIATE`, and a queue of jobs.

Jobs that wait together are committed together, so that many small writes share one flush to disk. A job that
fails is rolled back alone, to its savepoint. A job's result is handed over after the commit, when its write
is durable.
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
"""How many seconds a job whose caller does not wait is held back, so that others can share its commit."""


@dataclass(frozen=True, slots=True)
class _WriteJob:
    """Work for the write connection, the future that gets its result, and whether its caller can wait."""

    work: Callable[[apsw.Connection], Any]
    done: Future[Any]
    can_wait: bool


class Writer:
    """Runs jobs on a database's write connection, in the order they are submitted."""

    def __init__(self, db: apsw.Connection, after_commit: Callable[[apsw.Connection], None]) -> None:
        self._db = db
        self._after_commit = after_commit
        self._jobs: queue.SimpleQueue[_WriteJob | None] = queue.SimpleQueue()
        self._closed = False
        self._submit_lock = threading.Lock()
        self._thread = threading.Thread(target=self._run_until_closed, name="foreword-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[apsw.Connection], Any], *, can_wait: bool = False) -> Future[Any]:
        """Queue a job; the future gets its result once it is durable. A job that `can_wait` may linger."""
        done: Future[Any] = Future()
        with self._submit_lock:
            if self._closed:
                done.set_exception(apsw.ConnectionClosedError("the store is closed"))
            else:
                self._jobs.put(_WriteJob(work, done, can_wait))
        return done

    def close(self) -> None:
        """Run all queued jobs, stop the thread and close the connection."""
        with self._submit_lock:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()
        self._db.close()

    def _run_until_closed(self) -> None:
        """Take jobs from the queue and commit those that wait together, until the writer is closed."""
        while (job := self._jobs.get()) is not None:
            group = [job]
            closing = False
            with suppress(queue.Empty):
                while len(group) < _MAX_JOBS and not closing:
                    following = self._take_next_job(group)
                    closing = following is None
                    group += [] if following is None else [following]
            self._commit_jobs(group)
            if closing:
                return

    def _take_next_job(self, jobs: list[_WriteJob]) -> _WriteJob | None:
        """The next job in the queue; raises `queue.Empty` if there is none.

        If all of `jobs` can wait, the next job may come a moment later.
        """
        if all(job.can_wait for job in jobs):
            return self._jobs.get(timeout=_LINGER_SECONDS)
        return self._jobs.get_nowait()

    def _commit_jobs(self, jobs: list[_WriteJob]) -> None:
        """Run jobs in one transaction and hand each its result, or its failure."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            if len(jobs) == 1:
                # Without a savepoint, which slows down every statement by the number of pages changed so far.
                outcomes: list[tuple[Any, BaseException | None]] = [(jobs[0].work(self._db), None)]
            else:
                outcomes = [self._run_in_savepoint(job) for job in jobs]
            self._db.execute("COMMIT")
        except Exception as error:  # noqa: BLE001  (handed to everyone who waits; the thread must live on)
            with suppress(apsw.Error):
                self._db.execute("ROLLBACK")
            for job in jobs:
                job.done.set_exception(error)
            return
        self._after_commit(self._db)
        for job, (result, failure) in zip(jobs, outcomes, strict=True):
            if failure is None:
                job.done.set_result(result)
            else:
                job.done.set_exception(failure)

    def _run_in_savepoint(self, job: _WriteJob) -> tuple[Any, BaseException | None]:
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
