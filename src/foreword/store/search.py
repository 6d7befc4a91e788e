"""One search: answers every probe of a question from one snapshot, with the filters applied inside.

A probe's answer is a list of item numbers and scores, best first. Nothing here writes, and nothing depends on
an engine: an engine answers the questions of `SearchRows`, and the ranking here is the same for all engines.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from rapidfuzz.distance import DamerauLevenshtein
from rapidfuzz.process import extract

from foreword.store.stems import split_into_stems
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
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from foreword.store.base import Search
    from foreword.store.vector_part import VectorComparison
    from foreword.types import Filters, Item, Probe

    Ranked = list[tuple[int, float]]
    Nearness = dict[int, dict[int, float]]
    """How near each item is to each of its neighbours, by number."""

    Pairs = list[tuple[int, int]]
    """Pairs of item numbers: a seed, and the item next to it in its session."""

_ECHO_WEIGHT = 0.5
_ECHO_ITEMS = 3
_ECHO_WORD_BONUS = 0.1
"""The echo moves half-way towards the three best answers; what words found gets a bonus in choosing these."""

_SMALL_WORKSPACE = 2000
MAX_POSTINGS = 20_000
"""At most this many items are ranked by words, in a workspace that is not small.

Ranking costs about a microsecond for each item that has a word. The rarest words of a question are taken
until together they occur in this many items; the rest, which occur nearly everywhere, would cost tens of
milliseconds and change the ranking very little.
"""

_MAX_TYPO_DISTANCE = 2
_MAX_TYPO_DISTANCE_SHORT = 1  # a short word is within two typing errors of many other words
_MIN_LONG_WORD = 6
_MAX_TYPO_CANDIDATES = 20_000
_MAX_TYPO_WORDS = 4
_MAX_ITEMS_PER_NAME = 2000
_MAX_SEEDS_PER_PROBE = 30
_NEARNESS_IN_SESSION = 0.5
"""How near the next item of a session is; a related item is as near as the relation's confidence."""


class DeadlinePassed(Exception):
    """The time for a search is over."""


class ProbeFailed(Exception):
    """A probe could not be answered; the message gives the reason."""


class SearchRows(ABC):
    """The queries on an engine's rows that a search needs, all inside one snapshot of one workspace."""

    @abstractmethod
    def translate_failures(self) -> AbstractContextManager[None]:
        """In the block, errors become `DeadlinePassed` or `ProbeFailed`; the search can go on afterwards."""

    @abstractmethod
    def interrupt_at(self, expires: float | None) -> AbstractContextManager[None]:
        """In the block, every query of the engine is stopped when `time.monotonic()` reaches `expires`."""

    @abstractmethod
    def items_by_number(self, numbers: Iterable[int]) -> dict[int, Item]:
        """The items with these numbers."""

    @abstractmethod
    def largest_item_number(self) -> int:
        """The largest item number, or 0 if there are no items; about how many items there are."""

    @abstractmethod
    def rank_by_bm25(self, index: str, words: Sequence[str], filters: Filters, limit: int) -> Ranked:
        """The best items for any of the words, by the BM25 of FTS5; of equals the one stored first."""

    @abstractmethod
    def count_items_per_stem(self, stems: Iterable[str]) -> dict[str, int]:
        """The number of items that have each stem; a stem that no item has may be left out."""

    @abstractmethod
    def about_and_text(self, number: int) -> tuple[str, str]:
        """The fields `about` and `text` of an item."""

    @abstractmethod
    def known_words(self, words: Sequence[str]) -> set[str]:
        """Those of the words that at least one item has."""

    @abstractmethod
    def words_sharing_trigrams(self, word: str, limit: int) -> list[str]:
        """Known words that share three letters in a row with this word and are of about the same length."""

    @abstractmethod
    def count_and_find_mentions(
        self, names: Sequence[str], filters: Filters, limit: int
    ) -> dict[str, tuple[int, list[int]]]:
        """For each name, how many items mention it, and the numbers of those that pass the filters.

        The newest come first, and there are at most `limit`.
        """

    @abstractmethod
    def newest_item_numbers(self, filters: Filters, limit: int) -> list[int]:
        """The numbers of the newest items."""

    @abstractmethod
    def related_items(self, seeds: Sequence[int], filters: Filters) -> list[tuple[int, int, float]]:
        """Rows of a seed, an item related to it, and the confidence of that relation."""

    @abstractmethod
    def previous_in_session(self, seeds: Sequence[int], filters: Filters) -> Pairs:
        """Pairs of a seed and the item just before it in its session."""

    @abstractmethod
    def next_in_session(self, seeds: Sequence[int], filters: Filters) -> Pairs:
        """Pairs of a seed and the item just after it in its session."""

    @abstractmethod
    def vector_dimensions(self, space: str, digest: str) -> int | None:
        """The length of an encoder's vectors, or None if it has no vectors here."""

    @abstractmethod
    def compare_vectors(self, probe: VectorProbe, filters: Filters) -> VectorComparison:
        """Compare the probe's vector with those of the items that pass the filters."""


