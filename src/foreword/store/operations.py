"""How each operation of the contract is done in SQL, on a connection whose transaction the caller owns."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from foreword.errors import StorageError, StoreDamaged, ValidationError
from foreword.store import indexes, probing
from foreword.store.base import (
    MAX_DEPTH,
    Amend,
    Check,
    Count,
    Counts,
    Delete,
    Expand,
    Get,
    GetReceipt,
    KnownVectors,
    Operation,
    Problem,
    Put,
    PutReceipt,
    PutVectors,
    Relate,
    Relations,
    Repair,
    Scan,
    Search,
    Stored,
    Unembedded,
)
from foreword.store.rows import (
    COLUMNS,
    INSERT,
    item_of,
    micros,
    receipt_of,
    receipt_text,
    relation_of,
    row_of,
    sound,
)
from foreword.store.vectors import CodeFile, Cosines, quantise, restore
from foreword.types import Found, NeighboursProbe, Note, RelatedMemory, VectorProbe, content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from foreword.store.shard import Shard
    from foreword.types import Filters, Item, Probe, Receipt, Relation

_DAY = 86_400_000_000
_ECHO_SHARE = 0.5
_ECHO_ITEMS = 3
_ECHO_WORDS = 0.1
"""The echo moves half-way towards the three best answers, on which words have a small say."""

_STEPS = 2000
"""How many of SQLite's steps pass between two looks at the clock."""


def do(shard: Shard, db: apsw.Connection, op: Operation) -> Any:  # noqa: ANN401, C901  (one line an operation)
    """Do one operation; what it gives is said at its class."""
    match op:
        case Put():
            return _put(shard, db, op)
        case Get():
            return _get(shard, db, op)
        case Scan():
            return _scan(shard, db, op)
        case Amend():
            return _amend(shard, db, op)
        case Delete():
            return _delete(shard, db, op)
        case Relate():
            return sum(_relate(db, relation) for relation in op.relations)
        case Relations():
            return _relations(db)
        case Expand():
            return {start: _expand(shard, db, start, op.depth) for start in op.ids}
        case Search():
            return _search(shard, db, op)
        case PutVectors():
            return _put_vectors(db, op)
        case Unembedded():
            return _unembedded(shard, db, op)
        case KnownVectors():
            return _known_vectors(db, op)
        case PutReceipt():
            return _put_receipt(shard, db, op.receipt)
        case GetReceipt():
            return _get_receipt(db, op)
        case Count():
            return _count(shard, db)
        case Check():
            with sound():
                return tuple(_check(shard, db))
        case Repair():
            with sound():
                return _repair(shard, db)


def _put(shard: Shard, db: apsw.Connection, op: Put) -> tuple[Stored, ...]:
    fresh: list[tuple[int, Item]] = []
    stored = tuple(_put_row(shard, db, item, fresh) for item in op.items)
    indexes.add(db, fresh, shard.views)
    return stored


def _put_row(shard: Shard, db: apsw.Connection, item: Item, fresh: list[tuple[int, Item]]) -> Stored:
    """Keep one item, unless it is there; what is new is added to `fresh`, to be indexed."""
    # Times are kept without their zone, so that the hash of what is read again is the hash that is kept.
    item = replace(item, workspace=shard.workspace, created_at=item.created_at.astimezone(UTC))
    item = replace(item, hash=content_hash(item))
    row = db.execute(f"SELECT {COLUMNS} FROM items WHERE hash = ?", (item.hash,)).fetchone()
    if row is not None:
        return Stored(item_of(shard.workspace, row), new=False)
    item = replace(item, id=item.id or secrets.token_hex(8))
    try:
        no = db.execute(INSERT, row_of(item)).get
    except apsw.ConstraintError as error:
        raise ValidationError(
            f"another item has the id {item.id!r}; forget it first, or leave the id out"
        ) from error
    fresh.append((no, item))
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


