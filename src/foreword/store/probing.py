"""How SQLite answers each kind of probe: item numbers and scores, best first, filters applied inside.

Every function reads one connection in one snapshot and writes nothing. User text never becomes query syntax:
each word is quoted before it reaches the full-text engine.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import apsw
from rapidfuzz.distance import DamerauLevenshtein
from rapidfuzz.process import extract

from foreword.store.rows import micros
from foreword.types import (
    EntitiesProbe,
    IdentifiersProbe,
    RecentProbe,
    TypoProbe,
    WordsProbe,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from foreword.types import Filters

    Ranked = list[tuple[int, float]]
    Beside = dict[int, dict[int, float]]

SMALL = 2000
MOST_POSTINGS = 20_000
"""Ranking costs about a microsecond for each item that has a word. In a workspace that is not small, the
rarest words of a question are taken until together they stand in this many items; the rest, which stand
nearly everywhere, would cost tens of milliseconds and say almost nothing."""

_TYPO_DISTANCE = 2
_TYPO_CANDIDATES = 20_000
_TYPO_WORDS = 4
_SHORT = 6
_NEWEST = 2000
_SEEDS = 30
_NEXT = 0.5
"""How near the next place in a session is; a relation is as near as it is sure."""


def where(filters: Filters) -> tuple[str, list[object]]:
    """The filters as SQL over `items AS i`, and the values to bind; `TRUE` when everything passes."""
    clauses: list[str] = []
    values: list[object] = []

    def add(clause: str, *bound: object) -> None:
        clauses.append(clause)
        values.extend(bound)

    if filters.kinds:
        add(f"i.kind IN ({', '.join('?' * len(filters.kinds))})", *filters.kinds)
    if filters.types:
        marks = ", ".join("?" * len(filters.types))
        add(f"(i.type IN ({marks}) OR (i.type = '' AND i.kind IN ({marks})))", *filters.types, *filters.types)
    if filters.since is not None:
        add("i.created_at >= ?", micros(filters.since))
    if filters.until is not None:
        add("i.created_at <= ?", micros(filters.until))
    if filters.min_confidence > 0:
        add("i.confidence >= ?", filters.min_confidence)
    for column in ("conversation", "session", "source"):
        if (value := getattr(filters, column)) is not None:
            add(f"i.{column} = ?", value)
    return " AND ".join(clauses) or "TRUE", values


def by_words(db: apsw.Connection, probe: WordsProbe, filters: Filters, limit: int) -> Ranked:
    """BM25 over text and surroundings; the score of the best is how much of the question it has."""
    ranked = _match(db, "words", probe.words, filters, limit)
    if not ranked or ranked[0][1] <= 0:
        return ranked
    scale = _coverage(db, ranked[0][0], probe.words) / ranked[0][1]
    return [(no, score * scale) for no, score in ranked]


def by_identifiers(db: apsw.Connection, probe: IdentifiersProbe, filters: Filters, limit: int) -> Ranked:
    """BM25 over the parts of code names."""
    return _match(db, "identifiers", probe.words, filters, limit)


def by_typos(db: apsw.Connection, probe: TypoProbe, filters: Filters, limit: int) -> Ranked:
    """BM25 over known words that look like the unknown ones of the question."""
    resembling = [word for unknown in _unknown(db, probe.words) for word in _resembling(db, unknown)]
    return _match(db, "words", tuple(dict.fromkeys(resembling)), filters, limit)


def by_entities(db: apsw.Connection, probe: EntitiesProbe, filters: Filters, limit: int) -> Ranked:
    """Items that mention the same named things; a rare name counts for more."""
    clause, values = where(filters)
    joined = "" if filters.empty else "JOIN items i USING(no)"
    total = db.execute("SELECT max(no) FROM items").get or 1
    scores: dict[int, float] = {}
    whole = 0.0
    for name in probe.names:
        known = db.execute("SELECT count(*) FROM mentions WHERE entity = ?", (name,)).get
        weight = math.log(1 + total / (1 + known))
        whole += weight
        rows = db.execute(
            f"SELECT m.no FROM mentions m {joined} WHERE m.entity = ? AND {clause} "
            "ORDER BY m.no DESC LIMIT ?",
            (name, *values, _NEWEST),
        )
        for (no,) in rows:
            scores[no] = scores.get(no, 0.0) + weight
    best = sorted(scores.items(), key=lambda found: (-found[1], -found[0]))[:limit]
    return [(no, score / whole) for no, score in best]


def by_recency(db: apsw.Connection, _: RecentProbe, filters: Filters, limit: int) -> Ranked:
    """The newest items; the score is 1/rank, as time alone has no other."""
    clause, values = where(filters)
    rows = db.execute(
        f"SELECT i.no FROM items i WHERE {clause} ORDER BY i.created_at DESC, i.no DESC LIMIT ?",
        (*values, limit),
    )
    return [(no, 1 / rank) for rank, (no,) in enumerate(rows, 1)]


def by_neighbours(beside: Beside, seeds: dict[int, float], limit: int) -> Ranked:
    """What is one relation, or one place in the same session, away from the best that was found."""
    scores: dict[int, float] = {}
    for seed, weight in seeds.items():
        for no, nearness in beside.get(seed, {}).items():
            scores[no] = max(scores.get(no, 0.0), weight * nearness)
    return sorted(scores.items(), key=lambda near: (-near[1], near[0]))[:limit]


def answer(
    db: apsw.Connection,
    probe: WordsProbe | IdentifiersProbe | TypoProbe | EntitiesProbe | RecentProbe,
    filters: Filters,
    limit: int,
) -> Ranked:
    """Answer any probe that needs neither vectors nor other probes' answers."""
    match probe:
        case WordsProbe():
            return by_words(db, probe, filters, limit)
        case IdentifiersProbe():
            return by_identifiers(db, probe, filters, limit)
        case TypoProbe():
            return by_typos(db, probe, filters, limit)
        case EntitiesProbe():
            return by_entities(db, probe, filters, limit)
        case RecentProbe():
            return by_recency(db, probe, filters, limit)


