"""Make one item of a Markdown document shorter, to a number of tokens, and say where the rest is.

A text is cut at its end, between words, and a fence that the cut left open is closed. A list of named lines
is shortened line by line, so that the last of them, which often says most, is not lost. Counts are exact.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from foreword.compose.quoting import shortened as short_line
from foreword.tokens import cut

if TYPE_CHECKING:
    from foreword.tokens import Tokenizer

_FENCE = re.compile(r"^(`{3,}).*(?:\n|\Z)", re.MULTILINE)
_HALF_A_FENCE = re.compile(r"\n`+[\w+#.-]*\Z")
_HALF_A_LABEL = re.compile(r"\n\*\w[^\n]*\Z")
_LISTED = "\n- **"
_CHARACTERS = 16
"""More characters than a token has, but for runs of white space: no need to look beyond."""

_WIDTHS = (800, 400, 280, 200, 140, 100, 70, 50)
"""How long the lines of a list may be, from generous to terse."""

_SAFETY, _GUESSES = 2, 6


def shortened(text: str, tokens: int, note: str, tokenizer: Tokenizer) -> str:
    """The text within so many tokens, with the note behind it if it had to be cut and there is room."""
    if tokenizer.count(text) <= tokens:
        return text
    behind = f"\n\n{note}"
    if _LISTED in text and (listed := _terse(text, tokens, behind, tokenizer)):
        return listed
    room = tokens - tokenizer.count("..." + behind) - _SAFETY
    while room > 0:
        made = _ended(_beginning(text, room, tokenizer)) + behind
        over = tokenizer.count(made) - tokens
        if over <= 0:
            return made
        room -= over
    return _ended(_beginning(text, max(1, tokens - _SAFETY), tokenizer))


def _beginning(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    """About as much of a text as so many tokens hold, and no more; found by a guess and a few corrections."""
    text = text[: tokens * _CHARACTERS]
    size = len(text)
    for _ in range(_GUESSES):
        count = tokenizer.count(text[:size])
        if count <= tokens:
            return text[:size]
        size = min(size - 1, int(size * tokens / count))
    return cut(text[:size], tokens, tokenizer)


def _terse(text: str, tokens: int, behind: str, tokenizer: Tokenizer) -> str:
    """A list with every line as long as it may be for all to fit; nothing when none is terse enough."""
    lines = text.split("\n")

    def made(width: int) -> str:
        return "\n".join(short_line(line, width) for line in lines) + behind

    # The widths get smaller: those that are too wide come first, and there are few of them to look at.
    first = bisect_left(_WIDTHS, 1, key=lambda width: int(tokenizer.count(made(width)) <= tokens))
    return made(_WIDTHS[first]) if first < len(_WIDTHS) else ""


def _ended(head: str) -> str:
    """A beginning with the mark of a cut; in a fence the mark is a line of its own, and the fence ends."""
    head = _HALF_A_FENCE.sub("", head)
    opened = _open_fence(head)
    if opened is None:
        space = max(head.rfind(" "), head.rfind("\n"))
        kept = (head[:space] if space > len(head) * 2 // 3 else head).rstrip()
        return _HALF_A_LABEL.sub("", kept) + "..."
    before, body = head[: opened.end()], head[opened.end() :]
    whole, _, _ = body.rpartition("\n")
    return f"{before}{whole or body}\n...\n{opened[1]}"


def _open_fence(text: str) -> re.Match[str] | None:
    """The first line of a fence that a text has opened and not closed; only one as long closes it."""
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif len(match[1]) >= len(opened[1]):
            opened = None
    return opened
