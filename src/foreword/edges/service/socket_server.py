"""The Unix socket of the service: one request a connection, answered by its deadline or with nothing.

A request is `FWD1 <deadline ms> <at> <agent> <length>` on a line and so many bytes; the answer is `FWD1
<length>` on a line and so many bytes. Knows the words and the limits, and nothing of what they carry: events
go to a responder, in a few threads; other things that can be asked are given by name.

Whoever is another user is refused. So is a request for which there is no room: its hook keeps the event. What
is still being worked on at its deadline is answered with nothing and worked on to the end, and what fails is
kept for later, so that no event is lost to a slow or a broken store.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from foreword.edges import hook_client
from foreword.edges.hook import aside
from foreword.edges.hook_client import MOST_BYTES, MOST_CHARACTERS, WORD
from foreword.edges.service.measures import event_name
from foreword.edges.service.spool import moment
from foreword.log import get_logger

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from foreword.edges.service.measures import Measures

_log = get_logger("foreword.service")

THREADS = 2
"""One works while the other encodes its question; more would only make all of them finish late."""
MOST_REQUESTS = 32
MOST_WAITING_BYTES = 8 * MOST_BYTES
_LONGEST_DEADLINE = 30_000
_READ_TIMEOUT = 5.0
_PATIENT = 0.5
_MARGIN = 0.1


class Answering(Protocol):
    """Who answers events: a responder."""

    def respond(self, payload: bytes, at: datetime, deadline_ms: float | None) -> bytes:
        """Store what an event holds, and give what the agent should be told: JSON, or nothing."""

    def capture(self, payload: bytes, at: datetime) -> None:
        """Store what an event holds, and say nothing."""

    def close(self) -> None:
        """Finish what is still being stored."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the first line says: until when, since when, from whom, and how much follows."""

    expires: float
    at: str
    agent: str
    length: int


def read_head(line: bytes) -> Request:
    """Read a first line; ValueError when it is none of ours."""
    word, deadline, at, agent, length = line.decode().rstrip("\n").split(" ")
    if word.encode() != WORD or not agent or not length.isdecimal():
        raise ValueError("not our words")
    moment(at)
    if int(length) > MOST_BYTES:
        raise ValueError(f"{length} bytes are too many")
    wait = min(max(float(deadline), 0.0), _LONGEST_DEADLINE)
    return Request(time.monotonic() + wait / 1000, at, agent, int(length))


class SocketServer:
    """Answers on a listening socket. All of it runs in one loop, but for the responder's work."""

    def __init__(
        self,
        measures: Measures,
        asked: Mapping[str, Callable[[], bytes]],
        keep: Callable[[str, bytes], object],
        warm: asyncio.Event,
    ) -> None:
        self._measures = measures
        self._asked = asked
        self._keep = keep
        self._warm = warm
        self._responder: Answering | None = None
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="foreword-hook")
        self._server: asyncio.Server | None = None
        self._connections = 0
        self._bytes = 0
        self._working: set[asyncio.Future[bytes]] = set()
        self.last_request = time.monotonic()

    @property
    def in_flight(self) -> int:
        """How many events are being worked on."""
        return len(self._working)

    async def start(self, listening: socket.socket, responder: Answering) -> None:
        """Answer from now on."""
        self._responder = responder
        self._server = await asyncio.start_unix_server(self._meet, sock=listening, limit=1 << 20)

    async def stop(self, patience: float) -> None:
        """Take no more requests, and finish those that were taken."""
        if self._server is not None:
            self._server.close()
        if self._working:
            await asyncio.wait(set(self._working), timeout=patience)
        if self._working:
            _log.warning("stopped before every request was finished", requests=len(self._working))
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: its first line, its event, the answer. Hung up on, a hook keeps its event."""
        self._connections += 1
        try:
            async with asyncio.timeout(_READ_TIMEOUT + _LONGEST_DEADLINE / 1000):
                answer = await self._answered(reader, writer)
                if answer is not None:
                    writer.write(b"%s %d\n%s" % (WORD, len(answer), answer))
                    await writer.drain()
        except (ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            self._measures.met("malformed")
        except ConnectionError:
            pass  # the hook left; what it said has been heard
        finally:
            self._connections -= 1
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        if hook_client.peer(writer.get_extra_info("socket")) not in (None, os.geteuid()):
            self._measures.met("strangers")
            _log.warning("another user tried to ask this service; it was not answered")
            return None
        async with asyncio.timeout(_READ_TIMEOUT):
            request = read_head(await reader.readuntil(b"\n"))
            if (told := self._asked.get(request.agent)) is not None:
                return told()
            if self._full(request.length):
                self._measures.met("refused")
                return None
            self._bytes += request.length
            try:
                payload = await reader.readexactly(request.length)
            except BaseException:
                self._bytes -= request.length
                raise
        return await self._worked(request, payload)

    def _full(self, length: int) -> bool:
        return (
            len(self._working) >= MOST_REQUESTS
            or self._connections > 4 * MOST_REQUESTS
            or self._bytes + length > MOST_WAITING_BYTES
        )

    async def _worked(self, request: Request, payload: bytes) -> bytes | None:
        """The responder's answer, or nothing at the deadline; the work goes on in either case."""
        began = self.last_request = time.monotonic()
        work = asyncio.get_running_loop().run_in_executor(self._pool, self._work, request, payload)
        self._working.add(work)
        work.add_done_callback(lambda done: self._finished(done, request, began, event_name(payload)))
        done, _ = await asyncio.wait({work}, timeout=max(0.0, request.expires - time.monotonic()))
        if not done:
            self._measures.met("late")
            return b""
        await self._until_warm(request.expires - time.monotonic())
        return work.result()

    async def _until_warm(self, left: float) -> None:
        """Let a session that begins, which has time, wait with us: then its first prompt is quick."""
        if left > _PATIENT and not self._warm.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._warm.wait(), left - _MARGIN)

    def _finished(self, work: asyncio.Future[bytes], request: Request, began: float, event: str) -> None:
        self._working.discard(work)
        self._bytes -= request.length
        if not work.cancelled() and work.exception() is None:
            self._measures.took(event, (time.monotonic() - began) * 1000)

    def _work(self, request: Request, payload: bytes) -> bytes:
        """In a thread: answer, or only store what nobody waits for any more; what fails is kept for later."""
        try:
            responder = cast("Answering", self._responder)
            left = request.expires - time.monotonic()
            if left <= 0:
                # Its hook has put it into the spool, too: the same words, so that it is stored once.
                responder.capture(aside.redacted(payload), moment(request.at))
                return b""
            return _short(responder.respond(payload, moment(request.at), left * 1000))
        except Exception as error:  # noqa: BLE001  (whatever it was, the event must not be lost)
            self._measures.met("failed")
            _log.warning("an event could not be answered", error=f"{type(error).__name__}: {error}")
            self._keep(request.at, payload)
            return b""


def _short(answer: bytes) -> bytes:
    """An answer that an agent takes whole; one that is too long is a mistake, and is not given."""
    if len(answer.decode()) <= MOST_CHARACTERS:
        return answer
    _log.warning("an answer was too long and was not given", characters=len(answer.decode()))
    return b""
