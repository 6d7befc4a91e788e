"""Make text safe to show to a model or a terminal, by removing the characters that a reader could not see.

Removes control characters, escape sequences, bidirectional overrides, zero-width, filler and tag characters,
and variation selectors, which can carry whole hidden messages. Tabs stay, and every kind of line break
becomes a newline. The meaning of the text is not judged here.
"""

from __future__ import annotations

import re

_BREAKS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x9f"  # controls, but for tab and line breaks
    "\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"  # zero width, bidi
    "\u115f\u1160\u17b4\u17b5\u3164\uffa0\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # fillers
    "\ufe00-\ufe0f\U000e0000-\U000e0fff"  # variation selectors and tags
    "\ud800-\udfff\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff"  # surrogates and noncharacters
    "]"
)
# Those that could reorder or hide what a reader sees; joiners stay, since Persian and emoji need them.
_MISLEADING = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which no model can read."""

_PLAIN_APOSTROPHES = str.maketrans("’‘", "''")


def remove_invisible(text: str) -> str:
    """The text without characters that a reader could not see, and with newlines for all line breaks."""
    if text.isascii() and text.isprintable():  # most lines, many hundreds of which are looked at for a prompt
        return text
    return _INVISIBLE.sub("", _ESCAPES.sub("", _BREAKS.sub("\n", text)))


def remove_misleading_characters(text: str) -> str:
    """The text without characters that could reorder or hide the text around it, as on a page."""
    return _MISLEADING.sub("", text)


def indent_lines_after_first(text: str, width: int) -> str:
    """The text with every line after the first indented, so that none of them looks like a new entry."""
    return text.replace("\n", "\n" + " " * width)


def join_lines(text: str) -> str:
    """The text on one line, with single blanks between its words."""
    return " ".join(text.split())


def plain_line(text: str) -> str:
    """The text on one line, with single blanks and plain apostrophes, as lists of cues are written."""
    return join_lines(text.translate(_PLAIN_APOSTROPHES))


def remove_surrogates(text: str) -> str:
    """The text without halves of characters (lone surrogates), which no encoder takes."""
    return SURROGATE.sub("", text)


def remove_nul_and_surrogates(text: str) -> str:
    """The text without NUL characters, and with `?` in place of lone surrogates, so that it can be stored."""
    text = text.replace("\0", "")
    return text if text.isascii() else text.encode(errors="replace").decode()


def replace_unstorable_characters(text: str) -> str:
    """The text with newlines for all line breaks, and marks in place of NUL and lone surrogates."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", errors="replace").decode()