def _match(db: apsw.Connection, index: str, words: tuple[str, ...], filters: Filters, limit: int) -> Ranked:
    """The best items for any of the words, by BM25."""
    if (db.execute("SELECT max(no) FROM items").get or 0) > SMALL:
        words = _telling(_postings(db, _stems(db, words)))
    if not words:
        return []
    clause, values = where(filters)
    joined = "" if filters.empty else "JOIN items i ON i.no = f.rowid"
    rows = db.execute(
        f"SELECT f.rowid, -f.rank FROM {index} f {joined} WHERE f.{index} MATCH ? AND {clause} "
        "ORDER BY f.rank LIMIT ?",
        (" OR ".join(map(_quoted, words)), *values, limit),
    )
    return [(no, score) for no, score in rows]


def _coverage(db: apsw.Connection, no: int, words: tuple[str, ...]) -> float:
    """How much of some words an item has, the rare ones first; BM25 cannot tell where items are few."""
    ((about, text),) = db.execute("SELECT about, text FROM items WHERE no = ?", (no,)).fetchall()
    stems = _stems(db, words)
    counts = _postings(db, stems)
    total = db.execute("SELECT max(no) FROM items").get
    weights = {word: math.log(1 + (total + 1) / (counts[word] + 0.5)) for word in words}
    there = set(_stemmed(db, f"{about}\n{text}"))
    return sum(weights[word] for word in words if stems[word] in there) / sum(weights.values())


def _quoted(word: str) -> str:
    """A word as the full-text engine's string, which has no syntax in it."""
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'


def _known(db: apsw.Connection, words: tuple[str, ...]) -> dict[str, int]:
    """In how many items each known word stands."""
    marks = ", ".join("?" * len(words))
    return dict(db.execute(f"SELECT word, items FROM vocabulary WHERE word IN ({marks})", words))


def _telling(counts: Mapping[str, int]) -> tuple[str, ...]:
    """The words worth ranking by, given in how many items each stands: not those that are everywhere."""
    kept: list[str] = []
    total = 0
    for word in sorted(counts, key=lambda word: counts[word]):
        total += counts[word]
        if kept and total > MOST_POSTINGS:
            break
        kept.append(word)
    return tuple(kept)


def _stems(db: apsw.Connection, words: tuple[str, ...]) -> dict[str, str]:
    """Each word as the index has it."""
    return {word: "".join(_stemmed(db, word)) for word in words}


def _stemmed(db: apsw.Connection, text: str) -> list[str]:
    stem = db.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    plain = {"include_offsets": False, "include_colocated": False}
    return [str(token) for token in stem(text.encode(), apsw.FTS5_TOKENIZE_QUERY, None, **plain)]


