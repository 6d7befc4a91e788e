"""Upkeep: does everything derived agree with the rows, and what to do when it does not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import apsw

from foreword.store import indexes
from foreword.store.base import Problem
from foreword.store.embedded import issued, rows_of
from foreword.store.rows import COLUMNS, item_of
from foreword.store.vectors import CodeFile
from foreword.types import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from foreword.store.shard import Shard


_SPEAK_OF_ITEMS = (
    ("relations", "from_no"),
    ("relations", "to_no"),
    ("vectors", "no"),
    ("told", "no"),
    ("file_items", "no"),
)
_UNKNOWN_FILES = "FROM file_items WHERE path NOT IN (SELECT path FROM files)"


def check(shard: Shard, db: apsw.Connection) -> Iterator[Problem]:
    """Every disagreement between the rows and what is derived from them."""
    try:
        verdict = [row[0] for row in db.execute("PRAGMA integrity_check(10)")]
    except apsw.Error as error:  # a table that cannot even be opened
        verdict = [error]
    if verdict != ["ok"]:
        yield Problem("database", "; ".join(map(str, verdict)))
    yield from _mistaken_hashes(shard, db)
    yield from indexes.check(db, shard.workspace, shard.views)
    yield from _check_codes(shard, db)
    for table, column in _SPEAK_OF_ITEMS:
        orphans = db.execute(f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT no FROM items)").get
        if orphans:
            yield Problem(table, f"{orphans} rows speak of items that are not there")
    if unknown := db.execute(f"SELECT count(*) {_UNKNOWN_FILES}").get:
        yield Problem("file_items", f"{unknown} rows speak of files that are not there")


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
        elif file.last_seq > issued(db) or not _agrees(file, rows_of(db, space, digest)(0), doomed):
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


def repair(shard: Shard, db: apsw.Connection) -> tuple[Problem, ...]:
    """Make everything derived again, from the rows; gives what is still wrong afterwards."""
    indexes.rebuild(db, shard.workspace, shard.views)
    for table, column in _SPEAK_OF_ITEMS:
        db.execute(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT no FROM items)")
    # A file without a mark is given one that fits no file: it will be read again, and its items are known.
    db.execute(f"INSERT INTO files SELECT DISTINCT path, -1, 0, '' {_UNKNOWN_FILES}")
    for row in db.execute(f"SELECT {COLUMNS} FROM items").fetchall():
        right = content_hash(item_of(shard.workspace, row))
        if right != row[1]:
            db.execute("UPDATE OR IGNORE items SET hash = ? WHERE id = ?", (right, row[0]))
    for file in CodeFile.existing(shard.path.parent):
        file.remove()
    for space, digest, dimensions in _generations(db):
        shard.codes(space, digest, dimensions).rebuild(rows_of(db, space, digest))
    return tuple(check(shard, db))
