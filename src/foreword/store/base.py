"""The contract of a store: what every engine must do, and what it guarantees.

An operation is a value that names its workspace. `Store.batch` carries out a list of operations and returns
one result for each; an engine writes `batch`, `workspaces` and `close`, and inherits the rest. The result of
an operation is the type in its base class: `Read[Counts]` returns `Counts`. Of every operation this holds:

- It reads and writes nothing outside its workspace. A name that no workspace can have (empty, blank, over
  1,024 characters, with NUL, not Unicode) raises `ValidationError` before anything of the batch is done.
- The operations of one batch on one workspace are one transaction, in order, each seeing what the earlier
  ones did: if one raises, none has had an effect. A batch that only reads sees one snapshot.
- When `batch` returns, what was written survives a power cut. Readers do not wait for writers.
- In a workspace that holds nothing a read returns something empty and creates nothing.
- Texts, names and filters are data and never become syntax of the engine's query language.
- A mistake of the caller raises `ValidationError`; whatever the engine cannot do raises `StorageError`.

`foreword.store.conformance` tests any engine against this contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from foreword.types import Filters, Findings, Item, Probe, Receipt, RelatedMemory, Relation, Views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

MAX_DEPTH = 10
"""At most this many relations are followed in a row."""

FLUSH_SECONDS = 5.0
"""How many seconds a check waits until a vector server has received all changes."""

EVERYTHING = Filters()
"""The filters that every item passes."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Operation(Generic[Result]):
    """Something to do in one workspace; `Result` is the type of its result from `Store.batch`."""

    workspace: str


@dataclass(frozen=True, slots=True)
class Write(Operation[Result]):
    """An operation that changes a workspace."""


@dataclass(frozen=True, slots=True)
class Read(Operation[Result]):
    """An operation that changes nothing."""


# Results that are not among the types of `foreword.types`


@dataclass(frozen=True, slots=True)
class Stored:
    """An item as it is stored; `new` is False when identical content was there before."""

    item: Item
    new: bool


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The items of a file as they are stored, in the order they were given, and the ids of those removed."""

    stored: tuple[Stored, ...]
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileState:
    """What a file looked like when it was last read, and how many stored items were made from it.

    An equal `size` and `mtime_ns` make it likely, without reading the file, that it has not changed; an equal
    `hash` makes it certain.
    """

    path: str
    size: int
    mtime_ns: int
    hash: str
    items: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """The vector of one item: its values, and the hash of the text that was encoded."""

    item_id: str
    text_hash: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """How much one workspace holds: items by kind, vectors by space, and the bytes it takes on disk.

    `token_codes` is how many items have codes for their tokens.
    """

    items: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    relations: int = 0
    vectors: Mapping[str, int] = field(default_factory=dict)
    receipts: int = 0
    bytes: int = 0
    token_codes: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault in a workspace: the part that has it, and a message that describes it."""

    part: str
    message: str


# Items


