"""Deleting, so that nothing is left: an item, what is derived from it, and what repeats its words.

An item whose metadata has `derived_from` was made from others: it names their sources there, and the items
whose words it repeats under `turns`. It goes with any of them.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foreword.store import indexes, probing
from foreword.store.rows import COLUMNS, item_of

if TYPE_CHECKING:
    import apsw

    from foreword.store.base import Delete
    from foreword.store.shard import Shard
    from foreword.types import Filters

_MADE = """instr(i.metadata, '"derived_from"') > 0"""
"""As the index `items_derived` has it, so that looking for what was made from others costs nothing."""

_FROM_SOURCE = f"{_MADE} AND EXISTS(SELECT 1 FROM json_each(i.metadata, '$.derived_from') WHERE value = ?)"
_FROM_ITEMS = (
    f"{_MADE} AND EXISTS(SELECT 1 FROM json_each(i.metadata, '$.turns') AS turn "
    "WHERE turn.value IN (SELECT value FROM json_each(?)))"
)

_WITHOUT_VIEW = """UPDATE receipts SET body = json_remove(body, '$.view') WHERE instr(body, '"view":{') > 0"""


def delete(shard: Shard, db: apsw.Connection, op: Delete) -> tuple[str, ...]:
    """Remove what is named or passes, and what was made from it; gives the ids that are gone."""
    clauses: list[tuple[str, list[object]]] = [
        ("i.id IN (SELECT value FROM json_each(?))", [json.dumps(op.ids)])
    ]
    if op.filters is not None:
        clauses = _passing(op.filters)
    gone: list[str] = []
    files: set[str] = set()
    while clauses:
        found = []
        for clause, values in clauses:
            ids, paths = remove(shard, db, clause, values)
            found += ids
            files |= paths
        clauses = [(_FROM_ITEMS, [json.dumps(found)])] if found else []
        gone += found
    unname(db, gone)
    _forget_files(db, files)
    if gone:
        # A view repeats words, and nobody knows whose.
        db.execute(_WITHOUT_VIEW)
    if gone or db.execute("SELECT 1 FROM facts WHERE key = 'replaced'").get:
        # SQLite overwrites what is deleted where it stands, but not where it stood before a page was split:
        # someone has to write the database anew.
        db.execute("INSERT OR REPLACE INTO facts VALUES('unswept', ?)", (secrets.token_hex(8),))
        db.execute("DELETE FROM facts WHERE key = 'replaced'")
    if op.filters is not None and op.filters.session is not None:
        db.execute("DELETE FROM receipts WHERE session = ?", (op.filters.session,))
        db.execute("DELETE FROM told WHERE session = ?", (op.filters.session,))
    return tuple(gone)


def unname(db: apsw.Connection, gone: list[str]) -> None:
    """Nothing is superseded by what is gone."""
    db.execute(
        "UPDATE items SET superseded_by = NULL WHERE superseded_by IN (SELECT value FROM json_each(?))",
        (json.dumps(gone),),
    )


def _forget_files(db: apsw.Connection, paths: set[str]) -> None:
    """Let go of the marks of these files, where nothing that was made from them is left."""
    db.execute(
        "DELETE FROM files WHERE path IN (SELECT value FROM json_each(?)) "
        "AND path NOT IN (SELECT path FROM file_items)",
        (json.dumps(list(paths)),),
    )


def _passing(filters: Filters) -> list[tuple[str, list[object]]]:
    """The filters as SQL; those that name a source also meet what was made from it."""
    clauses = [probing.where(filters)]
    if filters.source is not None:
        rest, values = probing.where(replace(filters, source=None))
        clauses.append((f"{rest} AND {_FROM_SOURCE}", [*values, filters.source]))
    return clauses


def remove(
    shard: Shard, db: apsw.Connection, clause: str, values: list[object]
) -> tuple[list[str], set[str]]:
    """Take the items that a clause names out of every table; gives their ids, and the files they were of."""
    paths: set[str] = set()
    rows: list[Any] = db.execute(f"SELECT no, {COLUMNS} FROM items i WHERE {clause}", values).fetchall()
    for row in rows:
        no, item = row[0], item_of(shard.workspace, row[1:])
        indexes.remove(db, no, item)
        db.execute("DELETE FROM relations WHERE from_no = ?1 OR to_no = ?1", (no,))
        db.execute("DELETE FROM vectors WHERE no = ?", (no,))
        db.execute("DELETE FROM told WHERE no = ?", (no,))
        paths.update(
            path for (path,) in db.execute("DELETE FROM file_items WHERE no = ? RETURNING path", (no,))
        )
        db.execute("DELETE FROM items WHERE no = ?", (no,))
        db.execute("INSERT INTO erased VALUES(?)", (no,))
    return [row[1] for row in rows], paths
