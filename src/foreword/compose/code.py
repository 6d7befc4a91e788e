"""How code and commits are shown: lines of code under their place, and a commit's message with its files.

Short code is shown whole. Of long code, the head says what it is, and the lines around words of the question
say how it works. Every line is data: it is indented, so that it cannot pass for an entry, and escaped, so
that it cannot end the frame. Which items are shown is decided elsewhere.
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
"""At most how many lines of a piece of code are shown."""

MAX_LINE_CHARACTERS = 160
MAX_FILES = 4
"""At most how many files of a commit are named."""

_MAX_HEAD_LINES = 6
_MIN_GAP_LINES = 3
"""A gap of at most this many lines between the head and the best lines is not worth skipping."""

_INDENT = "    "
_GAP_MARK = f"{_INDENT}..."
_HEAD_END = re.compile(r"[:{]\s*(?:#.*|//.*)?$")
_NAME_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_FILES = "\nfiles: "
_MIN_STEM = 4


@dataclass(frozen=True, slots=True)
class _Span:
    """A range of lines: from `first` up to but not including `end`, counted from 0."""

    first: int
    end: int


def format_path_and_name(item: Item) -> str:
    """The path, line and name of a piece of code: `shop/holds.py:12 Hold.renew`."""
    return _format_heading(item, _line_number(item, "start_line"))


def format_code(item: Item, question: str, most: int = MAX_LINES) -> str:
    """The place of a piece of code with its lines below; of long code only those that the question names."""
    lines = remove_invisible(item.text).rstrip().split("\n")
    spans = _choose_spans(lines, question, most)
    start = _line_number(item, "start_line")
    end = _line_number(item, "end_line")
    place: str | None = None
    if start is not None and end is not None and end - start + 1 == len(lines):
        place = ", ".join(_format_line_range(start + span.first, start + span.end - 1) for span in spans)
    elif (
        start is not None and end is not None
    ):  # parts of a class: their lines have other numbers in the file
        place = _format_line_range(start, end)
    indentation = _common_indentation(lines)
    told = [_format_code_lines(lines[span.first : span.end], indentation) for span in spans]
    whole = spans[-1].end == len(lines)
    return "\n".join(
        (_format_heading(item, place), f"\n{_GAP_MARK}\n".join(told), *([] if whole else [_GAP_MARK]))
    )


def choose_lines(text: str, question: str, most: int = MAX_LINES) -> str:
    """The lines of a piece of code, unchanged; of long code the head and the lines the question names."""
    lines = text.rstrip().split("\n")
    spans = _choose_spans(lines, question, most)
    told = ["\n".join(lines[span.first : span.end]) for span in spans]
    return "\n...\n".join(told) + ("" if spans[-1].end == len(lines) else "\n...")


def format_commit(item: Item, message: str = "") -> str:
    """The message of a commit, or the given part of it, followed by a few of its files."""
    text = message or str(item.metadata.get("message") or "") or item.text
    text = join_lines(text.partition(_FILES)[0])
    files = item.metadata.get("files")
    named = [str(name) for name in files][:MAX_FILES] if isinstance(files, (list, tuple)) else []
    count = item.metadata.get("files_changed")
    more = max(0, (count if isinstance(count, int) else len(files or ())) - len(named))
    listed = ", ".join(named) + (f" and {more} more" if more else "")
    return f"{text} (in {listed})" if listed else text


def _format_heading(item: Item, place: object) -> str:
    """The path, the place in it and the name of a piece of code, as far as they are known."""
    path, name = item.metadata.get("path"), item.metadata.get("qualified_name")
    where = f"{path}:{place}" if path and place is not None else str(path or "")
    return (
        escape_entry(" ".join(filter(None, (where, str(name or ""))))) or escape_entry(item.about) or "code"
    )


def _format_line_range(first: int, last: int) -> str:
    return f"{first}-{last}" if last > first else f"{first}"


def _line_number(item: Item, key: str) -> int | None:
    number = item.metadata.get(key)
    return number if isinstance(number, int) else None


def _format_code_lines(lines: Sequence[str], indentation: int) -> str:
    """Lines of code without their common indentation, each escaped, so that none can pass for structure."""
    return "\n".join(_format_code_line(line[indentation:]) for line in lines)


def _format_code_line(line: str) -> str:
    """One line of code, escaped, indented and cut if it is very long."""
    expanded = line.expandtabs(4).rstrip()
    inside = escape_entry(expanded)
    if len(inside) > MAX_LINE_CHARACTERS:
        inside = inside[: inside.rfind(" ", 0, MAX_LINE_CHARACTERS) + 1 or MAX_LINE_CHARACTERS] + "..."
    blanks = len(expanded) - len(expanded.lstrip())
    return f"{_INDENT}{' ' * min(blanks, MAX_LINE_CHARACTERS)}{inside}" if inside else ""


def _common_indentation(lines: Sequence[str]) -> int:
    """The number of blanks that all lines begin with."""
    return min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)


# Which lines of a long piece of code are told -------------------------------------------------------------


def _choose_spans(lines: Sequence[str], question: str, most: int) -> list[_Span]:
    """All lines if there are at most `most`; else the head, and the lines with most words of the question."""
    if len(lines) <= most:
        return [_Span(0, len(lines))]
    head = _count_definition_head_lines(lines)
    size = most - head
    weights = _line_weights(lines, question, head)
    best = max(range(head, len(lines) - size + 1), key=lambda first: sum(weights[first : first + size]))
    if not any(weights) or best - head <= _MIN_GAP_LINES:
        return [_Span(0, most)]
    return [_Span(0, head), _Span(best, best + size)]


def _count_definition_head_lines(lines: Sequence[str]) -> int:
    """The number of lines that the head of a definition has: up to the line that opens its body."""
    ends = (at + 1 for at, line in enumerate(lines[:_MAX_HEAD_LINES]) if _HEAD_END.search(line))
    return next(ends, 1)


def _line_weights(lines: Sequence[str], question: str, head: int) -> list[float]:
    """How many words of the question each line has; a word that many lines have counts for less."""
    asked = {_stem(word) for word in (*content_words(question), *_split_into_name_parts(question))}
    shared = [asked & {_stem(part) for part in _split_into_name_parts(line)} for line in lines]
    counts = Counter(word for words in shared[head:] for word in words)
    return [sum(1 / counts[word] for word in words) if at >= head else 0.0 for at, words in enumerate(shared)]


def _split_into_name_parts(text: str) -> list[str]:
    """The words of a text in lower case; code names are split into their parts."""
    return [fold_case(part) for part in _NAME_PART.findall(text) if len(part) > 1]


def _stem(word: str) -> str:
    """The word without "ing", "ed", "es" or "s", in which code and questions often differ."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            return word[: -len(ending)]
    return word