@dataclass(frozen=True, slots=True)
class Put(Write[tuple[Stored, ...]]):
    """Store items. Returns a `Stored` for each, in order.

    An item whose content is there already (an equal `content_hash`) is not stored again: the one that is
    there is returned, unchanged. An item without an id gets one. An id that another item has raises
    `ValidationError`. The item belongs to the operation's workspace, whatever its own field says, and times
    are stored as moments, without their time zone. Creates the workspace.
    """

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Get(Read[tuple[Item | None, ...]]):
    """Fetch items by id. Returns an item or None for each id, in order."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scan(Read[tuple[Item, ...]]):
    """List a page of items that pass the filters, in the order they were stored, oldest first.

    The page begins after the item whose id is `after` and has at most `limit` items. If that item has been
    deleted, raises `StorageError`, since it is unknown where the page begins.
    """

    filters: Filters = EVERYTHING
    after: str | None = None
    limit: int = 1000


@dataclass(frozen=True, slots=True)
class ListRecent(Read[tuple[Item, ...]]):
    """List at most `limit` items that pass the filters, by `created_at`, newest first.

    Of two that were created at the same moment, the one that was stored later comes first.
    """

    filters: Filters = EVERYTHING
    limit: int = 50


@dataclass(frozen=True, slots=True)
class GetCountAndLast(Read[tuple[int, Item | None]]):
    """Return how many items pass the filters, and which of them was stored last, or None.

    While both stay the same, no such item was added or deleted. Callers ask this often: answering must not
    mean reading every item.
    """

    filters: Filters = EVERYTHING


@dataclass(frozen=True, slots=True)
class Amend(Write[Item | None]):
    """Change what is known about an item, never its text. Returns the item, or None if the id is unknown.

    A field that is None stays as it is. `superseded_by` is the id of the item that replaces this one, or the
    content hash of an item stored earlier in the same batch, which may have been there before under another
    id. Empty, or a hash that no item has, means that nothing replaces it any more.
    """

    id: str
    confidence: float | None = None
    importance: float | None = None
    superseded_by: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Delete(Write[tuple[str, ...]]):
    """Delete items by id or, if `filters` is given, all that pass them. Returns the ids that are gone.

    With an item go its relations, vectors, token codes and index entries, and the record of which sessions
    were shown it; a `superseded_by` that names it is emptied, and a file of which no item is left is
    forgotten. Nothing of the text can be read from the engine's files after the next `Check` or `close`.

    An item whose metadata has `derived_from` was made from others and goes with them: with a source it lists
    there when `filters.source` names that source and the rest of the filters let it pass; and with any item
    whose id is in its metadata's `turns`, because it repeats that item's words.

    If anything was deleted, receipts lose the views and texts that repeat the words of items. Receipts whose
    question repeats a deleted item or has all of `words` are deleted, too. Deleting by session also deletes
    the session's receipts and the record of what it and its subagents (`session/…`) were shown. Copies that
    the engine has made of its files are deleted. With `keep_copies`, these copies and the receipts with their
    texts stay: for items that are only replaced by newer versions of themselves.
    """

    ids: tuple[str, ...] = ()
    filters: Filters | None = None
    words: tuple[str, ...] = ()
    keep_copies: bool = False


# Relations


@dataclass(frozen=True, slots=True)
class PutRelations(Write[int]):
    """Store relations. Returns how many were new or got another confidence.

    A relation is known by its ends and its type. If an end is not in the workspace, raises `ValidationError`.
    """

    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class GetRelated(Read[dict[str, tuple[RelatedMemory, ...]]]):
    """Follow relations from each id, in both directions, up to `depth` (at most `MAX_DEPTH`).

    Returns the items that each id reaches: every item once, by its shortest way, nearest first, and at equal
    distance by falling confidence of the relation. An item that does not pass the filters is not reached, and
    nothing is reached through it.
    """

    ids: tuple[str, ...]
    depth: int = 1
    filters: Filters = EVERYTHING


@dataclass(frozen=True, slots=True)
class ListRelations(Read[tuple[Relation, ...]]):
    """List every relation of the workspace."""


# Searching


@dataclass(frozen=True, slots=True)
class Search(Read[Findings]):
    """Answer all probes of one question from one snapshot, each with at most `limit` items, best first.

    Filters apply inside the search, so that a probe returns `limit` items if as many pass. A probe that
    fails, that the engine does not support, or that is not answered when `time.monotonic()` reaches
    `expires`, becomes a note in `Found.notes`; the others are answered.
    """

    probes: tuple[Probe, ...]
    filters: Filters = EVERYTHING
    limit: int = 50
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class PutVectors(Write[int]):
    """Store vectors made by the encoder with this digest. Returns how many belong to items that are there.

    An item has one vector in each space and digest: a second replaces the first. Vectors of unknown items are
    ignored. Vectors of one space and digest have one length, else `ValidationError`.
    """

    space: str
    digest: str
    vectors: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class ListUnembedded(Read[tuple[Item, ...]]):
    """List at most `limit` items without a vector of this space and digest, in the order they were stored.

    `kinds` are the kinds of items to list; empty means all.
    """

    space: str
    digest: str
    limit: int = 256
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GetVectors(Read[Mapping[str, tuple[float, ...]]]):
    """Look up vectors by the hash of the text they were made from. Returns the known ones, by hash.

    They are unit vectors, up to rounding.
    """

    digest: str
    hashes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PutTokenCodes(Write[int]):
    """Store the codes of items' tokens, by item id. Returns how many belong to items that are there.

    The engine stores the bytes as they are. An item has the codes of one encoder only: new codes replace the
    old ones, even if their digest is another. Codes of unknown items are ignored.
    """

    digest: str
    codes: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class GetTokenCodes(Read[Mapping[str, bytes]]):
    """Fetch the token codes of these items that the encoder with this digest made, by item id."""

    digest: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListWithoutTokenCodes(Read[tuple[Item, ...]]):
    """List at most `limit` items of these kinds without codes of this digest, in the order they were stored.

    No kinds means all.
    """

    digest: str
    limit: int = 256
    kinds: tuple[str, ...] = ()


# Receipts, and what sessions were shown


@dataclass(frozen=True, slots=True)
class PutReceipt(Write[None]):
    """Store a receipt, and delete the oldest receipts if there are too many or they are too old.

    Its view and its text are left out if an item that the receipt names has been deleted; a text also if it
    is too long. Creates the workspace.
    """

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class GetReceipt(Read[Receipt | None]):
    """Fetch the receipt with this id, else the newest whose id begins so; empty means the newest of all."""

    id: str = ""


@dataclass(frozen=True, slots=True)
class MarkShown(Write[int]):
    """Record that a session's context now contains these items. Returns how many it did not contain before.

    Unknown ids are ignored. An item's text never changes, so its id stands for its words. Sessions that were
    shown nothing for as long as the engine's limit says are forgotten.
    """

    session: str
    item_ids: tuple[str, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class GetShown(Read[frozenset[str]]):
    """Return the ids of the items that a session's context contains, those of posted writes included."""

    session: str


