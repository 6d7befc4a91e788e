"""Columns of many rows as array literals, which PostgreSQL reads at once.

psycopg would convert every element of a list by itself, which costs more than the rest of a write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def number_array_literal(values: Iterable[float | None]) -> str:
    """Numbers as the literal of an array of any type of number; None is NULL."""
    return "{" + ",".join("NULL" if value is None else str(value) for value in values) + "}"


def text_array_literal(values: Sequence[str | None]) -> str:
    """Texts as the literal of an array; None is NULL. Raises `DataError` for a text with a NUL character."""
    if not values:
        return "{}"
    if None in values:
        return (
            "{"
            + ",".join("NULL" if value is None else _quote_array_elements((value,)) for value in values)
            + "}"
        )
    return "{" + _quote_array_elements(values) + "}"  # type: ignore[arg-type]


def bytes_array_literal(values: Iterable[bytes]) -> str:
    """Byte strings as the literal of an array of bytea."""
    return "{" + ",".join(rf'"\\x{value.hex()}"' for value in values) + "}"


def _quote_array_elements(texts: Sequence[str]) -> str:
    """Texts in quotes, with commas between them; they are joined by NUL to be escaped all at once."""
    joined = "\0".join(texts)
    if joined.count("\0") != len(texts) - 1:
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    escaped = joined.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\0", '","') + '"'
