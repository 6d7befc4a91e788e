"""What a doctor finds, for a page that is opened again and again: examining takes seconds."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.edges.view.visit import Finding

KEPT_SECONDS = 30.0
"""For how many seconds, from when it was begun, an examination answers those who come later."""


class RecentFindings:
    """Examines a workspace once at a time, and not again within some seconds. Safe for many threads."""

    def __init__(
        self, examine: Callable[[str], Sequence[Finding]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._examine = examine
        self._clock = clock
        self._lock = threading.Lock()
        self._begun: dict[str, tuple[float, Future[Sequence[Finding]]]] = {}

    def find(self, workspace: str) -> Sequence[Finding]:
        """What was found in a workspace; raises what the examination raised."""
        mine: Future[Sequence[Finding]] = Future()
        with self._lock:
            at, found = self._begun.get(workspace, (0.0, mine))
            if found is mine or (found.done() and self._clock() - at >= KEPT_SECONDS):
                found = mine
                self._begun[workspace] = (self._clock(), mine)
        if found is mine:
            self._examine_into_future(workspace, mine)
        return found.result()

    def _examine_into_future(self, workspace: str, found: Future[Sequence[Finding]]) -> None:
        try:
            found.set_result(self._examine(workspace))
        except BaseException as error:
            with self._lock:
                del self._begun[workspace]  # who comes next tries again
            found.set_exception(error)
            raise
