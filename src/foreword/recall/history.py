"""What was said later in the place of what it made untrue; the older statement is told as history.

Which statement replaces which was judged when they were stored (`knowledge/replacement.py`) and is read here
from their relations. The judge can err, so nothing is hidden: the newer statement is told, and in the same
line the older one with its date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.types import REPLACES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.types import Item, RelatedMemory, SearchResult

MAX_SUCCESSORS = 3
"""At most how many steps are followed from a statement to what replaced it in the end."""

_MAX_LOGITS_BELOW = 4.0
"""A successor may be this much less relevant than what it replaces, in the reader's logits."""

_SURE = 0.7
"""A successor that was not read, or found far less relevant, must be at least this probable."""


def find_successors(
    result: SearchResult, related: Sequence[RelatedMemory], read: Mapping[str, float]
) -> list[Item]:
    """The items that replaced a result, one after the other, the last one last; empty if it stands.

    `read` has the logits of what was read for this question.
    """
    chain: list[Item] = []
    current = result.memory.id
    for _ in range(MAX_SUCCESSORS):
        known = {result.memory.id, *(item.id for item in chain)}
        newer = [
            one
            for one in related
            if one.memory.id not in known
            and _replaces(one, current)
            and _is_likely(one, read, read.get(current))
        ]
        if not newer:
            break
        chain.append(max(newer, key=lambda one: one.relationship.confidence).memory)
        current = chain[-1].id
    return chain


def _replaces(one: RelatedMemory, older: str) -> bool:
    relation = one.relationship
    return (relation.type, relation.from_id, relation.to_id) == (REPLACES, one.memory.id, older)


def _is_likely(one: RelatedMemory, read: Mapping[str, float], older: float | None) -> bool:
    """Whether a successor is to the point, or surely one."""
    logit = read.get(one.memory.id)
    near = logit is not None and older is not None and logit >= older - _MAX_LOGITS_BELOW
    return near or one.relationship.confidence >= _SURE
