"""A thread that deletes expired values at intervals."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable

_log = get_logger("foreword.langgraph")


class TtlSweeper:
    """Calls `sweep` at intervals until it is stopped, or its future is cancelled; a failure is logged."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done: Future[None] = Future()

    def start(self, minutes: float) -> Future[None]:
        """Sweep every `minutes` minutes; returns a future that is done when the sweeper stops."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stopping.clear()
                self._done = Future()
                self._done.add_done_callback(lambda done: self._stopping.set() if done.cancelled() else None)
                self._thread = threading.Thread(
                    target=self._run,
                    args=(minutes * 60, self._done),
                    name="foreword-ttl-sweeper",
                    daemon=True,
                )
                self._thread.start()
            return self._done

    def stop(self, timeout: float | None = None) -> bool:
        """Stop after the current sweep; returns whether it stopped within `timeout` seconds."""
        with self._lock:
            thread = self._thread
        if thread is None:
            return True
        self._stopping.set()
        thread.join(timeout)
        return not thread.is_alive()

    def _run(self, seconds: float, done: Future[None]) -> None:
        while not self._stopping.wait(seconds):
            try:
                self._sweep()
            except Exception as error:  # noqa: BLE001  (the next sweep may succeed)
                _log.warning("what has expired was not deleted", problem=str(error))
        if done.set_running_or_notify_cancel():
            done.set_result(None)
