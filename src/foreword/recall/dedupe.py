"""What should not be said twice: repeats, and what a newer item has replaced.

Two texts say the same when nine tenths of their characters do, in order, or line by line when the lines stand
in another order; unless what differs is the news (`news`). What the texts mean is not judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from rapidfuzz.distance import Levenshtein

from foreword.recall.news import concatenate_shaped_words, differ_in_meaning, split_shaped_words
from foreword.text.sentences import split_sentences
from foreword.text.words import fold_case
from foreword.types import DroppedResult, Item, Note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from foreword.recall.news import ShapedWords
    from foreword.types import SearchResult

MIN_SIMILARITY = 0.9
"""Two texts this similar say the same."""

_MAX_COMPARED_CHARACTERS, _MAX_READ_CHARACTERS = 2000, 8000
"""Characters compared, white space apart: two long texts that agree this far say the same to a reader."""


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
    kept = [result for result in results if not result.memory.superseded_by]
    gone = ((result, result.memory.superseded_by) for result in results)
    return kept, [DroppedResult(result, "superseded", heir) for result, heir in gone if heir]


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
    return " ".join(fold_case(text[:_MAX_COMPARED_CHARACTERS]).split())


def _are_spelled_alike(text: str, other_text: str) -> bool:
    """Whether two normalised texts are nearly the same, letter by letter."""
    shorter, longer = sorted((len(text), len(other_text)))
    if shorter < longer * MIN_SIMILARITY:
        return False
    return Levenshtein.normalized_similarity(text, other_text, score_cutoff=MIN_SIMILARITY) >= MIN_SIMILARITY


def _has_no_news(result: SearchResult, earlier: SearchResult) -> bool:
    """Whether what little differs between two texts is not the news."""
    return not differ_in_meaning(
        *(_split_shaped_beginning(one.memory.text[:_MAX_COMPARED_CHARACTERS]) for one in (result, earlier))
    )


def _split_shaped_beginning(text: str) -> ShapedWords:
    """The words of as much of a text as is compared, as they are written."""
    return split_shaped_words(" ".join(text.split())[:_MAX_COMPARED_CHARACTERS])


# Twins ----------------------------------------------------------------------------------------------------

_MIN_WORD_COSINE = 0.7
"""The cosine of the words of two texts, rare ones counting more, that may have the same lines somewhere."""

_WORD_COLUMNS = 1024
"""Words share so many columns: enough to tell texts apart, and a collision only costs a closer look."""


def find_twins(texts: Sequence[str]) -> dict[int, set[int]]:
    """For each place that has any, the places of the texts that are alike."""
    normal = [
        " ".join(fold_case(text[:_MAX_READ_CHARACTERS]).split())[:_MAX_COMPARED_CHARACTERS] for text in texts
    ]
    pairs = [(one, other) for one, other in _find_similar_pairs(normal) if normal[one]]
    whole = {
        place: _split_shaped_beginning(texts[place][:_MAX_READ_CHARACTERS])
        for place in {place for pair in pairs for place in pair}
    }
    alike = [(one, other) for one, other in pairs if not differ_in_meaning(whole[one], whole[other])]
    found: dict[int, set[int]] = {}
    for one, other in alike + _find_pairs_in_another_order(texts, frozenset(pairs)):
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


def _find_pairs_in_another_order(
    texts: Sequence[str], known: frozenset[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The pairs whose lines are alike, wherever they stand, and no line has the news."""
    written = [_split_lines(text) for text in texts]
    lines = [list(map(fold_case, parts)) for parts in written]
    several = [place for place, parts in enumerate(lines) if len(parts) > 1]
    near = _find_pairs_with_same_words([" ".join(lines[place]) for place in several])
    told = cache(lambda place: [split_shaped_words(line) for line in written[place]])
    pairs = []
    for one, other in ((several[one], several[other]) for one, other in near):
        laid = _align_lines(lines[one], lines[other]) if (one, other) not in known else []
        if not laid or _aligned_share(laid, lines[one], lines[other]) < MIN_SIMILARITY:
            continue
        ours = concatenate_shaped_words(told(one)[at] for at, _, _ in laid)
        theirs = concatenate_shaped_words(told(other)[to] for _, to, _ in laid)
        if not differ_in_meaning(ours, theirs):
            pairs.append((one, other))
    return pairs


def _find_pairs_with_same_words(texts: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of places, the lower first, of texts that have most words in common in whatever order."""
    if len(texts) < 2:
        return []
    import numpy as np

    numbers: dict[str, int] = {}
    table = np.zeros((len(texts), _WORD_COLUMNS), np.float32)
    for row, text in enumerate(texts):
        columns = [numbers.setdefault(word, len(numbers)) % _WORD_COLUMNS for word in text.split()]
        table[row] = np.bincount(columns, minlength=_WORD_COLUMNS)
    table *= np.log1p(len(texts) / (1 + np.count_nonzero(table, axis=0)))
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
    # Not by BLAS: its threads wait for each other longer than one needs to multiply so little.
    near = np.einsum("ik,jk->ij", table, table) >= _MIN_WORD_COSINE
    return _true_pairs(near)


def _find_similar_pairs(texts: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of places, the lower first, of texts that are similar enough."""
    if len(texts) < 2:
        return []
    import numpy as np
    from rapidfuzz.process import cdist

    # All pairs at once: the comparison gives up on a pair as soon as it cannot be similar enough.
    table = cdist(texts, texts, scorer=Levenshtein.normalized_similarity, score_cutoff=MIN_SIMILARITY)
    return _true_pairs(np.asarray(table) >= MIN_SIMILARITY)


def _true_pairs(near: NDArray[np.bool_]) -> list[tuple[int, int]]:
    import numpy as np

    rows, columns = np.nonzero(np.triu(near, k=1))
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _align_lines(lines: Sequence[str], others: Sequence[str]) -> list[tuple[int, int, float]]:
    """The place of each line, that of the line most like it, and how alike they are; long lines choose first.

    Nothing when the one text is too long for the other.
    """
    shorter, longer = sorted((sum(map(len, lines)), sum(map(len, others))))
    if shorter < longer * MIN_SIMILARITY:
        return []
    rest = list(range(len(others)))
    laid = []
    for at in sorted(range(len(lines)), key=lambda at: -len(lines[at]))[: len(others)]:
        scores = [Levenshtein.normalized_similarity(lines[at], others[to]) for to in rest]
        best = max(range(len(rest)), key=scores.__getitem__)
        laid.append((at, rest.pop(best), scores[best]))
    return sorted(laid)


def _aligned_share(
    laid: Sequence[tuple[int, int, float]], lines: Sequence[str], others: Sequence[str]
) -> float:
    """How much of two texts is alike when their lines are laid beside each other."""
    alike = sum(score * max(len(lines[at]), len(others[to])) for at, to, score in laid)
    return alike / max(sum(map(len, lines)), sum(map(len, others)))


def _split_lines(text: str) -> list[str]:
    """The lines of a text; of one that has a single line, its sentences."""
    parts = [part for line in text[:_MAX_READ_CHARACTERS].splitlines() if (part := " ".join(line.split()))]
    return parts if len(parts) > 1 else split_sentences(" ".join(parts))


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
