"""The moment by which a caller needs its answer, for whatever waits for a server on the way to it.

It belongs to the call, not to an operation: an answer takes many reads, and one of them without a limit is
enough to miss the deadline. It is known in the caller's thread and in tasks begun there; a thread of its own
has none. Nothing here waits or raises.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_current: ContextVar[float | None] = ContextVar("foreword_deadline", default=None)


@contextmanager
def hold_deadline(expires: float | None) -> Iterator[None]:
    """In the block, the deadline is `expires`, a `time.monotonic()` instant, or an earlier one outside it."""
    token = _current.set(earliest_deadline(expires, _current.get()))
    try:
        yield
    finally:
        _current.reset(token)


def current_deadline() -> float | None:
    """The deadline of the present call; None if it may take as long as it takes."""
    return _current.get()


def earliest_deadline(*deadlines: float | None) -> float | None:
    """The earliest_deadline of some deadlines, of which None is no deadline."""
    return min((one for one in deadlines if one is not None), default=None)