def _postings(db: apsw.Connection, stems: Mapping[str, str]) -> dict[str, int]:
    """In how many items each word stands, in any of its forms."""
    marks = ", ".join("?" * len(stems))
    counts = dict(db.execute(f"SELECT term, doc FROM spread WHERE term IN ({marks})", tuple(stems.values())))
    return {word: counts.get(stem, 0) for word, stem in stems.items()}


def _unknown(db: apsw.Connection, words: tuple[str, ...]) -> list[str]:
    """The longest words of the question that no item has; short ones and numbers are not guessed at."""
    known = _known(db, words)
    strange = [word for word in words if word not in known and len(word) > 3 and not word.isdigit()]
    return sorted(strange, key=len, reverse=True)[:_TYPO_WORDS]


def _resembling(db: apsw.Connection, word: str) -> list[str]:
    """Known words within two slips of the pen, nearest first."""
    grams = sorted({word[i : i + 3] for i in range(len(word) - 2)})
    # Unranked: ranking thousands of short words costs ten times what comparing them does.
    rows = db.execute(
        "SELECT v.word FROM trigrams t JOIN vocabulary v ON v.id = t.rowid "
        "WHERE t.trigrams MATCH ? AND length(v.word) BETWEEN ? AND ? LIMIT ?",
        (" OR ".join(map(_quoted, grams)), len(word) - 2, len(word) + 2, _TYPO_CANDIDATES),
    )
    allowed = 1 if len(word) < _SHORT else _TYPO_DISTANCE  # short words have many strangers near
    near = extract(
        word, [row[0] for row in rows], scorer=DamerauLevenshtein.distance, score_cutoff=allowed, limit=5
    )
    return [known for known, _, _ in near]


def seeds(found: dict[str, Ranked]) -> dict[int, float]:
    """The items that the probes put first, with a weight of at most 1, the best first."""
    weights: dict[int, float] = {}
    for ranked in found.values():
        for rank, (no, _) in enumerate(ranked[:_SEEDS], 1):
            weights[no] = weights.get(no, 0.0) + 1 / rank
    best = sorted(weights.items(), key=lambda seed: (-seed[1], seed[0]))
    return {no: weight / best[0][1] for no, weight in best}


def neighbours(db: apsw.Connection, of: Iterable[int], filters: Filters) -> tuple[Beside, dict[int, int]]:
    """Who stands beside whom, related or next in the same session; and who came just before whom there."""
    given = json.dumps(list(of))
    beside: Beside = {}
    for one, other, nearness in _related(db, given, filters):
        _join(beside, one, other, nearness)
    before = _next_to(db, given, filters, "max", "<")
    after = _next_to(db, given, filters, "min", ">")
    for one, other in (*before, *after):
        _join(beside, one, other, _NEXT)
    return beside, dict(before) | {later: one for one, later in after}


def _join(beside: Beside, one: int, other: int, nearness: float) -> None:
    if one != other:
        for here, there in ((one, other), (other, one)):
            known = beside.setdefault(here, {})
            known[there] = max(nearness, known.get(there, 0.0))


def _related(db: apsw.Connection, given: str, filters: Filters) -> list[Any]:
    clause, values = where(filters)
    return db.execute(
        "SELECT r.seed, i.no, r.confidence FROM ("
        "SELECT s.value AS seed, to_no AS no, confidence "
        "FROM json_each(?1) s JOIN relations ON from_no = s.value UNION ALL "
        "SELECT s.value, from_no, confidence FROM json_each(?1) s JOIN relations ON to_no = s.value"
        f") r JOIN items i USING(no) WHERE {_numbered(clause)}",
        (given, *values),
    ).fetchall()


def _next_to(db: apsw.Connection, given: str, filters: Filters, nearest: str, sign: str) -> list[Any]:
    clause, values = where(filters)
    return db.execute(
        f"SELECT b.seed, i.no FROM ("
        f"SELECT s.value AS seed, (SELECT {nearest}(n.no) FROM items n WHERE n.session = o.session "
        f"AND n.no {sign} o.no) AS no FROM json_each(?1) s JOIN items o ON o.no = s.value "
        f"WHERE o.session IS NOT NULL) b JOIN items i USING(no) WHERE {_numbered(clause)}",
        (given, *values),
    ).fetchall()


def _numbered(clause: str) -> str:
    """The same clause with its marks numbered from 2, for queries whose ?1 is used twice."""
    parts = clause.split("?")
    return "".join(part + (f"?{i + 2}" if i < len(parts) - 1 else "") for i, part in enumerate(parts))
