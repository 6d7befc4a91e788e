"""Finds the later statements that replaced or contradict a result.

Which statement replaces which was judged when they were stored (`knowledge/replacement.py`) and is read here
from their relations. The judge can err, so nothing is hidden: the newer statement is shown, and in the same
line the older one with its date. A later statement of a source that is trusted less replaces nothing: it is
shown with its date after the one that it contradicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.text.provenance import may_replace
from foreword.types import REPLACES, SURE_REPLACEMENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.types import Item, RelatedMemory, SearchResult

MAX_SUCCESSORS = 3
"""At most how many steps are followed from a statement to the one that replaced it in the end."""

MAX_CONTRADICTIONS = 2
"""At most how many later statements are shown after one that they may not replace."""

_MAX_LOGITS_BELOW = 4.0
"""A successor may be this much less relevant than what it replaces, in the reader's logits."""


def find_contradictions(
    result: SearchResult, related: Sequence[RelatedMemory], logits: Mapping[str, float]
) -> list[Item]:
    """The later items that contradict a result and may not replace it, being trusted less; oldest first."""
    older = result.memory
    later = [
        one
        for one in related
        if _is_replacement(one, older.id)
        and not may_replace(one.memory.source, older.source)
        and _is_likely_successor(one, logits, logits.get(older.id))
    ]
    later.sort(key=_confidence, reverse=True)
    return sorted((one.memory for one in later[:MAX_CONTRADICTIONS]), key=lambda item: item.created_at)


def find_successors(
    result: SearchResult, related: Sequence[RelatedMemory], logits: Mapping[str, float]
) -> list[Item]:
    """The items that replaced a result, one after the other, the current one last; empty if there are none.

    A statement keeps its place if the surest one that contradicts it is trusted less.

    `logits` has the logits of what was read for this question.
    """
    chain: list[Item] = []
    current = result.memory
    for _ in range(MAX_SUCCESSORS):
        known = {result.memory.id, *(item.id for item in chain)}
        newer = [
            one
            for one in related
            if one.memory.id not in known
            and _is_replacement(one, current.id)
            and _is_likely_successor(one, logits, logits.get(current.id))
        ]
        surest = max(newer, key=_confidence, default=None)
        if surest is None or not may_replace(surest.memory.source, current.source):
            break
        chain.append(surest.memory)
        current = chain[-1]
    return chain


def _confidence(related: RelatedMemory) -> float:
    return related.relationship.confidence


def _is_replacement(related: RelatedMemory, older_id: str) -> bool:
    """Whether a related memory replaces the item with this id."""
    relation = related.relationship
    return (relation.type, relation.from_id, relation.to_id) == (REPLACES, related.memory.id, older_id)


def _is_likely_successor(
    related: RelatedMemory, logits: Mapping[str, float], older_logit: float | None
) -> bool:
    """Whether a successor was read and is nearly as relevant as what it replaces, or is a sure one."""
    logit = logits.get(related.memory.id)
    near = logit is not None and older_logit is not None and logit >= older_logit - _MAX_LOGITS_BELOW
    return near or related.relationship.confidence >= SURE_REPLACEMENT
