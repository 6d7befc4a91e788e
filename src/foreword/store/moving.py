"""Copies a workspace from one store to another, page by page, and proves that both hold the same.

What the target already has is not written again, so that an interrupted copy can be continued. The proof
reads both stores anew: it counts everything, and computes a hash over all rows of every part.
"""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any

from foreword.store.base import Amend, Get, ListRelations, Put, PutReceipt, PutRelations, Scan
from foreword.store.exchange import Attached, GetAttached, ListReceipts, PutAttached
from foreword.store.rows import item_to_row, receipt_to_json, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from foreword.store.base import Store
    from foreword.types import Item, Relation

_PAGE = 200
_RELATIONS_PER_BATCH = 500
_PARTS = ("items", "relations", "vectors", "token_codes", "shown", "files", "receipts")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """For each part of a workspace, the number of its rows and a hash over them."""

    counts: dict[str, int]
    hashes: dict[str, str]


@dataclass(frozen=True, slots=True)
class CopyProof:
    """The fingerprints of a workspace in both stores; `differences` names the parts that differ."""

    workspace: str
    source: Fingerprint
    target: Fingerprint
    differences: tuple[str, ...] = field(default=())

    @property
    def is_same(self) -> bool:
        """Whether both stores hold the same."""
        return not self.differences


def copy_workspace(
    source: Store, target: Store, workspace: str, progress: Callable[[int], None] = lambda _: None
) -> CopyProof:
    """Copy a workspace and compare both stores; what only the target has stays and counts as a difference."""
    done = 0
    outdated: list[str] = []
    for items in _iterate_pages(source, workspace):
        outdated += _copy_page(source, target, workspace, items)
        done += len(items)
        progress(done)
    for start in range(0, len(outdated), _PAGE):  # now that what replaces them is there
        _copy_amended_fields(source, target, workspace, tuple(outdated[start : start + _PAGE]))
    _copy_missing_relations(source, target, workspace)
    states = tuple(source.files(workspace).values())
    if states and target.files(workspace) != source.files(workspace):
        target.run(PutAttached(workspace, Attached(), states))
    known = {receipt.id for receipt in target.run(ListReceipts(workspace))}
    for receipt in source.run(ListReceipts(workspace)):
        if receipt.id not in known:
            target.run(PutReceipt(workspace, receipt))
    return compare_copies(source, target, workspace)


def _iterate_pages(store: Store, workspace: str) -> Iterator[tuple[Item, ...]]:
    """The items of a workspace in the order they were stored, a page at a time."""
    after: str | None = None
    while items := store.run(Scan(workspace, after=after, limit=_PAGE)):
        yield items
        after = items[-1].id


def _copy_page(source: Store, target: Store, workspace: str, items: tuple[Item, ...]) -> list[str]:
    """Copy a page of items, and what is stored beside them, unless the target has them all.

    Returns the ids of those that were changed since the target got them.
    """
    ids = tuple(item.id for item in items)
    attached = source.run(GetAttached(workspace, ids))
    there = target.run(Get(workspace, ids))
    if there != items:
        target.run(Put(workspace, items))
    if target.run(GetAttached(workspace, ids)) != attached:
        target.run(PutAttached(workspace, attached))
    return [item.id for item, copy in zip(items, there, strict=True) if copy not in (None, item)]


def _copy_amended_fields(source: Store, target: Store, workspace: str, ids: tuple[str, ...]) -> None:
    """Change what the target knows about items to what the source knows now."""
    target.batch(
        [
            Amend(
                workspace, item.id, item.confidence, item.importance, item.superseded_by or "", item.metadata
            )
            for item in source.run(Get(workspace, ids))
            if item is not None
        ]
    )


def _copy_missing_relations(source: Store, target: Store, workspace: str) -> None:
    """Copy the relations that the target lacks, in batches."""
    target_relations = target.run(ListRelations(workspace))
    known = set(target_relations)
    missing = [relation for relation in source.run(ListRelations(workspace)) if relation not in known]
    for start in range(0, len(missing), _RELATIONS_PER_BATCH):
        target.run(PutRelations(workspace, tuple(missing[start : start + _RELATIONS_PER_BATCH])))


def compare_copies(source: Store, target: Store, workspace: str) -> CopyProof:
    """Read a workspace from both stores and compare the fingerprints."""
    mine, other = take_fingerprint(source, workspace), take_fingerprint(target, workspace)
    differences = tuple(part for part in _PARTS if mine.hashes[part] != other.hashes[part])
    return CopyProof(workspace, mine, other, differences)


def take_fingerprint(store: Store, workspace: str) -> Fingerprint:
    """Count and hash every part of a workspace; the order of the items matters, too."""
    tallies = {part: _CountAndHash() for part in _PARTS}
    for items in _iterate_pages(store, workspace):
        tallies["items"].add(map(item_to_row, items))
        attached = store.run(GetAttached(workspace, tuple(item.id for item in items)))
        for part in ("vectors", "token_codes", "shown", "files"):
            tallies[part].add(getattr(attached, part))
    relations = store.run(ListRelations(workspace))
    tallies["relations"].add(sorted(map(_relation_to_row, relations)))
    tallies["files"].add(sorted(map(astuple, store.files(workspace).values())))
    tallies["receipts"].add((receipt_to_json(receipt),) for receipt in store.run(ListReceipts(workspace)))
    return Fingerprint(
        {part: tally.rows for part, tally in tallies.items()},
        {part: tally.hash.hexdigest() for part, tally in tallies.items()},
    )


class _CountAndHash:
    """A count of rows and a hash over them."""

    def __init__(self) -> None:
        self.rows = 0
        self.hash = hashlib.blake2b(digest_size=16)

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        for row in rows:
            self.rows += 1
            self.hash.update(repr(row).encode(errors="surrogatepass"))


def _relation_to_row(relation: Relation) -> tuple[Any, ...]:
    ends = (relation.from_id, relation.to_id, relation.type)
    return (*ends, relation.confidence, to_microseconds(relation.created_at))
