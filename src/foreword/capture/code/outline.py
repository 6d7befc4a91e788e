"""What a source file defines: functions and classes with their names, places, comments and references.

A definition stands on its own when a reader would look for it: a function, a method, a class. One inside a
function belongs to that function, unless it is long or the function is too long to be shown. Broken code has
definitions as far as it can be read.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from foreword.capture.code.grammars import LANGUAGES, reader
from foreword.capture.code.naming import name_of
from foreword.capture.code.parsable import is_parsable
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_log = get_logger(__name__)

SHOWN = 6_000
"""How much of a definition is shown, in characters; what is beyond is cut into windows."""

NESTED_LINES = 30
"""A definition inside a function is one of its own from this many lines on."""

_VALUE_LINES = 3
_LEAD_LINES = 80
_DEEPEST = 50
"""How many definitions may stand in one another; what is deeper is part of the last."""

_DEEPEST_INDENT = 400
_LONGEST_QUALIFIED = 600
_WRAPPERS = frozenset(
    [
        "decorated_definition",
        "export_statement",
        "template_declaration",
        "expression_statement",
        "ambient_declaration",
        "lexical_declaration",
        "variable_declaration",
        "type_declaration",
        "type_definition",
    ]
)
_SHARED = frozenset({"lexical_declaration", "variable_declaration", "type_declaration"})
"""Wrappers that may hold several definitions; then they are nobody's."""

_HELD_BY = ("value", "right")
_NEWLINE = re.compile(rb"\n")
_HASH = (b"#",)
_SLASHES = (b"//",)
_COMMENTS: dict[str, tuple[bytes, ...]] = {
    "python": _HASH,
    "ruby": _HASH,
    "bash": _HASH,
    "php": (b"#", b"//"),
    "rust": (b"//", b"#["),
    "javascript": (b"//", b"@"),
    "typescript": (b"//", b"@"),
    "tsx": (b"//", b"@"),
}
"""What a line above a definition begins with when it belongs to it: a comment, or a mark of the language."""

Kind = Literal["function", "class", "scope"]


