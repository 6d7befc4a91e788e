"""One search: every probe of a question answered from one snapshot, with the filters inside.

A probe's answer is a list of item numbers and scores, best first. Nothing here writes. User text never
becomes query syntax: each word is quoted before it reaches the full-text engine.
"""

from __future__ import annotations

import json
import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np
from rapidfuzz.distance import DamerauLevenshtein
from rapidfuzz.process import extract

from foreword.errors import StoreDamaged
from foreword.store.rows import IN_LIST, filters_to_sql
from foreword.store.vectors import encoder_dimensions, vector_rows_reader
from foreword.types import (
    EntitiesProbe,
    Findings,
    IdentifiersProbe,
    NeighboursProbe,
    Note,
    RecentProbe,
    TypoProbe,
    VectorProbe,
    WordsProbe,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from foreword.store.base import Search
    from foreword.store.database import Transaction
    from foreword.store.vectors import Cosines
    from foreword.types import Filters, Probe

    Ranked = list[tuple[int, float]]
    Nearness = dict[int, dict[int, float]]
    """How near each item is to each of its neighbours, by number."""

_ECHO_WEIGHT = 0.5
_ECHO_ITEMS = 3
_ECHO_WORD_BONUS = 0.1
"""The echo moves half-way towards the three best answers, on which words have a small say."""

_STEPS_PER_CLOCK_CHECK = 2000
"""How many of SQLite's steps pass between two looks at the clock."""

_SMALL_WORKSPACE = 2000
MAX_POSTINGS = 20_000
"""At most this many items are ranked by words, in a workspace that is not small.

Ranking costs about a microsecond for each item that has a word. The rarest words of a question are taken
until together they stand in this many items; the rest, which stand nearly everywhere, would cost tens of
milliseconds and say almost nothing.
"""

_MAX_TYPO_DISTANCE = 2
_MAX_TYPO_DISTANCE_SHORT = 1  # short words have many other words near
_MIN_LONG_WORD = 6
_MAX_TYPO_CANDIDATES = 20_000
_MAX_TYPO_WORDS = 4
_MAX_ITEMS_PER_NAME = 2000
_MAX_SEEDS_PER_PROBE = 30
_NEARNESS_IN_SESSION = 0.5
"""How near the next item of a session is; a related item is as near as the relation's confidence."""


def run_search(tx: Transaction, op: Search) -> Findings:
    """Answer all probes; one that fails or is late becomes a note."""
    search = _SearchUnderWay(tx, op)
    with _interrupt_at_deadline(tx.db, op.expires):
        # Words first, then meaning, which listens to them; neighbours last: they start from what was found.
        for probe in sorted(op.probes, key=lambda probe: _PROBE_ORDER.get(type(probe), 0)):
            try:
                search.answer_probe(probe)
            except apsw.InterruptError:
                search.notes.append(Note(probe.space, "late: the deadline passed"))
            except (apsw.Error, OSError, StoreDamaged, _WrongDimensions) as error:
                search.notes.append(Note(probe.space, f"failed: {error}"))
    return search.collect_findings()


_PROBE_ORDER: dict[type, int] = {VectorProbe: 1, NeighboursProbe: 2}


class _WrongDimensions(Exception):
    """A vector has another length than those it should be compared with."""


@contextmanager
def _interrupt_at_deadline(db: apsw.Connection, expires: float | None) -> Iterator[None]:
    """Interrupt whatever SQLite is doing when the deadline passes."""
    if expires is None:
        yield
        return
    db.set_progress_handler(lambda: time.monotonic() > expires, _STEPS_PER_CLOCK_CHECK)
    try:
        yield
    finally:
        db.set_progress_handler(None)


class _SearchUnderWay:
    """A search under way: what its probes have found so far."""

    def __init__(self, tx: Transaction, op: Search) -> None:
        self.tx, self.op = tx, op
        self.lists: dict[str, Ranked] = {}
        self.notes: list[Note] = []
        self.cosines: dict[str, Cosines] = {}
        self.neighbours: Nearness = {}
        self.previous: dict[int, int] = {}

    def answer_probe(self, probe: Probe) -> None:
        """Answer one probe."""
        if self.op.expires is not None and time.monotonic() > self.op.expires:
            raise apsw.InterruptError("the deadline passed")
        match probe:
            case VectorProbe():
                self._answer_vector_probe(probe)
            case NeighboursProbe():
                seeds = _weigh_top_items(self.lists)
                self.neighbours, self.previous = _find_neighbours_and_previous(
                    self.tx, seeds, self.op.filters
                )
                self.lists[probe.space] = _rank_neighbours(self.neighbours, seeds)[: self.op.limit]
            case _:
                self.lists[probe.space] = _RANKER_BY_PROBE[type(probe)](self.tx, self.op, probe)

    def collect_findings(self) -> Findings:
        """The items that were found, and all that is known of them, by id."""
        numbers = {number for ranked in self.lists.values() for number, _ in ranked}
        items = dict(self.tx.select_numbered_items(f"WHERE no {IN_LIST}", json.dumps(list(numbers))))
        ids = {number: item.id for number, item in items.items()}
        return Findings(
            items={item.id: item for item in items.values()},
            lists={
                space: tuple((ids[number], score) for number, score in ranked if number in ids)
                for space, ranked in self.lists.items()
            },
            notes=tuple(self.notes),
            measures={
                space: {ids[number]: score for number, score in cosines.of_items(ids).items()}
                for space, cosines in self.cosines.items()
            },
            beside={
                ids[one]: {ids[other]: nearness for other, nearness in near.items() if other in ids}
                for one, near in self.neighbours.items()
                if one in ids
            },
            previous={
                ids[one]: ids[other] for one, other in self.previous.items() if one in ids and other in ids
            },
        )

    def _answer_vector_probe(self, probe: VectorProbe) -> None:
        """Rank items by cosine to a vector and, if the probe asks for it, once more by its echo."""
        dimensions = encoder_dimensions(self.tx, probe.space, probe.digest)
        if dimensions is None:
            self.lists[probe.space] = []
            return
        if dimensions != len(probe.vector):
            raise _WrongDimensions(
                f"the vector has {len(probe.vector)} numbers, those of this encoder have {dimensions}"
            )
        allowed = None if self.op.filters.empty else _allowed_numbers(self.tx, self.op.filters)
        file = self.tx.database.code_file(probe.space, probe.digest, dimensions)
        cosines = file.compute_cosines(
            probe.vector, vector_rows_reader(self.tx, probe.space, probe.digest), allowed
        )
        self._add_cosine_ranking(probe.space, cosines)
        if probe.echo is not None and len(cosines.values):
            bonuses = self._word_match_bonuses()
            self._add_cosine_ranking(
                probe.echo, cosines.echo(probe.vector, bonuses, _ECHO_WEIGHT, _ECHO_ITEMS)
            )

    def _add_cosine_ranking(self, space: str, cosines: Cosines) -> None:
        """Keep cosines and the list of the best as what a space found."""
        self.cosines[space] = cosines
        self.lists[space] = cosines.best(self.op.limit)

    def _word_match_bonuses(self) -> dict[int, float]:
        """What words add to the cosine of each item they found."""
        ranked = next((ranked for ranked in self.lists.values() if ranked), [])
        best = ranked[0][1] if ranked else 0.0
        return {number: _ECHO_WORD_BONUS * score / best for number, score in ranked} if best > 0 else {}


def _allowed_numbers(tx: Transaction, filters: Filters) -> NDArray[np.int64]:
    """The numbers of the items that pass the filters."""
    clause, values = filters_to_sql(filters)
    # As one text: a row in Python costs more than SQLite's finding it, and there may be 50,000 of them.
    numbers = tx.select_value(f"SELECT group_concat(i.no) FROM items i WHERE {clause}", *values)
    return np.fromstring(numbers or "", np.int64, sep=",")


# Words, typing errors, names and time


def _rank_by_words(tx: Transaction, op: Search, probe: WordsProbe) -> Ranked:
    """BM25 over text and surroundings; the score of the best is how much of the question it has."""
    ranked = _search_index_by_bm25(tx, op, "words", probe.words)
    if not ranked or ranked[0][1] <= 0:
        return ranked
    scale = _share_of_words_in_item(tx, ranked[0][0], probe.words) / ranked[0][1]
    return [(number, score * scale) for number, score in ranked]


def _rank_by_identifiers(tx: Transaction, op: Search, probe: IdentifiersProbe) -> Ranked:
    """BM25 over the parts of code names."""
    return _search_index_by_bm25(tx, op, "identifiers", probe.words)


def _rank_by_similar_words(tx: Transaction, op: Search, probe: TypoProbe) -> Ranked:
    """BM25 over known words that look like the unknown ones of the question."""
    similar = [
        word
        for unknown in _longest_unknown_words(tx, probe.words)
        for word in _find_similar_known_words(tx, unknown)
    ]
    return _search_index_by_bm25(tx, op, "words", tuple(dict.fromkeys(similar)))


def _rank_by_entities(tx: Transaction, op: Search, probe: EntitiesProbe) -> Ranked:
    """Items that mention the same names; a rare name counts for more."""
    clause, values = filters_to_sql(op.filters)
    join = "" if op.filters.empty else "JOIN items i USING(no)"
    total = tx.select_value("SELECT max(no) FROM items") or 1
    scores: dict[int, float] = {}
    sum_of_weights = 0.0
    for name in probe.names:
        known = tx.select_value("SELECT count(*) FROM mentions WHERE entity = ?", name)
        weight = math.log(1 + total / (1 + known))
        sum_of_weights += weight
        rows = tx.execute(
            f"SELECT m.no FROM mentions m {join} WHERE m.entity = ? AND {clause} ORDER BY m.no DESC LIMIT ?",
            *(name, *values, _MAX_ITEMS_PER_NAME),
        )
        for (number,) in rows:
            scores[number] = scores.get(number, 0.0) + weight
    best = sorted(scores.items(), key=lambda found: (-found[1], -found[0]))[: op.limit]
    return [(number, score / sum_of_weights) for number, score in best]


def _rank_by_recency(tx: Transaction, op: Search, _: RecentProbe) -> Ranked:
    """The newest items; the score is 1/rank, as time alone has no other."""
    clause, values = filters_to_sql(op.filters)
    newest = f"SELECT i.no FROM items i WHERE {clause} ORDER BY i.created_at DESC, i.no DESC LIMIT ?"
    return [(no, 1 / rank) for rank, (no,) in enumerate(tx.execute(newest, *values, op.limit), 1)]


_RANKER_BY_PROBE: dict[type, Callable[[Transaction, Search, Any], Ranked]] = {
    WordsProbe: _rank_by_words,
    IdentifiersProbe: _rank_by_identifiers,
    TypoProbe: _rank_by_similar_words,
    EntitiesProbe: _rank_by_entities,
    RecentProbe: _rank_by_recency,
}


def _search_index_by_bm25(tx: Transaction, op: Search, index: str, words: tuple[str, ...]) -> Ranked:
    """The best items for any of the words, by BM25."""
    if (tx.select_value("SELECT max(no) FROM items") or 0) > _SMALL_WORKSPACE:
        words = _choose_rarest_words(_count_items_with_each_word(tx, _stem_of_each_word(tx, words)))
    if not words:
        return []
    clause, values = filters_to_sql(op.filters)
    join = "" if op.filters.empty else "JOIN items i ON i.no = f.rowid"
    rows: list[Any] = tx.execute(
        f"SELECT f.rowid, -f.rank FROM {index} f {join} WHERE f.{index} MATCH ? AND {clause} "
        "ORDER BY f.rank LIMIT ?",
        *(" OR ".join(map(_quote_for_full_text, words)), *values, op.limit),
    ).fetchall()
    return rows


def _quote_for_full_text(word: str) -> str:
    """A word as the full-text engine's string, which has no syntax in it."""
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'


def _share_of_words_in_item(tx: Transaction, item_number: int, words: tuple[str, ...]) -> float:
    """How much of some words an item has, by weight of rarity; BM25 cannot tell where items are few."""
    about, text = tx.select_value("SELECT about, text FROM items WHERE no = ?", item_number)
    stems = _stem_of_each_word(tx, words)
    counts = _count_items_with_each_word(tx, stems)
    total = tx.select_value("SELECT max(no) FROM items")
    weights = {word: math.log(1 + (total + 1) / (counts[word] + 0.5)) for word in words}
    present = set(_split_into_stems(tx, f"{about}\n{text}"))
    return sum(weights[word] for word in words if stems[word] in present) / sum(weights.values())


def _choose_rarest_words(item_counts: Mapping[str, int]) -> tuple[str, ...]:
    """The words worth ranking by, given in how many items each stands: not those that are everywhere."""
    rare: list[str] = []
    total = 0
    for word in sorted(item_counts, key=lambda word: item_counts[word]):
        total += item_counts[word]
        if rare and total > MAX_POSTINGS:
            break
        rare.append(word)
    return tuple(rare)


def _stem_of_each_word(tx: Transaction, words: tuple[str, ...]) -> dict[str, str]:
    """Each word as the index has it."""
    return {word: "".join(_split_into_stems(tx, word)) for word in words}


def _split_into_stems(tx: Transaction, text: str) -> list[str]:
    """The words of a text, stemmed as the index does it."""
    stem = tx.db.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    plain = {"include_offsets": False, "include_colocated": False}
    return [str(token) for token in stem(text.encode(), apsw.FTS5_TOKENIZE_QUERY, None, **plain)]


def _count_items_with_each_word(tx: Transaction, stem_by_word: Mapping[str, str]) -> dict[str, int]:
    """In how many items each word stands, in any of its forms."""
    marks = ", ".join("?" * len(stem_by_word))
    counts = dict(tx.execute(f"SELECT term, doc FROM spread WHERE term IN ({marks})", *stem_by_word.values()))
    return {word: counts.get(stem, 0) for word, stem in stem_by_word.items()}


def _longest_unknown_words(tx: Transaction, words: tuple[str, ...]) -> list[str]:
    """The longest words of the question that no item has; short ones and numbers are not guessed at."""
    marks = ", ".join("?" * len(words))
    known = {word for (word,) in tx.execute(f"SELECT word FROM vocabulary WHERE word IN ({marks})", *words)}
    unknown = [word for word in words if word not in known and len(word) > 3 and not word.isdigit()]
    return sorted(unknown, key=len, reverse=True)[:_MAX_TYPO_WORDS]


def _find_similar_known_words(tx: Transaction, word: str) -> list[str]:
    """Known words within two typing errors, or one if the word is short; nearest first."""
    grams = sorted({word[i : i + 3] for i in range(len(word) - 2)})
    # Unranked: ranking thousands of short words costs ten times what comparing them does.
    rows = tx.execute(
        "SELECT v.word FROM trigrams t JOIN vocabulary v ON v.id = t.rowid "
        "WHERE t.trigrams MATCH ? AND length(v.word) BETWEEN ? AND ? LIMIT ?",
        *(" OR ".join(map(_quote_for_full_text, grams)), len(word) - 2, len(word) + 2, _MAX_TYPO_CANDIDATES),
    )
    cutoff = _MAX_TYPO_DISTANCE_SHORT if len(word) < _MIN_LONG_WORD else _MAX_TYPO_DISTANCE
    candidates = [row[0] for row in rows]
    similar = extract(word, candidates, scorer=DamerauLevenshtein.distance, score_cutoff=cutoff, limit=5)
    return [known for known, _, _ in similar]


# Neighbours


def _weigh_top_items(lists: Mapping[str, Ranked]) -> dict[int, float]:
    """The items that the probes put first, with a weight of at most 1, the best first."""
    weights: dict[int, float] = {}
    for ranked in lists.values():
        for rank, (number, _) in enumerate(ranked[:_MAX_SEEDS_PER_PROBE], 1):
            weights[number] = weights.get(number, 0.0) + 1 / rank
    best = sorted(weights.items(), key=lambda seed: (-seed[1], seed[0]))
    return {number: weight / best[0][1] for number, weight in best}


def _rank_neighbours(neighbours: Nearness, seeds: Mapping[int, float]) -> Ranked:
    """What is one relation, or one place in the same session, away from the best that was found."""
    scores: dict[int, float] = {}
    for seed, weight in seeds.items():
        for number, nearness in neighbours.get(seed, {}).items():
            scores[number] = max(scores.get(number, 0.0), weight * nearness)
    return sorted(scores.items(), key=lambda near: (-near[1], near[0]))


def _find_neighbours_and_previous(
    tx: Transaction, seeds: Mapping[int, float], filters: Filters
) -> tuple[Nearness, dict[int, int]]:
    """How near related items and those next in the same session are; and which came just before which."""
    seeds_json = json.dumps(list(seeds))
    before = _find_adjacent_in_session(tx, seeds_json, filters, "max", "<")
    after = _find_adjacent_in_session(tx, seeds_json, filters, "min", ">")
    next_to = [(one, other, _NEARNESS_IN_SESSION) for one, other in (*before, *after)]
    neighbours: Nearness = {}
    for one, other, nearness in (*_find_related_items(tx, seeds_json, filters), *next_to):
        if one != other:
            for here, there in ((one, other), (other, one)):
                known = neighbours.setdefault(here, {})
                known[there] = max(nearness, known.get(there, 0.0))
    return neighbours, dict(before) | {later: one for one, later in after}


def _find_related_items(tx: Transaction, seeds_json: str, filters: Filters) -> list[Any]:
    """Rows of a seed, an item that a relation ties to it, and the relation's confidence."""
    clause, values = filters_to_sql(filters)
    return tx.execute(
        "SELECT r.seed, i.no, r.confidence FROM ("
        "SELECT s.value AS seed, to_no AS no, confidence "
        "FROM json_each(?) s JOIN relations ON from_no = s.value UNION ALL "
        "SELECT s.value, from_no, confidence FROM json_each(?) s JOIN relations ON to_no = s.value"
        f") r JOIN items i USING(no) WHERE {clause}",
        *(seeds_json, seeds_json, *values),
    ).fetchall()


def _find_adjacent_in_session(
    tx: Transaction, seeds_json: str, filters: Filters, aggregate: str, comparison: str
) -> list[Any]:
    """Rows of a seed and the item next to it in its session: before it (max, <) or after it (min, >)."""
    clause, values = filters_to_sql(filters)
    return tx.execute(
        f"SELECT b.seed, i.no FROM ("
        f"SELECT s.value AS seed, (SELECT {aggregate}(n.no) FROM items n WHERE n.session = o.session "
        f"AND n.no {comparison} o.no) AS no FROM json_each(?) s JOIN items o ON o.no = s.value "
        f"WHERE o.session IS NOT NULL) b JOIN items i USING(no) WHERE {clause}",
        *(seeds_json, *values),
    ).fetchall()
