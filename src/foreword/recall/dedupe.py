"""What should not be said twice: repeats, and what a newer item has replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rapidfuzz.distance import Levenshtein

from foreword.recall.news import is_news, telling
from foreword.text.words import fold
from foreword.types import Dropped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.types import SearchResult

ALIKE = 0.9
"""Two texts this similar say the same."""

_COMPARED = 2000
"""Characters compared: two long texts that agree this far say the same to a reader of a context."""


def step_behind(results: Sequence[SearchResult]) -> list[SearchResult]:
    """Let every superseded result step behind its successor, which takes its place if that was better."""
    if not any(result.memory.superseded_by for result in results):
        return list(results)
    there = {result.memory.id: result for result in results}
    placed: dict[str, SearchResult] = {}
    for result in results:
        chain = _successors(result, there)
        for newer in reversed(chain):
            score = max(newer.score, result.score)
            placed.setdefault(newer.memory.id, replace(newer, score=score))
    return list(placed.values())


def _successors(result: SearchResult, there: Mapping[str, SearchResult]) -> list[SearchResult]:
    """The result, what replaced it, what replaced that, as far as they are there; a circle ends."""
    chain = {result.memory.id: result}
    while (heir := there.get(result.memory.superseded_by or "")) is not None and heir.memory.id not in chain:
        chain[heir.memory.id] = result = heir
    return list(chain.values())


def without_superseded(results: Sequence[SearchResult]) -> tuple[list[SearchResult], list[Dropped]]:
    """Leave out what has been replaced: its successor says what holds now."""
    kept, dropped = [], []
    for result in results:
        if result.memory.superseded_by:
            dropped.append(Dropped(result, "superseded", result.memory.superseded_by))
        else:
            kept.append(result)
    return kept, dropped


def without_repeats(results: Sequence[SearchResult]) -> tuple[list[SearchResult], list[Dropped]]:
    """Leave out what says the same as something before it; `detail` names that."""
    kept: list[tuple[str, SearchResult]] = []
    dropped = []
    for result in results:
        text = _essence(result.memory.text)
        twin = next((other for seen, other in kept if _alike(text, seen) and _repeats(result, other)), None)
        if twin is None:
            kept.append((text, result))
        else:
            dropped.append(Dropped(result, "duplicate", twin.memory.id))
    return [result for _, result in kept], dropped


def _essence(text: str) -> str:
    return " ".join(fold(text[:_COMPARED]).split())


def _alike(one: str, other: str) -> bool:
    shorter, longer = sorted((len(one), len(other)))
    if shorter < longer * ALIKE:
        return False
    return Levenshtein.normalized_similarity(one, other, score_cutoff=ALIKE) >= ALIKE


def _repeats(one: SearchResult, other: SearchResult) -> bool:
    """Whether what little differs between two texts is not the news."""
    told, known = (telling(" ".join(result.memory.text[:_COMPARED].split())) for result in (one, other))
    return not is_news(told, known)
