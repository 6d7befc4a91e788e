"""Ordinary messages, in which nobody asks for anything: what false alarms are counted on.

Markdown sections of this project's pages, its commit messages, docstrings of the standard library and, where
labelled sets are named, abstracts and commits of other projects. All but these are in two halves, drawn by
lot: the judge of requests was taught with the one, and is measured on the other.
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
"""How long a message is: below, there is little to mistake; above, it is read in part only."""

MAX_MESSAGES = 1000
"""At most how many messages of a kind, drawn by lot."""

_ROOT = Path(__file__).parents[3]
_HEADING = re.compile(r"^(?=#{1,6} )", re.MULTILINE)
_NOT_TEXT = frozenset({"site-packages", "test", "tests", "idlelib", "lib2to3", "ensurepip"})


def ordinary_messages(folders: Sequence[Path] = ()) -> dict[str, list[str]]:
    """Ordinary messages by their kind, and those of labelled sets by the name of their folder."""
    kinds: dict[str, Iterable[str]] = {
        "Markdown sections": page_sections(MEASURED_HALF),
        "docstrings": docstrings(MEASURED_HALF),
        "commit messages": commit_messages(MEASURED_HALF),
    }
    for folder in folders:
        lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        kinds[folder.name] = filter(_is_message, (json.loads(line)["text"] for line in lines))
    return {kind: drawn for kind, texts in kinds.items() if (drawn := _draw(texts))}


def page_sections(half: int) -> Iterator[str]:
    """The Markdown sections of one half of this project's pages."""
    for page in (*sorted(_ROOT.glob("*.md")), *sorted((_ROOT / "docs").glob("*.md"))):
        for section in markdown_sections(page.read_text(encoding="utf-8")):
            if crc32(section.encode()) % 2 == half:
                yield section


def markdown_sections(text: str) -> list[str]:
    """The sections of a page, each with its heading."""
    return [part.strip() for part in _HEADING.split(text) if _is_message(part)]


def docstrings(half: int) -> Iterator[str]:
    """The docstrings of the standard library, of one half of its modules."""
    root = Path(ast.__file__).parent
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if _NOT_TEXT.isdisjoint(name.parts) and crc32(str(name).encode()) % 2 == half:
            yield from filter(_is_message, _docstrings_of(path))


def _docstrings_of(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def commit_messages(half: int) -> list[str]:
    """The messages of one half of this repository's commits; none where there is no repository."""
    asked = ["git", "-C", str(_ROOT), "log", "--format=%B%x00"]
    try:
        printed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout  # noqa: S603  (a fixed command)
    except (OSError, subprocess.CalledProcessError):
        return []
    messages = {message.strip() for message in printed.split("\0")} - {""}
    return sorted(message for message in messages if crc32(message.encode()) % 2 == half)


def _draw(texts: Iterable[str]) -> list[str]:
    every = sorted(set(texts))
    random.Random(0).shuffle(every)  # noqa: S311  (a draw, not a secret)
    return every[:MAX_MESSAGES]


def _is_message(text: str) -> bool:
    return MIN_WORDS <= len(text.split()) <= MAX_WORDS
