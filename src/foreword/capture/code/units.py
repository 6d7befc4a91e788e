"""A source file becomes items: one for each function, method and class, and windows for everything else.

A class is shown as what it promises: its head, its docstring, its fields and the signatures of its members,
which are items themselves. A file that fits into one window is one item. Any bytes give items, none raise:
what cannot be parsed is cut into windows. Every text is taken from the file as it stands there.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from foreword.capture.code.outline import MAX_SHOWN_CHARACTERS, Definition, outline
from foreword.capture.folder.storable import bytes_hash, display_path, file_source, storable_text
from foreword.types import Item

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

WINDOW_LINES = 40
WINDOW_OVERLAP_LINES = 10
MAX_SMALL_FILE_CHARACTERS = 2_000
"""A file of at most this many characters and WINDOW_LINES lines is one item."""

MAX_REFERENCES = 50

_MAX_DOCSTRING = 1_000
_MAX_SIGNATURE = 400
_MAX_ABOUT = 1_500
_MAX_SUMMARY = 240
_MIN_COMMENT_LINES = 3
_UNCOVERED = re.compile(rb"\0+")
_SIGNATURE_END = re.compile(r"(?:\s|\{|:|=>?)+$")
_WORD = re.compile(rb"[A-Za-z\x80-\xff]{2}")
_EMPTY_CODE = re.compile(
    rb"\s*(?:else|end|endif|fi|done|esac|try|finally|pass|public|private|protected|default|then|begin)\W*$|"
    rb"\s*#\s*(?:endif|else|ifndef|pragma)\b|"
    rb"\s*if __name__ == |\s*(?:sys\.exit\(|unittest\.)?main\(\)"
)
_NOTHING, _COMMENT, _CODE = range(3)
_COMMENT_STARTS = (b"#", b"//", b"/*", b"*")
_ASSIGNMENT = re.compile(rb"[\w\])]\s?[:=]|#\s?define\s")
_UNFINISHED = (b"(", b"[", b"{", b",", b"=", b":")


def code_items(path: str, text: str, language: str, workspace: str, created_at: datetime) -> list[Item]:
    """The items of a file. The path is from the workspace's folder; the language is `language_of` it."""
    text = storable_text(text)
    return list(_File(path, text, language, workspace, created_at).items()) if text.strip() else []


