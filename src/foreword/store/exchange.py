"""Operations by which a store works with other services, with a vector server, and with a store to move to.

They are part of the contract in `store.base`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.store.base import Read, Write
from foreword.types import Item, Receipt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foreword.store.base import FileState

# What services share


@dataclass(frozen=True, slots=True)
class ClaimUnembedded(Write[tuple[Item, ...]]):
    """List items as `ListUnembedded` does, without those already claimed, and claim them for some seconds.

    So many services can share the work of one encoder, and no two encode the same item. A claim ends when the
    vector is put, or when its time is over, because the service that made it may have died.
    """

    space: str
    digest: str
    limit: int = 256
    kinds: tuple[str, ...] = ()
    seconds: float = 60.0


# Changes to send to a vector server


@dataclass(frozen=True, slots=True)
class Point:
    """One vector of an item as a vector server stores it: its code, and the fields that filters compare."""

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
    """Changes to send: pairs of an item's number and a mark of its change, and its present vectors as points.

    `tenant` is the name of the workspace on the vector server. A changed item without points was deleted.
    """

    tenant: str = ""
    changes: tuple[tuple[int, int], ...] = ()
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadOutbox(Read[Outbox]):
    """Fetch at most `limit` changes that have not been sent to the vector server yet."""

    limit: int = 256


@dataclass(frozen=True, slots=True)
class ClearOutbox(Write[int]):
    """Remove changes from the outbox after they were sent; a newer change of the same item stays.

    Another process may have sent and removed a newer change before these `points` arrived. What they say of
    such an item is outdated, so it is added again.
    """

    changes: tuple[tuple[int, int], ...]
    points: tuple[Point, ...] = ()

    def find_items_with_changed_points(self, removed: set[int], points: Iterable[Point]) -> list[int]:
        """The items that were not among the removed ones, and whose points are others by now."""
        differing = {point.number for point in {*self.points} ^ {*points}}
        return sorted(differing & {number for number, _ in self.changes} - removed)


@dataclass(frozen=True, slots=True)
class RebuildVectors(Write[None]):
    """Discard the copy of the vectors that searches use, and make it again from the rows.

    For a workspace whose vectors were compared by another part until now, or a server that has lost its disk.
    """


# Moving to another store


@dataclass(frozen=True, slots=True)
class Attached:
    """What is stored beside some items, as sorted rows that begin with an item's id.

    `vectors` are rows of id, space, digest, hash of the text, code; `token_codes` of id, digest, codes;
    `shown` of id, session, microseconds since 1970; `files` of id, path.
    """

    vectors: tuple[tuple[str, str, str, str, bytes], ...] = ()
    token_codes: tuple[tuple[str, str, bytes], ...] = ()
    shown: tuple[tuple[str, str, int], ...] = ()
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class GetAttached(Read[Attached]):
    """Fetch what is stored beside these items."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PutAttached(Write[None]):
    """Store what another store had beside items that are stored here now, and the states of files.

    Existing rows of the same keys are replaced. Rows of unknown items are ignored.
    """

    attached: Attached
    files: tuple[FileState, ...] = ()


@dataclass(frozen=True, slots=True)
class ListReceipts(Read[tuple[Receipt, ...]]):
    """List every receipt, oldest first."""
