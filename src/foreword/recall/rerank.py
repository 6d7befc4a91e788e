"""The second opinion: a cross-encoder reads the best candidates together with the question.

It was trained on web questions and passages. On talk it is right far more often than cosines are; on code,
abstracts and commits it is not (docs/quality.md has the numbers). So its logits have a weight by kind, and
kinds without a weight are not read. A turn is read with the turn before it, which it often answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.recall.fuse import Blend, sort_by_probability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.spaces.base import Reranker
    from foreword.types import Findings, Item, Query, SearchResult

MAX_READ = 30
"""At most how many candidates are read; beyond that nothing was gained."""


@dataclass(frozen=True, slots=True)
class RerankCurve:
    """How much a logit counts beside a blend, and how both become a probability."""

    weight: float
    curve: Blend


RERANK_CURVES: Mapping[str, RerankCurve] = {
    "turn": RerankCurve(0.08, Blend(middle=1.52, slope=3.4)),
    "memory": RerankCurve(0.03, Blend(middle=0.74, slope=10)),
    "summary": RerankCurve(0.03, Blend(middle=0.74, slope=10)),
}

_LONG_QUESTION_CHARACTERS = 300
_SPARE_SECONDS = 0.03
"""Seconds that are reserved for the stages after this one."""

_UNREAD_LOGIT = -11.0
"""The logit of an unrelated text, which unread candidates are assumed to have."""


def rerank(
    hits: Sequence[SearchResult], found: Findings, query: Query, reranker: Reranker
) -> list[SearchResult]:
    """The hits, most probable first, by their blends and the reranker's logits together."""
    readable = [hit for hit in hits if hit.memory.kind in RERANK_CURVES]
    read = readable[:MAX_READ]
    expires = None if query.expires is None else query.expires - _SPARE_SECONDS
    logits = reranker.scores(
        _keep_first_line(query.text),
        [_passage_with_previous_turn(hit.memory, found) for hit in read],
        expires,
    )
    if not logits:
        return list(hits)
    known = {hit.memory.id: logit for hit, logit in zip(read, logits, strict=False)}
    return sort_by_probability([_rescore_with_logit(hit, known.get(hit.memory.id)) for hit in hits])


def _rescore_with_logit(hit: SearchResult, logit: float | None) -> SearchResult:
    """The hit with the reranker's logit weighed into its score; unchanged if its kind is not reranked."""
    opinion = RERANK_CURVES.get(hit.memory.kind)
    if opinion is None:
        return hit
    blend = hit.scores["blend"] + opinion.weight * (_UNREAD_LOGIT if logit is None else logit)
    scores = dict(hit.scores) if logit is None else {**hit.scores, "rerank": logit}
    return replace(hit, scores=scores, score=opinion.curve.probability(blend))


def _keep_first_line(question: str) -> str:
    """The first line of a long question: the rest would leave no room for the text it is compared with."""
    first = question.strip().partition("\n")[0]
    return first if len(question) > _LONG_QUESTION_CHARACTERS and first else question


def _passage_with_previous_turn(item: Item, found: Findings) -> str:
    """The text of an item as the reranker reads it: a turn after the turn before it."""
    before = found.items.get(found.previous.get(item.id, "")) if item.kind == "turn" else None
    return f"{before.searchable}\n{item.searchable}" if before else item.searchable
