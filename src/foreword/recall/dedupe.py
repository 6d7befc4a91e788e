"""Drops results that need not be shown: repeats, and what a newer item or a changed file has replaced.

`same` judges whether two texts say the same; this module decides which of them is shown.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.recall.same import join_comparable_texts, prepare_for_comparison, says_all_of
from foreword.text.statements import MAX_STATEMENT_CHARACTERS
from foreword.text.words import letter_pairs_of_unspaced_script
from foreword.types import TRUSTS, DroppedResult, Item, Note

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.recall.same import ComparableText
    from foreword.types import SearchResult

_MIN_SHARED_WORDS, _MAX_SHORT_WORD = 1 / 3, 3
"""What says the same shares at least this many of its words; those of few letters say little."""

_BITS = 2048
_NEAR_TIE = 0.8
"""Of two that say the same, the worse one may be shown if its score is at least this share of the other's."""


def lift_successors_above_replaced(results: Sequence[SearchResult]) -> list[SearchResult]:
    """The results with each superseded one behind its successor, which gets the better score of the two."""
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
    """The results with each of these items before the one that it supersedes; removes them from `items`."""
    order: list[SearchResult] = []
    for result in results:
        successor = items.pop(result.memory.superseded_by or "", None)
        if successor is not None:
            # It inherits the relevance of what it replaces: it is about the same thing.
            order.append(replace(result, memory=successor))
        order.append(result)
    return order


def _successor_chain(result: SearchResult, results_by_id: Mapping[str, SearchResult]) -> list[SearchResult]:
    """The result and its successors among the results, one after the other; a circle is cut."""
    chain = {result.memory.id: result}
    while (
        heir := results_by_id.get(result.memory.superseded_by or "")
    ) is not None and heir.memory.id not in chain:
        chain[heir.memory.id] = result = heir
    return list(chain.values())


def split_off_superseded(results: Sequence[SearchResult]) -> tuple[list[SearchResult], list[DroppedResult]]:
    """The results that were not superseded, and the others as dropped: their successors say what holds."""
    kept = [result for result in results if not result.memory.superseded_by]
    gone = ((result, result.memory.superseded_by) for result in results)
    return kept, [DroppedResult(result, "superseded", heir) for result, heir in gone if heir]


# Repeats --------------------------------------------------------------------------------------------------


def split_off_repeats(results: Sequence[SearchResult]) -> tuple[list[SearchResult], list[DroppedResult]]:
    """The results without repeats, and the repeats as dropped; `detail` names the result that says the same.

    Of two that say the same, the first is shown; on a near tie the one that is trusted more, or the later
    one. A statement that says more replaces those that say less, unless it is trusted less.
    """
    kept: list[SearchResult] = []
    dropped: list[DroppedResult] = []
    for result in results:
        containing = find_containing_result(result, kept)
        if containing is not None and not _is_shown_instead_of(result, containing):
            dropped.append(DroppedResult(result, "duplicate", containing.memory.id))
            continue
        outdone = [containing] if containing else _find_replaceable_better_results(result, kept)
        dropped += [DroppedResult(one, "duplicate", result.memory.id) for one in outdone]
        place = kept.index(outdone[0]) if outdone else len(kept)
        kept.insert(place, result)
        kept = [one for one in kept if not any(one is gone for gone in outdone)]
    return kept, dropped


def find_containing_result(result: SearchResult, others: Sequence[SearchResult]) -> SearchResult | None:
    """The first of the others that says all that this result says, alone or together with others."""
    shown = _comparable_shown_text(result)
    containing = next((one for one in others if says_all_of(_comparable_shown_text(one), shown)), None)
    if containing is None and len(shown.sentences) > 1:
        parts = [one for one in others if not shown.keys.isdisjoint(_comparable_shown_text(one).keys)]
        if says_all_of(join_comparable_texts([_comparable_shown_text(one) for one in parts]), shown):
            return parts[0]
    return containing


def find_results_repeating_context(
    fresh: Sequence[SearchResult], known: Sequence[SearchResult]
) -> dict[str, SearchResult]:
    """The results that repeat what a context holds, perhaps in other words: by id, what each repeats."""
    words = frozenset().union(*map(_word_beginnings, map(_shown_text, known)))
    found: dict[str, SearchResult] = {}
    for result in fresh:
        # Preparing every candidate would take longer than all other stages but the reader's.
        own = _word_beginnings(_shown_text(result))
        if len(own & words) >= len(own) * _MIN_SHARED_WORDS:
            containing = find_containing_result(result, known)
            if containing is not None:
                found[result.memory.id] = containing
    return found


