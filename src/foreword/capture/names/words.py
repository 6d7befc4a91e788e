"""The words of a text where they stand: whether each is capitalised, opens a sentence, and tells anything.

Knows the lists and the marks between words; whose name a word is, is for `proper`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from foreword.capture.names import cues
from foreword.capture.names.gazetteer import (
    DEMONYMS,
    ORGANISATION_ENDINGS,
    ORGANISATIONS,
    PLACE_ENDINGS,
    PLACES,
    THINGS,
)
from foreword.capture.names.given import GENDERS, TITLES
from foreword.text.words import STOPWORDS, fold

_WORD = re.compile(r"[^\W\d_]++(?:['’&-][^\W\d_]++)*+")
_OPENS = re.compile(r"[.!?:;\n\"“”(\[•*>|…—]|\s[-–]\s|@")
_ABBREVIATED = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "mt", "jr", "sr"})
_LEAST, _LEAST_FAMILY = 2, 3


@dataclass(frozen=True, slots=True)
class Word:
    """A word where it stands; `opens` says that a sentence, a quotation or a list item begins here."""

    text: str
    folded: str
    start: int
    end: int
    opens: bool
    capital: bool
    glued: bool
    """Whether only a space, or the dot of an abbreviation, parts it from the word before."""


def split(text: str) -> list[Word]:
    """The words of a text, in order; the `'s` of an owner is not part of a name."""
    found: list[Word] = []
    end = 0
    for match in _WORD.finditer(text):
        value, gap = match.group(), text[end : match.start()]
        owner = value[:-2] if value.endswith(("'s", "’s")) else value
        abbreviated = bool(found) and gap == ". " and _is_abbreviated(found[-1])
        opens = not found or (not abbreviated and bool(_OPENS.search(gap)))
        glued = bool(found) and found[-1].end == end and (gap in (" ", " & ") or abbreviated)
        capital = owner[0].isupper() or owner[:3] in ("al-", "el-")
        found.append(
            Word(owner, fold(owner), match.start(), match.start() + len(owner), opens, capital, glued)
        )
        end = match.end()
    return found


def _is_abbreviated(word: Word) -> bool:
    return word.folded in _ABBREVIATED or (len(word.text) == 1 and word.capital and word.text != "I")


def is_plain(word: Word) -> bool:
    """Whether a capital tells nothing: a small word, or one that likes to begin sentences."""
    if (word.folded in GENDERS and word.folded not in STOPWORDS) or _is_family(word):
        return False
    return word.folded.replace("’", "'") in cues.PLAIN or word.folded.partition("'")[0] in STOPWORDS


def _is_family(word: Word) -> bool:
    """Whether a small word before an apostrophe begins a family name: `O'Neill`, but not `I'm`."""
    rest = word.text[2:]
    return word.text[1:2] in ("'", "’") and len(rest) >= _LEAST_FAMILY and rest[0].isupper()


def is_listed(word: Word) -> bool:
    """Whether a word alone is a listed name."""
    folded = word.folded
    return folded in GENDERS or folded in PLACES or folded in ORGANISATIONS or folded in THINGS


def is_common(word: Word) -> bool:
    """Whether a single capitalised word names nothing by itself: a people, a tongue, an office, a letter."""
    stem = word.folded.partition("-")[0]
    people = stem in DEMONYMS or stem.removesuffix("s") in DEMONYMS
    head = word.folded in ORGANISATION_ENDINGS or word.folded in PLACE_ENDINGS
    return (
        people or head or word.folded in TITLES or word.folded in cues.KIN | cues.ROLES or len(stem) < _LEAST
    )
