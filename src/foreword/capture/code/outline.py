"""Find the functions and classes of a source file, with their names, positions, comments and references.

A definition is a unit, with an item of its own, if somebody may search for it: a function, a method, a class.
A definition inside a function belongs to that function, unless it is long or the function is too long to be
shown. In broken code, the definitions that can be parsed are found.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from foreword.capture.code.grammars import LANGUAGES, is_safe_to_parse, parser_for
from foreword.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_log = get_logger(__name__)

MAX_SHOWN_CHARACTERS = 6_000
"""At most this many characters of a definition are shown; the rest is cut into windows."""

MIN_NESTED_LINES = 30
"""A definition inside a function is a unit when it has at least this many lines."""

_MIN_VALUE_LINES = 3
_MAX_COMMENT_LINES = 80
_MAX_NESTING = 50
"""At most this many definitions may be nested; a deeper one is part of the last of them."""

_MAX_INDENT = 400
_MAX_NAME = 200
_MAX_QUALIFIED_NAME = 600
_WRAPPERS = frozenset(
    {
        *("decorated_definition", "export_statement", "template_declaration", "expression_statement"),
        *("ambient_declaration", "lexical_declaration", "variable_declaration", "type_declaration"),
        "type_definition",
    }
)
_SHARED_WRAPPERS = frozenset({"lexical_declaration", "variable_declaration", "type_declaration"})
"""Wrappers that may hold several definitions, in which case they belong to none of them."""

_NEWLINE = re.compile(rb"\n")
_HASH = (b"#",)
_SLASHES = (b"//",)
_COMMENT_MARKS: dict[str, tuple[bytes, ...]] = {
    "python": _HASH,
    "ruby": _HASH,
    "bash": _HASH,
    "php": (b"#", b"//"),
    "rust": (b"//", b"#["),
    "javascript": (b"//", b"@"),
    "typescript": (b"//", b"@"),
    "tsx": (b"//", b"@"),
}
"""The first characters of a line above a definition that belongs to it: a comment or an attribute."""

Kind = Literal["function", "class", "scope"]
_KINDS: dict[str, Kind] = {"function": "function", "class": "class", "scope": "scope", "value": "function"}


@dataclass(slots=True, eq=False)
class Definition:
    """A function, class or scope with its name and its position in bytes.

    `start` is where its comment begins, `head` where its decorators begin, `signature` where the definition
    itself begins. `parent` is the definition around it, `units` are the units directly inside it.
    """

    kind: Kind
    name: str
    start: int
    head: int
    signature: int
    end: int
    body: tuple[int, int] | None
    parent: Definition | None
    qualified_name: str
    is_method: bool = False
    is_unit: bool = False
    units: list[Definition] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Outline:
    """The units of a source in order, its lines and their positions, its imports and its references."""

    source: bytes
    lines: list[bytes]
    line_starts: list[int]
    units: tuple[Definition, ...] = ()
    imports: tuple[tuple[int, int], ...] = ()
    reference_starts: tuple[int, ...] = ()
    reference_names: tuple[str, ...] = ()

    def line_at(self, byte_offset: int) -> int:
        """The line, from 0, that a byte is on."""
        return bisect_right(self.line_starts, byte_offset) - 1

    def names_referred_to(self, start: int, end: int) -> tuple[str, ...]:
        """The names that are referred to between two bytes, in order."""
        places = self.reference_starts
        return self.reference_names[bisect_left(places, start) : bisect_left(places, end)]

    def unit_at(self, byte_offset: int) -> Definition | None:
        """The innermost unit at a byte."""
        found = bisect_right(self.units, byte_offset, key=lambda definition: definition.start) - 1
        unit = self.units[found] if found >= 0 else None
        while unit is not None and (unit.end <= byte_offset or not unit.is_unit):
            unit = unit.parent
        return unit


def parse_outline(source: bytes, language: str) -> Outline:
    """The outline of a source; without units if the language is unknown or the source cannot be parsed."""
    lines = source.split(b"\n")
    line_starts = [0, *(newline.end() for newline in _NEWLINE.finditer(source))]
    if language not in LANGUAGES:
        return Outline(source, lines, line_starts)
    parsed = parser_for(language).parse(source) if is_safe_to_parse(source, lines, language) else None
    if parsed is None:
        _log.warning("a file is no code that can be read; it is cut into windows", language=language)
        return Outline(source, lines, line_starts)
    _tree, nodes = parsed
    places = sorted((node.start_byte, node.end_byte) for node in nodes.get("reference", ()))
    return Outline(
        source,
        lines,
        line_starts,
        tuple(_UnitFinder(source, lines, line_starts, language).find_units(nodes)),
        tuple((node.start_byte, node.end_byte) for node in nodes.get("import", ())),
        tuple(start for start, _ in places),
        tuple(source[start:end].decode(errors="replace").strip("<>\"'") for start, end in places),
    )


class _UnitFinder:
    """Finds the units of one file and how they are nested."""

    def __init__(self, source: bytes, lines: list[bytes], line_starts: list[int], language: str) -> None:
        self._source = source
        self._lines = lines
        self._line_starts = line_starts
        self._comment_marks = _COMMENT_MARKS.get(language, _SLASHES)
        self._language = language

    def find_units(self, captured_nodes: dict[str, list[Node]]) -> list[Definition]:
        """The units among the captured nodes, in the order of the file."""
        spans: list[tuple[int, int, Kind, Node]] = [
            (node.start_byte, -node.end_byte, kind, node)
            for capture, kind in _KINDS.items()
            for node in captured_nodes.get(capture, ())
            if capture != "value"
            or self._count_lines_between(node.start_byte, node.end_byte) >= _MIN_VALUE_LINES
        ]
        spans += self._spans_of_braceless_scopes(captured_nodes.get("rest", []))
        spans.sort(key=lambda span: span[:3])
        enclosing: list[Definition] = []
        units: list[Definition] = []
        for start, end, kind, node in spans:
            while enclosing and enclosing[-1].end <= start:
                enclosing.pop()
            if len(enclosing) >= _MAX_NESTING:
                continue
            definition = self._make_definition(kind, node, enclosing[-1] if enclosing else None)
            if definition is None:
                continue
            definition.end = max(definition.end, -end)
            enclosing.append(definition)
            if definition.is_unit:
                units.append(definition)
                _add_to_enclosing_unit(definition)
        return units

    def _spans_of_braceless_scopes(self, nodes: list[Node]) -> Iterator[tuple[int, int, Kind, Node]]:
        """The spans of namespaces without braces, each of which reaches to the next."""
        starts = sorted(node.start_byte for node in nodes)
        for node in nodes:
            after = bisect_right(starts, node.start_byte)
            end = starts[after] if after < len(starts) else len(self._source)
            yield node.start_byte, -end, "scope", node

    def _make_definition(self, kind: Kind, node: Node, parent: Definition | None) -> Definition | None:
        """The definition at a node; None if it has no name."""
        outer = _outermost_wrapper(node)
        name = _find_definition_name(node, outer, self._source, self._language)
        if not name:
            return None
        start, head = self._start_before_and_after_comments(outer.start_byte)
        owner = _nearest_function_or_class(parent)
        definition = Definition(
            kind=kind,
            name=name.rpartition(".")[2],
            start=start,
            head=head,
            # In Python, decorators are a wrapper around the definition, but no part of its signature.
            signature=(node if outer.type == "decorated_definition" else outer).start_byte,
            end=outer.end_byte,
            body=_find_body_span(node) or (self._find_go_type_body(node) if self._language == "go" else None),
            parent=parent,
            qualified_name=f"{parent.qualified_name}.{name}"[-_MAX_QUALIFIED_NAME:] if parent else name,
            is_method=kind == "function" and ("." in name or (owner is not None and owner.kind == "class")),
        )
        definition.is_unit = self._should_have_own_item(definition, owner)
        return definition

    def _should_have_own_item(self, definition: Definition, owner: Definition | None) -> bool:
        """Whether a definition gets an item of its own; `owner` is the function or class around it."""
        only_declared = definition.body is None and self._source.endswith(b";", 0, definition.end)
        if definition.kind == "scope" or (definition.kind == "function" and only_declared):
            return False
        if owner is None or (owner.kind == "class" and owner.is_unit):
            return True
        is_long = self._count_lines_between(definition.head, definition.end) >= MIN_NESTED_LINES
        return is_long or owner.end - owner.start > MAX_SHOWN_CHARACTERS

    def _count_lines_between(self, start: int, end: int) -> int:
        return self._source.count(b"\n", start, end) + 1

    def _find_go_type_body(self, node: Node) -> tuple[int, int] | None:
        """The span of the braces of a Go struct or interface; None for other types."""
        type_node = node.child_by_field_name("type")
        if type_node is None or type_node.type not in ("struct_type", "interface_type"):
            return None
        brace = self._source.find(b"{", type_node.start_byte, type_node.end_byte)
        return (brace, type_node.end_byte) if brace >= 0 else None

    def _start_before_and_after_comments(self, byte_offset: int) -> tuple[int, int]:
        """The start of a definition with and without its comments, both with its indentation."""
        row = bisect_right(self._line_starts, byte_offset) - 1
        line_start = self._line_starts[row]
        if byte_offset - line_start > _MAX_INDENT or self._source[line_start:byte_offset].strip():
            return byte_offset, byte_offset  # there is other code before it on its line
        first = row
        lowest_row = max(0, row - _MAX_COMMENT_LINES)
        while first > lowest_row and (above := self._find_comment_start_above(first, lowest_row)) is not None:
            first = above
        return self._line_starts[first], line_start

    def _find_comment_start_above(self, row: int, lowest_row: int) -> int | None:
        """The first row of the comment that ends just above a row; None if there is none."""
        line = self._lines[row - 1].strip()
        if line.startswith(self._comment_marks) and not line.startswith(b"#!"):
            return row - 1
        if self._comment_marks == _HASH or not line.endswith(b"*/"):
            return None
        for first in range(row - 1, lowest_row - 1, -1):
            if b"/*" in self._lines[first]:
                return first if self._lines[first].lstrip().startswith(b"/*") else None
        return None


def _add_to_enclosing_unit(unit: Definition) -> None:
    """Add a unit to the `units` of the nearest unit around it, if there is one."""
    parent = unit.parent
    while parent is not None and not parent.is_unit:
        parent = parent.parent
    if parent is not None:
        parent.units.append(unit)


def _outermost_wrapper(node: Node) -> Node:
    """The outermost node around a definition that belongs to it: decorators, `export`, `template <…>`."""
    while (parent := node.parent) is not None and parent.type in _WRAPPERS:
        if parent.type in _SHARED_WRAPPERS and parent.named_child_count > 1:
            break
        node = parent
    return node


def _find_body_span(node: Node) -> tuple[int, int] | None:
    """The span of the body of a definition, or of the function that is its value; None if there is none."""
    body = node.child_by_field_name("body")
    for name in ("value", "right"):
        if body is None and (value_node := node.child_by_field_name(name)) is not None:
            body = value_node.child_by_field_name("body")
    return (body.start_byte, body.end_byte) if body is not None else None


def _nearest_function_or_class(parent: Definition | None) -> Definition | None:
    """The nearest definition from `parent` outwards that is a function or class, not a scope."""
    while parent is not None and parent.kind == "scope":
        parent = parent.parent
    return parent


# The name of a definition: its parts joined by dots, without parameters and without `this.` and the like

_NAME_FIELDS = ("name", "declarator", "left", "key", "property", "type")
_PARAMETERS = re.compile(r"<[^<>]*>|[\[(].*|[\s&*'\"]", re.DOTALL)
_SEPARATORS = re.compile(r"(?:::|\\|\.|->)+")
_STORAGE_PREFIXES = re.compile(r"^(?:module\.)?(?:exports|this|self)\.|\bprototype\.")
"""Prefixes in JavaScript that are no part of a name, but state where the value is stored."""

_OPERATOR = re.compile(r"\boperator\s*([^\w\s]{1,3})$")
_TEST_MACRO = re.compile(r"(?:[A-Z0-9]+_)*TEST(?:_[A-Z0-9]+)*")
_ARGUMENT = re.compile(r"[A-Za-z_]\w*")
_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)$")


def _find_definition_name(node: Node, outer: Node, source: bytes, language: str) -> str:
    """The name of a definition, from its node or the wrapper around it; "" if it has none."""
    name = _find_node_name(node, source) or _find_node_name(outer, source)
    if not name:
        return "default" if outer.type == "export_statement" else ""
    if language == "go":
        receiver = _RECEIVER.search(_node_field_text(node, "receiver", source)[-_MAX_NAME:])
        return f"{receiver[1]}.{name}" if receiver else name
    if language == "cpp" and _TEST_MACRO.fullmatch(name):
        # A macro defines the test, and its arguments are the name of the test.
        declarator = node.child_by_field_name("declarator")
        arguments = _node_field_text(declarator, "parameters", source) if declarator is not None else ""
        return ".".join(_ARGUMENT.findall(arguments))[:_MAX_NAME] or name
    return name


def _find_node_name(node: Node, source: bytes) -> str:
    """The simplified name in the first field of a node that can hold one; "" if there is none."""
    for field_name in _NAME_FIELDS:
        found = node.child_by_field_name(field_name)
        # C writes the name inside pointers, parameters and parentheses.
        while found is not None and found.type.endswith("_declarator"):
            inner = found.child_by_field_name("declarator") or found.named_child(0)
            if inner is None:
                break
            found = inner
        if found is not None:
            text = _node_text(found, source)
            return _simplify_name(text) or (text if found.type == "operator" else "")
    return ""


def _simplify_name(text: str) -> str:
    """A name without parameters and prefixes such as `this.`, its parts joined by dots."""
    if text.isidentifier():
        return text[:_MAX_NAME]
    text = text[: 10 * _MAX_NAME]
    if sign := _OPERATOR.search(text):
        return f"{_simplify_name(text[: sign.start()])}.operator{sign[1]}".lstrip(".")
    plain = _PARAMETERS.sub("", _PARAMETERS.sub("", text))
    return _STORAGE_PREFIXES.sub("", _SEPARATORS.sub(".", plain)).strip(".")[:_MAX_NAME]


def _node_field_text(node: Node, name: str, source: bytes) -> str:
    found = node.child_by_field_name(name)
    return _node_text(found, source) if found is not None else ""


def _node_text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode(errors="replace")
