"""The queries of a search in PostgreSQL: postings, vocabulary, names, neighbours and vectors.

How items are ranked is in `store.search`. BM25 is computed as FTS5 computes it, term by term in the same
order, so that the same items get the same scores. A word that the tokenizer splits into several is a phrase:
the items that have all its stems are read one by one.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors as pg

from foreword.errors import StoreAway, StoreDamaged
from foreword.store.postgres.connections import CONNECTION_LOST, ServerSilent
from foreword.store.postgres.indexing import split_into_trigrams, split_item_for_index, to_index_key
from foreword.store.postgres.transaction import filters_to_sql
from foreword.store.postgres.vectors import find_encoder
from foreword.store.search import DeadlinePassed, ProbeFailed, SearchRows, answer_search
from foreword.store.stems import split_for_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from foreword.store.base import Search
    from foreword.store.postgres.transaction import Transaction
    from foreword.store.search import Pairs, Ranked
    from foreword.store.vector_part import VectorComparison
    from foreword.types import Filters, Findings, Item, VectorProbe

_SHARE_LEFT_TO_RESET = 0.7
"""The server's timeout is set again when less than this share of it is left: each setting is a round trip."""

_SCORE = (
    "sum(p.idf * ((p.frequency * 2.2::float8) / "
    "(p.frequency + 1.2::float8 * (1 - 0.75::float8 + 0.75::float8 * p.length / ?::float8))) "
    "ORDER BY p.place)"
)
_POSTINGS = (
    "SELECT p.no, p.length, p.frequency, w.idf, w.place "
    "FROM unnest(?::bigint[], ?::float8[], ?::integer[]) AS w(stem, idf, place) "
    "JOIN postings p ON p.ws = ? AND p.stem = w.stem"
)
_PHRASES = (
    "SELECT * FROM unnest(?::integer[], ?::integer[], ?::integer[], ?::float8[], ?::integer[]) "
    "AS w(no, length, frequency, idf, place)"
)


def run_search(tx: Transaction, op: Search) -> Findings:
    """Answer all probes of a question; see `Search`."""
    return answer_search(_PostgresRows(tx), op)


