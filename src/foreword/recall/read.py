"""The judge of what helps: a small cross-encoder, taught on histories like a user's own.

Each of the best candidates is read together with the question, as it would be told: who said it, how long
ago, and its words; a long one by its best statements. The logit becomes the probability that the candidate
helps, which means the same for every kind of item. The few that are to be told are then read once more with
what was said later about the same thing. If the reader thinks far less of one then, it is outdated.

How the reader was taught, and on what, is in docs/reader.md. Finding candidates is not its task.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.text.statements import split_statements
from foreword.text.words import content_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from foreword.spaces.base import Reranker
    from foreword.types import Findings, Item, Query, SearchResult

MAX_READ = 24
"""At most how many statements are read; beyond that hardly anything was found."""

_MAX_STATEMENTS = 2
"""At most how many statements of one item are read."""

_SLOPE, _OFFSET = 0.433, -1.45
"""The curve from logits to probabilities. The slope was fitted on histories that the reader was not taught
on; the offset is lower than there, because in life far fewer candidates help."""

_SPARE_SECONDS = 0.03
"""Seconds that are left to the stages after this one."""

_MAX_QUESTION_CHARACTERS = 400
_MAX_LOGITS_BELOW_BEST = 2.0
"""A statement whose logit is at most this much below the item's best is told with it."""

_MAX_REREAD = 8
_OUTDATED_LOGITS = 1.5
"""By how much later words must lower a logit before an item counts as outdated."""

_MIN_NEARNESS = 0.12
"""From this share of weighted common words on, a later item is taken to be about the same thing."""

_UNREAD, _MIN_SUCCESSOR_LOGIT = -math.inf, -7.0
"""What was read and found quite beside the point replaces nothing."""

_MAX_LATER = 2
_MAX_LATER_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class _Passage:
    """A statement of a candidate, as it is read."""

    result: SearchResult
    statement: str
    is_whole: bool


def read_results(
    results: Sequence[SearchResult], query: Query, reader: Reranker, most: int = MAX_READ
) -> list[SearchResult]:
    """The results that were read in time, with their probability and what to tell of them, best first.

    At most so many statements are read, those of the leading results.
    """
    asked = set(content_words(query.text))
    passages = [passage for result in results[:most] for passage in _passages(result, asked)][:most]
    texts = [_describe(passage.result.memory, passage.statement, query.now) for passage in passages]
    logits = reader.scores(_shorten(query.text), texts, _expires(query))
    by_item: dict[str, list[tuple[float, _Passage]]] = {}
    for logit, passage in zip(logits, passages, strict=False):
        by_item.setdefault(passage.result.memory.id, []).append((logit, passage))
    judged = [_judge_item(read) for read in by_item.values()]
    return sorted(judged, key=lambda one: (-one.score, -one.memory.created_at.timestamp(), one.memory.id))


def find_outdated(
    results: Sequence[SearchResult],
    pool: Sequence[SearchResult],
    found: Findings,
    query: Query,
    reader: Reranker,
    shown: frozenset[str] = frozenset(),
) -> dict[str, SearchResult]:
    """The ids of results that later ones in the pool make untrue, each with the nearest of these.

    What the session was shown is not read, and yet makes untrue what came before it.
    """
    candidates = {
        one.memory.id: one
        for one in pool
        if one.memory.id in shown or one.scores.get("read", _UNREAD) > _MIN_SUCCESSOR_LOGIT
    }
    nearness = Nearness([result.memory for result in candidates.values()])
    asked: list[tuple[SearchResult, str, str]] = []
    for result in results[:_MAX_REREAD]:
        near = nearness.later_items(result.memory) if result.memory.id in candidates else []
        later = [item for item in near if _may_replace(item, result.memory)]
        if later:
            asked.append((result, later[0].id, _describe_with_context(result, later, found, query.now)))
    logits = reader.scores(_shorten(query.text), [text for *_, text in asked], _expires(query))
    return {
        result.memory.id: candidates[successor]
        for logit, (result, successor, _) in zip(logits, asked, strict=False)
        if logit < result.scores["read"] - _OUTDATED_LOGITS
    }


def _may_replace(later: Item, earlier: Item) -> bool:
    """Whether one's word can undo the other's: what a tool printed or a page says never undoes a person's."""
    foreign = later.source.trust == "web" or (later.kind == "turn" and later.source.trust == "tool")
    return not foreign or earlier.source.trust not in ("user", "agent")


