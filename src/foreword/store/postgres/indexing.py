"""The indexes that PostgreSQL derives from rows (words, names, vocabulary): updated, checked and rebuilt.

Words are split as FTS5 splits them and stored as postings: how often an item has a stem, and how long the
item is. Everything is written in batches, from arrays.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from foreword.store.base import Problem
from foreword.store.indexes import distinct_words_of_item
from foreword.store.postgres.arrays import number_array_literal, text_array_literal
from foreword.store.rows import raise_damaged_if_malformed
from foreword.store.stems import split_for_index
from foreword.types import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from foreword.store.base import Check, Repair
    from foreword.store.postgres.transaction import Transaction
    from foreword.types import Item, Views

    Numbered = Sequence[tuple[int, Item, Views]]

INDEXES = ("words", "identifiers")
_MAX_KEY_CHARACTERS = 200
_DERIVED_TABLES = ("postings", "stems", "trigrams", "vocabulary", "mentions")
_REFERENCES = (
    *(("relations", "from_no"), ("relations", "to_no"), ("vectors", "no"), ("token_codes", "no")),
    *(("told", "no"), ("file_items", "no")),
)
"""The tables and columns that refer to items by number."""

_NO_SUCH_ITEM = "NOT EXISTS(SELECT 1 FROM items i WHERE i.ws = t.ws AND i.no = t.{column})"
_NO_SUCH_FILE = "NOT EXISTS(SELECT 1 FROM files f WHERE f.ws = t.ws AND f.path = t.path)"


def to_index_key(word: str) -> str:
    """A word as the indexes store it: a long one as its beginning and a hash, and without NUL."""
    word = word.replace("\0", " ")
    if len(word) <= _MAX_KEY_CHARACTERS:
        return word
    return word[:40] + "\x01" + hashlib.blake2b(word.encode(), digest_size=16).hexdigest()


def split_item_for_index(index: str, item: Item, views: Views) -> list[list[str]]:
    """The words of each column of an item in an index; an empty list if the index leaves the item out."""
    if index == "words":
        return [split_for_index(index, item.text), split_for_index(index, item.about)]
    return [split_for_index(index, " ".join(views.identifiers))] if views.identifiers else []


def _count_stems_in_item(index: str, item: Item, views: Views) -> tuple[bool, Counter[str]]:
    """Whether an index contains an item, and how often the item has each stem."""
    columns = split_item_for_index(index, item, views)
    return bool(columns), Counter(to_index_key(stem) for column in columns for stem in column)


# Adding


def add_items_to_indexes(tx: Transaction, items: Numbered) -> None:
    """Index the words, code names and named things of items; each item comes with its number and views."""
    for index in INDEXES:
        counted = [(number, *_count_stems_in_item(index, item, views)) for number, item, views in items]
        _add_postings(tx, index, [(number, stems) for number, _, stems in counted if stems])
        _change_totals(tx, index, [stems for _, is_in, stems in counted if is_in], 1)
    mentions = {(to_index_key(name), number) for number, _, views in items for name in views.entities}
    tx.execute(
        "INSERT INTO mentions SELECT ?, * FROM unnest(?::text[], ?::integer[]) ON CONFLICT DO NOTHING",
        *(
            tx.ws,
            text_array_literal([name for name, _ in mentions]),
            number_array_literal(number for _, number in mentions),
        ),
    )
    _add_vocabulary(tx, _count_items_with_each_word(item for _, item, _ in items))


def _change_totals(tx: Transaction, index: str, counted: Sequence[Counter[str]], sign: int) -> None:
    """Add items to the totals of an index (items, words), or subtract them if `sign` is -1."""
    tokens = sum(stems.total() for stems in counted)
    tx.execute(
        f"UPDATE workspaces SET {index}_rows = {index}_rows + ?, {index}_tokens = {index}_tokens + ? "
        "WHERE ws = ?",
        *(sign * len(counted), sign * tokens, tx.ws),
    )


def _add_postings(tx: Transaction, index: str, counted: Sequence[tuple[int, Counter[str]]]) -> None:
    """Store how often each item has each stem."""
    item_counts = Counter(stem for _, stems in counted for stem in stems)
    ids, _ = _increase_item_counts(tx, "stems", "stem", item_counts, index)
    rows = [
        (ids[stem], number, stems.total(), often)
        for number, stems in counted
        for stem, often in stems.items()
    ]
    tx.execute(
        "INSERT INTO postings(stem, ws, no, length, frequency) SELECT s, ?, n, l, f "
        "FROM unnest(?::bigint[], ?::integer[], ?::integer[], ?::integer[]) AS p(s, n, l, f)",
        *(tx.ws, *map(number_array_literal, _rows_to_columns(rows, 4))),
    )


def _rows_to_columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    """Rows as one list for each column; `width` empty lists if there are no rows."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def _increase_item_counts(
    tx: Transaction, table: str, column: str, item_counts: Mapping[str, int], index: str = ""
) -> tuple[dict[str, int], list[str]]:
    """Add to the item counts of words in a table; missing words are inserted.

    `item_counts` has for each word how many items it gains. Returns the ids of all words, and those that were
    missing.
    """
    words = sorted(item_counts)
    own = "t.ws = ? AND t.index = ?" if index else "t.ws = ?"
    values = (tx.ws, index) if index else (tx.ws,)
    ids = dict(
        tx.execute(
            f"UPDATE {table} t SET items = t.items + n.items FROM unnest(?::text[], ?::integer[]) "
            f"AS n(word, items) WHERE {own} AND t.{column} = n.word RETURNING t.{column}, t.id",
            *(text_array_literal(words), number_array_literal(item_counts[word] for word in words), *values),
        ).fetchall()
    )
    missing = [word for word in words if word not in ids]
    names = f"ws, {'index, ' if index else ''}{column}, items"
    marks = "?, ?" if index else "?"
    rows = tx.execute(
        f"INSERT INTO {table}({names}) SELECT {marks}, n.word, n.items "
        f"FROM unnest(?::text[], ?::integer[]) AS n(word, items) RETURNING {column}, id",
        *(*values, text_array_literal(missing), number_array_literal(item_counts[word] for word in missing)),
    )
    return ids | dict(rows.fetchall()), missing


