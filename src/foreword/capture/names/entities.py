"""Who and what a text names: people, organisations, places, addresses, files, versions, tickets, dates, code.

Offline, by shape and by short lists: what has an unmistakable shape is taken first, then dates, then names in
what is left. Linear in the text. Knows no world: a name that is in no list and has no cue is a `thing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.capture.names.dates import dates
from foreword.capture.names.proper import names
from foreword.capture.names.shapes import Mention, shapes

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Mention", "find_entities"]

MOST_READ = 1_000_000
"""How many characters of a text are read; what comes after is not looked at."""

_COVER = "|"
"""Stands for every character of what has been found, so that no name reaches across it."""


def find_entities(text: str) -> tuple[Mention, ...]:
    """What a text names, in order; no two mentions overlap, and of two that would, the longer stays."""
    text = text[:MOST_READ]
    found = apart([*shapes(text), *dates(text)])
    return tuple(sorted((*found, *names(_covered(text, found))), key=lambda mention: mention.start))


def apart(mentions: Iterable[Mention]) -> list[Mention]:
    """Mentions without those that overlap a longer one, in order; of two as long, the first stays."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda mention: (mention.start, -mention.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
        elif mention.end - mention.start > kept[-1].end - kept[-1].start:
            kept[-1] = mention
    return kept


def _covered(text: str, mentions: Iterable[Mention]) -> str:
    """The text with every mention covered; every character keeps its place."""
    parts, end = [], 0
    for mention in mentions:
        parts += [text[end : mention.start], _COVER * (mention.end - mention.start)]
        end = mention.end
    return "".join((*parts, text[end:]))
