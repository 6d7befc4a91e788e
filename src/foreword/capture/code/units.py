"""A source file becomes items: one for each function, method and class, and windows for everything else.

A class is shown as what it promises: its head, its docstring, its fields and the signatures of its members,
which are items themselves. A file that fits into one window is one item. Any bytes give items, none raise:
what cannot be parsed is cut into windows. Every text is taken from the file as it stands there.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from foreword.capture.code.docstring import comment_text, first_line, string_text, without_comments
from foreword.capture.code.outline import SHOWN, Definition, Outline, outline
from foreword.capture.folder.decode import bytes_hash, decoded, file_source, place, sound_text
from foreword.types import Item

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

WINDOW = 40
OVERLAP = 10
SMALL = 2_000
"""A file of at most WINDOW lines and this many characters is one item."""

REFERENCES = 50

_DOCSTRING = 1_000
_SIGNATURE = 400
_ABOUT = 1_500
_GAPS = re.compile(rb"\0+")
_OPENERS = re.compile(r"(?:\s|\{|:|=>?)+$")
_WORD = re.compile(rb"[A-Za-z\x80-\xff]{2}")
_HOLLOW = re.compile(
    rb"\s*(?:else|end|endif|fi|done|esac|try|finally|pass|public|private|protected|default|then|begin)\W*$|"
    rb"\s*#\s*(?:endif|else|ifndef|pragma)\b|"
    rb"\s*if __name__ == |\s*(?:sys\.exit\(|unittest\.)?main\(\)"
)
_NOTHING, _COMMENT, _CODE = range(3)
_COMMENT_MARKS = (b"#", b"//", b"/*", b"*")
_SOME_COMMENT = 3
_NAMED = re.compile(rb"[\w\])]\s?[:=]|#\s?define\s")
_OPEN = (b"(", b"[", b"{", b",", b"=", b":")


def units(path: str, text: str | bytes, language: str, workspace: str, created_at: datetime) -> list[Item]:
    """The items of a file. The path is from the workspace's folder; the language is `language_of` it."""
    data = text if isinstance(text, bytes) else sound_text(text).encode()
    shown = decoded(data) if isinstance(text, bytes) else sound_text(text)
    if not shown.strip():
        return []
    return list(_File(path, shown, language, workspace, created_at, bytes_hash(data)).items())


