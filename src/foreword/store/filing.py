"""Which items were made from which file, so that a file that changed can be kept anew.

A file has a mark, which says how it looked when it was read, and links to its items. Replacing what a file
held is not forgetting: the rows and indexes are right when it returns, but the database is not written anew
to overwrite every trace. The next time anything is forgotten, that is done for these traces too.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.store import forgetting
from foreword.store.base import FileMark, Refiled, Stored
from foreword.store.rows import hashed, metadata_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from foreword.store.base import DropFiles, PutFile
    from foreword.store.indexes import Newcomers
    from foreword.store.shard import Shard
    from foreword.types import Item, Views

    Keep = Callable[[tuple[Item, ...], tuple[Views, ...]], tuple[Stored, ...]]


def files(db: apsw.Connection) -> dict[str, FileMark]:
    """Every file that was read, with the number of its items."""
    rows = db.execute(
        "SELECT f.path, f.size, f.mtime_ns, f.hash, count(l.no) "
        "FROM files f LEFT JOIN file_items l USING(path) GROUP BY f.path"
    )
    return {row[0]: FileMark(*row) for row in rows}


def put_file(shard: Shard, db: apsw.Connection, op: PutFile, newcomers: Newcomers, keep: Keep) -> Refiled:
    """Keep what a file holds now; what it held before and holds no more goes first, and frees its ids."""
    path = op.mark.path
    outdated = _outdated(shard, db, op)
    if outdated:
        newcomers.settle()  # what is not findable yet cannot be taken out of an index
    gone = _let_go(shard, db, (path,), outdated)
    stored = tuple(
        one if one.new else _renewed(db, one, given)
        for given, one in zip(op.items, keep(op.items, op.views), strict=True)
    )
    db.execute(
        "INSERT OR IGNORE INTO file_items "
        "SELECT ?, no FROM items WHERE id IN (SELECT value FROM json_each(?))",
        (path, json.dumps([one.item.id for one in stored])),
    )
    db.execute(
        "INSERT OR REPLACE INTO files VALUES(?, ?, ?, ?)",
        (path, op.mark.size, op.mark.mtime_ns, op.mark.hash),
    )
    return Refiled(stored, gone)


def drop_files(shard: Shard, db: apsw.Connection, op: DropFiles) -> tuple[str, ...]:
    """Remove the marks of files, their links, and the items that no other file holds."""
    gone = _let_go(shard, db, op.paths, _held(db, op.paths))
    db.execute("DELETE FROM files WHERE path IN (SELECT value FROM json_each(?))", (json.dumps(op.paths),))
    return gone


def _held(
    db: apsw.Connection, paths: tuple[str, ...], clause: str = "TRUE", values: tuple[str, ...] = ()
) -> list[int]:
    """The numbers of what files hold, as far as it passes a clause."""
    rows = db.execute(
        "SELECT l.no FROM file_items l JOIN items i USING(no) "
        f"WHERE l.path IN (SELECT value FROM json_each(?)) AND {clause}",
        (json.dumps(paths), *values),
    )
    return [no for (no,) in rows]


def _outdated(shard: Shard, db: apsw.Connection, op: PutFile) -> list[int]:
    """The numbers of what a file holds no more."""
    paths = (op.mark.path,)
    if op.more:
        return _held(db, paths, "i.id IN (SELECT value FROM json_each(?))", (json.dumps(op.less),))
    if not db.execute("SELECT 1 FROM file_items WHERE path = ?", paths).get:
        return []  # a new file: hashing its items is left to those who keep them
    hashes = [hashed(shard.workspace, item).hash for item in op.items]
    return _held(db, paths, "i.hash NOT IN (SELECT value FROM json_each(?))", (json.dumps(hashes),))


def _let_go(shard: Shard, db: apsw.Connection, paths: tuple[str, ...], nos: list[int]) -> tuple[str, ...]:
    """Unlink items from files; remove those that no other file holds."""
    if not nos:
        return ()
    given = json.dumps(nos)
    db.execute(
        "DELETE FROM file_items WHERE path IN (SELECT value FROM json_each(?)) "
        "AND no IN (SELECT value FROM json_each(?))",
        (json.dumps(paths), given),
    )
    gone, _ = forgetting.remove(
        shard,
        db,
        "i.no IN (SELECT value FROM json_each(?)) "
        "AND NOT EXISTS(SELECT 1 FROM file_items l WHERE l.no = i.no)",
        [given],
    )
    if gone:
        forgetting.unname(db, gone)
        db.execute("INSERT OR REPLACE INTO facts VALUES('replaced', '')")
    return tuple(gone)


def _renewed(db: apsw.Connection, one: Stored, given: Item) -> Stored:
    """An item that was there already, with what is said about it now: its lines may have moved."""
    if dict(one.item.metadata) == dict(given.metadata):
        return one
    db.execute("UPDATE items SET metadata = ? WHERE id = ?", (metadata_text(given.metadata), one.item.id))
    return Stored(replace(one.item, metadata=given.metadata), new=False)
