"""What was found in files, told as the files are now. Reads none: somebody who may is handed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.types import Dropped, Item, Note

if TYPE_CHECKING:
    from foreword.types import SearchResult

Look = Callable[[Sequence[Item], float | None], Mapping[str, tuple[Item | None, str]]]
"""Given items and a `time.monotonic()` instant: what became of those that changed, and what to say of it."""

_OF_FILES = ("code", "document")


def refresh_from_files(
    results: Sequence[SearchResult], look: Look, expires: float | None
) -> tuple[list[SearchResult], list[Dropped], list[Note]]:
    """The results as they are to be told; those that are no more; what else a reader should know."""
    seen = look([result.memory for result in results if result.memory.kind in _OF_FILES], expires)
    kept, dropped, notes = [], [], []
    for result in results:
        now, told = seen.get(result.memory.id, (result.memory, ""))
        if now is None:
            dropped.append(Dropped(result, "superseded", told))
            continue
        kept.append(result if now is result.memory else replace(result, memory=now))
        if told:
            notes.append(Note("files", f"{now.id} is {told}"))
    return kept, dropped, notes
