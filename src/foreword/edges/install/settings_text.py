"""Change one place in a JSON or TOML text and leave every other byte as it was.

JSON: a value is put, appended or deleted at a path, in the text's own indentation; comments and trailing
commas stay where they are allowed. TOML: one table is added at the end or removed, and the change is verified
by reading the new text. A text that cannot be read or changed safely is refused with a ValidationError;
nothing is repaired by guessing. This module knows neither files nor what the values mean.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import Any

from foreword.errors import ValidationError

Path = tuple[str | int, ...]
Table = tuple[str, str]
Json = Any
"""Any value that JSON has."""

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[-+.\w]+|[{}\[\]:,])', re.DOTALL)
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_INDENT = re.compile(r'^([ \t]+)["\]}]', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _JsonNode:
    """The position of a value in a text; `start` is where its key begins, if it has one."""

    key: str | int | None
    start: int
    opens: int
    end: int
    children: tuple[_JsonNode, ...] = ()


# Reading JSON --------------------------------------------------------------------------------------------


def read_json(text: str, *, comments: bool = False) -> Json:
    """The value of a JSON text, `{}` if it is empty; ValidationError if it is not JSON."""
    if not text.strip():
        return {}
    try:
        return json.loads(_to_strict_json(text, comments=comments))
    except json.JSONDecodeError as error:
        raise ValidationError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError:
        raise ValidationError("it is nested too deeply to be edited") from None


def find_value_at_path(value: Json, path: Path) -> Json:
    """The part of a value at a path, or None if there is none."""
    for key in path:
        match value:
            case dict() if key in value:
                value = value[key]
            case list() if isinstance(key, int) and key < len(value):
                value = value[key]
            case _:
                return None
    return value


def _to_strict_json(text: str, *, comments: bool) -> str:
    """The text as strict JSON of the same length: comments and trailing commas are replaced by blanks."""
    return (
        _blank_out_matches_outside_strings(
            _TRAILING_COMMA, _blank_out_matches_outside_strings(_COMMENT, text)
        )
        if comments
        else text
    )


def _blank_out_matches_outside_strings(pattern: re.Pattern[str], text: str) -> str:
    """The text with every match outside a string replaced by blanks; line breaks stay."""
    return pattern.sub(lambda m: m[0] if m[0][0] == '"' else re.sub(r"[^\n]", " ", m[0]), text)


def _parse_json_positions(strict: str) -> _JsonNode:
    """The positions of all values in a text that is known to be JSON."""
    try:
        return _parse_node(strict, 0, None, None)
    except RecursionError:
        raise ValidationError("it is nested too deeply to be edited") from None


def _parse_node(strict: str, position: int, key: str | int | None, start: int | None) -> _JsonNode:
    """The node of the value that begins at a position; `start` is where its key begins, if it has one."""
    first = _match_json_token(strict, position)
    start = first.start(1) if start is None else start
    if first[1] not in ("{", "["):
        return _JsonNode(key, start, first.start(1), first.end())
    children: list[_JsonNode] = []
    position = first.end()
    while (token := _match_json_token(strict, position))[1] not in ("}", "]"):
        if token[1] == ",":
            position = token.end()
        elif first[1] == "[":
            children.append(_parse_node(strict, position, len(children), None))
            position = children[-1].end
        else:
            colon = _match_json_token(strict, token.end())
            children.append(_parse_node(strict, colon.end(), json.loads(token[1]), token.start(1)))
            position = children[-1].end
    return _JsonNode(key, start, first.start(1), token.end(), tuple(children))


def _match_json_token(strict: str, position: int) -> re.Match[str]:
    """The token of JSON at a position; ValidationError if there is none."""
    found = _TOKEN.match(strict, position)
    if found is None:
        raise ValidationError("it cannot be edited safely; change it by hand")
    return found


def _find_child(node: _JsonNode, key: str | int) -> _JsonNode | None:
    """The child with this key, or None; of two with the same key the last, which parsers use."""
    return next((child for child in reversed(node.children) if child.key == key), None)


# Writing JSON --------------------------------------------------------------------------------------------


def insert_json_value(text: str, path: Path, new: Json, *, comments: bool = False) -> str:
    """The text with a new value at a path that has none; missing objects on the path are created."""
    text = text if text.strip() else "{}\n"
    strict = _to_strict_json(text, comments=comments)
    node = _parse_json_positions(strict)
    for depth, key in enumerate(path):
        child = _find_child(node, key)
        if child is None:
            for missing in reversed(path[depth + 1 :]):
                new = {missing: new}
            return _text_with_added_child(text, strict, node, key, new)
        node = child
    raise ValidationError(f"{'.'.join(map(str, path))} is there already")


def append_json_element(text: str, path: Path, new: Json, *, comments: bool = False) -> str:
    """The text with a new last element in the list at a path; a missing list is created."""
    if find_value_at_path(read_json(text, comments=comments), path) is None:
        return insert_json_value(text, path, [new], comments=comments)
    strict = _to_strict_json(text, comments=comments)
    return _text_with_added_child(
        text, strict, _find_node_at_path(_parse_json_positions(strict), path), None, new
    )


def delete_json_value(text: str, path: Path, *, comments: bool = False) -> str:
    """The text without the value at a path, and without the objects and lists that this leaves empty."""
    strict = _to_strict_json(text, comments=comments)
    parent = _find_node_at_path(_parse_json_positions(strict), path[:-1])
    if len(parent.children) == 1:
        if len(path) > 1:
            return delete_json_value(text, path[:-1], comments=comments)
        return text[: parent.opens + 1] + text[parent.end - 1 :]
    child = _find_node_at_path(parent, path[-1:])
    before = len(text[: child.start].rstrip())
    siblings = parent.children
    place = siblings.index(child)
    next_start = siblings[place + 1].start if place + 1 < len(siblings) else parent.end
    comma = strict.find(",", child.end, next_start)
    if comma < 0 and text is not strict:
        comma = _find_trailing_comma(text, strict, child.end, parent.end)
    if comma >= 0:
        return text[:before] + text[child.end : comma] + text[comma + 1 :]
    comma = strict.index(",", siblings[place - 1].end)
    return text[:comma] + text[comma + 1 : before] + text[child.end :]


def _find_node_at_path(node: _JsonNode, path: Path) -> _JsonNode:
    """The node at a path; ValidationError if there is none."""
    for key in path:
        child = _find_child(node, key)
        if child is None:
            raise ValidationError(f"there is no {key!r} in it")
        node = child
    return node


def _find_trailing_comma(text: str, strict: str, start: int, end: int) -> int:
    """The position of a trailing comma, which the strict text leaves out; -1 if there is none."""
    if strict[start:end].strip() not in ("}", "]"):
        return -1
    return _blank_out_matches_outside_strings(_COMMENT, text).find(",", start, end)


def _text_with_added_child(
    text: str, strict: str, parent: _JsonNode, key: str | int | None, new: Json
) -> str:
    """The text with one more child at the end of an object or a list."""
    if strict[parent.opens] != ("[" if key is None else "{"):
        kind = "a list" if key is None else "an object"
        raise ValidationError(f"{json.dumps(parent.key)} is not {kind}; put that right first")
    inside = text[parent.opens + 1 : parent.end - 1]
    if parent.children and "\n" not in inside:
        return _text_with_appended_member(text, strict, parent, " " + _format_member(key, new, None, ""))
    unit = (_INDENT.search(text) or ("", "  "))[1]
    base = _find_line_indent(text, parent.opens)
    indent = base + unit
    if parent.children:
        indent = _find_line_indent(text, parent.children[-1].start)
        return _text_with_appended_member(
            text, strict, parent, f"\n{indent}" + _format_member(key, new, unit, indent)
        )
    member = f"{inside.rstrip()}\n{indent}" + _format_member(key, new, unit, indent) + f"\n{base}"
    return text[: parent.opens + 1] + member + text[parent.end - 1 :]


def _text_with_appended_member(text: str, strict: str, parent: _JsonNode, member: str) -> str:
    """The text with a formatted member after the last child, and a comma between them."""
    last = parent.children[-1]
    tail = len(text[: parent.end - 1].rstrip())
    trailing = text is not strict and _find_trailing_comma(text, strict, last.end, parent.end) >= 0
    comma = "" if trailing else ","
    return text[: last.end] + comma + text[last.end : tail] + member + text[tail:]


def _format_member(key: str | int | None, new: Json, unit: str | None, indent: str) -> str:
    """A value as JSON, after its key if it has one, each line but the first indented."""
    body = json.dumps(new, indent=unit, ensure_ascii=False).replace("\n", f"\n{indent}")
    return body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"


def _find_line_indent(text: str, position: int) -> str:
    """The indentation of the line that contains a position."""
    line = text[text.rfind("\n", 0, position) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


# TOML ----------------------------------------------------------------------------------------------------


def read_toml(text: str) -> dict[str, Any]:
    """The value of a TOML text; ValidationError if it is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValidationError(str(error)) from error


