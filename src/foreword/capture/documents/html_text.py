"""Read the title, the headings and the visible text of a web page.

Hidden elements are left out, and so are the parts that every page of a site has: navigation, footers, headers
without a heading. If a page marks its main part, only that is read.

This is a tokenizer of our own: building a tree takes time that grows with the square of the nesting (200,000
open `div`s took one parser five minutes), and the text needs no tree. Every character is examined a limited
number of times, whatever the page.
"""

from __future__ import annotations

import html
import re

from foreword.capture.documents.sections import Section

_INVISIBLE_ELEMENTS = frozenset(
    {"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select"}
)
_ON_EVERY_PAGE = frozenset({"nav", "footer"})
_SITE_ROLE = re.compile(r"""\srole\s?=\s?["']?(?:navigation|contentinfo|banner|search)\b""", re.IGNORECASE)
_MAIN, _HEADER, _HEADING = re.compile(r"<main[\s>]"), "header", re.compile(r"<h[1-6][\s>]")
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "details", "div", "dl"),
        *("dt", "fieldset", "figcaption", "figure", "footer", "form", "head", "header", "hr", "html", "li"),
        *("main", "nav", "ol", "option", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot"),
        *("th", "thead", "title", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6"),
    }
)
_WITHIN_LINE = frozenset({"td", "th", "br"})
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
_HEADING_LEVELS = {f"h{level}": level for level in range(1, 7)}
_TAG_NAME = re.compile(r"</?([a-zA-Z][^\s/>]{0,60})")
_HIDDEN = re.compile(
    r"""\shidden(?=[\s=/>]|$)|\saria-hidden\s?=\s?["']?true|style\s?=\s?["'][^"'>]{0,300}"""
    r"""(?:display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?0)""",
    re.IGNORECASE,
)
_MAX_TAG = 20_000
_MAX_QUOTED = 1_000
_MAX_HEADER = 4_000
_MAX_TITLE = 200
_SPACES = re.compile(r"[ \t\n\r\f]+")
_LOWER_CASE = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def read_page(text: str) -> tuple[str, list[Section]]:
    """The title of a page, and its sections."""
    page = _PageReader(text)
    for start, end in page.find_parts_to_read():
        page.read_part(start, end)
    page.end_line()
    page.end_section()
    return page.title, page.sections