class _File:
    """One file while it is cut into items."""

    def __init__(self, path: str, text: str, language: str, workspace: str, created_at: datetime) -> None:
        source = text.encode()
        self._text = text if len(text) == len(source) else None  # in ASCII, bytes and characters are the same
        self._path = display_path(path)
        self._language = language
        self._outline = outline(source, language)
        self._docstring = _string_at(source, 0) if language == "python" else ""
        self._covered = bytearray(len(self._outline.lines))
        self._facts = {"path": storable_text(path), "language": language, "hash": bytes_hash(source)}
        self._workspace = workspace
        self._created_at = created_at
        self._source = file_source(path)

    def items(self) -> Iterator[Item]:
        """The whole file when it is small; else its units, then windows over what they do not show."""
        size = len(self._outline.source)
        if size <= MAX_SMALL_FILE_CHARACTERS and len(self._covered) <= WINDOW_LINES:
            yield self._loose_item("module", "", self._slice(0, size).rstrip(), (0, size))
            return
        for unit in self._outline.units:
            yield self._unit_item(unit)
        for first, last in self._windows():
            yield self._window_item(first, last)

    def _slice(self, start: int, end: int) -> str:
        if self._text is not None:
            return self._text[start:end]
        return self._outline.source[start:end].decode(errors="replace")

    def _cover(self, first: int, last: int) -> None:
        self._covered[first : last + 1] = b"\1" * (last + 1 - first)

    # Units

    def _unit_item(self, unit: Definition) -> Item:
        parts = _shown_parts(unit)
        docstring = self._unit_docstring(unit)
        facts = {
            "unit": "method" if unit.is_method else unit.kind,
            "name": unit.name,
            "qualified_name": unit.qualified_name,
            "signature": self._signature(unit),
            "docstring": docstring[:_MAX_DOCSTRING],
            "references": self._references(parts, unit.name),
        }
        first, last = self._outline.line_at(unit.start), self._outline.line_at(unit.end - 1)
        if len(parts) == 1 and unit.end - unit.start <= MAX_SHOWN_CHARACTERS:
            text = self._slice(unit.start, unit.end).rstrip()
            self._cover(first, last)
        else:
            text = self._join_parts(parts)
        # Its own name stands in its text; repeated here, it drowns what the docstring says.
        return self._item(text, unit.qualified_name.rpartition(".")[0], docstring, first, last, facts)

    def _join_parts(self, parts: list[tuple[int, int]]) -> str:
        """The text of a unit's parts, as far as it is shown; the lines it shows are covered."""
        texts: list[str] = []
        room = MAX_SHOWN_CHARACTERS
        for start, end in parts:
            part = self._slice(start, end)
            fits = len(part) <= room
            if not fits:
                part = part[: part.rfind("\n", 0, room) + 1 or room]
            texts.append(part)
            room -= len(part)
            self._cover(
                self._outline.line_at(start),
                self._outline.line_at(max(start, start + len(part.encode()) - 1)),
            )
            if not fits:
                break
        text = "".join(texts).rstrip()
        if len(parts) == 1:
            return text
        return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())

    def _signature(self, unit: Definition) -> str:
        """How a unit is written, without its body, on one line."""
        end = unit.body[0] if unit.body else unit.end
        head = self._slice(unit.signature, min(end, unit.signature + 2 * _MAX_SIGNATURE))
        line = " ".join(_remove_comments(head, self._language).split())
        return _SIGNATURE_END.sub("", line)[:_MAX_SIGNATURE]

    def _unit_docstring(self, unit: Definition) -> str:
        """Python's docstring, or the comment above a unit, without its marks."""
        if self._language == "python" and unit.body:
            docstring = _string_at(self._outline.source, unit.body[0])
            if docstring:
                return docstring
        return _comment_text(self._slice(unit.start, unit.head)) if unit.start != unit.head else ""

    def _references(self, parts: list[tuple[int, int]], own_name: str = "") -> list[str]:
        references = self._outline.references
        names = dict.fromkeys(chain.from_iterable(references(start, end) for start, end in parts))
        names.pop(own_name, None)
        return sorted(list(names)[:MAX_REFERENCES])

    # Windows

    def _windows(self) -> Iterator[tuple[int, int]]:
        """The lines, first and last, that no unit shows, in windows that overlap."""
        line_at = self._outline.line_at
        imported = {
            line
            for start, end in self._outline.imports
            for line in range(line_at(start), line_at(max(start, end - 1)) + 1)
        }
        for gap in _UNCOVERED.finditer(self._covered):
            first, end = gap.span()
            classes = [
                _NOTHING if line in imported else _line_class(self._outline.lines[line])
                for line in range(first, end)
            ]
            while classes and not classes[-1]:
                classes.pop()
            skipped = next((at for at, line_class in enumerate(classes) if line_class), len(classes))
            last_start = max(skipped + 1, len(classes) - WINDOW_OVERLAP_LINES)
            for start in range(skipped, last_start, WINDOW_LINES - WINDOW_OVERLAP_LINES):
                window = classes[start : start + WINDOW_LINES]
                if self._is_worth_an_item(window, first + start):
                    yield first + start, first + start + len(window) - 1

    def _is_worth_an_item(self, window: list[int], first: int) -> bool:
        """Whether lines hold some code, a longer comment, or a single value with a name."""
        code = window.count(_CODE)
        if code == 1:
            return _is_value(self._outline.lines[first + window.index(_CODE)])
        return code > 1 or window.count(_COMMENT) >= _MIN_COMMENT_LINES

    def _window_item(self, first: int, last: int) -> Item:
        starts = self._outline.line_starts
        start = starts[first]
        end = starts[last + 1] - 1 if last + 1 < len(starts) else len(self._outline.source)
        unit = self._outline.unit_at(start)
        name = unit.qualified_name if unit else ""
        return self._loose_item("window", name, self._slice(start, end)[:MAX_SHOWN_CHARACTERS], (start, end))

    def _loose_item(self, unit: str, name: str, text: str, span: tuple[int, int]) -> Item:
        """An item of lines that are no definition; `name` is that of the unit around them."""
        docstring = "" if name else self._docstring
        facts = {
            "unit": unit,
            "name": name.rpartition(".")[2],
            "qualified_name": name,
            "signature": "",
            "docstring": docstring[:_MAX_DOCSTRING],
            "references": self._references([span]),
        }
        first, last = self._outline.line_at(span[0]), self._outline.line_at(max(span[0], span[1] - 1))
        return self._item(text, name, docstring, first, last, facts)

    def _item(
        self, text: str, around: str, docstring: str, first: int, last: int, facts: dict[str, Any]
    ) -> Item:
        about = f"{self._path} › {around}" if around else self._path
        summary = _first_line(docstring)
        return Item(
            text=text,
            workspace=self._workspace,
            kind="code",
            about=f"{about} — {summary}"[:_MAX_ABOUT] if summary else about,
            created_at=self._created_at,
            source=self._source,
            metadata={**self._facts, **facts, "start_line": first + 1, "end_line": last + 1},
        )


