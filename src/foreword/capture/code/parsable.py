"""Whether a source may be given to a parser: not when it cannot be code that somebody wrote.

The parser keeps every reading that is as likely as the others. Where errors repeat, or stand below thousands
of open brackets, it copies them all at each error: twelve kilobytes of `<a<a<a…` have taken three gigabytes,
and no notice of a time limit. So a text of very long lines, of the same lines again and again, or of brackets
deeper than anybody writes is not parsed. Brackets in strings count too; they come in pairs, or are few.
"""

from __future__ import annotations

import re

DEEPEST = 1_000
"""How many brackets of a kind may be open at once."""

_LONG = 4_000
_MEAN_LINE = 300
_LONGEST_LINE = 10_000
_SOME_LINES = 200
_REPEATS = 40

_PAIRS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_ALL = bytes(range(256))
_ANGLES = re.compile(rb"(?<!<)<(?![<=-])|(?<![=-])>(?!=)|[;{}]")
_ANGLES_BY_LINE = re.compile(rb"(?<!<)<(?![<=-])|(?<![=-])>(?!=)|[;{}\n]")
_BY_LINE = frozenset({"python", "ruby", "bash", "go"})


def is_parsable(source: bytes, rows: list[bytes], language: str) -> bool:
    """Whether a source, and its lines, look like code as far as that can be told without reading it."""
    if len(source) > _LONG and (len(source) > _MEAN_LINE * len(rows) or max(map(len, rows)) > _LONGEST_LINE):
        return False
    if len(rows) > _SOME_LINES and len(set(rows)) * _REPEATS < len(rows):
        return False
    return not _is_too_deep(source, language)


def _is_too_deep(source: bytes, language: str) -> bool:
    """Whether too many brackets of a kind are open at once; angles close with their statement."""
    for opener, closer in _PAIRS:
        if source.count(opener) > DEEPEST and _deepest(source, opener, closer) > DEEPEST:
            return True
    return source.count(b"<") > DEEPEST and _deepest_angle(source, language) > DEEPEST


def _deepest(source: bytes, opener: bytes, closer: bytes) -> int:
    deepest = depth = 0
    opening = opener[0]
    for bracket in source.translate(None, _ALL.translate(None, opener + closer)):
        if bracket == opening:
            depth += 1
            deepest = max(deepest, depth)
        elif depth:
            depth -= 1
    return deepest


def _deepest_angle(source: bytes, language: str) -> int:
    deepest = depth = 0
    for found in (_ANGLES_BY_LINE if language in _BY_LINE else _ANGLES).finditer(source):
        mark = found[0]
        if mark == b"<":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth = max(depth - 1, 0) if mark == b">" else 0
    return deepest