class _PostgresRows(SearchRows):
    """The rows of one workspace, as one transaction sees them."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._expires: float | None = None
        self._server_limit = math.inf
        self._is_lost = False
        self._largest_number: int | None = None
        self._counts: dict[str, int] = {}

    @contextmanager
    def translate_failures(self) -> Iterator[None]:
        """In the block, errors of PostgreSQL become those of a search, which can go on afterwards."""
        if self._is_lost:
            raise DeadlinePassed
        self._set_statement_timeout()
        savepoint = self._tx.connection.transaction() if self._tx.writes else nullcontext()
        try:
            with savepoint:
                yield
        except ServerSilent as error:
            self._is_lost = True
            raise DeadlinePassed from error
        except pg.QueryCanceled as error:
            self._restart_transaction()
            raise DeadlinePassed from error
        except (StoreDamaged, StoreAway) as error:
            raise ProbeFailed(str(error)) from error
        except psycopg.Error as error:
            if isinstance(error, CONNECTION_LOST) and self._tx.connection.closed:
                raise
            self._restart_transaction()
            raise ProbeFailed(str(error).splitlines()[0]) from error

    def _set_statement_timeout(self) -> None:
        """Have the server stop a statement at about the deadline, if there is one."""
        if self._expires is None:
            return
        left = max(0.001, self._expires - time.monotonic())
        if left < self._server_limit * _SHARE_LEFT_TO_RESET:
            self._tx.execute(f"SET LOCAL statement_timeout = {math.ceil(left * 1000)}")
            self._server_limit = left

    def _restart_transaction(self) -> None:
        """After a failure, begin a new transaction; one that writes is already back at its savepoint."""
        if not self._tx.writes:
            self._tx.connection.execute(
                "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
                f"SET LOCAL foreword.ws = '{self._tx.ws}'"
            )
            self._server_limit = math.inf

    @contextmanager
    def interrupt_at(self, expires: float | None) -> Iterator[None]:
        """In the block, statements are stopped when the deadline passes."""
        self._expires = self._tx.expires = expires
        try:
            yield
        finally:
            if self._server_limit < math.inf and not self._is_lost:
                self._tx.execute("SET LOCAL statement_timeout = 0")
            self._expires, self._server_limit = None, math.inf

    def items_by_number(self, numbers: Iterable[int]) -> dict[int, Item]:
        """The items with these numbers."""
        wanted = list(numbers)
        if not wanted or self._is_lost:
            return {}
        return dict(self._tx.select_numbered_items("i.no = ANY(?)", wanted))

    def largest_item_number(self) -> int:
        """The largest item number, or 0 if there are no items."""
        if self._largest_number is None:
            largest = self._tx.select_value("SELECT max(no) FROM items WHERE ws = ?", self._tx.ws)
            self._largest_number = largest or 0
        return self._largest_number

    def rank_by_bm25(self, index: str, words: Sequence[str], filters: Filters, limit: int) -> Ranked:
        """The best items for any of the words, by the BM25 of FTS5."""
        question = _Bm25Question(self._tx, index, words)
        if question.average_length is None:
            return []
        clause, values = filters_to_sql(filters)
        join = "" if filters.empty else f"JOIN items i ON i.ws = {self._tx.ws} AND i.no = p.no"
        return self._tx.execute(
            f"SELECT p.no, {_SCORE} AS score FROM ({question.sql}) AS p {join} WHERE {clause} "
            "GROUP BY p.no ORDER BY score DESC, p.no LIMIT ?",
            *(question.average_length, *question.values, *values, limit),
        ).fetchall()

    def count_items_per_stem(self, stems: Iterable[str]) -> dict[str, int]:
        """The number of items that have each stem."""
        wanted = [stem for stem in stems if stem not in self._counts]
        if wanted:
            rows = self._tx.execute(
                "SELECT stem, items FROM stems WHERE ws = ? AND index = 'words' AND stem = ANY(?)",
                *(self._tx.ws, [to_index_key(stem) for stem in wanted]),
            )
            found = dict(rows.fetchall())
            self._counts |= {stem: found.get(to_index_key(stem), 0) for stem in wanted}
        return self._counts

    def about_and_text(self, number: int) -> tuple[str, str]:
        """The fields `about` and `text` of an item."""
        rows: list[Any] = self._tx.execute(
            "SELECT about, text FROM items WHERE ws = ? AND no = ?", self._tx.ws, number
        ).fetchall()
        about, text = rows[0]
        return about, text

    def known_words(self, words: Sequence[str]) -> set[str]:
        """Those of the words that at least one item has."""
        keys = {word: to_index_key(word) for word in words}
        rows = self._tx.execute(
            "SELECT word FROM vocabulary WHERE ws = ? AND word = ANY(?)", self._tx.ws, list(keys.values())
        )
        known = {word for (word,) in rows}
        return {word for word, key in keys.items() if key in known}

    def words_sharing_trigrams(self, word: str, limit: int) -> list[str]:
        """Known words that share three letters in a row with this word and are of about the same length."""
        rows = self._tx.execute(
            "SELECT v.word FROM vocabulary v WHERE v.ws = ? AND v.id IN (SELECT t.word FROM trigrams t "
            "WHERE t.ws = ? AND t.gram = ANY(?) AND t.length BETWEEN ? AND ?) ORDER BY v.id LIMIT ?",
            *(self._tx.ws, self._tx.ws, [gram.replace("\0", " ") for gram in split_into_trigrams(word)]),
            *(len(word) - 2, len(word) + 2, limit),
        )
        return [known for (known,) in rows]

    def count_and_find_mentions(
        self, names: Sequence[str], filters: Filters, limit: int
    ) -> dict[str, tuple[int, list[int]]]:
        """For each name, how many items mention it and which of the newest pass; in one round trip."""
        clause, values = filters_to_sql(filters)
        join = "" if filters.empty else "JOIN items i ON i.ws = m.ws AND i.no = m.no"
        keys = {name: to_index_key(name) for name in names}
        rows = self._tx.execute(
            "SELECT n.name, (SELECT count(*) FROM mentions m WHERE m.ws = ? AND m.entity = n.name), "
            f"ARRAY(SELECT m.no FROM mentions m {join} WHERE m.ws = ? AND m.entity = n.name AND {clause} "
            "ORDER BY m.no DESC LIMIT ?) FROM unnest(?::text[]) AS n(name)",
            *(self._tx.ws, self._tx.ws, *values, limit, list(set(keys.values()))),
        )
        found = {name: (known, numbers) for name, known, numbers in rows}
        return {name: found[key] for name, key in keys.items()}

    def newest_item_numbers(self, filters: Filters, limit: int) -> list[int]:
        """The numbers of the newest items."""
        clause, values = filters_to_sql(filters)
        newest = (
            f"SELECT i.no FROM items i WHERE i.ws = ? AND {clause} "
            "ORDER BY i.created_at DESC, i.no DESC LIMIT ?"
        )
        return [number for (number,) in self._tx.execute(newest, self._tx.ws, *values, limit)]

    def related_items(self, seeds: Sequence[int], filters: Filters) -> list[tuple[int, int, float]]:
        """Rows of a seed, an item related to it, and the confidence of that relation."""
        passing, values = self._join_passing_items_sql(filters)
        return self._tx.execute(
            "SELECT r.seed, r.no, r.confidence FROM ("
            "SELECT from_no AS seed, to_no AS no, confidence FROM relations "
            "WHERE ws = ? AND from_no = ANY(?) UNION ALL "
            "SELECT to_no, from_no, confidence FROM relations WHERE ws = ? AND to_no = ANY(?)"
            f") r {passing}",
            *(self._tx.ws, list(seeds), self._tx.ws, list(seeds), *values),
        ).fetchall()

    def _join_passing_items_sql(self, filters: Filters) -> tuple[str, list[object]]:
        """The SQL of a join that keeps the rows `r` whose item `r.no` passes the filters, and its values."""
        if filters.empty:
            return "", []
        clause, values = filters_to_sql(filters)
        # With LIMIT, each item is looked up; without, all items that pass would be hashed for a few rows.
        found = f"SELECT 1 FROM items i WHERE i.ws = {self._tx.ws} AND i.no = r.no AND {clause} LIMIT 1"
        return f"CROSS JOIN LATERAL ({found}) AS passing", values

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
        passing, values = self._join_passing_items_sql(filters)
        return self._tx.execute(
            f"SELECT r.seed, r.no FROM (SELECT o.no AS seed, (SELECT {aggregate}(n.no) FROM items n "
            f"WHERE n.ws = o.ws AND n.session_key = o.session_key AND n.no {comparison} o.no) AS no "
            "FROM items o WHERE o.ws = ? AND o.no = ANY(?) AND o.session_key IS NOT NULL) r "
            f"{passing} WHERE r.no IS NOT NULL",
            *(self._tx.ws, list(seeds), *values),
        ).fetchall()

    def vector_dimensions(self, space: str, digest: str) -> int | None:
        """The length of an encoder's vectors, or None if it has no vectors here."""
        encoder = find_encoder(self._tx, space, digest)
        return None if encoder is None else encoder[3]

    def compare_vectors(self, probe: VectorProbe, filters: Filters) -> VectorComparison:
        """Have the store's vector part compare the probe's vector."""
        return self._tx.vectors.compare(self._tx, probe, filters)


