"""The proxy as an ASGI application: it adds context to requests, relays answers, and stores both.

If anything fails on our side, the request is forwarded unchanged, and a header of the answer says why. Errors
of the API are relayed unchanged. A request that the API refuses with a context is sent once more without it.
Answers are relayed piece by piece as they come; if the application disconnects, the request is cancelled.
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

import httpx2

from foreword.edges.proxy.answers import make_answer_reader
from foreword.edges.proxy.apis import find_api
from foreword.edges.proxy.asker import identify_asker, with_derived_session
from foreword.edges.proxy.memory import FoundContext
from foreword.edges.proxy.upstream import make_answer_headers, select_request_headers
from foreword.edges.proxy.window import room_for_context
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping, Sequence

    from foreword.edges.proxy.apis import Body, UpstreamApi
    from foreword.edges.proxy.asker import ProxyAsker
    from foreword.edges.proxy.memory import ProxyMemory
    from foreword.edges.proxy.upstream import Headers, Upstream
    from foreword.text.tokens import Tokenizer
    from foreword.types import Turn

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_log = get_logger("foreword.proxy")

RECEIPT_HEADER, NOTE_HEADER = "x-foreword-receipt", "x-foreword-note"
MAX_READ_BYTES = 64_000_000
"""A request with more bytes is forwarded unchanged, without context."""

_REFUSAL_STATUSES = frozenset({400, 413, 422})
"""Statuses with which an API refuses a request, perhaps because of our context."""

_THREADS = 8
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """The defaults for requests that name no workspace, session or user, and the limits of a context."""

    defaults: ProxyAsker
    max_tokens: int = 1000
    deadline_ms: float = 500.0
    window: int = 0
    """The model's window; 0 goes by its name."""


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A request that may get a context: its API, its body, its turns, and who asks."""

    api: UpstreamApi
    body: Body
    turns: list[Turn]
    asker: ProxyAsker


class ProxyApplication:
    """The proxy for one upstream. It must run behind the guard."""

    def __init__(
        self, upstream: Upstream, memory: ProxyMemory, tokenizer: Tokenizer, options: ProxyOptions
    ) -> None:
        self._upstream = upstream
        self._memory = memory
        self._tokenizer = tokenizer
        self._options = options
        self._threads = ThreadPoolExecutor(_THREADS, "foreword-proxy")
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._remember_tasks: dict[asyncio.Task[None], ProxyAsker] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or handle the server's start and end."""
        if scope["type"] == "lifespan":
            await self._follow_lifespan(receive, send)
            return
        api = find_api(scope["method"], scope["path"])
        client = _Client(scope, receive, send)
        if api is None:
            await client.run_while_connected(self._forward_unchanged(client, client.stream_body()))
            return
        body = await client.read_body()
        if body is None:
            await client.run_while_connected(self._forward_unchanged(client, client.stream_body()))
        elif not client.is_gone:
            await client.run_while_connected(self._answer_with_context(client, api, body))

    # Requests that are forwarded unchanged

    async def _forward_unchanged(self, client: _Client, body: AsyncIterator[bytes]) -> None:
        headers = select_request_headers(client.headers, is_read=False)
        response = await self._ask_upstream(client, headers, body)
        if response is None:
            return
        try:
            await client.start_response(response.status_code, make_answer_headers(response.headers.raw, {}))
            await self._relay_body(client, response)
        finally:
            await response.aclose()

    # Requests that may get a context

    async def _answer_with_context(self, client: _Client, api: UpstreamApi, body: bytes) -> None:
        exchange, note = await self._read_exchange_or_note(client, api, body)
        found = await self._find_context(exchange) if exchange else FoundContext(note=note)
        sent = _add_context_to_body(exchange, found.text) if exchange and found.text else None
        answered = await self._ask_retrying_without_context(client, sent or body, body)
        if answered is None:
            return
        response, was_refused = answered
        ours = {NOTE_HEADER: found.note, RECEIPT_HEADER: found.receipt_id}
        if was_refused:
            ours = {NOTE_HEADER: "the API refused the context; the request was sent without it"}
        try:
            await self._relay_and_remember(client, response, exchange, ours)
        finally:
            await response.aclose()

    async def _read_exchange_or_note(
        self, client: _Client, api: UpstreamApi, body: bytes
    ) -> tuple[_Exchange | None, str]:
        """The request as an exchange, or None and a note why it cannot be read."""
        try:
            headers, defaults = client.headers_by_name(), self._options.defaults
            return await self._run_in_thread(_read_exchange, headers, api, body, defaults), ""
        except Exception as error:  # noqa: BLE001  (the request goes on as it came)
            return None, _log_failure_and_make_note("a request was passed on as it came", error)

    async def _find_context(self, exchange: _Exchange) -> FoundContext:
        """The context, or a note why there is none, for example because it was not found in time."""
        try:
            async with asyncio.timeout(self._options.deadline_ms / 1000):
                await self._wait_until_earlier_turns_stored(exchange.asker)
                return await self._run_in_thread(self._find_context_that_fits, exchange)
        except TimeoutError:
            _log.warning("no context for a request", problem="it was not found in time")
            return FoundContext(note=f"no context: it took longer than {self._options.deadline_ms:g} ms")
        except Exception as error:  # noqa: BLE001  (as above)
            return FoundContext(note=_log_failure_and_make_note("no context for a request", error))

    def _find_context_that_fits(self, exchange: _Exchange) -> FoundContext:
        room = room_for_context(
            exchange.api,
            exchange.body,
            exchange.turns,
            self._options.max_tokens,
            self._tokenizer,
            self._options.window,
        )
        return self._memory.find_context(exchange.asker, exchange.turns, room)

    async def _ask_retrying_without_context(
        self, client: _Client, body_with_context: bytes, body: bytes
    ) -> tuple[httpx2.Response, bool] | None:
        """The answer, and whether it is to the request without its context; None if there is none."""
        headers = select_request_headers(client.headers, is_read=True)
        response = await self._ask_upstream(client, headers, body_with_context)
        if response is None or body_with_context is body or response.status_code not in _REFUSAL_STATUSES:
            return None if response is None else (response, False)
        await response.aclose()
        _log.warning("the API refused a request with context", status=response.status_code)
        response = await self._ask_upstream(client, headers, body)
        return None if response is None else (response, True)

    async def _ask_upstream(
        self, client: _Client, headers: Headers, body: bytes | AsyncIterator[bytes]
    ) -> httpx2.Response | None:
        """The answer of the API; None if there is none, after the application got an error."""
        address = self._upstream.build_url(client.path, client.query)
        try:
            return await self._upstream.send(client.method, address, headers, body)
        except httpx2.TimeoutException as error:
            _log.warning("the upstream is silent", problem=type(error).__name__)
            await client.respond_with_error(
                504, "upstream_timeout", f"{self._upstream.url} gave no answer in time"
            )
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            _log.warning("the upstream cannot be reached", problem=type(error).__name__)
            await client.respond_with_error(
                502, "upstream_unreachable", f"{self._upstream.url} cannot be reached"
            )
        return None

    async def _relay_and_remember(
        self, client: _Client, response: httpx2.Response, exchange: _Exchange | None, ours: dict[str, str]
    ) -> None:
        """Relay an answer as it comes, and store it once it has ended; `ours` are headers to add."""
        await client.start_response(response.status_code, make_answer_headers(response.headers.raw, ours))
        if exchange is None or not response.is_success:
            await self._relay_body(client, response)
            return
        reader = make_answer_reader(exchange.api, response.headers)

        def read_piece(piece: bytes) -> None:
            try:
                if reader.feed(piece):  # before the end is sent, so that the next request waits for this
                    self._store_exchange_in_background(exchange, reader.turns())
            except Exception as error:  # noqa: BLE001  (the answer must reach the application)
                _log_failure_and_make_note("an answer was not understood", error)

        await self._relay_body(client, response, read_piece)

    async def _relay_body(
        self, client: _Client, response: httpx2.Response, read_piece: Callable[[bytes], None] = lambda _: None
    ) -> None:
        """Relay the body; `read_piece` gets each piece before it is sent, and an empty one at the end."""
        try:
            async for piece in response.aiter_raw():
                read_piece(piece)
                await client.send_piece(piece)
        except httpx2.HTTPError as error:
            _log.warning("the upstream broke off an answer", problem=type(error).__name__)
            return  # without an end, so that the application sees that the answer broke off
        read_piece(b"")
        await client.end_response()

    # Remembering

    def _store_exchange_in_background(self, exchange: _Exchange, answer: Sequence[Turn]) -> None:
        """Store the request's new turns and its answer in the background."""
        if not exchange.asker.has_session or not answer:
            return
        asker = with_derived_session(exchange.asker, [*exchange.turns, *answer])
        task = asyncio.create_task(self._remember(asker, exchange.turns, answer))
        self._remember_tasks[task] = asker
        task.add_done_callback(self._remember_tasks.pop)

    async def _wait_until_earlier_turns_stored(self, asker: ProxyAsker) -> None:
        """Wait until earlier turns of the same user or conversation are stored."""
        before = [task for task, other in self._remember_tasks.items() if asker.may_share_turns_with(other)]
        if before:
            await asyncio.wait(before)

    async def _remember(self, asker: ProxyAsker, turns: Sequence[Turn], answer: Sequence[Turn]) -> None:
        try:
            async with self._conversation_lock(asker):
                await self._run_in_thread(self._memory.remember, asker, turns, answer)
        except Exception as error:  # noqa: BLE001  (the answer has reached the application)
            _log_failure_and_make_note("an exchange was not remembered", error)

    # Locks, threads and the server's life

    def _conversation_lock(self, asker: ProxyAsker) -> asyncio.Lock:
        """The lock of a conversation, so that its exchanges are stored one at a time, in their order."""
        key = (asker.workspace, asker.session_id)
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        return lock

    def _run_in_thread(self, work: Callable[..., _Result], *arguments: object) -> asyncio.Future[_Result]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def _follow_lifespan(self, receive: Receive, send: Send) -> None:
        """Handle the server's start and end: at the end, finish storing and close the connections."""
        await receive()
        await self._run_in_thread(self._memory.warm_up)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if self._remember_tasks:
            await asyncio.wait(self._remember_tasks, timeout=10)
        await self._upstream.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        await send({"type": "lifespan.shutdown.complete"})


