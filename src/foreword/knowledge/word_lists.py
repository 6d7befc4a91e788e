"""The word lists of `word_lists.toml`, where each says what its words have in common."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


def word_list(name: str) -> frozenset[str]:
    """The words of the list with this name."""
    return frozenset(_read_word_lists()[name].split())


@cache
def _read_word_lists() -> dict[str, str]:
    return tomllib.loads(Path(__file__).with_name("word_lists.toml").read_text(encoding="utf-8"))