class _File:
    """One file on its way into items."""

    def __init__(
        self, path: str, text: str, language: str, workspace: str, created_at: datetime, digest: str
    ) -> None:
        source = text.encode()
        self._text = text if len(text) == len(source) else None  # in ASCII, bytes and characters are the same
        self._place = place(path)
        self._language = language
        self._outline: Outline = outline(source, language)
        self._doc = string_text(source, 0) if language == "python" else ""
        self._covered = bytearray(len(self._outline.lines))
        self._common = {"path": sound_text(path), "language": language, "hash": digest}
        self._workspace = workspace
        self._created_at = created_at
        self._source = file_source(path)

    def items(self) -> Iterator[Item]:
        """The whole file when it is small; else its definitions, then windows over what they do not show."""
        source, rows = self._outline.source, len(self._covered)
        if len(source) <= SMALL and rows <= WINDOW:
            yield self._loose("module", "", self._slice(0, len(source)).rstrip(), (0, len(source)))
            return
        for definition in self._outline.definitions:
            yield self._unit(definition)
        for first, last in self._windows():
            yield self._window(first, last)

    def _slice(self, start: int, end: int) -> str:
        if self._text is not None:
            return self._text[start:end]
        return self._outline.source[start:end].decode(errors="replace")

    # Definitions

    def _unit(self, definition: Definition) -> Item:
        pieces = _pieces(definition)
        doc = self._docstring(definition)
        facts = {
            "unit": "method" if definition.method else definition.kind,
            "name": definition.name,
            "qualified_name": definition.qualified,
            "signature": self._signature(definition),
            "docstring": doc[:_DOCSTRING],
            "references": self._references(pieces, definition.name),
        }
        row = self._outline.row
        first, last = row(definition.start), row(definition.end - 1)
        if len(pieces) == 1 and definition.end - definition.start <= SHOWN:
            text = self._slice(definition.start, definition.end).rstrip()
            self._covered[first : last + 1] = b"\1" * (last + 1 - first)
        else:
            text = self._shown(pieces)
        # Its own name stands in its text; said twice, it drowns what the docstring says.
        return self._item(text, definition.qualified.rpartition(".")[0], doc, first, last, facts)

    def _shown(self, pieces: list[tuple[int, int]]) -> str:
        """The pieces of a definition, as far as they are shown; the lines they show are covered."""
        told: list[str] = []
        left = SHOWN
        for start, end in pieces:
            part = self._slice(start, end)
            whole = len(part) <= left
            if not whole:
                part = part[: part.rfind("\n", 0, left) + 1 or left]
            told.append(part)
            left -= len(part)
            first = self._outline.row(start)
            last = self._outline.row(max(start, start + len(part.encode()) - 1))
            self._covered[first : last + 1] = b"\1" * (last + 1 - first)
            if not whole:
                break
        text = "".join(told).rstrip()
        if len(pieces) == 1:
            return text
        return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())

    def _signature(self, definition: Definition) -> str:
        """How a definition is written, without its body, on one line."""
        end = definition.body[0] if definition.body else definition.end
        said = self._slice(definition.written, min(end, definition.written + 2 * _SIGNATURE))
        return _OPENERS.sub("", " ".join(without_comments(said, self._language).split()))[:_SIGNATURE]

    def _docstring(self, definition: Definition) -> str:
        if self._language == "python" and definition.body:
            doc = string_text(self._outline.source, definition.body[0])
            if doc:
                return doc
        if definition.start == definition.head:
            return ""
        return comment_text(self._slice(definition.start, definition.head))

    def _references(self, pieces: list[tuple[int, int]], own: str = "") -> list[str]:
        found = self._outline.references
        names = dict.fromkeys(chain.from_iterable(found(start, end) for start, end in pieces))
        names.pop(own, None)
        return sorted(list(names)[:REFERENCES])

    # Windows

    def _windows(self) -> Iterator[tuple[int, int]]:
        """The lines, first and last, that no definition shows, in windows that overlap."""
        imported = self._imported()
        for gap in _GAPS.finditer(self._covered):
            first, end = gap.span()
            told = [0 if row in imported else _worth(self._outline.rows[row]) for row in range(first, end)]
            while told and not told[-1]:
                told.pop()
            skipped = next((at for at, worth in enumerate(told) if worth), len(told))
            for start in range(skipped, max(skipped + 1, len(told) - OVERLAP), WINDOW - OVERLAP):
                window = told[start : start + WINDOW]
                if self._says(window, first + start):
                    yield first + start, first + start + len(window) - 1

    def _says(self, window: list[int], first: int) -> bool:
        """Whether lines are worth an item: some code, a longer comment, or a single value with a name."""
        code = window.count(_CODE)
        if code == 1:
            return _is_value(self._outline.rows[first + window.index(_CODE)])
        return code > 1 or window.count(_COMMENT) >= _SOME_COMMENT

    def _imported(self) -> set[int]:
        """The lines that only bring names."""
        row = self._outline.row
        spans = self._outline.imports
        return {line for start, end in spans for line in range(row(start), row(max(start, end - 1)) + 1)}

    def _window(self, first: int, last: int) -> Item:
        lines, source = self._outline.lines, self._outline.source
        start = lines[first]
        end = lines[last + 1] - 1 if last + 1 < len(lines) else len(source)
        around = self._outline.around(start)
        name = around.qualified if around else ""
        return self._loose("window", name, self._slice(start, end)[:SHOWN], (start, end))

    def _loose(self, unit: str, name: str, text: str, span: tuple[int, int]) -> Item:
        """An item of lines that are no definition."""
        facts = {
            "unit": unit,
            "name": name.rpartition(".")[2],
            "qualified_name": name,
            "signature": "",
            "docstring": "" if name else self._doc[:_DOCSTRING],
            "references": self._references([span]),
        }
        first, last = self._outline.row(span[0]), self._outline.row(max(span[0], span[1] - 1))
        return self._item(text, name, "" if name else self._doc, first, last, facts)

    def _item(self, text: str, around: str, doc: str, first: int, last: int, facts: dict[str, Any]) -> Item:
        about = f"{self._place} › {around}" if around else self._place
        said = first_line(doc)
        return Item(
            text=text,
            workspace=self._workspace,
            kind="code",
            about=f"{about} — {said}"[:_ABOUT] if said else about,
            created_at=self._created_at,
            source=self._source,
            metadata={**self._common, **facts, "start_line": first + 1, "end_line": last + 1},
        )


def _worth(line: bytes) -> int:
    if not _WORD.search(line) or _HOLLOW.match(line):
        return _NOTHING
    return _COMMENT if line.lstrip().startswith(_COMMENT_MARKS) else _CODE


def _is_value(line: bytes) -> bool:
    """Whether a line that stands alone gives something a name, or says something in quotes."""
    said = line.strip()
    return said.endswith((b'"', b"'")) or (not said.endswith(_OPEN) and bool(_NAMED.search(said[:200])))


def _pieces(definition: Definition) -> list[tuple[int, int]]:
    """What is shown of a definition: all but the bodies and comments of what stands on its own in it."""
    pieces = []
    at = definition.start
    for part in definition.parts:
        for start, end in ((part.start, part.head), part.body or (part.head, part.head)):
            if at < start < end:
                pieces.append((at, start))
                at = end
            elif start < end:
                at = max(at, end)
    pieces.append((at, definition.end))
    return pieces
