"""The codes of items' tokens: one row for each item, fetched for the few candidates of a question.

Only the encoder that made the bytes knows their meaning. They are as expensive to compute as vectors, so they
are not derived data: a repair keeps them. The embedder makes those that are missing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from foreword.store.rows import IN_LIST, filters_to_sql
from foreword.types import Filters

if TYPE_CHECKING:
    from foreword.store.base import GetTokenCodes, ListWithoutTokenCodes, PutTokenCodes
    from foreword.store.database import Transaction
    from foreword.types import Item


def put_token_codes(tx: Transaction, op: PutTokenCodes) -> int:
    """Store codes; those of unknown items are ignored. Returns how many belong to known items."""
    known = 0
    for item_id, codes in op.codes.items():
        tx.execute(
            "INSERT OR REPLACE INTO token_codes SELECT no, ?, ? FROM items WHERE id = ?",
            *(op.digest, codes, item_id),
        )
        known += tx.db.changes()
    return known


def get_token_codes(tx: Transaction, op: GetTokenCodes) -> dict[str, bytes]:
    """The codes of these items that the given encoder made, by item id."""
    rows = tx.execute(
        "SELECT i.id, t.codes FROM items i JOIN token_codes t USING(no) "
        f"WHERE t.digest = ? AND i.id {IN_LIST}",
        *(op.digest, json.dumps(op.ids)),
    )
    return {str(item_id): bytes(codes) for item_id, codes in rows}


def list_without_token_codes(tx: Transaction, op: ListWithoutTokenCodes) -> tuple[Item, ...]:
    """Items of the given kinds that have no codes of the given encoder yet."""
    clause, values = filters_to_sql(Filters(kinds=op.kinds))
    return tx.select_items(
        f"WHERE {clause} AND NOT EXISTS "
        "(SELECT 1 FROM token_codes t WHERE t.no = i.no AND t.digest = ?) ORDER BY i.no LIMIT ?",
        *(*values, op.digest, op.limit),
    )
