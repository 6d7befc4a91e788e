"""Passwords in tables: in the column whose head says so, of comma-separated values or of Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.capture.secrets import shape
from foreword.capture.secrets.tables import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.capture.secrets.tables import Reading

_HEADS = frozenset("password passwords passwort kennwort passwd pwd senha wachtwoord token tokens secret secrets".split())
_HEADS_BEYOND_ASCII = ("contraseña", "hasło", "пароль", "密码")
_EDGE = re.compile(r"[ \t\"'`*]{0,8}(?:[,;|\t\r\n]|\Z)")
_SEPARATORS = ",;\t|"
_MAX_HEAD_CHARACTERS = 400
_MAX_ROWS = 500
_RULE = re.compile(r"[\s|:+-]*")


def find_in_columns(reading: Reading) -> Iterator[Secret]:
    """The values in columns whose heads name a secret, as far as they look like one."""
    text, lower = reading.text, reading.lower
    for word in (*sorted(_HEADS & reading.words), *(() if lower.isascii() else _HEADS_BEYOND_ASCII)):
        at = lower.find(word)
        while at >= 0:
            if _EDGE.match(lower, at + len(word)):
                yield from _find_under_head(text, lower, word, at)
            at = lower.find(word, at + len(word))


def _find_under_head(text: str, lower: str, word: str, at: int) -> Iterator[Secret]:
    """The values under a word, if that is the head of a column."""
    start, end = lower.rfind("\n", 0, at) + 1, lower.find("\n", at)
    if end < 0 or end - start > _MAX_HEAD_CHARACTERS:
        return
    for separator in _SEPARATORS:
        heads = [cell.strip(" \"'`*\r") for cell in lower[start:end].split(separator)]
        if len(heads) > 1 and word in heads:
            yield from _find_in_rows(text, end + 1, separator, heads.index(word), len(heads))


def _find_in_rows(text: str, start: int, separator: str, column: int, columns: int) -> Iterator[Secret]:
    """The values in one column of the rows that begin here, until a line has another number of columns."""
    for _ in range(_MAX_ROWS):
        end = text.find("\n", start)
        end = end if end >= 0 else len(text)
        row = text[start:end]
        cells = row.split(separator)
        if len(cells) != columns:
            return
        if not _RULE.fullmatch(row):
            at = start + sum(len(cell) + 1 for cell in cells[:column])
            value = cells[column].strip(" \"'`\r")
            at += cells[column].find(value) if value else 0
            if len(value) >= 6 and " " not in value and shape.is_mixed(value) and not shape.is_placeholder(value):
                yield Secret("password", at, at + len(value))
        start = end + 1
