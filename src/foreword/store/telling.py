"""What each session's context holds, so that nothing is said to it twice.

A row is a session, an item's number and a time. It goes when the item goes, when the session says that its
context was emptied, and when nothing has been told to the session for long.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from foreword.store.rows import micros

if TYPE_CHECKING:
    import apsw

    from foreword.store.base import Tell, Told, Untell

_DAY = 86_400_000_000


def tell(db: apsw.Connection, op: Tell, days: int) -> int:
    """Keep what a session was told, and let sessions go that were told nothing for so many days."""
    at = micros(op.at)
    before = _held(db, op.session)
    db.execute(
        "INSERT INTO told SELECT ?2, no, ?3 FROM items WHERE id IN (SELECT value FROM json_each(?1)) "
        "ON CONFLICT DO UPDATE SET told_at = excluded.told_at",
        (json.dumps(op.item_ids), op.session, at),
    )
    fresh = _held(db, op.session) - before
    db.execute(
        "DELETE FROM told WHERE told_at < ?1 AND NOT EXISTS"
        "(SELECT 1 FROM told AS newer WHERE newer.session = told.session AND newer.told_at >= ?1)",
        (at - days * _DAY,),
    )
    return fresh


def told(db: apsw.Connection, op: Told) -> frozenset[str]:
    """The ids of what a session was told."""
    rows = db.execute("SELECT i.id FROM told t JOIN items i USING(no) WHERE t.session = ?", (op.session,))
    return frozenset(str(item_id) for (item_id,) in rows)


def untell(db: apsw.Connection, op: Untell) -> int:
    """Forget what a session was told."""
    db.execute("DELETE FROM told WHERE session = ?", (op.session,))
    return db.changes()


def _held(db: apsw.Connection, session: str) -> int:
    held: int = db.execute("SELECT count(*) FROM told WHERE session = ?", (session,)).get
    return held
