"""How PostgreSQL carries out each operation of the contract, inside a transaction that the caller owns.

Searching, deleting, files, vectors and indexes have modules of their own; the rest is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foreword.errors import StorageError, ValidationError
from foreword.store import base, exchange
from foreword.store.batches import amended_columns, remove_long_or_deleted_text
from foreword.store.postgres import attached, browsing, deleting, indexing, outbox, search, vectors
from foreword.store.postgres.transaction import Transaction, filters_to_sql
from foreword.store.rows import (
    DAY_MICROSECONDS,
    receipt_from_json,
    receipt_to_json,
    relation_from_row,
    to_microseconds,
)
from foreword.types import RelatedMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from foreword.types import Filters, Item, Receipt, Relation


def run_operations(tx: Transaction, operations: Iterable[base.Operation[Any]]) -> list[Any]:
    """Carry out operations in order and return the result of each."""
    results: list[Any] = []
    for op in operations:
        if not isinstance(op, base.PutFile):
            tx.unindexed.flush()
        results.append(_HANDLER_BY_OPERATION[type(op)](tx, op))
    tx.unindexed.flush()
    return results


# Items


def _get_items(tx: Transaction, op: base.Get) -> tuple[Item | None, ...]:
    """The item with each id, or None if there is none."""
    items = {item.id: item for item in tx.select_items("i.id = ANY(?)", list(op.ids))}
    return tuple(items.get(wanted) for wanted in op.ids)


def _list_items_page(tx: Transaction, op: base.Scan) -> tuple[Item, ...]:
    """A page of items, in the order they were stored; see `Scan`."""
    clause, values = filters_to_sql(op.filters)
    start = 0
    if op.after is not None:
        start = tx.select_value("SELECT no FROM items WHERE ws = ? AND id = ?", tx.ws, op.after)
        if start is None:
            raise StorageError(
                f"{op.after!r}, where the last page ended, was forgotten meanwhile; list again"
            )
    return tx.select_items(f"i.no > ? AND {clause} ORDER BY i.no LIMIT ?", start, *values, op.limit)


def _list_recent_items(tx: Transaction, op: base.ListRecent) -> tuple[Item, ...]:
    """The newest items that pass the filters, newest first."""
    clause, values = filters_to_sql(op.filters)
    return tx.select_items(f"{clause} ORDER BY i.created_at DESC, i.no DESC LIMIT ?", *values, op.limit)


def _count_and_find_last(tx: Transaction, op: base.GetCountAndLast) -> tuple[int, Item | None]:
    """The number of items that pass the filters, and the last stored of them."""
    clause, values = filters_to_sql(op.filters)
    if op.filters.empty:  # the row of the workspace has the count
        count = tx.select_value("SELECT items FROM workspaces WHERE ws = ?", tx.ws) or 0
    else:
        count = tx.select_value(f"SELECT count(*) FROM items i WHERE i.ws = ? AND {clause}", tx.ws, *values)
    return count, next(iter(tx.select_items(f"{clause} ORDER BY i.no DESC LIMIT 1", *values)), None)


def _amend_item(tx: Transaction, op: base.Amend) -> Item | None:
    """Change fields of an item, never its text. Returns the item, None if the id is unknown."""
    for column, value in amended_columns(op).items():
        stored = _resolve_successor(tx, value) if column == "superseded_by" else value
        tx.execute(f"UPDATE items SET {column} = ? WHERE ws = ? AND id = ?", stored, tx.ws, op.id)
    if op.confidence is not None:
        tx.vectors.note_changed_items(tx, list(tx.item_numbers_by_id([op.id]).values()))
    return _get_items(tx, base.Get(op.workspace, (op.id,)))[0]


def _resolve_successor(tx: Transaction, name: str) -> str | None:
    """The id of a successor, given its id or its content hash; None if no item has that hash."""
    if name and not name.startswith("b2:"):
        return name
    found: str | None = tx.select_value(
        "SELECT id FROM items WHERE ws = ? AND (hash = ? OR id = ?)", tx.ws, name, name
    )
    return found


def _count_contents(tx: Transaction, _: base.Count) -> base.Counts:
    """How much the workspace holds."""
    kinds = dict(
        _select_rows_of_workspace(
            tx, "SELECT kind, count(*) FROM items WHERE ws = ? GROUP BY kind ORDER BY kind"
        )
    )
    vectors_by_space = _select_rows_of_workspace(
        tx,
        "SELECT g.space, count(*) FROM vectors v JOIN generations g USING(generation) "
        "WHERE v.ws = ? GROUP BY g.space",
    )
    count = "SELECT count(*) FROM {} WHERE ws = ?"
    return base.Counts(
        items=sum(kinds.values()),
        kinds=kinds,
        relations=tx.select_value(count.format("relations"), tx.ws),
        vectors=dict(vectors_by_space),
        token_codes=tx.select_value(count.format("token_codes"), tx.ws),
        receipts=tx.select_value(count.format("receipts"), tx.ws),
        bytes=_estimate_workspace_bytes(tx),
    )


def _select_rows_of_workspace(tx: Transaction, sql: str) -> list[Any]:
    """The rows of a statement whose only value is the workspace."""
    return tx.execute(sql, tx.ws).fetchall()


def _estimate_workspace_bytes(tx: Transaction) -> int:
    """The workspace's share of the bytes of all tables, estimated by its share of all items."""
    total = tx.select_value(
        "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n "
        "ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'"
    )
    share = tx.select_value(
        "SELECT max(items) FILTER (WHERE ws = ?)::float8 / greatest(sum(items), 1) FROM workspaces", tx.ws
    )
    return int((total or 0) * (share or 0.0))


