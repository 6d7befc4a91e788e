"""What a workspace is about: the names and terms that come back, session after session.

Counts, and does not cluster: a term that several recent sessions share is a topic. Knows files, code names,
proper names and short runs of plain words; of the names that the same items share it takes the longest.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from foreword.knowledge.sentence_weights import SMALL_TALK
from foreword.knowledge.word_lists import word_list
from foreword.text.provenance import is_from_third_party
from foreword.text.words import STOPWORDS, fold_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from foreword.types import Item

MAX_TOPICS = 5
_HALF_LIFE_DAYS = 30.0
_MAX_CACHED_TEXTS = 4_096
_MAX_ITEM_CHARACTERS = 1_000
_MAX_TOPIC_ITEMS = 60
_SAME_TOPIC_SHARE = 0.6
_USUAL_ITEMS, _USUAL_SHARE = 5, 0.03
_SIZE_WEIGHTS = (0.6, 1.2, 1.5, 1.5)
"""Weights by size: a plain word; a name, a file or a piece of code; two words; three words."""

_TOKEN = re.compile(
    r"""(?P<skip>https?://\S+ | (?<![\w.+-])[\w.+-]{1,64}@[\w.-]+ | \[redacted:[^\]]*\]
            | \b[0-9a-f]{7,64}\b)
      | (?P<file>(?<![\w.\-/])(?:~?/)?(?:[\w.@-]++/)*+(?:[\w-]++\.)+?(?:py|pyi|js|jsx|ts|tsx|mjs|vue|go|rs
            |java|kt|swift|c|h|cc|cpp|hpp|cs|rb|php|sh|md|rst|toml|ya?ml|json|ini|cfg|sql|html|css|scss|proto|tf
            |ipynb)\b)
      | (?P<code>\b(?:[A-Za-z][^\W_]*+_\w+ | [a-z]++[A-Z]\w+ | [A-Z][a-z]++[A-Z]\w+ | [A-Z]{2,9}-\d+)\b)
      | (?P<word>[^\W\d_][^\W_]*(?:-[^\W_]+)*)(?:['’][^\W_]+)?
      | (?P<stop>[.,;:!?()\[\]{}"“”\n|=<>/\\`$#*+]+)
    """,
    re.VERBOSE,
)
_NO_TOPIC = STOPWORDS | SMALL_TALK | word_list("common")


@dataclass(frozen=True, slots=True)
class Topic:
    """Something that a workspace keeps coming back to; `items` are the newest that mention it."""

    name: str
    confidence: float
    items: tuple[str, ...]
    last_seen: datetime


class _Spelling(NamedTuple):
    """A term as a text spells it, with the key of all its spellings.

    `size` is its number of words, or 0 for one plain word.
    """

    key: str
    text: str
    size: int


@dataclass(slots=True)
class _Term:
    """A term: its spellings, the places of its items, and its sessions with how recent each is (0 to 1)."""

    size: int
    spellings: Counter[str] = field(default_factory=Counter)
    places: list[int] = field(default_factory=list)
    sessions: dict[str, float] = field(default_factory=dict)
    score: float = 0.0

    @property
    def name(self) -> str:
        """The most frequent spelling."""
        return min(self.spellings, key=lambda spelling: (-self.spellings[spelling], spelling))

    @property
    def folded_words_of_name(self) -> set[str]:
        """The words of its name, folded."""
        return set(fold_case(self.name).split())


def find_topics(items: Sequence[Item], now: datetime, max_topics: int = MAX_TOPICS) -> tuple[Topic, ...]:
    """At most `max_topics` topics of these items, surest first.

    A topic stands in at least two sessions; where there is only one session, in at least three items. A
    session counts for less the longer it is ago. Web pages are not counted, and files and tools only for
    terms that the user or the agent uses, too: otherwise a page or a README could name a topic.
    """
    items = [item for item in items if item.superseded_by is None and item.source.trust != "web"]
    spoken = {place for place, item in enumerate(items) if not is_from_third_party(item.source)}
    terms = {
        key: term
        for key, term in _collect_terms_by_key(items, now).items()
        if not spoken.isdisjoint(term.places)
    }
    sessions = {_session_or_day(item) for item in items}
    for term in terms.values():
        term.score = _topic_score(term, len(items), len(sessions))
    ranked = sorted(
        (term for term in terms.values() if term.score > 0),
        key=lambda term: (-term.score, -term.size, term.name),
    )
    return tuple(_build_topic(term, items) for term in _choose_distinct_terms(ranked, max_topics))


def _collect_terms_by_key(items: Sequence[Item], now: datetime) -> dict[str, _Term]:
    """Every term of the items by its key, with the items and sessions that it stands in."""
    terms: dict[str, _Term] = {}
    for place, item in enumerate(items):
        recency = 0.5 ** (max(0.0, (now - item.created_at).total_seconds()) / 86_400 / _HALF_LIFE_DAYS)
        about = f"{item.metadata.get('file', '')}\n" if item.metadata.get("file") else ""
        for key, spelling, size in _cached_terms(f"{about}{item.text[:_MAX_ITEM_CHARACTERS]}"):
            term = terms.setdefault(key, _Term(size))
            term.size = max(size, term.size)
            term.spellings[spelling] += 1
            if not term.places or term.places[-1] != place:
                term.places.append(place)
            session = _session_or_day(item)
            term.sessions[session] = max(recency, term.sessions.get(session, 0.0))
    return terms


def _session_or_day(item: Item) -> str:
    """The session of an item; a statement outside any session counts by its day."""
    return item.session or f"day {item.created_at.date()}"


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _cached_terms(text: str) -> tuple[_Spelling, ...]:
    """The terms of a text, cached, since most texts are read again with their workspace."""
    return tuple(_find_terms(text))


def _find_terms(text: str) -> Iterator[_Spelling]:
    """The terms of a text as they are spelled there.

    A capital at the beginning of a sentence says nothing and is dropped.
    """
    run: list[str] = []
    run_starts, next_starts = True, True  # whether the run, and the next word, begin a sentence
    for match in _TOKEN.finditer(text):
        shape = match.lastgroup or ""
        value = match.group(shape)
        if shape == "word" and _is_content_word(value):
            run_starts = run_starts if run else next_starts
            run.append(value)
            next_starts = False
            continue
        yield from _candidate_phrases(run, starts_sentence=run_starts)
        run, next_starts = [], shape == "stop" and value[0] in ".!?\n#"
        if shape == "file":
            name = "/".join(value.strip("/~").split("/")[-2:])
            yield _Spelling(fold_case(name), name, 1)
        elif shape == "code":
            yield _Spelling(fold_case(value), value, 1)
    yield from _candidate_phrases(run, starts_sentence=run_starts)


def _is_content_word(word: str) -> bool:
    plain = fold_case(word)
    return len(plain) > 2 and plain not in _NO_TOPIC


def _candidate_phrases(run: list[str], *, starts_sentence: bool) -> Iterator[_Spelling]:
    """Every one to three words in a row, of a run of content words, that could be the name of something."""
    if starts_sentence and run and run[0].istitle() and not (len(run) > 1 and run[1].istitle()):
        run = [run[0].lower(), *run[1:]]
    for size in (1, 2, 3):
        for start in range(len(run) - size + 1):
            words = run[start : start + size]
            if words[0].endswith("ly") or words[-1].endswith(("ly", "ing", "ed")):
                continue
            plain = size == 1 and words[0].islower()
            yield _Spelling(
                " ".join(_to_singular(fold_case(word)) for word in words),
                " ".join(words),
                0 if plain else size,
            )


def _to_singular(word: str) -> str:
    """A word without the s of its plural, so that `retry` and `retries` are one term."""
    if word.endswith("ies") and len(word) > 5:
        return f"{word[:-3]}y"
    is_plural = word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 4
    return word[:-1] if is_plural else word


def _topic_score(term: _Term, item_count: int, session_count: int) -> float:
    """How good a topic a term is: it recurs, but not in everything here; 0 if it is no topic."""
    single = session_count < 2
    if len(term.places) < (3 if single else 2) or (not single and len(term.sessions) < 2):
        return 0.0
    usual = max(_USUAL_ITEMS, item_count * _USUAL_SHARE)
    special = min(1.0, math.sqrt(usual / len(term.places)))
    return _topic_confidence(term) * special * _SIZE_WEIGHTS[term.size]


def _topic_confidence(term: _Term) -> float:
    """The confidence in a topic, 0 to 1: it grows with sessions, most with recent ones, and with items."""
    evidence = sum(term.sessions.values()) + 0.05 * min(len(term.places), 10)
    return evidence / (evidence + 1)


def _choose_distinct_terms(ranked: list[_Term], max_terms: int) -> Iterable[_Term]:
    """The best terms, none of which is part of another or stands in the same items under another name."""
    chosen: list[_Term] = []
    for term in ranked:
        if len(chosen) == max_terms:
            break
        if not any(_is_same_topic(term, other) for other in chosen):
            chosen.append(_find_longer_term(term, ranked))
    return chosen


def _find_longer_term(term: _Term, ranked: list[_Term]) -> _Term:
    """The longer term that nearly all of a term's items share; the term itself when there is none."""
    words = term.folded_words_of_name
    for other in sorted(ranked, key=lambda other: -other.size):
        longer = other.size > term.size and words < other.folded_words_of_name
        if longer and len(other.places) >= 0.75 * len(term.places):
            return other
    return term


def _is_same_topic(term: _Term, other: _Term) -> bool:
    """Whether two terms share a word of their names, or short ones mostly stand in the same items."""
    if not term.folded_words_of_name.isdisjoint(other.folded_words_of_name):
        return True
    shared = len(set(term.places) & set(other.places))
    small = min(len(term.places), len(other.places))
    return shared >= _SAME_TOPIC_SHARE * small and min(term.size, other.size) < 2


def _build_topic(term: _Term, items: Sequence[Item]) -> Topic:
    mentioned = [items[place] for place in term.places]
    mentioned.sort(key=lambda item: item.created_at, reverse=True)
    return Topic(
        name=term.name,
        confidence=round(_topic_confidence(term), 3),
        items=tuple(item.id for item in mentioned[:_MAX_TOPIC_ITEMS]),
        last_seen=mentioned[0].created_at,
    )
