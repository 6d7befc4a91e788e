"""How code and commits are told: whole lines under their place, or the place alone; a message and its files.

A short function is told whole. Of a long one the beginning says what it is, and the lines around what the
question names say how. Every line is data: indented, so that none can pose as an entry, and without anything
that could end the frame. Which of them are told is decided elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.text.clean import join_lines, remove_invisible
from foreword.text.frame import escape_entry
from foreword.text.words import content_words, fold_case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Item

MAX_LINES = 20
"""At most how many lines of a piece of code are told."""

MAX_LINE_CHARACTERS = 160
MAX_FILES = 4
"""At most how many files of a commit are named."""

_MAX_HEAD_LINES = 6
_MIN_GAP_LINES = 3
"""At most how many lines between two parts are told with them."""

_INDENT = "    "
_SKIPPED = f"{_INDENT}..."
_HEAD_END = re.compile(r"[:{]\s*(?:#.*|//.*)?$")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_FILES = "\nfiles: "
_MIN_STEM = 4


@dataclass(frozen=True, slots=True)
class _Span:
    """Some lines, from the first to before the last, counted from 0."""

    first: int
    end: int


def word_place(item: Item) -> str:
    """Where a piece of code is, and what it is called: `shop/holds.py:12 Hold.renew`."""
    return _word_heading(item, _line_number(item, "start_line"))


def word_code(item: Item, question: str, most: int = MAX_LINES) -> str:
    """The place of a piece of code, and under it its lines; of a long one those that the question names."""
    lines = remove_invisible(item.text).rstrip().split("\n")
    spans = _choose_spans(lines, question, most)
    start = _line_number(item, "start_line")
    end = _line_number(item, "end_line")
    place: str | None = None
    if start is not None and end is not None and end - start + 1 == len(lines):
        place = ", ".join(_word_range(start + span.first, start + span.end - 1) for span in spans)
    elif (
        start is not None and end is not None
    ):  # parts of a class: their lines have other numbers in the file
        place = _word_range(start, end)
    indentation = _common_indentation(lines)
    told = [_word_lines(lines[span.first : span.end], indentation) for span in spans]
    whole = spans[-1].end == len(lines)
    return "\n".join(
        (_word_heading(item, place), f"\n{_SKIPPED}\n".join(told), *([] if whole else [_SKIPPED]))
    )


def choose_lines(text: str, question: str, most: int = MAX_LINES) -> str:
    """The lines of a piece of code as they stand; of a long one the head and what the question names."""
    lines = text.rstrip().split("\n")
    spans = _choose_spans(lines, question, most)
    told = ["\n".join(lines[span.first : span.end]) for span in spans]
    return "\n...\n".join(told) + ("" if spans[-1].end == len(lines) else "\n...")


def word_commit(item: Item, message: str = "") -> str:
    """What a commit says, or the given part of it; then a few of its files."""
    said = message or str(item.metadata.get("message") or "") or item.text
    said = join_lines(said.partition(_FILES)[0])
    files = item.metadata.get("files")
    named = [str(name) for name in files][:MAX_FILES] if isinstance(files, (list, tuple)) else []
    count = item.metadata.get("files_changed")
    more = max(0, (count if isinstance(count, int) else len(files or ())) - len(named))
    listed = ", ".join(named) + (f" and {more} more" if more else "")
    return f"{said} (in {listed})" if listed else said


def _word_heading(item: Item, place: object) -> str:
    path, name = item.metadata.get("path"), item.metadata.get("qualified_name")
    where = f"{path}:{place}" if path and place is not None else str(path or "")
    return (
        escape_entry(" ".join(filter(None, (where, str(name or ""))))) or escape_entry(item.about) or "code"
    )


def _word_range(first: int, last: int) -> str:
    return f"{first}-{last}" if last > first else f"{first}"


def _line_number(item: Item, key: str) -> int | None:
    number = item.metadata.get(key)
    return number if isinstance(number, int) else None


def _word_lines(lines: Sequence[str], indentation: int) -> str:
    """Lines of code as they stand in the file, but for what could pass for structure."""
    return "\n".join(_word_line(line[indentation:]) for line in lines)


def _word_line(line: str) -> str:
    expanded = line.expandtabs(4).rstrip()
    inside = escape_entry(expanded)
    if len(inside) > MAX_LINE_CHARACTERS:
        inside = inside[: inside.rfind(" ", 0, MAX_LINE_CHARACTERS) + 1 or MAX_LINE_CHARACTERS] + "..."
    blanks = len(expanded) - len(expanded.lstrip())
    return f"{_INDENT}{' ' * min(blanks, MAX_LINE_CHARACTERS)}{inside}" if inside else ""


def _common_indentation(lines: Sequence[str]) -> int:
    """How many blanks all lines begin with."""
    return min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)


# Which lines of a long piece of code are told -------------------------------------------------------------


def _choose_spans(lines: Sequence[str], question: str, most: int) -> list[_Span]:
    """All lines if there are few; else the head, and the lines that have most of the question's words."""
    if len(lines) <= most:
        return [_Span(0, len(lines))]
    head = _find_head_end(lines)
    size = most - head
    weights = _line_weights(lines, question, head)
    best = max(range(head, len(lines) - size + 1), key=lambda first: sum(weights[first : first + size]))
    if not any(weights) or best - head <= _MIN_GAP_LINES:
        return [_Span(0, most)]
    return [_Span(0, head), _Span(best, best + size)]


def _find_head_end(lines: Sequence[str]) -> int:
    """After which line the head of a definition ends."""
    ends = (at + 1 for at, line in enumerate(lines[:_MAX_HEAD_LINES]) if _HEAD_END.search(line))
    return next(ends, 1)


def _line_weights(lines: Sequence[str], question: str, head: int) -> list[float]:
    """How much each line has of the question; a word that many lines have counts for less."""
    asked = {_stem(word) for word in (*content_words(question), *_split_names(question))}
    shared = [asked & {_stem(part) for part in _split_names(line)} for line in lines]
    counts = Counter(word for words in shared[head:] for word in words)
    return [sum(1 / counts[word] for word in words) if at >= head else 0.0 for at, words in enumerate(shared)]


def _split_names(text: str) -> list[str]:
    """The words of a text, those inside code names each for itself."""
    return [fold_case(part) for part in _PART.findall(text) if len(part) > 1]


def _stem(word: str) -> str:
    """A word without the endings that code and questions most often differ in."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            return word[: -len(ending)]
    return word
