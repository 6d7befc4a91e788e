"""The indexes and other data that SQLite derives from rows: updated with each write, checked, and rebuilt.

The caller owns the transaction. `views` computes the code names and named things of an item from the item
alone, so that any index can be dropped and rebuilt from the rows.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import apsw

from foreword.store.base import Problem
from foreword.store.rows import IN_LIST, raise_damaged_if_malformed
from foreword.store.schema import DERIVED_NAMES, DERIVED_TABLES, write_transaction
from foreword.store.vectors import CodeFile, highest_vector_number, vector_rows_reader
from foreword.text.words import split_words
from foreword.types import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from foreword.store.base import Check, Repair
    from foreword.store.database import Transaction
    from foreword.store.vectors import VectorRow
    from foreword.types import Item, Views

_MAX_QUEUED = 10_000
"""At most this many items wait to be indexed together: their texts and views stay in memory until then."""

_REFERENCES = (
    ("relations", "from_no"),
    ("relations", "to_no"),
    ("vectors", "no"),
    ("token_codes", "no"),
    ("told", "no"),
    ("file_items", "no"),
)
"""The tables and columns that refer to items by number."""

_UNKNOWN_FILES = "FROM file_items WHERE path NOT IN (SELECT path FROM files)"

_KIND_BY_OUTDATED_FACT = {"unnamed": "memory", "unnamed code": "code"}
"""The facts that migrations leave behind, and the kind of items whose names must be indexed again."""


class IndexQueue:
    """Items that are stored but not indexed yet. Many are indexed at once, because most words repeat."""

    def __init__(
        self,
        views: Callable[[Item], Views],
        index_items: Callable[[Sequence[tuple[int, Item, Views]]], None],
    ) -> None:
        self._views = views
        self._index_items = index_items
        self._waiting_items: list[tuple[int, Item, Views]] = []

    def add(self, number: int, item: Item, views: Views | None = None) -> None:
        """Queue an item; its views are computed now unless they are given."""
        self._waiting_items.append((number, item, self._views(item) if views is None else views))
        if len(self._waiting_items) >= _MAX_QUEUED:
            self.flush()

    def flush(self) -> None:
        """Index the queued items. Must be called before items are searched for or removed."""
        if self._waiting_items:
            self._index_items(self._waiting_items)
            self._waiting_items = []


def add_items_to_indexes(tx: Transaction, numbered_items: Sequence[tuple[int, Item, Views]]) -> None:
    """Index the words, code names and named things of items; each item comes with its number and views."""
    # As JSON, in a few statements: one statement for each row would take the interpreter's lock each time.
    tx.execute(
        f"INSERT INTO words(rowid, text, about) SELECT no, text, about FROM items WHERE no {IN_LIST}",
        _to_json([number for number, _, _ in numbered_items]),
    )
    parts = {number: " ".join(views.identifiers) for number, _, views in numbered_items if views.identifiers}
    tx.execute("INSERT INTO identifiers(rowid, parts) SELECT key, value FROM json_each(?)", _to_json(parts))
    _add_names_to_index(tx, {number: views.entities for number, _, views in numbered_items if views.entities})
    spread: Counter[str] = Counter()
    for _, item, _ in numbered_items:
        spread.update(distinct_words_of_item(item))
    known = tx.select_value("SELECT max(id) FROM vocabulary") or 0
    tx.execute(
        "INSERT INTO vocabulary(word, items) SELECT key, value FROM json_each(?) WHERE TRUE ORDER BY 1 "
        "ON CONFLICT(word) DO UPDATE SET items = items + excluded.items",
        _to_json(spread),
    )
    tx.execute("INSERT INTO trigrams(rowid, word) SELECT id, word FROM vocabulary WHERE id > ?", known)


def _add_names_to_index(tx: Transaction, names_by_number: Mapping[int, tuple[str, ...]]) -> None:
    """Index the names that items mention, given by item number."""
    tx.execute(
        "INSERT OR IGNORE INTO mentions "
        "SELECT name.value, item.key FROM json_each(?) item, json_each(item.value) name "
        "ORDER BY 1",  # in the order of the table's key, which is faster than any other
        _to_json(names_by_number),
    )


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def distinct_words_of_item(item: Item) -> set[str]:
    """The words of an item's `text` and `about`, each once."""
    # Separately: folding a text is ten times faster when all of it is ASCII, and `about` rarely is.
    return {*split_words(item.text), *split_words(item.about)}