@dataclass(slots=True, eq=False)
class Definition:
    """Something that has a name and a place, in bytes.

    `start` is where its comment begins, `head` where its decorators do, `written` where it does itself.
    `within` is the definition around it, `parts` are those in it that stand on their own.
    """

    kind: Kind
    name: str
    start: int
    head: int
    written: int
    end: int
    body: tuple[int, int] | None
    within: Definition | None
    qualified: str
    method: bool = False
    stands: bool = False
    parts: list[Definition] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of a source that stand on their own, in order, its lines, and what it refers to.

    `rows` are the lines themselves, `lines` the bytes at which they begin.
    """

    source: bytes
    rows: list[bytes]
    lines: list[int]
    definitions: tuple[Definition, ...] = ()
    imports: tuple[tuple[int, int], ...] = ()
    places: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def row(self, at: int) -> int:
        """The line, from 0, of a byte."""
        return bisect_right(self.lines, at) - 1

    def references(self, start: int, end: int) -> tuple[str, ...]:
        """The names referred to between two bytes, as they come."""
        return self.names[bisect_left(self.places, start) : bisect_left(self.places, end)]

    def around(self, at: int) -> Definition | None:
        """The innermost definition at a byte that stands on its own."""
        found = bisect_right(self.definitions, at, key=lambda definition: definition.start) - 1
        here = self.definitions[found] if found >= 0 else None
        while here is not None and (here.end <= at or not here.stands):
            here = here.within
        return here


def outline(source: bytes, language: str) -> Outline:
    """The outline of a source; no definitions where the language is unknown or reading takes too long."""
    rows = source.split(b"\n")
    lines = [0, *(newline.end() for newline in _NEWLINE.finditer(source))]
    if language not in LANGUAGES:
        return Outline(source, rows, lines)
    read = reader(language).read(source) if is_parsable(source, rows, language) else None
    if read is None:
        _log.warning("a file is no code that can be read; it is cut into windows", language=language)
        return Outline(source, rows, lines)
    _tree, found = read
    places = sorted((node.start_byte, node.end_byte) for node in found.get("reference", ()))
    return Outline(
        source,
        rows,
        lines,
        tuple(_Builder(source, rows, lines, language).definitions(found)),
        tuple((node.start_byte, node.end_byte) for node in found.get("import", ())),
        tuple(start for start, _ in places),
        tuple(source[start:end].decode(errors="replace").strip("<>\"'") for start, end in places),
    )


class _Builder:
    """Puts the nodes of one file into each other."""

    def __init__(self, source: bytes, rows: list[bytes], lines: list[int], language: str) -> None:
        self._source = source
        self._rows = rows
        self._lines = lines
        self._marks = _COMMENTS.get(language, _SLASHES)
        self._blocks = self._marks != _HASH
        self._language = language

    def definitions(self, found: dict[str, list[Node]]) -> list[Definition]:
        """Those that stand on their own, in the order of the file."""
        nodes: list[tuple[int, int, Kind, Node]] = [
            (node.start_byte, -node.end_byte, kind, node)
            for capture, kind in _KINDS.items()
            for node in found.get(capture, ())
            if capture != "value" or self._height(node.start_byte, node.end_byte) >= _VALUE_LINES
        ]
        nodes += self._rests(found.get("rest", []))
        nodes.sort(key=lambda known: known[:3])
        open_ones: list[Definition] = []
        standing: list[Definition] = []
        for start, end, kind, node in nodes:
            while open_ones and open_ones[-1].end <= start:
                open_ones.pop()
            if len(open_ones) >= _DEEPEST:
                continue
            made = self._definition(kind, node, open_ones[-1] if open_ones else None)
            if made is None:
                continue
            made.end = max(made.end, -end)
            open_ones.append(made)
            if made.stands:
                standing.append(made)
                self._tell_parent(made)
        return standing

    def _rests(self, nodes: list[Node]) -> Iterator[tuple[int, int, Kind, Node]]:
        """Namespaces without braces; each reaches to the next."""
        starts = sorted(node.start_byte for node in nodes)
        for node in nodes:
            after = bisect_right(starts, node.start_byte)
            end = starts[after] if after < len(starts) else len(self._source)
            yield node.start_byte, -end, "scope", node

    def _definition(self, kind: Kind, node: Node, within: Definition | None) -> Definition | None:
        outer = _outer(node)
        name = name_of(node, outer, self._source, self._language)
        if not name:
            return None
        start, head = self._beginning(outer.start_byte)
        body = _body(node) or (self._fields(node) if self._language == "go" else None)
        owner = _owner(within)
        made = Definition(
            kind=kind,
            name=name.rpartition(".")[2],
            start=start,
            head=head,
            written=_written(outer, node),
            end=outer.end_byte,
            body=body,
            within=within,
            qualified=f"{within.qualified}.{name}"[-_LONGEST_QUALIFIED:] if within else name,
            method=kind == "function" and ("." in name or (owner is not None and owner.kind == "class")),
        )
        made.stands = self._stands(made, owner)
        return made

    def _stands(self, made: Definition, owner: Definition | None) -> bool:
        if made.kind == "scope" or (made.kind == "function" and self._only_declared(made)):
            return False
        if owner is None or (owner.kind == "class" and owner.stands):
            return True
        return owner.end - owner.start > SHOWN or self._height(made.head, made.end) >= NESTED_LINES

    def _only_declared(self, made: Definition) -> bool:
        return made.body is None and self._source[made.end - 1 : made.end] == b";"

    def _height(self, start: int, end: int) -> int:
        return self._source.count(b"\n", start, end) + 1

    @staticmethod
    def _tell_parent(made: Definition) -> None:
        parent = made.within
        while parent is not None and not parent.stands:
            parent = parent.within
        if parent is not None:
            parent.parts.append(made)

    def _fields(self, node: Node) -> tuple[int, int] | None:
        """What Go writes between the braces of a type."""
        held = node.child_by_field_name("type")
        if held is None or held.type not in ("struct_type", "interface_type"):
            return None
        at = self._source.find(b"{", held.start_byte, held.end_byte)
        return (at, held.end_byte) if at >= 0 else None

    def _beginning(self, at: int) -> tuple[int, int]:
        """Where the text of a definition begins, with its comments and without; both with its indentation."""
        row = bisect_right(self._lines, at) - 1
        if at - self._lines[row] > _DEEPEST_INDENT or self._source[self._lines[row] : at].strip():
            return at, at  # something else stands before it on its line
        first = row
        lowest = max(0, row - _LEAD_LINES)
        while first > lowest and (above := self._above(first, lowest)) is not None:
            first = above
        return self._lines[first], self._lines[row]

    def _above(self, row: int, lowest: int) -> int | None:
        """The row where the comment begins that ends above a row, if one does."""
        line = self._rows[row - 1].strip()
        if line.startswith(self._marks) and not line.startswith(b"#!"):
            return row - 1
        if not self._blocks or not line.endswith(b"*/"):
            return None
        for first in range(row - 1, lowest - 1, -1):
            if b"/*" in self._rows[first]:
                return first if self._rows[first].lstrip().startswith(b"/*") else None
        return None


_KINDS: dict[str, Kind] = {"function": "function", "class": "class", "scope": "scope", "value": "function"}


def _outer(node: Node) -> Node:
    """A definition with what is written around it: its decorators, `export`, `const`, `template <…>`."""
    while (parent := node.parent) is not None and parent.type in _WRAPPERS:
        if parent.type in _SHARED and parent.named_child_count > 1:
            break
        node = parent
    return node


def _written(outer: Node, node: Node) -> int:
    """Where a definition begins without the decorators that stand before it."""
    return node.start_byte if outer.type == "decorated_definition" else outer.start_byte


def _body(node: Node) -> tuple[int, int] | None:
    found = node.child_by_field_name("body")
    for by in _HELD_BY:
        if found is None and (held := node.child_by_field_name(by)) is not None:
            found = held.child_by_field_name("body")
    return (found.start_byte, found.end_byte) if found is not None else None


def _owner(within: Definition | None) -> Definition | None:
    """The function or class around something; a scope only lends its name."""
    while within is not None and within.kind == "scope":
        within = within.within
    return within
