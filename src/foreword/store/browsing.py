"""Operations for looking through a workspace page by page, in a viewer or at a command line.

They belong to the contract in `store.base` and keep its promises. No prompt needs them to be answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from foreword.store.base import EVERYTHING, Operation, Read
from foreword.types import Filters, Item, Receipt

if TYPE_CHECKING:
    from datetime import datetime

Grouping = Literal["day", "kind", "type", "source", "trust", "session"]
"""The property by which `CountBy` groups items."""


@dataclass(frozen=True, slots=True)
class ReceiptFacts:
    """The figures of a receipt: its time, its recipe, how many tokens and items, in how many milliseconds."""

    id: str
    created_at: datetime
    recipe: str
    tokens: int
    injected_count: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class DeletePreview:
    """What a `Delete` by ids would remove: items, with those made from them, and counts of the rest."""

    items: tuple[Item, ...] = ()
    receipts: int = 0
    relations: int = 0


@dataclass(frozen=True, slots=True)
class ListPage(Read[tuple[Item, ...]]):
    """List items that pass the filters, newest first as `ListRecent` does, without the first `skip` of them.

    `prefix` is the beginning of their ids. `holds` selects items that nothing has replaced (True) or items
    that have been replaced (False): by the item named in `superseded_by`, or by one with a sure relation to
    them, whose source may replace theirs (`may_replace`).
    """

    filters: Filters = EVERYTHING
    skip: int = 0
    limit: int = 50
    prefix: str = ""
    holds: bool | None = None


@dataclass(frozen=True, slots=True)
class CountPage(Read[int]):
    """Count the items on all pages of a `ListPage` with the same filters."""

    filters: Filters = EVERYTHING
    holds: bool | None = None


@dataclass(frozen=True, slots=True)
class ListConversations(Read[tuple[str, ...]]):
    """List the names of conversations with items that pass the filters, sorted by their UTF-8 bytes.

    The list begins after the name `after` and has at most `limit` names. A conversation with many items must
    not cost more than one with few.
    """

    filters: Filters = EVERYTHING
    after: str = ""
    limit: int = 1000


@dataclass(frozen=True, slots=True)
class CountBy(Read[Mapping[str, int]]):
    """Count items that pass the filters by day (`2026-01-31`, UTC), kind, type, source, trust or session.

    Returns at most `limit` groups, the largest first. Days come in order of time, the last `limit` of them.
    Items without a type (or session) are left out when counting by type (or session).
    """

    by: Grouping
    filters: Filters = EVERYTHING
    limit: int = 200


@dataclass(frozen=True, slots=True)
class ListReplaced(Read[tuple[Item, ...]]):
    """List the items whose `superseded_by` is one of these ids, newest first."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GetLastShown(Read[Mapping[str, "datetime"]]):
    """Return when each of these items was last shown to a session; those that never were are left out."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListReceipts(Read[tuple[Receipt, ...]]):
    """List receipts, newest first, without the first `skip`; with `item_id`, those that name this item."""

    skip: int = 0
    limit: int = 20
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class ListReceiptFacts(Read[tuple[ReceiptFacts, ...]]):
    """List the figures of the newest receipts, newest first."""

    limit: int = 2000


@dataclass(frozen=True, slots=True)
class PreviewDelete(Read[DeletePreview]):
    """Return what `Delete` with these ids would remove; removes nothing."""

    ids: tuple[str, ...]


def result_in_empty_workspace(operation: Operation[Any]) -> object:
    """The result of an operation of this module in an empty workspace."""
    match operation:
        case CountPage():
            return 0
        case CountBy() | GetLastShown():
            return {}
        case PreviewDelete():
            return DeletePreview()
    return ()
