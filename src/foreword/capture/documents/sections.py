"""A marked-up text becomes sections: the path of headings above some lines, and those lines.

Knows the headings of Markdown and reStructuredText, the fences in which nothing is a heading, and the front
matter that some tools put before a document. Works line by line and forward only: any text is read in a time
that its length tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_LONGEST_HEADING = 200
_LONGEST_FRONT_MATTER = 100
_FEWEST_WORDS, _FEWEST_OF_SENTENCE = 3, 6
_WORD = re.compile(r"\w[\w.,'’-]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_HTML_HEADING = re.compile(r" {0,3}<h([1-6])(?: [^<>]{0,200})?>([^<>]{1,200})</h[1-6]>\s*$", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\[\]]{0,200})\](?:\([^()]{0,500}\)|\[[^\[\]]{0,100}\])")
_EMPHASIS = re.compile(r"[`*]+|(?<!\w)_+|_+(?!\w)|\{#[^{}]{0,100}\}")
_NOT_PROSE = ("-", "*", "+", ">", "|", "#", "<")
_FRONT = {"---": ("---", "..."), "+++": ("+++",)}
_FIELD = re.compile(r"([A-Za-z][\w-]{0,60})\s{0,8}[:=]\s{0,8}(\S.{0,500})$")
_UNDERLINES = frozenset("=-~^\"'`#*+:.<>_")


@dataclass(frozen=True, slots=True)
class Section:
    """Lines under a path of headings; `first` is the line, from 0, at which they begin."""

    headings: tuple[str, ...]
    first: int
    lines: list[str]
    page: int = 0


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands before a document: how many lines that takes, and the fields that are plain."""

    lines: int = 0
    fields: dict[str, str] = field(default_factory=dict)


Headings = Callable[[list[str]], Iterator[tuple[int, int, int, str]]]
"""Finds headings: the line at which one begins, the line after it, its level from 1, and what it says."""


def sections(lines: list[str], headings: Headings, skip: int = 0, root: str = "") -> Iterator[Section]:
    """The sections of a text, in order; what stands before the first heading has none above it.

    A heading with nothing under it that says something itself is a section of its own: nowhere else is that
    said.
    """
    above: list[tuple[int, str]] = [(0, root)] if root else []
    found = [heading for heading in headings(lines) if heading[0] >= skip]
    following = [*found[1:], (len(lines), len(lines), 0, "")]
    yield Section(_names(above), skip, lines[skip : found[0][0] if found else len(lines)])
    for (start, begins, level, title), (end, _, next_level, _) in zip(found, following, strict=False):
        while above and above[-1][0] >= level:
            above.pop()
        bare = next_level <= level and not any(map(_WORD.search, lines[begins:end]))
        if bare and _says_something(title):
            yield Section(_names(above), start, lines[start:begins])
            continue
        if title and not (above and above[-1][1] == title):
            above.append((level, title))
        yield Section(_names(above), begins, lines[begins:end])


def _names(above: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(name for _, name in above)


def _says_something(title: str) -> bool:
    """Whether a heading is more than a question, and than the name of a part: `Usage`, `Getting started`."""
    return len(_WORD.findall(title)) >= _FEWEST_WORDS and not title.endswith(("?", "？"))


def fenced(lines: list[str]) -> Iterator[bool]:
    """For every line of Markdown, whether it belongs to a fence."""
    closing = ""
    for line in lines:
        found = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if closing:
            yield True
            if found and found[1].startswith(closing) and not found[2].strip():
                closing = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            closing = found[1]
            yield True
        else:
            yield False


def markdown(lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """The headings of Markdown: with hashes, underlined, or as HTML on a line of its own."""
    inside = list(fenced(lines))
    for row, line in enumerate(lines):
        if inside[row] or not line.strip() or _indent(line) > 3:
            continue
        if line.lstrip().startswith("#"):
            level, title = _hashes(line.strip())
            if level:
                yield row, row + 1, level, _plain(title)
        elif found := _HTML_HEADING.match(line):
            yield row, row + 1, int(found[1]), _plain(found[2])
        elif row and not inside[row - 1] and (level := _underlines(lines, row)):
            yield row - 1, row + 1, level, _plain(lines[row - 1].strip())


def _hashes(line: str) -> tuple[int, str]:
    rest = line.lstrip("#")
    level = len(line) - len(rest)
    if level > 6 or (rest and not rest[0].isspace()):
        return 0, ""
    title = rest.strip()
    without = title.rstrip("#")
    return level, without.rstrip() if not without or without[-1].isspace() else title


def _underlines(lines: list[str], row: int) -> int:
    """The level of the heading that a line underlines: a paragraph of one line, and nothing else."""
    marks = set(lines[row].strip())
    if marks not in ({"="}, {"-"}) or (row > 1 and lines[row - 2].strip()):
        return 0
    above = lines[row - 1]
    if not above.strip() or _indent(above) > 3 or above.lstrip().startswith(_NOT_PROSE):
        return 0
    if marks == {"="}:
        return 1
    return 0 if _is_sentence(above) else 2


def _is_sentence(line: str) -> bool:
    """Whether a line is told rather than a title: a rule of dashes below it ends it, and names nothing."""
    return line.rstrip().endswith(".") and len(_WORD.findall(line)) >= _FEWEST_OF_SENTENCE


def rst(lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """The headings of reStructuredText: underlined; the order of appearance tells the level of a style."""
    styles: list[tuple[str, bool]] = []
    row = 1
    while row < len(lines):
        mark = _ruled(lines[row])
        title = lines[row - 1].strip()
        if mark and title and _indented_title(lines, row, mark) and len(lines[row].strip()) >= len(title):
            over = row > 1 and _ruled(lines[row - 2]) == mark
            style = (mark, over)
            if style not in styles:
                styles.append(style)
            yield row - 1 - over, row + 1, styles.index(style) + 1, title[:_LONGEST_HEADING]
            row += 1
        row += 1


def _ruled(line: str) -> str:
    """The character that a whole line repeats, if it is one that underlines."""
    text = line.rstrip()
    return text[0] if len(text) > 1 and text[0] in _UNDERLINES and text == text[0] * len(text) else ""


def _indented_title(lines: list[str], row: int, mark: str) -> bool:
    """Whether the line above an underline can be a title: only one with a line over it may be indented."""
    title = lines[row - 1]
    if _ruled(title):
        return False
    if row > 1 and _ruled(lines[row - 2]) == mark:
        return True
    return not title[0].isspace() and (row < 2 or not lines[row - 2].strip())


def front_matter(lines: list[str]) -> FrontMatter:
    """The front matter of a document, YAML or TOML, as far as its fields are plain."""
    closing = _FRONT.get(lines[0].rstrip()) if lines else None
    if not closing:
        return FrontMatter()
    for row, line in enumerate(lines[1:_LONGEST_FRONT_MATTER], 1):
        if line.rstrip() in closing:
            found = (_FIELD.match(inner) for inner in lines[1:row])
            return FrontMatter(row + 1, {part[1].lower(): _unquoted(part[2]) for part in found if part})
    return FrontMatter()


def _unquoted(value: str) -> str:
    text = value.strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _indent(line: str) -> int:
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip(" "))


def _plain(title: str) -> str:
    """A heading as it is read, without its marks."""
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", title[: 2 * _LONGEST_HEADING])).split())[
        :_LONGEST_HEADING
    ]
