"""Make one item of a Markdown document shorter, to a number of tokens, and say where the rest is.

A text is cut at its end, between words, and a fence that the cut left open is closed. A list of named lines
loses a little of every line; where that is not enough, the lines that can be spared go, one after another,
and of the others even less is said. Counts are exact.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from foreword.compose.quoting import cut_line as short_line
from foreword.text.tokens import cut_to_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.text.tokens import Tokenizer

_FENCE = re.compile(r"^(`{3,}).*(?:\n|\Z)", re.MULTILINE)
_HALF_A_FENCE = re.compile(r"\n`+[\w+#.-]*\Z")
_HALF_A_LABEL = re.compile(r"\n\*\w[^\n]*\Z")
_LISTED = "\n- **"
_NAMED = re.compile(r"- \*\*(\w[\w ]*)\*\*:")
_CHARACTERS = 16
"""More characters than a token has, but for runs of white space: no need to look beyond."""

_WIDTHS = (800, 400, 280, 200, 140, 120, 100, 85, 70, 60, 50)
"""How long the lines of a list may be, from generous to terse."""

_SAYING = 100
"""Lines that are shorter say little: what can be spared goes before others are cut to less."""

_TERSEST = (40, 30)
"""How long they may be when all that can be spared is gone, the note too: a name, and a word or two."""

_SAFETY, _GUESSES = 2, 6


def shorten_markdown(
    text: str, tokens: int, note: str, tokenizer: Tokenizer, spare: Sequence[str] = ()
) -> str:
    """The text within so many tokens, with the note behind it if it had to be cut and there is room.

    `spare` are the names of lines that a list can do without, what is missed least first.
    """
    if tokenizer.count(text) <= tokens:
        return text
    behind = f"\n\n{note}"
    if _LISTED in text:
        kept = _drop_spare_lines(text.split("\n"), spare)
        last = "\n".join(kept[-1])
        return _make_terse(kept, tokens, behind, tokenizer) or _cut_to_beginning(last, tokens, tokenizer)
    room = tokens - tokenizer.count("..." + behind) - _SAFETY
    while room > 0:
        made = _close_fences(_longest_beginning(text, room, tokenizer)) + behind
        over = tokenizer.count(made) - tokens
        if over <= 0:
            return made
        room -= over
    return _cut_to_beginning(text, tokens, tokenizer)


def _cut_to_beginning(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    """The beginning of a text, where there is no room for a note."""
    return _close_fences(_longest_beginning(text, max(1, tokens - _SAFETY), tokenizer))


def _longest_beginning(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    """About as much of a text as so many tokens hold, and no more; found by a guess and a few corrections."""
    text = text[: tokens * _CHARACTERS]
    size = len(text)
    for _ in range(_GUESSES):
        count = tokenizer.count(text[:size])
        if count <= tokens:
            return text[:size]
        size = min(size - 1, int(size * tokens / count))
    return cut_to_tokens(text[:size], tokens, tokenizer)


def _make_terse(kept: Sequence[Sequence[str]], tokens: int, behind: str, tokenizer: Tokenizer) -> str:
    """Of lists with fewer and fewer lines the first that fits, each line as long as may be; else nothing."""

    def fits(made: str) -> bool:
        return tokenizer.count(made) <= tokens

    def widest(lines: Sequence[str], behind: str, widths: Sequence[int]) -> str:
        # The widths get smaller: those that are too wide come first, and there are few of them to look at.
        first = bisect_left(widths, 1, key=lambda width: int(fits(_narrow_lines(lines, width) + behind)))
        return _narrow_lines(lines, widths[first]) + behind if first < len(widths) else ""

    # Fewer lines are shorter: the first number of them that fits is found in the same way.
    first = bisect_left(kept, 1, key=lambda lines: int(fits(_narrow_lines(lines, _SAYING) + behind)))
    lines = kept[min(first, len(kept) - 1)]
    return widest(lines, behind, _WIDTHS) or widest(lines, "", (*_WIDTHS, *_TERSEST))


def _narrow_lines(lines: Sequence[str], width: int) -> str:
    return "\n".join(short_line(line, width) for line in lines)


def _drop_spare_lines(lines: Sequence[str], spare: Sequence[str]) -> list[list[str]]:
    """The lines; then again without those named first in `spare`, without the next too, and so on."""
    names = [found[1] if (found := _NAMED.match(line)) else "" for line in lines]
    there = [name for name in spare if name in names]
    return [
        [line for line, name in zip(lines, names, strict=True) if name not in there[:gone]]
        for gone in range(len(there) + 1)
    ]


def _close_fences(head: str) -> str:
    """A beginning with the mark of a cut; in a fence the mark is a line of its own, and the fence ends."""
    head = _HALF_A_FENCE.sub("", head)
    opened = _unclosed_fence(head)
    if opened is None:
        space = max(head.rfind(" "), head.rfind("\n"))
        kept = (head[:space] if space > len(head) * 2 // 3 else head).rstrip()
        return _HALF_A_LABEL.sub("", kept) + "..."
    before, body = head[: opened.end()], head[opened.end() :]
    whole, _, _ = body.rpartition("\n")
    return f"{before}{whole or body}\n...\n{opened[1]}"


def _unclosed_fence(text: str) -> re.Match[str] | None:
    """The first line of a fence that a text has opened and not closed; only one as long closes it."""
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif len(match[1]) >= len(opened[1]):
            opened = None
    return opened