def _count_items_with_each_word(items: Iterable[Item]) -> Counter[str]:
    """For each word, how many of the items have it."""
    item_counts: Counter[str] = Counter()
    for item in items:
        item_counts.update({to_index_key(word) for word in distinct_words_of_item(item)})
    return item_counts


def _add_vocabulary(tx: Transaction, item_counts: Mapping[str, int]) -> None:
    """Add words to the vocabulary, with how many more items have each; new words get their trigrams."""
    ids, new = _increase_item_counts(tx, "vocabulary", "word", item_counts)
    rows = [(gram, len(word), ids[word]) for word in new for gram in split_into_trigrams(word)]
    grams, lengths, words = _rows_to_columns(rows, 3)
    tx.execute(
        "INSERT INTO trigrams SELECT ?, * FROM unnest(?::text[], ?::integer[], ?::bigint[])",
        *(tx.ws, text_array_literal(grams), number_array_literal(lengths), number_array_literal(words)),
    )


def split_into_trigrams(word: str) -> set[str]:
    """All sequences of three letters in a word."""
    return {word[at : at + 3] for at in range(len(word) - 2)}


# Removing

# Each row is looked up by its key: as a plain join, in a small workspace beside a large one, every row of the
# workspace was compared with every row to delete, since the planner expects next to none there.
_DELETE_POSTINGS = (
    "DELETE FROM postings WHERE ctid = ANY(ARRAY(SELECT found.place FROM "
    "unnest(?::bigint[], ?::integer[]) AS d(stem, no) CROSS JOIN LATERAL (SELECT p.ctid AS place "
    "FROM postings p WHERE p.ws = ? AND p.stem = d.stem AND p.no = d.no OFFSET 0) AS found))"
)


