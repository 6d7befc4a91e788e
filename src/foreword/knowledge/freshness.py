"""What is said now holds: a newer statement about the same thing supersedes the older one.

Knows when statements were made and by whom, and learns from `settling` what each settles. Of those about one
attribute the newest stands, unless it only says less. What the user said yields to the user alone, what an
agent said to an agent or the user, and so on down. An old statement said again stands again.

Gives changes and makes none, so that the caller can have them in the transaction that keeps the statements.
Two processes that say different things at the same instant both stand, until somebody says more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from secrets import token_hex
from typing import TYPE_CHECKING

from foreword.knowledge.settling import settled_by
from foreword.log import get_logger
from foreword.store.base import Amend, Search
from foreword.types import TRUSTS, EntitiesProbe, Filters, content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from foreword.knowledge.settling import Settled
    from foreword.store.base import Store
    from foreword.types import Item

_log = get_logger("foreword.freshness")

NOBODY = ""
"""The heir of what stands."""

SURE = 0.5
"""Who is less sure than this supersedes nothing."""

_KNOWN = 64
"""So many of the statements about an attribute are looked at: those that say the same, then the newest."""

_STEPS = 8
"""So far is followed what supersedes those, where it is not among them."""

_MEMORIES = Filters(kinds=("memory",))


@dataclass(slots=True)
class _Said:
    """A statement, kept or about to be: what it settles, since when, how far it is trusted, and its heir."""

    id: str
    settles: Settled
    moment: datetime
    rank: int
    heir: str

    def yields_to(self, other: _Said) -> bool:
        """Whether another, as new or newer, says something else and is trusted as much."""
        return self.moment <= other.moment and other.rank <= self.rank and other.settles.differs(self.settles)


def names(item: Item) -> tuple[str, ...]:
    """By what an item is found again when something is said about what it settles; nothing for most."""
    found = settled_by(item)
    return found.names if found else ()


def settled(store: Store, workspace: str, items: Sequence[Item]) -> tuple[tuple[Item, ...], list[Amend]]:
    """The items, with ids where changes name them, and the changes to make once they are kept."""
    read = [settled_by(item) for item in items]
    if not any(read):
        return tuple(items), []
    named = tuple(
        item if found is None or item.id else replace(item, id=token_hex(8))
        for item, found in zip(items, read, strict=True)
    )
    new = [(item, found) for item, found in zip(named, read, strict=True) if found is not None]
    board = _Board(_kept(store, workspace, [found for _, found in new]))
    for item, found in sorted(new, key=lambda one: _moment(one[0])):
        board.hear(item, found)
    return named, [Amend(workspace, changed, superseded_by=heir) for changed, heir in board.changes.items()]


class _Board:
    """Who stands, attribute by attribute, as statements come in from the oldest to the newest."""

    def __init__(self, kept: Iterable[Item]) -> None:
        self.changes: dict[str, str] = {}
        self._said: dict[str, dict[str, _Said]] = {}
        items = sorted(kept, key=_moment)
        last = {item.superseded_by: _moment(item) for item in items if item.superseded_by}
        for item in items:
            found = settled_by(item)
            if found is not None:
                said = _said(item, found)
                # What superseded another was said after it, even if for the first time long before.
                said.moment = max(said.moment, last.get(item.id, said.moment))
                self._said.setdefault(found.key, {})[item.hash] = said

    def hear(self, item: Item, found: Settled) -> None:
        """Let a statement take its place among those about the same attribute."""
        name, others = content_hash(item), self._said.setdefault(found.key, {})
        before = others.get(name)
        if before is not None and _moment(item) <= before.moment:
            return  # it was heard then
        me = _said(item, found) if before is None else replace(before, moment=_moment(item))
        others[name] = me
        if item.superseded_by or item.confidence < SURE:
            return
        standing = [other for other in others.values() if other is not me and other.heir == NOBODY]
        later = [other for other in standing if other.moment > me.moment and me.yields_to(other)]
        self._settle(me, min(later, key=lambda other: other.moment).id if later else NOBODY)
        for other in standing:
            if other.yields_to(me):
                self._settle(other, name)

    def _settle(self, said: _Said, heir: str) -> None:
        if said.heir != heir and not (said.heir and heir):  # an heir that is there already will do
            said.heir = self.changes[said.id] = heir


def _said(item: Item, found: Settled) -> _Said:
    rank = TRUSTS.index(item.source.trust)
    return _Said(item.id, found, _moment(item), rank, item.superseded_by or NOBODY)


def _moment(item: Item) -> datetime:
    return item.valid_from or item.created_at


def _kept(store: Store, workspace: str, new: Sequence[Settled]) -> Iterable[Item]:
    """What is kept about the same attributes, with what it is superseded by."""
    wanted = tuple(dict.fromkeys(name for one in new for name in one.names))
    found = store.search(Search(workspace, (EntitiesProbe("settled", wanted),), _MEMORIES, _KNOWN * len(new)))
    for note in found.notes:
        _log.warning("what was said before is not looked at", workspace=workspace, problem=note.message)
    items: dict[str, Item | None] = dict(found.items)
    for _ in range(_STEPS):
        heirs = {item.superseded_by for item in items.values() if item and item.superseded_by} - items.keys()
        if not heirs:
            break
        items |= dict(zip(heirs, store.get(workspace, *heirs), strict=True))
    return [item for item in items.values() if item is not None]
