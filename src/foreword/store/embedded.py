"""The `vectors` table: what encoders made of the items, and how the code files are kept in step with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.store.probing import where
from foreword.store.rows import COLUMNS, item_of
from foreword.store.vectors import quantise, restore
from foreword.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import apsw

    from foreword.store.base import KnownVectors, PutVectors, Unembedded
    from foreword.store.shard import Shard
    from foreword.types import Item

_INSERT_VECTOR = "INSERT OR REPLACE INTO vectors(no, space, digest, text_hash, code) VALUES(?, ?, ?, ?, ?)"


def put_vectors(db: apsw.Connection, op: PutVectors) -> int:
    """Vectors of items that have gone meanwhile are let fall."""
    kept = 0
    dimensions = dimensions_of(db, op.space, op.digest) or len(op.vectors[0].values if op.vectors else ())
    for vector in op.vectors:
        if len(vector.values) != dimensions:
            raise ValidationError(
                f"vectors of one encoder have one size: {dimensions} numbers, not {len(vector.values)}"
            )
        values = (op.space, op.digest, vector.text_hash, quantise(vector.values))
        found = db.execute(
            "SELECT i.no, v.text_hash = ?3 AND v.code = ?4 FROM items i LEFT JOIN vectors v "
            "ON v.no = i.no AND v.space = ?1 AND v.digest = ?2 WHERE i.id = ?5",
            (*values, vector.item_id),
        ).fetchall()
        for no, same in found:
            kept += 1
            if not same:  # a row written again would be a hole in every code file
                db.execute(_INSERT_VECTOR, (no, *values))
    return kept


def unembedded(shard: Shard, db: apsw.Connection, op: Unembedded) -> tuple[Item, ...]:
    """Items that an encoder has not seen yet."""
    clause, values = where(Filters(kinds=op.kinds))
    rows = db.execute(
        f"SELECT {COLUMNS} FROM items i WHERE {clause} AND NOT EXISTS "
        "(SELECT 1 FROM vectors v WHERE v.no = i.no AND v.space = ? AND v.digest = ?) ORDER BY i.no LIMIT ?",
        (*values, op.space, op.digest, op.limit),
    )
    return tuple(item_of(shard.workspace, row) for row in rows)


def known_vectors(db: apsw.Connection, op: KnownVectors) -> dict[str, tuple[float, ...]]:
    """Vectors by the text they stand for."""
    rows = db.execute(
        "SELECT text_hash, code FROM vectors "
        "WHERE digest = ? AND text_hash IN (SELECT value FROM json_each(?))",
        (op.digest, json.dumps(op.hashes)),
    )
    return {found: restore(code) for found, code in rows}


def catch_up(shard: Shard, db: apsw.Connection, space: str, digest: str) -> None:
    """Bring a code file up to the newest row of its space; `db` must not be inside an older snapshot."""
    dimensions = dimensions_of(db, space, digest)
    if dimensions is None:
        return
    file, rows = shard.codes(space, digest, dimensions), rows_of(db, space, digest)
    if file.last_seq > issued(db):
        file.rebuild(rows)
    newest = db.execute("SELECT max(seq) FROM vectors WHERE space = ? AND digest = ?", (space, digest)).get
    file.catch_up(newest or 0, rows)


def issued(db: apsw.Connection) -> int:
    """The last sequence number a vector was given; a file that goes further belongs to another database."""
    return db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'vectors'").get or 0


def rows_of(
    db: apsw.Connection, space: str, digest: str
) -> Callable[[int], Iterable[tuple[int, int, bytes]]]:
    """A function that gives the rows of an encoder after a sequence number, in order."""

    def after(last: int) -> Iterable[tuple[int, int, bytes]]:
        rows: list[Any] = db.execute(
            "SELECT seq, no, code FROM vectors WHERE space = ? AND digest = ? AND seq > ? ORDER BY seq",
            (space, digest, last),
        ).fetchall()
        return rows

    return after


def dimensions_of(db: apsw.Connection, space: str, digest: str) -> int | None:
    """How many numbers the vectors of an encoder have; None when there are none."""
    found: int | None = db.execute(
        "SELECT length(code) FROM vectors WHERE space = ? AND digest = ? LIMIT 1", (space, digest)
    ).get
    return found
