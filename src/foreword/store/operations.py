"""How SQLite carries out each operation of the contract, inside a transaction that the caller owns.

Searching, deleting, files, vectors and indexes have modules of their own; the rest is here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from foreword.errors import StorageError, ValidationError
from foreword.store import (
    attached,
    base,
    browsing_queries,
    deleting,
    exchange,
    indexes,
    outbox,
    sqlite_search,
    vectors,
)
from foreword.store.batches import amended_columns, remove_long_or_deleted_text
from foreword.store.rows import (
    DAY_MICROSECONDS,
    IN_LIST,
    filters_to_sql,
    receipt_from_json,
    receipt_to_json,
    relation_from_row,
    to_microseconds,
)
from foreword.types import Filters, RelatedMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from foreword.store.database import Transaction
    from foreword.types import Item, Receipt, Relation


def run_operations(tx: Transaction, operations: Iterable[base.Operation[Any]]) -> list[Any]:
    """Carry out operations in order and return the result of each."""
    results: list[Any] = []
    for op in operations:
        # `PutFile` needs no index; when thousands of files are put, their items are indexed together.
        if not isinstance(op, base.PutFile):
            tx.unindexed.flush()
        results.append(_HANDLER_BY_OPERATION[type(op)](tx, op))
    tx.unindexed.flush()
    return results


# Items


def _get_items(tx: Transaction, op: base.Get) -> tuple[Item | None, ...]:
    """The item with each id, or None if there is none."""
    items = {item.id: item for item in tx.select_items(f"WHERE id {IN_LIST}", json.dumps(op.ids))}
    return tuple(items.get(wanted) for wanted in op.ids)


def _list_items_page(tx: Transaction, op: base.Scan) -> tuple[Item, ...]:
    """A page of items, in the order they were stored; see `Scan`."""
    clause, values = filters_to_sql(op.filters)
    start = 0
    if op.after is not None:
        start = tx.select_value("SELECT no FROM items WHERE id = ?", op.after)
        if start is None:
            raise StorageError(
                f"{op.after!r}, where the last page ended, was forgotten meanwhile; list again"
            )
    return tx.select_items(f"WHERE i.no > ? AND {clause} ORDER BY i.no LIMIT ?", start, *values, op.limit)


def _list_recent_items(tx: Transaction, op: base.ListRecent) -> tuple[Item, ...]:
    """The newest items that pass the filters, newest first."""
    clause, values = filters_to_sql(op.filters)
    return tx.select_items(f"WHERE {clause} ORDER BY i.created_at DESC, i.no DESC LIMIT ?", *values, op.limit)


def _count_and_find_last(tx: Transaction, op: base.GetCountAndLast) -> tuple[int, Item | None]:
    """The number of items that pass the filters, and the last stored of them."""
    clause, values = filters_to_sql(op.filters)
    count, last = tx.select_value(f"SELECT count(*), max(i.no) FROM items i WHERE {clause}", *values)
    return count, next(iter(tx.select_items("WHERE no = ?", last)), None)


def _amend_item(tx: Transaction, op: base.Amend) -> Item | None:
    """Change fields of an item, never its text. Returns the item, None if the id is unknown."""
    for column, value in amended_columns(op).items():
        tx.execute(f"UPDATE items SET {column} = ? WHERE id = ?", value, op.id)
    if tx.vectors is not None and op.confidence is not None:
        rows = tx.execute("SELECT no FROM items WHERE id = ?", op.id)
        tx.vectors.note_changed_items(tx, [int(number) for (number,) in rows])
    return _get_items(tx, base.Get(op.workspace, (op.id,)))[0]


def _count_contents(tx: Transaction, _: base.Count) -> base.Counts:
    """How much the workspace holds."""
    kinds = dict(tx.execute("SELECT kind, count(*) FROM items GROUP BY kind ORDER BY kind"))
    return base.Counts(
        items=sum(kinds.values()),
        kinds=kinds,
        relations=tx.select_value("SELECT count(*) FROM relations"),
        vectors=dict(tx.execute("SELECT space, count(*) FROM vectors GROUP BY space")),
        token_codes=tx.select_value("SELECT count(*) FROM token_codes"),
        receipts=tx.select_value("SELECT count(*) FROM receipts"),
        bytes=sum(map(_file_size_or_zero, tx.database.path.parent.iterdir())),
    )


def _file_size_or_zero(path: Path) -> int:
    """The size of a file, or 0 if another process has just removed it."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


# Relations


def _put_relation(tx: Transaction, relation: Relation) -> bool:
    """Store a relation. Returns whether it is new or got another confidence."""
    numbers = []
    for end in (relation.from_id, relation.to_id):
        numbers.append(tx.select_value("SELECT no FROM items WHERE id = ?", end))
        if numbers[-1] is None:
            raise ValidationError(f"cannot relate: no item has the id {end!r}")
    tx.execute(
        "INSERT INTO relations VALUES(?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET confidence = excluded.confidence WHERE confidence != excluded.confidence",
        *(*numbers, relation.type, relation.confidence, to_microseconds(relation.created_at)),
    )
    return tx.db.changes() > 0