# Relations


def _put_relations(tx: Transaction, op: base.PutRelations) -> int:
    """Store relations. Returns how many were new or got another confidence."""
    ids = {end for relation in op.relations for end in (relation.from_id, relation.to_id)}
    numbers = tx.item_numbers_by_id(ids)
    return sum(_put_relation(tx, relation, numbers) for relation in op.relations)


def _put_relation(tx: Transaction, relation: Relation, numbers: dict[str, int]) -> bool:
    """Store a relation. Returns whether it is new or got another confidence."""
    for end in (relation.from_id, relation.to_id):
        if end not in numbers:
            raise ValidationError(f"cannot relate: no item has the id {end!r}")
    ends = (numbers[relation.from_id], numbers[relation.to_id])
    changed = tx.execute(
        "INSERT INTO relations VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT(ws, from_no, to_no, type) "
        "DO UPDATE SET confidence = excluded.confidence WHERE relations.confidence != excluded.confidence",
        *(tx.ws, *ends, relation.type, relation.confidence, to_microseconds(relation.created_at)),
    )
    return changed.rowcount > 0


def _select_relations(tx: Transaction, sql_rest: str, *values: object) -> tuple[Relation, ...]:
    """The relations `r` from items `a` to items `b` that a statement with this ending selects."""
    rows = tx.execute(
        "SELECT a.id, b.id, r.type, r.confidence, r.created_at FROM relations r "
        "JOIN items a ON a.ws = r.ws AND a.no = r.from_no JOIN items b ON b.ws = r.ws AND b.no = r.to_no "
        f"{sql_rest}",
        *values,
    )
    return tuple(relation_from_row(row) for row in rows)


def _find_related(tx: Transaction, op: base.GetRelated) -> dict[str, tuple[RelatedMemory, ...]]:
    """The items that each start reaches by relations, breadth first; one round trip for each level."""
    walks = {start: _WalkAlongRelations(start) for start in op.ids}
    for level in range(1, min(op.depth, base.MAX_DEPTH) + 1):
        frontier = {item_id for walk in walks.values() for item_id in walk.frontier}
        relations = _relations_of_items(tx, frontier, op.filters)
        for walk in walks.values():
            walk.follow(relations, level)
    wanted = {other for walk in walks.values() for other, _, _ in walk.reached}
    items = {item.id: item for item in tx.select_items("i.id = ANY(?)", list(wanted))} if wanted else {}
    return {
        start: tuple(
            RelatedMemory(items[other], relation, level)
            for other, relation, level in walk.reached
            if other in items
        )
        for start, walk in walks.items()
    }