def _delete(shard: Shard, db: apsw.Connection, op: Delete) -> tuple[str, ...]:
    values: list[object] = [json.dumps(op.ids)]
    clause = "i.id IN (SELECT value FROM json_each(?))"
    if op.filters is not None:
        clause, values = probing.where(op.filters)
    rows: list[Any] = db.execute(f"SELECT no, {COLUMNS} FROM items i WHERE {clause}", values).fetchall()
    for row in rows:
        no, item = row[0], item_of(shard.workspace, row[1:])
        indexes.remove(db, no, item)
        db.execute("DELETE FROM relations WHERE from_no = ?1 OR to_no = ?1", (no,))
        db.execute("DELETE FROM vectors WHERE no = ?", (no,))
        db.execute("DELETE FROM items WHERE no = ?", (no,))
        db.execute("INSERT INTO erased VALUES(?)", (no,))
    gone = tuple(row[1] for row in rows)
    if gone:
        # SQLite overwrites what is deleted where it stands, but not where it stood before a page was split:
        # someone has to write the database anew.
        db.execute("INSERT OR REPLACE INTO facts VALUES('unswept', ?)", (secrets.token_hex(8),))
    db.execute(
        "UPDATE items SET superseded_by = NULL WHERE superseded_by IN (SELECT value FROM json_each(?))",
        (json.dumps(gone),),
    )
    if op.filters is not None and op.filters.session is not None:
        db.execute("DELETE FROM receipts WHERE session = ?", (op.filters.session,))
    return gone


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


def _search(shard: Shard, db: apsw.Connection, op: Search) -> Found:
    quest = _Quest(shard, db, op)
    with _clock(db, op.expires):
        # Words first, then meaning, which listens to them; neighbours last: they start from what was found.
        for probe in sorted(op.probes, key=_turn):
            try:
                quest.ask(probe)
            except apsw.InterruptError:
                quest.notes.append(Note(probe.space, "late: the deadline passed"))
            except (apsw.Error, OSError, StoreDamaged, _Misfit) as error:
                quest.notes.append(Note(probe.space, f"failed: {error}"))
    return quest.found()


def _turn(probe: Probe) -> int:
    return 2 if isinstance(probe, NeighboursProbe) else int(isinstance(probe, VectorProbe))


class _Quest:
    """One search under way: what its probes have found so far."""

    def __init__(self, shard: Shard, db: apsw.Connection, op: Search) -> None:
        self.shard, self.db, self.op = shard, db, op
        self.lists: dict[str, list[tuple[int, float]]] = {}
        self.notes: list[Note] = []
        self.compared: dict[str, Cosines] = {}
        self.beside: dict[int, dict[int, float]] = {}
        self.previous: dict[int, int] = {}

    def ask(self, probe: Probe) -> None:
        """Answer one probe."""
        if self.op.expires is not None and time.monotonic() > self.op.expires:
            raise apsw.InterruptError("the deadline passed")
        match probe:
            case VectorProbe():
                self._compare(probe)
            case NeighboursProbe():
                seeds = probing.seeds(self.lists)
                self.beside, self.previous = probing.neighbours(self.db, seeds, self.op.filters)
                self.lists[probe.space] = probing.by_neighbours(self.beside, seeds, self.op.limit)
            case _:
                self.lists[probe.space] = probing.answer(self.db, probe, self.op.filters, self.op.limit)

    def found(self) -> Found:
        """The items, under their ids, with all that is known of them."""
        nos = {no for ranked in self.lists.values() for no, _ in ranked}
        items = _items_by_number(self.shard, self.db, nos)
        ids = {no: item.id for no, item in items.items()}
        return Found(
            items={item.id: item for item in items.values()},
            lists={
                space: tuple((ids[no], score) for no, score in ranked if no in ids)
                for space, ranked in self.lists.items()
            },
            notes=tuple(self.notes),
            measures={
                space: {ids[no]: score for no, score in cosines.of(ids).items()}
                for space, cosines in self.compared.items()
            },
            beside={
                ids[one]: {ids[other]: nearness for other, nearness in near.items() if other in ids}
                for one, near in self.beside.items()
                if one in ids
            },
            previous={
                ids[one]: ids[other] for one, other in self.previous.items() if one in ids and other in ids
            },
        )

    def _compare(self, probe: VectorProbe) -> None:
        dimensions = _dimensions(self.db, probe.space, probe.digest)
        if dimensions is None:
            self.lists[probe.space] = []
            return
        if dimensions != len(probe.vector):
            raise _Misfit(
                f"the vector has {len(probe.vector)} numbers, those of this encoder have {dimensions}"
            )
        allowed = None if self.op.filters.empty else _allowed(self.db, self.op.filters)
        file = self.shard.codes(probe.space, probe.digest, dimensions)
        cosines = file.compare(probe.vector, allowed, _rows_of(self.db, probe.space, probe.digest))
        self._keep(probe.space, cosines)
        if probe.echo is not None and len(cosines.values):
            self._keep(probe.echo, cosines.echo(probe.vector, self._praise(), _ECHO_SHARE, _ECHO_ITEMS))

    def _keep(self, space: str, cosines: Cosines) -> None:
        self.compared[space] = cosines
        self.lists[space] = cosines.best(self.op.limit)

    def _praise(self) -> dict[int, float]:
        """What words say of each item, beside a cosine: at most a tenth."""
        ranked = next((ranked for ranked in self.lists.values() if ranked), [])
        best = ranked[0][1] if ranked else 0.0
        return {no: _ECHO_WORDS * score / best for no, score in ranked} if best > 0 else {}