def remove_from_indexes(tx: Transaction, items: Sequence[tuple[int, Item]]) -> None:
    """Remove items from every index; words that no other item has are removed from the vocabulary."""
    seen = [(number, item, tx.views(item)) for number, item in items]
    for index in INDEXES:
        counted = [(number, *_count_stems_in_item(index, item, views)) for number, item, views in seen]
        item_counts = Counter(stem for _, _, stems in counted for stem in stems)
        ids = _decrease_item_counts(tx, "stems", "stem", item_counts, index)
        rows = [(ids[stem], number) for number, _, stems in counted for stem in stems if stem in ids]
        tx.execute(_DELETE_POSTINGS, *(*map(number_array_literal, _rows_to_columns(rows, 2)), tx.ws))
        _change_totals(tx, index, [stems for _, is_in, stems in counted if is_in], -1)
    tx.execute("DELETE FROM mentions WHERE ws = ? AND no = ANY(?)", tx.ws, [number for number, _ in items])
    _decrease_item_counts(tx, "vocabulary", "word", _count_items_with_each_word(item for _, item in items))


def _decrease_item_counts(
    tx: Transaction, table: str, column: str, item_counts: Mapping[str, int], index: str = ""
) -> dict[str, int]:
    """Subtract from the item counts of words in a table; words that no item has any more are deleted.

    Returns the ids of all words.
    """
    own = "t.ws = ? AND t.index = ?" if index else "t.ws = ?"
    values = (tx.ws, index) if index else (tx.ws,)
    rows = tx.execute(
        f"UPDATE {table} t SET items = t.items - n.items FROM unnest(?::text[], ?::integer[]) "
        f"AS n(word, items) WHERE {own} AND t.{column} = n.word RETURNING t.{column}, t.id, t.items",
        *(text_array_literal(list(item_counts)), number_array_literal(item_counts.values()), *values),
    ).fetchall()
    unused = [number for _, number, left in rows if left <= 0]
    tx.execute(f"DELETE FROM {table} WHERE ws = ? AND id = ANY(?)", tx.ws, unused)
    if table == "vocabulary":
        tx.execute("DELETE FROM trigrams WHERE ws = ? AND word = ANY(?)", tx.ws, unused)
    return {word: number for word, number, _ in rows}


# Checking and repairing


def find_problems(tx: Transaction, _: Check | Repair) -> tuple[Problem, ...]:
    """Every disagreement between the rows and the data derived from them."""
    with raise_damaged_if_malformed():
        return tuple(_find_all_problems(tx))


def _find_all_problems(tx: Transaction) -> Iterator[Problem]:
    """Every problem of the workspace's rows, indexes and vectors."""
    items = [
        (number, item, tx.views(item)) for number, item in tx.select_numbered_items("TRUE ORDER BY i.no")
    ]
    if wrong := sum(content_hash(item) != item.hash for _, item, _ in items):
        yield Problem("items", f"{wrong} rows do not match the hash of their content")
    for index in INDEXES:
        yield from _find_problems_in_index(tx, index, items)
    vocabulary = dict(_count_items_with_each_word(item for _, item, _ in items))
    if vocabulary != _select_pairs(tx, "SELECT word, items FROM vocabulary WHERE ws = ?"):
        yield Problem("vocabulary", "disagrees with the rows")
    grams = {(gram, word) for word in vocabulary for gram in split_into_trigrams(word)}
    rows = tx.execute(
        "SELECT t.gram, v.word FROM trigrams t LEFT JOIN vocabulary v ON v.ws = t.ws AND v.id = t.word "
        "WHERE t.ws = ?",
        tx.ws,
    )
    if grams != set(rows.fetchall()):
        yield Problem("trigrams", "disagrees with the vocabulary")
    mentions = {(to_index_key(entity), number) for number, _, views in items for entity in views.entities}
    if mentions != set(tx.execute("SELECT entity, no FROM mentions WHERE ws = ?", tx.ws).fetchall()):
        yield Problem("mentions", "disagrees with the rows")
    yield from tx.vectors.find_problems(tx)
    for table, column in _REFERENCES:
        clause = _NO_SUCH_ITEM.format(column=column)
        if orphans := tx.select_value(f"SELECT count(*) FROM {table} t WHERE t.ws = ? AND {clause}", tx.ws):
            yield Problem(table, f"{orphans} rows speak of items that are not there")
    if unknown := tx.select_value(
        f"SELECT count(*) FROM file_items t WHERE t.ws = ? AND {_NO_SUCH_FILE}", tx.ws
    ):
        yield Problem("file_items", f"{unknown} rows speak of files that are not there")


