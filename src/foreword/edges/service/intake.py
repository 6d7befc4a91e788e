"""An event's way through the service: it is answered, put on the disk, and its answer delivered.

    answer ──▶ store ──▶ (or spool) ──▶ send ──▶ the hook says that it was shown

An event that is not in the database a moment before its hook would turn to the spool is spooled here, and
the hook is told that it is kept. What fails is spooled, too; a finished answer is given in any case. What is
still being worked on at its deadline is answered with nothing and worked on to the end. An answer that nobody
took was not shown.
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
from foreword.edges.service.measures import event_name
from foreword.edges.service.responder import Reply
from foreword.edges.service.spool import parse_time
from foreword.edges.shared.hook_fallback import empties_context
from foreword.edges.shared.spool_files import redact_payload, take_notice, write_to_spool
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from foreword.edges.service.measures import Measures
    from foreword.edges.service.responder import Responder

_log = get_logger("foreword.service")

THREADS = 2
"""How many events are answered at once: one while another encodes; more would make all of them late."""
_STORING_THREADS = 4
_KEEP_SECONDS = SPOOL_SECONDS + 0.025
"""How long before its deadline an event must be on the disk, or its hook spools it as well."""
_MAX_UNKEPT_SECONDS = 1.0
"""How long an event whose hook is patient may be worked on before it is spooled."""
_ASKING_EVENTS = ("PreToolUse", "BeforeTool", "preToolUse", "Notification")


@dataclass(frozen=True, slots=True)
class Request:
    """What the first line says: until when, since when, from whom, and how much follows."""

    expires: float
    at: str
    agent: str
    length: int


class EventJob:
    """One event in work. It is settled once it is on the disk, or nothing more can be done for that."""

    def __init__(self, request: Request, payload: bytes) -> None:
        self.request = request
        self.payload = payload
        self.event = event_name(payload)
        self.began = time.monotonic()
        self.answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.settled = asyncio.Event()
        self.spooling = asyncio.Lock()
        self.spool_file = ""
        self.notice = ""

    @property
    def is_stored(self) -> bool:
        """Whether it holds something to store; one without a known name may."""
        if self.event in SESSION_STARTS:
            return empties_context(self.payload)
        return self.event in STORED_EVENTS or self.event not in _ASKING_EVENTS

    @property
    def spool_by(self) -> float:
        """When it must be on the disk at the latest."""
        return min(self.request.expires - _KEEP_SECONDS, self.began + _MAX_UNKEPT_SECONDS)


class Intake:
    """Takes events to a responder and its store, in a few threads; all else runs in the service's loop."""

    def __init__(self, home: Path, measures: Measures, responder: Responder) -> None:
        self._home = str(home)
        self._measures = measures
        self._responder = responder
        self._answering = ThreadPoolExecutor(THREADS, thread_name_prefix="foreword-hook")
        self._storing = ThreadPoolExecutor(_STORING_THREADS, thread_name_prefix="foreword-keep")
        self._spooling = ThreadPoolExecutor(_STORING_THREADS, thread_name_prefix="foreword-spool")
        self._noting = ThreadPoolExecutor(1, thread_name_prefix="foreword-note")
        self._working: dict[asyncio.Task[None], int] = {}
        self._notes: set[asyncio.Future[None]] = set()
        self.spooled_in_work: set[str] = set()
        """The files in the spool whose events are still being stored from here."""
        self.last_request = time.monotonic()

    @property
    def in_flight(self) -> int:
        """How many events are being worked on."""
        return len(self._working)

    @property
    def bytes_in_work(self) -> int:
        """How many bytes of events are being worked on."""
        return sum(self._working.values())

    async def finish(self, seconds: float) -> None:
        """Finish within that many seconds what was taken. What is not stored by then is in the spool."""
        if self._working:
            await asyncio.wait(set(self._working), timeout=seconds)
        if self._working:
            _log.warning("stopped before every request was finished", requests=len(self._working))
        for pool in (self._answering, self._storing, self._spooling):
            pool.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._noting.shutdown)

    async def take(self, request: Request, payload: bytes, say_kept: Callable[[], Awaitable[None]]) -> Reply:
        """The reply to an event once it is on the disk, or nothing at the deadline; the work goes on.

        `say_kept` is called when the event is on the disk before it is answered.
        """
        await self._wait_for_notes(request)
        self.last_request = time.monotonic()
        job = EventJob(request, payload)
        task = asyncio.create_task(self._work_on(job))
        self._working[task] = request.length
        task.add_done_callback(self._working.pop)
        if job.is_stored and not await _wait(job.settled.wait(), job.spool_by):
            await self._spool(job)
            if job.spool_file:
                if not task.done():
                    self.spooled_in_work.add(job.spool_file)
                with contextlib.suppress(ConnectionError):  # the hook has left
                    await say_kept()
        if not await _wait(asyncio.shield(job.answered), request.expires):
            self._measures.count_trouble("late")
            job.answered.add_done_callback(self._note_late_answer)
            return Reply()
        reply = job.answered.result()
        return Reply(_with_notice(reply.body, job.notice), reply.saying) if job.notice else reply

    def note(self, reply: Reply, *, delivered: bool) -> None:
        """Have it noted whether a reply arrived. The next event is answered after that."""
        if not reply.saying:
            return
        act = self._responder.note_delivered if delivered else self._responder.note_undelivered
        noted = asyncio.get_running_loop().run_in_executor(self._noting, act, reply)
        self._notes.add(noted)
        noted.add_done_callback(self._forget_note)

    def _note_late_answer(self, answered: asyncio.Future[Reply]) -> None:
        if not answered.cancelled():
            self.note(answered.result(), delivered=False)

    def _forget_note(self, noted: asyncio.Future[None]) -> None:
        self._notes.discard(noted)
        if not noted.cancelled() and (error := noted.exception()) is not None:
            _log.warning("what was shown could not be noted", error=str(error))

    async def _wait_for_notes(self, request: Request) -> None:
        """Let what was just shown be known before the same session is told more."""
        if self._notes:
            await asyncio.wait(set(self._notes), timeout=max(0.0, request.expires - time.monotonic()))

    # The work on one event

    async def _work_on(self, job: EventJob) -> None:
        """Answer an event, then store it; whatever fails, nothing is lost that can be kept."""
        loop = asyncio.get_running_loop()
        try:
            clean = await loop.run_in_executor(self._answering, self._clean_and_answer, job)
            await loop.run_in_executor(
                self._storing, self._responder.capture, clean, parse_time(job.request.at)
            )
        except Exception as error:  # noqa: BLE001  (whatever it was, the event must not be lost)
            self._measures.count_trouble("failed")
            _log.warning("an event could not be stored", error=f"{type(error).__name__}: {error}")
            if job.is_stored and not job.spool_file:
                await self._spool(job)
        else:
            self._measures.count_request(job.event, (time.monotonic() - job.began) * 1000)
            if job.spool_file:
                Path(job.spool_file).unlink(missing_ok=True)
        finally:
            self.spooled_in_work.discard(job.spool_file)
            job.settled.set()
            if not job.answered.done():
                job.answered.set_result(Reply())

    def _clean_and_answer(self, job: EventJob) -> bytes:
        """In a thread: answer an event; gives it without its secrets, as the spool would have it.

        So that it is the same text, and stored once, whichever way it comes.
        """
        payload = job.payload
        if job.is_stored:
            with contextlib.suppress(ValueError, RecursionError):  # not JSON: nothing in it can be used
                payload = redact_payload(payload)
        left = job.request.expires - time.monotonic()
        if left > 0:
            self._answer(job, payload, left)
        return payload

    def _answer(self, job: EventJob, payload: bytes, seconds: float) -> None:
        """Give the job its reply; an answer that fails is none, and the event is stored all the same."""
        reply = Reply()
        try:
            reply = self._responder.answer(payload, parse_time(job.request.at), seconds * 1000)
        except Exception as error:  # noqa: BLE001  (a bug in an answer must not cost the event)
            self._measures.count_trouble("failed")
            _log.warning("an event could not be answered", error=f"{type(error).__name__}: {error}")
        job.answered.get_loop().call_soon_threadsafe(_set_if_open, job.answered, reply)

    async def _spool(self, job: EventJob) -> None:
        """Put an event into the spool, once; the log says why, and the user is told, when even that fails."""
        loop = asyncio.get_running_loop()
        try:
            async with job.spooling:  # it may be late, and fail at the same moment
                if not job.spool_file:
                    job.spool_file, job.notice = await loop.run_in_executor(
                        self._spooling, write_to_spool, self._home, job.request.at, job.payload
                    )
        except Exception as error:  # noqa: BLE001  (a full disk, a payload that is no JSON: lost, and said)
            job.notice = take_notice(self._home) if isinstance(error, OSError) else ""
            _log.warning("an event is lost", error=f"{type(error).__name__}: {error}")
        job.settled.set()


async def _wait(awaitable: Awaitable[object], until: float) -> bool:
    """Whether something comes to its end by a time on the monotonic clock."""
    try:
        async with asyncio.timeout(max(0.0, until - time.monotonic())):
            await awaitable
    except TimeoutError:
        return False
    return True


def _set_if_open(answered: asyncio.Future[Reply], reply: Reply) -> None:
    if not answered.done():
        answered.set_result(reply)


def _with_notice(body: bytes, notice: str) -> bytes:
    """The answer with a message to the user in it, which the model does not see."""
    return json.dumps({**(json.loads(body) if body else {}), "systemMessage": notice}).encode()