def _select_relations(tx: Transaction, sql_rest: str, *values: object) -> tuple[Relation, ...]:
    """The relations `r` from items `a` to items `b` that a statement with this ending selects."""
    rows = tx.execute(
        "SELECT a.id, b.id, r.type, r.confidence, r.created_at FROM relations r "
        f"JOIN items a ON a.no = r.from_no JOIN items b ON b.no = r.to_no {sql_rest}",
        *values,
    )
    return tuple(relation_from_row(row) for row in rows)


def _find_related_by_id(tx: Transaction, op: base.GetRelated) -> dict[str, tuple[RelatedMemory, ...]]:
    """What is related to each of some items. Most have no relation, which one statement tells for all."""
    rows = tx.execute(
        "SELECT id FROM items i WHERE id IN (SELECT value FROM json_each(?)) AND ("
        "EXISTS(SELECT 1 FROM relations WHERE from_no = i.no) OR "
        "EXISTS(SELECT 1 FROM relations WHERE to_no = i.no))",
        json.dumps(op.ids),
    )
    linked = {name for (name,) in rows}
    return {
        start: _find_related_items(tx, start, op.depth, op.filters) if start in linked else ()
        for start in op.ids
    }


def _find_related_items(
    tx: Transaction, start_id: str, max_depth: int, filters: Filters
) -> tuple[RelatedMemory, ...]:
    """The items reached from one item by relations, breadth first: each once, by its shortest way."""
    seen, frontier, reached = {start_id}, [start_id], []
    for level in range(1, min(max_depth, base.MAX_DEPTH) + 1):
        following: list[str] = []
        for item_id in frontier:
            for relation in _relations_of_item(tx, item_id, filters):
                other = relation.to_id if relation.from_id == item_id else relation.from_id
                if other not in seen:
                    seen.add(other)
                    following.append(other)
                    reached.append((other, relation, level))
        frontier = following
    items = _get_items(tx, base.Get(tx.workspace, tuple(other for other, _, _ in reached)))
    return tuple(
        RelatedMemory(item, relation, level)
        for item, (_, relation, level) in zip(items, reached, strict=True)
        if item is not None
    )


def _relations_of_item(tx: Transaction, item_id: str, filters: Filters) -> tuple[Relation, ...]:
    """The relations of an item whose other end passes the filters, by falling confidence."""
    number = tx.select_value("SELECT no FROM items WHERE id = ?", item_id)
    clause, values = filters_to_sql(filters)
    return _select_relations(
        tx,
        "JOIN items i ON i.no = iif(r.from_no = ?1, r.to_no, r.from_no) "
        f"WHERE (r.from_no = ?1 OR r.to_no = ?1) AND {clause} ORDER BY r.confidence DESC, a.no, b.no",
        *(number, *values),
    )


# Receipts, and what sessions were shown


def _put_receipt(tx: Transaction, op: base.PutReceipt) -> None:
    """Store a receipt, then delete receipts that are too old, or the oldest of too many."""
    receipt = remove_long_or_deleted_text(op.receipt, lambda ids: _has_all_items(tx, ids))
    body, now = receipt_to_json(receipt), to_microseconds(receipt.created_at)
    size = len(body.encode())
    tx.execute(
        "INSERT OR REPLACE INTO receipts VALUES(?, ?, ?, ?, ?)", receipt.id, now, receipt.session, size, body
    )
    oldest = now - tx.limits.receipt_days * DAY_MICROSECONDS
    tx.execute("DELETE FROM receipts WHERE created_at < ?", oldest)
    while (tx.select_value("SELECT sum(size) FROM receipts") or 0) > tx.limits.receipt_bytes:
        tx.execute(
            "DELETE FROM receipts WHERE id IN "
            "(SELECT id FROM receipts ORDER BY created_at LIMIT max(1, (SELECT count(*) FROM receipts) / 10))"
        )


def _has_all_items(tx: Transaction, item_ids: set[str]) -> bool:
    """Whether the workspace has an item for each of these ids."""
    known = tx.select_value(f"SELECT count(*) FROM items WHERE id {IN_LIST}", json.dumps(sorted(item_ids)))
    return bool(known == len(item_ids))


def _get_receipt(tx: Transaction, op: base.GetReceipt) -> Receipt | None:
    """The receipt with this id, else the newest whose id begins so; see `GetReceipt`."""
    body = tx.select_value(
        "SELECT body FROM receipts WHERE id >= ?1 AND id < ?1 || char(1114111) "
        "ORDER BY id = ?1 DESC, created_at DESC, id DESC LIMIT 1",
        op.id,
    )
    return None if body is None else receipt_from_json(body)


_END_OF_TIME = (1 << 63) - 1


