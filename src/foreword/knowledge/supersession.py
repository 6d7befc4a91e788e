"""Which older memories a newer one supersedes: those that state another value of the same attribute.

Decides by when statements were made and by whom; `attribute_values` reads what each states. Of those about
one attribute the newest stands, unless it only says less. The user's statements are superseded by the user
alone, an agent's by an agent, the user or a file, and so on down. An old statement that is repeated stands
again.

Returns changes and makes none, so that the caller can make them in the transaction that stores the
statements. If two processes store different values at the same instant, both stand until a later statement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from secrets import token_hex
from typing import TYPE_CHECKING

from foreword.knowledge.attribute_values import read_attribute_value
from foreword.log import get_logger
from foreword.store.base import Amend, Search
from foreword.text.provenance import may_replace
from foreword.types import EntitiesProbe, Filters, content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from foreword.knowledge.attribute_values import AttributeValue
    from foreword.store.base import Store
    from foreword.types import Item, Source

_log = get_logger(__name__)

_NO_SUCCESSOR = ""
"""The successor of a statement that nothing has superseded."""

_MIN_CONFIDENCE = 0.5
"""A statement with less confidence than this supersedes nothing."""

_MAX_STATEMENTS = 64
"""At most this many statements about an attribute are read: those that say the same, then the newest."""

_MAX_STEPS = 8
"""At most this many steps are followed from a statement to successors that were not found with it."""

_MEMORIES = Filters(kinds=("memory",))


@dataclass(slots=True)
class _Statement:
    """A stored or new memory: the value it states, since when, its source, and its successor."""

    id: str
    states: AttributeValue
    moment: datetime
    source: Source
    successor: str

    def is_replaced_by(self, other: _Statement) -> bool:
        """Whether another statement contradicts this one, is not older, and is trusted as much."""
        if self.moment > other.moment or not may_replace(other.source, self.source):
            return False
        return other.states.contradicts(self.states)


def attribute_lookup_keys(item: Item) -> tuple[str, ...]:
    """The keys by which later statements about the same attribute find an item; none for most items."""
    value = read_attribute_value(item)
    return value.lookup_keys if value else ()


def plan_supersessions(
    store: Store, workspace: str, items: Sequence[Item]
) -> tuple[tuple[Item, ...], list[Amend]]:
    """The items, with ids where changes refer to them, and the changes to make once they are stored."""
    values = [read_attribute_value(item) for item in items]
    if not any(values):
        return tuple(items), []
    identified = tuple(
        item if value is None or item.id else replace(item, id=token_hex(8))
        for item, value in zip(items, values, strict=True)
    )
    new = [(item, value) for item, value in zip(identified, values, strict=True) if value is not None]
    statements = _StandingStatements(_read_stored_statements(store, workspace, [value for _, value in new]))
    for item, value in sorted(new, key=lambda pair: _valid_since(pair[0])):
        statements.add(item, value)
    changes = statements.changes.items()
    return identified, [Amend(workspace, changed, superseded_by=heir) for changed, heir in changes]


class _StandingStatements:
    """The statements about each attribute and their successors, as they are added from old to new."""

    def __init__(self, stored_items: Iterable[Item]) -> None:
        self.changes: dict[str, str] = {}
        self._by_key: dict[str, dict[str, _Statement]] = {}
        items = sorted(stored_items, key=_valid_since)
        last = {item.superseded_by: _valid_since(item) for item in items if item.superseded_by}
        for item in items:
            value = read_attribute_value(item)
            if value is not None:
                statement = _build_statement(item, value)
                # A statement that superseded another was repeated after it, even if it was made long before.
                statement.moment = max(statement.moment, last.get(item.id, statement.moment))
                self._by_key.setdefault(value.key, {})[item.hash] = statement

    def add(self, item: Item, value: AttributeValue) -> None:
        """Add a statement, and note what it supersedes, or is superseded by, about the same attribute."""
        name, others = content_hash(item), self._by_key.setdefault(value.key, {})
        before = others.get(name)
        if before is not None and _valid_since(item) <= before.moment:
            return  # this statement was counted before
        new = _build_statement(item, value) if before is None else replace(before, moment=_valid_since(item))
        others[name] = new
        if item.superseded_by or item.confidence < _MIN_CONFIDENCE:
            return
        standing = [
            other for other in others.values() if other is not new and other.successor == _NO_SUCCESSOR
        ]
        later = [other for other in standing if other.moment > new.moment and new.is_replaced_by(other)]
        self._note_successor(new, min(later, key=lambda other: other.moment).id if later else _NO_SUCCESSOR)
        for other in standing:
            if other.is_replaced_by(new):
                self._note_successor(other, name)

    def _note_successor(self, statement: _Statement, successor: str) -> None:
        """Note the successor of a statement, or that it has none any more; a first successor stays."""
        if statement.successor != successor and not (statement.successor and successor):
            statement.successor = self.changes[statement.id] = successor


def _build_statement(item: Item, value: AttributeValue) -> _Statement:
    return _Statement(item.id, value, _valid_since(item), item.source, item.superseded_by or _NO_SUCCESSOR)


def _valid_since(item: Item) -> datetime:
    """The moment since which an item is valid: when it was made, if it states none."""
    return item.valid_from or item.created_at


def _read_stored_statements(store: Store, workspace: str, values: Sequence[AttributeValue]) -> Iterable[Item]:
    """The stored statements about the same attributes, with their successors."""
    keys = tuple(dict.fromkeys(key for value in values for key in value.lookup_keys))
    probe = EntitiesProbe("settled", keys)
    found = store.search(Search(workspace, (probe,), _MEMORIES, _MAX_STATEMENTS * len(values)))
    for note in found.notes:
        _log.warning("what was said before is not looked at", workspace=workspace, problem=note.message)
    items: dict[str, Item | None] = dict(found.items)
    for _ in range(_MAX_STEPS):
        successors = {item.superseded_by for item in items.values() if item and item.superseded_by}
        missing = successors - items.keys()
        if not missing:
            break
        items |= dict(zip(missing, store.get(workspace, *missing), strict=True))
    return [item for item in items.values() if item is not None]
