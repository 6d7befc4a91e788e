"""The service: one resident process a user and home, which answers hooks on a socket and HTTP on loopback.

It is started by the first hook that finds none, or by `foreword serve`. It stops when nothing has been asked
of it for a while, when its socket was taken away, or when the package it runs from was replaced. It listens
as soon as the store can be asked, has the encoder ready before the first prompt, and loads HTTP last. It owns
the engine; what answers events and HTTP is handed in.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import foreword
from foreword import config
from foreword.edges.service import measures, spool
from foreword.edges.service.intake import Intake
from foreword.edges.service.loopback import Loopback
from foreword.edges.service.run_folder import RunFolder
from foreword.edges.service.socket_server import SocketServer
from foreword.edges.shared.spool_files import make_reserve
from foreword.edges.shared.trouble import clear_start_failure, record_start_failure
from foreword.edges.shared.vector_requests import take_requests
from foreword.edges.shared.warm_up import warm_up_engine
from foreword.errors import ForewordError
from foreword.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.config import Settings
    from foreword.edges.service.responder import Responder
    from foreword.engine.context_engine import ContextEngine

    BuildResponder = Callable[[ContextEngine], Responder]
    BuildApplication = Callable[..., Any]

_log = logging.getLogger("foreword.service")

HOUSEKEEPING_SECONDS = 3.0
"""How many seconds pass between two looks into the spool and for reasons to stop."""
_STOP_SECONDS = 5.0
_LOCK_SECONDS = 10.0
_SWITCH_SECONDS = 0.001
"""How many seconds a thread runs before others may: one that imports or embeds must not hold up an answer."""
_QUIET_SECONDS, _MAX_QUIET_WAIT_SECONDS = 1.0, 10.0
_BACKUP_QUIET_SECONDS = 10.0
_LOG_BYTES, _LOG_FILES = 1_000_000, 3


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How to serve: on which port (0 is any), and how many idle minutes until it stops (0 is never)."""

    port: int = 0
    idle_minutes: float = 30.0


def read_service_options(arguments: Sequence[str]) -> ServiceOptions:
    """Options from `--port N --idle-minutes N`, as the hook and `foreword serve` start a service."""
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    return ServiceOptions(int(options.get("--port", "0")), float(options.get("--idle-minutes", "30")))


def run_service(
    options: ServiceOptions,
    build_responder: BuildResponder,
    build_application: BuildApplication | None,
    settings: Settings | None = None,
) -> int:
    """Serve until told to stop; gives 0, 1 when another process serves this home, 3 when it cannot.

    Without `build_application` there is no HTTP.
    """
    home = config.find_home() if settings is None else settings.home
    try:
        settings = config.load_settings() if settings is None else settings
        run = RunFolder(home)
        if not _acquire_or_await_lock(run):
            return 1
    except (ForewordError, OSError) as error:
        record_start_failure(str(home), str(error))
        raise
    os.umask(0o077)
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        set_up_log(run.log, settings.log_level)
        os.chdir(run.folder)  # and hold no folder of the agent that started us
        return asyncio.run(Service(options, settings, run, build_responder, build_application).serve())
    finally:
        run.withdraw()
        run.release()


def _acquire_or_await_lock(run: RunFolder) -> bool:
    """Take the lock; a process that holds it and is about to leave is waited for."""
    until = time.monotonic() + _LOCK_SECONDS
    while not run.acquire():
        if run.socket.exists() or time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


