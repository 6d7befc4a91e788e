"""Operations for what stands beside a store: other services, a server of vectors, a store to move to.

They are part of the contract in `store.base`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.store.base import Read, Write
from foreword.types import Item, Receipt

if TYPE_CHECKING:
    from foreword.store.base import FileState

# What services share


@dataclass(frozen=True, slots=True)
class ClaimUnembedded(Write[tuple[Item, ...]]):
    """List what `ListUnembedded` lists and nobody else has claimed; it is the caller's for some seconds.

    Many services can so share the work of one encoder, and none does what another is doing. A claim ends
    when the vector is put, or when its time is over, because whoever made it may have died.
    """

    space: str
    digest: str
    limit: int = 256
    kinds: tuple[str, ...] = ()
    seconds: float = 60.0


# What a vector server has yet to learn


@dataclass(frozen=True, slots=True)
class Point:
    """One vector of an item as a vector server keeps it: its code, and what filters ask of the item."""

    number: int
    space: str
    digest: str
    code: bytes
    kind: str
    type: str
    created_at: int
    confidence: float
    session: str | None
    conversation: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Outbox:
    """Items whose vectors changed: each one's number with the mark of its change, and what they are now.

    `tenant` is the name of the workspace among those of all stores. An item without points is gone.
    """

    tenant: str = ""
    changes: tuple[tuple[int, int], ...] = ()
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadOutbox(Read[Outbox]):
    """Fetch at most `limit` changes that the vector server has yet to be sent."""

    limit: int = 256


@dataclass(frozen=True, slots=True)
class ClearOutbox(Write[int]):
    """Take changes out of the outbox that were sent, unless there is a newer one of the same item."""

    changes: tuple[tuple[int, int], ...]


# Moving to another store


@dataclass(frozen=True, slots=True)
class Attached:
    """What is kept with some items, as rows that begin with an item's id, sorted.

    `vectors` are rows of id, space, digest, hash of the text, code; `token_codes` of id, digest, codes;
    `shown` of id, session, microseconds since 1970; `files` of id, path.
    """

    vectors: tuple[tuple[str, str, str, str, bytes], ...] = ()
    token_codes: tuple[tuple[str, str, bytes], ...] = ()
    shown: tuple[tuple[str, str, int], ...] = ()
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class GetAttached(Read[Attached]):
    """Fetch what is kept with these items."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PutAttached(Write[None]):
    """Store what another store kept with items that are here now, and the states of files.

    What is there already is replaced by the like. Rows of unknown items are ignored.
    """

    attached: Attached
    files: tuple[FileState, ...] = ()


@dataclass(frozen=True, slots=True)
class ListReceipts(Read[tuple[Receipt, ...]]):
    """List every receipt, oldest first."""
