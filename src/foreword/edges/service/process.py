"""The service: one resident process a user and home, which answers hooks on a socket and HTTP on loopback.

It is started by the first hook that finds no service, or by `foreword serve`. It stops after some minutes
without a request, when its socket is removed, or when the package that it runs from is replaced. It listens
as soon as the store can be read, loads the encoder before the first prompt, and loads HTTP last. It owns the
engine; the callers pass in the functions that answer events and HTTP.
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
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import foreword
from foreword import config
from foreword.edges.service import measures, spool
from foreword.edges.service.intake import EventIntake
from foreword.edges.service.loopback import LoopbackServer
from foreword.edges.service.run_folder import RunFolder
from foreword.edges.service.socket_server import SocketServer
from foreword.edges.shared.spool_files import fill_spool_reserve
from foreword.edges.shared.trouble import clear_start_failure, record_start_failure
from foreword.edges.shared.vector_requests import pop_workspaces_requesting_vectors
from foreword.edges.shared.warm_up import warm_up_engine
from foreword.errors import ForewordError
from foreword.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.config import Settings
    from foreword.edges.service.responder import HookResponder
    from foreword.engine.context_engine import ContextEngine

    BuildResponder = Callable[[ContextEngine], HookResponder]
    BuildApplication = Callable[..., Any]

_log = logging.getLogger("foreword.service")

HOUSEKEEPING_SECONDS = 3.0
"""Every how many seconds the spool is drained and reasons to stop are checked."""
_STOP_SECONDS = 5.0
_LOCK_SECONDS = 10.0
_SWITCH_SECONDS = 0.001
"""After how many seconds another thread gets its turn: an import or an encoder must not delay answers."""
_QUIET_SECONDS, _MAX_QUIET_WAIT_SECONDS = 1.0, 10.0
_BACKUP_QUIET_SECONDS = 10.0
_LOG_BYTES, _LOG_FILES = 1_000_000, 3


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """The port for HTTP (0 is any), and after how many idle minutes the service stops (0 is never)."""

    port: int = 0
    idle_minutes: float = 30.0


def read_service_options(arguments: Sequence[str]) -> ServiceOptions:
    """The options in a command line such as `--port N --idle-minutes N`."""
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    return ServiceOptions(int(options.get("--port", "0")), float(options.get("--idle-minutes", "30")))


def run_service(
    options: ServiceOptions,
    build_responder: BuildResponder,
    build_application: BuildApplication | None,
    settings: Settings | None = None,
) -> int:
    """Serve until stopped; returns 0, or 1 if another process serves this home, or 3 if it cannot serve.

    Without `build_application` there is no HTTP.
    """
    home = config.find_data_folder() if settings is None else settings.home
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
        set_up_log_file(run.log, settings.log_level)
        os.chdir(run.folder)  # so that no folder of the agent that started us stays in use
        return asyncio.run(Service(options, settings, run, build_responder, build_application).serve())
    except ForewordError as error:
        record_start_failure(str(home), str(error))
        raise
    finally:
        run.remove_socket_and_address()
        run.release_lock()


def _acquire_or_await_lock(run: RunFolder) -> bool:
    """Take the lock, waiting for a process that is about to release it; False if another service keeps it."""
    until = time.monotonic() + _LOCK_SECONDS
    while not run.acquire_lock():
        if run.socket.exists() or time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


class Service:
    """One run of the service, while its process holds the lock."""

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
        self._measures = measures.ServiceMeasures()
        self._warm = asyncio.Event()
        self._stopping = asyncio.Event()
        self._package = _package_stamp()
        self._warned_of_full_disk = False
        self._loopback = (
            LoopbackServer(options.port, run, build_application, self.status) if build_application else None
        )
        answers = {"status": lambda: json.dumps(self.status()).encode()}
        self._socket = SocketServer(self._measures, answers, self._warm)

    # Its status

    def status(self) -> dict[str, Any]:
        """The state of the service, its memory, requests and spool, as values for JSON."""
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

    # Running and stopping

    async def serve(self) -> int:
        """Open the engine, answer until told to stop, then close everything; returns the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop_or_exit_on_signal, signal.Signals(number).name)
        try:
            engine, responder = await asyncio.to_thread(self._open_engine_and_responder)
            intake = EventIntake(self._settings.home, self._measures, responder)
            engine.store_waiting_events = partial(
                spool.drain_spool_before_forgetting, self._spool, responder.capture, intake.spooled_in_work
            )
            await self._socket.start(self._run.listen_on_socket(), intake)
        except Exception as error:  # noqa: BLE001  (a damaged store, a foreign socket: the log has advice)
            _log.error("the service cannot run: %s", error)
            record_start_failure(str(self._settings.home), str(error))
            return 3
        clear_start_failure(str(self._settings.home))
        _log.info("serving %s as process %d", self._settings.home, os.getpid())
        working = asyncio.gather(
            self._run_housekeeping(engine, responder, intake), self._warm_up_then_serve_http(engine)
        )
        await self._stopping.wait()
        self._run.remove_socket_and_address()
        await self._socket.stop(_STOP_SECONDS)
        await asyncio.wait({working}, timeout=_STOP_SECONDS)
        responder.close()
        await asyncio.to_thread(engine.close)
        _log.info("stopped")
        return 0

    def _stop_or_exit_on_signal(self, name: str) -> None:
        """Begin to stop; a second signal ends the process at once."""
        if self._stopping.is_set():
            os._exit(1)  # nothing is lost: what was acknowledged is on the disk
        self._begin_stopping(name)

    def _begin_stopping(self, why: str) -> None:
        """Log the reason, and tell all running tasks to end."""
        _log.info("stopping: %s", why)
        self._stopping.set()

    def _open_engine_and_responder(self) -> tuple[ContextEngine, HookResponder]:
        from foreword.engine.context_engine import ContextEngine

        engine = ContextEngine(settings=self._settings)
        return engine, self._build_responder(engine)

    async def _warm_up_then_serve_http(self, engine: ContextEngine) -> None:
        """Load the encoder, then start HTTP; hooks are answered meanwhile."""
        await asyncio.to_thread(warm_up_engine, engine)
        self._warm.set()
        if self._loopback is not None:
            await self._wait_until_hooks_are_quiet()
            await self._loopback.serve(engine, self._stopping)

    async def _wait_until_hooks_are_quiet(self) -> None:
        """Wait until no hook has asked for a second: importing what HTTP needs would slow the answer down."""
        until = time.monotonic() + _MAX_QUIET_WAIT_SECONDS
        while time.monotonic() < min(until, self._socket.last_request + _QUIET_SECONDS):
            if self._stopping.is_set():
                return
            await asyncio.sleep(_QUIET_SECONDS / 10)

    async def _run_housekeeping(
        self, engine: ContextEngine, responder: HookResponder, intake: EventIntake
    ) -> None:
        """Every few seconds, drain the spool, make vectors and backups, and look for reasons to stop."""
        while not self._stopping.is_set():
            await asyncio.to_thread(self._drain_spool, responder, intake)
            await asyncio.to_thread(responder.refresh_team_copies)
            await asyncio.to_thread(self._make_requested_vectors, engine)
            await self._back_up_if_due(engine)
            if why := self._find_reason_to_stop():
                self._begin_stopping(why)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), HOUSEKEEPING_SECONDS)

    async def _back_up_if_due(self, engine: ContextEngine) -> None:
        """Back up the databases in use, once a day, at a time when no hook asks for anything."""
        store = engine.store
        quiet_since = time.monotonic() - self._socket.last_request
        if isinstance(store, SqliteStore) and self._settings.backups and quiet_since > _BACKUP_QUIET_SECONDS:
            today = f"{datetime.now().astimezone():%Y-%m-%d}"
            for path in await asyncio.to_thread(store.back_up_daily, today, self._settings.backups):
                _log.info("backed up: %s", path)

    def _drain_spool(self, responder: HookResponder, intake: EventIntake) -> None:
        """Store the events that wait in the spool, and refill its reserve; a disk that fails is logged."""
        try:
            spool.drain_spool(self._spool, responder.capture, intake.spooled_in_work)
            if not fill_spool_reserve(str(self._settings.home)) and not self._warned_of_full_disk:
                self._warned_of_full_disk = True
                _log.warning("the disk is nearly full: the reserve for events cannot be made")
        except OSError as error:
            _log.warning("the spool cannot be used: %s", error)

    def _make_requested_vectors(self, engine: ContextEngine) -> None:
        """Begin to make the vectors that another process asked the service to make."""
        try:
            for workspace in pop_workspaces_requesting_vectors(self._settings.home):
                engine.embed_pending(workspace, wait=False)
        except OSError as error:
            _log.warning("requests for vectors cannot be read: %s", error)

    def _find_reason_to_stop(self) -> str:
        """The reason why the service should stop now; empty if there is none."""
        if not self._run.owns_socket():
            return "the socket is gone or another's"
        if not self._run.holds_lock():
            return "the lock is gone or another's"
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
    """The inode and time of the installed package; they change when it is replaced. None if it is gone."""
    try:
        found = Path(foreword.__file__).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


# Its log -------------------------------------------------------------------------------------------------


class RedactingFilter(logging.Filter):
    """Removes secrets from every line before it is written; a line that cannot be cleaned is not written."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace a record's message by plain text without secrets; always True, so that it is written."""
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


def set_up_log_file(path: Path, level: str) -> None:
    """Log Foreword's messages from `info` on, and warnings of its libraries, to a private, rotated file.

    ForewordError if that file cannot be written.
    """
    try:
        handler = RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=_LOG_FILES, encoding="utf-8")
        path.chmod(0o600)
    except OSError as error:
        raise ForewordError(f"{path} cannot be written to ({error.strerror}); remove it") from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(RedactingFilter())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    chosen = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    logging.getLogger("foreword").setLevel(min(logging.INFO, chosen))
