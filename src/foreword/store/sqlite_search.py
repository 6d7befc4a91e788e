"""The queries of a search in SQLite: full-text, vocabulary, names, neighbours and the code files of vectors.

How items are ranked is in `search`. User text never becomes query syntax: each word is quoted before it
reaches the full-text engine.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from foreword.errors import StoreAway, StoreDamaged
from foreword.store.rows import IN_LIST, filters_to_sql
from foreword.store.search import DeadlinePassed, ProbeFailed, SearchRows, answer_search
from foreword.store.vectors import encoder_dimensions, vector_rows_reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from foreword.store.base import Search
    from foreword.store.database import Transaction
    from foreword.store.search import Pairs, Ranked
    from foreword.store.vector_part import VectorComparison
    from foreword.types import Filters, Findings, Item, VectorProbe

_STEPS_PER_CLOCK_CHECK = 2000
"""After how many of its steps SQLite checks whether the deadline has passed."""


def run_search(tx: Transaction, op: Search) -> Findings:
    """Answer all probes of a question; see `Search`."""
    return answer_search(_SqliteRows(tx), op)


class _SqliteRows(SearchRows):
    """The rows of one workspace's database, as one transaction sees them."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    @contextmanager
    def translate_failures(self) -> Iterator[None]:
        """In the block, errors of SQLite become those of a search."""
        try:
            yield
        except apsw.InterruptError as error:
            raise DeadlinePassed from error
        except (apsw.Error, OSError, StoreDamaged, StoreAway) as error:
            raise ProbeFailed(str(error)) from error

    @contextmanager
    def interrupt_at(self, expires: float | None) -> Iterator[None]:
        """In the block, statements of SQLite are interrupted when the deadline passes."""
        self._tx.expires = expires
        if expires is None:
            yield
            return
        self._tx.db.set_progress_handler(lambda: time.monotonic() > expires, _STEPS_PER_CLOCK_CHECK)
        try:
            yield
        finally:
            self._tx.db.set_progress_handler(None)

    def items_by_number(self, numbers: Iterable[int]) -> dict[int, Item]:
        """The items with these numbers."""
        return dict(self._tx.select_numbered_items(f"WHERE no {IN_LIST}", json.dumps(list(numbers))))

    def largest_item_number(self) -> int:
        """The largest item number, or 0 if there are no items."""
        return self._tx.select_value("SELECT max(no) FROM items") or 0

    def rank_by_bm25(self, index: str, words: Sequence[str], filters: Filters, limit: int) -> Ranked:
        """The best items for any of the words, by FTS5's own ranking."""
        clause, values = filters_to_sql(filters)
        join = "" if filters.empty else "JOIN items i ON i.no = f.rowid"
        rows: list[Any] = self._tx.execute(
            f"SELECT f.rowid, -f.rank FROM {index} f {join} WHERE f.{index} MATCH ? AND {clause} "
            "ORDER BY f.rank LIMIT ?",
            *(" OR ".join(map(_quote_for_full_text, words)), *values, limit),
        ).fetchall()
        return rows

    def count_items_per_stem(self, stems: Iterable[str]) -> dict[str, int]:
        """The number of items that have each stem."""
        wanted = tuple(stems)
        marks = ", ".join("?" * len(wanted))
        return dict(self._tx.execute(f"SELECT term, doc FROM spread WHERE term IN ({marks})", *wanted))

    def about_and_text(self, number: int) -> tuple[str, str]:
        """The fields `about` and `text` of an item."""
        about, text = self._tx.select_value("SELECT about, text FROM items WHERE no = ?", number)
        return about, text

    def known_words(self, words: Sequence[str]) -> set[str]:
        """Those of the words that at least one item has."""
        marks = ", ".join("?" * len(words))
        return {
            word
            for (word,) in self._tx.execute(f"SELECT word FROM vocabulary WHERE word IN ({marks})", *words)
        }

    def words_sharing_trigrams(self, word: str, limit: int) -> list[str]:
        """Known words that share three letters in a row with this word and are of about the same length."""
        grams = sorted({word[i : i + 3] for i in range(len(word) - 2)})
        # Not ranked here: ranking thousands of short words costs ten times as much as comparing them later.
        rows = self._tx.execute(
            "SELECT v.word FROM trigrams t JOIN vocabulary v ON v.id = t.rowid "
            "WHERE t.trigrams MATCH ? AND length(v.word) BETWEEN ? AND ? LIMIT ?",
            *(" OR ".join(map(_quote_for_full_text, grams)), len(word) - 2, len(word) + 2, limit),
        )
        return [str(known) for (known,) in rows]

    def count_and_find_mentions(
        self, names: Sequence[str], filters: Filters, limit: int
    ) -> dict[str, tuple[int, list[int]]]:
        """For each name, how many items mention it, and the numbers of those that pass the filters."""
        clause, values = filters_to_sql(filters)
        join = "" if filters.empty else "JOIN items i USING(no)"
        mentioning = (
            f"SELECT m.no FROM mentions m {join} WHERE m.entity = ? AND {clause} ORDER BY m.no DESC LIMIT ?"
        )
        found = {}
        for name in names:
            known = self._tx.select_value("SELECT count(*) FROM mentions WHERE entity = ?", name)
            rows = self._tx.execute(mentioning, name, *values, limit)
            found[name] = known, [int(number) for (number,) in rows]
        return found

    def newest_item_numbers(self, filters: Filters, limit: int) -> list[int]:
        """The numbers of the newest items."""
        clause, values = filters_to_sql(filters)
        newest = f"SELECT i.no FROM items i WHERE {clause} ORDER BY i.created_at DESC, i.no DESC LIMIT ?"
        return [int(number) for (number,) in self._tx.execute(newest, *values, limit)]

    def related_items(self, seeds: Sequence[int], filters: Filters) -> list[tuple[int, int, float]]:
        """Rows of a seed, an item related to it, and the confidence of that relation."""
        clause, values = filters_to_sql(filters)
        seeds_json = json.dumps(seeds)
        # CROSS JOIN fixes the order of the joins: SQLite would begin with every item that passes the filters.
        rows: list[Any] = self._tx.execute(
            "SELECT r.seed, i.no, r.confidence FROM ("
            "SELECT s.value AS seed, to_no AS no, confidence "
            "FROM json_each(?) s CROSS JOIN relations ON from_no = s.value UNION ALL "
            "SELECT s.value, from_no, confidence FROM json_each(?) s CROSS JOIN relations ON to_no = s.value"
            f") r CROSS JOIN items i ON i.no = r.no WHERE {clause}",
            *(seeds_json, seeds_json, *values),
        ).fetchall()
        return rows

    def previous_in_session(self, seeds: Sequence[int], filters: Filters) -> Pairs:
        """Pairs of a seed and the item just before it in its session."""
        return self._adjacent_in_session(seeds, filters, "max", "<")

    def next_in_session(self, seeds: Sequence[int], filters: Filters) -> Pairs:
        """Pairs of a seed and the item just after it in its session."""
        return self._adjacent_in_session(seeds, filters, "min", ">")

    def _adjacent_in_session(
        self, seeds: Sequence[int], filters: Filters, aggregate: str, comparison: str
    ) -> Pairs:
        """Pairs of a seed and the item next to it in its session: before it (max, <) or after it (min, >)."""
        clause, values = filters_to_sql(filters)
        rows: list[Any] = self._tx.execute(
            f"SELECT b.seed, i.no FROM ("
            f"SELECT s.value AS seed, (SELECT {aggregate}(n.no) FROM items n WHERE n.session = o.session "
            f"AND n.no {comparison} o.no) AS no FROM json_each(?) s JOIN items o ON o.no = s.value "
            f"WHERE o.session IS NOT NULL) b JOIN items i USING(no) WHERE {clause}",
            *(json.dumps(seeds), *values),
        ).fetchall()
        return rows

    def vector_dimensions(self, space: str, digest: str) -> int | None:
        """The length of an encoder's vectors, or None if it has no vectors here."""
        return encoder_dimensions(self._tx, space, digest)

    def compare_vectors(self, probe: VectorProbe, filters: Filters) -> VectorComparison:
        """Compare the probe's vector with the code file and the rows missing in it, or on a vector server."""
        if self._tx.vectors is not None:
            return self._tx.vectors.compare(self._tx, probe, filters)
        file = self._tx.database.get_vector_code_file(probe.space, probe.digest, len(probe.vector))
        rows_after = vector_rows_reader(self._tx, probe.space, probe.digest)
        return file.compare(probe.vector, rows_after, ItemsPassingFilters(self._tx, filters))


