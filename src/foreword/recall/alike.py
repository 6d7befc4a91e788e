"""Which texts say the same: but for a few slips, for white space, or for the order of their lines.

Two texts are alike when nine tenths of their characters are, in order, or line by line when the lines stand
in another order. Texts that are the same but for numbers, or for a `not`, are not alike: one of them is the
news. What the texts mean is not judged here.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from foreword.words import STOPWORDS, fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

ALIKE = 0.9
"""Two texts this similar say the same."""

_COMPARED, _READ = 2000, 8000
"""Characters compared, white space apart: two long texts that agree this far say the same to a reader."""

_SAME_WORDS = 0.7
"""The cosine of the words of two texts, rare ones counting more, that may have the same lines somewhere."""

_COLUMNS = 1024
"""Words share so many columns: enough to tell texts apart, and a collision only costs a closer look."""

_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_TOKEN = re.compile(r"\w+(?:['’]t\b)?")
_DENIALS = frozenset({"not", "no", "never", "none", "cannot", "without", "neither", "nor"})


def twins(texts: Sequence[str]) -> dict[int, set[int]]:
    """For each place that has any, the places of the texts that are alike."""
    essences = [_essence(text) for text in texts]
    pairs = _in_order(essences)
    pairs += _in_another_order(texts, frozenset(pairs))
    found: dict[int, set[int]] = {}
    for one, other in pairs:
        if not _only_the_news(essences[one], essences[other]):
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return found


def _in_order(essences: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs that are alike as they stand."""
    return [(one, other) for one, other in _similar(essences, ALIKE) if essences[one]]


def _in_another_order(texts: Sequence[str], known: frozenset[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs whose lines are alike, wherever they stand."""
    lines = [_lines(text) for text in texts]
    several = [place for place, parts in enumerate(lines) if len(parts) > 1]
    near = _of_the_same_words([" ".join(lines[place]) for place in several])
    pairs = [(several[one], several[other]) for one, other in near]
    return [pair for pair in pairs if pair not in known and _aligned(lines[pair[0]], lines[pair[1]]) >= ALIKE]


def _of_the_same_words(texts: Sequence[str]) -> list[tuple[int, int]]:
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


def _similar(texts: Sequence[str], least: float) -> list[tuple[int, int]]:
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


def _aligned(lines: Sequence[str], others: Sequence[str]) -> float:
    """How much of two texts is alike when each line is laid beside the one most like it."""
    from rapidfuzz.distance import Levenshtein

    shorter, longer = sorted((sum(map(len, lines)), sum(map(len, others))))
    if shorter < longer * ALIKE:
        return 0.0
    rest = list(others)
    alike = 0.0
    for line in sorted(lines, key=len, reverse=True):
        if not rest:
            break
        scores = [Levenshtein.normalized_similarity(line, other) for other in rest]
        best = max(range(len(rest)), key=scores.__getitem__)
        alike += scores[best] * max(len(line), len(rest.pop(best)))
    return alike / longer


def _only_the_news(one: str, other: str) -> bool:
    """Whether two texts are the same but for their numbers, or but for a denial: then one is the news."""
    if one == other:
        return False
    ours, theirs = _TOKEN.findall(one), _TOKEN.findall(other)
    if len(ours) == len(theirs):
        changed = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
        if all(_number(a) and _number(b) for a, b in changed):
            return bool(changed)
    return _denials(ours) != _denials(theirs) and _affirmed(ours) == _affirmed(theirs)


def _number(token: str) -> bool:
    return any(character.isdigit() for character in token)


def _denials(tokens: Sequence[str]) -> int:
    return sum(_denies(token) for token in tokens)


def _affirmed(tokens: Sequence[str]) -> Counter[str]:
    return Counter(token for token in tokens if not _denies(token) and token not in STOPWORDS)


def _denies(token: str) -> bool:
    return token in _DENIALS or token.endswith(("'t", "’t"))


def _essence(text: str) -> str:
    return " ".join(fold(text[:_READ]).split())[:_COMPARED]


def _lines(text: str) -> list[str]:
    """The lines of a text; of one that has a single line, its sentences."""
    parts = [part for line in fold(text[:_READ]).splitlines() if (part := " ".join(line.split()))]
    return parts if len(parts) > 1 else _SENTENCE.split(" ".join(parts))
