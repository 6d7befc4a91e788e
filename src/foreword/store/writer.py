"""One door for writes: a thread, a connection, `BEGIN IMMEDIATE`, and a queue.

Jobs that wait together are committed together, so that many small writes share one flush to disk. A job that
fails is rolled back alone, to its savepoint. A job's result is handed over only after the commit: whoever has
it, has it for good. A job that nobody waits for lingers a moment, to share the commit of one that somebody
waits for.
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

_GROUP = 64
"""At most this many jobs share a commit, so that the first need not wait long for the last."""

_LINGER = 0.02
"""So many seconds a job that nobody waits for looks out for company."""


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[apsw.Connection], Any]
    done: Future[Any]
    patient: bool


_NOBODY = _Job(lambda _: None, Future(), patient=True)


class Writer:
    """The only thing that changes a database."""

    def __init__(self, db: apsw.Connection, after_commit: Callable[[apsw.Connection], None]) -> None:
        self._db = db
        self._after_commit = after_commit
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._door = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="foreword-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[apsw.Connection], Any], *, patient: bool = False) -> Future[Any]:
        """Queue a job; the future has its result once it is durable. A patient one may take longer."""
        done: Future[Any] = Future()
        with self._door:
            if self._closed:
                done.set_exception(apsw.ConnectionClosedError("the store is closed"))
            else:
                self._jobs.put(_Job(work, done, patient))
        return done

    def close(self) -> None:
        """Finish the queue and stop."""
        with self._door:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()
        self._db.close()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            group = [job]
            while len(group) < _GROUP and (following := self._following(group)) is not _NOBODY:
                if following is None:
                    self._commit(group)
                    return
                group.append(following)
            self._commit(group)

    def _following(self, group: list[_Job]) -> _Job | None:
        """The next job that waits; while all are patient, whoever comes in a moment; else nobody."""
        patient = all(job.patient for job in group)
        try:
            return self._jobs.get(timeout=_LINGER) if patient else self._jobs.get_nowait()
        except queue.Empty:
            return _NOBODY

    def _commit(self, group: list[_Job]) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            outcomes = self._alone(group[0]) if len(group) == 1 else [(j, *self._attempt(j)) for j in group]
            self._db.execute("COMMIT")
        except Exception as error:  # noqa: BLE001  (handed to everyone who waits; the thread must live on)
            with suppress(apsw.Error):
                self._db.execute("ROLLBACK")
            for job in group:
                job.done.set_exception(error)
            return
        self._after_commit(self._db)
        for job, result, failure in outcomes:
            if failure is None:
                job.done.set_result(result)
            else:
                job.done.set_exception(failure)

    def _alone(self, job: _Job) -> list[tuple[_Job, Any, BaseException | None]]:
        """Run the only job of a commit; a failure undoes the commit.

        A savepoint would cost the more, with every statement, the more pages the job has changed.
        """
        return [(job, job.work(self._db), None)]

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