def _word_beginnings(text: str) -> frozenset[str]:
    """The first letters of the longer words of a text; where a script has no blanks, its pairs of letters.

    Texts that say the same share most of them.
    """
    beginnings = frozenset(word[:4] for word in text.casefold().split() if len(word) > _MAX_SHORT_WORD)
    return beginnings | letter_pairs_of_unspaced_script(text)


def _comparable_shown_text(result: SearchResult) -> ComparableText:
    return prepare_for_comparison(_shown_text(result))


def _shown_text(result: SearchResult) -> str:
    """What is shown of a result: its excerpt, or its whole text if it has none."""
    return result.excerpt or result.memory.text


def _is_shown_instead_of(result: SearchResult, better: SearchResult) -> bool:
    """Whether a result is shown instead of a better one that says the same."""
    if result.score < better.score * _NEAR_TIE or not says_all_of(
        _comparable_shown_text(result), _comparable_shown_text(better)
    ):
        return False
    return _trust_and_time(result) > _trust_and_time(better)


def _find_replaceable_better_results(
    result: SearchResult, better: Sequence[SearchResult]
) -> list[SearchResult]:
    """The better results that a result can replace: it says all they say, and is short and trusted enough."""
    if len(_shown_text(result)) > MAX_STATEMENT_CHARACTERS:
        return []
    shown, trust = _comparable_shown_text(result), _trust_and_time(result)[0]
    return [
        one
        for one in better
        if trust >= _trust_and_time(one)[0] and says_all_of(shown, _comparable_shown_text(one))
    ]


def _trust_and_time(result: SearchResult) -> tuple[int, datetime]:
    """A key that is greater for the more trusted result, then for the later one."""
    return -TRUSTS.index(result.memory.source.trust), result.memory.created_at


def find_containing_texts(texts: Sequence[str]) -> dict[int, set[int]]:
    """By the place of each text that others contain, the places of those others."""
    found: dict[int, set[int]] = {}
    for at, others in enumerate(_find_texts_with_shared_words(texts)):
        holders = {
            to
            for to in others
            if says_all_of(prepare_for_comparison(texts[to]), prepare_for_comparison(texts[at]))
        }
        if holders:
            found[at] = holders
    return found


def _find_texts_with_shared_words(texts: Sequence[str]) -> list[list[int]]:
    """For each text the places of the others that share enough of its words to say all that it says."""
    sets = list(map(_word_bits, texts))
    least = [own.bit_count() * _MIN_SHARED_WORDS for own in sets]
    return [
        [to for to, other in enumerate(sets) if to != at and (own & other).bit_count() >= least[at]]
        for at, own in enumerate(sets)
    ]


@functools.lru_cache(maxsize=4096)
def _word_bits(text: str) -> int:
    """The words of a text as bits of a number: sets of them are compared once for every pair of texts."""
    return functools.reduce(operator.or_, (1 << hash(one) % _BITS for one in _word_beginnings(text)), 0)


# Files ----------------------------------------------------------------------------------------------------


FileLookup = Callable[[Sequence[Item], float | None], Mapping[str, tuple[Item | None, str]]]
"""Given items and a `time.monotonic()` deadline: for each that changed, what it is now, and a remark."""

_KINDS_FROM_FILES = ("code", "document")


def refresh_from_files(
    results: Sequence[SearchResult], look: FileLookup, expires: float | None
) -> tuple[list[SearchResult], list[DroppedResult], list[Note]]:
    """The results as their files are now, those that their files no longer have, and notes on changes."""
    seen = look([result.memory for result in results if result.memory.kind in _KINDS_FROM_FILES], expires)
    kept, dropped, notes = [], [], []
    for result in results:
        current, remark = seen.get(result.memory.id, (result.memory, ""))
        if current is None:
            dropped.append(DroppedResult(result, "superseded", remark))
            continue
        kept.append(result if current is result.memory else replace(result, memory=current))
        if remark:
            notes.append(Note("files", f"{current.id} is {remark}"))
    return kept, dropped, notes