@dataclass(frozen=True, slots=True)
class ClearShown(Write[int]):
    """Delete the record of what a session was shown, because its context was emptied. Returns how many items.

    With `until`, only what it was shown up to that moment: a caller that learns late of the emptying must not
    delete what was shown since.
    """

    session: str
    until: datetime | None = None


# Files


@dataclass(frozen=True, slots=True)
class ListFiles(Read[Mapping[str, FileState]]):
    """Return the state of every file that items were made from, by path."""


@dataclass(frozen=True, slots=True)
class PutFile(Write[StoredFile]):
    """Store these items as the content of a file, in place of the items that it contained before.

    An unchanged item keeps its id, time, relations and vectors, and gets the new metadata. An item that
    was there before now belongs to the file; one that belongs to several files is deleted with the last of
    them. With `keep_earlier`, the file keeps its earlier items but for those with `except_ids`. The count of
    items in `state` is ignored. `views` are those of the items, in order, if the caller has computed them.
    Creates the workspace.
    """

    state: FileState
    items: tuple[Item, ...]
    keep_earlier: bool = False
    except_ids: tuple[str, ...] = ()
    views: tuple[Views, ...] = ()


@dataclass(frozen=True, slots=True)
class DropFiles(Write[tuple[str, ...]]):
    """Forget files and delete the items that were made from no other file. Returns the ids of these items."""

    paths: tuple[str, ...]


# The workspace as a whole


@dataclass(frozen=True, slots=True)
class Count(Read[Counts]):
    """Count what the workspace holds."""


@dataclass(frozen=True, slots=True)
class Check(Read[tuple[Problem, ...]]):
    """Compare all derived data with the rows. Returns the disagreements; empty if there are none."""


@dataclass(frozen=True, slots=True)
class Repair(Write[tuple[Problem, ...]]):
    """Discard all derived data and compute it again from the rows. Returns what `Check` finds afterwards."""


