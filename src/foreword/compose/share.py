"""Limit the words of tools, pages and files that were not asked for to a third of what is injected.

Results that were asked for are exempt: documents and commits if one of them is the best answer, and those at
least half as probable as the best; code, which has limits of its own; and the best result from a tool or a
page, if there is no other answer. All other foreign words together may have half as many tokens as the rest,
so a third of the whole. Where nothing was asked, as when a session begins, nothing is exempt. Results over
the share are dropped, the least relevant first. Pure functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from foreword.text.provenance import is_from_third_party

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Item, SearchResult, Source

MAX_SHARE = Fraction(1, 3)
"""The largest share of the injected tokens for foreign words that were not asked for."""

OVER_SHARE = "foreign words have their share"
"""The reason that receipts give for results dropped by this rule."""

_NEAR = 0.5
"""A document or commit counts as asked for with at least this share of the best answer's probability."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What one entry adds to a context: its tokens, its source, and whether it was asked for."""

    tokens: int
    source: Source
    is_exempt: bool = False


def find_ids_exempt_from_share(results: Sequence[SearchResult]) -> frozenset[str]:
    """The ids of the results that were asked for, which do not count against the share."""
    best = max((result for result in results if result.score > 0), key=_score, default=None)
    only_printed = all(_is_from_tool_or_page(result.memory.source) for result in results if result.score > 0)
    return frozenset(
        result.memory.id
        for result in results
        if _is_repository_code(result.memory)
        or (result is best and (only_printed or not _is_from_tool_or_page(result.memory.source)))
        or (best is not None and _is_wanted_file_or_commit(result, best))
    )


def _is_wanted_file_or_commit(result: SearchResult, best: SearchResult) -> bool:
    """Whether a document or commit was asked for: the best answer is one, or it is nearly as probable."""
    is_near = result.score >= _NEAR * best.score or best.memory.source.trust == "repository"
    return result.memory.source.trust == "repository" and is_near


def _score(result: SearchResult) -> float:
    return result.score


def _is_from_tool_or_page(source: Source) -> bool:
    """Whether the words were printed by a tool or come from a web page."""
    return source.trust in ("tool", "web")


def _is_repository_code(item: Item) -> bool:
    return item.kind == "code" and item.source.trust == "repository"


def may_include_each_portion(portions: Sequence[Portion]) -> list[bool]:
    """For each portion, whether it may be included; earlier portions are preferred.

    An exempt portion of a tool or a page is included, and uses up tokens of the others' share.
    """
    trusted = sum(
        one.tokens
        for one in portions
        if not _counts_against_share(one) and not _is_from_tool_or_page(one.source)
    )
    room = trusted * MAX_SHARE / (1 - MAX_SHARE)
    room -= sum(one.tokens for one in portions if one.is_exempt and _is_from_tool_or_page(one.source))
    allowed: list[bool] = []
    for one in portions:
        fits = not _counts_against_share(one) or one.tokens <= room
        room -= one.tokens if _counts_against_share(one) and fits else 0
        allowed.append(fits)
    return allowed


def _counts_against_share(one: Portion) -> bool:
    """Whether a portion is foreign and was not asked for."""
    return is_from_third_party(one.source) and not one.is_exempt
