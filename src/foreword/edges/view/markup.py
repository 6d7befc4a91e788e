"""HTML from values: everything is escaped unless it was made here.

`el("p", text, class_="note")` makes an element. Children are texts, numbers, elements, or lists of them; None
and False are left out. No text can become markup.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from foreword.text.clean import remove_misleading_characters

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

_FROM_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_QUOTED_FROM_RIGHT = re.compile(f"(?<=[“‘])([^”’]*[{_FROM_RIGHT}][^”’]*)(?=[”’])")
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Markup(str):
    """Text that is already HTML; only `el` and `join` make it."""

    __slots__ = ()


Child: TypeAlias = "Markup | str | int | float | bool | Iterable[Child] | None"
Attribute: TypeAlias = "str | int | float | bool | None"


def join(*children: Child) -> Markup:
    """The HTML of the children, one after the other."""
    return Markup("".join(map(_escape_child, children)))


def _escape_child(child: Child) -> str:
    """The HTML of one child: text is escaped, markup is not, and None and booleans are left out."""
    if child is None or isinstance(child, bool):
        return ""
    if isinstance(child, Markup):
        return str(child)
    if isinstance(child, str | int | float):
        return escape(remove_misleading_characters(str(child)))
    return "".join(map(_escape_child, child))


def el(element: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """An element with its children and attributes.

    `class_` and `for_` lose their underscore; underscores inside a name become hyphens. An attribute that is
    True has no value, and one that is None or False is left out.
    """
    opened = "".join(_format_attribute(name, value) for name, value in attributes.items())
    if element in _VOID:
        return Markup(f"<{element}{opened}>")
    return Markup(f"<{element}{opened}>{join(*children)}</{element}>")


def _format_attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    spelt = name.rstrip("_").replace("_", "-")
    return f" {spelt}" if value is True else f' {spelt}="{escape(remove_misleading_characters(str(value)))}"'


def element_with_user_text(text: str, element: str = "span", **attributes: Attribute) -> Markup:
    """An element with text that somebody wrote; the browser chooses its direction by its script."""
    return el(element, text, dir="auto", **attributes)


def isolate_text_direction_of_quotes(sentence: str) -> Markup:
    """A sentence of ours in which quotations from right to left do not reorder what stands beside them."""
    return join(
        el("bdi", piece) if at % 2 else piece for at, piece in enumerate(_QUOTED_FROM_RIGHT.split(sentence))
    )


def part_address(part: str, *names: str, **query: str | int | None) -> str:
    """The address of a part of the page: `/view/memory/ID?w=…`; empty parameters are left out."""
    path = "/".join(["/view", part, *(quote(name, safe="") for name in names)])
    asked = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(asked)}" if asked else path
