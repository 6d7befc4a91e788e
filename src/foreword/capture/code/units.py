"""Cut a source file into items: one for each function, method and class, and windows for everything else.

A class is shown by its head, its docstring, its fields and the signatures of its members, which are items
themselves. A file that fits into one window is one item. No source raises an error: one that cannot be parsed
is cut into windows. Every text is copied from the file unchanged.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from foreword.capture.code.outline import MAX_SHOWN_CHARACTERS, Definition, parse_outline
from foreword.capture.folder.storable import file_source, hash_content, path_on_one_line
from foreword.text.clean import replace_unstorable_characters
from foreword.text.shorten import cut_at_line_end, cut_at_word_end
from foreword.types import Item

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

WINDOW_LINES = 40
WINDOW_OVERLAP_LINES = 10
MAX_SMALL_FILE_CHARACTERS = 2_000
"""A file of at most this many characters and WINDOW_LINES lines is one item."""

MAX_REFERENCES = 50

_MAX_SIGNATURE = 400
_MAX_ABOUT = 1_500
_MAX_SUMMARY = 240
_MIN_COMMENT_LINES = 3
_UNCOVERED_LINES = re.compile(rb"\0+")
_SIGNATURE_END = re.compile(r"(?:\s|\{|:|=>?)+$")
_WORD = re.compile(rb"[A-Za-z\x80-\xff]{2}")
_AROUND_IMPORTS = re.compile(rb"\s*(?:try|else|finally|(?:except|if|elif)\b.*)\s*:\s*(?:#.*)?$")
"""Lines that have no meaning without the imports beside them, such as `try:`."""

_EMPTY_CODE = re.compile(
    rb"\s*(?:else|end|endif|fi|done|esac|try|finally|pass|public|private|protected|default|then|begin)\W*$|"
    rb"\s*#\s*(?:endif|else|ifndef|pragma)\b|"
    rb"\s*if __name__ == |\s*(?:sys\.exit\(|unittest\.)?main\(\)"
)
_NOTHING, _COMMENT, _CODE = range(3)
_COMMENT_STARTS = (b"#", b"//", b"/*", b"*")
_ASSIGNMENT = re.compile(rb"[\w\])]\s?[:=]|#\s?define\s")
_UNFINISHED_ENDS = (b"(", b"[", b"{", b",", b"=", b":")


def cut_code(path: str, text: str, language: str, workspace: str, created_at: datetime) -> list[Item]:
    """The items of a file. The path starts in the workspace's folder; `language_of` gives the language."""
    text = replace_unstorable_characters(text)
    if not text.strip():
        return []
    return list(_FileCutter(path, text, language, workspace, created_at).cut_into_items())