class Service:
    """Everything that runs while the lock is held."""

    def __init__(
        self,
        options: ServiceOptions,
        settings: Settings,
        run: RunFolder,
        build_responder: BuildResponder,
        build_application: BuildApplication | None,
    ) -> None:
        self._options = options
        self._settings = settings
        self._run = run
        self._build_responder = build_responder
        self._spool = settings.home / "spool"
        self._measures = measures.Measures()
        self._warm = asyncio.Event()
        self._stopping = asyncio.Event()
        self._package = _package_stamp()
        self._warned_of_little_room = False
        self._loopback = (
            Loopback(options.port, run, build_application, self.status) if build_application else None
        )
        answers = {"status": lambda: json.dumps(self.status()).encode()}
        self._socket = SocketServer(self._measures, answers, self._warm)

    # What it says of itself

    def status(self) -> dict[str, Any]:
        """How the service is, as plain values."""
        return {
            "version": foreword.__version__,
            "pid": os.getpid(),
            "home": str(self._settings.home),
            "warm": self._warm.is_set(),
            "resident_bytes": measures.resident_bytes(),
            "in_flight": self._socket.in_flight,
            "http_port": self._loopback.port if self._loopback else None,
            "spool": spool.measure_spool(self._spool),
            **self._measures.snapshot(),
        }

    # Its life

    async def serve(self) -> int:
        """From the first request to the last; gives the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._handle_signal, signal.Signals(number).name)
        try:
            engine, responder = await asyncio.to_thread(self._open_engine_and_responder)
            intake = Intake(self._settings.home, self._measures, responder)
            await self._socket.start(self._run.listen(), intake)
        except Exception as error:  # noqa: BLE001  (a damaged store, a foreign socket: it says what to do)
            _log.error("the service cannot run: %s", error)
            record_start_failure(str(self._settings.home), str(error))
            return 3
        clear_start_failure(str(self._settings.home))
        _log.info("serving %s as process %d", self._settings.home, os.getpid())
        working = asyncio.gather(
            self._run_housekeeping(engine, responder, intake), self._warm_up_then_serve_http(engine)
        )
        await self._stopping.wait()
        self._run.withdraw()
        await self._socket.stop(_STOP_SECONDS)
        await asyncio.wait({working}, timeout=_STOP_SECONDS)
        responder.close()
        await asyncio.to_thread(engine.close)
        _log.info("stopped")
        return 0

    def _handle_signal(self, name: str) -> None:
        if self._stopping.is_set():
            os._exit(1)  # told twice: at once, then; what was acknowledged is on the disk
        self._begin_stopping(name)

    def _begin_stopping(self, why: str) -> None:
        """Log why, and let everything that runs come to its end."""
        _log.info("stopping: %s", why)
        self._stopping.set()

    def _open_engine_and_responder(self) -> tuple[ContextEngine, Responder]:
        from foreword.engine.context_engine import ContextEngine

        engine = ContextEngine(settings=self._settings)
        return engine, self._build_responder(engine)

    async def _warm_up_then_serve_http(self, engine: ContextEngine) -> None:
        """What can wait until hooks are answered: first the encoder, then HTTP."""
        await asyncio.to_thread(warm_up_engine, engine)
        self._warm.set()
        if self._loopback is not None:
            await self._wait_until_hooks_are_quiet()
            await self._loopback.serve(engine, self._stopping)

    async def _wait_until_hooks_are_quiet(self) -> None:
        """Wait until no hook has asked for a moment, since importing what HTTP needs would slow it down."""
        until = time.monotonic() + _MAX_QUIET_WAIT_SECONDS
        while time.monotonic() < min(until, self._socket.last_request + _QUIET_SECONDS):
            if self._stopping.is_set():
                return
            await asyncio.sleep(_QUIET_SECONDS / 10)

    async def _run_housekeeping(self, engine: ContextEngine, responder: Responder, intake: Intake) -> None:
        """Every few seconds: see to what waits, the reserve and backups, and to reasons to stop."""
        while not self._stopping.is_set():
            await asyncio.to_thread(self._drain_spool, responder, intake)
            await asyncio.to_thread(responder.refresh_copies)
            await asyncio.to_thread(self._make_requested_vectors, engine)
            await self._back_up_if_due(engine)
            if why := self._find_reason_to_stop():
                self._begin_stopping(why)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), HOUSEKEEPING_SECONDS)

    async def _back_up_if_due(self, engine: ContextEngine) -> None:
        """Back up what is in use, once a day, while no hook asks for anything."""
        store = engine.store
        quiet_since = time.monotonic() - self._socket.last_request
        if isinstance(store, SqliteStore) and self._settings.backups and quiet_since > _BACKUP_QUIET_SECONDS:
            today = f"{datetime.now().astimezone():%Y-%m-%d}"
            for path in await asyncio.to_thread(store.back_up_daily, today, self._settings.backups):
                _log.info("backed up: %s", path)

    def _drain_spool(self, responder: Responder, intake: Intake) -> None:
        try:
            spool.drain(self._spool, responder.capture, intake.spooled_in_work)
            if not make_reserve(str(self._settings.home)) and not self._warned_of_little_room:
                self._warned_of_little_room = True
                _log.warning("the disk is nearly full: the reserve for events cannot be made")
        except OSError as error:
            _log.warning("the spool cannot be used: %s", error)

    def _make_requested_vectors(self, engine: ContextEngine) -> None:
        """Have the vectors made, in the background, that another process left to the service."""
        try:
            for workspace in take_requests(self._settings.home):
                engine.embed_pending(workspace, wait=False)
        except OSError as error:
            _log.warning("requests for vectors cannot be read: %s", error)

    def _find_reason_to_stop(self) -> str:
        """Why the service should stop now; empty when it should not."""
        if not self._run.owns_socket():
            return "the socket is gone or another's"
        if _package_stamp() != self._package:
            return "the package was replaced"
        http = self._loopback
        busy = self._socket.in_flight or (http is not None and http.requests)
        last_request = max(self._socket.last_request, http.last_request if http else 0.0)
        idle_minutes = self._options.idle_minutes
        if idle_minutes and not busy and time.monotonic() - last_request > idle_minutes * 60:
            return f"nothing was asked for {idle_minutes:g} minutes"
        return ""


def _package_stamp() -> tuple[int, int] | None:
    """Which files this process was started from: another stamp means that they were replaced."""
    try:
        found = Path(foreword.__file__).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


# Its log -------------------------------------------------------------------------------------------------


class RedactingFilter(logging.Filter):
    """Takes secrets out of every line before it is written; a line that cannot be cleaned is not written."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, as plain text without secrets."""
        try:
            from foreword.capture.redact import redact

            record.msg = redact(record.getMessage())
            if record.exc_info:
                record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        except Exception as error:  # noqa: BLE001  (better no line than one with a secret)
            record.msg = f"(a line that could not be cleaned of secrets: {type(error).__name__})"
            record.exc_info = record.exc_text = None
        record.args = None
        return True


def set_up_log(path: Path, level: str) -> None:
    """Write what Foreword logs from `info` on, and what its libraries warn of, to a private, rotated file."""
    handler = RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=_LOG_FILES, encoding="utf-8")
    path.chmod(0o600)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(RedactingFilter())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    chosen = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    logging.getLogger("foreword").setLevel(min(logging.INFO, chosen))
