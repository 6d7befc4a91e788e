"""Late interaction: the best candidates, compared with the question token by token.

It comes after the blend, because it is for the best hundred: their codes are fetched from the store and
compared in a few milliseconds. It helps with talk, where a turn says several things and a question asks for
one. On code, commits and abstracts nothing is gained (docs/LOG.md), so those kinds have no codes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.recall.fuse import DEFAULT_BLEND, reorder_hits_with_added_scores
from foreword.store.base import GetTokenCodes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.recall.fuse import Blend
    from foreword.spaces.base import TokenSpace
    from foreword.store.base import Store
    from foreword.types import Findings, Query, SearchResult

MAX_COMPARED = 100
"""At most how many candidates are compared."""

_USUAL_FIT = 0.86
"""The usual fit of a good candidate's tokens: it adds nothing, so that kinds stay comparable."""


def can_match_tokens(kinds: Sequence[str], blends: Mapping[str, Blend]) -> bool:
    """Whether tokens of any of these kinds of items are compared; no kinds means all."""
    return any(blends.get(kind, DEFAULT_BLEND).token_match for kind in kinds or blends)


def rank_by_tokens(
    hits: Sequence[SearchResult],
    found: Findings,
    query: Query,
    store: Store,
    space: TokenSpace,
    blends: Mapping[str, Blend],
) -> list[SearchResult] | None:
    """The hits in their new order, with the fit of their tokens added; None if there was no time for it."""
    weights = {hit.memory.id: blends.get(hit.memory.kind, DEFAULT_BLEND).token_match for hit in hits}
    comparable = [hit.memory.id for hit in hits if weights[hit.memory.id]]
    if not comparable:
        return list(hits)
    wanted = tuple(comparable[:MAX_COMPARED])
    codes = store.run(GetTokenCodes(query.workspace, space.digest, wanted))
    if not codes:
        return list(hits)
    fits = space.compare(query.text, list(codes.values()), query.expires)
    if fits is None:
        return None
    known = dict(zip(codes, fits, strict=True))
    unlikely = min(fits)
    added: dict[str, dict[str, float]] = {}
    for item in comparable:
        # An item without codes stays as it is; one too far down to be compared counts as the worst.
        if item in known or item not in wanted:
            fit = known.get(item, unlikely)
            score = {space.name: fit} if item in known else {}
            added[item] = {"blend": weights[item] * (fit - _USUAL_FIT), **score}
    return reorder_hits_with_added_scores(hits, found, added, blends)
