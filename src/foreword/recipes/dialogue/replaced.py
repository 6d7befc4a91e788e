"""Which turns of a conversation were replaced by a later statement, as the workspace stores it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.recall.history import MAX_SUCCESSORS
from foreword.text.provenance import may_replace
from foreword.types import REPLACES, SURE_REPLACEMENT, Filters, Replacement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.store.base import Store
    from foreword.types import Item, RelatedMemory

MIN_CHANCE = 0.5
"""The least confidence of a relation at which the newer statement is told for the older one, or with it."""

_STATEMENTS = Filters(kinds=("turn", "memory"))


def find_final_replacements(store: Store, workspace: str, ids: Sequence[str]) -> dict[str, Replacement]:
    """What replaced these turns in the end, by the ids of the turns that were replaced.

    Nothing replaces the word of somebody who is trusted more.
    """
    if not ids:
        return {}
    related = store.expand(workspace, ids, MAX_SUCCESSORS, _STATEMENTS)
    later = [name for name, ones in related.items() if any(_is_replacement(one, name) for one in ones)]
    turns = [item for item in store.get(workspace, *later) if item is not None] if later else []
    found = ((turn.id, _find_final_replacement(turn, related[turn.id])) for turn in turns)
    return {name: last for name, last in found if last is not None}


def _find_final_replacement(turn: Item, related: Sequence[RelatedMemory]) -> Replacement | None:
    """What replaced a turn in the end, by the surest relation at each step; None if nothing did."""
    current, chance, seen = turn, 1.0, {turn.id}
    for _ in range(MAX_SUCCESSORS):
        newer = [
            one for one in related if one.memory.id not in seen and _is_permitted_replacement(one, current)
        ]
        if not newer:
            break
        surest = max(newer, key=lambda one: one.relationship.confidence)
        current, chance = surest.memory, min(chance, surest.relationship.confidence)
        seen.add(current.id)
    if current is turn:
        return None
    return Replacement(current.text, is_sure=chance >= SURE_REPLACEMENT)


def _is_permitted_replacement(related: RelatedMemory, older: Item) -> bool:
    """Whether a related item probably replaces an older one, and may."""
    return _is_replacement(related, older.id) and may_replace(related.memory.source, older.source)


def _is_replacement(related: RelatedMemory, older_id: str) -> bool:
    """Whether a related item probably replaces the one with this id."""
    relation = related.relationship
    ends = (relation.type, relation.from_id, relation.to_id)
    return ends == (REPLACES, related.memory.id, older_id) and relation.confidence >= MIN_CHANCE