def _select_pairs(tx: Transaction, sql: str) -> dict[Any, Any]:
    """The two columns of a statement's rows as a mapping; the workspace is its only value."""
    return dict(tx.execute(sql, tx.ws).fetchall())


def _find_problems_in_index(tx: Transaction, index: str, items: Numbered) -> Iterator[Problem]:
    """Compute an index from the items and compare it with the tables."""
    expected: set[tuple[str, int, int, int]] = set()
    totals = [0, 0]
    for number, item, views in items:
        is_in, stems = _count_stems_in_item(index, item, views)
        totals = [totals[0] + is_in, totals[1] + stems.total()]
        expected |= {(stem, number, stems.total(), often) for stem, often in stems.items()}
    rows = tx.execute(
        "SELECT s.stem, p.no, p.length, p.frequency FROM stems s JOIN postings p ON p.stem = s.id "
        "AND p.ws = s.ws WHERE s.ws = ? AND s.index = ?",
        *(tx.ws, index),
    )
    counts = dict(
        tx.execute("SELECT stem, items FROM stems WHERE ws = ? AND index = ?", tx.ws, index).fetchall()
    )
    noted = tx.execute(f"SELECT {index}_rows, {index}_tokens FROM workspaces WHERE ws = ?", tx.ws).fetchone()
    item_counts = Counter(stem for stem, _, _, _ in expected)
    if expected != set(rows.fetchall()) or counts != dict(item_counts) or list(noted or ()) != totals:
        yield Problem(index, "the index disagrees with the rows")


def rebuild_derived_data(tx: Transaction, op: Repair) -> tuple[Problem, ...]:
    """Compute all derived data again from the rows. Returns the problems that are left."""
    for table in _DERIVED_TABLES:
        tx.execute(f"DELETE FROM {table} WHERE ws = ?", tx.ws)
    tx.execute(
        "UPDATE workspaces SET words_rows = 0, words_tokens = 0, identifiers_rows = 0, "
        "identifiers_tokens = 0, items = (SELECT count(*) FROM items WHERE ws = ?) WHERE ws = ?",
        *(tx.ws, tx.ws),
    )
    for number, item in tx.select_numbered_items("TRUE ORDER BY i.no"):
        tx.unindexed.add(number, item)
        if (right := content_hash(item)) != item.hash:
            tx.execute(
                "UPDATE items SET hash = ? WHERE ws = ? AND no = ? AND NOT EXISTS"
                "(SELECT 1 FROM items o WHERE o.ws = ? AND o.hash = ?)",
                *(right, tx.ws, number, tx.ws, right),
            )
    tx.unindexed.flush()
    for table, column in _REFERENCES:
        tx.execute(f"DELETE FROM {table} t WHERE t.ws = ? AND {_NO_SUCH_ITEM.format(column=column)}", tx.ws)
    # A file without a state gets one that no real file has, so that it is read again; its items stay.
    tx.execute(
        f"INSERT INTO files SELECT DISTINCT t.ws, t.path, -1, 0, '' FROM file_items t "
        f"WHERE t.ws = ? AND {_NO_SUCH_FILE}",
        tx.ws,
    )
    tx.vectors.rebuild(tx)
    return find_problems(tx, op)