class _Misfit(Exception):
    """A vector of another size than those it should be compared with."""


def _dimensions(db: apsw.Connection, space: str, digest: str) -> int | None:
    """How many numbers the vectors of an encoder have; None when there are none."""
    found: int | None = db.execute(
        "SELECT length(code) FROM vectors WHERE space = ? AND digest = ? LIMIT 1", (space, digest)
    ).get
    return found


def _allowed(db: apsw.Connection, filters: Filters) -> np.ndarray[Any, np.dtype[np.int64]]:
    clause, values = probing.where(filters)
    return np.fromiter(
        (no for (no,) in db.execute(f"SELECT i.no FROM items i WHERE {clause}", values)), np.int64
    )


@contextmanager
def _clock(db: apsw.Connection, expires: float | None) -> Iterator[None]:
    """Interrupt whatever SQLite is doing when the deadline passes."""
    if expires is None:
        yield
        return
    db.set_progress_handler(lambda: time.monotonic() > expires, _STEPS)
    try:
        yield
    finally:
        db.set_progress_handler(None)


def _items_by_number(shard: Shard, db: apsw.Connection, nos: set[int]) -> dict[int, Item]:
    rows = db.execute(
        f"SELECT no, {COLUMNS} FROM items WHERE no IN (SELECT value FROM json_each(?))",
        (json.dumps(list(nos)),),
    )
    return {row[0]: item_of(shard.workspace, row[1:]) for row in rows}


_INSERT_VECTOR = "INSERT OR REPLACE INTO vectors(no, space, digest, text_hash, code) VALUES(?, ?, ?, ?, ?)"


def _put_vectors(db: apsw.Connection, op: PutVectors) -> int:
    """Vectors of items that have gone meanwhile are let fall."""
    kept = 0
    dimensions = _dimensions(db, op.space, op.digest) or len(op.vectors[0].values if op.vectors else ())
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


def _unembedded(shard: Shard, db: apsw.Connection, op: Unembedded) -> tuple[Item, ...]:
    rows = db.execute(
        f"SELECT {COLUMNS} FROM items i WHERE NOT EXISTS "
        "(SELECT 1 FROM vectors v WHERE v.no = i.no AND v.space = ? AND v.digest = ?) ORDER BY i.no LIMIT ?",
        (op.space, op.digest, op.limit),
    )
    return tuple(item_of(shard.workspace, row) for row in rows)


def _known_vectors(db: apsw.Connection, op: KnownVectors) -> dict[str, tuple[float, ...]]:
    rows = db.execute(
        "SELECT text_hash, code FROM vectors "
        "WHERE digest = ? AND text_hash IN (SELECT value FROM json_each(?))",
        (op.digest, json.dumps(op.hashes)),
    )
    return {found: restore(code) for found, code in rows}


def catch_up(shard: Shard, db: apsw.Connection, space: str, digest: str) -> None:
    """Bring a code file up to the newest row of its space; `db` must not be inside an older snapshot."""
    dimensions = _dimensions(db, space, digest)
    if dimensions is None:
        return
    file, rows = shard.codes(space, digest, dimensions), _rows_of(db, space, digest)
    if file.last_seq > _issued(db):
        file.rebuild(rows)
    newest = db.execute("SELECT max(seq) FROM vectors WHERE space = ? AND digest = ?", (space, digest)).get
    file.catch_up(newest or 0, rows)