class _WalkAlongRelations:
    """The items reached from one item by relations so far: each once, by its shortest way, even in cycles."""

    def __init__(self, start: str) -> None:
        self._seen_ids = {start}
        self.frontier = [start]
        self.reached: list[tuple[str, Relation, int]] = []

    def follow(self, relations: Mapping[str, Sequence[Relation]], level: int) -> None:
        """Go one relation further from each item of the frontier, given the relations of each item."""
        following: list[str] = []
        for item_id in self.frontier:
            for relation in relations.get(item_id, ()):
                other = relation.to_id if relation.from_id == item_id else relation.from_id
                if other not in self._seen_ids:
                    self._seen_ids.add(other)
                    following.append(other)
                    self.reached.append((other, relation, level))
        self.frontier = following


def _relations_of_items(tx: Transaction, ids: set[str], filters: Filters) -> dict[str, list[Relation]]:
    """The relations of each item whose other end passes the filters, by falling confidence."""
    if not ids:
        return {}
    clause, values = filters_to_sql(filters)
    rows = tx.execute(
        "WITH starts AS MATERIALIZED (SELECT no, id FROM items WHERE ws = ? AND id = ANY(?)), "
        "ends AS MATERIALIZED ("
        "SELECT s.id, r.from_no, r.to_no, r.to_no AS other, r.type, r.confidence, r.created_at "
        "FROM starts s JOIN relations r ON r.ws = ? AND r.from_no = s.no UNION ALL "
        "SELECT s.id, r.from_no, r.to_no, r.from_no, r.type, r.confidence, r.created_at "
        "FROM starts s JOIN relations r ON r.ws = ? AND r.to_no = s.no AND r.from_no != r.to_no) "
        "SELECT e.id, CASE WHEN e.other = e.to_no THEN e.id ELSE i.id END, "
        "CASE WHEN e.other = e.to_no THEN i.id ELSE e.id END, e.type, e.confidence, e.created_at FROM ends e "
        "CROSS JOIN LATERAL "
        f"(SELECT i.id FROM items i WHERE i.ws = ? AND i.no = e.other AND {clause} LIMIT 1) AS i "
        "ORDER BY e.confidence DESC, e.from_no, e.to_no",
        *(tx.ws, list(ids), tx.ws, tx.ws, tx.ws, *values),
    )
    found: dict[str, list[Relation]] = {}
    for item_id, *row in rows:
        found.setdefault(item_id, []).append(relation_from_row(tuple(row)))
    return found


# Receipts, and what sessions were shown