class _PageReader:
    """Reads one page, tag by tag, and collects its title and sections."""

    def __init__(self, text: str) -> None:
        self.title = ""
        self.sections: list[Section] = []
        self._text = text
        # Only ASCII letters, as the lower case of others may have another length, which would move positions.
        self._lower = text.lower() if text.isascii() else text.translate(_LOWER_CASE)
        self._headings_above: list[tuple[int, str]] = []
        self._lines: list[str] = []
        self._words: list[str] = []
        self._heading_level = 0
        self._block = ""

    def find_parts_to_read(self) -> list[tuple[int, int]]:
        """The start and end of the parts to read: the title and the main part, or else the whole page."""
        main = _MAIN.search(self._lower)
        if main is None:
            return [(0, len(self._text))]
        head = self._lower.find("<title", 0, main.start())
        title = [(head, _position_after(self._lower, "</title>", head))] if head >= 0 else []
        start = _find_tag_end(self._text, main.start())
        return [*title, (main.start(), _find_element_end(self._lower, "main", start))]

    def read_part(self, start: int, end: int) -> None:
        """Read the page from `start` to `end`, tag by tag."""
        place = start
        while place < end:
            tag = self._text.find("<", place, end)
            self.add_text(self._text[place : tag if tag >= 0 else end])
            if tag < 0:
                break
            place = self.read_tag(tag)

    def add_text(self, text: str) -> None:
        """Add text to the current line."""
        if text:
            plain = html.unescape(text)
            self._words.append(plain if self._block == "pre" else _SPACES.sub(" ", plain))

    def read_tag(self, tag_start: int) -> int:
        """Read one tag, comment or skipped element; returns the position after it."""
        text = self._text
        if text.startswith("<!--", tag_start):
            return _position_after(text, "-->", tag_start + 4)
        name = _TAG_NAME.match(self._lower, tag_start)
        if not name:
            if text[tag_start + 1 : tag_start + 2] in ("!", "?"):
                return _position_after(text, ">", tag_start)
            self.add_text("<")
            return tag_start + 1
        end = _find_tag_end(text, tag_start)
        if text[tag_start + 1] == "/":
            self._handle_closing_tag(name[1])
        elif self._is_left_out(name[1], tag_start, end):
            return end if text[end - 2 : end] == "/>" else _find_element_end(self._lower, name[1], end)
        else:
            self._handle_opening_tag(name[1])
        return end

    def _is_left_out(self, name: str, start: int, end: int) -> bool:
        """Whether an element is left out: it is hidden, or every page of a site has it."""
        if name in _INVISIBLE_ELEMENTS or name in _ON_EVERY_PAGE:
            return True
        if name in _VOID:
            return False
        if name == _HEADER:
            closed = self._lower.find("</header", end, end + _MAX_HEADER)
            return closed >= 0 and _HEADING.search(self._lower, end, closed) is None
        return bool(_HIDDEN.search(self._text, start, end) or _SITE_ROLE.search(self._text, start, end))

    def _handle_opening_tag(self, name: str) -> None:
        """Begin the block, heading or list element that a tag opens; other tags are ignored."""
        if name not in _BLOCKS:
            return
        if self._heading_level or name in _WITHIN_LINE:
            self._words.append("\n" if self._block == "pre" and name == "br" else " ")
            return
        self._end_block(name)
        self._heading_level = _HEADING_LEVELS.get(name, 0)
        self._block = name if name in ("pre", "title") else ""
        if name == "li":
            self._words.append("- ")

    def _handle_closing_tag(self, name: str) -> None:
        """End the block that a tag closes; other tags are ignored."""
        inside_heading = self._heading_level and name not in _HEADING_LEVELS
        if name not in _BLOCKS or inside_heading or name in _WITHIN_LINE:
            return
        self._end_block(name)
        self._heading_level = 0
        self._block = ""

    def _end_block(self, name: str) -> None:
        """End the current line, and add a blank line after any block except a list element."""
        self.end_line()
        if name != "li" and self._lines and self._lines[-1]:
            self._lines.append("")

    def end_line(self) -> None:
        """Make a line, a heading or the title of the text since the last line."""
        text = "".join(self._words)
        self._words.clear()
        if self._block == "title":
            self.title = self.title or _clean_title(text)
        elif self._heading_level:
            self._begin_section(_clean_title(text))
        elif self._block == "pre" and text.strip():
            self._lines += ["", "```", *text.strip("\n").split("\n"), "```", ""]
        elif text.strip():
            self._lines.append(text.strip())

    def _begin_section(self, title: str) -> None:
        """End the current section, and begin one under this heading; a blank heading is ignored."""
        if not title:
            return
        self.end_section()
        while self._headings_above and self._headings_above[-1][0] >= self._heading_level:
            self._headings_above.pop()
        self._headings_above.append((self._heading_level, title))

    def end_section(self) -> None:
        """Make a section of the lines since the last heading, if there are any."""
        if any(self._lines):
            self.sections.append(Section(tuple(title for _, title in self._headings_above), 0, self._lines))
        self._lines = []


def _clean_title(text: str) -> str:
    return " ".join(text.split())[:_MAX_TITLE]


def _position_after(text: str, mark: str, start: int) -> int:
    """The position after the next mark, or the end of the text."""
    found = text.find(mark, start)
    return len(text) if found < 0 else found + len(mark)


def _find_tag_end(text: str, tag_start: int) -> int:
    """The end of a tag. A `>` between quotes does not end it, unless the quotation is very long."""
    limit = tag_start + _MAX_TAG
    end = text.find(">", tag_start, limit)
    while end >= 0 and _ends_inside_quotes(text[tag_start:end]):
        further = text.find(">", end + 1, min(limit, end + _MAX_QUOTED))
        if further < 0:
            break
        end = further
    return end + 1 if end >= 0 else min(limit, len(text))


def _ends_inside_quotes(tag_so_far: str) -> bool:
    """Whether the beginning of a tag ends inside the quotes of an attribute."""
    return any(f"={quote}" in tag_so_far and tag_so_far.count(quote) % 2 == 1 for quote in "\"'")


def _find_element_end(lower: str, name: str, start: int) -> int:
    """The end of an element: after as many closing tags of its name as there are opening ones."""
    depth = 1
    while depth:
        close = lower.find(f"</{name}", start)
        if close < 0:
            return len(lower)
        depth += lower.count(f"<{name}", start, close) - 1
        start = _position_after(lower, ">", close)
    return start
