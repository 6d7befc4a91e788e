"""A document becomes chunks of so many tokens at most, each of which can be read alone.

Cut where the author cut: at headings, then between paragraphs and blocks of code, then, where a paragraph is
too long, between sentences or lines; inside a word only where nothing else is left. A chunk that is large
enough also ends where the next paragraph shares hardly a word with it: there the subject changes. Where the
room was what ended it, the next chunk begins with its last sentence. A chunk is a stretch of the document as
it stands, and knows its place.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.capture.documents.sections import Section, front_matter, markdown, sections
from foreword.capture.documents.split import blocks, last_sentence, sentence_ends
from foreword.text.tokens import cut
from foreword.text.words import STOPWORDS, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foreword.text.tokens import Tokenizer

SIZE = 320
"""How many tokens a chunk has at most, unless said otherwise."""

_OVERLAP = 0.15
"""The share of its tokens that a chunk may repeat from the one before."""

_LARGE_ENOUGH = 0.4
"""From this share of its size on, a chunk may end because the subject changes."""

_APART = 0.1
"""A paragraph of which a smaller share of words was used in the chunk before it is about something else."""

_LONGEST_TOKEN = 16
"""No text has so many characters a token that a longer stretch could fit."""

_FEWEST_WORDS = 8
"""Fewer words say nothing about a subject."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document: its headings, its place in characters (from 0) and in lines (from 1)."""

    text: str
    headings: tuple[str, ...]
    start: int
    end: int
    first_line: int
    last_line: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is not cut any further: a paragraph, a sentence of a long one, a block or a line of code."""

    start: int
    end: int
    tokens: int
    code: bool
    opens: bool
    """Whether a paragraph or a block begins here."""


def chunked(text: str, counter: Tokenizer, size: int = SIZE) -> list[Chunk]:
    """The chunks of a text, Markdown or plain, in order; none when it holds nothing but blanks."""
    lines = text.split("\n")
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line) + 1)
    cutter = _Cutter(text, counter, size)
    found: list[Chunk] = []
    for section in _sections(lines):
        for start, end in cutter.stretches(section.lines, begins[section.first]):
            first, last = bisect_right(begins, start), bisect_right(begins, end - 1)
            told = text[start:end]
            found.append(Chunk(told, section.headings, start, end, first, last, counter.count(told)))
    return found


def _sections(lines: list[str]) -> list[Section]:
    front = front_matter(lines)
    found = [Section((), 1, lines[1 : front.lines - 1])] if front.lines else []
    found += sections(lines, markdown, front.lines)
    if any(line.strip() for section in found for line in section.lines):
        return found
    return [Section((), 0, lines)]  # nothing but headings: they are what it says


class _Cutter:
    """Cuts the sections of one text. Places are in characters of the whole text."""

    def __init__(self, text: str, counter: Tokenizer, size: int) -> None:
        self._text = text
        self._counter = counter
        self._size = size

    def stretches(self, lines: list[str], base: int) -> Iterator[tuple[int, int]]:
        """Where the chunks of a section begin and end."""
        units = list(self._units(lines, base))
        at, start = 0, units[0].start if units else 0
        while at < len(units):
            after, full = self._reach(units, at, start)
            yield start, units[after - 1].end
            if after < len(units):
                start = self._again(units, at, after) if full else units[after].start
            at = after

    def _units(self, lines: list[str], base: int) -> Iterator[_Unit]:
        for first, last, code in blocks(lines):
            opens = True
            for start, end in self._cut(base + first, base + last, code=code):
                stripped = self._stripped(start, end, code=code)
                if stripped is not None:
                    yield _Unit(*stripped, self._count(*stripped), code, opens)
                    opens = False

    def _cut(self, start: int, end: int, *, code: bool) -> Iterator[tuple[int, int]]:
        """A block as it is, if it fits; else its lines or sentences, and of one too long its pieces."""
        if self._fits(start, end):
            yield start, end
            return
        ends = self._line_ends(start, end) if code else sentence_ends(self._text, start, end)
        for one in (*ends, end):
            while not self._fits(start, one):
                kept = self._beginning(start, one)
                yield start, kept
                start = kept
            yield start, one
            start = one

    def _fits(self, start: int, end: int) -> bool:
        """Whether a stretch is small enough; one that is far too long is not even counted."""
        return end - start <= _LONGEST_TOKEN * self._size and self._count(start, end) <= self._size

    def _line_ends(self, start: int, end: int) -> list[int]:
        return [at + 1 for at in range(start, end) if self._text[at] == "\n"]

    def _beginning(self, start: int, end: int) -> int:
        """The end of the longest beginning that fits: after a word, or after a character if need be."""
        told = self._text[start : min(end, start + _LONGEST_TOKEN * self._size)]
        kept = cut(told, self._size - 1, self._counter) or told[0]
        blank = max(kept.rfind(" "), kept.rfind("\n"))
        return start + (blank + 1 if blank > 0 else len(kept))

    def _stripped(self, start: int, end: int, *, code: bool) -> tuple[int, int] | None:
        """A stretch without the blanks around it, or None; the indentation of code stays."""
        told = self._text[start:end]
        end = start + len(told.rstrip())
        start += len(told) - len(told.lstrip("\n" if code else None))
        return (start, end) if end > start else None

    def _reach(self, units: Sequence[_Unit], at: int, start: int) -> tuple[int, bool]:
        """The unit after the last that belongs to this chunk, and whether only the room ended it."""
        after, total = at + 1, self._count(start, units[at].end)
        full = False
        while after < len(units):
            full = total + units[after].tokens > self._size
            if full or (total >= _LARGE_ENOUGH * self._size and self._apart(units, at, after)):
                break
            total += units[after].tokens
            after += 1
        while after - at > 1 and self._count(start, units[after - 1].end) > self._size:
            after, full = after - 1, True  # tokens do not add up exactly
        return after, full

    def _apart(self, units: Sequence[_Unit], at: int, after: int) -> bool:
        """Whether a paragraph begins here that shares hardly a word with the chunk before it."""
        if not units[after].opens or units[after].code:
            return False
        before = self._telling(units[at].start, units[after - 1].end)
        coming = self._telling(units[after].start, units[after].end)
        enough = min(len(before), len(coming)) >= _FEWEST_WORDS
        return enough and len(before & coming) < _APART * len(coming)

    def _again(self, units: Sequence[_Unit], at: int, after: int) -> int:
        """Where the next chunk begins: at the last sentence of this one, if both are prose and it fits."""
        last, coming = units[after - 1], units[after]
        if last.code or coming.code:
            return coming.start
        start = last_sentence(self._text, units[at].start, last.end)
        repeated = self._count(start, coming.start)
        if repeated > _OVERLAP * self._size or self._count(start, coming.end) > self._size:
            return coming.start
        return start

    def _telling(self, start: int, end: int) -> set[str]:
        return {word for word in words(self._text[start:end]) if word not in STOPWORDS}

    def _count(self, start: int, end: int) -> int:
        return self._counter.count(self._text[start:end])
