"""Deletes items with everything that repeats them, and replaces the items of a file, in PostgreSQL.

The metadata of an item lists what it was made from. It is read here and not in SQL, because it is stored as
plain text.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from foreword.store.base import FileState, Stored, StoredFile
from foreword.store.deleting import question_repeats_texts_or_words
from foreword.store.postgres.indexing import remove_from_indexes
from foreword.store.postgres.transaction import filters_to_sql
from foreword.store.rows import as_stored_with_hash, metadata_to_json
from foreword.text.clean import join_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.store.base import Delete, DropFiles, ListFiles, PutFile
    from foreword.store.postgres.transaction import Transaction
    from foreword.types import Filters, Item

    NumberedItems = list[tuple[int, Item]]

_IS_DERIVED = """strpos(i.metadata, '"derived_from"') > 0"""
"""Worded as in the index `items_derived`, so that PostgreSQL uses that index."""

_TABLES_BY_NUMBER = ("vectors", "token_codes", "told", "claims", "items")


def delete_items(tx: Transaction, op: Delete) -> tuple[str, ...]:
    """Delete the items that `Delete` names, and those made from them. Returns the ids of all."""
    if op.filters is None:
        found = tx.select_numbered_items("i.id = ANY(?)", list(op.ids))
    else:
        found = _find_matching_and_derived_items(tx, op.filters)
    gone: list[Item] = []
    paths: set[str] = set()
    while found:
        paths |= _remove_items(tx, found)
        gone += [item for _, item in found]
        found = _find_items_made_from(tx, {item.id for _, item in found})
    ids = [item.id for item in gone]
    _clear_superseded_by(tx, ids)
    tx.execute(
        "DELETE FROM files f WHERE f.ws = ? AND f.path = ANY(?) AND NOT EXISTS"
        "(SELECT 1 FROM file_items l WHERE l.ws = f.ws AND l.path = f.path)",
        *(tx.ws, list(paths)),
    )
    if gone:
        _remove_field_from_receipts(tx, "view")
    if gone and not op.keep_copies:
        _remove_field_from_receipts(tx, "text")
    if not op.keep_copies:
        _delete_receipts_that_quote(tx, [item.text for item in gone], op.words)
    if op.filters is not None and op.filters.session is not None:
        _delete_session_receipts(tx, op.filters.session)
    return tuple(ids)


def _find_matching_and_derived_items(tx: Transaction, filters: Filters) -> NumberedItems:
    """The items that pass the filters and, if they name a source, those made from it."""
    clause, values = filters_to_sql(filters)
    found = dict(tx.select_numbered_items(clause, *values))
    if filters.source is not None:
        rest, values = filters_to_sql(replace(filters, source=None))
        derived = tx.select_numbered_items(f"{rest} AND {_IS_DERIVED}", *values)
        found |= {
            no: item for no, item in derived if filters.source in _metadata_strings(item, "derived_from")
        }
    return list(found.items())


def _find_items_made_from(tx: Transaction, ids: set[str]) -> NumberedItems:
    """The items that were made from items with these ids and repeat their words."""
    return [
        (number, item)
        for number, item in tx.select_numbered_items(_IS_DERIVED)
        if "derived_from" in item.metadata and not ids.isdisjoint(_metadata_strings(item, "turns"))
    ]


def _metadata_strings(item: Item, key: str) -> set[Any]:
    """The strings under a key of an item's metadata: its value, or the values of its list or mapping."""
    found = item.metadata.get(key, [])
    if isinstance(found, dict):
        found = list(found.values())
    return {value for value in (found if isinstance(found, list) else [found]) if isinstance(value, str)}


