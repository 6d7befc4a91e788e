"""The service: one resident process a user and home, which answers hooks on a socket and HTTP on loopback.

It is started by the first hook that finds none, or by `foreword serve`. It leaves when nothing has been asked
of it for a while, when its socket was taken away, or when the package it runs from was replaced. It listens
when the store can be asked, has the encoder ready before the first prompt, and loads HTTP last. It owns the
engine; what an event means is the responder's affair.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import foreword
from foreword import config
from foreword.edges.hook import aside
from foreword.edges.service import measures, spool
from foreword.edges.service.log import write_log
from foreword.edges.service.loopback import Loopback
from foreword.edges.service.run_folder import RunFolder
from foreword.edges.service.socket_server import Answering, SocketServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.config import Settings
    from foreword.engine.context_engine import ContextEngine

    ResponderFactory = Callable[[ContextEngine], Answering]

_log = logging.getLogger("foreword.service")

LOOK_EVERY = 3.0
"""How often, in seconds, it looks for events in the spool and for reasons to leave."""
_PATIENCE = 5.0
_WAIT_FOR_LOCK = 10.0
_SWITCH = 0.001
"""Threads take turns this often, in seconds: one that imports or embeds must not hold up an answer."""
_PAUSE, _LONGEST_PAUSE = 1.0, 10.0
_NOWHERE = "foreword/warm-up"


@dataclass(frozen=True, slots=True)
class Plan:
    """How to serve: on which port (0 is any), how many idle minutes until it leaves (0 is never)."""

    port: int = 0
    idle_minutes: float = 30.0
    http: bool = True


def main(
    plan: Plan = Plan(),  # noqa: B008  (frozen)
    *,
    responder_factory: ResponderFactory | None = None,
    settings: Settings | None = None,
) -> int:
    """Serve until told to stop; gives 0, 1 when another process serves this home, 3 when it cannot."""
    settings = config.load() if settings is None else settings
    run = RunFolder(settings.home)
    if not _sole(run):
        return 1
    os.umask(0o077)
    sys.setswitchinterval(_SWITCH)
    try:
        write_log(run.log, settings.log_level)
        os.chdir(run.folder)  # and hold no folder of the agent that started us
        return asyncio.run(Service(plan, settings, run, responder_factory or _responder).serve())
    finally:
        run.withdraw()
        run.release()


def _sole(run: RunFolder) -> bool:
    """Whether this process has the lock now; one that is about to leave is waited for."""
    until = time.monotonic() + _WAIT_FOR_LOCK
    while not run.acquire():
        if run.socket.exists() or time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def _responder(engine: ContextEngine) -> Answering:
    from foreword.edges.hook.responder import Responder

    return Responder(engine)


class Service:
    """Everything that runs while the lock is held."""

    def __init__(
        self, plan: Plan, settings: Settings, run: RunFolder, responder_factory: ResponderFactory
    ) -> None:
        self._plan = plan
        self._settings = settings
        self._run = run
        self._factory = responder_factory
        self._spool = settings.home / "spool"
        self._measures = measures.Measures()
        self._engine: ContextEngine | None = None
        self._warm = asyncio.Event()
        self._stopping = asyncio.Event()
        self._package = _package_stamp()
        self._loopback = Loopback(plan.port, run, self.status, self.metrics)
        said = {"status": lambda: json.dumps(self.status()).encode()}
        self._socket = SocketServer(self._measures, said, self._keep, self._warm)

    # What it says of itself

    def status(self) -> dict[str, Any]:
        """How the service is, as plain values."""
        waiting = spool.waiting(self._spool)
        return {
            "version": foreword.__version__,
            "pid": os.getpid(),
            "home": str(self._settings.home),
            "warm": self._warm.is_set(),
            "resident_bytes": measures.resident_bytes(),
            "in_flight": self._socket.in_flight,
            "http_port": self._loopback.port,
            "spool": {"files": waiting.files, "bytes": waiting.bytes},
            **self._measures.facts(),
        }

    def metrics(self) -> str:
        """The same for Prometheus."""
        return measures.prometheus(self.status())

    # Its life

    async def serve(self) -> int:
        """From the first request to the last; gives the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told_to_stop, signal.Signals(number).name)
        try:
            responder = await asyncio.to_thread(self._open)
            await self._socket.start(self._run.listen(), responder)
        except Exception as error:  # noqa: BLE001  (a damaged store, a foreign socket: it says what to do)
            _log.error("the service cannot run: %s", error)
            return 3
        _log.info("serving %s as process %d", self._settings.home, os.getpid())
        working = asyncio.gather(self._keep_house(responder), self._prepare())
        await self._stopping.wait()
        self._run.withdraw()
        await self._socket.stop(_PATIENCE)
        await asyncio.wait({working}, timeout=_PATIENCE)
        await asyncio.to_thread(self._close, responder)
        _log.info("stopped")
        return 0

    def _told_to_stop(self, why: str) -> None:
        if self._stopping.is_set():
            os._exit(1)  # told twice: at once, then; what was acknowledged is on the disk
        self._leave(why)

    def _leave(self, why: str) -> None:
        _log.info("stopping: %s", why)
        self._stopping.set()

    def _open(self) -> Answering:
        from foreword.engine.context_engine import ContextEngine

        self._engine = ContextEngine(settings=self._settings)
        return self._factory(self._engine)

    def _close(self, responder: Answering) -> None:
        responder.close()
        if self._engine is not None:
            self._engine.close()

    async def _prepare(self) -> None:
        """What can wait until hooks are answered: first the encoder, then HTTP."""
        await asyncio.to_thread(self._warm_up)
        self._warm.set()
        if self._plan.http and self._engine is not None:
            await self._a_pause()
            await self._loopback.serve(self._engine, self._stopping)

    async def _a_pause(self) -> None:
        """Wait until no hook has asked for a moment, since importing what HTTP needs would slow it down."""
        until = time.monotonic() + _LONGEST_PAUSE
        while time.monotonic() < min(until, self._socket.last_request + _PAUSE):
            if self._stopping.is_set():
                return
            await asyncio.sleep(_PAUSE / 10)

    def _warm_up(self) -> None:
        """Load the encoder and all that a first question needs, so that the first prompt does not wait."""
        try:
            if self._engine is not None:
                self._engine.tokenizer.count("Which words come first?")
                self._engine.preview_context("Which words come first?", _NOWHERE)
        except Exception as error:  # noqa: BLE001  (a part that fails will say so again; words still find)
            _log.warning("warming up failed: %s", error)
        gc.collect()
        gc.freeze()  # what is loaded stays; collections need not look at it again

    async def _keep_house(self, responder: Answering) -> None:
        """Every few seconds: store what waits in the spool, and see whether there is a reason to leave."""
        while not self._stopping.is_set():
            await asyncio.to_thread(self._drain, responder)
            if why := self._reason_to_leave():
                self._leave(why)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), LOOK_EVERY)

    def _drain(self, responder: Answering) -> None:
        try:
            spool.drain(self._spool, responder)
        except OSError as error:
            _log.warning("the spool cannot be read: %s", error)

    def _keep(self, at: str, payload: bytes) -> None:
        """Leave an event that failed for the next drain; it says why when even that fails."""
        try:
            aside.spool(str(self._settings.home), at, payload)
        except Exception as error:  # noqa: BLE001  (a full disk, a payload that is no JSON: lost, and said)
            _log.warning("an event is lost: %s: %s", type(error).__name__, error)

    def _reason_to_leave(self) -> str:
        if not self._run.ours():
            return "the socket is gone or another's"
        if _package_stamp() != self._package:
            return "the package was replaced"
        busy = self._socket.in_flight or self._loopback.requests
        quiet = time.monotonic() - max(self._socket.last_request, self._loopback.last_request)
        if self._plan.idle_minutes and not busy and quiet > self._plan.idle_minutes * 60:
            return f"nothing was asked for {self._plan.idle_minutes:g} minutes"
        return ""


def _package_stamp() -> tuple[int, int] | None:
    """Which files this process was started from: another stamp means that they were replaced."""
    try:
        found = Path(foreword.__file__).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def read_plan(arguments: Sequence[str]) -> Plan:
    """A plan from `--port N --idle-minutes N`, as the hook and `foreword serve` start a service."""
    said = dict(zip(arguments[::2], arguments[1::2], strict=True))
    return Plan(int(said.get("--port", "0")), float(said.get("--idle-minutes", "30")))
