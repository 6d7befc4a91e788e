"""How much of what is said at once may be the words of tools, pages and files that nobody asked for: a third.

What was asked for is told whoever wrote it: documents and commits where one of them is the best answer, and
those that are at least half as probable as the best; code, which stands under its place and has limits of its
own; and the best of what tools printed and pages say, one entry, where nobody else answers. All other foreign
words together have at most half as many tokens as the rest, so a third of the whole. Where nothing was asked,
as when a session begins, nothing is exempt. What is over is dropped, the least relevant first. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from foreword.text.provenance import is_foreign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Item, SearchResult, Source

MAX_SHARE = Fraction(1, 3)
"""The most that foreign words nobody asked for may be of what is said at once, in tokens."""

OVER_SHARE = "foreign words have their share"
"""What a receipt says of what was dropped for it."""

_NEAR = 0.5
"""A document or a commit with at least this share of the best answer's probability is what was asked for."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What one entry takes of a context: its tokens, whose words it holds, and whether it was asked for."""

    tokens: int
    source: Source
    is_exempt: bool = False


def find_exempt(results: Sequence[SearchResult]) -> frozenset[str]:
    """The ids of the results that were asked for, and so may take more than the share."""
    best = max((result for result in results if result.score > 0), key=_score, default=None)
    only_printed = all(_is_printed(result.memory.source) for result in results if result.score > 0)
    return frozenset(
        result.memory.id
        for result in results
        if _is_code(result.memory)
        or (result is best and (only_printed or not _is_printed(result.memory.source)))
        or (best is not None and _answers_from_files(result, best))
    )


def _answers_from_files(result: SearchResult, best: SearchResult) -> bool:
    """Whether a document or a commit was asked for: nearly as good as the best answer, or beside its like."""
    is_near = result.score >= _NEAR * best.score or best.memory.source.trust == "repository"
    return result.memory.source.trust == "repository" and is_near


def _score(result: SearchResult) -> float:
    return result.score


def _is_printed(source: Source) -> bool:
    """Whether a tool or a page has the words."""
    return source.trust in ("tool", "web")


def _is_code(item: Item) -> bool:
    return item.kind == "code" and item.source.trust == "repository"


def within_share(portions: Sequence[Portion]) -> list[bool]:
    """Whether each portion may be said, the first ones first.

    A tool's or a page's answer that is exempt is told, and takes the room of the others.
    """
    trusted = sum(one.tokens for one in portions if not _counts(one) and not _is_printed(one.source))
    room = trusted * MAX_SHARE / (1 - MAX_SHARE)
    room -= sum(one.tokens for one in portions if one.is_exempt and _is_printed(one.source))
    allowed: list[bool] = []
    for one in portions:
        fits = not _counts(one) or one.tokens <= room
        room -= one.tokens if _counts(one) and fits else 0
        allowed.append(fits)
    return allowed


def _counts(one: Portion) -> bool:
    """Whether a portion counts against the share."""
    return is_foreign(one.source) and not one.is_exempt
