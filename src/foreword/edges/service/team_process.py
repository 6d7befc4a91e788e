"""The service of a team: HTTP with TLS for many machines, in the foreground, until it is stopped.

On SIGTERM it reports that it is not ready, so that a balancer sends no more requests, finishes those in work,
and ends. On SIGHUP it reads its certificate again. It has no socket for hooks: those of laptops come through
their own services.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import foreword
from foreword.edges.service.loopback import SERVER_SETTINGS
from foreword.edges.service.measures import resident_bytes
from foreword.edges.service.process import set_up_log_file
from foreword.edges.shared.private_files import make_private_folder
from foreword.errors import ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import uvicorn

    from foreword.config import Settings
    from foreword.engine.context_engine import ContextEngine

_log = logging.getLogger("foreword.team")

_MAX_CONNECTIONS = 1_000
_FINISH_SECONDS = 20
_GOODBYE_SECONDS = 0.5
"""For how many seconds, once every request is answered, clients are given to close their connections."""


@dataclass(frozen=True, slots=True)
class TeamOptions:
    """Where to listen, with which certificate, and how many seconds to report unready before stopping."""

    host: str = "127.0.0.1"
    port: int = 8443
    certificate: Path | None = None
    key: Path | None = None
    drain_seconds: float = 0.0


def run_team_service(
    options: TeamOptions,
    build_application: Callable[..., Any],
    settings: Settings,
    announce: Callable[[str], None],
) -> int:
    """Serve a team until stopped; returns 0. `announce` gets the address once the service listens."""
    _check_certificate_options(options)
    os.umask(0o077)
    set_up_log_file(_make_team_log_path(settings), settings.log_level)
    return asyncio.run(_TeamService(options, build_application, settings, announce).serve())


def _make_team_log_path(settings: Settings) -> Path:
    make_private_folder(str(settings.home), "team")
    return settings.home / "team" / "service.log"


def _check_certificate_options(options: TeamOptions) -> None:
    """Raise ValidationError if the certificate cannot be used, or is missing where others can listen in."""
    if (options.certificate is None) != (options.key is None):
        raise ValidationError("give both --cert and --key, or neither")
    if options.certificate is None and options.host not in ("127.0.0.1", "::1", "localhost"):
        raise ValidationError(
            f"{options.host} can be reached by others: give --cert and --key, "
            "or listen on 127.0.0.1 behind a proxy that speaks TLS"
        )
    if options.certificate is not None and options.key is not None:
        files = (options.certificate, options.key)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files, _refuse_to_ask_for_a_pass_phrase)
        except (OSError, ssl.SSLError) as error:
            message = f"{files[0]} and {files[1]} are not a certificate and its key, in PEM: {error}"
            raise ValidationError(message) from error


def _refuse_to_ask_for_a_pass_phrase() -> str:
    """Called for an encrypted key; without this, OpenSSL would ask at a terminal, and the service wait."""
    raise ValidationError("the key has a pass phrase; write it without one: openssl pkey -in KEY -out NEW")


class _TeamService:
    """One run of a team's service."""

    def __init__(
        self,
        options: TeamOptions,
        build_application: Callable[..., Any],
        settings: Settings,
        announce: Callable[[str], None],
    ) -> None:
        self._options = options
        self._build_application = build_application
        self._settings = settings
        self._announce = announce
        self._began = time.monotonic()
        self._ready = False
        self._stopping = asyncio.Event()

    async def serve(self) -> int:
        """Open the engine, answer until stopped, then close everything; returns the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        with contextlib.closing(await asyncio.to_thread(self._open_warm_engine)) as engine:
            listening = _listen(self._options.host, self._options.port)
            server = self._build_server(engine, listening.getsockname()[1])
            loop.add_signal_handler(signal.SIGHUP, self._reload_certificate, server)
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            self._ready = True
            self._announce(self._format_address(listening))
            stopping = asyncio.create_task(self._stopping.wait())
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            self._ready = False
            stopping.cancel()
            if not serving.done():
                await asyncio.sleep(self._options.drain_seconds)
                await _shut_down_server(server, serving)
            await serving
        return 0

    def _open_warm_engine(self) -> ContextEngine:
        from foreword.engine.context_engine import ContextEngine

        engine = ContextEngine(settings=self._settings)
        engine.preview_context("Which words come first?", "foreword/warm-up")  # loads the models
        return engine

    def _build_server(self, engine: ContextEngine, port: int) -> uvicorn.Server:
        import uvicorn

        application = self._build_application(
            engine, home=self._settings.home, port=port, status=self.status, is_ready=lambda: self._ready
        )
        config = uvicorn.Config(
            application,
            **SERVER_SETTINGS,
            limit_concurrency=_MAX_CONNECTIONS,
            timeout_graceful_shutdown=_FINISH_SECONDS,
            ssl_certfile=self._options.certificate,
            ssl_keyfile=self._options.key,
        )
        config.load()  # now, so that a signal finds the certificate
        server = uvicorn.Server(config)
        cast("Any", server).capture_signals = contextlib.nullcontext  # our own handlers let it drain first
        return server

    def _reload_certificate(self, server: uvicorn.Server) -> None:
        """Use a renewed certificate for new connections; one that cannot be used is logged and left alone."""
        if server.config.ssl is None:
            return
        try:
            _check_certificate_options(self._options)
        except ValidationError as error:
            _log.error("the certificate was not read again: %s", error)
            return
        server.config.ssl.load_cert_chain(cast("Path", self._options.certificate), self._options.key)
        _log.warning("the certificate was read again")

    def status(self) -> dict[str, Any]:
        """The state of the service and its memory, as values for JSON."""
        return {
            "version": foreword.__version__,
            "pid": os.getpid(),
            "ready": self._ready,
            "uptime_seconds": round(time.monotonic() - self._began, 1),
            "resident_bytes": resident_bytes(),
        }

    def _format_address(self, listening: socket.socket) -> str:
        scheme = "http" if self._options.certificate is None else "https"
        host = f"[{self._options.host}]" if ":" in self._options.host else self._options.host
        return f"{scheme}://{host}:{listening.getsockname()[1]}"


async def _shut_down_server(server: uvicorn.Server, serving: asyncio.Task[None]) -> None:
    """Let requests end, then drop what is left: over TLS, idle clients do not close their connections."""
    server.should_exit = True
    was_idle = False
    while not serving.done():
        await asyncio.wait({serving}, timeout=_GOODBYE_SECONDS)
        is_idle = not server.server_state.tasks
        if is_idle and was_idle:  # the last answers have had time to leave
            for connection in tuple(server.server_state.connections):
                cast("Any", connection).transport.abort()
        was_idle = is_idle


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise ValidationError(f"cannot listen on {host} port {port}: {error.strerror}") from error
