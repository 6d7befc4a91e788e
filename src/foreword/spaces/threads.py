"""Threads for models: they compute outside the interpreter, so that several can work at once.

None is a daemon, because a process that ends while a model is half loaded, or runs, would abort. None is of a
pool: while a process ends, pools take no more work, and the embedder may still be at its last batch.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Made = TypeVar("_Made")


def work_in_threads(work: Callable[[], None], threads: int) -> None:
    """Do the same work in this thread and beside it in others, `threads` in all; raises what any raises."""
    helpers = [begin_in_thread(work, "foreword-batches") for _ in range(threads - 1)]
    try:
        work()
    finally:
        wait(helpers)
    for helped in helpers:
        helped.result()


def begin_in_thread(work: Callable[[], _Made], name: str) -> Future[_Made]:
    """Begin some work in a thread of its own; the future has what it makes, or its error."""
    outcome: Future[_Made] = Future()

    def run_work_and_set_outcome() -> None:
        try:
            outcome.set_result(work())
        except Exception as error:  # noqa: BLE001  (raised where it is waited for)
            outcome.set_exception(error)

    threading.Thread(target=run_work_and_set_outcome, name=name).start()
    return outcome
