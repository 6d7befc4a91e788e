"""Everything derived from the rows of `items`: kept in step with each write, checked, and made again.

The caller owns the transaction. What an item looks like to the word-like spaces is given by `views`, a
function of the item alone, so that any index can be dropped and rebuilt from the rows.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import apsw

from foreword.store.base import Problem
from foreword.store.rows import COLUMNS, item_of
from foreword.store.schema import DERIVED, DERIVED_TABLES
from foreword.text.words import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from foreword.types import Item, Views

    ViewsOf = Callable[[Item], Views]

_TOGETHER = 10_000
"""So many items become findable at once, at most: their texts and views are held until then."""


class Newcomers:
    """Items that are stored and not findable yet. They become so together, as most of their words repeat."""

    def __init__(self, db: apsw.Connection, views_of: ViewsOf) -> None:
        self._db = db
        self._views_of = views_of
        self._waiting: list[tuple[int, Item, Views]] = []

    def add(self, no: int, item: Item, views: Views | None = None) -> None:
        """Take an item in; its views, unless they are given, are made now."""
        self._waiting.append((no, item, self._views_of(item) if views is None else views))
        if len(self._waiting) >= _TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Make them findable, before anybody looks for them or takes one out."""
        if self._waiting:
            _add(self._db, self._waiting)
            self._waiting = []


def _add(db: apsw.Connection, items: Sequence[tuple[int, Item, Views]]) -> None:
    # As JSON, in a few statements: a statement a row would take the interpreter's lock for each of them.
    db.execute(
        "INSERT INTO words(rowid, text, about) "
        "SELECT no, text, about FROM items WHERE no IN (SELECT value FROM json_each(?))",
        (_json([no for no, _, _ in items]),),
    )
    parts = {no: " ".join(views.identifiers) for no, _, views in items if views.identifiers}
    db.execute("INSERT INTO identifiers(rowid, parts) SELECT key, value FROM json_each(?)", (_json(parts),))
    mention(db, {no: views.entities for no, _, views in items if views.entities})
    spread: Counter[str] = Counter()
    for _, item, _ in items:
        spread.update(_vocabulary(item))
    _learn(db, spread)


def mention(db: apsw.Connection, names: Mapping[int, tuple[str, ...]]) -> None:
    """Let items be found by names, beside those they are found by already."""
    db.execute(
        "INSERT OR IGNORE INTO mentions "
        "SELECT name.value, item.key FROM json_each(?) item, json_each(item.value) name "
        "ORDER BY 1",  # as the table is, which is faster than in any other order
        (_json(names),),
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _learn(db: apsw.Connection, spread: Counter[str]) -> None:
    """Count in how many more items each word stands."""
    known = db.execute("SELECT max(id) FROM vocabulary").get or 0
    db.execute(
        "INSERT INTO vocabulary(word, items) SELECT key, value FROM json_each(?) WHERE TRUE ORDER BY 1 "
        "ON CONFLICT(word) DO UPDATE SET items = items + excluded.items",
        (_json(spread),),
    )
    db.execute("INSERT INTO trigrams(rowid, word) SELECT id, word FROM vocabulary WHERE id > ?", (known,))


def remove(db: apsw.Connection, no: int, item: Item) -> None:
    """Take an item out of every index; a word that no other item has goes with it."""
    db.execute(
        "INSERT INTO words(words, rowid, text, about) VALUES('delete', ?, ?, ?)", (no, item.text, item.about)
    )
    db.execute("DELETE FROM identifiers WHERE rowid = ?", (no,))
    db.execute("DELETE FROM mentions WHERE no = ?", (no,))
    for word in _vocabulary(item):
        db.execute("UPDATE vocabulary SET items = items - 1 WHERE word = ?", (word,))
        row = db.execute("SELECT id FROM vocabulary WHERE word = ? AND items <= 0", (word,)).fetchall()
        for (old,) in row:
            db.execute("INSERT INTO trigrams(trigrams, rowid, word) VALUES('delete', ?, ?)", (old, word))
            db.execute("DELETE FROM vocabulary WHERE id = ?", (old,))


def rebuild(db: apsw.Connection, workspace: str, views_of: ViewsOf) -> None:
    """Drop every derived table, without reading it, and make it again from the rows."""
    for table in DERIVED:
        _drop(db, table)
    db.execute(DERIVED_TABLES)
    newcomers = Newcomers(db, views_of)
    for no, item in _items(db, workspace):
        newcomers.add(no, item)
    newcomers.settle()


def check(db: apsw.Connection, workspace: str, views_of: ViewsOf) -> Iterator[Problem]:
    """Where an index and the rows disagree. Full-text tables are compared by the full-text engine itself."""
    for index in ("words", "identifiers", "trigrams"):
        try:
            db.execute(f"INSERT INTO {index}({index}, rank) VALUES('integrity-check', 1)")
        except apsw.Error as error:
            yield Problem(index, f"the index disagrees with the rows: {error}")
    yield from _compare(db, workspace, views_of)


def _compare(db: apsw.Connection, workspace: str, views_of: ViewsOf) -> Iterator[Problem]:
    spread: Counter[str] = Counter()
    parts: dict[int, str] = {}
    mentions: set[tuple[str, int]] = set()
    for no, item in _items(db, workspace):
        views = views_of(item)
        spread.update(_vocabulary(item))
        mentions.update((entity, no) for entity in views.entities)
        if views.identifiers:
            parts[no] = " ".join(views.identifiers)
    expected: list[tuple[str, object, str]] = [
        ("vocabulary", dict(spread), "SELECT word, items FROM vocabulary"),
        ("identifiers", parts, "SELECT rowid, parts FROM identifiers"),
        ("mentions", mentions, "SELECT entity, no FROM mentions"),
    ]
    for part, wanted, query in expected:
        try:
            rows: list[Any] = db.execute(query).fetchall()
        except apsw.Error as error:
            yield Problem(part, f"cannot be read: {error}")
            continue
        if wanted != (set(rows) if isinstance(wanted, set) else dict(rows)):
            yield Problem(part, "disagrees with the rows")


def _items(db: apsw.Connection, workspace: str) -> Iterator[tuple[int, Item]]:
    rows: list[Any] = db.execute(f"SELECT no, {COLUMNS} FROM items ORDER BY no").fetchall()
    for row in rows:
        yield row[0], item_of(workspace, row[1:])


def _vocabulary(item: Item) -> set[str]:
    # One by one: folding a text is ten times faster when all of it is ASCII, and surroundings rarely are.
    return {*words(item.text), *words(item.about)}


def _drop(db: apsw.Connection, table: str) -> None:
    """Drop a table even when it is damaged.

    A full-text table that cannot be opened is taken out of the schema, and its shadow tables by name.
    """
    try:
        db.execute(f"DROP TABLE IF EXISTS {table}")
    except apsw.Error:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM sqlite_schema WHERE name = ?", (table,))
        db.execute("PRAGMA writable_schema = RESET")
    for shadow in ("data", "idx", "content", "docsize", "config"):
        db.execute(f"DROP TABLE IF EXISTS {table}_{shadow}")
