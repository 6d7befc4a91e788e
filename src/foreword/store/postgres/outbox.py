"""The outbox in PostgreSQL: the changed items that have to be sent to a vector server."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from foreword.store.exchange import Outbox, Point
from foreword.store.postgres.arrays import number_array_literal
from foreword.store.postgres.transaction import filters_to_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.store.exchange import ClearOutbox, ReadOutbox
    from foreword.store.postgres.transaction import Transaction
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
    points = tx.execute(
        f"SELECT {_POINT} FROM vectors v JOIN items i USING(ws, no) JOIN generations g USING(generation) "
        "WHERE v.ws = ? AND v.no = ANY(?)",
        *(tx.ws, [number for number, _ in changes]),
    )
    return Outbox(tenant_name(tx), tuple(changes), tuple(Point(*row) for row in points))


def clear_outbox(tx: Transaction, op: ClearOutbox) -> int:
    """Remove changes that were sent. Returns how many were removed."""
    return tx.execute(
        "DELETE FROM outbox o USING unnest(?::integer[], ?::bigint[]) AS sent(no, change) "
        "WHERE o.ws = ? AND o.no = sent.no AND o.change = sent.change",
        *(
            number_array_literal(n for n, _ in op.changes),
            number_array_literal(c for _, c in op.changes),
            tx.ws,
        ),
    ).rowcount


def tenant_name(tx: Transaction) -> str:
    """The name of the workspace on the server, different from those of all other stores."""
    store = tx.select_value("SELECT value FROM facts WHERE key = 'store'")
    return hashlib.blake2b(f"{store}\0{tx.workspace}".encode(), digest_size=16).hexdigest()


def add_to_outbox(tx: Transaction, numbers: Iterable[int]) -> None:
    """Note that these items have changed and have to be sent."""
    tx.execute(
        "INSERT INTO outbox(ws, no) SELECT ?, no FROM unnest(?::integer[]) AS no "
        "ON CONFLICT(ws, no) DO UPDATE SET change = DEFAULT",
        *(tx.ws, number_array_literal(sorted(set(numbers)))),
    )


def unsent_and_passing_numbers(tx: Transaction, filters: Filters, limit: int) -> tuple[set[int], list[int]]:
    """The newest items in the outbox, at most `limit`, and those of them that pass the filters."""
    newest = "SELECT no FROM outbox WHERE ws = ? ORDER BY no DESC LIMIT ?"
    unsent = {number for (number,) in tx.execute(newest, tx.ws, limit)}
    if not unsent:
        return unsent, []
    clause, values = filters_to_sql(filters)
    passing = tx.execute(
        f"SELECT i.no FROM items i WHERE i.ws = ? AND i.no = ANY(?) AND {clause} ORDER BY i.no DESC",
        *(tx.ws, list(unsent), *values),
    )
    return unsent, [number for (number,) in passing]


def unsent_among(tx: Transaction, numbers: Sequence[int]) -> set[int]:
    """Those of these items that are in the outbox."""
    rows = tx.execute("SELECT no FROM outbox WHERE ws = ? AND no = ANY(?)", tx.ws, list(numbers))
    return {number for (number,) in rows}