def add_toml_table(text: str, table: Table, new: dict[str, Any]) -> str:
    """The text with a new table at its end."""
    lines = (f"{_format_toml_key(key)} = {_format_toml_value(value)}\n" for key, value in new.items())
    block = f"[{'.'.join(table)}]\n" + "".join(lines)
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    changed = text + gap + block
    parent, name = table
    old = read_toml(text)
    if not _is_toml_with_value(changed, {**old, parent: {**old.get(parent, {}), name: new}}):
        raise ValidationError(f"a table cannot be added safely; add it by hand:\n{block}")
    return changed


def delete_toml_table(text: str, table: Table) -> str:
    """The text without a table and the tables below it."""
    parent, name = table
    old = read_toml(text)
    others = {key: value for key, value in old[parent].items() if key != name}
    without_parent = {key: value for key, value in old.items() if key != parent}
    changed = "".join(_lines_outside_table(text, table))
    expected = [{**old, parent: others}, *([] if others else [without_parent])]
    if not any(_is_toml_with_value(changed, one) for one in expected):
        raise ValidationError(f"[{parent}.{name}] cannot be taken out safely; remove it by hand")
    return changed


def _is_toml_with_value(text: str, wanted: dict[str, Any]) -> bool:
    """Whether a text is TOML with exactly the wanted value."""
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _lines_outside_table(text: str, table: Table) -> list[str]:
    """The lines that do not belong to a table; blank lines and comments after its last line do not."""
    names = r"\s*\.\s*".join(f"""(?:{name}|"{name}"|'{name}')""" for name in map(re.escape, table))
    header = re.compile(rf"\s*\[\s*{names}\s*(?:\..*)?\]")
    kept: list[str] = []
    pending: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            entering = bool(header.match(line))
            if entering and not inside and kept and not kept[-1].strip():
                kept.pop()  # the blank line before the table
            kept += [] if entering and inside else pending
            inside, pending = entering, []
        if not inside:
            kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            pending.append(line)
        else:
            pending = []
    return kept + pending


def _format_toml_key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else _format_toml_string(key)


def _format_toml_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _format_toml_value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _format_toml_string(value)
        case dict():
            pairs = (f"{_format_toml_key(key)} = {_format_toml_value(inner)}" for key, inner in value.items())
            return f"{{ {', '.join(pairs)} }}"
        case list() | tuple():
            return "[" + ", ".join(map(_format_toml_value, value)) + "]"
        case _:
            return str(value)
