"""Passwords in tables: in the column whose head says so, of comma-separated values or of Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.capture.secrets import shape
from foreword.capture.secrets.tables import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.capture.secrets.tables import Reading

_HEADS = frozenset(
    (
        *("password", "passwords", "passwort", "kennwort", "passwd", "pwd", "senha", "wachtwoord"),
        *("token", "tokens", "secret", "secrets"),
    )
)
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
            rows_end = at + len(word)
            if _EDGE.match(lower, rows_end):
                found, rows_end = _read_table(text, lower, word, at)
                yield from found
            at = lower.find(word, max(rows_end, at + len(word)))


def _read_table(text: str, lower: str, word: str, at: int) -> tuple[list[Secret], int]:
    """The values under a word, if that is the head of a column, and where its rows end."""
    start, end = lower.rfind("\n", 0, at) + 1, lower.find("\n", at)
    if end < 0 or end - start > _MAX_HEAD_CHARACTERS:
        return [], at
    for separator in _SEPARATORS:
        heads = [cell.strip(" \"'`*\r") for cell in lower[start:end].split(separator)]
        if len(heads) > 1 and word in heads:
            return _read_rows(text, end + 1, separator, heads.index(word), len(heads))
    return [], at


def _read_rows(text: str, start: int, separator: str, column: int, columns: int) -> tuple[list[Secret], int]:
    """The values in one column of the rows that begin here, and the first line that is no such row."""
    found: list[Secret] = []
    for _ in range(_MAX_ROWS):
        end = text.find("\n", start)
        end = end if end >= 0 else len(text)
        row = text[start:end]
        cells = row.split(separator)
        if len(cells) != columns:
            break
        if not _RULE.fullmatch(row):
            at = start + sum(len(cell) + 1 for cell in cells[:column])
            found += _read_cell(cells[column], at)
        start = end + 1
    return found, start


def _read_cell(cell: str, at: int) -> list[Secret]:
    """The value of a cell that begins here, if it looks like a password."""
    value = cell.strip(" \"'`\r")
    if len(value) < 6 or " " in value or not shape.is_mixed(value) or shape.is_placeholder(value):
        return []
    at += cell.find(value)
    return [Secret("password", at, at + len(value))]
