"""What was said later in the place of what it made untrue, and the older statement told as history.

Which statement replaces which was judged when they were stored (`knowledge/replacement.py`) and is read here
from their relations. The judge can err, so nothing is hidden: the newer statement is told, and in the same
line the older one with its date.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.text.statements import split_statements
from foreword.types import REPLACES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Item, RelatedMemory, SearchResult

MAX_SUCCESSORS = 3
"""At most how many steps are followed from a statement to what replaced it in the end."""

_MAX_STATEMENTS, _MAX_CHARACTERS = 2, 160


def find_successors(item_id: str, related: Sequence[RelatedMemory]) -> list[Item]:
    """The items that replaced an item, one after the other, the last one last; empty if it stands."""
    chain: list[Item] = []
    current = item_id
    for _ in range(MAX_SUCCESSORS):
        seen = {item_id, *(item.id for item in chain)}
        newer = [
            one
            for one in related
            if one.relationship.type == REPLACES
            and one.relationship.to_id == current
            and one.relationship.from_id == one.memory.id
            and one.memory.id not in seen
        ]
        if not newer:
            break
        chain.append(max(newer, key=lambda one: one.relationship.confidence).memory)
        current = chain[-1].id
    return chain


def add_history(result: SearchResult, older: Sequence[Item]) -> SearchResult:
    """The result, told with what it replaced and when that was said."""
    if not older:
        return result
    statements = split_statements(result.memory.text)
    told = result.excerpt or " ".join(statements[:_MAX_STATEMENTS])
    notes = [f"(before, {_day(item)}: {_shorten(item.text)})" for item in older]
    return replace(result, excerpt=" ".join([told, *(note for note in notes if note not in told)]))


def _day(item: Item) -> str:
    return f"{item.created_at.day} {item.created_at:%B %Y}"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_CHARACTERS else f"{line[: _MAX_CHARACTERS - 1].rstrip()}…"
