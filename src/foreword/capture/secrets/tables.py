"""Read the rules for finding secrets from the tables beside this file, each of which explains its columns.

Uses the standard library alone, without pathlib, as a hook that must store a payload loads this module.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import NamedTuple

_MACROS = {
    "{uuid}": r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    "{word}": r"""(?:\\?"([^"\n]{4,200})"|\\?'([^'\n]{4,200})'|([^\s"'`|;<>()\\]{4,200}))""",
    "{sure}": r"""((?=[^\s"'`]{0,31}[a-z])(?=[^\s"'`]{0,31}[A-Z])(?=[^\s"'`]{0,31}\d)"""
    r"""(?=[^\s"'`]{0,31}[!#$^&*?~@])(?!\S{0,31}\*\*)[A-Za-z0-9][\w!#$%^&*?~@.-]{6,30})(?=[\s"'`,;)<]|\Z)""",
    "{options}": r"(?:[ \t=]{1,4}[^\s|;&]{1,80}){0,12}?[ \t]{1,4}",
}

_WORDS = re.compile(r"[a-z0-9]+")
BEGINNING_CHARACTERS = 4
_BLANKS = bytes(code if code < 128 and chr(code).isalnum() else 32 for code in range(256))
_DENSE = re.compile(r"[A-Za-z0-9_+/=%.~$:-]{16,}+")
_DIGIT = re.compile(r"[0-9]")


class Secret(NamedTuple):
    """The kind of a secret, and its start and end in a text."""

    kind: str
    start: int
    end: int


class SecretFormat(NamedTuple):
    """A format by which a secret is recognised: a row of `formats.txt`."""

    kind: str
    beginning: str
    pattern: str
    characters_before: int
    is_apart: bool


class KeywordContext(NamedTuple):
    """A place where a value is a secret: a row of `contexts.txt`. `check` names how the value must look.

    `words` are those of the keyword; a text that lacks one of them has no such place.
    """

    kind: str
    keyword: str
    pattern: str
    check: str
    words: frozenset[str]


class PreparedText(NamedTuple):
    """A text with what several rules need: itself in lower case, its words, and its runs that may be keys."""

    text: str
    lower: str
    words: frozenset[str]
    runs: str

    def list_word_prefixes(self) -> set[str]:
        """The first letters of each word of the text."""
        return {word[:BEGINNING_CHARACTERS] for word in self.words}


def read_formats(table: str) -> list[SecretFormat]:
    """The formats in a table, one for each beginning in a row; raises ValueError for a malformed row."""
    formats: list[SecretFormat] = []
    for kind, beginnings, pattern, before in _read_rows(table, "formats", 3, "0"):
        formats += [
            SecretFormat(kind, beginning.rstrip("…"), pattern, int(before), beginning.endswith("…"))
            for beginning in beginnings.split(" ")
        ]
    return formats


def read_keyword_contexts(table: str) -> list[KeywordContext]:
    """The contexts in a table, one for each keyword in a row; raises ValueError for a malformed row."""
    return [
        KeywordContext(kind, keyword.replace("␣", " "), pattern, check, frozenset(_WORDS.findall(keyword)))
        for kind, keywords, pattern, check in _read_rows(table, "contexts", 3, "word")
        for keyword in keywords.split(" ")
    ]


def read_words_by_role(table: str) -> dict[str, tuple[str, ...]]:
    """The words of a table of words for secrets, by their role; those of all languages together."""
    words: dict[str, tuple[str, ...]] = {}
    for role, _language, listed in (row[:3] for row in _read_rows(table, "words", 3, "")):
        words[role] = (*words.get(role, ()), *(word.strip() for word in listed.split(",")))
    return words


def _read_rows(table: str, name: str, columns: int, default: str) -> list[tuple[str, str, str, str]]:
    """The rows of a table, with `default` where the last column is left out; raises ValueError."""
    rows = []
    for number, line in enumerate(table.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        cells = re.split(" {2,}", line.strip())
        if not columns <= len(cells) <= columns + 1:
            raise ValueError(
                f"line {number} of the secret {name} has {len(cells)} columns, not {columns} or {columns + 1}"
            )
        kind, beginnings, pattern, last = (*cells, default)[:4]
        for macro, meaning in _MACROS.items():
            pattern = pattern.replace(macro, meaning)
        rows.append((kind, beginnings, pattern, last))
    return rows


def load_table(name: str) -> str:
    """The text of a table beside this file."""
    path = os.path.join(os.path.dirname(__file__), name)  # noqa: PTH118, PTH120
    with open(path, encoding="utf-8") as table:  # noqa: PTH123
        return table.read()


def index_text_for_secret_rules(text: str) -> PreparedText:
    """The text with its words and runs, which are found once for all rules."""
    dense = dict.fromkeys(_DENSE.findall(text))
    runs = " ".join([run for run in dense if not run.islower() or _DIGIT.search(run)])
    lower = lower_same_length(text)
    # Through bytes, because that takes half the time of a regular expression.
    words = (
        lower.replace("\\n", "  ")
        .encode("latin-1", errors="replace")
        .translate(_BLANKS)
        .decode("ascii")
        .split()
    )
    return PreparedText(text, lower, frozenset(words), runs)


def lower_same_length(text: str) -> str:
    """The text in lower case, with every character at its position."""
    return text.replace("İ", "i").lower()  # the only letter whose lower case has two characters


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled on first use."""
    return re.compile(pattern, re.ASCII)


WORDS = read_words_by_role(load_table("words.txt"))
