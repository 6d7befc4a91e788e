"""Reads and writes what PostgreSQL stores beside items (vectors, codes, files) to move it between stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foreword.store.exchange import Attached
from foreword.store.postgres.vectors import put_codes_by_number, put_token_codes_by_number
from foreword.store.rows import receipt_from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.store.exchange import GetAttached, ListReceipts, PutAttached
    from foreword.store.postgres.transaction import Transaction
    from foreword.types import Receipt


def get_attached(tx: Transaction, op: GetAttached) -> Attached:
    """The vectors, token codes and files of these items, and the sessions that were shown them."""

    def select_rows(columns: str, table: str) -> Any:  # noqa: ANN401  (rows of the columns' types)
        found = tx.execute(
            f"SELECT i.id, {columns} FROM {table} JOIN items i ON i.ws = t.ws AND i.no = t.no "
            "WHERE i.ws = ? AND i.id = ANY(?)",
            *(tx.ws, list(op.ids)),
        )
        return tuple(sorted(found))

    return Attached(
        vectors=select_rows(
            "g.space, g.digest, t.text_hash, t.code", "vectors t JOIN generations g USING(generation)"
        ),
        token_codes=select_rows("t.digest, t.codes", "token_codes t"),
        shown=select_rows("t.session, t.told_at", "told t"),
        files=select_rows("t.path", "file_items t"),
    )


def put_attached(tx: Transaction, op: PutAttached) -> None:
    """Store what another store had beside items that are stored here now; see `PutAttached`."""
    attached = op.attached
    rows: Sequence[Sequence[Any]] = (
        *attached.vectors, *attached.token_codes, *attached.shown, *attached.files
    )  # fmt: skip
    numbers = tx.item_numbers_by_id({row[0] for row in rows})
    for space, digest in sorted({(row[1], row[2]) for row in attached.vectors}):
        codes = {
            numbers[row[0]]: (row[3], row[4])
            for row in attached.vectors
            if row[0] in numbers and (row[1], row[2]) == (space, digest)
        }
        put_codes_by_number(tx, space, digest, codes)
    known = [row for row in attached.token_codes if row[0] in numbers]
    put_token_codes_by_number(tx, {numbers[item_id]: (digest, codes) for item_id, digest, codes in known})
    _put_rows_of_known_items(
        tx,
        "INSERT INTO told(ws, no, session, told_at, session_key) VALUES(?, ?, ?, ?, md5(?)::uuid) "
        "ON CONFLICT(ws, session_key, no) DO UPDATE SET told_at = excluded.told_at",
        *(numbers, [(*row, row[1]) for row in attached.shown]),
    )
    _put_rows_of_known_items(
        tx,
        "INSERT INTO file_items(ws, no, path) VALUES(?, ?, ?) ON CONFLICT DO NOTHING",
        *(numbers, attached.files),
    )
    for state in op.files:
        tx.execute(
            "INSERT INTO files VALUES(?, ?, ?, ?, ?) ON CONFLICT(ws, path) DO UPDATE SET "
            "size = excluded.size, mtime_ns = excluded.mtime_ns, hash = excluded.hash",
            *(tx.ws, state.path, state.size, state.mtime_ns, state.hash),
        )


def _put_rows_of_known_items(
    tx: Transaction, sql: str, numbers: dict[str, int], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Run a statement for each row whose item is known, with workspace and number in place of its id."""
    for item_id, *rest in rows:
        if item_id in numbers:
            tx.execute(sql, tx.ws, numbers[item_id], *rest)


def list_receipts(tx: Transaction, _: ListReceipts) -> tuple[Receipt, ...]:
    """Every receipt, oldest first."""
    rows = tx.execute("SELECT body FROM receipts WHERE ws = ? ORDER BY created_at, id", tx.ws)
    return tuple(receipt_from_json(body) for (body,) in rows)
