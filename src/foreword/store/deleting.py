"""Deletes items so that nothing is left of them, and replaces the items of a file.

With an item, everything derived from it or repeating its words is deleted. An item whose metadata has
`derived_from` was made from others: `derived_from` lists their sources, and `turns` the items whose words it
repeats.

Replacing the items of a file does less: rows and indexes are updated, but the database is not rewritten to
overwrite every trace. The next `Delete` causes that for these traces too.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from foreword.store import indexes
from foreword.store.base import FileState, Stored, StoredFile
from foreword.store.rows import IN_LIST, as_stored_with_hash, filters_to_sql, metadata_to_json
from foreword.text.clean import join_lines
from foreword.text.words import has_all_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.store.base import Delete, DropFiles, ListFiles, PutFile
    from foreword.store.database import Transaction
    from foreword.types import Filters, Item

_MIN_LINE_CHARACTERS = 20
"""A shorter line of a question may occur in a text by chance."""

_IS_DERIVED = """instr(i.metadata, '"derived_from"') > 0"""
"""Worded as in the index `items_derived`, so that SQLite uses that index."""

_FROM_SOURCE = (
    f"{_IS_DERIVED} AND EXISTS(SELECT 1 FROM json_each(i.metadata, '$.derived_from') WHERE value = ?)"
)
_FROM_ITEMS = (
    f"{_IS_DERIVED} AND EXISTS"
    f"(SELECT 1 FROM json_each(i.metadata, '$.turns') AS turn WHERE turn.value {IN_LIST})"
)


def delete_items(tx: Transaction, op: Delete) -> tuple[str, ...]:
    """Delete the items that `Delete` names, and those made from them. Returns the ids of all."""
    clauses: list[tuple[str, list[object]]] = [(f"i.id {IN_LIST}", [json.dumps(op.ids)])]
    if op.filters is not None:
        clauses = _sql_for_items_and_derived(op.filters)
    gone: list[str] = []
    texts: list[str] = []
    paths: set[str] = set()
    while clauses:
        found: list[str] = []
        for clause, values in clauses:
            items, their_paths = _remove_matching_items(tx, clause, values)
            found += [item.id for item in items]
            texts += [item.text for item in items]
            paths |= their_paths
        clauses = [(_FROM_ITEMS, [json.dumps(found)])] if found else []
        gone += found
    _clear_superseded_by(tx, gone)
    tx.execute(
        f"DELETE FROM files WHERE path {IN_LIST} AND path NOT IN (SELECT path FROM file_items)",
        json.dumps(list(paths)),
    )
    if gone:
        # A view repeats words of items, and it is unknown of which.
        tx.execute(
            """UPDATE receipts SET body = json_remove(body, '$.view') WHERE instr(body, '"view":{') > 0"""
        )
    if gone and not op.keep_copies:
        tx.execute("UPDATE receipts SET body = json_remove(body, '$.text')")
    receipts = 0 if op.keep_copies else _delete_receipts_that_quote(tx, texts, op.words)
    if not op.keep_copies and (gone or receipts):
        tx.execute("INSERT OR REPLACE INTO facts VALUES('outdated copies', '')")  # removed after the commit
        tx.execute(
            "INSERT INTO facts VALUES('forgets', '1') ON CONFLICT(key) DO UPDATE SET value = value + 1"
        )
    if gone or receipts or tx.select_value("SELECT 1 FROM facts WHERE key = 'replaced'"):
        # SQLite overwrites deleted text where it is, but not where it was before a page was split: the
        # database has to be rewritten, at the next check or when it is closed.
        tx.execute("INSERT OR REPLACE INTO facts VALUES('unswept', ?)", secrets.token_hex(8))
        tx.execute("DELETE FROM facts WHERE key = 'replaced'")
    if op.filters is not None and op.filters.session is not None:
        tx.execute("DELETE FROM receipts WHERE session = ?", op.filters.session)
        session = op.filters.session
        tx.execute("DELETE FROM told WHERE session = ?", session)
        tx.execute("DELETE FROM told WHERE substr(session, 1, length(?1)) = ?1", f"{session}/")
    return tuple(gone)


def _delete_receipts_that_quote(tx: Transaction, texts: Sequence[str], words: Sequence[str]) -> int:
    """Delete receipts whose question repeats a text or has all the words. Returns how many."""
    repeating = find_receipts_that_quote(tx, texts, words)
    tx.execute(f"DELETE FROM receipts WHERE id {IN_LIST}", json.dumps(repeating))
    return len(repeating)


def find_receipts_that_quote(tx: Transaction, texts: Sequence[str], words: Sequence[str]) -> list[str]:
    """The ids of the receipts whose question repeats a text or has all the words."""
    joined = "\n".join(map(join_lines, texts))
    rows = tx.execute("SELECT id, json_extract(body, '$.query') FROM receipts").fetchall()
    return [
        str(name)
        for name, query in rows
        if query and question_repeats_texts_or_words(str(query), joined, words)
    ]


def find_items_to_delete(tx: Transaction, ids: Sequence[str]) -> list[Item]:
    """The items that deleting these ids would remove: those with the ids, and all made from them."""
    found: dict[str, Item] = {}
    clause, names = f"i.id {IN_LIST}", list(ids)
    while names:
        fresh = [
            item for item in tx.select_items(f"WHERE {clause}", json.dumps(names)) if item.id not in found
        ]
        found |= {item.id: item for item in fresh}
        clause, names = _FROM_ITEMS, [item.id for item in fresh]
    return list(found.values())


def question_repeats_texts_or_words(question: str, joined_texts: str, words: Sequence[str]) -> bool:
    """Whether a long line of a question (or all of a short one) is in the texts, or it has all the words."""
    lines = (join_lines(line) for line in re.split(r"\n| … ", question))
    long_lines = [line for line in lines if len(line) >= _MIN_LINE_CHARACTERS] or [join_lines(question)]
    return any(line in joined_texts for line in long_lines) or (
        bool(words) and has_all_words(question, words)
    )


def _sql_for_items_and_derived(filters: Filters) -> list[tuple[str, list[object]]]:
    """SQL conditions for the items that pass the filters and, if they name a source, those made from it."""
    clauses = [filters_to_sql(filters)]
    if filters.source is not None:
        rest, values = filters_to_sql(replace(filters, source=None))
        clauses.append((f"{rest} AND {_FROM_SOURCE}", [*values, filters.source]))
    return clauses


def _remove_matching_items(
    tx: Transaction, clause: str, values: Sequence[object]
) -> tuple[list[Item], set[str]]:
    """Remove items from every table. Returns them, and the paths of the files they were made from."""
    items = tx.select_numbered_items(f"WHERE {clause}", *values)
    if tx.vectors is not None:
        tx.vectors.delete_vectors(tx, [number for number, _ in items])
    paths: set[str] = set()
    for number, item in items:
        indexes.remove_from_indexes(tx, number, item)
        tx.execute("DELETE FROM relations WHERE from_no = ?1 OR to_no = ?1", number)
        tx.execute("DELETE FROM vectors WHERE no = ?", number)
        tx.execute("DELETE FROM token_codes WHERE no = ?", number)
        tx.execute("DELETE FROM claims WHERE no = ?", number)
        tx.execute("DELETE FROM told WHERE no = ?", number)
        links = tx.execute("DELETE FROM file_items WHERE no = ? RETURNING path", number)
        paths.update(path for (path,) in links)
        tx.execute("DELETE FROM items WHERE no = ?", number)
        tx.execute("INSERT INTO erased VALUES(?)", number)
    return [item for _, item in items], paths


def _clear_superseded_by(tx: Transaction, gone_ids: list[str]) -> None:
    """Empty `superseded_by` of the items that were superseded by deleted ones."""
    tx.execute(f"UPDATE items SET superseded_by = NULL WHERE superseded_by {IN_LIST}", json.dumps(gone_ids))


# Files


def list_files(tx: Transaction, _: ListFiles) -> dict[str, FileState]:
    """The state of every file, with the number of its items."""
    rows = tx.execute(
        "SELECT f.path, f.size, f.mtime_ns, f.hash, count(l.no) "
        "FROM files f LEFT JOIN file_items l USING(path) GROUP BY f.path"
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
    ids = json.dumps([result.item.id for result in stored])
    tx.execute(f"INSERT OR IGNORE INTO file_items SELECT ?, no FROM items WHERE id {IN_LIST}", path, ids)
    state = (path, op.state.size, op.state.mtime_ns, op.state.hash)
    tx.execute("INSERT OR REPLACE INTO files VALUES(?, ?, ?, ?)", *state)
    return StoredFile(stored, gone)


def drop_files(tx: Transaction, op: DropFiles) -> tuple[str, ...]:
    """Forget files and delete the items that belong to no other file. Returns the ids of these items."""
    gone = _unlink_items_from_files(tx, op.paths, _item_numbers_in_files(tx, op.paths))
    tx.execute(f"DELETE FROM files WHERE path {IN_LIST}", json.dumps(op.paths))
    return gone


def _item_numbers_in_files(
    tx: Transaction, paths: tuple[str, ...], clause: str = "TRUE", *values: str
) -> list[int]:
    """The numbers of the items of files that fulfil an SQL condition."""
    rows = tx.execute(
        f"SELECT l.no FROM file_items l JOIN items i USING(no) WHERE l.path {IN_LIST} AND {clause}",
        *(json.dumps(paths), *values),
    )
    return [number for (number,) in rows]


def _outdated_item_numbers(tx: Transaction, op: PutFile) -> list[int]:
    """The numbers of the items that a file contained before and no longer contains."""
    paths = (op.state.path,)
    if op.keep_earlier:
        return _item_numbers_in_files(tx, paths, f"i.id {IN_LIST}", json.dumps(op.except_ids))
    if not tx.select_value("SELECT 1 FROM file_items WHERE path = ?", *paths):
        return []  # a new file: its items are hashed once, when they are put
    hashes = [as_stored_with_hash(tx.workspace, item).hash for item in op.items]
    return _item_numbers_in_files(tx, paths, f"i.hash NOT {IN_LIST}", json.dumps(hashes))


def _unlink_items_from_files(
    tx: Transaction, paths: tuple[str, ...], item_numbers: list[int]
) -> tuple[str, ...]:
    """Unlink items from files and remove those that belong to no other file. Returns the ids of these."""
    if not item_numbers:
        return ()
    links = (json.dumps(paths), json.dumps(item_numbers))
    tx.execute(f"DELETE FROM file_items WHERE path {IN_LIST} AND no {IN_LIST}", *links)
    unlinked = f"i.no {IN_LIST} AND NOT EXISTS(SELECT 1 FROM file_items l WHERE l.no = i.no)"
    items, _ = _remove_matching_items(tx, unlinked, links[1:])
    gone = [item.id for item in items]
    if gone:
        _clear_superseded_by(tx, gone)
        tx.execute("INSERT OR REPLACE INTO facts VALUES('replaced', '')")
    return tuple(gone)


def _update_stored_metadata(tx: Transaction, stored: Stored, item: Item) -> Stored:
    """Update the metadata of an item that was stored before: its lines may have moved. Returns the result."""
    if dict(stored.item.metadata) == dict(item.metadata):
        return stored
    tx.execute("UPDATE items SET metadata = ? WHERE id = ?", metadata_to_json(item.metadata), stored.item.id)
    return Stored(replace(stored.item, metadata=item.metadata), new=False)
