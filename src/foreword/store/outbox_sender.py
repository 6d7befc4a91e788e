"""The thread that sends outboxes to a vector server: in batches, and again after failures.

A server that has nothing of a workspace, because it lost its disk or is new, is sent all of it. The thread
knows the store by the function that runs operations, and the server by the functions that send and ask.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

from foreword.errors import ForewordError
from foreword.log import get_logger
from foreword.store.base import Count
from foreword.store.exchange import ClearOutbox, ReadOutbox, RebuildVectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from foreword.store.base import Operation
    from foreword.store.exchange import Outbox

_log = get_logger("foreword.vectors")

BATCH = 512
"""How many changed items are sent at once."""

_LONGEST_PAUSE_SECONDS = 10.0


class OutboxSender:
    """A thread that sends the outboxes of workspaces one after the other, and tries again after failures.

    `has_points` says whether the server has anything of a workspace, by its name there. What was purged is
    removed first; a workspace with an empty name stands for that alone.
    """

    def __init__(
        self,
        run: Callable[[Operation[Any]], Any],
        send: Callable[[Outbox], None],
        has_points: Callable[[str], bool] = lambda _: True,
        remove_purged: Callable[[], None] = lambda: None,
    ) -> None:
        self._run, self._send = run, send
        self._has_points, self._remove_purged = has_points, remove_purged
        self._waiting_workspaces: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._queued: set[str] = set()
        self._being_sent: str | None = None
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def request_sending(self, workspace: str) -> None:
        """Have a workspace's outbox sent soon."""
        with self._changed:
            if workspace in self._queued or self._closing.is_set():
                return
            self._queued.add(workspace)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._send_until_closed, name="foreword-sender", daemon=True
                )
                self._thread.start()
        self._waiting_workspaces.put(workspace)

    def flush(self, workspace: str, seconds: float) -> bool:
        """Send a workspace's outbox and wait for it; False if that takes longer than `seconds`."""
        self.request_sending(workspace)
        with self._changed:
            return self._changed.wait_for(
                lambda: workspace not in self._queued and workspace != self._being_sent, seconds
            )

    def close(self) -> None:
        """Try once more to send the outboxes that wait, and stop the thread."""
        with self._changed:
            self._closing.set()
            thread = self._thread
        if thread is not None:
            self._waiting_workspaces.put(None)
            thread.join()

    def _send_until_closed(self) -> None:
        """Send the outboxes that wait until the sender is closed; after a failure, pause and try again."""
        pause = 0.1
        while (workspace := self._waiting_workspaces.get()) is not None:
            try:
                with self._changed:
                    self._queued.discard(workspace)  # a change from now on queues the workspace again
                    self._being_sent = workspace
                self._remove_purged()
                if workspace:
                    self._send_whole_outbox(workspace)
                pause = 0.1
            except (OSError, ForewordError) as error:
                _log.warning("vectors not sent", workspace=workspace, error=type(error).__name__)
                with self._changed:
                    self._queued.add(workspace)
                if not self._closing.wait(pause):
                    self._waiting_workspaces.put(workspace)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            with self._changed:
                self._being_sent = None
                self._changed.notify_all()

    def _send_whole_outbox(self, workspace: str) -> None:
        """Send a workspace's outbox in batches until it is empty."""
        outbox = self._run(ReadOutbox(workspace, BATCH))
        if not self._has_points(outbox.tenant) and self._has_vectors_outside_outbox(workspace, outbox):
            self._run(RebuildVectors(workspace))
            outbox = self._run(ReadOutbox(workspace, BATCH))
        while outbox.changes:
            self._send(outbox)
            self._run(ClearOutbox(workspace, outbox.changes, outbox.points))
            outbox = self._run(ReadOutbox(workspace, BATCH))

    def _has_vectors_outside_outbox(self, workspace: str, outbox: Outbox) -> bool:
        """Whether the rows of a workspace have vectors that are not among those to be sent."""
        return bool(sum(self._run(Count(workspace)).vectors.values()) > len(outbox.points))