def _mark_items_shown(tx: Transaction, op: base.MarkShown) -> int:
    """Record that a session was shown items. Returns how many of them it was not shown before."""
    at = to_microseconds(op.at)
    before = len(_get_shown_item_ids(tx, base.GetShown(op.workspace, op.session)))
    tx.execute(
        "INSERT INTO told SELECT ?2, no, ?3 FROM items WHERE id IN (SELECT value FROM json_each(?1)) "
        "ON CONFLICT DO UPDATE SET told_at = excluded.told_at",
        *(json.dumps(op.item_ids), op.session, at),
    )
    added = len(_get_shown_item_ids(tx, base.GetShown(op.workspace, op.session))) - before
    tx.execute(  # sessions that were shown nothing for long
        "DELETE FROM told WHERE told_at < ?1 AND NOT EXISTS"
        "(SELECT 1 FROM told AS newer WHERE newer.session = told.session AND newer.told_at >= ?1)",
        at - tx.limits.shown_days * DAY_MICROSECONDS,
    )
    return added


def _get_shown_item_ids(tx: Transaction, op: base.GetShown) -> frozenset[str]:
    """The ids of the items that a session was shown."""
    rows = tx.execute("SELECT i.id FROM told t JOIN items i USING(no) WHERE t.session = ?", op.session)
    return frozenset(str(item_id) for (item_id,) in rows)


def _clear_shown_items(tx: Transaction, op: base.ClearShown) -> int:
    """Delete the record of what a session was shown. Returns how many items it had."""
    until = to_microseconds(op.until) if op.until else _END_OF_TIME
    tx.execute("DELETE FROM told WHERE session = ? AND told_at <= ?", op.session, until)
    return tx.db.changes()


# Token codes
#
# Only the encoder that made the bytes knows their meaning. They are as expensive to compute as vectors, so
# they are not derived data: a repair keeps them.


def _put_token_codes(tx: Transaction, op: base.PutTokenCodes) -> int:
    """Store codes; those of unknown items are ignored. Returns how many belong to known items."""
    known = 0
    for item_id, codes in op.codes.items():
        tx.execute(
            "INSERT OR REPLACE INTO token_codes SELECT no, ?, ? FROM items WHERE id = ?",
            *(op.digest, codes, item_id),
        )
        known += tx.db.changes()
    return known


def _get_token_codes(tx: Transaction, op: base.GetTokenCodes) -> dict[str, bytes]:
    """The codes of these items that the given encoder made, by item id."""
    rows = tx.execute(
        "SELECT i.id, t.codes FROM items i JOIN token_codes t USING(no) "
        f"WHERE t.digest = ? AND i.id {IN_LIST}",
        *(op.digest, json.dumps(op.ids)),
    )
    return {str(item_id): bytes(codes) for item_id, codes in rows}


def _list_without_token_codes(tx: Transaction, op: base.ListWithoutTokenCodes) -> tuple[Item, ...]:
    """Items of the given kinds that have no codes of the given encoder yet."""
    clause, values = filters_to_sql(Filters(kinds=op.kinds))
    return tx.select_items(
        f"WHERE {clause} AND NOT EXISTS "
        "(SELECT 1 FROM token_codes t WHERE t.no = i.no AND t.digest = ?) ORDER BY i.no LIMIT ?",
        *(*values, op.digest, op.limit),
    )


_HANDLER_BY_OPERATION: dict[type[base.Operation[Any]], Callable[[Transaction, Any], Any]] = {
    base.Put: lambda tx, op: tx.put_items(op.items),
    base.Get: _get_items,
    base.Scan: _list_items_page,
    base.ListRecent: _list_recent_items,
    base.GetCountAndLast: _count_and_find_last,
    base.Amend: lambda tx, op: _amend_item(tx, op),  # noqa: PLW0108  (looked up at each call: tests replace it)
    base.Delete: deleting.delete_items,
    base.PutRelations: lambda tx, op: sum(_put_relation(tx, relation) for relation in op.relations),
    base.GetRelated: _find_related_by_id,
    base.ListRelations: lambda tx, _: _select_relations(tx, "ORDER BY r.from_no, r.to_no, r.type"),
    base.Search: sqlite_search.run_search,
    base.PutVectors: vectors.put_vectors,
    base.ListUnembedded: vectors.list_unembedded,
    exchange.ClaimUnembedded: vectors.claim_unembedded,
    base.GetVectors: vectors.get_vectors_by_text_hash,
    exchange.ReadOutbox: outbox.read_outbox,
    exchange.ClearOutbox: outbox.clear_outbox,
    exchange.RebuildVectors: lambda tx, _: indexes.rebuild_search_copy_of_vectors(tx),
    base.PutTokenCodes: _put_token_codes,
    base.GetTokenCodes: _get_token_codes,
    base.ListWithoutTokenCodes: _list_without_token_codes,
    base.PutReceipt: _put_receipt,
    base.GetReceipt: _get_receipt,
    base.MarkShown: _mark_items_shown,
    base.GetShown: _get_shown_item_ids,
    base.ClearShown: _clear_shown_items,
    base.ListFiles: deleting.list_files,
    base.PutFile: deleting.put_file,
    base.DropFiles: deleting.drop_files,
    exchange.GetAttached: attached.get_attached,
    exchange.PutAttached: attached.put_attached,
    exchange.ListReceipts: attached.list_receipts,
    base.Count: _count_contents,
    base.Check: indexes.find_problems,
    base.Repair: indexes.rebuild_derived_data,
    **browsing_queries.HANDLERS,
}
