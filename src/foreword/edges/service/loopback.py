"""The HTTP side of a service: an application under uvicorn, on 127.0.0.1, in the service's own event loop.

The application is built in a thread, after hooks can be answered, since its packages take a second or two to
load; if they are not installed, the service answers only hooks. The time of the last request is recorded, so
that a service in use does not stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from typing import TYPE_CHECKING, Any, cast

from foreword.edges.service.measures import prometheus_text
from foreword.edges.shared.warm_up import exempt_loaded_objects_from_gc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import uvicorn

    from foreword.edges.service.run_folder import RunFolder
    from foreword.engine.context_engine import ContextEngine

_log = logging.getLogger("foreword.service")

SERVER_SETTINGS: dict[str, Any] = {
    "loop": "asyncio",
    "ws": "none",
    "lifespan": "on",
    "log_config": None,
    "log_level": "warning",
    "access_log": False,
    "proxy_headers": False,
    "server_header": False,
}
"""What every server of ours tells uvicorn: no access log, no WebSockets, no trust in proxies."""


class LoopbackServer:
    """HTTP on 127.0.0.1 while the service runs."""

    def __init__(
        self,
        port: int,
        run: RunFolder,
        build_application: Callable[..., Any],
        status: Callable[[], dict[str, Any]],
    ) -> None:
        self._wanted_port = port
        self._run = run
        self._build_application = build_application
        self._status = status
        self.port: int | None = None
        self.requests = 0
        self.last_request = time.monotonic()

    async def serve(self, engine: ContextEngine, stopping: asyncio.Event) -> None:
        """Answer until the service stops; log why if the packages are missing or the port is not free."""
        if stopping.is_set():
            return
        try:
            server, listening = await asyncio.to_thread(self._build_server_and_socket, engine)
        except ImportError as error:
            _log.info("no HTTP (%s); for it, run: pip install 'foreword[server]'", error)
            return
        except OSError as error:
            _log.warning("no HTTP: port %d cannot be used: %s", self._wanted_port, error)
            return
        except Exception:  # noqa: BLE001  (a mistake in the application must not stop the hooks)
            _log.exception("no HTTP: the application cannot be made; hooks are answered all the same")
            return
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        self.port = listening.getsockname()[1]
        self._run.write_http_address(self.port)
        stopped = asyncio.create_task(stopping.wait())
        await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        stopped.cancel()
        await asyncio.wait({serving})
        self.port = None
        self._run.http_file.unlink(missing_ok=True)
        if not stopping.is_set():
            _log.warning("HTTP has ended before its time: %s", serving.exception() or "its log says why")

    def _build_server_and_socket(self, engine: ContextEngine) -> tuple[uvicorn.Server, socket.socket]:
        """The server of the ASGI application, and the socket that it is to listen on."""
        listening = listen_on_loopback(self._wanted_port, self._run.read_last_port())
        port = listening.getsockname()[1]
        try:
            application = self._build_application(
                engine,
                token=self._run.read_or_create_token(),
                port=port,
                status=self._status,
                metrics=lambda: prometheus_text(self._status()),
            )
            server = make_uvicorn_server(self._wrap_to_count_requests(application))
        except BaseException:
            listening.close()
            raise
        cast("Any", server).capture_signals = contextlib.nullcontext  # the service handles signals itself
        exempt_loaded_objects_from_gc()
        return server, listening

    def _wrap_to_count_requests(
        self, application: Callable[..., Awaitable[None]]
    ) -> Callable[..., Awaitable[None]]:
        """The application, wrapped so that open requests are counted and the time of the last is recorded."""

        async def track_requests(scope: dict[str, Any], receive: object, send: object) -> None:
            if scope["type"] != "http":
                await application(scope, receive, send)
                return
            self.requests += 1
            try:
                await application(scope, receive, send)
            finally:
                self.requests -= 1
                self.last_request = time.monotonic()

        return track_requests


def listen_on_loopback(port: int = 0, last_port: int = 0) -> socket.socket:
    """A listening socket on 127.0.0.1 only; port 0 means the last port if that is free, else any."""
    if not port:
        with contextlib.suppress(OSError, OverflowError):
            return socket.create_server(("127.0.0.1", last_port))
    return socket.create_server(("127.0.0.1", port))


def make_uvicorn_server(application: Callable[..., Any]) -> uvicorn.Server:
    """A uvicorn server with limited connections, without an access log, WebSockets or trust in proxies."""
    import uvicorn

    from foreword.edges.service.http_connections import MAX_CONNECTIONS, IdleLimitingProtocol

    return uvicorn.Server(
        uvicorn.Config(
            application,
            http=IdleLimitingProtocol,
            **SERVER_SETTINGS,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=5,
        )
    )
