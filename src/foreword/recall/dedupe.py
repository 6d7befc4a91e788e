"""What should not be said twice: repeats, and what a newer item has replaced.

Whether two texts say the same is judged by `same`; here it is decided which of them is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.recall.same import contains, join_gists, read_gist
from foreword.text.statements import MAX_STATEMENT_CHARACTERS
from foreword.types import TRUSTS, DroppedResult, Item, Note

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.recall.same import Gist
    from foreword.types import SearchResult

_NEAR_TIE = 0.8
"""Of two that say the same, the worse one may be told if its score is at least this share of the other's."""


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


def insert_successors(results: Sequence[SearchResult], items: dict[str, Item]) -> list[SearchResult]:
    """The results with each of these items before the one that it supersedes; takes them out of `items`."""
    order: list[SearchResult] = []
    for result in results:
        successor = items.pop(result.memory.superseded_by or "", None)
        if successor is not None:
            # It inherits the relevance of what it replaces: it is about the same thing.
            order.append(replace(result, memory=successor))
        order.append(result)
    return order


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
    kept = [result for result in results if not result.memory.superseded_by]
    gone = ((result, result.memory.superseded_by) for result in results)
    return kept, [DroppedResult(result, "superseded", heir) for result, heir in gone if heir]


# Repeats --------------------------------------------------------------------------------------------------


def split_off_repeats(results: Sequence[SearchResult]) -> tuple[list[SearchResult], list[DroppedResult]]:
    """Leave out what adds nothing to what is told; `detail` names the result that says it.

    Of two that say the same, the first is told; on a near tie the one that is trusted more, or the later one.
    A statement that says more takes the place of those that say less, unless it is trusted less.
    """
    kept: list[SearchResult] = []
    dropped: list[DroppedResult] = []
    for result in results:
        holder = find_holder(result, kept)
        if holder is not None and not _is_preferred(result, holder):
            dropped.append(DroppedResult(result, "duplicate", holder.memory.id))
            continue
        outdone = [holder] if holder else [one for one in kept if _takes_place_of(result, one)]
        dropped += [DroppedResult(one, "duplicate", result.memory.id) for one in outdone]
        place = kept.index(outdone[0]) if outdone else len(kept)
        kept.insert(place, result)
        kept = [one for one in kept if not any(one is gone for gone in outdone)]
    return kept, dropped


def find_holder(result: SearchResult, others: Sequence[SearchResult]) -> SearchResult | None:
    """The first of the others that says all that this result says, or says it together with the rest."""
    gist = _gist(result)
    holder = next((one for one in others if contains(_gist(one), gist)), None)
    if holder is None and len(gist.sentences) > 1:
        parts = [one for one in others if not gist.keys.isdisjoint(_gist(one).keys)]
        if contains(join_gists([_gist(one) for one in parts]), gist):
            return parts[0]
    return holder


def _gist(result: SearchResult) -> Gist:
    """What is told of a result."""
    return read_gist(result.excerpt or result.memory.text)


def _is_preferred(result: SearchResult, better: SearchResult) -> bool:
    """Whether a result is to be told instead of a better one that says the same."""
    if result.score < better.score * _NEAR_TIE or not contains(_gist(result), _gist(better)):
        return False
    return _trust_and_time(result) > _trust_and_time(better)


def _takes_place_of(result: SearchResult, better: SearchResult) -> bool:
    """Whether a result says all that a better one says and more, and is short enough to be told for it."""
    is_short = len(result.excerpt or result.memory.text) <= MAX_STATEMENT_CHARACTERS
    is_trusted = _trust_and_time(result)[0] >= _trust_and_time(better)[0]
    return is_short and is_trusted and contains(_gist(result), _gist(better))


def _trust_and_time(result: SearchResult) -> tuple[int, datetime]:
    return -TRUSTS.index(result.memory.source.trust), result.memory.created_at


def find_holders(texts: Sequence[str]) -> dict[int, set[int]]:
    """For each place that has any, the places of the other texts that say all that its text says."""
    gists = [read_gist(text) for text in texts]
    found: dict[int, set[int]] = {}
    for at, part in enumerate(gists):
        holders = {to for to, whole in enumerate(gists) if to != at and contains(whole, part)}
        if holders:
            found[at] = holders
    return found


# Files ----------------------------------------------------------------------------------------------------


FileLookup = Callable[[Sequence[Item], float | None], Mapping[str, tuple[Item | None, str]]]
"""Given items and a `time.monotonic()` instant: what became of those that changed, and what to say of it."""

_KINDS_FROM_FILES = ("code", "document")


def refresh_from_files(
    results: Sequence[SearchResult], look: FileLookup, expires: float | None
) -> tuple[list[SearchResult], list[DroppedResult], list[Note]]:
    """The results as they are to be told; those that are no more; what else a reader should know."""
    seen = look([result.memory for result in results if result.memory.kind in _KINDS_FROM_FILES], expires)
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
