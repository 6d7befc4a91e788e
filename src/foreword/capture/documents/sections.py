"""Split a marked-up text into sections: lines, with the path of headings above them.

Knows the headings of Markdown and reStructuredText, the fences in which nothing is a heading, and the front
matter that some tools put before a document. Works line by line and never goes back, so that the time is
proportional to the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.text.words import has_words

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_HEADING = 200
_MAX_FRONT_MATTER_LINES = 100
_MIN_STATEMENT_WORDS = 3
_MIN_SENTENCE_WORDS = 6
_WORD = re.compile(r"\w[\w.,'’-]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_HTML_HEADING = re.compile(r" {0,3}<h([1-6])(?: [^<>]{0,200})?>([^<>]{1,200})</h[1-6]>\s*$", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\[\]]{0,200})\](?:\([^()]{0,500}\)|\[[^\[\]]{0,100}\])")
_EMPHASIS = re.compile(r"[`*]+|(?<!\w)_+|_+(?!\w)|\{#[^{}]{0,100}\}")
_LIST_MARK = re.compile(r"^\s*(?:[-*+>]|\d{1,3}[.)])\s")
_MAX_NAVIGATION_LINE = 1_000
_DESCRIBING_FIELDS = frozenset({"description", "summary", "abstract", "excerpt"})
_NOT_PROSE = ("-", "*", "+", ">", "|", "#", "<")
_FRONT_MATTER_ENDS = {"---": ("---", "..."), "+++": ("+++",)}
_FIELD = re.compile(r"([A-Za-z][\w-]{0,60})\s{0,8}[:=]\s{0,8}(\S.{0,500})$")
_UNDERLINES = frozenset("=-~^\"'`#*+:.<>_")


@dataclass(frozen=True, slots=True)
class Section:
    """Lines under a path of headings; `first` is the number, from 0, of the first of them."""

    headings: tuple[str, ...]
    first: int
    lines: list[str]
    page: int = 0

    def under_title(self, title: str) -> Section:
        """The section with a document's title above its headings, unless the title adds nothing to them.

        A page titled "Returns - Plum Bakery" adds nothing to its heading "Returns".
        """
        if not title or title in self.headings:
            return self
        if self.headings and title.casefold().startswith(self.headings[0].casefold()):
            return self
        return replace(self, headings=(title, *self.headings))


Heading = tuple[int, int, int, str]
"""The line at which a heading begins, the line after it, its level from 1, and its text."""


def read_sections(lines: list[str], language: str, *, under_title: bool) -> tuple[str, list[Section]]:
    """The title that the front matter names, or "", and the sections of a `markdown` or `rst` text in order.

    Of the front matter, only a description is kept. Lines of links and tables of contents have no information
    of their own, and are blanked out. With `under_title`, the title is above all headings.
    """
    front_lines, fields = _read_front_matter_fields(lines)
    title = fields.get("title", "") or fields.get("name", "")
    root = title if under_title else ""
    headings = rst_headings(lines) if language == "rst" else markdown_headings(lines)
    text_lines = _blank_out_navigation(lines) if language == "markdown" else lines
    sections = list(_cut_at_headings(text_lines, headings, front_lines, root))
    sections[:0] = _front_matter_description_sections(lines[:front_lines], root)
    if not any(has_words(line) for section in sections for line in section.lines):
        sections = [Section((), 0, lines)]  # it has only headings, so they are its text
    return title, sections


def _front_matter_description_sections(lines: list[str], document_title: str) -> Iterator[Section]:
    """A section for each line of the front matter that describes the document."""
    for row, line in enumerate(lines):
        field = _FIELD.match(line)
        if field and field[1].lower() in _DESCRIBING_FIELDS and has_words(field[2]):
            yield Section((document_title,) if document_title else (), row, [line])


def _blank_out_navigation(lines: list[str]) -> list[str]:
    """The lines, with those outside fences that are nothing but links replaced by blanks."""
    flags = flag_fenced_lines(lines)
    return [
        " " * len(line) if not fenced and _is_navigation(line) else line
        for line, fenced in zip(lines, flags, strict=True)
    ]


def _is_navigation(line: str) -> bool:
    """Whether a line is several links in a row, or an entry of a table of contents."""
    if "](" not in line or len(line) > _MAX_NAVIGATION_LINE:
        return False
    links = _LINK.findall(line)
    is_entry = len(links) == 1 and "](#" in line
    return (len(links) > 1 or is_entry) and not has_words(_LINK.sub("", _LIST_MARK.sub("", line)))


def _cut_at_headings(
    lines: list[str], headings: Iterator[Heading], skipped_lines: int, document_title: str
) -> Iterator[Section]:
    """The sections after the first `skipped_lines`; the text before the first heading is the first of them.

    A heading that makes a statement and has no text below it is the text of a section.
    """
    above: list[tuple[int, str]] = [(0, document_title)] if document_title else []
    found = [heading for heading in headings if heading[0] >= skipped_lines]
    following = [*found[1:], (len(lines), len(lines), 0, "")]
    yield Section(
        _heading_texts(above), skipped_lines, lines[skipped_lines : found[0][0] if found else len(lines)]
    )
    for (start, begins, level, title), (end, _, next_level, _) in zip(found, following, strict=False):
        while above and above[-1][0] >= level:
            above.pop()
        is_bare = next_level <= level and not any(map(has_words, lines[begins:end]))
        if is_bare and _is_statement_heading(title):
            yield Section(_heading_texts(above), start, lines[start:begins])
            continue
        if title and not (above and above[-1][1] == title):
            above.append((level, title))
        yield Section(_heading_texts(above), begins, lines[begins:end])


def _heading_texts(levels_and_texts: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(text for _, text in levels_and_texts)


def _is_statement_heading(title: str) -> bool:
    """Whether a heading makes a statement, and is no question and no short name such as `Usage`."""
    return len(_WORD.findall(title)) >= _MIN_STATEMENT_WORDS and not title.endswith(("?", "？"))


def flag_fenced_lines(lines: list[str]) -> Iterator[bool]:
    """For every line of Markdown, whether it belongs to a fenced block of code."""
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


def markdown_headings(lines: list[str]) -> Iterator[Heading]:
    """The headings of a Markdown text: with hashes, underlined, or as HTML on a line of its own."""
    fenced = list(flag_fenced_lines(lines))
    for row, line in enumerate(lines):
        if fenced[row] or not line.strip() or _indent_width(line) > 3:
            continue
        if line.lstrip().startswith("#"):
            level, title = _read_hash_heading(line.strip())
            if level:
                yield row, row + 1, level, _remove_heading_markup(title)
        elif found := _HTML_HEADING.match(line):
            yield row, row + 1, int(found[1]), _remove_heading_markup(found[2])
        elif row and not fenced[row - 1] and (level := _level_of_underlined_heading(lines, row)):
            yield row - 1, row + 1, level, _remove_heading_markup(lines[row - 1].strip())


def _read_hash_heading(line: str) -> tuple[int, str]:
    """The level and the title of a line that begins with hashes; level 0 if it is no heading."""
    rest = line.lstrip("#")
    level = len(line) - len(rest)
    if level > 6 or (rest and not rest[0].isspace()):
        return 0, ""
    title = rest.strip()
    without = title.rstrip("#")
    return level, without.rstrip() if not without or without[-1].isspace() else title


def _level_of_underlined_heading(lines: list[str], row: int) -> int:
    """The level of the heading that a line underlines; 0 if it does not underline one line of text."""
    marks = set(lines[row].strip())
    if marks not in ({"="}, {"-"}) or (row > 1 and lines[row - 2].strip()):
        return 0
    above = lines[row - 1]
    if not above.strip() or _indent_width(above) > 3 or above.lstrip().startswith(_NOT_PROSE):
        return 0
    if marks == {"="}:
        return 1
    # Dashes below a sentence are a rule, and do not make it a heading.
    is_sentence = above.rstrip().endswith(".") and len(_WORD.findall(above)) >= _MIN_SENTENCE_WORDS
    return 0 if is_sentence else 2


def rst_headings(lines: list[str]) -> Iterator[Heading]:
    """The underlined headings of a reStructuredText; the order in which styles appear gives their level."""
    styles: list[tuple[str, bool]] = []
    row = 1
    while row < len(lines):
        mark = _underline_character(lines[row])
        title = lines[row - 1].strip()
        if mark and title and _can_be_title(lines, row, mark) and len(lines[row].strip()) >= len(title):
            has_overline = row > 1 and _underline_character(lines[row - 2]) == mark
            style = (mark, has_overline)
            if style not in styles:
                styles.append(style)
            yield row - 1 - has_overline, row + 1, styles.index(style) + 1, title[:_MAX_HEADING]
            row += 1
        row += 1


def _underline_character(line: str) -> str:
    """The character that a line consists of, if it can underline a heading; else ""."""
    text = line.rstrip()
    return text[0] if len(text) > 1 and text[0] in _UNDERLINES and text == text[0] * len(text) else ""


def _can_be_title(lines: list[str], row: int, mark: str) -> bool:
    """Whether the line above an underline can be a title; an indented one must have an overline."""
    title = lines[row - 1]
    if _underline_character(title):
        return False
    if row > 1 and _underline_character(lines[row - 2]) == mark:
        return True
    return not title[0].isspace() and (row < 2 or not lines[row - 2].strip())


def _read_front_matter_fields(lines: list[str]) -> tuple[int, dict[str, str]]:
    """The number of lines of the YAML or TOML front matter, and its fields that are on one line."""
    ends = _FRONT_MATTER_ENDS.get(lines[0].rstrip()) if lines else None
    if not ends:
        return 0, {}
    for row, line in enumerate(lines[1:_MAX_FRONT_MATTER_LINES], 1):
        if line.rstrip() in ends:
            fields = filter(None, (_FIELD.match(inner) for inner in lines[1:row]))
            return row + 1, {field[1].lower(): _strip_quotes(field[2]) for field in fields}
    return 0, {}


def _strip_quotes(value: str) -> str:
    text = value.strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _indent_width(line: str) -> int:
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip(" "))


def _remove_heading_markup(title: str) -> str:
    """A heading without its markup, on one line and shortened."""
    plain = _EMPHASIS.sub("", _LINK.sub(r"\1", title[: 2 * _MAX_HEADING]))
    return " ".join(plain.split())[:_MAX_HEADING]
