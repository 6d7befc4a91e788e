"""Looks through a workspace and changes single items: list, find, edit, confirm, forget with a preview.

For the page and the command line. An item's text never changes: an edit stores a new item that supersedes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from foreword.errors import UnknownId, ValidationError
from foreword.knowledge.replacement import surely_replaces
from foreword.options import MAX_LIMIT, SearchOptions, check_workspace
from foreword.pipeline import FLOOR
from foreword.store.base import EVERYTHING, Amend, GetRelated, PutRelations
from foreword.store.browsing import (
    CountPage,
    GetLastShown,
    ListPage,
    ListReceipts,
    ListReplaced,
    PreviewDelete,
)
from foreword.text.numbers import number_with_noun
from foreword.text.provenance import may_replace
from foreword.types import MENTIONS, REPLACES, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from foreword.engine.context_engine import ContextEngine, Forgotten
    from foreword.store.browsing import DeletePreview
    from foreword.types import Filters, Item, Receipt, RelatedMemory

CONFIRMED = "confirmed_at"
"""The key in an item's metadata for the time when it was last confirmed."""

_MAX_VERSIONS = 50
_MAX_RELATED = 24
_MAX_NAMED_RECEIPTS, _MAX_READ_RECEIPTS = 5, 50
_MAX_SEARCHED = 100
_MAX_AMBIGUOUS = 5
_WORD_SPACES = {"lexical", "trigram", "identifiers"}


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list of items, how many items there are in all, and how many come before the page.

    `successors` has the id of what replaced an item, by the item's id, for those that something replaced.
    """

    items: tuple[Item, ...]
    total: int
    skip: int = 0
    successors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ItemStory:
    """An item with its versions, its related items, and when it was used.

    `before` are the items it replaced, newest first, and `after` those that replaced it, the present version
    last. `receipts` are the newest that name it.
    """

    item: Item
    before: tuple[Item, ...] = ()
    after: tuple[Item, ...] = ()
    related: tuple[RelatedMemory, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    last_shown: datetime | None = None


@dataclass(frozen=True, slots=True)
class ForgetProof:
    """The ids of removed items, and what a check of the workspace still found of them, if anything."""

    removed: tuple[str, ...]
    left: tuple[str, ...] = ()

    @property
    def is_nothing_left(self) -> bool:
        """Whether nothing is left."""
        return not self.left


class Browser:
    """Looks through one workspace, and changes single items of it."""

    def __init__(self, engine: ContextEngine, workspace: str) -> None:
        self._engine = engine
        self._store = engine.store
        self.workspace = check_workspace(workspace)

    # Looking

    def list_items(
        self,
        filters: Filters = EVERYTHING,
        skip: int = 0,
        limit: int = 50,
        *,
        holds: bool | None = None,
    ) -> Page:
        """A page of the items that pass the filters, newest first.

        With `holds`, only items that nothing has replaced; with `holds=False`, only those that something has.
        """
        page = ListPage(self.workspace, filters, skip, limit, holds=holds)
        items, total = self._store.batch([page, CountPage(self.workspace, filters, holds)])
        return Page(items, total, skip, self.find_successor_ids(items))

    def search_items(
        self,
        words: str,
        filters: Filters = EVERYTHING,
        *,
        holds: bool | None = None,
    ) -> Page:
        """The best items for these words, a hundred at most, filtered as in `list_items`.

        What neither has one of the words nor is likely to help with them is left out.
        """
        is_narrowed = (filters.source, filters.trust, holds) != (None, None, None)
        options = SearchOptions(
            limit=MAX_LIMIT if is_narrowed else _MAX_SEARCHED,  # a search does not know these three
            kinds=list(filters.kinds),
            memory_types=list(filters.types),
            date_from=filters.since,
            date_to=filters.until,
            session=filters.session,
            lane="fast",
        )
        found = [
            result.memory
            for result in self._engine.search(words, self.workspace, options)
            if result.score >= FLOOR or _WORD_SPACES & result.ranks.keys()
        ]
        fitting = [
            item
            for item in found
            if filters.source in (None, item.source.name) and filters.trust in (None, item.source.trust)
        ]
        successors = self.find_successor_ids(fitting)
        best = [item for item in fitting if holds is None or holds == (item.id not in successors)]
        return Page(tuple(best[:_MAX_SEARCHED]), min(len(best), _MAX_SEARCHED), successors=successors)

    def find_successor_ids(self, items: Iterable[Item]) -> dict[str, str]:
        """The ids of what replaced these items, by the ids of those that were replaced."""
        by_id = {item.id: item for item in items}
        related = self._store.run(GetRelated(self.workspace, tuple(by_id))) if by_id else {}
        successors = {}
        for name, item in by_id.items():
            newer = next(
                (
                    one.memory.id
                    for one in related[name]
                    if one.relationship.to_id == name and _surely_replaces(one.relationship, one.memory, item)
                ),
                None,
            )
            if successor := item.superseded_by or newer:
                successors[name] = successor
        return successors

    def find_item(self, id_prefix: str) -> Item:
        """The item whose id is or begins with this; UnknownId for none, ValidationError for several."""
        item = self._store.get(self.workspace, id_prefix)[0]
        if item is not None:
            return item
        found = (
            self._store.run(ListPage(self.workspace, prefix=id_prefix, limit=_MAX_AMBIGUOUS))
            if id_prefix
            else ()
        )
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(sorted(one.id for one in found))
            raise ValidationError(f"several ids begin with {id_prefix!r}: {ids}")
        raise UnknownId(f"no item of {self.workspace!r} has an id that is or begins with {id_prefix!r}")

    def gather_story(self, item: Item) -> ItemStory:
        """An item's earlier and later versions, related items, receipts, and when it was last shown."""
        related = self._store.run(GetRelated(self.workspace, (item.id,)))[item.id][:_MAX_RELATED]
        shown = self._store.run(GetLastShown(self.workspace, (item.id,)))
        receipts = self._store.run(ListReceipts(self.workspace, 0, _MAX_READ_RECEIPTS, item.id))
        injected_at = [
            one.created_at for one in receipts if item.id in {entry.item_id for entry in one.injected_entries}
        ]
        times = [*injected_at, *shown.values()]
        return ItemStory(
            item,
            self._list_earlier_versions(item, related),
            self._list_later_versions(item),
            related,
            receipts[:_MAX_NAMED_RECEIPTS],
            max(times, default=None),
        )

    def _list_earlier_versions(self, item: Item, related: tuple[RelatedMemory, ...]) -> tuple[Item, ...]:
        """The items that an item replaced, and those that these had replaced, newest first."""
        found = {
            one.memory.id: one.memory
            for one in related
            if one.relationship.from_id == item.id and _surely_replaces(one.relationship, item, one.memory)
        }
        names = [item.id, *found]
        while names and len(found) < _MAX_VERSIONS:
            older = self._store.run(ListReplaced(self.workspace, tuple(names)))
            fresh = [one for one in older if one.id not in found and one.id != item.id]
            found |= {one.id: one for one in fresh}
            names = [one.id for one in fresh]
        return tuple(sorted(found.values(), key=lambda one: one.created_at, reverse=True))

    def _list_later_versions(self, item: Item) -> tuple[Item, ...]:
        """The item that replaced an item, and that which replaced it in turn, the present one last."""
        after: list[Item] = []
        seen, newest = {item.id}, item
        while len(after) < _MAX_VERSIONS:
            name = self.find_successor_ids([newest]).get(newest.id)
            successor = self._store.get(self.workspace, name)[0] if name and name not in seen else None
            if successor is None:
                break
            seen.add(successor.id)
            after.append(successor)
            newest = successor
        return tuple(after)

    # Changing

    def edit(self, item: Item, text: str) -> Item:
        """Store the text as a new item that supersedes an item, and return the new one.

        The new item has the trust of the user, and the type and `about` of the old one; also its kind,
        if a user can write items of that kind. ValidationError if the old item was replaced already.
        """
        if item.superseded_by is not None:
            raise ValidationError(f"{item.id!r} was replaced by {item.superseded_by!r}; edit that one")
        new = self._engine.remember(
            text,
            self.workspace,
            kind=item.kind
            if item.kind not in ("turn", "summary", "commit", "code", "document")
            else "memory",
            type=item.type,
            about=item.about,
            session=item.session,
            conversation=item.conversation,
            importance=item.importance,
            metadata=_metadata_for_new_version(item),
            supersedes=item.id,
        )
        relation = Relation(new.id, item.id, REPLACES, 1.0, new.created_at)
        self._store.run(PutRelations(self.workspace, (relation,)))
        return new

    def confirm(self, item: Item) -> Item:
        """Mark an item as confirmed now, with full confidence, and return it."""
        at = self._engine.clock().isoformat(timespec="seconds")
        change = Amend(self.workspace, item.id, 1.0, metadata={**item.metadata, CONFIRMED: at})
        return self._store.run(change) or replace(item, confidence=1.0)

    def preview_forget(self, *ids: str) -> DeletePreview:
        """What forgetting these items would remove: them, what was made from them, and how many receipts."""
        self._engine.store_waiting_events(drop_unreadable=False)
        return self._store.run(PreviewDelete(self.workspace, ids))

    def forget(self, *ids: str) -> ForgetProof:
        """Remove items for good, and check whether anything of them is left."""
        gone: Forgotten = self._engine.forget(self.workspace, *ids)
        still_stored = tuple(one.id for one in self._store.get(self.workspace, *gone.ids) if one is not None)
        problems = tuple(f"{problem.part}: {problem.message}" for problem in gone.problems)
        return ForgetProof(gone.ids, (*still_stored, *problems))


