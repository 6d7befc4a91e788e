"""Change one place in a JSON text and leave every other byte as it was.

Knows where each value of a text begins and ends, how the text is indented, and, where they are allowed,
comments and trailing commas. It knows nothing of files or of what the values mean. A text that is not JSON is
refused with the line where it stops being so; nothing is repaired by guessing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from foreword.errors import ValidationError

Path = tuple[str | int, ...]
Json = Any
"""Whatever JSON can say."""

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[-+.\w]+|[{}\[\]:,])', re.DOTALL)
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_INDENT = re.compile(r'^([ \t]+)["\]}]', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Node:
    """Where a value stands; `start` is where its key begins, if it has one."""

    key: str | int | None
    start: int
    opens: int
    end: int
    children: tuple[_Node, ...] = ()


# Reading -------------------------------------------------------------------------------------------------


def value(text: str, *, comments: bool = False) -> Json:
    """What the text says; an empty text says nothing, as `{}` does."""
    if not text.strip():
        return {}
    try:
        return json.loads(_plain(text, comments=comments))
    except json.JSONDecodeError as error:
        raise ValidationError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError:
        raise ValidationError("it is nested too deeply to be edited") from None


def at(whole: Json, path: Path) -> Json:
    """What lies at a path of a value, or None where the path leads nowhere."""
    for key in path:
        match whole:
            case dict() if key in whole:
                whole = whole[key]
            case list() if isinstance(key, int) and key < len(whole):
                whole = whole[key]
            case _:
                return None
    return whole


def _plain(text: str, *, comments: bool) -> str:
    """The text as strict JSON of the same length, each comment and trailing comma turned into blanks."""
    if not comments:
        return text
    blanked = _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else _blank(found[0]), text)
    return _TRAILING.sub(lambda found: found[0] if found[0][0] == '"' else " ", blanked)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _tree(plain: str) -> _Node:
    """Where everything stands in a text that is known to be JSON."""
    try:
        return _node(plain, 0, None, None)
    except RecursionError:
        raise ValidationError("it is nested too deeply to be edited") from None


def _node(plain: str, position: int, key: str | int | None, start: int | None) -> _Node:
    first = _token(plain, position)
    start = first.start(1) if start is None else start
    if first[1] not in ("{", "["):
        return _Node(key, start, first.start(1), first.end())
    children: list[_Node] = []
    position = first.end()
    while (token := _token(plain, position))[1] not in ("}", "]"):
        if token[1] == ",":
            position = token.end()
        elif first[1] == "[":
            children.append(_node(plain, position, len(children), None))
            position = children[-1].end
        else:
            colon = _token(plain, token.end())
            children.append(_node(plain, colon.end(), json.loads(token[1]), token.start(1)))
            position = children[-1].end
    return _Node(key, start, first.start(1), token.end(), tuple(children))


def _token(plain: str, position: int) -> re.Match[str]:
    found = _TOKEN.match(plain, position)
    if found is None:
        raise ValidationError("it cannot be edited safely; change it by hand")
    return found


def _child(node: _Node, key: str | int) -> _Node | None:
    """The child of that name: of two with one name the last, which is the one that readers see."""
    return next((child for child in reversed(node.children) if child.key == key), None)


# Writing -------------------------------------------------------------------------------------------------


def put(text: str, path: Path, new: Json, *, comments: bool = False) -> str:
    """The text with a new value at a path where there is none; missing objects on the way are made."""
    text = text if text.strip() else "{}\n"
    plain = _plain(text, comments=comments)
    node = _tree(plain)
    for depth, key in enumerate(path):
        child = _child(node, key)
        if child is None:
            for missing in reversed(path[depth + 1 :]):
                new = {missing: new}
            return _added(text, plain, node, key, new)
        node = child
    raise ValidationError(f"{'.'.join(map(str, path))} is there already")


def append(text: str, path: Path, new: Json, *, comments: bool = False) -> str:
    """The text with a new last element in the list at a path, which is made if it is missing."""
    whole = value(text, comments=comments)
    if at(whole, path) is None:
        return put(text, path, [new], comments=comments)
    plain = _plain(text, comments=comments)
    return _added(text, plain, _walked(_tree(plain), path), None, new)


def delete(text: str, path: Path, *, comments: bool = False) -> str:
    """The text without what lies at a path, and without the objects and lists that this leaves empty."""
    plain = _plain(text, comments=comments)
    parent = _walked(_tree(plain), path[:-1])
    if len(parent.children) == 1:
        if len(path) > 1:
            return delete(text, path[:-1], comments=comments)
        return text[: parent.opens + 1] + text[parent.end - 1 :]
    child = _walked(parent, path[-1:])
    before = len(text[: child.start].rstrip())
    comma = plain.find(",", child.end, _next_start(parent, child))
    if comma < 0 and text is not plain:
        comma = _trailing_comma(text, plain, child.end, parent.end)
    if comma >= 0:
        return text[:before] + text[child.end : comma] + text[comma + 1 :]
    previous = parent.children[parent.children.index(child) - 1]
    comma = plain.index(",", previous.end)
    return text[:comma] + text[comma + 1 : before] + text[child.end :]


def _walked(node: _Node, path: Path) -> _Node:
    for key in path:
        child = _child(node, key)
        if child is None:
            raise ValidationError(f"there is no {key!r} in it")
        node = child
    return node


def _next_start(parent: _Node, child: _Node) -> int:
    place = parent.children.index(child)
    return parent.children[place + 1].start if place + 1 < len(parent.children) else parent.end


def _trailing_comma(text: str, plain: str, start: int, end: int) -> int:
    """Where a trailing comma stands that the plain text blanks out; -1 if there is none."""
    blanked = _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else _blank(found[0]), text)
    return blanked.find(",", start, end) if plain[start:end].strip() in ("}", "]") else -1


def _added(text: str, plain: str, parent: _Node, key: str | int | None, new: Json) -> str:
    """The text with one more child at the end of an object or a list."""
    if plain[parent.opens] != ("[" if key is None else "{"):
        kind = "a list" if key is None else "an object"
        raise ValidationError(f"{json.dumps(parent.key)} is not {kind}; put that right first")
    inside = text[parent.opens + 1 : parent.end - 1]
    if parent.children and "\n" not in inside:
        return _spliced(text, plain, parent, " " + _worded(key, new, None, ""))
    unit = (_INDENT.search(text) or ("", "  "))[1]
    base = _line_indent(text, parent.opens)
    indent = base + unit
    if parent.children:
        indent = _line_indent(text, parent.children[-1].start)
        return _spliced(text, plain, parent, f"\n{indent}" + _worded(key, new, unit, indent))
    member = f"{inside.rstrip()}\n{indent}" + _worded(key, new, unit, indent) + f"\n{base}"
    return text[: parent.opens + 1] + member + text[parent.end - 1 :]


def _spliced(text: str, plain: str, parent: _Node, member: str) -> str:
    last = parent.children[-1]
    tail = len(text[: parent.end - 1].rstrip())
    trailing = text is not plain and _trailing_comma(text, plain, last.end, parent.end) >= 0
    comma = "" if trailing else ","
    return text[: last.end] + comma + text[last.end : tail] + member + text[tail:]


def _worded(key: str | int | None, new: Json, unit: str | None, indent: str) -> str:
    body = json.dumps(new, indent=unit, ensure_ascii=False).replace("\n", f"\n{indent}")
    return body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"


def _line_indent(text: str, position: int) -> str:
    """The blanks at the beginning of the line in which a position lies."""
    line = text[text.rfind("\n", 0, position) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]
