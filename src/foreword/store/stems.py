"""Splits text into the words of the full-text indexes with FTS5's own tokenizers, for every engine.

So an engine without FTS5 indexes the same words, and ranks the same items in the same order.
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
"""The tokenizer of each index with its options, as its table in `store.schema` names them."""


class _ThreadTokenizers(threading.local):
    """The tokenizers of one thread, by index; two threads may not use one connection at once."""

    def __init__(self) -> None:
        self._db = apsw.Connection(":memory:")
        self.by_index: dict[str, Any] = {
            index: self._db.fts5_tokenizer(name, arguments)
            for index, (name, arguments) in _TOKENIZERS.items()
        }


_tokenizers = _ThreadTokenizers()


def split_for_index(index: str, text: str) -> list[str]:
    """The words of a text as an index has them: stemmed for `words`, as they are for `identifiers`."""
    tokenizer = _tokenizers.by_index[index]
    words: list[str] = tokenizer(
        text.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False
    )
    return words


def split_into_stems(text: str) -> list[str]:
    """The stems of a text's words, as the index `words` has them."""
    return split_for_index("words", text)
