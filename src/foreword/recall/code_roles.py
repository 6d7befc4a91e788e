"""The role of a piece of code: it does the work, or it is a test, imports, or a bare signature.

The last three seldom answer a question about how something works or where to change it. They count only if
the question asks for such a thing, or names them. A role is read from the item alone, so that items of any
index have one; nothing is parsed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.types import Item

CodeRole = Literal["work", "test", "imports", "signature"]

_TEST_PATH = re.compile(
    r"(?:^|[/_.-])(?:tests?|specs?|conftest)(?:[/_.-]|$)|[a-z]Tests?\.\w+$", re.IGNORECASE
)
_IMPORT = re.compile(
    r"\s*(?:(?:import|from|use|using|require|require_once|include|package|export \*)\b|#\s*include\b)"
)
_COMMENT = re.compile(r"\s*(?:#(?!\s*include\b)|//)")
_IMPORT_LINE = re.compile(
    rf"{_IMPORT.pattern}|"
    r"\s*(?:\}? ?from\b|@?[\w.*]+(?: as \w+)?,?\s*(?:#.*)?$|[\"'][\w./@-]+[\"'],?\s*$|[()\[\]{},;]*\s*$|"
    r"__all__\b|(?:if|try|except|else)\b[^()]*:\s*$)"
)
_STRING_BLOCK = re.compile(
    r"(\"\"\"|''')(?:.|\n)*?(?:\1|\Z)|^\s*(?:\"[^\"\n]*\"|'[^'\n]*')\s*$", re.MULTILINE
)
_DECORATOR = re.compile(r"^\s*@.*$", re.MULTILINE)
_WORD = re.compile(r"\w+")
_EMPTY_BODY_WORDS = frozenset(["pass", "raise", "return", "none", "null", "notimplementederror"])
_MIN_NAME_CHARACTERS = 4

_ASKS_FOR: Mapping[CodeRole, re.Pattern[str]] = {
    "test": re.compile(r"\b(?:tests?|tested|testing|pytest|unittest|specs?|fixtures?|conftest|coverage)\b"),
    "imports": re.compile(r"\b(?:imports?|imported|importing|re-?exports?|exported|public names|__all__)\b"),
    "signature": re.compile(
        r"\b(?:signatures?|protocols?|interfaces?|abstract|overloads?|stubs?|contracts?)\b"
    ),
}


def code_role(item: Item) -> CodeRole:
    """The role of an item of code."""
    path, unit = str(item.metadata.get("path", "")), item.metadata.get("unit")
    if _TEST_PATH.search(path):
        return "test"
    if unit in ("window", "module"):
        return "imports" if _has_only_imports(item.text) else "work"
    return "signature" if unit in ("function", "method") and _has_no_body(item) else "work"


def find_unrequested_code_without_work(question: str, items: Sequence[Item]) -> dict[str, CodeRole]:
    """The items that do no work and are not asked for, as ids with roles; empty if all are such."""
    folded = question.casefold()
    asked = {role for role, pattern in _ASKS_FOR.items() if pattern.search(folded)}
    words = set(_WORD.findall(folded))
    roles = {item.id: code_role(item) for item in items}
    working = {item.metadata.get("name") for item in items if roles[item.id] == "work"}

    def is_asked_for(item: Item) -> bool:
        # A question that names a function means the one with a body, not its signature elsewhere.
        shadowed = roles[item.id] == "signature" and item.metadata.get("name") in working
        return roles[item.id] in asked or (not shadowed and _is_named_in_question(item, folded, words))

    idle = [item for item in items if roles[item.id] != "work" and not is_asked_for(item)]
    return {item.id: roles[item.id] for item in idle} if len(idle) < len(items) else {}


def _is_named_in_question(item: Item, question: str, words: set[str]) -> bool:
    """Whether a question contains the name of an item, or that of its file."""
    name = str(item.metadata.get("name", "")).casefold()
    file_name = str(item.metadata.get("path", "")).rpartition("/")[2].casefold()
    is_code_name = "_" in name.strip("_") or len(name) >= 2 * _MIN_NAME_CHARACTERS
    return (is_code_name and name in words) or (
        len(file_name) >= _MIN_NAME_CHARACTERS and file_name in question
    )


def _has_only_imports(text: str) -> bool:
    """Whether all lines, but for strings and comments, only import names or list them."""
    lines = [line for line in _STRING_BLOCK.sub("", text).split("\n") if line.strip()]
    code = [line for line in lines if not _COMMENT.match(line)]
    return any(_IMPORT.match(line) for line in code) and all(_IMPORT_LINE.match(line) for line in code)


def _has_no_body(item: Item) -> bool:
    """Whether a function has nothing beyond its signature and its docstring."""
    text = _DECORATOR.sub("", _STRING_BLOCK.sub("", item.text))
    signature = set(_WORD.findall(str(item.metadata.get("signature", ""))))
    return all(word.casefold() in _EMPTY_BODY_WORDS for word in set(_WORD.findall(text)) - signature)