class _Bm25Question:
    """The SQL that selects the postings of a question's words, with their weights, and the values to bind."""

    def __init__(self, tx: Transaction, index: str, words: Sequence[str]) -> None:
        self._tx, self._index = tx, index
        split = [split_for_index(index, word.replace("\0", " ")) for word in words]
        terms = {place: [to_index_key(stem) for stem in stems] for place, stems in enumerate(split) if stems}
        stems = self._find_stem_ids_and_counts({stem for term in terms.values() for stem in term})
        rows, tokens = self._count_indexed_items_and_words()
        self.average_length = tokens / rows if rows and tokens else None
        singles = [
            (*stems[term[0]], place) for place, term in terms.items() if len(term) == 1 and term[0] in stems
        ]
        self.sql = _POSTINGS
        self.values: list[object] = [
            [number for number, _, _ in singles],
            [_inverse_frequency(rows, items) for _, items, _ in singles],
            [place for _, _, place in singles],
            tx.ws,
        ]
        phrases = [
            (place, term) for place, term in terms.items() if len(term) > 1 and all(map(stems.get, term))
        ]
        if phrases:
            self._add_phrase_matches_to_query(phrases, {stem: stems[stem][0] for stem in stems}, rows)

    def _find_stem_ids_and_counts(self, stems: set[str]) -> dict[str, tuple[int, int]]:
        """The id of each stem that some item has, and how many items have it."""
        found = self._tx.execute(
            "SELECT stem, id, items FROM stems WHERE ws = ? AND index = ? AND stem = ANY(?)",
            *(self._tx.ws, self._index, list(stems)),
        )
        return {stem: (number, items) for stem, number, items in found}

    def _count_indexed_items_and_words(self) -> tuple[int, int]:
        """How many items the index has, and how many words they have together."""
        rows: list[Any] = self._tx.execute(
            f"SELECT {self._index}_rows, {self._index}_tokens FROM workspaces WHERE ws = ?", self._tx.ws
        ).fetchall()
        return rows[0] if rows else (0, 0)

    def _add_phrase_matches_to_query(
        self, phrases: Sequence[tuple[int, list[str]]], stem_ids: dict[str, int], rows: int
    ) -> None:
        """Find the items that have each phrase word for word, and add them to the query."""
        found: list[tuple[int, int, int, float, int]] = []
        for place, phrase in phrases:
            having = self._items_with_phrase(phrase, [stem_ids[stem] for stem in set(phrase)])
            idf = _inverse_frequency(rows, len(having))
            found += [(number, length, often, idf, place) for number, length, often in having]
        self.sql += f" UNION ALL {_PHRASES}"
        self.values += [[row[column] for row in found] for column in range(5)]

    def _items_with_phrase(self, phrase: list[str], stem_ids: list[int]) -> list[tuple[int, int, int]]:
        """For each item with the phrase, its number, its length, and how often it has the phrase."""
        having = []
        for number, item in self._tx.select_numbered_items(
            "i.no IN (SELECT p.no FROM postings p WHERE p.ws = ? AND p.stem = ANY(?) "
            "GROUP BY p.no HAVING count(*) = ?)",
            *(self._tx.ws, stem_ids, len(stem_ids)),
        ):
            columns = split_item_for_index(self._index, item, self._tx.views(item))
            often = sum(
                _count_phrase_in_stems([to_index_key(stem) for stem in column], phrase) for column in columns
            )
            if often:
                having.append((number, sum(map(len, columns)), often))
        return having


def _count_phrase_in_stems(stems: Sequence[str], phrase: Sequence[str]) -> int:
    """How often a phrase of the query occurs in the stems of an indexed item."""
    length = len(phrase)
    return sum(list(stems[at : at + length]) == list(phrase) for at in range(len(stems) - length + 1))


def _inverse_frequency(rows: int, items: int) -> float:
    """FTS5's weight of a word that `items` of all `rows` have; always more than 0."""
    weight = math.log((rows - items + 0.5) / (items + 0.5))
    return weight if weight > 0 else 1e-6
