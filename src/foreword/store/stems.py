"""Splits text into the words of the full-text indexes: FTS5's own tokenizers, for every engine.

An engine without FTS5 keeps the same words, and so ranks the same items in the same order.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import apsw

if TYPE_CHECKING:
    from typing import Any

_TOKENIZERS = {
    "words": ("porter", ["unicode61", "remove_diacritics", "2"]),
    "identifiers": ("unicode61", []),
}
"""The tokenizer of each index, worded as in its table."""


class _ThreadTokenizers(threading.local):
    """The tokenizers of one thread: a connection may not be used by two at once."""

    def __init__(self) -> None:
        self._db = apsw.Connection(":memory:")
        self.by_index: dict[str, Any] = {
            index: self._db.fts5_tokenizer(name, arguments)
            for index, (name, arguments) in _TOKENIZERS.items()
        }


_tokenizers = _ThreadTokenizers()


def split_for_index(index: str, text: str) -> list[str]:
    """The words of a text as the index `words` (stemmed) or `identifiers` (as they are) has them."""
    tokenizer = _tokenizers.by_index[index]
    words: list[str] = tokenizer(
        text.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False
    )
    return words


def split_into_stems(text: str) -> list[str]:
    """The words of a text, stemmed as the index does it."""
    return split_for_index("words", text)