def describe_what_else_is_removed(preview: DeletePreview, ids: Iterable[str]) -> list[str]:
    """What forgetting these items would remove beside them, each in a few words; what is not, is left out."""
    named = set(ids)
    made = sum(item.id not in named for item in preview.items)
    return [
        words
        for number, words in (
            (made, f"{number_with_noun(made, 'item')} made from that"),
            (preview.relations, number_with_noun(preview.relations, "relation")),
            (preview.receipts, f"{number_with_noun(preview.receipts, 'receipt')} whose question repeats it"),
        )
        if number
    ]


def displayable_metadata(item: Item) -> dict[str, object]:
    """The metadata of an item that says something: without what is empty, and without lists of ids."""
    hidden = (MENTIONS, "derived_from", "turns")
    return {name: value for name, value in item.metadata.items() if name not in hidden and value}


def when_confirmed(item: Item) -> datetime | None:
    """The time when an item was last confirmed; None if it never was."""
    try:
        return datetime.fromisoformat(str(item.metadata[CONFIRMED])).astimezone()
    except (KeyError, ValueError):
        return None


def describe_relation_type(relation: Relation) -> str:
    """The type of a relation; a replacement that is not sure is one "perhaps"."""
    is_unsure = relation.type == REPLACES and not surely_replaces(relation)
    return f"{'perhaps ' if is_unsure else ''}{relation.type}"


def _surely_replaces(relation: Relation, newer: Item, older: Item) -> bool:
    """Whether a relation says for sure that one item replaces the other, from a source that may do so."""
    return surely_replaces(relation) and may_replace(newer.source, older.source)


def _metadata_for_new_version(item: Item) -> dict[str, object]:
    """The metadata for a new version: without keys that refer to other items, files or confirmations."""
    dropped = {"derived_from", "turns", "path", "lines", "sha", "subject", "attribute", "value", CONFIRMED}
    return {name: value for name, value in item.metadata.items() if name not in dropped}
