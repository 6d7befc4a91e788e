"""Ask several sources at once, each with the same patience; what fails or is late becomes a note."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from foreword.compose.context_item import ContextItem, Findings
from foreword.log import get_logger
from foreword.types import Note

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from foreword.knowledge.axes import Axis
    from foreword.pipeline import Draft
    from foreword.types import Dropped, Receipt

    Finding = Awaitable[Sequence[ContextItem]]
    Asking = Mapping[str, Callable[[], Finding]]

_log = get_logger("foreword.assembler")


class Sources(Protocol):
    """What an assembler needs of a `foreword.recipes.assembled.searcher.Searcher`."""

    @property
    def workspace(self) -> str:
        """Where the searches look."""
        ...

    def search_memories(self, query: str, limit: int = ...) -> Finding:
        """Facts, preferences, decisions."""
        ...

    def search_code(self, query: str, limit: int = ...) -> Finding:
        """Functions, classes and methods."""
        ...

    def search_experiences(
        self,
        query: str,
        axis: Axis = ...,
        domain: str | None = None,
        strategy: str | None = None,
        outcome: str | None = None,
        limit: int = ...,
    ) -> Finding:
        """What was tried before and how it ended."""
        ...

    def search_values(self, query: str, limit: int = ...) -> Finding:
        """What experience has taught."""
        ...

    def search_commits(self, query: str, limit: int = ...) -> Finding:
        """What was changed, and why."""
        ...

    def draft(self, query: str, recipe: str, budget: int) -> Draft:
        """An empty context in the making."""
        ...

    def told(self, session: str) -> frozenset[str]:
        """What a session's context holds already."""
        ...

    def record(self, receipt: Receipt) -> None:
        """Keep a receipt."""
        ...


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the sources found, by name, as far as they answered; what they left out; how long it took."""

    found: Mapping[str, Sequence[ContextItem]] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[Note, ...] = ()
    milliseconds: float = 0.0


async def gather(asked: Asking, timeout: float) -> Gathered:
    """Ask all at once. A source that fails or takes longer than `timeout` seconds is left behind."""
    started = time.perf_counter()
    outcomes = await asyncio.gather(
        *(_within(timeout, search) for search in asked.values()), return_exceptions=True
    )
    found: dict[str, Sequence[ContextItem]] = {}
    dropped: list[Dropped] = []
    notes: list[Note] = []
    for part, outcome in zip(asked, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            notes.append(_left_behind(part, outcome, timeout))
            continue
        found[part] = outcome
        if isinstance(outcome, Findings):
            dropped += outcome.dropped
            notes += [Note(part.lower(), f"{note.part}: {note.message}") for note in outcome.notes]
    return Gathered(found, tuple(dropped), tuple(notes), (time.perf_counter() - started) * 1000)


async def _within(timeout: float, search: Callable[[], Finding]) -> Sequence[ContextItem]:
    found = await asyncio.wait_for(search(), timeout)
    if not isinstance(found, Sequence):
        raise TypeError(f"it gave {type(found).__name__} and no list")
    if strangers := {type(one).__name__ for one in found if not isinstance(one, ContextItem)}:
        raise TypeError(f"it gave {', '.join(sorted(strangers))} where a ContextItem belongs")
    return found


def _left_behind(part: str, failure: BaseException, timeout: float) -> Note:
    if not isinstance(failure, Exception):
        raise failure  # somebody wants this process, or this task, to end
    if isinstance(failure, TimeoutError):
        problem = f"late: no answer within {timeout:g} s"
    else:
        problem = f"failed: {str(failure) or type(failure).__name__}"
    _log.warning("a source did not answer", source=part.lower(), problem=problem)
    return Note(part.lower(), problem)
