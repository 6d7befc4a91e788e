"""The HTTP side of a service: the application of `edges.http` under uvicorn, in the service's own loop.

Loads its packages in a thread, after hooks can be answered, since they take a second or two; without them a
service answers hooks alone. Knows when it was last used, so that a service in use does not leave.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable

    from foreword.edges.service.run_folder import RunFolder
    from foreword.engine.context_engine import ContextEngine

_log = logging.getLogger("foreword.service")


class Loopback:
    """HTTP on 127.0.0.1, while the service lasts."""

    def __init__(
        self, port: int, run: RunFolder, status: Callable[[], dict[str, Any]], metrics: Callable[[], str]
    ) -> None:
        self._wanted = port
        self._run = run
        self._status = status
        self._metrics = metrics
        self.port: int | None = None
        self.requests = 0
        self.last_request = time.monotonic()

    async def serve(self, engine: ContextEngine, stopping: asyncio.Event) -> None:
        """Answer until the service stops, where the packages for it are installed and the port is free."""
        if stopping.is_set():
            return
        try:
            server, listening = await asyncio.to_thread(self._loaded, engine)
        except ImportError as error:
            _log.info("no HTTP (%s); for it, run: pip install 'foreword[server]'", error)
            return
        except OSError as error:
            _log.warning("no HTTP: port %d cannot be used: %s", self._wanted, error)
            return
        except Exception:  # noqa: BLE001  (a mistake over there must not stop the hooks)
            _log.exception("no HTTP: the application cannot be made; hooks are answered all the same")
            return
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        self.port = listening.getsockname()[1]
        self._run.announce(self.port)
        stopped = asyncio.create_task(stopping.wait())
        await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        stopped.cancel()
        await asyncio.wait({serving})
        self.port = None
        self._run.http.unlink(missing_ok=True)
        if not stopping.is_set():
            _log.warning("HTTP has ended before its time: %s", serving.exception() or "its log says why")

    def _loaded(self, engine: ContextEngine) -> tuple[Any, socket.socket]:
        from foreword.edges.http.application import application, listen, server

        listening = listen(self._wanted)
        answering = application(
            engine,
            token=self._run.token(),
            port=listening.getsockname()[1],
            status=self._status,
            metrics=self._metrics,
        )
        serving: Any = server(cast("Any", self._counted(answering)))
        serving.capture_signals = contextlib.nullcontext  # the service has its own
        return serving, listening

    def _counted(self, application: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        """The application, with an eye on its use."""

        async def counted(scope: dict[str, Any], receive: object, send: object) -> None:
            if scope["type"] != "http":
                await application(scope, receive, send)
                return
            self.requests += 1
            try:
                await application(scope, receive, send)
            finally:
                self.requests -= 1
                self.last_request = time.monotonic()

        return counted
