"""The outbox in SQLite: the changed items that have to be sent to a vector server."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import TYPE_CHECKING, Any

from foreword.store.exchange import Outbox, Point
from foreword.store.rows import IN_LIST, filters_to_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.store.database import Transaction
    from foreword.store.exchange import ClearOutbox, ReadOutbox
    from foreword.types import Filters

_POINT = (
    "v.no, v.space, v.digest, v.code, i.kind, i.type, i.created_at, i.confidence, i.session, "
    "i.conversation, i.source"
)


def read_outbox(tx: Transaction, op: ReadOutbox) -> Outbox:
    """The first changes in the outbox, and the present vectors of the changed items."""
    changes: list[Any] = tx.execute("SELECT no, change FROM outbox ORDER BY no LIMIT ?", op.limit).fetchall()
    return Outbox(tenant_name(tx), tuple(changes), _read_points(tx, [number for number, _ in changes]))


def _read_points(tx: Transaction, numbers: Iterable[int]) -> tuple[Point, ...]:
    """The present vectors of these items."""
    rows: list[Any] = tx.execute(
        f"SELECT {_POINT} FROM vectors v JOIN items i USING(no) WHERE v.no {IN_LIST}",
        json.dumps(list(numbers)),
    ).fetchall()
    return tuple(Point(*row) for row in rows)


def clear_outbox(tx: Transaction, op: ClearOutbox) -> int:
    """Remove changes that were sent; outdated ones are added again. Returns how many were removed."""
    removed = set()
    for number, change in op.changes:
        tx.execute("DELETE FROM outbox WHERE no = ? AND change = ?", number, change)
        if tx.db.changes():
            removed.add(number)
    numbers = [number for number, _ in op.changes]
    if len(removed) < len(numbers) and (
        outdated := op.find_items_with_changed_points(removed, _read_points(tx, numbers))
    ):
        add_to_outbox(tx, outdated)
    return len(removed)


def tenant_name(tx: Transaction) -> str:
    """The name of this workspace on a vector server that many machines use; empty before the first change."""
    return make_tenant_name(tx.select_value("SELECT value FROM facts WHERE key = 'store'"), tx.workspace)


def make_tenant_name(store: str | None, workspace: str) -> str:
    """The name of a workspace on a vector server, by the random name of its store; empty without one."""
    return hashlib.blake2b(f"{store}\0{workspace}".encode(), digest_size=16).hexdigest() if store else ""


def add_to_outbox(tx: Transaction, numbers: Iterable[int]) -> None:
    """Note that these items have changed and have to be sent."""
    tx.execute("INSERT OR IGNORE INTO facts VALUES('store', ?)", secrets.token_hex(16))
    tx.execute(
        "INSERT OR REPLACE INTO outbox SELECT value, random() FROM json_each(?)", json.dumps(list(numbers))
    )


def unsent_and_passing_numbers(tx: Transaction, filters: Filters, limit: int) -> tuple[set[int], list[int]]:
    """The newest items in the outbox, at most `limit`, and those of them that pass the filters."""
    newest = "SELECT no FROM outbox ORDER BY no DESC LIMIT ?"
    unsent = {int(number) for (number,) in tx.execute(newest, limit)}
    if not unsent:
        return unsent, []
    clause, values = filters_to_sql(filters)
    passing = tx.execute(
        "SELECT i.no FROM json_each(?) s CROSS JOIN items i ON i.no = s.value "
        f"WHERE {clause} ORDER BY i.no DESC",
        *(json.dumps(list(unsent)), *values),
    )
    return unsent, [int(number) for (number,) in passing]


def unsent_among(tx: Transaction, numbers: Sequence[int]) -> set[int]:
    """Those of these items that are in the outbox."""
    rows = tx.execute(f"SELECT no FROM outbox WHERE no {IN_LIST}", json.dumps(list(numbers)))
    return {int(number) for (number,) in rows}


def codes_of_items(tx: Transaction, space: str, digest: str, numbers: Iterable[int]) -> dict[int, bytes]:
    """The codes of these items by number, for those that have one."""
    rows: list[Any] = tx.execute(
        f"SELECT no, code FROM vectors WHERE space = ? AND digest = ? AND no {IN_LIST}",
        *(space, digest, json.dumps(list(numbers))),
    ).fetchall()
    return dict(rows)