class _FileCutter:
    """Cuts one file into items, and records which lines they show."""

    def __init__(self, path: str, text: str, language: str, workspace: str, created_at: datetime) -> None:
        source = text.encode()
        self._text = text if len(text) == len(source) else None  # in ASCII, bytes and characters are the same
        self._path = path_on_one_line(path)
        self._language = language
        self._outline = parse_outline(source, language)
        self._docstring = _string_literal_at(source, 0) if language == "python" else ""
        self._covered_lines = bytearray(len(self._outline.lines))
        self._facts = {
            "path": replace_unstorable_characters(path),
            "language": language,
            "hash": hash_content(source),
        }
        self._workspace = workspace
        self._created_at = created_at
        self._source = file_source(path)

    def cut_into_items(self) -> Iterator[Item]:
        """The whole file if it is small; else its units, then windows over the lines that no unit shows."""
        size = len(self._outline.source)
        if size <= MAX_SMALL_FILE_CHARACTERS and len(self._covered_lines) <= WINDOW_LINES:
            yield self._make_item_without_unit("module", "", self._text_between(0, size).rstrip(), (0, size))
            return
        for unit in self._outline.units:
            yield self._make_unit_item(unit)
        for first, last in self._find_uncovered_windows():
            yield self._make_window_item(first, last)

    def _text_between(self, start: int, end: int) -> str:
        """The text from one byte to another."""
        if self._text is not None:
            return self._text[start:end]
        return self._outline.source[start:end].decode(errors="replace")

    def _mark_lines_covered(self, first_line: int, last_line: int) -> None:
        """Record that an item shows these lines."""
        self._covered_lines[first_line : last_line + 1] = b"\1" * (last_line + 1 - first_line)

    # Units

    def _make_unit_item(self, unit: Definition) -> Item:
        """The item of a unit; its lines are marked as covered."""
        parts = _find_shown_parts(unit)
        docstring = self._unit_docstring(unit)
        facts = {
            "unit": "method" if unit.is_method else unit.kind,
            "name": unit.name,
            "qualified_name": unit.qualified_name,
            "signature": self._signature_line(unit),
            "docstring": cut_at_line_end(docstring, MAX_SHOWN_CHARACTERS),
            "references": self._referenced_names(parts, unit.name),
        }
        first, last = self._outline.line_at(unit.start), self._outline.line_at(unit.end - 1)
        if len(parts) == 1 and unit.end - unit.start <= MAX_SHOWN_CHARACTERS:
            text = self._text_between(unit.start, unit.end).rstrip()
            self._mark_lines_covered(first, last)
        else:
            text = self._join_parts_and_mark_covered(parts)
        # The text has the unit's own name already; repeated here, it would outweigh the docstring.
        return self._make_item(text, unit.qualified_name.rpartition(".")[0], docstring, first, last, facts)

    def _join_parts_and_mark_covered(self, parts: list[tuple[int, int]]) -> str:
        """The text of a unit's parts, up to the maximum that is shown; its lines are marked as covered."""
        texts: list[str] = []
        room = MAX_SHOWN_CHARACTERS
        for start, end in parts:
            part = self._text_between(start, end)
            fits = len(part) <= room
            if not fits:
                part = cut_at_line_end(part, room)
            texts.append(part)
            room -= len(part)
            self._mark_lines_covered(
                self._outline.line_at(start),
                self._outline.line_at(max(start, start + len(part.encode()) - 1)),
            )
            if not fits:
                break
        text = "".join(texts).rstrip()
        if len(parts) == 1:
            return text
        return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())

    def _signature_line(self, unit: Definition) -> str:
        """The signature of a unit, without comments, on one line."""
        end = unit.body[0] if unit.body else unit.end
        head = self._text_between(unit.signature, min(end, unit.signature + 2 * _MAX_SIGNATURE))
        line = " ".join(_remove_comments(head, self._language).split())
        return cut_at_word_end(_SIGNATURE_END.sub("", line), _MAX_SIGNATURE)

    def _unit_docstring(self, unit: Definition) -> str:
        """The docstring of a unit (in Python), or the comment above it without its marks."""
        if self._language == "python" and unit.body:
            docstring = _string_literal_at(self._outline.source, unit.body[0])
            if docstring:
                return docstring
        return _remove_comment_marks(self._text_between(unit.start, unit.head))

    def _referenced_names(self, parts: list[tuple[int, int]], own_name: str = "") -> list[str]:
        """The names that are referred to in these spans, sorted, without the unit's own name."""
        referred_to = self._outline.names_referred_to
        names = dict.fromkeys(chain.from_iterable(referred_to(start, end) for start, end in parts))
        names.pop(own_name, None)
        return sorted(list(names)[:MAX_REFERENCES])

    # Windows

    def _find_uncovered_windows(self) -> Iterator[tuple[int, int]]:
        """The first and last line of each window over lines that no unit shows; imports are left out."""
        imported = self._find_import_lines()
        for line in imported:
            if self._outline.unit_at(self._outline.line_starts[line]) is None:
                self._mark_lines_covered(line, line)
        for gap in _UNCOVERED_LINES.finditer(self._covered_lines):
            first, end = gap.span()
            classes = [
                _NOTHING if line in imported else _classify_line(self._outline.lines[line])
                for line in range(first, end)
            ]
            while classes and not classes[-1]:
                classes.pop()
            skipped = next((at for at, line_class in enumerate(classes) if line_class), len(classes))
            last_start = max(skipped + 1, len(classes) - WINDOW_OVERLAP_LINES)
            for start in range(skipped, last_start, WINDOW_LINES - WINDOW_OVERLAP_LINES):
                window = classes[start : start + WINDOW_LINES]
                if self._is_window_worth_keeping(window, first + start):
                    yield first + start, first + start + len(window) - 1

    def _find_import_lines(self) -> set[int]:
        """The lines of imports, and lines such as `try:` beside them."""
        line_at, lines = self._outline.line_at, self._outline.lines
        imported = {
            line
            for start, end in self._outline.imports
            for line in range(line_at(start), line_at(max(start, end - 1)) + 1)
        }
        around = {line + 1 for line in imported} | {line - 1 for line in imported}
        return imported | {
            line for line in around if 0 <= line < len(lines) and _AROUND_IMPORTS.match(lines[line])
        }

    def _is_window_worth_keeping(self, line_classes: list[int], first_line: int) -> bool:
        """Whether a window has enough code, a longer comment, or a single line that assigns a value."""
        code = line_classes.count(_CODE)
        if code == 1:
            return _assigns_or_ends_with_string(self._outline.lines[first_line + line_classes.index(_CODE)])
        return code > 1 or line_classes.count(_COMMENT) >= _MIN_COMMENT_LINES

    def _make_window_item(self, first_line: int, last_line: int) -> Item:
        """The item of a window of lines, under the name of the unit around them."""
        starts = self._outline.line_starts
        start = starts[first_line]
        end = starts[last_line + 1] - 1 if last_line + 1 < len(starts) else len(self._outline.source)
        unit = self._outline.unit_at(start)
        name = unit.qualified_name if unit else ""
        return self._make_item_without_unit(
            "window",
            name,
            cut_at_line_end(self._text_between(start, end), MAX_SHOWN_CHARACTERS).rstrip(),
            (start, end),
        )

    def _make_item_without_unit(
        self, unit_kind: str, enclosing_name: str, text: str, span: tuple[int, int]
    ) -> Item:
        """An item of lines that are no unit; `enclosing_name` is the name of the unit around them, or ""."""
        docstring = "" if enclosing_name else self._docstring
        facts = {
            "unit": unit_kind,
            "name": enclosing_name.rpartition(".")[2],
            "qualified_name": enclosing_name,
            "signature": "",
            "docstring": cut_at_line_end(docstring, MAX_SHOWN_CHARACTERS),
            "references": self._referenced_names([span]),
        }
        first, last = self._outline.line_at(span[0]), self._outline.line_at(max(span[0], span[1] - 1))
        return self._make_item(text, enclosing_name, docstring, first, last, facts)

    def _make_item(
        self,
        text: str,
        enclosing_name: str,
        docstring: str,
        first_line: int,
        last_line: int,
        facts: dict[str, Any],
    ) -> Item:
        """An item whose `about` has the path, the enclosing name and the docstring's first line."""
        about = f"{self._path} › {enclosing_name}" if enclosing_name else self._path
        summary = _first_line_with_words(docstring)
        return Item(
            text=text,
            workspace=self._workspace,
            kind="code",
            about=f"{about} — {summary}"[:_MAX_ABOUT] if summary else about,
            created_at=self._created_at,
            source=self._source,
            metadata={**self._facts, **facts, "start_line": first_line + 1, "end_line": last_line + 1},
        )


