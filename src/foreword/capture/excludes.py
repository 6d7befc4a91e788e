"""Paths that a project's settings exclude: never read into memory, and never remembered from a tool's call.

Patterns are written as in `.gitignore`: `*` and `?` stop at a slash, `**` does not; a pattern without a slash
holds at any depth, one with a slash from the folder of its file; a folder stands for all that is in it. There
is no `!`: what one line excludes, no other brings back. A call counts as one that touches an excluded path if
its input or its output names one. In doubt it does: what is not remembered can be said again.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_CONTENT_FIELDS = frozenset(
    ("content", "contents", "file_text", "old_string", "new_string", "old_str", "new_str", "old_source",
     "new_source", "oldString", "newString", "edits", "description", "todos")
)  # fmt: skip
"""Fields of a tool's input that hold what is in a file, not which file it is."""
_NO_PATH = re.compile(r"[\s\"'`<>|;&(){}\[\]=,:]+")
_CHANGE_OF_FOLDER = re.compile(r"(?:^|[;&|(\n])\s*(?:cd|pushd)\s+(?:\"([^\"]+)\"|'([^']+)'|([^\s;&|)]+))")
_QUOTED = re.compile(r"\"([^\"\n]{1,1000})\"|'([^'\n]{1,1000})'")
_MAX_WORDS = 20_000


class Pattern(NamedTuple):
    """One pattern: the folder it counts from, and the expression for a path from there.

    An anchored one counts from its folder alone, an absolute one also from the root of the file system.
    """

    base: str
    expression: re.Pattern[str]
    is_anchored: bool
    is_absolute: bool

    def matches(self, path: str) -> bool:
        """Whether it excludes an absolute path or a folder above it."""
        below = os.path.relpath(path, self.base)
        if not below.startswith(".."):
            return self.expression.match(below) is not None
        if self.is_anchored:
            return self.is_absolute and self.expression.match(path) is not None
        return self.expression.match(below.replace("../", "")) is not None


class Excludes:
    """The patterns that hold for a folder, each with the folder of the file in which it stands."""

    def __init__(self, patterns: Sequence[tuple[Path, str]]) -> None:
        self._patterns = [_read_pattern(os.path.realpath(base), pattern) for base, pattern in patterns]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def match(self, path: str | Path, *, follow: bool = True) -> bool:
        """Whether an absolute path, or a folder above it, is excluded; also by where its links lead."""
        plain = os.path.normpath(path)
        if any(pattern.matches(plain) for pattern in self._patterns):
            return True
        return follow and (real := os.path.realpath(plain)) != plain and self.match(real, follow=False)

    def touched_by(self, folder: str, tool_input: Mapping[str, Any], output: str) -> bool:
        """Whether a tool's call, made in a folder, names an excluded path."""
        if not self:
            return False
        texts = list(_texts_that_name_paths(tool_input))
        folders = [folder, *_folders_entered(folder, texts)]
        return any(
            self.match(os.path.join(base, os.path.expanduser(word)), follow=follow)  # noqa: PTH111, PTH118
            for follow, text in (*((True, text) for text in texts), (False, output))
            for word in _words_like_paths(text)
            for base in folders
        )


@lru_cache(maxsize=512)
def _read_pattern(base: str, pattern: str) -> Pattern:
    text = pattern.strip()
    is_absolute = text.startswith(("/", "~/"))
    text = os.path.expanduser(text).removeprefix("./").rstrip("/")  # noqa: PTH111
    text = text.removesuffix("/**") or "**"
    is_anchored = "/" in text
    body = "".join(map(_translate_part, re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^\]/]+\])", text.lstrip("/"))))
    start = "/?" if is_anchored else "(?:.*/)?"
    return Pattern(base, re.compile(rf"{start}{body}(?:/.*)?\Z", re.DOTALL), is_anchored, is_absolute)


def _translate_part(part: str) -> str:
    """One piece of a pattern as a piece of a regular expression."""
    match part:
        case "**/":
            return "(?:.*/)?"
        case "**":
            return ".*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case _ if part.startswith("[") and part.endswith("]") and len(part) > 2:
            inner = part[1:-1].replace("\\", r"\\")
            return f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
        case _:
            return re.escape(part)


def _texts_that_name_paths(value: Any) -> Iterator[str]:  # noqa: ANN401  (any JSON)
    """Every text of a tool's input but for what stands in files."""
    match value:
        case str():
            yield value
        case list():
            for part in value:
                yield from _texts_that_name_paths(part)
        case dict():
            for name, part in value.items():
                if name not in _CONTENT_FIELDS:
                    yield from _texts_that_name_paths(part)


def _folders_entered(folder: str, texts: Sequence[str]) -> list[str]:
    """The folders that commands change to."""
    found = [next(filter(None, groups)) for text in texts for groups in _CHANGE_OF_FOLDER.findall(text)]
    return [os.path.join(folder, os.path.expanduser(one)) for one in found[:20]]  # noqa: PTH111, PTH118


def _words_like_paths(text: str) -> Iterator[str]:
    """The words of a text that may be paths, and what stands in quotes: a path may have blanks in it."""
    if len(text) < 1000 and "\n" not in text:
        yield text.replace("\0", "")
    quoted = [first or second for first, second in _QUOTED.findall(text)[:_MAX_WORDS]]
    words = dict.fromkeys((*_NO_PATH.split(text)[:_MAX_WORDS], *quoted))
    for word in words:
        plain = word.replace("\0", "").lstrip("@").rstrip(".")
        if plain:
            yield plain
        if plain.startswith(("a/", "b/")):  # as a diff writes it
            yield plain[2:]
