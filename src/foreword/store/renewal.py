"""What an older Foreword derived from items in another way, derived again: once, when its database is opened.

A migration leaves a fact behind where there is something to do. It goes in the transaction that does it, so
that whoever is interrupted starts again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foreword.store import indexes
from foreword.store.rows import COLUMNS, item_of
from foreword.store.schema import alone

if TYPE_CHECKING:
    import apsw

    from foreword.store.indexes import ViewsOf

_UNNAMED = {"unnamed": "memory", "unnamed code": "code"}
"""The fact that says that items are not found by their names yet, and the kind of these items."""


def renew(db: apsw.Connection, workspace: str, views_of: ViewsOf) -> None:
    """Let items that were kept before be found by the names that are seen in them now."""
    for fact, kind in _UNNAMED.items():
        if _is_known(db, fact):
            with alone(db):
                if _is_known(db, fact):  # else another process has done it meanwhile
                    _name(db, workspace, kind, views_of)
                    db.execute("DELETE FROM facts WHERE key = ?", (fact,))


def _is_known(db: apsw.Connection, fact: str) -> bool:
    return bool(db.execute("SELECT 1 FROM facts WHERE key = ?", (fact,)).get)


def _name(db: apsw.Connection, workspace: str, kind: str, views_of: ViewsOf) -> None:
    db.execute("DELETE FROM mentions WHERE no IN (SELECT no FROM items WHERE kind = ?)", (kind,))
    rows: list[Any] = db.execute(f"SELECT no, {COLUMNS} FROM items WHERE kind = ?", (kind,)).fetchall()
    indexes.mention(db, {row[0]: views_of(item_of(workspace, row[1:])).entities for row in rows})
