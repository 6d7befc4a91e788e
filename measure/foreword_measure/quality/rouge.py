"""How much of a human's summary is in ours: ROUGE-1, ROUGE-2 and ROUGE-L, for one pair of texts.

Defined as the `rouge-score` package defines them: words are runs of a-z and 0-9 in lower case; runs of n
words are counted, each as often as both texts have it; ROUGE-L takes the longest sequence of words that both
have in the same order, over the whole text. Words are not stemmed: "asks" is not "asked".
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

MEASURES = ("ROUGE-1", "ROUGE-2", "ROUGE-L")

_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much two texts share: `precision` of what was told, `recall` of what should have been."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 0 when nothing is shared."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def scores(told: str, wanted: str) -> dict[str, Overlap]:
    """All of `MEASURES` for a summary and the one that a human wrote."""
    ours, theirs = _WORD.findall(told.lower()), _WORD.findall(wanted.lower())
    longest = _longest_common(ours, theirs)
    overlaps = (_shared(ours, theirs, 1), _shared(ours, theirs, 2), _overlap(longest, len(ours), len(theirs)))
    return dict(zip(MEASURES, overlaps, strict=True))


def _shared(ours: list[str], theirs: list[str], length: int) -> Overlap:
    """The runs of so many words that both have."""
    runs = [Counter(zip(*(words[at:] for at in range(length)), strict=False)) for words in (ours, theirs)]
    return _overlap((runs[0] & runs[1]).total(), runs[0].total(), runs[1].total())


def _overlap(shared: int, told: int, wanted: int) -> Overlap:
    return Overlap(shared / told if told else 0.0, shared / wanted if wanted else 0.0)


def _longest_common(ours: list[str], theirs: list[str]) -> int:
    """How many words the longest common subsequence has; one row of the table is kept."""
    row = [0] * (len(theirs) + 1)
    for word in ours:
        diagonal = 0
        for at, other in enumerate(theirs, 1):
            above = row[at]
            row[at] = diagonal + 1 if word == other else max(above, row[at - 1])
            diagonal = above
    return row[-1]
