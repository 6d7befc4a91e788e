"""Paths that a project's settings exclude: their files are not indexed, and calls that name them not stored.

Patterns are written as in `.gitignore`: `*` and `?` stop at a slash, `**` does not; a pattern without a slash
applies at any depth, one with a slash from the folder of its file; a folder includes everything in it. There
is no `!`: a path that one line excludes cannot be included again. A call touches an excluded path if its
input or output names one. In doubt it does, because the user can always say again what was not stored.
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
"""Fields of a tool's input that hold the content of a file, not its path."""
_BETWEEN_PATHS = re.compile(r"[\s\"'`<>|;&(){}\[\]=,:]+")
_CHANGE_OF_FOLDER = re.compile(r"(?:^|[;&|(\n])\s*(?:cd|pushd)\s+(?:\"([^\"]+)\"|'([^']+)'|([^\s;&|)]+))")
_HOME = re.compile(r"\$(?:HOME\b|\{HOME\})")
_QUOTED = re.compile(r"\"([^\"\n]{1,1000})\"|'([^'\n]{1,1000})'")
_MAX_WORDS = 20_000


class ExcludePattern(NamedTuple):
    """One pattern: its base folder, and the regular expression for a path from there.

    An anchored pattern applies from its base folder only, an absolute one also from the root of the file
    system.
    """

    base: str
    expression: re.Pattern[str]
    is_anchored: bool
    is_absolute: bool

    def matches(self, path: str) -> bool:
        """Whether the pattern excludes an absolute path, by itself or by a folder that contains it."""
        below = os.path.relpath(path, self.base)
        if below.partition("/")[0] != "..":
            return self.expression.match(below) is not None
        if self.is_anchored:
            return self.is_absolute and self.expression.match(path) is not None
        return self.expression.match(below.replace("../", "")) is not None


class Excludes:
    """The patterns that apply to a folder, each with the folder of the settings file it is from."""

    def __init__(self, patterns: Sequence[tuple[Path, str]]) -> None:
        self._patterns = [_compile_pattern(os.path.realpath(base), pattern) for base, pattern in patterns]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def match(self, path: str | Path, *, follow: bool = True) -> bool:
        """Whether an absolute path or a folder above it is excluded.

        With `follow`, the path that its links lead to is checked as well.
        """
        plain = os.path.normpath(path)
        if any(pattern.matches(plain) for pattern in self._patterns):
            return True
        return follow and (real := os.path.realpath(plain)) != plain and self.match(real, follow=False)

    def call_mentions_excluded_path(self, folder: str, tool_input: Mapping[str, Any], output: str) -> bool:
        """Whether the input or output of a tool's call, made in `folder`, names an excluded path."""
        if not self:
            return False
        texts = [_HOME.sub("~", text) for text in _texts_except_file_content(tool_input)]
        folders = [folder, *_folders_entered_by_commands(folder, texts)]
        return any(
            self.match(os.path.join(base, os.path.expanduser(word)), follow=follow)  # noqa: PTH111, PTH118
            for follow, text in (*((True, text) for text in texts), (False, output))
            for word in _words_like_paths(text)
            for base in folders
        )


@lru_cache(maxsize=512)
def _compile_pattern(base: str, pattern: str) -> ExcludePattern:
    """A pattern of the settings as a regular expression; `base` is the folder of its file."""
    text = pattern.strip()
    is_absolute = text.startswith(("/", "~/"))
    text = os.path.expanduser(text).removeprefix("./").rstrip("/")  # noqa: PTH111
    text = text.removesuffix("/**") or "**"
    is_anchored = "/" in text
    body = "".join(
        map(_translate_pattern_part, re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^\]/]+\])", text.lstrip("/")))
    )
    start = "/?" if is_anchored else "(?:.*/)?"
    return ExcludePattern(base, re.compile(rf"{start}{body}(?:/.*)?\Z", re.DOTALL), is_anchored, is_absolute)


def _translate_pattern_part(part: str) -> str:
    """One part of a pattern, such as `**` or plain text, as a part of a regular expression."""
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


def _texts_except_file_content(value: Any) -> Iterator[str]:  # noqa: ANN401  (any JSON)
    """Every text of a tool's input except the content of files."""
    match value:
        case str():
            yield value
        case list():
            for part in value:
                yield from _texts_except_file_content(part)
        case dict():
            for name, part in value.items():
                if name not in _CONTENT_FIELDS:
                    yield from _texts_except_file_content(part)


def _folders_entered_by_commands(folder: str, texts: Sequence[str]) -> list[str]:
    """The folders that the commands in these texts change to with `cd` or `pushd`."""
    found = [next(filter(None, groups)) for text in texts for groups in _CHANGE_OF_FOLDER.findall(text)]
    return [os.path.join(folder, os.path.expanduser(path)) for path in found[:20]]  # noqa: PTH111, PTH118


def _words_like_paths(text: str) -> Iterator[str]:
    """The words of a text that may be paths, and its quoted parts, as a path may have blanks in it."""
    if len(text) < 1000 and "\n" not in text:
        yield text.replace("\0", "")
    quoted = [first or second for first, second in _QUOTED.findall(text)[:_MAX_WORDS]]
    words = dict.fromkeys((*_BETWEEN_PATHS.split(text)[:_MAX_WORDS], *quoted))
    for word in words:
        plain = word.replace("\0", "").lstrip("@").rstrip(".")
        if plain:
            yield plain
        if plain.startswith(("a/", "b/")):  # the prefix of a diff
            yield plain[2:]
