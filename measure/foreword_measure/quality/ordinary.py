"""Ordinary messages, in which nobody asks for anything, to count false alarms on.

They are Markdown sections of this project's pages, its commit messages, docstrings of the standard library
and, if labelled sets are given, abstracts and commits of other projects. All but the last are divided at
random into two halves: the judge of requests was trained on one, and is measured on the other.
"""

from __future__ import annotations

import ast
import json
import random
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

TAUGHT_HALF, MEASURED_HALF = 0, 1
MIN_WORDS, MAX_WORDS = 10, 600
"""The words of a message: a shorter one is hard to mistake, a longer one is read only in part."""

MAX_MESSAGES = 1000
"""The most messages of a kind, drawn at random."""

_ROOT = Path(__file__).parents[3]
_HEADING = re.compile(r"^(?=#{1,6} )", re.MULTILINE)
_NOT_TEXT = frozenset({"site-packages", "test", "tests", "idlelib", "lib2to3", "ensurepip"})


def ordinary_messages(folders: Sequence[Path] = ()) -> dict[str, list[str]]:
    """Ordinary messages by kind; the kind of those of labelled sets is the name of their folder."""
    kinds: dict[str, Iterable[str]] = {
        "Markdown sections": page_sections(MEASURED_HALF),
        "docstrings": docstrings(MEASURED_HALF),
        "commit messages": commit_messages(MEASURED_HALF),
    }
    for folder in folders:
        lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        kinds[folder.name] = filter(_has_message_length, (json.loads(line)["text"] for line in lines))
    return {kind: drawn for kind, texts in kinds.items() if (drawn := _draw_sample(texts))}


def page_sections(half: int) -> Iterator[str]:
    """The Markdown sections of one half of this project's pages."""
    for page in (*sorted(_ROOT.glob("*.md")), *sorted((_ROOT / "docs").glob("*.md"))):
        for section in markdown_sections(page.read_text(encoding="utf-8")):
            if crc32(section.encode()) % 2 == half:
                yield section


def markdown_sections(text: str) -> list[str]:
    """The sections of a page, each with its heading."""
    return [part.strip() for part in _HEADING.split(text) if _has_message_length(part)]


def docstrings(half: int) -> Iterator[str]:
    """The docstrings in one half of the standard library's modules."""
    root = Path(ast.__file__).parent
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if _NOT_TEXT.isdisjoint(name.parts) and crc32(str(name).encode()) % 2 == half:
            yield from filter(_has_message_length, _read_docstrings(path))


def _read_docstrings(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def commit_messages(half: int) -> list[str]:
    """The messages of one half of this repository's commits; empty if there is no repository."""
    asked = ["git", "-C", str(_ROOT), "log", "--format=%B%x00"]
    try:
        printed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout  # noqa: S603  (a fixed command)
    except (OSError, subprocess.CalledProcessError):
        return []
    messages = {message.strip() for message in printed.split("\0")} - {""}
    return sorted(message for message in messages if crc32(message.encode()) % 2 == half)


def _draw_sample(texts: Iterable[str]) -> list[str]:
    every = sorted(set(texts))
    random.Random(0).shuffle(every)  # noqa: S311  (a draw, not a secret)
    return every[:MAX_MESSAGES]


def _has_message_length(text: str) -> bool:
    return MIN_WORDS <= len(text.split()) <= MAX_WORDS
