"""A transaction on one workspace in PostgreSQL: runs statements, selects items and stores them."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foreword.errors import ValidationError
from foreword.store.base import Stored
from foreword.store.indexes import IndexQueue
from foreword.store.postgres.arrays import number_array_literal, text_array_literal
from foreword.store.postgres.indexing import add_items_to_indexes
from foreword.store.rows import COLUMNS, as_stored_with_hash, item_from_row, item_to_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import psycopg

    from foreword.store.database import Limits
    from foreword.store.postgres.connections import Connection
    from foreword.store.vector_part import VectorPart
    from foreword.types import Filters, Item, Views

_COLUMN_TYPES = (
    *("text",) * 6, "bigint", "bigint", *("text",) * 3, "float8", "float8", *("text",) * 3, "integer"
)  # fmt: skip
_INSERT_ITEMS = (
    f"INSERT INTO items(ws, no, {COLUMNS}) SELECT ?, * FROM unnest(?::integer[], "
    + ", ".join(f"?::{kind}[]" for kind in _COLUMN_TYPES)
    + ")"
)
_KEYED_FILTERS = ("conversation", "session", "source")
_OTHER_FILTERS = (*_KEYED_FILTERS, "conversation_prefix")


class Transaction:
    """A connection inside a transaction, with the settings of its workspace that operations need.

    In SQL a `?` stands for a value. `ws` is the number of the workspace.
    """

    def __init__(
        self,
        connection: Connection,
        ws: int,
        workspace: str,
        views: Callable[[Item], Views],
        limits: Limits,
        vectors: VectorPart[Any],
        *,
        writes: bool,
    ) -> None:
        self.connection, self.ws, self.workspace = connection, ws, workspace
        self.views, self.limits, self.vectors, self.writes = views, limits, vectors, writes
        self.unindexed = IndexQueue(views, lambda waiting: add_items_to_indexes(self, waiting))
        self.has_new_items = False
        self.expires: float | None = None

    def execute(self, sql: str, *values: object) -> psycopg.Cursor[Any]:
        """Run a statement."""
        return self.connection.execute(sql.replace("%", "%%").replace("?", "%s"), values)

    def select_value(self, sql: str, *values: object) -> Any:  # noqa: ANN401  (whatever a column has)
        """The first value of the first row, or None if there is no row."""
        row = self.execute(sql, *values).fetchone()
        return None if row is None else row[0]

    def select_items(self, sql_rest: str, *values: object) -> tuple[Item, ...]:
        """The workspace's items that a statement selects, given the part after `WHERE i.ws = … AND`."""
        return tuple(item for _, item in self.select_numbered_items(sql_rest, *values))

    def select_numbered_items(self, sql_rest: str, *values: object) -> list[tuple[int, Item]]:
        """The workspace's items that a statement selects, as `select_items`, each with its number."""
        rows = self.execute(
            f"SELECT i.no, {COLUMNS} FROM items i WHERE i.ws = ? AND {sql_rest}", self.ws, *values
        )
        return [(row[0], item_from_row(self.workspace, row[1:])) for row in rows]

    def put_items(self, items: Sequence[Item], views: Sequence[Views] = ()) -> tuple[Stored, ...]:
        """Store items that are not there yet; see `Put`. `views` are those of the items, if known."""
        hashed = [as_stored_with_hash(self.workspace, item) for item in items]
        known = {item.hash: item for item in self._items_where_in("hash", [item.hash for item in hashed])}
        taken = {item.id for item in self._items_where_in("id", [item.id for item in hashed if item.id])}
        results: list[Stored] = []
        fresh: list[tuple[Item, Views | None]] = []
        for item, its_views in zip(hashed, views or (None,) * len(hashed), strict=True):
            if item.hash in known:
                results.append(Stored(known[item.hash], new=False))
                continue
            if item.id in taken:
                raise ValidationError(
                    f"another item has the id {item.id!r}; forget it first, or leave the id out"
                )
            stored = replace(item, id=item.id or secrets.token_hex(8))
            known[item.hash] = stored
            taken.add(stored.id)
            fresh.append((stored, its_views))
            results.append(Stored(stored, new=True))
        self._insert_items(fresh)
        return tuple(results)

    def _items_where_in(self, column: str, values: list[str]) -> tuple[Item, ...]:
        """The items whose column has one of these values."""
        return self.select_items(f"i.{column} = ANY(?)", values) if values else ()

    def _insert_items(self, fresh: list[tuple[Item, Views | None]]) -> None:
        """Give items their numbers, insert them in one statement, and queue them for the indexes."""
        if not fresh:
            return
        last = self.select_value(
            "UPDATE workspaces SET last_no = last_no + ?, items = items + ? WHERE ws = ? RETURNING last_no",
            *(len(fresh), len(fresh), self.ws),
        )
        numbers = list(range(last - len(fresh) + 1, last + 1))
        columns = zip(*(item_to_row(item) for item, _ in fresh), strict=True)
        literals = (
            text_array_literal(column) if kind == "text" else number_array_literal(column)
            for kind, column in zip(_COLUMN_TYPES, columns, strict=True)
        )
        self.execute(_INSERT_ITEMS, self.ws, number_array_literal(numbers), *literals)
        for number, (item, views) in zip(numbers, fresh, strict=True):
            self.unindexed.add(number, item, views)
        self.has_new_items = True

    def item_numbers_by_id(self, ids: Iterable[str]) -> dict[str, int]:
        """The numbers of the items with these ids, by id; unknown ids are left out."""
        rows = self.execute("SELECT id, no FROM items WHERE ws = ? AND id = ANY(?)", self.ws, list(ids))
        return dict(rows.fetchall())


def filters_to_sql(filters: Filters) -> tuple[str, list[object]]:
    """The filters as a condition on `items AS i`, and the values to bind; `TRUE` if every item passes."""
    from foreword.store.rows import filters_to_sql as shared

    without = dict.fromkeys(_OTHER_FILTERS)
    clause, values = shared(replace(filters, **without))  # type: ignore[arg-type]
    for column in _KEYED_FILTERS:
        if (value := getattr(filters, column)) is not None:
            clause += f" AND i.{column}_key = md5(?)::uuid AND i.{column} = ?"
            values += [value, value]
    if filters.conversation_prefix is not None:
        clause += " AND starts_with(i.conversation, ?)"
        values.append(filters.conversation_prefix)
    return clause, values
