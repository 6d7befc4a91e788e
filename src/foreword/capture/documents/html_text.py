"""What a reader of a web page sees: its title, its headings and its text; no scripts, styles or hidden parts.

A tokenizer of our own: trees take a time that grows with the square of the nesting (200,000 open `div`s took
one parser five minutes), and for the text no tree is needed. Every character is looked at a bounded number of
times, whatever the page.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

from foreword.capture.documents.sections import Section

_UNSEEN = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select"})
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
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NAME = re.compile(r"</?([a-zA-Z][^\s/>]{0,60})")
_HIDDEN = re.compile(
    r"""\shidden(?=[\s=/>]|$)|\saria-hidden\s?=\s?["']?true|style\s?=\s?["'][^"'>]{0,300}"""
    r"""(?:display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?0)""",
    re.IGNORECASE,
)
_LONGEST_TAG = 20_000
_SPACES = re.compile(r"[ \t\n\r\f]+")


@dataclass(slots=True)
class _Page:
    """A page while it is read."""

    title: str = ""
    sections: list[Section] = field(default_factory=list)
    above: list[tuple[int, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    heading: int = 0
    inside: str = ""

    def say(self, text: str) -> None:
        told = html.unescape(text)
        self.words.append(told if self.inside == "pre" else _SPACES.sub(" ", told))

    def end_line(self) -> None:
        """A block begins or ends: what was said is a line, a heading or the title."""
        said = "".join(self.words)
        self.words.clear()
        if self.inside == "title":
            self.title = self.title or " ".join(said.split())[:200]
        elif self.heading:
            self._head(" ".join(said.split())[:200])
        elif self.inside == "pre" and said.strip():
            self.lines += ["", "```", *said.strip("\n").split("\n"), "```", ""]
        elif said.strip():
            self.lines.append(said.strip())

    def end_block(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def _head(self, title: str) -> None:
        if not title:
            return
        self.end_section()
        while self.above and self.above[-1][0] >= self.heading:
            self.above.pop()
        self.above.append((self.heading, title))

    def end_section(self) -> None:
        if any(self.lines):
            self.sections.append(Section(tuple(title for _, title in self.above), 0, self.lines))
        self.lines = []


def page(text: str) -> tuple[str, list[Section]]:
    """The title of a page, and its sections."""
    read = _Page()
    at = 0
    lowered = text.lower() if text.isascii() else _lowered(text)
    while at < len(text):
        tag = text.find("<", at)
        if tag < 0:
            read.say(text[at:])
            break
        if tag > at:
            read.say(text[at:tag])
        at = _tag(read, text, lowered, tag)
    read.end_line()
    read.end_section()
    return read.title, read.sections


def _lowered(text: str) -> str:
    """ASCII letters in lower case: other letters may change their number, and places would no longer fit."""
    return text.translate({upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)})


def _tag(read: _Page, text: str, lowered: str, at: int) -> int:
    """Take one tag, comment or hidden element; where reading goes on."""
    if text.startswith("<!--", at):
        return _after(text, "-->", at + 4)
    name = _NAME.match(lowered, at)
    if not name:
        if text[at + 1 : at + 2] in ("!", "?"):
            return _after(text, ">", at)
        read.say("<")
        return at + 1
    end = _end(text, at)
    if text[at + 1] == "/":
        _closed(read, name[1])
    elif name[1] in _UNSEEN or (name[1] not in _VOID and _HIDDEN.search(text, at, end)):
        return end if text[end - 2 : end] == "/>" else _past(lowered, name[1], end)
    else:
        _opened(read, name[1])
    return end


def _opened(read: _Page, name: str) -> None:
    if name not in _BLOCKS:
        return
    if read.heading or name in _WITHIN_LINE:
        read.words.append("\n" if read.inside == "pre" and name == "br" else " ")
        return
    read.end_line()
    if name != "li":
        read.end_block()
    read.heading = _HEADINGS.get(name, 0)
    read.inside = name if name in ("pre", "title") else ""
    if name == "li":
        read.words.append("- ")


def _closed(read: _Page, name: str) -> None:
    if name not in _BLOCKS or (read.heading and name not in _HEADINGS) or name in _WITHIN_LINE:
        return
    read.end_line()
    if name != "li":
        read.end_block()
    read.heading = 0
    read.inside = ""


def _after(text: str, mark: str, at: int) -> int:
    found = text.find(mark, at)
    return len(text) if found < 0 else found + len(mark)


def _end(text: str, at: int) -> int:
    """Where a tag ends; a `>` between quotes does not end it, within reason."""
    limit = at + _LONGEST_TAG
    end = text.find(">", at, limit)
    while end >= 0 and _quoted(text[at:end]):
        further = text.find(">", end + 1, min(limit, end + 1_000))
        if further < 0:
            break
        end = further
    return end + 1 if end >= 0 else min(limit, len(text))


def _quoted(tag: str) -> bool:
    return (tag.count('="') > 0 and tag.count('"') % 2 == 1) or (
        tag.count("='") > 0 and tag.count("'") % 2 == 1
    )


def _past(lowered: str, name: str, at: int) -> int:
    """Where an element ends that nobody sees: after as many closing tags as there are opening ones."""
    depth = 1
    opening, closing = f"<{name}", f"</{name}"
    while depth:
        close = lowered.find(closing, at)
        if close < 0:
            return len(lowered)
        depth += lowered.count(opening, at, close) - 1
        at = _after(lowered, ">", close)
    return at
