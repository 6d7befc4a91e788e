"""Reads and writes what SQLite stores beside items (vectors, codes, files) to move it between stores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from foreword.store.exchange import Attached
from foreword.store.rows import IN_LIST, receipt_from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.store.database import Transaction
    from foreword.store.exchange import GetAttached, ListReceipts, PutAttached
    from foreword.types import Receipt


def get_attached(tx: Transaction, op: GetAttached) -> Attached:
    """The vectors, token codes and files of these items, and the sessions that were shown them."""
    ids = json.dumps(op.ids)

    def select_rows(columns: str, table: str) -> Any:  # noqa: ANN401  (rows of the columns' types)
        found = tx.execute(
            f"SELECT i.id, {columns} FROM {table} t JOIN items i USING(no) WHERE i.id {IN_LIST}", ids
        )
        return tuple(sorted(found))

    return Attached(
        vectors=select_rows("t.space, t.digest, t.text_hash, t.code", "vectors"),
        token_codes=select_rows("t.digest, t.codes", "token_codes"),
        shown=select_rows("t.session, t.told_at", "told"),
        files=select_rows("t.path", "file_items"),
    )


def put_attached(tx: Transaction, op: PutAttached) -> None:
    """Store what another store had beside items that are stored here now; see `PutAttached`."""
    attached = op.attached
    numbers = _find_item_numbers(tx, attached)
    for item_id, space, digest, text_hash, code in attached.vectors:
        if item_id in numbers:
            row = (numbers[item_id], space, digest, text_hash, code)
            tx.execute(
                "INSERT OR REPLACE INTO vectors(no, space, digest, text_hash, code) VALUES(?, ?, ?, ?, ?)",
                *row,
            )
    _put_rows_of_known_items(
        tx, "INSERT OR REPLACE INTO token_codes VALUES(?, ?, ?)", numbers, attached.token_codes
    )
    _put_rows_of_known_items(
        tx, "INSERT OR REPLACE INTO told(no, session, told_at) VALUES(?, ?, ?)", numbers, attached.shown
    )
    _put_rows_of_known_items(
        tx, "INSERT OR IGNORE INTO file_items(no, path) VALUES(?, ?)", numbers, attached.files
    )
    for state in op.files:
        values = (state.path, state.size, state.mtime_ns, state.hash)
        tx.execute("INSERT OR REPLACE INTO files VALUES(?, ?, ?, ?)", *values)
    if tx.vectors is not None:
        tx.vectors.note_changed_items(tx, list(numbers.values()))


def _find_item_numbers(tx: Transaction, attached: Attached) -> dict[str, int]:
    """The numbers of the known items that rows are attached to, by id."""
    rows: Sequence[Sequence[Any]] = (
        *attached.vectors, *attached.token_codes, *attached.shown, *attached.files
    )  # fmt: skip
    ids = json.dumps(sorted({row[0] for row in rows}))
    found: list[Any] = tx.execute(f"SELECT id, no FROM items WHERE id {IN_LIST}", ids).fetchall()
    return dict(found)


def _put_rows_of_known_items(
    tx: Transaction, sql: str, numbers: dict[str, int], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Run a statement for each row whose item is known, with the item's number in place of its id."""
    for item_id, *rest in rows:
        if item_id in numbers:
            tx.execute(sql, numbers[item_id], *rest)


def list_receipts(tx: Transaction, _: ListReceipts) -> tuple[Receipt, ...]:
    """Every receipt, oldest first."""
    rows = tx.execute("SELECT body FROM receipts ORDER BY created_at, id")
    return tuple(receipt_from_json(body) for (body,) in rows)
