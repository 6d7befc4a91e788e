"""What differs between two texts that are nearly the same: a slip, another wording, or the news.

It is the news when one says of a number, a name or another thing what the other says of its own, or the
opposite:

    The staging cluster runs on Hetzner …     The billing cluster runs on Hetzner …
    Release 1.4.2 went out on Tuesday         Release 1.4.3 went out on Tuesday
    Deploy on Fridays                         Do not deploy on Fridays
    Outcome: confirmed                        Outcome: falsified

Goes by the looks of words, and by where they stand. A word that is spelled almost like the other is a slip,
and a single other word further down is another wording.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Literal

from foreword.text.words import STOPWORDS, fold_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Shape = Literal["", "name", "code"]

_MAX_STATEMENT_WORDS, _SUBJECT_WORDS = 40, 5
"""A text of so few words is a statement, and says with its first what it is about."""

_MAX_UNLIKE_SIMILARITY, _MIN_MISSPELLED_SIMILARITY = 0.5, 0.8
"""Words less similar than this are two words; those more similar than that are one, misspelled."""

_TOKEN = re.compile(r"\w+(?:['’]t\b)?")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n])\W*$")
_CAMEL_CASE = re.compile(r"[a-z0-9][A-Z]")
_DENIALS = frozenset({"not", "no", "never", "none", "cannot", "without", "neither", "nor"})
_OPPOSITE_PAIRS = (
    "confirmed/falsified confirmed/abandoned falsified/abandoned passes/fails passed/failed pass/fail "
    "passing/failing success/failure succeeds/fails succeeded/failed true/false yes/no on/off always/never "
    "enable/disable enabled/disabled enables/disables allow/forbid allowed/forbidden required/optional "
    "before/after above/below up/down start/stop starts/stops started/stopped open/closed opens/closes "
    "add/remove added/removed adds/removes more/less most/least minimum/maximum min/max first/last "
    "read/write reads/writes input/output public/private sync/async ascending/descending with/without"
)
_OPPOSITES = frozenset(frozenset(pair.split("/")) for pair in _OPPOSITE_PAIRS.split())


@dataclass(frozen=True, slots=True)
class ShapedWords:
    """A text as words, folded, the parts of code names apart; and what each looks like."""

    words: tuple[str, ...]
    shapes: tuple[Shape, ...]


def split_shaped_words(text: str) -> ShapedWords:
    """The words of a text."""
    words: list[str] = []
    shapes: list[Shape] = []
    for found in _TOKEN.finditer(text):
        parts = [part for part in found[0].split("_") if part]
        words += map(fold_case, parts)
        shapes += [_looks_like_name_or_code(text, found[0], found.start(), len(parts))] * len(parts)
    return ShapedWords(tuple(words), tuple(shapes))


def concatenate_shaped_words(texts: Iterable[ShapedWords]) -> ShapedWords:
    """Several as one, in order."""
    every = list(texts)
    words = chain.from_iterable(one.words for one in every)
    return ShapedWords(tuple(words), tuple(chain.from_iterable(one.shapes for one in every)))


def _looks_like_name_or_code(text: str, word: str, start: int, part_count: int) -> Shape:
    """Whether a word looks like a name, like an identifier, or like neither."""
    if part_count > 1 or _CAMEL_CASE.search(word):
        return "code"
    if not word[0].isupper() or _SENTENCE_START.search(text, max(0, start - 4), start):
        return ""  # a sentence begins like a name
    return "name"


@dataclass(frozen=True, slots=True)
class _WordChange:
    """Some words of one text that stand where the other has others; or where it has none."""

    position: int
    words: tuple[str, ...]
    other_words: tuple[str, ...]
    shapes: frozenset[Shape]

    @property
    def has_only_numbers(self) -> bool:
        """Whether only numbers differ, or the letters by which things are told apart."""
        changed_words = (*self.words, *self.other_words)
        if len(self.words) == len(self.other_words):
            return all(_has_digit(word) or len(word) == 1 for word in changed_words)
        return all(map(_has_digit, changed_words))

    def is_replacement_by_unlike_word(self, max_similarity: float) -> bool:
        """Whether a telling word stands for another, no more similar than this."""
        from rapidfuzz.distance import Levenshtein

        if STOPWORDS.issuperset(self.words) or STOPWORDS.issuperset(self.other_words):
            return False
        return (
            Levenshtein.normalized_similarity("".join(self.words), "".join(self.other_words)) < max_similarity
        )


def differ_in_meaning(one: ShapedWords, other: ShapedWords) -> bool:
    """Whether two texts that are nearly the same speak of two things, or one of them denies the other."""
    if one.words == other.words:
        return False
    changes = list(_find_word_changes(one, other))
    return (
        all(change.has_only_numbers for change in changes)
        or any(_is_about_another_thing(change, len(one.words)) for change in changes)
        or _has_repeated_change(changes)
        or any(frozenset(change.words + change.other_words) in _OPPOSITES for change in changes)
        or _is_denial_of_other(one.words, other.words)
    )


def _find_word_changes(one: ShapedWords, other: ShapedWords) -> Iterator[_WordChange]:
    """Where two texts differ; what stands side by side is one change."""
    from rapidfuzz.distance import Levenshtein

    left = right = 0
    for same in (*Levenshtein.opcodes(one.words, other.words), None):
        if same is not None and same.tag != "equal":
            continue
        end, to_end = (same.src_start, same.dest_start) if same else (len(one.words), len(other.words))
        if left < end or right < to_end:
            shapes = frozenset(one.shapes[left:end] + other.shapes[right:to_end])
            yield _WordChange(left, one.words[left:end], other.words[right:to_end], shapes)
        if same is not None:
            left, right = same.src_end, same.dest_end


def _is_about_another_thing(change: _WordChange, word_count: int) -> bool:
    """Whether a name stands for a name, or another word says what a statement is about."""
    named = len(change.shapes) == 1 and "" not in change.shapes
    about = word_count <= _MAX_STATEMENT_WORDS and change.position < _SUBJECT_WORDS
    return (named or about) and change.is_replacement_by_unlike_word(_MAX_UNLIKE_SIMILARITY)


def _has_repeated_change(changes: Sequence[_WordChange]) -> bool:
    """Whether the same word stands for the same other more than once."""
    often = Counter((change.words, change.other_words) for change in changes)
    return any(
        often[change.words, change.other_words] > 1
        and change.is_replacement_by_unlike_word(_MIN_MISSPELLED_SIMILARITY)
        for change in changes
    )


def _is_denial_of_other(words: Sequence[str], other_words: Sequence[str]) -> bool:
    """Whether two texts differ in how often they deny, and in no other content word."""
    denies_more_or_less = _count_denials(words) != _count_denials(other_words)
    return denies_more_or_less and _count_non_denials(words) == _count_non_denials(other_words)


def _has_digit(word: str) -> bool:
    return any(character.isdigit() for character in word)


def _count_denials(words: Sequence[str]) -> int:
    return sum(map(_is_denial, words))


def _count_non_denials(words: Sequence[str]) -> Counter[str]:
    """How often each content word stands there, other than those that deny."""
    return Counter(word for word in words if not _is_denial(word) and word not in STOPWORDS)


def _is_denial(word: str) -> bool:
    return word in _DENIALS or word.endswith(("'t", "’t"))