class Store(ABC):
    """The base of every store. An engine writes `batch`, `workspaces`, `close`, and may override the rest."""

    is_shared = False
    """Whether services on several machines use the store at once, and share the work of encoding."""

    @abstractmethod
    def batch(self, operations: Sequence[Operation[Any]]) -> list[Any]:
        """Carry out operations in order and return the result of each; see the module for the guarantees."""

    @abstractmethod
    def workspaces(self) -> list[str]:
        """The names of the workspaces that hold an item or a receipt, sorted."""

    @abstractmethod
    def close(self) -> None:
        """Finish what was posted and release files and connections. Closing twice is harmless."""

    def watch(self, on_new_items: Callable[[str], None]) -> None:  # noqa: B027  (most have nothing to do)
        """Call `on_new_items` with the name of a workspace when another service has stored items in it.

        An engine that only one service uses never calls it.
        """

    def post(self, operation: Write[Any]) -> None:
        """Carry out a write later, but before `close` returns; a failure is logged, not raised."""
        self.batch([operation])

    def run(self, operation: Operation[Result]) -> Result:
        """Carry out one operation and return its result."""
        return cast("Result", self.batch([operation])[0])

    def put(self, workspace: str, items: Sequence[Item]) -> tuple[Stored, ...]:
        """Store items; see `Put`."""
        return self.run(Put(workspace, tuple(items)))

    def get(self, workspace: str, *ids: str) -> tuple[Item | None, ...]:
        """Fetch items by id; see `Get`."""
        return self.run(Get(workspace, ids))

    def scan(self, workspace: str, filters: Filters = EVERYTHING, page: int = 1000) -> Iterator[Item]:
        """Every item that passes the filters, in the order they were stored, fetched in pages."""
        after: str | None = None
        while True:
            items = self.run(Scan(workspace, filters, after, page))
            yield from items
            if len(items) < page:
                return
            after = items[-1].id

    def tally(self, workspace: str, filters: Filters = EVERYTHING) -> tuple[int, Item | None]:
        """How many items pass the filters, and which of them was stored last; see `GetCountAndLast`."""
        return self.run(GetCountAndLast(workspace, filters))

    def recent(self, workspace: str, filters: Filters = EVERYTHING, limit: int = 50) -> tuple[Item, ...]:
        """The newest items that pass the filters, newest first; see `ListRecent`."""
        return self.run(ListRecent(workspace, filters, limit))

    def delete(self, operation: Delete) -> tuple[str, ...]:
        """Delete items and return the ids that are gone; see `Delete`."""
        return self.run(operation)

    def search(self, operation: Search) -> Findings:
        """Answer all probes of one question; see `Search`."""
        return self.run(operation)

    def expand(
        self, workspace: str, ids: Sequence[str], depth: int, filters: Filters = EVERYTHING
    ) -> dict[str, tuple[RelatedMemory, ...]]:
        """The items to which each of these items is related, up to `depth`; see `GetRelated`."""
        return self.run(GetRelated(workspace, tuple(ids), depth, filters))

    def receipt(self, workspace: str, receipt_id: str = "") -> Receipt | None:
        """A receipt by its id, or the newest; see `GetReceipt`."""
        return self.run(GetReceipt(workspace, receipt_id))

    def shown_ids(self, workspace: str, session: str) -> frozenset[str]:
        """The ids of the items that a session's context contains; see `GetShown`."""
        return self.run(GetShown(workspace, session))

    def files(self, workspace: str) -> Mapping[str, FileState]:
        """The files that items were made from, by path; see `ListFiles`."""
        return self.run(ListFiles(workspace))

    def count(self, workspace: str) -> Counts:
        """How much a workspace holds."""
        return self.run(Count(workspace))

    def check(self, workspace: str) -> tuple[Problem, ...]:
        """The disagreements between derived data and the rows; see `Check`."""
        return self.run(Check(workspace))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
