"""How PostgreSQL carries out the operations of `store.browsing`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from foreword.store import browsing
from foreword.store.postgres import deleting
from foreword.store.postgres.transaction import filters_to_sql
from foreword.store.rows import from_microseconds, item_was_replaced_sql, receipt_from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from foreword.store.base import Operation
    from foreword.store.postgres.transaction import Transaction
    from foreword.types import Filters, Item, Receipt

_DAY = "to_char(to_timestamp(i.created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD')"


def _page_condition_sql(filters: Filters, holds: bool | None) -> tuple[str, list[object]]:  # noqa: FBT001
    """The SQL condition on `items AS i` for filters and `holds` (see `ListPage`), and the values to bind."""
    clause, values = filters_to_sql(filters)
    replaced = item_was_replaced_sql("r.ws = i.ws AND n.ws = i.ws")
    state = {None: "", True: f" AND NOT {replaced}", False: f" AND {replaced}"}
    return clause + state[holds], values


def _list_page(tx: Transaction, op: browsing.ListPage) -> tuple[Item, ...]:
    """A page of items, newest first; see `ListPage`."""
    clause, values = _page_condition_sql(op.filters, op.holds)
    if op.prefix:
        clause, values = f"{clause} AND starts_with(i.id, ?)", [*values, op.prefix]
    return tx.select_items(
        f"{clause} ORDER BY i.created_at DESC, i.no DESC LIMIT ? OFFSET ?", *values, op.limit, op.skip
    )


def _count_items_on_all_pages(tx: Transaction, op: browsing.CountPage) -> int:
    """The number of items on all pages; see `CountPage`."""
    clause, values = _page_condition_sql(op.filters, op.holds)
    count: int = tx.select_value(f"SELECT count(*) FROM items i WHERE i.ws = ? AND {clause}", tx.ws, *values)
    return count


def _count_items_by_group(tx: Transaction, op: browsing.CountBy) -> dict[str, Any]:
    """The number of items in each group; see `CountBy`."""
    clause, values = filters_to_sql(op.filters)
    column, order = (_DAY, "1 DESC") if op.by == "day" else (f"i.{op.by}", "2 DESC, 1")
    rows = tx.execute(
        f"SELECT {column}, count(*) FROM items i WHERE i.ws = ? AND {clause} AND {column} IS NOT NULL "
        f"AND {column} != '' GROUP BY 1 ORDER BY {order} LIMIT ?",
        *(tx.ws, *values, op.limit),
    ).fetchall()
    return {str(name): count for name, count in (reversed(rows) if op.by == "day" else rows)}


def _list_conversations(tx: Transaction, op: browsing.ListConversations) -> tuple[str, ...]:
    """The names of conversations, each looked up after the last one, so that their sizes do not matter."""
    clause, values = filters_to_sql(op.filters)
    names: list[str] = []
    while len(names) < op.limit:
        found = tx.select_value(
            f"SELECT i.conversation FROM items i WHERE i.ws = ? AND i.conversation > ? AND {clause} "
            "ORDER BY i.conversation LIMIT 1",
            *(tx.ws, names[-1] if names else op.after, *values),
        )
        if found is None:
            break
        names.append(found)
    return tuple(names)


def _list_replaced(tx: Transaction, op: browsing.ListReplaced) -> tuple[Item, ...]:
    """The items that these items replaced, newest first."""
    return tx.select_items("i.superseded_by = ANY(?) ORDER BY i.created_at DESC, i.no DESC", list(op.ids))


def _get_last_shown(tx: Transaction, op: browsing.GetLastShown) -> Mapping[str, datetime]:
    """The time when each of these items was last shown to a session."""
    rows = tx.execute(
        "SELECT i.id, max(t.told_at) FROM told t JOIN items i USING(ws, no) "
        "WHERE t.ws = ? AND i.id = ANY(?) GROUP BY i.id",
        *(tx.ws, list(op.ids)),
    )
    return {str(name): from_microseconds(at) for name, at in rows}


def _list_receipts(tx: Transaction, op: browsing.ListReceipts) -> tuple[Receipt, ...]:
    """A page of receipts, newest first; see `ListReceipts`."""
    clause, values = ("AND strpos(body, ?) > 0", [json.dumps(op.item_id)]) if op.item_id else ("", [])
    rows = tx.execute(
        f"SELECT body FROM receipts WHERE ws = ? {clause} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?",
        *(tx.ws, *values, op.limit, op.skip),
    )
    return tuple(receipt_from_json(str(body)) for (body,) in rows)


def _list_receipt_facts(tx: Transaction, op: browsing.ListReceiptFacts) -> tuple[browsing.ReceiptFacts, ...]:
    """The figures of the newest receipts, newest first."""
    receipts = _list_receipts(tx, browsing.ListReceipts(op.workspace, 0, op.limit))
    return tuple(
        browsing.ReceiptFacts(
            receipt.id,
            receipt.created_at,
            receipt.recipe,
            receipt.tokens,
            len(receipt.injected_entries),
            sum(stage.milliseconds for stage in receipt.stages),
        )
        for receipt in receipts
    )


def _preview_delete(tx: Transaction, op: browsing.PreviewDelete) -> browsing.DeletePreview:
    """What deleting these ids would remove; see `PreviewDelete`."""
    items = deleting.find_items_to_delete(tx, op.ids)
    numbers = list(tx.item_numbers_by_id([item.id for item in items]).values())
    relations = tx.select_value(
        "SELECT count(*) FROM relations WHERE ws = ? AND (from_no = ANY(?) OR to_no = ANY(?))",
        *(tx.ws, numbers, numbers),
    )
    receipts = deleting.find_receipts_that_quote(tx, [item.text for item in items], ())
    return browsing.DeletePreview(tuple(items), len(receipts), int(relations))


HANDLERS: dict[type[Operation[Any]], Callable[[Transaction, Any], Any]] = {
    browsing.ListPage: _list_page,
    browsing.CountPage: _count_items_on_all_pages,
    browsing.CountBy: _count_items_by_group,
    browsing.ListConversations: _list_conversations,
    browsing.ListReplaced: _list_replaced,
    browsing.GetLastShown: _get_last_shown,
    browsing.ListReceipts: _list_receipts,
    browsing.ListReceiptFacts: _list_receipt_facts,
    browsing.PreviewDelete: _preview_delete,
}
"""The function that carries out each operation."""