def _passages(result: SearchResult, asked: set[str]) -> list[_Passage]:
    """The statements of an item that share most with the question; all, if there are few."""
    statements = split_statements(_without_files(result.memory))
    if len(statements) <= 1:
        return [_Passage(result, _without_files(result.memory), is_whole=True)]
    shared = [len(asked.intersection(content_words(statement))) for statement in statements]
    best = sorted(range(len(statements)), key=lambda at: (-shared[at], at))[:_MAX_STATEMENTS]
    return [_Passage(result, statements[at], is_whole=False) for at in sorted(best)]


def _judge_item(read: Sequence[tuple[float, _Passage]]) -> SearchResult:
    """The item with the probability of its best statement, and the statements worth telling."""
    best = max(logit for logit, _ in read)
    result = read[0][1].result
    told = [passage for logit, passage in read if logit >= best - _MAX_LOGITS_BELOW_BEST]
    excerpt = "" if told[0].is_whole else " … ".join(passage.statement for passage in told)
    return replace(result, score=probability(best), scores={**result.scores, "read": best}, excerpt=excerpt)


def probability(logit: float) -> float:
    """The probability that something helps, from the reader's logit."""
    return 1 / (1 + math.exp(-(_SLOPE * logit + _OFFSET)))


# How a candidate is put to the reader ---------------------------------------------------------------------


def _describe(item: Item, statement: str, now: datetime) -> str:
    """A statement with who said it and when, in the words that the reader was taught with."""
    about = f"{item.about}: " if item.about and item.kind in ("code", "document", "commit") else ""
    return f"{_speaker(item)}, {_age(item, now)}: {about}{statement}"


def _without_files(item: Item) -> str:
    """What an item says; of a commit its message alone, without the list of its files."""
    return item.text.partition("\nfiles: ")[0].rstrip() if item.kind == "commit" else item.text


def _describe_with_context(
    result: SearchResult, later: Sequence[Item], found: Findings, now: datetime
) -> str:
    """The same, with what came before it in its session and what was said later."""
    item = result.memory
    parts = [_describe(item, result.excerpt or _without_files(item)[:_MAX_QUESTION_CHARACTERS], now)]
    before = found.items.get(found.previous.get(item.id, ""))
    if before is not None:
        parts.append(f"(after {_speaker(before)}: {before.text[:_MAX_LATER_CHARACTERS]})")
    # The bracket stays open: so it stood in what the reader was taught on.
    parts += [
        f"(later, {_age(one, now)}, {_speaker(one)}: {one.text[:_MAX_LATER_CHARACTERS]}" for one in later
    ]
    return " ".join(parts)


def _speaker(item: Item) -> str:
    match item.kind:
        case "code" | "document":
            return "file"
        case "commit":
            return "commit"
        case "turn" | "memory" if item.source.trust in ("agent", "tool"):
            return item.source.trust
        case "turn":
            return "user"
        case _:
            return "memory"


def _age(item: Item, now: datetime) -> str:
    days = (now.date() - item.created_at.astimezone(now.tzinfo).date()).days
    return "today" if days <= 0 else "yesterday" if days == 1 else f"{days} days ago"


def _shorten(question: str) -> str:
    """A long question by its two ends: what is asked stands before or after what was pasted."""
    half = _MAX_QUESTION_CHARACTERS // 2
    return question if len(question) <= 2 * half else f"{question[:half]} … {question[-half:]}"


def _expires(query: Query) -> float | None:
    return None if query.expires is None else query.expires - _SPARE_SECONDS


class Nearness:
    """How much items have in common, by their words; rare words count for more."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._words = {item.id: set(content_words(item.text)) for item in items}
        self._weights = self._word_weights()

    def later_items(self, item: Item) -> list[Item]:
        """The later items that are most probably about the same thing, nearest first."""
        later = [one for one in self._items if one.created_at > item.created_at and one.id != item.id]
        near = [(self._weighted_overlap(item.id, one.id), one) for one in later]
        near.sort(key=lambda pair: -pair[0])
        return [one for nearness, one in near[:_MAX_LATER] if nearness >= _MIN_NEARNESS]

    def _weighted_overlap(self, one: str, other: str) -> float:
        common = self._sum_of_weights(self._words[one] & self._words[other])
        sizes = self._sum_of_weights(self._words[one]) * self._sum_of_weights(self._words[other])
        return common / math.sqrt(sizes) if sizes else 0.0

    def _sum_of_weights(self, words: set[str]) -> float:
        return sum(self._weights[word] for word in words)

    def _word_weights(self) -> Mapping[str, float]:
        counts: dict[str, int] = {}
        for words in self._words.values():
            for word in words:
                counts[word] = counts.get(word, 0) + 1
        return {word: math.log(1 + len(self._words) / count) for word, count in counts.items()}
