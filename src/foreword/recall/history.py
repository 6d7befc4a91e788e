"""Finds the later statements that replaced, changed or contradict a result.

Which statement replaces which was judged when they were stored (`knowledge/replacement.py`) and is read here
from their relations. The judge can err, so nothing is hidden: the newer statement is shown, and in the same
line the older one with its date. Where the newer one may not stand in the place of the older, it is shown
with its date after it: if it is trusted less, if it changes only a part of it, or if it is doubtful whether
it replaces it and the context holds it already, so that it was not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.text.provenance import may_replace
from foreword.types import AMENDS, REPLACES, SURE_REPLACEMENT, TRUSTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foreword.types import Item, RelatedMemory, SearchResult

MAX_SUCCESSORS = 3
"""At most how many steps are followed from a statement to the one that replaced it in the end."""

MAX_CONTRADICTIONS = 2
"""At most how many later statements are shown after one that they may not replace."""

_MAX_LOGITS_BELOW = 4.0
"""A successor may be this much less relevant than what it replaces, in the reader's logits."""


_MIN_SHARE_OF_BLEND = 0.7
"""What a context holds is to the point if its blend has at least this share of the older statement's."""


def find_contradictions(
    result: SearchResult,
    related: Sequence[RelatedMemory],
    logits: Mapping[str, float],
    blends_in_context: Mapping[str, float] | None = None,
) -> list[Item]:
    """The later items that are shown after a result since they may not stand in its place; oldest first.

    Each is followed to what replaced it since. `blends_in_context` are those of what was found and is in it.
    """
    older = result.memory
    later = [
        one
        for one in related
        if (_contradicts(one, older) and _is_likely_successor(one, logits, logits.get(older.id)))
        or (
            _has_relation_to_older(one, older.id)
            and _is_in_context_and_as_near(one, result, logits, blends_in_context or {})
        )
    ]
    later = [
        one
        for one in later
        if not any(_was_said_after_by_less_trusted(one.memory, other.memory) for other in later)
    ]
    later.sort(key=_confidence, reverse=True)
    current = {last.id: last for one in later for last in [_last_successor(one.memory, related, logits)]}
    chosen = [item for item in current.values() if item.id != older.id][:MAX_CONTRADICTIONS]
    return sorted(chosen, key=lambda item: item.created_at)


def find_successors(
    result: SearchResult, related: Sequence[RelatedMemory], logits: Mapping[str, float]
) -> list[Item]:
    """The items that replaced a result, one after the other, the current one last; empty if there are none.

    A statement keeps its place if the surest one that contradicts it is trusted less.

    `logits` has the logits of what was read for this question.
    """
    return _follow_replacements(result.memory, related, logits)


def drop_history_repeats(results: Iterable[SearchResult]) -> tuple[SearchResult, ...]:
    """The results without those that a later one has in its history."""
    kept = tuple(results)
    outdated = {item.id for one in kept for item in one.history if item.created_at < one.memory.created_at}
    return tuple(one for one in kept if one.memory.id not in outdated)


def _follow_replacements(
    item: Item, related: Sequence[RelatedMemory], logits: Mapping[str, float]
) -> list[Item]:
    """The items that replaced an item, one after the other."""
    chain: list[Item] = []
    current = item
    for _ in range(MAX_SUCCESSORS):
        known = {item.id, *(one.id for one in chain)}
        newer = [
            one
            for one in related
            if one.memory.id not in known
            and _has_relation_to_older(one, current.id)
            and _is_likely_successor(one, logits, logits.get(current.id))
        ]
        surest = max(newer, key=_confidence, default=None)
        if surest is None or not may_replace(surest.memory.source, current.source):
            break
        chain.append(surest.memory)
        current = chain[-1]
    return chain


def _last_successor(item: Item, related: Sequence[RelatedMemory], logits: Mapping[str, float]) -> Item:
    """What surely replaced an item in the end; the item itself if nothing did."""
    sure = [one for one in related if _confidence(one) >= SURE_REPLACEMENT]
    return next(reversed(_follow_replacements(item, sure, logits)), item)


def _contradicts(related: RelatedMemory, older: Item) -> bool:
    """Whether a related memory changes a part of an item, or contradicts it and is trusted less."""
    if _has_relation_to_older(related, older.id, AMENDS):
        return True
    return _has_relation_to_older(related, older.id) and not may_replace(related.memory.source, older.source)


def _was_said_after_by_less_trusted(item: Item, other: Item) -> bool:
    """Whether an item was said after another in its session by somebody who is trusted less.

    An agent mostly confirms there what its user said.
    """
    if not item.session or item.session != other.session or item.created_at < other.created_at:
        return False
    return TRUSTS.index(item.source.trust) > TRUSTS.index(other.source.trust)


def _is_in_context_and_as_near(
    related: RelatedMemory,
    older: SearchResult,
    logits: Mapping[str, float],
    blends_in_context: Mapping[str, float],
) -> bool:
    """Whether a related memory was not read since the context holds it, and is about as near as the older."""
    blend = blends_in_context.get(related.memory.id)
    if blend is None or related.memory.id in logits:
        return False
    return blend >= _MIN_SHARE_OF_BLEND * older.scores.get("blend", 0.0)


def _confidence(related: RelatedMemory) -> float:
    return related.relationship.confidence


def _has_relation_to_older(related: RelatedMemory, older_id: str, type: str = REPLACES) -> bool:  # noqa: A002
    """Whether a related memory replaces the item with this id, or has another relation of this type to it."""
    relation = related.relationship
    return (relation.type, relation.from_id, relation.to_id) == (type, related.memory.id, older_id)


def _is_likely_successor(
    related: RelatedMemory, logits: Mapping[str, float], older_logit: float | None
) -> bool:
    """Whether a successor was read and is nearly as relevant as what it replaces, or is a sure one."""
    logit = logits.get(related.memory.id)
    near = logit is not None and older_logit is not None and logit >= older_logit - _MAX_LOGITS_BELOW
    return near or related.relationship.confidence >= SURE_REPLACEMENT