def _issued(db: apsw.Connection) -> int:
    """The last sequence number a vector was given; a file that goes further belongs to another database."""
    return db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'vectors'").get or 0


def _rows_of(
    db: apsw.Connection, space: str, digest: str
) -> Callable[[int], Iterable[tuple[int, int, bytes]]]:
    def after(last: int) -> Iterable[tuple[int, int, bytes]]:
        rows: list[Any] = db.execute(
            "SELECT seq, no, code FROM vectors WHERE space = ? AND digest = ? AND seq > ? ORDER BY seq",
            (space, digest, last),
        ).fetchall()
        return rows

    return after


def _put_receipt(shard: Shard, db: apsw.Connection, receipt: Receipt) -> None:
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


def _check(shard: Shard, db: apsw.Connection) -> Iterator[Problem]:
    try:
        verdict = [row[0] for row in db.execute("PRAGMA integrity_check(10)")]
    except apsw.Error as error:  # a table that cannot even be opened
        verdict = [error]
    if verdict != ["ok"]:
        yield Problem("database", "; ".join(map(str, verdict)))
    yield from _mistaken_hashes(shard, db)
    yield from indexes.check(db, shard.workspace, shard.views)
    yield from _check_codes(shard, db)
    for table, column in (("relations", "from_no"), ("relations", "to_no"), ("vectors", "no")):
        orphans = db.execute(f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT no FROM items)").get
        if orphans:
            yield Problem(table, f"{orphans} rows speak of items that are not there")


def _mistaken_hashes(shard: Shard, db: apsw.Connection) -> Iterator[Problem]:
    rows = db.execute(f"SELECT {COLUMNS} FROM items").fetchall()
    wrong = Counter(content_hash(item_of(shard.workspace, row)) == row[1] for row in rows)[False]
    if wrong:
        yield Problem("items", f"{wrong} rows do not match the hash of their content")


def _generations(db: apsw.Connection) -> list[tuple[str, str, int]]:
    rows: list[Any] = db.execute(
        "SELECT space, digest, length(code) FROM vectors GROUP BY space, digest ORDER BY space, digest"
    ).fetchall()
    return rows


def _check_codes(shard: Shard, db: apsw.Connection) -> Iterator[Problem]:
    doomed = {no for (no,) in db.execute("SELECT no FROM erased")}
    known = set()
    for space, digest, dimensions in _generations(db):
        file = shard.codes(space, digest, dimensions)
        known.add(file.path.name)
        if file.damaged:
            yield Problem(file.path.name, "the vector file cannot be used")
        elif file.last_seq > _issued(db) or not _agrees(file, _rows_of(db, space, digest)(0), doomed):
            yield Problem(file.path.name, "the vector file disagrees with the rows")
    for file in CodeFile.existing(shard.path.parent):
        if file.path.name not in known and (file.damaged or file.contents().keys() - doomed):
            yield Problem(file.path.name, "the vector file holds what no row has")


def _agrees(file: CodeFile, rows: Iterable[tuple[int, int, bytes]], doomed: set[int]) -> bool:
    """Whether file and rows agree, but for rows the file has yet to come to and items on their way out."""
    last, held = file.last_seq, file.contents()
    settled, behind = {}, set(doomed)
    for seq, no, code in rows:
        if seq <= last:
            settled[no] = code
        else:
            behind.add(no)
    return settled == {no: code for no, code in held.items() if no not in behind}


def _repair(shard: Shard, db: apsw.Connection) -> tuple[Problem, ...]:
    indexes.rebuild(db, shard.workspace, shard.views)
    for table, column in (("relations", "from_no"), ("relations", "to_no"), ("vectors", "no")):
        db.execute(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT no FROM items)")
    for row in db.execute(f"SELECT {COLUMNS} FROM items").fetchall():
        right = content_hash(item_of(shard.workspace, row))
        if right != row[1]:
            db.execute("UPDATE OR IGNORE items SET hash = ? WHERE id = ?", (right, row[0]))
    for file in CodeFile.existing(shard.path.parent):
        file.remove()
    for space, digest, dimensions in _generations(db):
        shard.codes(space, digest, dimensions).rebuild(_rows_of(db, space, digest))
    return tuple(_check(shard, db))
