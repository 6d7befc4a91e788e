"""The path of an event through the service: it is answered, stored, and its answer is delivered.

    answer ──▶ store ──▶ (or spool) ──▶ send ──▶ the hook confirms that it was shown

A hook that gets no answer in time writes its event to the spool. An event that is not in the database shortly
before that moment is spooled here, and the hook is told so. An event that could not be stored is spooled,
too; its answer, if there is one, is sent all the same. At its deadline an unfinished event is answered with
nothing, while the work on it goes on. An answer that its hook did not confirm does not count as shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from foreword.edges.hook_client import SESSION_STARTS, SPOOL_SECONDS, STORED_EVENTS
from foreword.edges.service.measures import find_event_name
from foreword.edges.service.responder import Reply
from foreword.edges.service.spool import parse_event_time
from foreword.edges.shared.hook_fallback import is_start_after_compact_or_clear
from foreword.edges.shared.spool_files import describe_lost_event_to_user, write_to_spool
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from foreword.edges.service.measures import ServiceMeasures
    from foreword.edges.service.responder import HookResponder

_log = get_logger("foreword.service")

THREADS = 2
"""How many events are answered at once: a second one while the first encodes; more would make all late."""
_STORING_THREADS = 4
_KEEP_SECONDS = SPOOL_SECONDS + 0.025
"""How many seconds before its deadline an event must be on the disk; later its hook spools it as well."""
_MAX_UNKEPT_SECONDS = 1.0
"""After how many seconds an event is spooled at the latest, however far away its deadline is."""
_ASKING_EVENTS = ("PreToolUse", "BeforeTool", "preToolUse", "Notification")


@dataclass(frozen=True, slots=True)
class Request:
    """The first line of a request: its deadline, the event's time, the agent, and how many bytes follow."""

    expires: float
    at: str
    agent: str
    length: int


class EventJob:
    """One event in work. `settled_event` is set once it is stored or spooled, or when both have failed."""

    def __init__(self, request: Request, payload: bytes) -> None:
        self.request = request
        self.payload = payload
        self.event = find_event_name(payload)
        self.began = time.monotonic()
        self.reply_future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.settled_event = asyncio.Event()
        self.spool_lock = asyncio.Lock()
        self.spool_file = ""
        self.notice = ""

    @property
    def must_be_stored(self) -> bool:
        """Whether the event holds something to store, as an event with an unknown name may."""
        if self.event in SESSION_STARTS:
            return is_start_after_compact_or_clear(self.payload)
        return self.event in STORED_EVENTS or self.event not in _ASKING_EVENTS

    @property
    def spool_deadline(self) -> float:
        """The time, on the monotonic clock, at which the event is spooled unless it is stored."""
        return min(self.request.expires - _KEEP_SECONDS, self.began + _MAX_UNKEPT_SECONDS)


