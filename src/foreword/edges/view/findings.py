"""The doctor's findings, cached for some seconds: an examination is slow, and the page is opened often."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foreword.edges.view.visit import Finding

KEPT_SECONDS = 30.0
"""For how many seconds after its beginning an examination is reused."""


class RecentFindings:
    """Examines a workspace, one examination at a time, and reuses recent ones. Safe for threads."""

    def __init__(
        self, examine: Callable[[str], Sequence[Finding]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._examine = examine
        self._clock = clock
        self._lock = threading.Lock()
        self._begun: dict[str, tuple[float, Future[Sequence[Finding]]]] = {}

    def find(self, workspace: str) -> Sequence[Finding]:
        """The findings in a workspace, perhaps of a recent examination; raises what that raised."""
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
        """Examine the workspace for all who wait; a failure is not reused."""
        try:
            found.set_result(self._examine(workspace))
        except BaseException as error:
            with self._lock:
                del self._begun[workspace]  # who comes next tries again
            found.set_exception(error)
            raise
