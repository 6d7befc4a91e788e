"""How each operation of the contract is done in SQL, on a connection whose transaction the caller owns."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import apsw

from foreword.errors import StorageError, ValidationError
from foreword.store import embedded, filing, forgetting, probing, quest, telling, upkeep
from foreword.store.base import (
    MAX_DEPTH,
    Amend,
    Check,
    Count,
    Counts,
    Delete,
    DropFiles,
    Expand,
    Files,
    Get,
    GetReceipt,
    KnownVectors,
    Operation,
    Put,
    PutFile,
    PutReceipt,
    PutVectors,
    Recent,
    Relate,
    Relations,
    Repair,
    Scan,
    Search,
    Stored,
    Tell,
    Told,
    Unembedded,
    Untell,
)
from foreword.store.indexes import Newcomers
from foreword.store.rows import (
    COLUMNS,
    INSERT,
    hashed,
    item_of,
    micros,
    receipt_of,
    receipt_text,
    relation_of,
    row_of,
    sound,
)
from foreword.types import RelatedMemory

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from foreword.store.shard import Shard
    from foreword.types import Item, Receipt, Relation, Views

_DAY = 86_400_000_000


def do(shard: Shard, db: apsw.Connection, ops: Iterable[Operation]) -> list[Any]:
    """Do operations in turn; what each gives is said at its class."""
    newcomers = Newcomers(db, shard.views)
    results: list[Any] = []
    for op in ops:
        if not isinstance(op, PutFile):  # files, of which there are many, do not look for what others hold
            newcomers.settle()
        results.append(_do(shard, db, op, newcomers))
    newcomers.settle()
    return results


def _do(shard: Shard, db: apsw.Connection, op: Operation, newcomers: Newcomers) -> Any:  # noqa: ANN401, C901
    match op:
        case Put():
            return _put(shard, db, newcomers, op.items)
        case Get():
            return _get(shard, db, op)
        case Scan():
            return _scan(shard, db, op)
        case Recent():
            return _recent(shard, db, op)
        case Amend():
            return _amend(shard, db, op)
        case Delete():
            return forgetting.delete(shard, db, op)
        case Relate():
            return sum(_relate(db, relation) for relation in op.relations)
        case Relations():
            return _relations(db)
        case Expand():
            return {start: _expand(shard, db, start, op.depth) for start in op.ids}
        case Search():
            return quest.search(shard, db, op)
        case PutVectors():
            return embedded.put_vectors(db, op)
        case Unembedded():
            return embedded.unembedded(shard, db, op)
        case KnownVectors():
            return embedded.known_vectors(db, op)
        case PutReceipt():
            return _put_receipt(shard, db, op.receipt)
        case GetReceipt():
            return _get_receipt(db, op)
        case Tell():
            return telling.tell(db, op, shard.limits.told_days)
        case Told():
            return telling.told(db, op)
        case Untell():
            return telling.untell(db, op)
        case Files():
            return filing.files(db)
        case PutFile():
            return filing.put_file(shard, db, op, newcomers, partial(_put, shard, db, newcomers))
        case DropFiles():
            return filing.drop_files(shard, db, op)
        case Count():
            return _count(shard, db)
        case Check():
            with sound():
                return tuple(upkeep.check(shard, db))
        case Repair():
            with sound():
                return upkeep.repair(shard, db)


def _put(
    shard: Shard,
    db: apsw.Connection,
    newcomers: Newcomers,
    items: tuple[Item, ...],
    views: tuple[Views, ...] = (),
) -> tuple[Stored, ...]:
    seen = zip(items, views or (None,) * len(items), strict=True)
    return tuple(_put_row(shard, db, newcomers, item, its_views) for item, its_views in seen)


def _put_row(
    shard: Shard, db: apsw.Connection, newcomers: Newcomers, item: Item, views: Views | None
) -> Stored:
    """Keep one item, unless it is there."""
    item = hashed(shard.workspace, item)
    row = db.execute(f"SELECT {COLUMNS} FROM items WHERE hash = ?", (item.hash,)).fetchone()
    if row is not None:
        return Stored(item_of(shard.workspace, row), new=False)
    item = replace(item, id=item.id or secrets.token_hex(8))
    try:
        db.execute(INSERT, row_of(item))
    except apsw.ConstraintError as error:
        raise ValidationError(
            f"another item has the id {item.id!r}; forget it first, or leave the id out"
        ) from error
    newcomers.add(db.last_insert_rowid(), item, views)
    return Stored(item, new=True)


def _get(shard: Shard, db: apsw.Connection, op: Get) -> tuple[Item | None, ...]:
    rows = db.execute(
        f"SELECT {COLUMNS} FROM items WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(op.ids),)
    )
    items = {row[0]: item_of(shard.workspace, row) for row in rows}
    return tuple(items.get(wanted) for wanted in op.ids)


def _scan(shard: Shard, db: apsw.Connection, op: Scan) -> tuple[Item, ...]:
    clause, values = probing.where(op.filters)
    start = 0
    if op.after is not None:
        start = db.execute("SELECT no FROM items WHERE id = ?", (op.after,)).get
        if start is None:
            raise StorageError(
                f"{op.after!r}, where the last page ended, was forgotten meanwhile; list again"
            )
    rows = db.execute(
        f"SELECT {COLUMNS} FROM items i WHERE i.no > ? AND {clause} ORDER BY i.no LIMIT ?",
        (start, *values, op.limit),
    )
    return tuple(item_of(shard.workspace, row) for row in rows)


def _recent(shard: Shard, db: apsw.Connection, op: Recent) -> tuple[Item, ...]:
    clause, values = probing.where(op.filters)
    rows = db.execute(
        f"SELECT {COLUMNS} FROM items i WHERE {clause} ORDER BY i.created_at DESC, i.no DESC LIMIT ?",
        (*values, op.limit),
    )
    return tuple(item_of(shard.workspace, row) for row in rows)


def _amend(shard: Shard, db: apsw.Connection, op: Amend) -> Item | None:
    changes: dict[str, Any] = {
        "confidence": op.confidence,
        "importance": op.importance,
        "superseded_by": op.superseded_by,
        "metadata": None if op.metadata is None else json.dumps(dict(op.metadata), sort_keys=True),
    }
    for column, value in changes.items():
        if value is not None:
            db.execute(f"UPDATE items SET {column} = ? WHERE id = ?", (value, op.id))
    return _get(shard, db, Get(op.workspace, (op.id,)))[0]


def _relate(db: apsw.Connection, relation: Relation) -> int:
    ends = [
        db.execute("SELECT no FROM items WHERE id = ?", (end,)).get
        for end in (relation.from_id, relation.to_id)
    ]
    for end, no in zip((relation.from_id, relation.to_id), ends, strict=True):
        if no is None:
            raise ValidationError(f"cannot relate: no item has the id {end!r}")
    db.execute(
        "INSERT INTO relations VALUES(?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET confidence = excluded.confidence WHERE confidence != excluded.confidence",
        (*ends, relation.type, relation.confidence, micros(relation.created_at)),
    )
    return int(db.changes() > 0)


_EDGES = (
    "SELECT a.id, b.id, r.type, r.confidence, r.created_at FROM relations r "
    "JOIN items a ON a.no = r.from_no JOIN items b ON b.no = r.to_no"
)


def _relations(db: apsw.Connection) -> tuple[Relation, ...]:
    return tuple(relation_of(row) for row in db.execute(f"{_EDGES} ORDER BY r.from_no, r.to_no, r.type"))


def _expand(shard: Shard, db: apsw.Connection, start: str, depth: int) -> tuple[RelatedMemory, ...]:
    """Breadth first, each item once, so that a cycle ends and the nearest way is the one reported."""
    seen, frontier, reached = {start}, [start], []
    for level in range(1, min(depth, MAX_DEPTH) + 1):
        following: list[str] = []
        for at in frontier:
            for edge in _edges_at(db, at):
                other = edge.to_id if edge.from_id == at else edge.from_id
                if other not in seen:
                    seen.add(other)
                    following.append(other)
                    reached.append((other, edge, level))
        frontier = following
    items = _get(shard, db, Get(shard.workspace, tuple(other for other, _, _ in reached)))
    return tuple(
        RelatedMemory(item, edge, level)
        for item, (_, edge, level) in zip(items, reached, strict=True)
        if item is not None
    )


def _edges_at(db: apsw.Connection, item_id: str) -> list[Relation]:
    rows = db.execute(
        f"{_EDGES} WHERE r.from_no = (SELECT no FROM items WHERE id = ?1) "
        "OR r.to_no = (SELECT no FROM items WHERE id = ?1) ORDER BY r.confidence DESC, a.no, b.no",
        (item_id,),
    )
    return [relation_of(row) for row in rows]


def _put_receipt(shard: Shard, db: apsw.Connection, receipt: Receipt) -> None:
    if receipt.view and not _are_kept(db, {entry.item_id for entry in receipt.entries}):
        receipt = replace(receipt, view=None)  # its words were forgotten while it was on its way
    body = receipt_text(receipt)
    now = micros(receipt.created_at)
    db.execute(
        "INSERT OR REPLACE INTO receipts VALUES(?, ?, ?, ?, ?)",
        (receipt.id, now, receipt.session, len(body.encode()), body),
    )
    db.execute("DELETE FROM receipts WHERE created_at < ?", (now - shard.limits.receipt_days * _DAY,))
    while (db.execute("SELECT sum(size) FROM receipts").get or 0) > shard.limits.receipt_bytes:
        db.execute(
            "DELETE FROM receipts WHERE id IN "
            "(SELECT id FROM receipts ORDER BY created_at LIMIT max(1, (SELECT count(*) FROM receipts) / 10))"
        )


def _are_kept(db: apsw.Connection, ids: set[str]) -> bool:
    given = json.dumps(sorted(ids))
    kept = db.execute("SELECT count(*) FROM items WHERE id IN (SELECT value FROM json_each(?))", (given,)).get
    return bool(kept == len(ids))


def _get_receipt(db: apsw.Connection, op: GetReceipt) -> Receipt | None:
    body = db.execute(
        "SELECT body FROM receipts WHERE substr(id, 1, length(?1)) = ?1 "
        "ORDER BY id = ?1 DESC, created_at DESC, id DESC LIMIT 1",
        (op.id,),
    ).get
    return None if body is None else receipt_of(body)


def _count(shard: Shard, db: apsw.Connection) -> Counts:
    kinds = dict(db.execute("SELECT kind, count(*) FROM items GROUP BY kind ORDER BY kind"))
    return Counts(
        items=sum(kinds.values()),
        kinds=kinds,
        relations=db.execute("SELECT count(*) FROM relations").get,
        vectors=dict(db.execute("SELECT space, count(*) FROM vectors GROUP BY space")),
        receipts=db.execute("SELECT count(*) FROM receipts").get,
        bytes=sum(map(_size, shard.path.parent.iterdir())),
    )


def _size(path: Path) -> int:
    """The size of a file, which another process may just have removed."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