def remove_from_indexes(tx: Transaction, number: int, item: Item) -> None:
    """Remove an item from every index; a word that no other item has is removed from the vocabulary."""
    row = (number, item.text, item.about)
    tx.execute("INSERT INTO words(words, rowid, text, about) VALUES('delete', ?, ?, ?)", *row)
    tx.execute("DELETE FROM identifiers WHERE rowid = ?", number)
    tx.execute("DELETE FROM mentions WHERE no = ?", number)
    for word in distinct_words_of_item(item):
        tx.execute("UPDATE vocabulary SET items = items - 1 WHERE word = ?", word)
        unused = tx.select_value("SELECT id FROM vocabulary WHERE word = ? AND items <= 0", word)
        if unused is not None:
            tx.execute("INSERT INTO trigrams(trigrams, rowid, word) VALUES('delete', ?, ?)", unused, word)
            tx.execute("DELETE FROM vocabulary WHERE id = ?", unused)


def reindex_names_after_upgrade(tx: Transaction) -> None:
    """Index names again if an older Foreword found them in another way; called when a database is opened.

    A migration leaves a fact behind if this is needed. The fact is deleted in the same transaction, so that
    an interrupted run starts again.
    """
    known = "SELECT 1 FROM facts WHERE key = ?"
    for fact, kind in _KIND_BY_OUTDATED_FACT.items():
        if tx.select_value(known, fact):
            with write_transaction(tx.db):
                if tx.select_value(known, fact):  # another process may have done it meanwhile
                    tx.execute("DELETE FROM mentions WHERE no IN (SELECT no FROM items WHERE kind = ?)", kind)
                    items = tx.select_numbered_items("WHERE kind = ?", kind)
                    _add_names_to_index(tx, {number: tx.views(item).entities for number, item in items})
                    tx.execute("DELETE FROM facts WHERE key = ?", fact)


# Checking and repairing


def find_problems(tx: Transaction, _: Check | Repair) -> tuple[Problem, ...]:
    """Every disagreement between the rows and the data derived from them."""
    with raise_damaged_if_malformed():
        return tuple(_find_all_problems(tx))


def _find_all_problems(tx: Transaction) -> Iterator[Problem]:
    """Every problem of the database, its rows, its indexes and its code files."""
    try:
        verdict = [row[0] for row in tx.execute("PRAGMA integrity_check(10)")]
    except apsw.Error as error:  # a table that cannot even be opened
        verdict = [error]
    if verdict != ["ok"]:
        yield Problem("database", "; ".join(map(str, verdict)))
    items = tx.select_numbered_items("ORDER BY i.no")
    if wrong := sum(content_hash(item) != item.hash for _, item in items):
        yield Problem("items", f"{wrong} rows do not match the hash of their content")
    for index in ("words", "identifiers", "trigrams"):  # compared by the full-text engine itself
        try:
            tx.execute(f"INSERT INTO {index}({index}, rank) VALUES('integrity-check', 1)")
        except apsw.ReadOnlyError:
            raise  # that nothing can be written says nothing about the index
        except apsw.Error as error:
            yield Problem(index, f"the index disagrees with the rows: {error}")
    yield from _find_problems_in_small_indexes(tx, items)
    yield from _find_problems_in_vector_files(tx) if tx.vectors is None else tx.vectors.find_problems(tx)
    for table, column in _REFERENCES:
        if orphans := tx.select_value(
            f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT no FROM items)"
        ):
            yield Problem(table, f"{orphans} rows speak of items that are not there")
    if unknown := tx.select_value(f"SELECT count(*) {_UNKNOWN_FILES}"):
        yield Problem("file_items", f"{unknown} rows speak of files that are not there")


def _find_problems_in_small_indexes(tx: Transaction, items: Sequence[tuple[int, Item]]) -> Iterator[Problem]:
    """Compute the small indexes from the items and compare them with the tables."""
    spread: Counter[str] = Counter()
    parts: dict[int, str] = {}
    mentions: set[tuple[str, int]] = set()
    for number, item in items:
        views = tx.views(item)
        spread.update(distinct_words_of_item(item))
        mentions.update((entity, number) for entity in views.entities)
        if views.identifiers:
            parts[number] = " ".join(views.identifiers)
    expected: list[tuple[str, object, str]] = [
        ("vocabulary", dict(spread), "SELECT word, items FROM vocabulary"),
        ("identifiers", parts, "SELECT rowid, parts FROM identifiers"),
        ("mentions", mentions, "SELECT entity, no FROM mentions"),
    ]
    for part, wanted, query in expected:
        try:
            rows: list[Any] = tx.execute(query).fetchall()
        except apsw.Error as error:
            yield Problem(part, f"cannot be read: {error}")
            continue
        if wanted != (set(rows) if isinstance(wanted, set) else dict(rows)):
            yield Problem(part, "disagrees with the rows")


