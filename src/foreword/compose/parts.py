"""The names of a prompt's parts, and text that cannot pass for one of them.

What is said in a conversation or found in a document is data: a line of it that reads `[SYSTEM]` must not
open a part of the prompt. Such a line keeps its words and gets a backslash before them. What the words ask
for is not judged here.
"""

from __future__ import annotations

import re
from typing import Literal

from foreword.text.clean import join_lines, remove_invisible

PartName = Literal["SYSTEM", "CONTEXT", "KNOWLEDGE", "USER"]
PART_NAMES: tuple[PartName, ...] = ("SYSTEM", "CONTEXT", "KNOWLEDGE", "USER")

_NAMES = "|".join((*PART_NAMES, "ASSISTANT", "TOOL"))
_GAP = r"[^\S\n]*"
_HEADING = re.compile(
    rf"^({_GAP})(?=[\[［【]{_GAP}/?{_GAP}(?:{_NAMES}){_GAP}[\]］】])", re.MULTILINE | re.IGNORECASE
)
_BRACKET = re.compile(r"[\[［【]")
_PLAIN = re.compile(r"[\n\t -~]*")
HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")
_OTHER_BREAKS = re.compile("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def heading_and_text(name: PartName, text: str) -> str:
    """The text under the heading of a part."""
    return f"[{name}]\n{text}"


def escape_headings(text: str) -> str:
    """The text as a reader sees it, with no line of it that looks like the heading of a part."""
    return _escape_match(_without_invisible(text))


def escape_heading_line(text: str) -> str:
    """The same on one line."""
    return _escape_match(join_lines(_without_invisible(text)))


def keep_verbatim(text: str) -> str:
    """The text as it came, but for halves of characters and lines that look like the heading of a part."""
    text = whole_characters(text)
    if _OTHER_BREAKS.search(text):  # the reader may see a line begin where our pattern would not
        return "".join(_escape_match(line) for line in text.splitlines(keepends=True))
    return _escape_match(text)


def whole_characters(text: str) -> str:
    """The text without halves of characters, which no encoding can carry."""
    return HALF_A_CHARACTER.sub("", text)


def _without_invisible(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else remove_invisible(text)


def _escape_match(text: str) -> str:
    return _HEADING.sub(r"\1\\", text) if _BRACKET.search(text) else text