def _remove_items(tx: Transaction, items: NumberedItems) -> set[str]:
    """Remove items from every table. Returns the paths of the files they were made from."""
    numbers = [number for number, _ in items]
    remove_from_indexes(tx, items)
    tx.vectors.delete_vectors(tx, numbers)
    tx.execute(
        "DELETE FROM relations WHERE ws = ? AND (from_no = ANY(?) OR to_no = ANY(?))",
        *(tx.ws, numbers, numbers),
    )
    links = tx.execute(
        "DELETE FROM file_items WHERE ws = ? AND no = ANY(?) RETURNING path", tx.ws, numbers
    ).fetchall()
    for table in _TABLES_BY_NUMBER:
        tx.execute(f"DELETE FROM {table} WHERE ws = ? AND no = ANY(?)", tx.ws, numbers)
    tx.execute("UPDATE workspaces SET items = items - ? WHERE ws = ?", len(numbers), tx.ws)
    return {path for (path,) in links}


def _clear_superseded_by(tx: Transaction, gone_ids: list[str]) -> None:
    """Empty `superseded_by` of the items that were superseded by deleted ones."""
    tx.execute(
        "UPDATE items SET superseded_by = NULL WHERE ws = ? AND superseded_by = ANY(?)", tx.ws, gone_ids
    )


def _remove_field_from_receipts(tx: Transaction, field: str) -> None:
    """Remove the field `view` or `text` from all receipts: it repeats words of items, unknown of which."""
    query = "SELECT id, body FROM receipts WHERE ws = ? AND strpos(body, ?) > 0"
    for receipt_id, text in tx.execute(query, tx.ws, f'"{field}":').fetchall():
        body = json.loads(text)
        if body.pop(field, None) is None:
            continue
        stripped = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        tx.execute("UPDATE receipts SET body = ? WHERE ws = ? AND id = ?", stripped, tx.ws, receipt_id)


def _delete_receipts_that_quote(tx: Transaction, texts: Sequence[str], words: Sequence[str]) -> None:
    """Delete receipts whose question repeats a text or has all the words."""
    repeating = find_receipts_that_quote(tx, texts, words)
    tx.execute("DELETE FROM receipts WHERE ws = ? AND id = ANY(?)", tx.ws, repeating)


def find_receipts_that_quote(tx: Transaction, texts: Sequence[str], words: Sequence[str]) -> list[str]:
    """The ids of the receipts whose question repeats a text or has all the words."""
    if not texts and not words:
        return []
    joined = "\n".join(map(join_lines, texts))
    rows = tx.execute("SELECT id, body FROM receipts WHERE ws = ?", tx.ws).fetchall()
    questions = {receipt_id: str(json.loads(body).get("query") or "") for receipt_id, body in rows}
    return [
        name
        for name, query in questions.items()
        if query and question_repeats_texts_or_words(query, joined, words)
    ]


def find_items_to_delete(tx: Transaction, ids: Sequence[str]) -> list[Item]:
    """The items that deleting these ids would remove: those with the ids, and all made from them."""
    found: dict[str, Item] = {}
    fresh = tx.select_numbered_items("i.id = ANY(?)", list(ids))
    while fresh:
        found |= {item.id: item for _, item in fresh}
        derived = _find_items_made_from(tx, {item.id for _, item in fresh})
        fresh = [(number, item) for number, item in derived if item.id not in found]
    return list(found.values())


def _delete_session_receipts(tx: Transaction, session: str) -> None:
    """Delete the receipts of a session, and what it and its subagents were shown."""
    tx.execute("DELETE FROM receipts WHERE ws = ? AND session = ?", tx.ws, session)
    tx.execute(
        "DELETE FROM told WHERE ws = ? AND (session = ? OR starts_with(session, ?))",
        *(tx.ws, session, f"{session}/"),
    )


# Files


def list_files(tx: Transaction, _: ListFiles) -> dict[str, FileState]:
    """The state of every file, with the number of its items."""
    rows = tx.execute(
        "SELECT f.path, f.size, f.mtime_ns, f.hash, count(l.no) FROM files f "
        "LEFT JOIN file_items l ON l.ws = f.ws AND l.path = f.path WHERE f.ws = ? GROUP BY f.ws, f.path",
        tx.ws,
    )
    return {row[0]: FileState(*row) for row in rows}


