"""A document becomes items: a piece of a section each, with the headings above it.

Markdown and reStructuredText are read by their headings, a web page by its own, a PDF page by page and plain
text by its paragraphs. Any bytes give items, none raise; a PDF that gives no text is counted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from foreword.capture.code.languages import language_of
from foreword.capture.documents.html_text import page
from foreword.capture.documents.pdf import Unreadable, pages
from foreword.capture.documents.sections import Section, front_matter, markdown, rst, sections
from foreword.capture.documents.split import pieces
from foreword.capture.folder.decode import bytes_hash, decoded, file_source, place, sound_text
from foreword.types import Item

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from datetime import datetime

_ABOUT = 1_500
_EMBEDDED = re.compile(r"data:[\w/+.;=-]{1,80}base64,[A-Za-z0-9+/=]{64,}")
_WORD = re.compile(r"\w")
_MOST = 2_000
"""How many pieces one document may have."""


def chunks(
    path: str, data: bytes, workspace: str, created_at: datetime, skipped: Counter[Any] | None = None
) -> list[Item]:
    """The items of a document, by the kind that its name tells; `skipped` counts what gave none."""
    language = language_of(path)
    title, found = "", []
    if language == "pdf":
        try:
            found = _paged(path, data)
        except Unreadable as reason:
            if skipped is not None:
                skipped[str(reason)] += 1
    else:
        title, found = _read(decoded(data), language)
    told = [(section, line, text) for section in found for line, text in _told(section)][:_MOST]
    common = {"path": sound_text(path), "language": language or "text", "hash": bytes_hash(data)}
    if title:
        common["title"] = title
    made = _Maker(path, workspace, created_at, common, len(told))
    return [made.item(number, *known) for number, known in enumerate(told, 1)]


def _read(text: str, language: str) -> tuple[str, list[Section]]:
    """The title and the sections of a text."""
    if language == "html":
        title, found = page(text)
        return title, [_under(title, section) for section in found]
    lines = _EMBEDDED.sub("data:…", text).split("\n")
    if language not in ("markdown", "rst"):
        return "", [Section((), 0, lines)]
    front = front_matter(lines)
    title = front.fields.get("title", "") or front.fields.get("name", "")
    headings = markdown if language == "markdown" else rst
    found = [Section((title,) if title else (), 1, lines[1 : front.lines - 1])] if front.lines else []
    found += sections(lines, headings, front.lines, title)
    if not any(_WORD.search(line) for section in found for line in section.lines):
        found = [Section((), 0, lines)]  # nothing but headings: they are what it says
    return title, found


def _under(title: str, section: Section) -> Section:
    """A section of a page, with the page's title above its headings, unless they say the same."""
    if not title or title in section.headings:
        return section
    return Section((title, *section.headings), section.first, section.lines)


def _paged(path: str, data: bytes) -> list[Section]:
    texts = enumerate(pages(place(path), data), 1)
    return [Section((f"page {number}",), 0, text.split("\n"), number) for number, text in texts]


def _told(section: Section) -> Iterator[tuple[int, str]]:
    """The pieces of a section that say something: the line, from 1, at which each begins, and its text."""
    text = "\n".join(section.lines)
    line, counted = section.first + 1, 0
    for start, end in pieces(section.lines):
        piece = text[start:end]
        told = piece.lstrip("\n")
        begins = start + len(piece) - len(told)
        line += text.count("\n", counted, begins)
        counted = begins
        if _WORD.search(told):
            yield line, told.rstrip()


class _Maker:
    """Makes the items of one document."""

    def __init__(
        self, path: str, workspace: str, created_at: datetime, common: dict[str, Any], count: int
    ) -> None:
        self._place = place(path)
        self._source = file_source(path)
        self._workspace = workspace
        self._created_at = created_at
        self._common = common
        self._count = count

    def item(self, number: int, section: Section, line: int, text: str) -> Item:
        """One piece as an item."""
        facts: dict[str, Any] = {
            "headings": list(section.headings),
            "chunk": number,
            "chunks": self._count,
        }
        if section.page:
            facts["page"] = section.page
        elif self._common["language"] != "html":
            facts |= {"start_line": line, "end_line": line + text.count("\n")}
        return Item(
            text=text,
            workspace=self._workspace,
            kind="document",
            about=" › ".join((self._place, *section.headings))[:_ABOUT],
            created_at=self._created_at,
            source=self._source,
            metadata={**self._common, **facts},
        )