def _read_exchange(
    headers: dict[str, list[str]], api: UpstreamApi, body: bytes, defaults: ProxyAsker
) -> _Exchange:
    read = json.loads(body)
    if not isinstance(read, dict):
        raise TypeError("the body is no JSON object")
    turns = api.read_request_turns(read)
    return _Exchange(api, read, turns, identify_asker(headers, api, read, turns, defaults))


def _add_context_to_body(exchange: _Exchange, text: str) -> bytes | None:
    """The body with this context; None if it has no place for a context."""
    try:
        changed = exchange.api.with_context(exchange.body, text)
        return None if changed is None else json.dumps(changed, ensure_ascii=False).encode(errors="replace")
    except Exception as error:  # noqa: BLE001  (the request goes on as it came)
        _log_failure_and_make_note("a context was not added", error)
        return None


def _log_failure_and_make_note(what: str, error: Exception) -> str:
    """Log a failure, and return a note for a header, without the error's message, which may have secrets."""
    _log.warning(what, error=type(error).__name__, problem=str(error)[:200])
    return f"{what}: {type(error).__name__}"


class _Client:
    """The application's side of one request."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["raw_path"].decode("ascii") if scope.get("raw_path") else scope["path"]
        self.query: str = scope["query_string"].decode("ascii", "replace")
        self.headers: Headers = scope["headers"]
        self.is_gone = False
        self._receive = receive
        self._send = send
        self._read_pieces: list[bytes] = []
        self._body_read = asyncio.Event()

    def headers_by_name(self) -> dict[str, list[str]]:
        """The headers by name, in lower case, each with all its values."""
        named: dict[str, list[str]] = {}
        for name, value in self.headers:
            named.setdefault(name.decode("latin-1").lower(), []).append(value.decode("utf-8", "replace"))
        return named

    async def read_body(self) -> bytes | None:
        """The body; None if it is too large, and then `stream_body` still gives all of it."""
        length = 0
        async for piece in self._receive_pieces():
            self._read_pieces.append(piece)
            length += len(piece)
            if length > MAX_READ_BYTES:
                return None
        return b"".join(self._read_pieces)

    async def stream_body(self) -> AsyncIterator[bytes]:
        """The body, piece by piece."""
        for piece in self._read_pieces:
            yield piece
        async for piece in self._receive_pieces():
            yield piece

    async def _receive_pieces(self) -> AsyncIterator[bytes]:
        while not self._body_read.is_set():
            message = await self._receive()
            if message["type"] != "http.request":
                self.is_gone = True
                self._body_read.set()
                return
            if not message.get("more_body", False):
                self._body_read.set()
            if message.get("body"):
                yield message["body"]

    async def run_while_connected(self, work: Coroutine[Any, Any, None]) -> None:
        """Do some work, and cancel it if the application disconnects."""
        working, watching = asyncio.create_task(work), asyncio.create_task(self._wait_until_disconnected())
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watching.cancel()
            working.cancel()  # has no effect if it is done
        with suppress(asyncio.CancelledError):
            await working

    async def _wait_until_disconnected(self) -> None:
        await self._body_read.wait()
        while not self.is_gone:
            self.is_gone = (await self._receive())["type"] == "http.disconnect"

    async def start_response(self, status: int, headers: Headers) -> None:
        """Send the status and the headers."""
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def send_piece(self, piece: bytes) -> None:
        """Send a piece of the body."""
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def end_response(self) -> None:
        """Send the end of the body."""
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def respond_with_error(self, status: int, kind: str, message: str) -> None:
        """Answer with an error of our own, in the form that the APIs use."""
        body = json.dumps({"error": {"type": kind, "message": message}}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.start_response(status, headers)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})