def _line_class(line: bytes) -> int:
    if not _WORD.search(line) or _EMPTY_CODE.match(line):
        return _NOTHING
    return _COMMENT if line.lstrip().startswith(_COMMENT_STARTS) else _CODE


def _is_value(line: bytes) -> bool:
    """Whether a single line gives something a name, or says something in quotes."""
    line = line.strip()
    if line.endswith((b'"', b"'")):
        return True
    return not line.endswith(_UNFINISHED) and bool(_ASSIGNMENT.search(line[:200]))


def _shown_parts(unit: Definition) -> list[tuple[int, int]]:
    """What is shown of a unit: all but the bodies and comments of the units in it."""
    parts = []
    at = unit.start
    for inner in unit.units:
        for start, end in ((inner.start, inner.head), inner.body or (inner.head, inner.head)):
            if at < start < end:
                parts.append((at, start))
                at = end
            elif start < end:
                at = max(at, end)
    parts.append((at, unit.end))
    return parts


# Docstrings and comments

_STRING_START = re.compile(rb"(?:#[^\n]*+\n|\s++|\\\n)*+[rRuUbB]{0,2}(\"\"\"|'''|\"|')")
_COMMENT_MARKS = re.compile(
    r"^[ \t]*(?:/\*+!?|\*+/|\*+(?=\s|$)|//+!?|#+(?![\[!]))[ \t]?|[ \t]*\*+/[ \t]*$", re.MULTILINE
)
_TAGS = re.compile(r"</?[a-zA-Z][^<>\n]{0,80}>")
_ATTRIBUTES = re.compile(r"^[ \t]*(?:#\[|@\w+(?:\(|$)).*$", re.MULTILINE)
_RULE = re.compile(r"^[\W_]*$")
_STRING = r"(\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
_STRING_OR_HASH_COMMENT = re.compile(rf"{_STRING}|#[^\n]*")
_STRING_OR_SLASH_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def _string_at(source: bytes, place: int) -> str:
    """The string that stands at a place, without quotes and indentation; "" when something else does."""
    opening = _STRING_START.match(source, place)
    if not opening:
        return ""
    quote = opening[1]
    end = source.find(quote, opening.end())
    if end < 0 or (len(quote) == 1 and b"\n" in source[opening.end() : end]):
        return ""
    return _strip_lines(source[opening.end() : end].decode(errors="replace"))


def _comment_text(comment: str) -> str:
    """A comment without its marks, its tags and the attributes that stand among its lines."""
    return _strip_lines(_TAGS.sub("", _COMMENT_MARKS.sub("", _ATTRIBUTES.sub("", comment))))


def _remove_comments(head: str, language: str) -> str:
    """The head of a definition without the comments in it, or between it and the body."""
    if language in ("python", "ruby", "bash"):
        pattern, marks = _STRING_OR_HASH_COMMENT, ["#"]
    else:
        pattern, marks = _STRING_OR_SLASH_COMMENT, ["//", "/*"]
    if not any(mark in head for mark in marks):
        return head
    return pattern.sub(lambda found: found[1] or " ", head)


def _first_line(docstring: str) -> str:
    """The first line of a docstring that is more than punctuation."""
    lines = (line for line in docstring.split("\n") if not _RULE.match(line))
    return next(lines, "")[:_MAX_SUMMARY]


def _strip_lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n")).strip()
