"""A long section becomes pieces that can be read alone: whole paragraphs, and whole blocks of code.

A piece is a stretch of the section as it stands. Where prose is cut, the next piece begins with the sentence
before the cut, so that "it" and "this" keep their meaning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.capture.documents.sections import fenced

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 1_800
"""How many characters a piece may have; a block of code may have more, to stay whole."""

SMALLEST_CUT = 1_200
"""A paragraph too long for a piece is cut at the last sentence that ends after so many characters."""

LARGEST_CODE = 6_000

_LONGEST_OVERLAP = 300
_SENTENCE = re.compile(r"[.!?…。！？]['\")\]]?\s")


def pieces(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Where the pieces of a section begin and end, in characters of its lines joined by newlines."""
    text = "\n".join(lines)
    start, end, prose = 0, 0, False
    for first, last, code in blocks(lines):
        for piece_end in _cut(text, first, last, code=code):
            if end > start and piece_end - start > LARGEST:
                yield start, end
                start = last_sentence(text, start, end) if prose else end
                if piece_end - start > LARGEST:
                    start = end  # with the sentence before it, it would not fit
            end, prose = piece_end, not code
    if end > start:
        yield start, end


def blocks(lines: list[str]) -> Iterator[tuple[int, int, bool]]:
    """Stretches that belong together: paragraphs with what is indented under them, and fences."""
    at = start = 0
    code = blank = open_ = False
    for line, inside in zip(lines, fenced(lines), strict=True):
        said = bool(line.strip())
        begins = said and blank and not line[0].isspace()
        if open_ and (inside != code or (begins and not inside)):
            yield start, at, code
            open_ = False
        if not open_ and (said or inside):
            start, code, open_ = at, inside, True
        blank = not said
        at += len(line) + 1
    if open_:
        yield start, at - 1, code


def _cut(text: str, start: int, end: int, *, code: bool) -> Iterator[int]:
    """Where a block is cut so that each part fits; a block that fits is not."""
    most = LARGEST_CODE if code else LARGEST
    while end - start > most:
        start = _end_of_line(text, start, most) if code else _end_of_sentence(text, start)
        yield start
    yield end


def _end_of_line(text: str, start: int, most: int) -> int:
    return text.rfind("\n", start, start + most) + 1 or start + most


def _end_of_sentence(text: str, start: int) -> int:
    limit = start + LARGEST
    if found := sentence_ends(text, start + SMALLEST_CUT, limit):
        return found[-1]
    for mark in ("\n", " "):
        at = text.rfind(mark, start + SMALLEST_CUT, limit)
        if at > 0:
            return at + 1
    return limit


def last_sentence(text: str, start: int, end: int) -> int:
    """Where the last sentence of a piece begins; its end, when that sentence is long."""
    last = start + len(text[start:end].rstrip())
    lowest = max(start + 1, last - _LONGEST_OVERLAP)
    found = sentence_ends(text, lowest, last - 1)
    return found[-1] if found else end


def sentence_ends(text: str, start: int, end: int) -> list[int]:
    """Where sentences that end between two places are over, the blank after each included."""
    return [match.end() for match in _SENTENCE.finditer(text, start, end)]
