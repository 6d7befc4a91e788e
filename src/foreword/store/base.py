"""The contract of a store: operations are values, and `batch` is the one method an engine must write.

Every operation names its workspace, and nothing it returns may come from another. The conveniences below are
written once, on top of `batch`. `foreword.store.conformance` holds any engine to this contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

from foreword.types import Filters, Found, Item, Probe, Receipt, RelatedMemory, Relation, Views

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

MAX_DEPTH = 10
"""Relations are followed this far at most."""


@dataclass(frozen=True, slots=True)
class Put:
    """Store items. Gives a `Stored` for each, in order, once all of them are durable."""

    workspace: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """The item as it is kept; `new` is False when identical content was there before."""

    item: Item
    new: bool


@dataclass(frozen=True, slots=True)
class Get:
    """Fetch items by id. Gives an item or None for each, in order."""

    workspace: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """List items that pass the filters, a page at a time: oldest stored first, from `after` on."""

    workspace: str
    filters: Filters = Filters()
    after: str | None = None
    limit: int = 1000


@dataclass(frozen=True, slots=True)
class Recent:
    """List the newest items that pass the filters. Gives a tuple of them, newest first."""

    workspace: str
    filters: Filters = Filters()
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Amend:
    """Change what is known about an item (never its text). Gives the item, or None when there is none.

    `superseded_by` is the id of the item that replaces it, or the hash of that item's content, as it may have
    been kept before under an id that nobody has looked up; empty, or a hash that nobody has: it stands again.
    """

    workspace: str
    id: str
    confidence: float | None = None
    importance: float | None = None
    superseded_by: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove items by id, or all that pass the filters, with everything made from them. Gives their ids.

    A file of which no item is left is forgotten with the last: its mark goes too. Receipts stay, without the
    views that repeat what items said.

    An item whose metadata has `derived_from`, a list of the sources it was made from, goes with any of them
    that a filter names, if the rest of the filter lets it pass. It also goes with any item whose id is in its
    metadata's `turns`: it repeats their words.
    """

    workspace: str
    ids: tuple[str, ...] = ()
    filters: Filters | None = None


@dataclass(frozen=True, slots=True)
class Relate:
    """Store relations; both ends must exist. Gives the number that were new or changed."""

    workspace: str
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class Expand:
    """Follow relations from each id, both ways, up to `depth`. Gives what each reaches, nearest first."""

    workspace: str
    ids: tuple[str, ...]
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Relations:
    """List every relation of the workspace."""

    workspace: str


@dataclass(frozen=True, slots=True)
class Search:
    """All probes of one question, in one round trip. Gives a `Found`."""

    workspace: str
    probes: tuple[Probe, ...]
    filters: Filters = Filters()
    limit: int = 50
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Vector:
    """The vector of one item: which text it stands for, and the numbers."""

    item_id: str
    text_hash: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PutVectors:
    """Store vectors made by the encoder with this digest. Gives how many were kept."""

    workspace: str
    space: str
    digest: str
    vectors: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class Unembedded:
    """List items that have no vector of this digest in this space yet: of these kinds, or of any."""

    workspace: str
    space: str
    digest: str
    limit: int = 256
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """Look up vectors by the hash of the text they stand for. Gives a mapping; what is unknown is absent."""

    workspace: str
    digest: str
    hashes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PutReceipt:
    """Keep a receipt, and let the oldest go when there are too many or they are too old."""

    workspace: str
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class GetReceipt:
    """Fetch a receipt by id or by the beginning of one; the newest when `id` is empty."""

    workspace: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Tell:
    """Record that a session's context now holds these items. Gives how many it did not hold before.

    Ids that nobody has are passed over. An item's text never changes, so that its id stands for its words.
    """

    workspace: str
    session: str
    item_ids: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Told:
    """What a session's context holds, as far as it was told. Gives a frozenset of item ids."""

    workspace: str
    session: str


@dataclass(frozen=True, slots=True)
class Untell:
    """A session's context was emptied or made shorter: forget what it held. Gives how many items that was."""

    workspace: str
    session: str


@dataclass(frozen=True, slots=True)
class FileMark:
    """A file as it was when it was last read, and how many items are kept of it.

    `size` and `mtime_ns` tell without reading that it has not changed, `hash` tells it for sure.
    """

    path: str
    size: int
    mtime_ns: int
    hash: str
    items: int = 0


@dataclass(frozen=True, slots=True)
class Files:
    """Which files the workspace was made from. Gives a mapping of paths to their `FileMark`."""

    workspace: str


@dataclass(frozen=True, slots=True)
class PutFile:
    """Keep these items as what a file holds now, in place of what it held before. Gives a `Refiled`.

    What has not changed keeps its id, its time, its relations and its vectors; its metadata becomes that of
    the new item. With `more`, the items are kept beside what the file held before, but for the ids that
    `less` names. An item that was there before is the file's from now on; one that was made from several
    files goes with the last of them. The mark's own count of items is not looked at. `views` are those of the
    items, in order, where they are known already; else the store makes them.
    """

    workspace: str
    mark: FileMark
    items: tuple[Item, ...]
    more: bool = False
    less: tuple[str, ...] = ()
    views: tuple[Views, ...] = ()