def _list_encoders_with_dimensions(tx: Transaction) -> list[tuple[str, str, int]]:
    """Every space and digest that has vectors, and the length of its vectors."""
    rows: list[Any] = tx.execute(
        "SELECT space, digest, length(code) FROM vectors GROUP BY space, digest ORDER BY space, digest"
    ).fetchall()
    return rows


def _find_problems_in_vector_files(tx: Transaction) -> Iterator[Problem]:
    """Compare every code file with the rows it repeats."""
    to_erase = {number for (number,) in tx.execute("SELECT no FROM erased")}
    known = set()
    for space, digest, dimensions in _list_encoders_with_dimensions(tx):
        file = tx.database.get_vector_code_file(space, digest, dimensions)
        known.add(file.path.name)
        if file.is_damaged:
            yield Problem(file.path.name, "the vector file cannot be used")
        elif file.last_sequence > highest_vector_number(tx) or not _file_agrees_with_rows(
            file, vector_rows_reader(tx, space, digest)(0), to_erase
        ):
            yield Problem(file.path.name, "the vector file disagrees with the rows")
    for file in CodeFile.list_in_folder(tx.database.path.parent):
        if file.path.name not in known and (file.is_damaged or file.codes_by_item().keys() - to_erase):
            yield Problem(file.path.name, "the vector file holds what no row has")


def _file_agrees_with_rows(file: CodeFile, rows: Sequence[VectorRow], numbers_to_erase: set[int]) -> bool:
    """Whether file and rows agree, except for rows newer than the file and items about to be erased."""
    last, contents = file.last_sequence, file.codes_by_item()
    expected = {number: code for sequence, number, code in rows if sequence <= last}
    ignored = numbers_to_erase | {number for sequence, number, _ in rows if sequence > last}
    return expected == {number: code for number, code in contents.items() if number not in ignored}


def rebuild_derived_data(tx: Transaction, op: Repair) -> tuple[Problem, ...]:
    """Compute all derived data again from the rows. Returns the problems that are left."""
    for table in DERIVED_NAMES:
        _drop_even_damaged_table(tx, table)
    tx.execute(DERIVED_TABLES)
    for number, item in tx.select_numbered_items("ORDER BY i.no"):
        tx.unindexed.add(number, item)
        if (right := content_hash(item)) != item.hash:
            tx.execute("UPDATE OR IGNORE items SET hash = ? WHERE no = ?", right, number)
    tx.unindexed.flush()
    for table, column in _REFERENCES:
        tx.execute(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT no FROM items)")
    # A file without a state gets one that no real file has, so that it is read again; its items stay.
    tx.execute(f"INSERT INTO files SELECT DISTINCT path, -1, 0, '' {_UNKNOWN_FILES}")
    rebuild_search_copy_of_vectors(tx)
    return find_problems(tx, op)


def rebuild_search_copy_of_vectors(tx: Transaction) -> None:
    """Write anew, from the rows, what searches read the vectors from: the code files, or a vector server."""
    for file in CodeFile.list_in_folder(tx.database.path.parent):
        file.remove()
    if tx.vectors is not None:
        tx.vectors.rebuild(tx)
        return
    for space, digest, dimensions in _list_encoders_with_dimensions(tx):
        tx.database.get_vector_code_file(space, digest, dimensions).rebuild(
            vector_rows_reader(tx, space, digest)
        )


def _drop_even_damaged_table(tx: Transaction, table: str) -> None:
    """Drop a table even if it is damaged.

    A full-text table that cannot be opened is deleted from the schema; its shadow tables are dropped by name.
    """
    try:
        tx.execute(f"DROP TABLE IF EXISTS {table}")
    except apsw.Error:
        tx.execute("PRAGMA writable_schema = ON")
        tx.execute("DELETE FROM sqlite_schema WHERE name = ?", table)
        tx.execute("PRAGMA writable_schema = RESET")
    for shadow in ("data", "idx", "content", "docsize", "config"):
        tx.execute(f"DROP TABLE IF EXISTS {table}_{shadow}")
