"""Make text safe to show to a model or a terminal: what cannot be seen must not be said.

Removes control characters, escape sequences, bidirectional overrides, zero-width and tag characters. Line
breaks and tabs stay. What the text says is not judged here.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls, but for tab and line breaks
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # zero width, bidi
    "\U000e0000-\U000e0fff"  # tags and variation selectors beyond the first plane
    "\ud800-\udfff"  # halves of characters
    "]"
)


def visible(text: str) -> str:
    """The text without anything that a reader could not see."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _UNSEEN.sub("", text)


def indented(text: str, width: int) -> str:
    """The text with every line after the first moved right, so that no line of it can pose as another's."""
    return text.replace("\n", "\n" + " " * width)


def one_line(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())
