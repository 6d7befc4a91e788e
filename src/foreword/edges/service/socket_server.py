"""The Unix socket of the service: one request a connection, answered by its deadline or with nothing.

A request is `FWD1 <deadline ms> <at> <agent> <length>` on a line and so many bytes; the answer is `FWD1
<length>` on a line and so many bytes. Knows the protocol and the limits, and nothing of what they
carry: events go to a responder, in a few threads; other things that can be asked have a name.

Another user is refused. So is a request for which there is no room: its hook keeps the event. What is still
being worked on at its deadline is answered with nothing and worked on to the end, and what fails is kept for
later, so that no event is lost to a slow or a broken store.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from foreword.edges.hook_client import MAX_EVENT_BYTES, PROTOCOL, peer_user
from foreword.edges.service.measures import event_name
from foreword.edges.service.spool import parse_time
from foreword.edges.shared.hook_fallback import redact_payload
from foreword.log import get_logger

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from foreword.edges.service.measures import Measures
    from foreword.edges.service.responder import Responder

_log = get_logger("foreword.service")

THREADS = 2
"""How many events are worked on at once: one while another encodes; more would make all of them late."""
MAX_REQUESTS = 32
_MAX_CONNECTIONS = 4 * MAX_REQUESTS
_MAX_WAITING_BYTES = 8 * MAX_EVENT_BYTES
_MAX_DEADLINE_MS = 30_000
_READ_SECONDS = 5.0
_PATIENT_SECONDS = 0.5
_ANSWER_MARGIN_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Request:
    """What the first line says: until when, since when, from whom, and how much follows."""

    expires: float
    at: str
    agent: str
    length: int


def read_head(line: bytes) -> Request:
    """Read the first line of a request; ValueError when it is not one."""
    word, deadline, at, agent, length = line.decode().rstrip("\n").split(" ")
    if word.encode() != PROTOCOL or not agent or not length.isdecimal():
        raise ValueError("not our protocol")
    parse_time(at)
    if int(length) > MAX_EVENT_BYTES:
        raise ValueError(f"{length} bytes are too many")
    wait = min(max(float(deadline), 0.0), _MAX_DEADLINE_MS)
    return Request(time.monotonic() + wait / 1000, at, agent, int(length))


class SocketServer:
    """Answers on a listening socket. All of it runs in one loop, but for the responder's work."""

    def __init__(
        self,
        measures: Measures,
        answers: Mapping[str, Callable[[], bytes]],
        spool_event: Callable[[str, bytes], object],
        warm: asyncio.Event,
    ) -> None:
        self._measures = measures
        self._answers = answers
        self._spool_event = spool_event
        self._warm = warm
        self._responder: Responder | None = None
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

    async def start(self, listening: socket.socket, responder: Responder) -> None:
        """Answer from now on."""
        self._responder = responder
        self._server = await asyncio.start_unix_server(self._handle_connection, sock=listening, limit=1 << 20)

    async def stop(self, seconds: float) -> None:
        """Take no more requests, and finish within so many seconds those that were taken."""
        if self._server is not None:
            self._server.close()
        if self._working:
            await asyncio.wait(set(self._working), timeout=seconds)
        if self._working:
            _log.warning("stopped before every request was finished", requests=len(self._working))
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: its first line, its event, the answer. Hung up on, a hook keeps its event."""
        self._connections += 1
        try:
            async with asyncio.timeout(_READ_SECONDS + _MAX_DEADLINE_MS / 1000):
                answer = await self._read_and_answer(reader, writer)
                if answer is not None:
                    writer.write(b"%s %d\n%s" % (PROTOCOL, len(answer), answer))
                    await writer.drain()
        except (ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            self._measures.count_trouble("malformed")
        except ConnectionError:
            pass  # the hook left; what it said has been heard
        finally:
            self._connections -= 1
            writer.close()

    async def _read_and_answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes | None:
        """Read a request and give its answer; None for one that is not taken."""
        if peer_user(writer.get_extra_info("socket")) not in (None, os.geteuid()):
            self._measures.count_trouble("strangers")
            _log.warning("another user tried to ask this service; it was not answered")
            return None
        async with asyncio.timeout(_READ_SECONDS):
            request = read_head(await reader.readuntil(b"\n"))
            if (named := self._answers.get(request.agent)) is not None:
                return named()
            if self._has_no_room_for(request.length):
                self._measures.count_trouble("refused")
                return None
            self._bytes += request.length
            try:
                payload = await reader.readexactly(request.length)
            except BaseException:
                self._bytes -= request.length
                raise
        return await self._respond_by_deadline(request, payload)

    def _has_no_room_for(self, length: int) -> bool:
        """Whether so many bytes more would be too much work at once."""
        return (
            len(self._working) >= MAX_REQUESTS
            or self._connections > _MAX_CONNECTIONS
            or self._bytes + length > _MAX_WAITING_BYTES
        )

    async def _respond_by_deadline(self, request: Request, payload: bytes) -> bytes | None:
        """The responder's answer, or nothing at the deadline; the work goes on in either case."""
        began = self.last_request = time.monotonic()
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._pool, self._respond_or_store, request, payload)
        self._working.add(work)
        work.add_done_callback(
            lambda done: self._release_and_measure(done, request, began, event_name(payload))
        )
        done, _ = await asyncio.wait({work}, timeout=max(0.0, request.expires - time.monotonic()))
        if not done:
            self._measures.count_trouble("late")
            return b""
        await self._wait_until_warm(request.expires - time.monotonic())
        return work.result()

    async def _wait_until_warm(self, seconds_left: float) -> None:
        """Let a session that begins, which has time, wait for the encoder: then its first prompt is quick."""
        if seconds_left > _PATIENT_SECONDS and not self._warm.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._warm.wait(), seconds_left - _ANSWER_MARGIN_SECONDS)

    def _release_and_measure(
        self, work: asyncio.Future[bytes], request: Request, began: float, event: str
    ) -> None:
        self._working.discard(work)
        self._bytes -= request.length
        if not work.cancelled() and work.exception() is None:
            self._measures.count_request(event, (time.monotonic() - began) * 1000)

    def _respond_or_store(self, request: Request, payload: bytes) -> bytes:
        """In a thread: answer, or only store what nobody waits for any more; what fails goes to the spool."""
        try:
            responder = cast("Responder", self._responder)
            left = request.expires - time.monotonic()
            if left <= 0:
                # Its hook has put it into the spool, too: the same text, so that it is stored once.
                responder.capture(redact_payload(payload), parse_time(request.at))
                return b""
            return responder.respond(payload, parse_time(request.at), left * 1000)
        except Exception as error:  # noqa: BLE001  (whatever it was, the event must not be lost)
            self._measures.count_trouble("failed")
            _log.warning("an event could not be answered", error=f"{type(error).__name__}: {error}")
            self._spool_event(request.at, payload)
            return b""
