"""Which texts say the same: but for a few slips, for white space, or for the order of their lines.

Two texts are alike when nine tenths of their characters are, in order, or line by line when the lines stand
in another order; unless what differs is the news (`news`). What the texts mean is not judged here.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from foreword.recall.news import concatenate_shaped_words, differ_in_meaning, split_shaped_words
from foreword.text.sentences import split_sentences
from foreword.text.words import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

MIN_SIMILARITY = 0.9
"""Two texts this similar say the same."""

_COMPARED, _READ = 2000, 8000
"""Characters compared, white space apart: two long texts that agree this far say the same to a reader."""

_SAME_WORDS = 0.7
"""The cosine of the words of two texts, rare ones counting more, that may have the same lines somewhere."""

_COLUMNS = 1024
"""Words share so many columns: enough to tell texts apart, and a collision only costs a closer look."""


def find_twins(texts: Sequence[str]) -> dict[int, set[int]]:
    """For each place that has any, the places of the texts that are alike."""
    pairs = _pairs_in_order([_normalise(text) for text in texts])
    whole = {
        place: split_shaped_words(_beginning(texts[place]))
        for place in {place for pair in pairs for place in pair}
    }
    alike = [(one, other) for one, other in pairs if not differ_in_meaning(whole[one], whole[other])]
    found: dict[int, set[int]] = {}
    for one, other in alike + _pairs_in_another_order(texts, frozenset(pairs)):
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


def _pairs_in_order(essences: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs that are alike as they stand."""
    return [(one, other) for one, other in _is_similar(essences, MIN_SIMILARITY) if essences[one]]


def _pairs_in_another_order(texts: Sequence[str], known: frozenset[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs whose lines are alike, wherever they stand, and no line has the news."""
    written = [_lines(text) for text in texts]
    lines = [list(map(fold, parts)) for parts in written]
    several = [place for place, parts in enumerate(lines) if len(parts) > 1]
    near = _pairs_of_the_same_words([" ".join(lines[place]) for place in several])
    told = cache(lambda place: [split_shaped_words(line) for line in written[place]])
    pairs = []
    for one, other in ((several[one], several[other]) for one, other in near):
        laid = _neighbours(lines[one], lines[other]) if (one, other) not in known else []
        if not laid or _are_alike(laid, lines[one], lines[other]) < MIN_SIMILARITY:
            continue
        ours = concatenate_shaped_words(told(one)[at] for at, _, _ in laid)
        theirs = concatenate_shaped_words(told(other)[to] for _, to, _ in laid)
        if not differ_in_meaning(ours, theirs):
            pairs.append((one, other))
    return pairs


def _pairs_of_the_same_words(texts: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of places, the lower first, of texts that have most words in common in whatever order."""
    if len(texts) < 2:
        return []
    import numpy as np

    numbers: dict[str, int] = {}
    table = np.zeros((len(texts), _COLUMNS), np.float32)
    for row, text in enumerate(texts):
        columns = [numbers.setdefault(word, len(numbers)) % _COLUMNS for word in text.split()]
        table[row] = np.bincount(columns, minlength=_COLUMNS)
    table *= np.log1p(len(texts) / (1 + np.count_nonzero(table, axis=0)))
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
    # Not by BLAS: its threads wait for each other longer than one needs to multiply so little.
    near = np.einsum("ik,jk->ij", table, table) >= _SAME_WORDS
    return _pairs(near)


def _is_similar(texts: Sequence[str], least: float) -> list[tuple[int, int]]:
    """The pairs of places, the lower first, of texts at least so similar."""
    if len(texts) < 2:
        return []
    import numpy as np
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    # All pairs at once: the comparison gives up on a pair as soon as it cannot be similar enough.
    table = cdist(texts, texts, scorer=Levenshtein.normalized_similarity, score_cutoff=least)
    return _pairs(np.asarray(table) >= least)


def _pairs(near: NDArray[np.bool_]) -> list[tuple[int, int]]:
    import numpy as np

    rows, columns = np.nonzero(np.triu(near, k=1))
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _neighbours(lines: Sequence[str], others: Sequence[str]) -> list[tuple[int, int, float]]:
    """The place of each line, that of the line most like it, and how alike they are; long lines choose first.

    Nothing when the one text is too long for the other.
    """
    from rapidfuzz.distance import Levenshtein

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


def _are_alike(laid: Sequence[tuple[int, int, float]], lines: Sequence[str], others: Sequence[str]) -> float:
    """How much of two texts is alike when their lines are laid beside each other."""
    alike = sum(score * max(len(lines[at]), len(others[to])) for at, to, score in laid)
    return alike / max(sum(map(len, lines)), sum(map(len, others)))


def _normalise(text: str) -> str:
    return " ".join(fold(text[:_READ]).split())[:_COMPARED]


def _beginning(text: str) -> str:
    """As much of a text as is compared, as it is written."""
    return " ".join(text[:_READ].split())[:_COMPARED]


def _lines(text: str) -> list[str]:
    """The lines of a text; of one that has a single line, its sentences."""
    parts = [part for line in text[:_READ].splitlines() if (part := " ".join(line.split()))]
    return parts if len(parts) > 1 else split_sentences(" ".join(parts))