class EventIntake:
    """Has a responder answer and store events, in a few threads; the rest runs in the service's loop."""

    def __init__(self, home: Path, measures: ServiceMeasures, responder: HookResponder) -> None:
        self._home = str(home)
        self._measures = measures
        self._responder = responder
        self._answer_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="foreword-hook")
        self._store_threads = ThreadPoolExecutor(_STORING_THREADS, thread_name_prefix="foreword-keep")
        self._spool_threads = ThreadPoolExecutor(_STORING_THREADS, thread_name_prefix="foreword-spool")
        self._note_thread = ThreadPoolExecutor(1, thread_name_prefix="foreword-note")
        self._running_tasks: dict[asyncio.Task[None], int] = {}
        self._notes: set[asyncio.Future[None]] = set()
        self.spooled_in_work: set[str] = set()
        """The files in the spool whose events are still being stored here."""
        self.last_request = time.monotonic()

    @property
    def in_flight(self) -> int:
        """How many events are being worked on."""
        return len(self._running_tasks)

    @property
    def bytes_in_work(self) -> int:
        """How many bytes of events are being worked on."""
        return sum(self._running_tasks.values())

    async def finish(self, seconds: float) -> None:
        """Wait up to so many seconds for the events in work; those not stored by then are in the spool."""
        if self._running_tasks:
            await asyncio.wait(set(self._running_tasks), timeout=seconds)
        if self._running_tasks:
            _log.warning("stopped before every request was finished", requests=len(self._running_tasks))
        for pool in (self._answer_threads, self._store_threads, self._spool_threads):
            pool.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._note_thread.shutdown)

    async def reply_after_saving_event(
        self, request: Request, payload: bytes, report_kept: Callable[[], Awaitable[None]]
    ) -> Reply:
        """The reply to an event once it is on the disk; empty if that takes longer than its deadline.

        The work on a late event goes on. `report_kept` is called if the event is spooled before its answer.
        """
        await self._wait_for_delivery_records(request)
        self.last_request = time.monotonic()
        job = EventJob(request, payload)
        task = asyncio.create_task(self._answer_and_store(job))
        self._running_tasks[task] = request.length
        task.add_done_callback(self._running_tasks.pop)
        if job.must_be_stored and not await _finishes_by(job.settled_event.wait(), job.spool_deadline):
            await self._put_into_spool(job)
            if job.spool_file:
                if not task.done():
                    self.spooled_in_work.add(job.spool_file)
                with contextlib.suppress(ConnectionError):  # the hook has left
                    await report_kept()
        if not await _finishes_by(asyncio.shield(job.reply_future), request.expires):
            self._measures.count_trouble("late")
            job.reply_future.add_done_callback(self._record_late_answer_undelivered)
            return Reply()
        reply = job.reply_future.result()
        return Reply(_add_user_notice(reply.body, job.notice), reply.saying) if job.notice else reply

    def note_delivery(self, reply: Reply, *, delivered: bool) -> None:
        """Record in the background whether a reply arrived. The next event waits for that."""
        if not reply.saying:
            return
        note = self._responder.note_delivered if delivered else self._responder.note_undelivered
        noted = asyncio.get_running_loop().run_in_executor(self._note_thread, note, reply)
        self._notes.add(noted)
        noted.add_done_callback(self._discard_task_and_log_error)

    def _record_late_answer_undelivered(self, reply_future: asyncio.Future[Reply]) -> None:
        if not reply_future.cancelled():
            self.note_delivery(reply_future.result(), delivered=False)

    def _discard_task_and_log_error(self, noted: asyncio.Future[None]) -> None:
        self._notes.discard(noted)
        if not noted.cancelled() and (error := noted.exception()) is not None:
            _log.warning("what was shown could not be noted", error=str(error))

    async def _wait_for_delivery_records(self, request: Request) -> None:
        """Wait until it is recorded what was just shown, so that the same session is not shown it again."""
        if self._notes:
            await asyncio.wait(set(self._notes), timeout=max(0.0, request.expires - time.monotonic()))

    # The work on one event

    async def _answer_and_store(self, job: EventJob) -> None:
        """Answer an event, then store it; if that fails, put it into the spool."""
        loop = asyncio.get_running_loop()
        try:
            clean = await loop.run_in_executor(self._answer_threads, self._answer_and_get_cleaned_event, job)
            await loop.run_in_executor(
                self._store_threads, self._responder.capture, clean, parse_event_time(job.request.at)
            )
        except Exception as error:  # noqa: BLE001  (whatever it was, the event must not be lost)
            self._measures.count_trouble("failed")
            _log.warning("an event could not be stored", error=f"{type(error).__name__}: {error}")
            if job.must_be_stored and not job.spool_file:
                await self._put_into_spool(job)
        else:
            self._measures.count_request(job.event, (time.monotonic() - job.began) * 1000)
            if job.spool_file:
                Path(job.spool_file).unlink(missing_ok=True)
        finally:
            self.spooled_in_work.discard(job.spool_file)
            job.settled_event.set()
            if not job.reply_future.done():
                job.reply_future.set_result(Reply())

    def _answer_and_get_cleaned_event(self, job: EventJob) -> bytes:
        """Answer an event, in a thread; returns the event without its secrets, as the spool would store it.

        An event that also comes through the spool then has the same text, and is stored once.
        """
        payload = job.payload
        if job.must_be_stored:
            with contextlib.suppress(ValueError, RecursionError):  # not JSON: nothing in it can be used
                payload = self._responder.redact_payload(payload)
        left = job.request.expires - time.monotonic()
        if left > 0:
            self._answer_job(job, payload, left)
        return payload

    def _answer_job(self, job: EventJob, payload: bytes, seconds: float) -> None:
        """Set the job's reply; an empty one if answering fails."""
        reply = Reply()
        try:
            reply = self._responder.answer(payload, parse_event_time(job.request.at), seconds * 1000)
        except Exception as error:  # noqa: BLE001  (a bug in an answer must not cost the event)
            self._measures.count_trouble("failed")
            _log.warning("an event could not be answered", error=f"{type(error).__name__}: {error}")
        job.reply_future.get_loop().call_soon_threadsafe(_set_reply_unless_done, job.reply_future, reply)

    def _write_event_to_spool(self, job: EventJob) -> tuple[str, str]:
        """Write an event to the spool, without its secrets; returns the file, and a notice or ""."""
        return write_to_spool(self._home, job.request.at, self._responder.redact_payload(job.payload))

    async def _put_into_spool(self, job: EventJob) -> None:
        """Put an event into the spool, once; if that fails, log it and add a notice for the user."""
        loop = asyncio.get_running_loop()
        try:
            async with job.spool_lock:  # an event can become late and fail at the same moment
                if not job.spool_file:
                    job.spool_file, job.notice = await loop.run_in_executor(
                        self._spool_threads, self._write_event_to_spool, job
                    )
        except Exception as error:  # noqa: BLE001  (a full disk, a payload that is no JSON: lost, and said)
            job.notice = describe_lost_event_to_user(self._home, error)
            _log.warning("an event is lost", error=f"{type(error).__name__}: {error}")
        job.settled_event.set()


async def _finishes_by(awaitable: Awaitable[object], until: float) -> bool:
    """Await something until a time on the monotonic clock; returns whether it finished by then."""
    try:
        async with asyncio.timeout(max(0.0, until - time.monotonic())):
            await awaitable
    except TimeoutError:
        return False
    return True


def _set_reply_unless_done(reply_future: asyncio.Future[Reply], reply: Reply) -> None:
    if not reply_future.done():
        reply_future.set_result(reply)


def _add_user_notice(body: bytes, notice: str) -> bytes:
    """The answer with an added message to the user, which the model does not see."""
    return json.dumps({**(json.loads(body) if body else {}), "systemMessage": notice}).encode()