def put_file(tx: Transaction, op: PutFile) -> StoredFile:
    """Store the items that a file contains now; outdated ones are removed first, which frees their ids."""
    path = op.state.path
    outdated = _outdated_item_numbers(tx, op)
    if outdated:
        tx.unindexed.flush()  # items that are not in the indexes yet cannot be removed from them
    gone = _unlink_items_from_files(tx, (path,), outdated)
    stored = tuple(
        result if result.new else _update_stored_metadata(tx, result, item)
        for item, result in zip(op.items, tx.put_items(op.items, op.views), strict=True)
    )
    tx.execute(
        "INSERT INTO file_items SELECT ws, ?, no FROM items WHERE ws = ? AND id = ANY(?) "
        "ON CONFLICT DO NOTHING",
        *(path, tx.ws, [result.item.id for result in stored]),
    )
    tx.execute(
        "INSERT INTO files VALUES(?, ?, ?, ?, ?) ON CONFLICT(ws, path) DO UPDATE SET "
        "size = excluded.size, mtime_ns = excluded.mtime_ns, hash = excluded.hash",
        *(tx.ws, path, op.state.size, op.state.mtime_ns, op.state.hash),
    )
    return StoredFile(stored, gone)


def drop_files(tx: Transaction, op: DropFiles) -> tuple[str, ...]:
    """Forget files and delete the items that belong to no other file. Returns the ids of these items."""
    gone = _unlink_items_from_files(tx, op.paths, _item_numbers_in_files(tx, op.paths))
    tx.execute("DELETE FROM files WHERE ws = ? AND path = ANY(?)", tx.ws, list(op.paths))
    return gone


def _item_numbers_in_files(
    tx: Transaction, paths: Iterable[str], clause: str = "TRUE", *values: object
) -> list[int]:
    """The numbers of the items of files that fulfil an SQL condition."""
    rows = tx.execute(
        "SELECT l.no FROM file_items l JOIN items i USING(ws, no) "
        f"WHERE l.ws = ? AND l.path = ANY(?) AND {clause}",
        *(tx.ws, list(paths), *values),
    )
    return [number for (number,) in rows]


def _outdated_item_numbers(tx: Transaction, op: PutFile) -> list[int]:
    """The numbers of the items that a file contained before and no longer contains."""
    paths = (op.state.path,)
    if op.keep_earlier:
        return _item_numbers_in_files(tx, paths, "i.id = ANY(?)", list(op.except_ids))
    hashes = [as_stored_with_hash(tx.workspace, item).hash for item in op.items]
    return _item_numbers_in_files(tx, paths, "NOT i.hash = ANY(?)", hashes)


def _unlink_items_from_files(
    tx: Transaction, paths: tuple[str, ...], item_numbers: list[int]
) -> tuple[str, ...]:
    """Unlink items from files and remove those that belong to no other file. Returns the ids of these."""
    if not item_numbers:
        return ()
    tx.execute(
        "DELETE FROM file_items WHERE ws = ? AND path = ANY(?) AND no = ANY(?)",
        *(tx.ws, list(paths), item_numbers),
    )
    unlinked = tx.select_numbered_items(
        "i.no = ANY(?) AND NOT EXISTS(SELECT 1 FROM file_items l WHERE l.ws = i.ws AND l.no = i.no)",
        item_numbers,
    )
    if unlinked:
        _remove_items(tx, unlinked)
        _clear_superseded_by(tx, [item.id for _, item in unlinked])
    return tuple(item.id for _, item in unlinked)


def _update_stored_metadata(tx: Transaction, stored: Stored, item: Item) -> Stored:
    """Update the metadata of an item that was stored before: its lines may have moved. Returns the result."""
    if dict(stored.item.metadata) == dict(item.metadata):
        return stored
    tx.execute(
        "UPDATE items SET metadata = ? WHERE ws = ? AND id = ?",
        *(metadata_to_json(item.metadata), tx.ws, stored.item.id),
    )
    return Stored(replace(stored.item, metadata=item.metadata), new=False)
