"""What a definition in a source file is called: its parts joined by dots, without parameters and places."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST = 200
_NAMED_BY = ("name", "declarator", "left", "key", "property", "type")
_PARAMETERS = re.compile(r"<[^<>]*>|[\[(].*|[\s&*'\"]", re.DOTALL)
_SEPARATORS = re.compile(r"(?:::|\\|\.|->)+")
_PLACES = re.compile(r"^(?:module\.)?(?:exports|this|self)\.|\bprototype\.")
"""What JavaScript writes before a name to say where it is put, not what it is called."""

_OPERATOR = re.compile(r"\boperator\s*([^\w\s]{1,3})$")
_TEST = re.compile(r"(?:[A-Z0-9]+_)*TEST(?:_[A-Z0-9]+)*")
_GIVEN = re.compile(r"[A-Za-z_]\w*")
_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)$")


def name_of(node: Node, outer: Node, source: bytes, language: str) -> str:
    """The name of a definition, which may stand in what is written around it; "" when it has none."""
    name = _name(node, source) or _name(outer, source)
    if not name:
        return "default" if outer.type == "export_statement" else ""
    if language == "go":
        receiver = _RECEIVER.search(_field(node, "receiver", source)[-_LONGEST:])
        return f"{receiver[1]}.{name}" if receiver else name
    if language == "cpp" and _TEST.fullmatch(name):
        return _tested(node, source) or name
    return name


def _name(node: Node, source: bytes) -> str:
    for by in _NAMED_BY:
        found = node.child_by_field_name(by)
        while found is not None and (inner := _declared(found)) is not None:
            found = inner
        if found is not None:
            said = _text(found, source)
            return _called(said) or (said if found.type == "operator" else "")
    return ""


def _declared(node: Node) -> Node | None:
    """What a declarator declares: C writes the name inside pointers, parameters and parentheses."""
    if not node.type.endswith("_declarator"):
        return None
    return node.child_by_field_name("declarator") or node.named_child(0)


def _called(said: str) -> str:
    """A name without its parameters and places, its parts joined by dots."""
    if said.isidentifier():
        return said[:_LONGEST]
    said = said[: 10 * _LONGEST]
    if sign := _OPERATOR.search(said):
        return f"{_called(said[: sign.start()])}.operator{sign[1]}".lstrip(".")
    plain = _PARAMETERS.sub("", _PARAMETERS.sub("", said))
    return _PLACES.sub("", _SEPARATORS.sub(".", plain)).strip(".")[:_LONGEST]


def _tested(node: Node, source: bytes) -> str:
    """What a test is called that a macro defines: by the names that the macro is given."""
    declarator = node.child_by_field_name("declarator")
    given = _field(declarator, "parameters", source) if declarator is not None else ""
    return ".".join(_GIVEN.findall(given))[:_LONGEST]


def _field(node: Node, name: str, source: bytes) -> str:
    found = node.child_by_field_name(name)
    return _text(found, source) if found is not None else ""


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode(errors="replace")