def _put_receipt(tx: Transaction, op: base.PutReceipt) -> None:
    """Store a receipt, then delete receipts that are too old, or the oldest of too many."""
    receipt = remove_long_or_deleted_text(op.receipt, lambda ids: len(tx.item_numbers_by_id(ids)) == len(ids))
    body, now = receipt_to_json(receipt), to_microseconds(receipt.created_at)
    tx.execute(
        "INSERT INTO receipts VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT(ws, id) DO UPDATE SET "
        "created_at = excluded.created_at, session = excluded.session, size = excluded.size, "
        "body = excluded.body",
        *(tx.ws, receipt.id, now, receipt.session, len(body.encode()), body),
    )
    oldest = now - tx.limits.receipt_days * DAY_MICROSECONDS
    tx.execute("DELETE FROM receipts WHERE ws = ? AND created_at < ?", tx.ws, oldest)
    sizes = "SELECT coalesce(sum(size), 0), count(*) FROM receipts WHERE ws = ?"
    while True:
        total, count = tx.execute(sizes, tx.ws).fetchall()[0]
        if total <= tx.limits.receipt_bytes:
            return
        tx.execute(
            "DELETE FROM receipts WHERE ws = ? AND id IN "
            "(SELECT id FROM receipts WHERE ws = ? ORDER BY created_at LIMIT ?)",
            *(tx.ws, tx.ws, max(1, count // 10)),
        )


def _get_receipt(tx: Transaction, op: base.GetReceipt) -> Receipt | None:
    """The receipt with this id, else the newest whose id begins so; see `GetReceipt`."""
    if "\0" in op.id:
        return None
    body = tx.select_value(
        "SELECT body FROM receipts WHERE ws = ? AND starts_with(id, ?) "
        "ORDER BY id = ? DESC, created_at DESC, id DESC LIMIT 1",
        *(tx.ws, op.id, op.id),
    )
    return None if body is None else receipt_from_json(body)


_END_OF_TIME = (1 << 63) - 1


def _mark_items_shown(tx: Transaction, op: base.MarkShown) -> int:
    """Record that a session was shown items. Returns how many of them it was not shown before."""
    at = to_microseconds(op.at)
    marked = tx.execute(
        "INSERT INTO told SELECT ws, md5(?)::uuid, no, ?, ? FROM items WHERE ws = ? AND id = ANY(?) "
        "ON CONFLICT(ws, session_key, no) DO UPDATE SET told_at = excluded.told_at RETURNING xmax = 0",
        *(op.session, op.session, at, tx.ws, list(op.item_ids)),
    ).fetchall()
    tx.execute(  # sessions that were shown nothing for long
        "DELETE FROM told t WHERE t.ws = ? AND t.told_at < ? AND NOT EXISTS(SELECT 1 FROM told newer "
        "WHERE newer.ws = t.ws AND newer.session_key = t.session_key AND newer.told_at >= ?)",
        *(tx.ws, *(at - tx.limits.shown_days * DAY_MICROSECONDS,) * 2),
    )
    return sum(is_new for (is_new,) in marked)


def _get_shown_item_ids(tx: Transaction, op: base.GetShown) -> frozenset[str]:
    """The ids of the items that a session was shown."""
    rows = tx.execute(
        "SELECT i.id FROM told t JOIN items i USING(ws, no) WHERE t.ws = ? AND t.session_key = md5(?)::uuid",
        *(tx.ws, op.session),
    )
    return frozenset(item_id for (item_id,) in rows)


def _clear_shown_items(tx: Transaction, op: base.ClearShown) -> int:
    """Delete the record of what a session was shown. Returns how many items it had."""
    until = to_microseconds(op.until) if op.until else _END_OF_TIME
    return tx.execute(
        "DELETE FROM told WHERE ws = ? AND session_key = md5(?)::uuid AND told_at <= ?",
        *(tx.ws, op.session, until),
    ).rowcount


_HANDLER_BY_OPERATION: dict[type[base.Operation[Any]], Callable[[Transaction, Any], Any]] = {
    base.Put: lambda tx, op: tx.put_items(op.items),
    base.Get: _get_items,
    base.Scan: _list_items_page,
    base.ListRecent: _list_recent_items,
    base.GetCountAndLast: _count_and_find_last,
    base.Amend: _amend_item,
    base.Delete: deleting.delete_items,
    base.PutRelations: _put_relations,
    base.GetRelated: _find_related,
    base.ListRelations: lambda tx, _: _select_relations(
        tx, "WHERE r.ws = ? ORDER BY r.from_no, r.to_no, r.type", tx.ws
    ),
    base.Search: search.run_search,
    base.PutVectors: vectors.put_vectors,
    base.ListUnembedded: vectors.list_unembedded,
    exchange.ClaimUnembedded: vectors.claim_unembedded,
    base.GetVectors: vectors.get_vectors_by_text_hash,
    exchange.ReadOutbox: outbox.read_outbox,
    exchange.ClearOutbox: outbox.clear_outbox,
    exchange.RebuildVectors: lambda tx, _: tx.vectors.rebuild(tx),
    base.PutTokenCodes: vectors.put_token_codes,
    base.GetTokenCodes: vectors.get_token_codes,
    base.ListWithoutTokenCodes: vectors.list_without_token_codes,
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
    base.Check: indexing.find_problems,
    base.Repair: indexing.rebuild_derived_data,
    **browsing.HANDLERS,
}
