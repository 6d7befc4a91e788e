"""The Unix socket of the service: one request for each connection, answered by its deadline or with nothing.

A request is `FWD2 <deadline ms> <at> <agent> <length>` on a line and so many bytes. The answer is `FWD2
<length>` on a line and so many bytes; a line `FWD2 kept` before it says that the event is on the disk. A hook
that has passed the answer on sends the line `shown`. This module knows the protocol and the limits, and does
not look into events: they go to the intake. Other requests, such as `status`, are known by name.

Another user is refused. So is a request when too many are in work: its hook then spools the event.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from typing import TYPE_CHECKING, cast

from foreword.edges.hook_client import KEPT_LINE, MAX_EVENT_BYTES, PROTOCOL, SHOWN_LINE, find_peer_user_id
from foreword.edges.service.intake import Request
from foreword.edges.service.spool import parse_event_time
from foreword.log import get_logger

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from foreword.edges.service.intake import EventIntake
    from foreword.edges.service.measures import ServiceMeasures

_log = get_logger("foreword.service")

MAX_REQUESTS = 32
_MAX_CONNECTIONS = 4 * MAX_REQUESTS
_MAX_WAITING_BYTES = 8 * MAX_EVENT_BYTES
_MAX_DEADLINE_MS = 30_000
_READ_SECONDS = 5.0
_PATIENT_SECONDS = 0.5
_ANSWER_MARGIN_SECONDS = 0.1


def parse_request_line(line: bytes) -> Request:
    """The request that this first line announces; ValueError if it is not of our protocol."""
    word, deadline, at, agent, length = line.decode().rstrip("\n").split(" ")
    if word.encode() != PROTOCOL or not agent or not length.isdecimal():
        raise ValueError("not our protocol")
    parse_event_time(at)
    if int(length) > MAX_EVENT_BYTES:
        raise ValueError(f"{length} bytes are too many")
    wait = min(max(float(deadline), 0.0), _MAX_DEADLINE_MS)
    return Request(time.monotonic() + wait / 1000, at, agent, int(length))


class SocketServer:
    """Answers requests on a listening socket, all in one event loop."""

    def __init__(
        self, measures: ServiceMeasures, answers: Mapping[str, Callable[[], bytes]], warm: asyncio.Event
    ) -> None:
        self._measures = measures
        self._answers = answers
        self._warm = warm
        self._intake: EventIntake | None = None
        self._server: asyncio.Server | None = None
        self._connections = 0
        self._bytes_to_read = 0
        self._started_at = time.monotonic()

    @property
    def in_flight(self) -> int:
        """How many events are being worked on."""
        return self._intake.in_flight if self._intake else 0

    @property
    def last_request(self) -> float:
        """The time of the last event, on the monotonic clock."""
        return self._intake.last_request if self._intake else self._started_at

    async def start(self, listening: socket.socket, intake: EventIntake) -> None:
        """Begin to answer on a listening socket."""
        self._intake = intake
        self._server = await asyncio.start_unix_server(self._handle_connection, sock=listening, limit=1 << 20)

    async def stop(self, seconds: float) -> None:
        """Accept no more requests, and wait up to so many seconds for those in work."""
        if self._server is not None:
            self._server.close()
        if self._intake is not None:
            await self._intake.finish(seconds)

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection and close it; a hook that gets no answer spools its event."""
        self._connections += 1
        try:
            async with asyncio.timeout(2 * _READ_SECONDS + _MAX_DEADLINE_MS / 1000):
                await self._read_and_answer(reader, writer)
        except (ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            self._measures.count_trouble("malformed")
        except ConnectionError:
            pass  # the hook left; its event is in work all the same
        finally:
            self._connections -= 1
            writer.close()

    async def _read_and_answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read a request and answer it; return without an answer if it is refused."""
        if find_peer_user_id(writer.get_extra_info("socket")) not in (None, os.geteuid()):
            self._measures.count_trouble("strangers")
            _log.warning("another user tried to ask this service; it was not answered")
            return
        async with asyncio.timeout(_READ_SECONDS):
            request = parse_request_line(await reader.readuntil(b"\n"))
            if (named := self._answers.get(request.agent)) is not None:
                await _send(writer, named())
                return
            if self._would_exceed_bytes_in_work(request.length):
                self._measures.count_trouble("refused")
                return
            payload = await self._read_payload(reader, request.length)
        await self._answer_event(request, payload, reader, writer)

    async def _read_payload(self, reader: asyncio.StreamReader, length: int) -> bytes:
        self._bytes_to_read += length
        try:
            return await reader.readexactly(length)
        finally:
            self._bytes_to_read -= length

    def _would_exceed_bytes_in_work(self, length: int) -> bool:
        """Whether a request of `length` bytes is too much beside those in work."""
        intake = cast("EventIntake", self._intake)
        return (
            intake.in_flight >= MAX_REQUESTS
            or self._connections > _MAX_CONNECTIONS
            or self._bytes_to_read + intake.bytes_in_work + length > _MAX_WAITING_BYTES
        )

    async def _answer_event(
        self, request: Request, payload: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Have an event answered, send the reply, and record whether it arrived."""

        async def report_kept() -> None:
            writer.write(KEPT_LINE + b"\n")
            await writer.drain()

        intake = cast("EventIntake", self._intake)
        reply = await intake.reply_after_saving_event(request, payload, report_kept)
        delivered = False
        try:
            await self._wait_for_encoder_if_time(request.expires - time.monotonic())
            await _send(writer, reply.body)
            delivered = bool(reply.body) and await _does_hook_confirm_delivery(reader)
        finally:
            intake.note_delivery(reply, delivered=delivered)

    async def _wait_for_encoder_if_time(self, seconds_left: float) -> None:
        """Wait for the encoder if much time is left, as when a session starts: then its prompt is quick."""
        if seconds_left > _PATIENT_SECONDS and not self._warm.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._warm.wait(), seconds_left - _ANSWER_MARGIN_SECONDS)


async def _send(writer: asyncio.StreamWriter, answer: bytes) -> None:
    writer.write(b"%s %d\n%s" % (PROTOCOL, len(answer), answer))
    await writer.drain()


async def _does_hook_confirm_delivery(reader: asyncio.StreamReader) -> bool:
    """Whether the hook confirms that it has passed the answer on; False if it leaves without that."""
    try:
        async with asyncio.timeout(_READ_SECONDS):
            return await reader.readline() == SHOWN_LINE
    except (TimeoutError, ConnectionError, ValueError):
        return False