def answer_search(rows: SearchRows, op: Search) -> Findings:
    """Answer all probes of a search; a probe that fails or is late becomes a note in the findings."""
    search = _SearchUnderWay(rows, op)
    with rows.interrupt_at(op.expires):
        # Words first, then vectors, whose echo uses the word hits; neighbours last: they start from all hits.
        for probe in sorted(op.probes, key=lambda probe: _PROBE_ORDER.get(type(probe), 0)):
            try:
                search.check_deadline()
                with rows.translate_failures():
                    search.answer_probe(probe)
            except DeadlinePassed:
                search.notes.append(Note(probe.space, "late: the deadline passed"))
            except ProbeFailed as error:
                search.notes.append(Note(probe.space, f"failed: {error}"))
    return search.collect_findings()


_PROBE_ORDER: dict[type, int] = {VectorProbe: 1, NeighboursProbe: 2}


class _SearchUnderWay:
    """A search in progress: the lists, comparisons and notes of the probes answered so far."""

    def __init__(self, rows: SearchRows, op: Search) -> None:
        self.rows, self.op = rows, op
        self.lists: dict[str, Ranked] = {}
        self.notes: list[Note] = []
        self.comparisons: dict[str, VectorComparison] = {}
        self.neighbours: Nearness = {}
        self.previous: dict[int, int] = {}

    def check_deadline(self) -> None:
        """Raise `DeadlinePassed` if the search is past its deadline."""
        if self.op.expires is not None and time.monotonic() > self.op.expires:
            raise DeadlinePassed

    def answer_probe(self, probe: Probe) -> None:
        """Answer one probe, and record its ranked list under its space."""
        match probe:
            case VectorProbe():
                self._answer_vector_probe(probe)
            case NeighboursProbe():
                seeds = _weigh_top_items(self.lists)
                self.neighbours, self.previous = _find_neighbours_and_predecessors(
                    self.rows, seeds, self.op.filters
                )
                self.lists[probe.space] = _rank_neighbours(self.neighbours, seeds)[: self.op.limit]
            case _:
                self.lists[probe.space] = _RANKER_BY_PROBE[type(probe)](self.rows, self.op, probe)

    def collect_findings(self) -> Findings:
        """The findings of all probes, with item ids in place of item numbers."""
        numbers = {number for ranked in self.lists.values() for number, _ in ranked}
        items = self.rows.items_by_number(numbers)
        ids = {number: item.id for number, item in items.items()}
        return Findings(
            items={item.id: item for item in items.values()},
            lists={
                space: tuple((ids[number], score) for number, score in ranked if number in ids)
                for space, ranked in self.lists.items()
            },
            notes=tuple(self.notes),
            measures={
                space: {ids[number]: score for number, score in comparison.cosines_of_items(ids).items()}
                for space, comparison in self.comparisons.items()
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
        """Rank items by cosine to the probe's vector and, if the probe asks for an echo, by the echo too."""
        dimensions = self.rows.vector_dimensions(probe.space, probe.digest)
        if dimensions is None:
            self.lists[probe.space] = []
            return
        if dimensions != len(probe.vector):
            raise ProbeFailed(
                f"the vector has {len(probe.vector)} numbers, those of this encoder have {dimensions}"
            )
        comparison = self.rows.compare_vectors(probe, self.op.filters)
        self._record_comparison(probe.space, comparison)
        if probe.echo is not None and self.lists[probe.space]:
            bonuses = self._word_match_bonuses()
            self._record_comparison(
                probe.echo, comparison.compare_towards_best(bonuses, _ECHO_WEIGHT, _ECHO_ITEMS)
            )

    def _record_comparison(self, space: str, comparison: VectorComparison) -> None:
        """Record a comparison, and the list of its best items, under a space."""
        self.comparisons[space] = comparison
        self.lists[space] = comparison.best_items(self.op.limit)

    def _word_match_bonuses(self) -> dict[int, float]:
        """The bonus of each item that words found, for choosing the answers that the echo moves towards."""
        ranked = next((ranked for ranked in self.lists.values() if ranked), [])
        best = ranked[0][1] if ranked else 0.0
        return {number: _ECHO_WORD_BONUS * score / best for number, score in ranked} if best > 0 else {}


# Words, typing errors, names and time


def _rank_by_words(rows: SearchRows, op: Search, probe: WordsProbe) -> Ranked:
    """Items by BM25 over `text` and `about`, scaled so that the best score is its share of the words."""
    ranked = _search_index_by_bm25(rows, op, "words", probe.words)
    if not ranked or ranked[0][1] <= 0:
        return ranked
    scale = _share_of_words_in_item(rows, ranked[0][0], probe.words) / ranked[0][1]
    return [(number, score * scale) for number, score in ranked]


def _rank_by_identifiers(rows: SearchRows, op: Search, probe: IdentifiersProbe) -> Ranked:
    """Items by BM25 over the parts of their code names."""
    return _search_index_by_bm25(rows, op, "identifiers", probe.words)


def _rank_by_similar_words(rows: SearchRows, op: Search, probe: TypoProbe) -> Ranked:
    """Items by BM25 for the known words that resemble the unknown words of the question."""
    similar = [
        word
        for unknown in _longest_unknown_words(rows, probe.words)
        for word in _find_similar_known_words(rows, unknown)
    ]
    return _search_index_by_bm25(rows, op, "words", tuple(dict.fromkeys(similar)))


def _rank_by_entities(rows: SearchRows, op: Search, probe: EntitiesProbe) -> Ranked:
    """Items that mention the same names; a rare name counts for more."""
    total = rows.largest_item_number() or 1
    scores: dict[int, float] = {}
    sum_of_weights = 0.0
    found = rows.count_and_find_mentions(probe.names, op.filters, _MAX_ITEMS_PER_NAME)
    for name in probe.names:
        known, numbers = found[name]
        weight = math.log(1 + total / (1 + known))
        sum_of_weights += weight
        for number in numbers:
            scores[number] = scores.get(number, 0.0) + weight
    best = sorted(scores.items(), key=lambda found: (-found[1], -found[0]))[: op.limit]
    return [(number, score / sum_of_weights) for number, score in best]


def _rank_by_recency(rows: SearchRows, op: Search, _: RecentProbe) -> Ranked:
    """The newest items, each with the score 1/rank."""
    return [(no, 1 / rank) for rank, no in enumerate(rows.newest_item_numbers(op.filters, op.limit), 1)]


_RANKER_BY_PROBE: dict[type, Callable[[SearchRows, Search, Any], Ranked]] = {
    WordsProbe: _rank_by_words,
    IdentifiersProbe: _rank_by_identifiers,
    TypoProbe: _rank_by_similar_words,
    EntitiesProbe: _rank_by_entities,
    RecentProbe: _rank_by_recency,
}


def _search_index_by_bm25(rows: SearchRows, op: Search, index: str, words: tuple[str, ...]) -> Ranked:
    """The best items for any of the words, by BM25; in a large workspace only the rarest words count."""
    if rows.largest_item_number() > _SMALL_WORKSPACE:
        words = _choose_rarest_words(_count_items_with_each_word(rows, _stem_of_each_word(words)))
    return rows.rank_by_bm25(index, words, op.filters, op.limit) if words else []


def _share_of_words_in_item(rows: SearchRows, item_number: int, words: tuple[str, ...]) -> float:
    """The share of the words that an item has, by weight of rarity; BM25 says little where items are few."""
    about, text = rows.about_and_text(item_number)
    stems = _stem_of_each_word(words)
    counts = _count_items_with_each_word(rows, stems)
    total = rows.largest_item_number()
    weights = {word: math.log(1 + (total + 1) / (counts[word] + 0.5)) for word in words}
    present = set(split_into_stems(f"{about}\n{text}"))
    return sum(weights[word] for word in words if stems[word] in present) / sum(weights.values())


def _choose_rarest_words(item_counts: Mapping[str, int]) -> tuple[str, ...]:
    """The rarest words, as many as occur in `MAX_POSTINGS` items together, given how many items have each."""
    rare: list[str] = []
    total = 0
    for word in sorted(item_counts, key=lambda word: item_counts[word]):
        total += item_counts[word]
        if rare and total > MAX_POSTINGS:
            break
        rare.append(word)
    return tuple(rare)


def _stem_of_each_word(words: tuple[str, ...]) -> dict[str, str]:
    """The stem of each word, as the index has it."""
    return {word: "".join(split_into_stems(word)) for word in words}


def _count_items_with_each_word(rows: SearchRows, stem_by_word: Mapping[str, str]) -> dict[str, int]:
    """The number of items that have each word, in any form with the same stem."""
    counts = rows.count_items_per_stem(stem_by_word.values())
    return {word: counts.get(stem, 0) for word, stem in stem_by_word.items()}


def _longest_unknown_words(rows: SearchRows, words: tuple[str, ...]) -> list[str]:
    """The longest words of the question that no item has, without short words and numbers."""
    known = rows.known_words(words)
    unknown = [word for word in words if word not in known and len(word) > 3 and not word.isdigit()]
    return sorted(unknown, key=len, reverse=True)[:_MAX_TYPO_WORDS]


def _find_similar_known_words(rows: SearchRows, word: str) -> list[str]:
    """Known words within two typing errors of this word, or within one if it is short; nearest first."""
    cutoff = _MAX_TYPO_DISTANCE_SHORT if len(word) < _MIN_LONG_WORD else _MAX_TYPO_DISTANCE
    candidates = rows.words_sharing_trigrams(word, _MAX_TYPO_CANDIDATES)
    similar = extract(word, candidates, scorer=DamerauLevenshtein.distance, score_cutoff=cutoff, limit=5)
    return [known for known, _, _ in similar]


# Neighbours


def _weigh_top_items(lists: Mapping[str, Ranked]) -> dict[int, float]:
    """The top items of all lists, by number, each with a weight of at most 1; the heaviest first."""
    weights: dict[int, float] = {}
    for ranked in lists.values():
        for rank, (number, _) in enumerate(ranked[:_MAX_SEEDS_PER_PROBE], 1):
            weights[number] = weights.get(number, 0.0) + 1 / rank
    best = sorted(weights.items(), key=lambda seed: (-seed[1], seed[0]))
    return {number: weight / best[0][1] for number, weight in best}


def _rank_neighbours(neighbours: Nearness, seeds: Mapping[int, float]) -> Ranked:
    """The neighbours of the seeds, best first; a score is the seed's weight times the nearness to it."""
    scores: dict[int, float] = {}
    for seed, weight in seeds.items():
        for number, nearness in neighbours.get(seed, {}).items():
            scores[number] = max(scores.get(number, 0.0), weight * nearness)
    return sorted(scores.items(), key=lambda near: (-near[1], near[0]))


def _find_neighbours_and_predecessors(
    rows: SearchRows, seeds: Mapping[int, float], filters: Filters
) -> tuple[Nearness, dict[int, int]]:
    """The nearness of each item to its neighbours, and for each item the one just before it in its session.

    Neighbours are items with a relation to a seed, and those just before or after it in its session.
    """
    numbers = list(seeds)
    before, after = rows.previous_in_session(numbers, filters), rows.next_in_session(numbers, filters)
    next_to = [(one, other, _NEARNESS_IN_SESSION) for one, other in (*before, *after)]
    neighbours: Nearness = {}
    for one, other, nearness in (*rows.related_items(numbers, filters), *next_to):
        if one != other:
            for here, there in ((one, other), (other, one)):
                known = neighbours.setdefault(here, {})
                known[there] = max(nearness, known.get(there, 0.0))
    return neighbours, dict(before) | {later: one for one, later in after}