class ItemsPassingFilters:
    """The items of a workspace that pass some filters, by number."""

    def __init__(self, tx: Transaction, filters: Filters) -> None:
        self._tx, self.is_everything = tx, filters.empty
        self._clause, self._values = filters_to_sql(filters)

    def all_numbers(self) -> NDArray[np.int64] | None:
        """The numbers of all items that pass; None if every item passes."""
        return None if self.is_everything else self._select_numbers("items i", self._clause, *self._values)

    def numbers_if_few(self, limit: int) -> NDArray[np.int64] | None:
        """The numbers of all items that pass, or None if they are more than `limit`."""
        some = f"(SELECT i.no FROM items i WHERE {self._clause} LIMIT {limit + 1}) i"
        numbers = self._select_numbers(some, "TRUE", *self._values)
        return numbers if len(numbers) <= limit else None

    def passing_among(self, numbers: Sequence[int]) -> set[int]:
        """Those of these numbers whose items pass."""
        listed = "json_each(?) s CROSS JOIN items i ON i.no = s.value"
        passing = self._select_numbers(listed, self._clause, json.dumps(numbers), *self._values)
        return set(passing.tolist())

    def _select_numbers(self, source: str, clause: str, *values: object) -> NDArray[np.int64]:
        """The item numbers from a source of rows `i`, of those that fulfil a condition."""
        # Fetched as one text: making 50,000 rows in Python costs more than finding them in SQLite.
        numbers = self._tx.select_value(f"SELECT group_concat(i.no) FROM {source} WHERE {clause}", *values)
        return np.fromstring(numbers or "", np.int64, sep=",")


def _quote_for_full_text(word: str) -> str:
    """A word in the quotes of the full-text engine, inside which nothing is syntax."""
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'
