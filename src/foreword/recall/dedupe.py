"""What should not be said twice: repeats, and what a newer item has replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rapidfuzz.distance import Levenshtein

from foreword.recall.news import differ_in_meaning, split_shaped_words
from foreword.text.words import fold
from foreword.types import DroppedResult, Item, Note

if TYPE_CHECKING:
    from foreword.types import SearchResult

MIN_SIMILARITY = 0.9
"""Two texts this similar say the same."""

_MAX_COMPARED_CHARACTERS = 2000
"""Characters compared: two long texts that agree this far say the same to a reader of a context."""


def put_successors_first(results: Sequence[SearchResult]) -> list[SearchResult]:
    """Let every superseded result step behind its successor, which takes its place if that was better."""
    if not any(result.memory.superseded_by for result in results):
        return list(results)
    results_by_id = {result.memory.id: result for result in results}
    placed: dict[str, SearchResult] = {}
    for result in results:
        chain = _successor_chain(result, results_by_id)
        for newer in reversed(chain):
            score = max(newer.score, result.score)
            placed.setdefault(newer.memory.id, replace(newer, score=score))
    return list(placed.values())


def _successor_chain(result: SearchResult, results_by_id: Mapping[str, SearchResult]) -> list[SearchResult]:
    """The result, what replaced it, what replaced that, as far as they are there; a circle ends."""
    chain = {result.memory.id: result}
    while (
        heir := results_by_id.get(result.memory.superseded_by or "")
    ) is not None and heir.memory.id not in chain:
        chain[heir.memory.id] = result = heir
    return list(chain.values())


def split_off_superseded(results: Sequence[SearchResult]) -> tuple[list[SearchResult], list[DroppedResult]]:
    """Leave out what has been replaced: its successor says what holds now."""
    kept, dropped = [], []
    for result in results:
        if result.memory.superseded_by:
            dropped.append(DroppedResult(result, "superseded", result.memory.superseded_by))
        else:
            kept.append(result)
    return kept, dropped


def split_off_repeats(results: Sequence[SearchResult]) -> tuple[list[SearchResult], list[DroppedResult]]:
    """Leave out what says the same as something before it; `detail` names that."""
    kept: list[tuple[str, SearchResult]] = []
    dropped = []
    for result in results:
        text = _normalise_beginning(result.memory.text)
        twin = next(
            (other for seen, other in kept if _are_spelled_alike(text, seen) and _has_no_news(result, other)),
            None,
        )
        if twin is None:
            kept.append((text, result))
        else:
            dropped.append(DroppedResult(result, "duplicate", twin.memory.id))
    return [result for _, result in kept], dropped


def _normalise_beginning(text: str) -> str:
    return " ".join(fold(text[:_MAX_COMPARED_CHARACTERS]).split())


def _are_spelled_alike(text: str, other_text: str) -> bool:
    """Whether two normalised texts are nearly the same, letter by letter."""
    shorter, longer = sorted((len(text), len(other_text)))
    if shorter < longer * MIN_SIMILARITY:
        return False
    return Levenshtein.normalized_similarity(text, other_text, score_cutoff=MIN_SIMILARITY) >= MIN_SIMILARITY


def _has_no_news(result: SearchResult, earlier: SearchResult) -> bool:
    """Whether what little differs between two texts is not the news."""
    told, known = (
        split_shaped_words(" ".join(compared.memory.text[:_MAX_COMPARED_CHARACTERS].split()))
        for compared in (result, earlier)
    )
    return not differ_in_meaning(told, known)


# Files ----------------------------------------------------------------------------------------------------


FileLookup = Callable[[Sequence[Item], float | None], Mapping[str, tuple[Item | None, str]]]
"""Given items and a `time.monotonic()` instant: what became of those that changed, and what to say of it."""

_OF_FILES = ("code", "document")


def refresh_from_files(
    results: Sequence[SearchResult], look: FileLookup, expires: float | None
) -> tuple[list[SearchResult], list[DroppedResult], list[Note]]:
    """The results as they are to be told; those that are no more; what else a reader should know."""
    seen = look([result.memory for result in results if result.memory.kind in _OF_FILES], expires)
    kept, dropped, notes = [], [], []
    for result in results:
        now, told = seen.get(result.memory.id, (result.memory, ""))
        if now is None:
            dropped.append(DroppedResult(result, "superseded", told))
            continue
        kept.append(result if now is result.memory else replace(result, memory=now))
        if told:
            notes.append(Note("files", f"{now.id} is {told}"))
    return kept, dropped, notes
