"""One transaction on a workspace's database, or one snapshot of it: reading and storing items inside it."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import apsw

from foreword.errors import ValidationError
from foreword.store.base import Stored
from foreword.store.indexes import IndexQueue
from foreword.store.rows import COLUMNS, as_stored_with_hash, item_from_row, item_to_row

if TYPE_CHECKING:
    from foreword.store.database import WorkspaceDatabase
    from foreword.types import Item, Views


class Transaction:
    """A connection inside a transaction, and what operations need to know of the workspace."""

    def __init__(self, database: WorkspaceDatabase, db: apsw.Connection) -> None:
        self.database, self.db = database, db
        self.workspace, self.views, self.limits = database.workspace, database.views, database.limits
        self.unindexed = IndexQueue(self)

    def execute(self, sql: str, *values: Any) -> apsw.Cursor:  # noqa: ANN401  (whatever SQLite can bind)
        """Run a statement."""
        return self.db.execute(sql, values)

    def value(self, sql: str, *values: Any) -> Any:  # noqa: ANN401  (whatever a column has)
        """The only value of the first row, or None if there is no row."""
        return self.db.execute(sql, values).get

    def items(self, sql_rest: str, *values: object) -> tuple[Item, ...]:
        """The items that `SELECT … FROM items i` and the rest of that statement give."""
        rows = self.execute(f"SELECT {COLUMNS} FROM items i {sql_rest}", *values)
        return tuple(item_from_row(self.workspace, row) for row in rows)

    def numbered_items(self, sql_rest: str, *values: object) -> list[tuple[int, Item]]:
        """The same, each with the number of its row."""
        rows: list[Any] = self.execute(f"SELECT i.no, {COLUMNS} FROM items i {sql_rest}", *values).fetchall()
        return [(row[0], item_from_row(self.workspace, row[1:])) for row in rows]

    def put(self, items: tuple[Item, ...], views: tuple[Views, ...] = ()) -> tuple[Stored, ...]:
        """Store items that are not there yet; see `Put`. `views` are those of the items, if known."""
        pairs = zip(items, views or (None,) * len(items), strict=True)
        return tuple(self._put_item_if_new(item, its_views) for item, its_views in pairs)

    def _put_item_if_new(self, item: Item, views: Views | None) -> Stored:
        """Store an item, unless one with the same content is there: then that one is returned."""
        item = as_stored_with_hash(self.workspace, item)
        if known := self.items("WHERE hash = ?", item.hash):
            return Stored(known[0], new=False)
        item = replace(item, id=item.id or secrets.token_hex(8))
        try:
            self.execute(f"INSERT INTO items({COLUMNS}) VALUES({', '.join('?' * 17)})", *item_to_row(item))
        except apsw.ConstraintError as error:
            raise ValidationError(
                f"another item has the id {item.id!r}; forget it first, or leave the id out"
            ) from error
        self.unindexed.add(self.db.last_insert_rowid(), item, views)
        return Stored(item, new=True)