def _classify_line(line: bytes) -> int:
    """The class of a line: `_CODE`, `_COMMENT`, or `_NOTHING` if it is not worth showing."""
    if not _WORD.search(line) or _EMPTY_CODE.match(line):
        return _NOTHING
    return _COMMENT if line.lstrip().startswith(_COMMENT_STARTS) else _CODE


def _assigns_or_ends_with_string(line: bytes) -> bool:
    """Whether a line assigns a value to a name, or ends with a string."""
    line = line.strip()
    if line.endswith((b'"', b"'")):
        return True
    return not line.endswith(_UNFINISHED_ENDS) and bool(_ASSIGNMENT.search(line[:200]))


def _find_shown_parts(unit: Definition) -> list[tuple[int, int]]:
    """The spans of a unit that are shown: all but the bodies and comments of the units inside it."""
    parts = []
    position = unit.start
    for inner in unit.units:
        for start, end in ((inner.start, inner.head), inner.body or (inner.head, inner.head)):
            if position < start < end:
                parts.append((position, start))
                position = end
            elif start < end:
                position = max(position, end)
    parts.append((position, unit.end))
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


def _string_literal_at(source: bytes, offset: int) -> str:
    """The string literal at an offset, without quotes and indentation; "" if there is none."""
    opening = _STRING_START.match(source, offset)
    if not opening:
        return ""
    quote = opening[1]
    end = source.find(quote, opening.end())
    if end < 0 or (len(quote) == 1 and b"\n" in source[opening.end() : end]):
        return ""
    return _strip_each_line(source[opening.end() : end].decode(errors="replace"))


def _remove_comment_marks(comment: str) -> str:
    """A comment without its marks, its tags and the attributes among its lines."""
    return _strip_each_line(_TAGS.sub("", _COMMENT_MARKS.sub("", _ATTRIBUTES.sub("", comment))))


def _remove_comments(head: str, language: str) -> str:
    """The head of a definition without the comments in it."""
    if language in ("python", "ruby", "bash"):
        pattern, marks = _STRING_OR_HASH_COMMENT, ["#"]
    else:
        pattern, marks = _STRING_OR_SLASH_COMMENT, ["//", "/*"]
    if not any(mark in head for mark in marks):
        return head
    return pattern.sub(lambda found: found[1] or " ", head)


def _first_line_with_words(docstring: str) -> str:
    """The first line of a docstring that is more than punctuation, shortened; "" if there is none."""
    lines = (line for line in docstring.split("\n") if not _RULE.match(line))
    return cut_at_word_end(next(lines, ""), _MAX_SUMMARY)


def _strip_each_line(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n")).strip()
