"""The outbox in PostgreSQL: the changed items that have to be sent to a vector server.

`TransactionBesideQdrant` has the methods that the server needs of a transaction; see `qdrant.QdrantRows`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from foreword.store.exchange import Outbox, Point
from foreword.store.postgres import vectors
from foreword.store.postgres.arrays import number_array_literal
from foreword.store.postgres.transaction import Transaction, filters_to_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.store.exchange import ClearOutbox, ReadOutbox
    from foreword.types import Filters

_POINT = (
    "v.no, g.space, g.digest, v.code, i.kind, i.type, i.created_at, i.confidence, i.session, "
    "i.conversation, i.source"
)


def read_outbox(tx: Transaction, op: ReadOutbox) -> Outbox:
    """The first changes in the outbox, and the present vectors of the changed items."""
    changes = tx.execute(
        "SELECT no, change FROM outbox WHERE ws = ? ORDER BY no LIMIT ?", tx.ws, op.limit
    ).fetchall()
    return Outbox(_tenant_name(tx), tuple(changes), _read_points(tx, [number for number, _ in changes]))


def _read_points(tx: Transaction, numbers: list[int]) -> tuple[Point, ...]:
    """The present vectors of these items."""
    rows = tx.execute(
        f"SELECT {_POINT} FROM vectors v JOIN items i USING(ws, no) JOIN generations g USING(generation) "
        "WHERE v.ws = ? AND v.no = ANY(?)",
        *(tx.ws, numbers),
    )
    return tuple(Point(*row) for row in rows)


def clear_outbox(tx: Transaction, op: ClearOutbox) -> int:
    """Remove changes that were sent; outdated ones are added again. Returns how many were removed."""
    numbers = [number for number, _ in op.changes]
    rows = tx.execute(
        "DELETE FROM outbox o USING unnest(?::integer[], ?::bigint[]) AS sent(no, change) "
        "WHERE o.ws = ? AND o.no = sent.no AND o.change = sent.change RETURNING o.no",
        *(number_array_literal(numbers), number_array_literal(c for _, c in op.changes), tx.ws),
    )
    removed = {number for (number,) in rows}
    if len(removed) < len(numbers) and (
        outdated := op.find_items_with_changed_points(removed, _read_points(tx, numbers))
    ):
        _add_to_outbox(tx, outdated)
    return len(removed)


def _add_to_outbox(tx: Transaction, numbers: Iterable[int]) -> None:
    """Note that these items have changed and have to be sent to the vector server."""
    tx.execute(
        "INSERT INTO outbox(ws, no) SELECT ?, no FROM unnest(?::integer[]) AS no "
        "ON CONFLICT(ws, no) DO UPDATE SET change = DEFAULT",
        *(tx.ws, number_array_literal(sorted(set(numbers)))),
    )


def _tenant_name(tx: Transaction) -> str:
    """The name of the workspace on the server, different from those of all other stores."""
    store = tx.select_value("SELECT value FROM facts WHERE key = 'store'")
    return hashlib.blake2b(f"{store}\0{tx.workspace}".encode(), digest_size=16).hexdigest()


class TransactionBesideQdrant(Transaction):
    """A transaction that can add changed items to the outbox of a vector server."""

    def tenant_name(self) -> str:
        """The name of the workspace on the server, different from those of all other stores."""
        return _tenant_name(self)

    def add_to_outbox(self, numbers: Iterable[int]) -> None:
        """Note that these items have changed and have to be sent to the vector server."""
        _add_to_outbox(self, numbers)

    def unsent_and_passing_numbers(self, filters: Filters, limit: int) -> tuple[set[int], list[int]]:
        """The newest items in the outbox, at most `limit`, and those of them that pass the filters."""
        newest = "SELECT no FROM outbox WHERE ws = ? ORDER BY no DESC LIMIT ?"
        unsent = {number for (number,) in self.execute(newest, self.ws, limit)}
        if not unsent:
            return unsent, []
        clause, values = filters_to_sql(filters)
        passing = self.execute(
            f"SELECT i.no FROM items i WHERE i.ws = ? AND i.no = ANY(?) AND {clause} ORDER BY i.no DESC",
            *(self.ws, list(unsent), *values),
        )
        return unsent, [number for (number,) in passing]

    def unsent_among(self, numbers: Sequence[int]) -> set[int]:
        """Those of these items that are in the outbox."""
        rows = self.execute("SELECT no FROM outbox WHERE ws = ? AND no = ANY(?)", self.ws, list(numbers))
        return {number for (number,) in rows}

    def numbers_with_vectors(self) -> list[int]:
        """The numbers of all items that have a vector."""
        rows = self.execute("SELECT DISTINCT no FROM vectors WHERE ws = ? ORDER BY no", self.ws)
        return [number for (number,) in rows]

    def codes_of_items(self, space: str, digest: str, numbers: Iterable[int]) -> dict[int, bytes]:
        """The codes of these items by number, for those that have one."""
        encoder = vectors.find_encoder(self, space, digest)
        return vectors.codes_of_items(self, encoder[0], numbers) if encoder else {}

    def all_codes(self) -> list[tuple[int, str, str, bytes]]:
        """Rows of an item's number, space, digest and code, for every vector."""
        return self.execute(
            "SELECT v.no, g.space, g.digest, v.code FROM vectors v JOIN generations g USING(generation) "
            "WHERE v.ws = ?",
            self.ws,
        ).fetchall()