@dataclass(frozen=True, slots=True)
class Refiled:
    """The items of a file as they are kept, in order, and the ids of those that are gone."""

    stored: tuple[Stored, ...]
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DropFiles:
    """These files are no more: remove their marks, and the items made from them. Gives the items' ids."""

    workspace: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """How much is kept. Gives `Counts`."""

    workspace: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How much one workspace holds."""

    items: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    relations: int = 0
    vectors: Mapping[str, int] = field(default_factory=dict)
    receipts: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """Compare everything derived with the rows. Gives a tuple of `Problem`, empty when all agree."""

    workspace: str


@dataclass(frozen=True, slots=True)
class Repair:
    """Throw away everything derived and make it again from the rows. Gives what `Check` finds afterwards."""

    workspace: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A disagreement: in which part, and what it is."""

    part: str
    message: str


Write = Put | Amend | Delete | Relate | PutVectors | PutReceipt | Tell | Untell | PutFile | DropFiles
Read = (
    Get
    | Scan
    | Recent
    | Expand
    | Relations
    | Search
    | Unembedded
    | KnownVectors
    | GetReceipt
    | Told
    | Files
    | Count
)
Operation = Write | Read | Check | Repair


class Store(ABC):
    """Where items live. An engine writes `batch`, `workspaces` and `close`."""

    @abstractmethod
    def batch(self, operations: Sequence[Operation]) -> list[Any]:
        """Do the operations in order, one result each. Those on one workspace succeed or fail together."""

    @abstractmethod
    def workspaces(self) -> list[str]:
        """The workspaces that hold anything."""

    @abstractmethod
    def close(self) -> None:
        """Finish what was posted and let go of files and connections. Closing twice is harmless."""

    def post(self, operation: Write) -> None:
        """Do a write whose result nobody waits for; an engine may do it later, but before `close` returns."""
        self.batch([operation])

    def put(self, workspace: str, items: Sequence[Item]) -> tuple[Stored, ...]:
        """Store items; when this returns, they survive a power cut."""
        return cast(tuple[Stored, ...], self.batch([Put(workspace, tuple(items))])[0])

    def get(self, workspace: str, *ids: str) -> tuple[Item | None, ...]:
        """Fetch items by id."""
        return cast(tuple[Item | None, ...], self.batch([Get(workspace, ids)])[0])

    def scan(self, workspace: str, filters: Filters = Filters(), page: int = 1000) -> Iterator[Item]:  # noqa: B008
        """Every item that passes the filters, oldest stored first, fetched in pages."""
        after: str | None = None
        while True:
            items = cast(tuple[Item, ...], self.batch([Scan(workspace, filters, after, page)])[0])
            yield from items
            if len(items) < page:
                return
            after = items[-1].id

    def tally(self, workspace: str, filters: Filters = Filters()) -> tuple[int, Item | None]:  # noqa: B008
        """How many items pass the filters, and which of them was stored last.

        As long as both stay the same, so do all of them: nobody has added one or taken one away. Whoever
        follows some items asks this often, so an engine that can tell without reading them all should.
        """
        items = list(self.scan(workspace, filters))
        return len(items), items[-1] if items else None

    def recent(
        self,
        workspace: str,
        filters: Filters = Filters(),  # noqa: B008
        limit: int = 50,
    ) -> tuple[Item, ...]:
        """The newest items that pass the filters, newest first."""
        return cast(tuple[Item, ...], self.batch([Recent(workspace, filters, limit)])[0])

    def delete(self, operation: Delete) -> tuple[str, ...]:
        """Remove items; gives the ids that are gone."""
        return cast(tuple[str, ...], self.batch([operation])[0])

    def search(self, operation: Search) -> Found:
        """Answer all probes of one question."""
        return cast(Found, self.batch([operation])[0])

    def expand(self, workspace: str, ids: Sequence[str], depth: int) -> dict[str, tuple[RelatedMemory, ...]]:
        """What each item is related to, up to `depth`."""
        return cast(
            dict[str, tuple[RelatedMemory, ...]], self.batch([Expand(workspace, tuple(ids), depth)])[0]
        )

    def receipt(self, workspace: str, receipt_id: str = "") -> Receipt | None:
        """A receipt by id, or the newest."""
        return cast(Receipt | None, self.batch([GetReceipt(workspace, receipt_id)])[0])

    def told(self, workspace: str, session: str) -> frozenset[str]:
        """The ids of what a session's context holds."""
        return cast(frozenset[str], self.batch([Told(workspace, session)])[0])

    def files(self, workspace: str) -> Mapping[str, FileMark]:
        """The files that a workspace was made from, by path."""
        return cast("Mapping[str, FileMark]", self.batch([Files(workspace)])[0])

    def count(self, workspace: str) -> Counts:
        """How much a workspace holds."""
        return cast(Counts, self.batch([Count(workspace)])[0])

    def check(self, workspace: str) -> tuple[Problem, ...]:
        """Where derived data disagrees with the rows."""
        return cast(tuple[Problem, ...], self.batch([Check(workspace)])[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
