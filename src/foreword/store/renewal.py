"""What an older Foreword did not derive from items, derived now: once, when its database is opened.

A migration leaves a fact behind where there is something to do. It goes in the transaction that does it, so
that whoever is interrupted starts again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foreword.store.rows import COLUMNS, item_of
from foreword.store.schema import alone

if TYPE_CHECKING:
    import apsw

    from foreword.store.indexes import ViewsOf

_BEHIND = "SELECT 1 FROM facts WHERE key = 'unnamed'"


def renew(db: apsw.Connection, workspace: str, views_of: ViewsOf) -> None:
    """Let memories that were kept before be found by what they settle."""
    if not db.execute(_BEHIND).get:
        return
    with alone(db):
        if not db.execute(_BEHIND).get:
            return  # another process has done it meanwhile
        rows: list[Any] = db.execute(f"SELECT no, {COLUMNS} FROM items WHERE kind = 'memory'").fetchall()
        for no, *row in rows:
            named = views_of(item_of(workspace, tuple(row))).entities
            db.executemany("INSERT OR IGNORE INTO mentions VALUES(?, ?)", [(name, no) for name in named])
        db.execute("DELETE FROM facts WHERE key = 'unnamed'")
