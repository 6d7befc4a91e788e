"""Which statements leave something open, and which of them were closed since.

A statement leaves something open when it says so: a list of what is left, something promised, postponed,
waited for, a test left red (`progress_cues.toml`); a memory may also have the type of a task. It is closed
when each of its parts was: by a later statement or commit that says it is done or not needed any more and
shares most of its words, by a later list of what is open about the same things, by a statement that replaces
it, or by hand. A tool's output leaves nothing open, except for a test run that failed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from foreword.knowledge.command_results import is_tool_output, read_test_result
from foreword.knowledge.progress_cues import (
    cue_pattern,
    is_question,
    lists_what_is_open,
    open_tasks_heading_pattern,
    task_words,
    task_words_without_stopwords,
)
from foreword.store.base import ListRecent
from foreword.text.clean import plain_line
from foreword.text.dates import find_dates
from foreword.text.sentences import split_sentences
from foreword.text.statements import MAX_STATEMENT_CHARACTERS
from foreword.types import REPLACES, SURE_REPLACEMENT, Filters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.store.base import Store
    from foreword.types import Item

MAX_ITEMS = 1_000
"""At most how many of the latest statements of a workspace are looked at."""

CLOSED = "closed"
"""The key in an item's metadata that says when somebody closed what it leaves open."""

_KINDS = ("turn", "memory", "commit")
_TASK_TYPES = ("task", "todo", "to-do", "open", "open task", "open_task", "reminder")
_MAX_CHARACTERS, _MAX_SENTENCE_CHARACTERS = 8_000, 500
_MIN_COVERED, _MIN_ABOUT = 0.5, 0.65
"""A later sentence closes a part if it has at least the first share of the part's words, or if the part
has at least the second share of the words of one of the sentence's clauses."""

_SAME_SHARE = 0.6
"""Two ends of one session are the same if the shorter has at least this share of its words in the other."""

_MAX_CACHED_SENTENCES = 8_192
_MAX_ENDS = 100
"""At most this many ends stay open, the latest, because each is compared with all that follows."""

_TURNS_NEAR = 3
"""At most how many turns later a bare "forget it" or "done" still means what was just left open."""

_BARE_WORDS = 2
_MIN_WORDS = 2
"""With fewer words a clause does not say what is to be done."""

_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+\S")
_CONDITION = re.compile(
    r"\b(?:once|when|after|as soon as|until|till|if|because|since|before|unless|wenn|sobald|bis|weil"
    r"|quand|dès que|si|cuando|hasta)\b",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\s*(?:[,;]\s*(?:and|then|und|dann|et|puis|y)?\b|\s(?:and|und|et|y)\s|\n)\s*", re.IGNORECASE
)
_RED = re.compile(r"\b(?:red|failing|fails?|rot|rouges?|rojo)\b", re.IGNORECASE)
_WITHOUT_YEAR = ("ordinal", "weekday", "short_weekday", "abroad", "day_month", "month")
"""Forms of dates that may mean the past or what is ahead; beside a cue they mean what is ahead."""


@dataclass(frozen=True, slots=True)
class OpenEnd:
    """Something that an item leaves open, in its own words.

    `parts` are the things that have to be done, each by its words; `is_several` says that there was more than
    one. `is_list`: the item lists all that is open; `is_someday`: nobody means to do it soon. `runner` is
    the name of the test runner whose tests failed.
    """

    item: Item
    text: str
    parts: tuple[frozenset[str], ...]
    is_list: bool = False
    is_someday: bool = False
    is_several: bool = False
    runner: str = ""

    @property
    def labelled_text(self) -> str:
        """The text with "Open: " before it, unless it begins with such a word itself."""
        return (
            self.text if open_tasks_heading_pattern().match(plain_line(self.text)) else f"Open: {self.text}"
        )

    @property
    def words(self) -> frozenset[str]:
        """The words of all parts."""
        return frozenset().union(*self.parts)


def list_open_ends(store: Store, workspace: str) -> list[OpenEnd]:
    """The open ends of a workspace, newest first; those for some day come last."""
    items = store.run(ListRecent(workspace, Filters(kinds=_KINDS), MAX_ITEMS))
    ends = find_open_ends(items[::-1])
    standing = _drop_replaced(store, workspace, ends)
    newest = sorted(standing, key=lambda end: end.item.created_at, reverse=True)
    return sorted(newest, key=lambda end: end.is_someday)


def find_open_ends(items: Sequence[Item]) -> list[OpenEnd]:
    """The ends that these items, oldest first, leave open and do not close later; in the same order."""
    open_list = _OpenList()
    for item in items:
        open_list.add(item)
    return open_list.ends


def find_replacing_items(store: Store, workspace: str, ids: Sequence[str]) -> dict[str, list[Item]]:
    """By the id of each item that was replaced, the later items that replaced it."""
    related = store.expand(workspace, list(ids), 1, Filters()) if ids else {}
    later = {
        name: [
            one.memory
            for one in found
            if (one.relationship.type, one.relationship.to_id) == (REPLACES, name)
            and one.relationship.confidence >= SURE_REPLACEMENT
        ]
        for name, found in related.items()
    }
    return {name: newer for name, newer in later.items() if newer}


def _drop_replaced(store: Store, workspace: str, ends: Sequence[OpenEnd]) -> list[OpenEnd]:
    """The ends that no later statement has replaced."""
    ids = {end.item.id for end in ends}
    replacing = find_replacing_items(store, workspace, list(ids))
    return [
        end
        for end in ends
        if not any(newer.id in ids or _may_close(newer, end) for newer in replacing.get(end.item.id, ()))
    ]


def _may_close(newer: Item, end: OpenEnd) -> bool:
    """Whether an item that replaced a statement also closes the end that it left open.

    It has to speak of what is open; if several things are open, it may have done only one of them. An agent
    that repeats what it was told has done nothing.
    """
    is_echo = newer.source.trust == "agent" and newer.session == end.item.session
    is_about = not end.is_several and bool(task_words(newer.text) & end.words)
    return is_about and (not is_echo or bool(_sentences_that_close_something(newer)))


def read_open_end(item: Item) -> OpenEnd | None:
    """The open end that an item states, by its own words alone; None if it leaves nothing open."""
    if is_tool_output(item):
        result = read_test_result(item)
        failed = result is not None and result.failed
        return OpenEnd(item, result.text, (), runner=result.runner) if result and failed else None
    if item.kind == "commit" or item.superseded_by or item.metadata.get(CLOSED):
        return None
    sentences = _cached_sentences(item.text[:_MAX_CHARACTERS])
    places = [place for place, sentence in enumerate(sentences) if leaves_something_open(sentence, item)]
    if not places and item.type.casefold() in _TASK_TYPES:
        places = list(range(len(sentences)))
    said = [sentences[place] for place in _add_places_of_list_items(sentences, places)]
    if not said or (not task_words(" ".join(said)) and len(task_words(item.text)) <= _MIN_WORDS):
        return None  # "nice. tomorrow"
    is_list = any(lists_what_is_open(sentences[place]) for place in places)
    parts = tuple(part for sentence in said for part in _tasks_in_sentence(sentence, is_list=is_list))
    short = len(item.text) <= MAX_STATEMENT_CHARACTERS
    return OpenEnd(
        item,
        item.text.strip() if short else "\n".join(said),
        parts,
        is_list=is_list,
        is_someday=bool(cue_pattern("someday").search(plain_line(item.text))),
        is_several=len(parts) > 1,
    )


def leaves_something_open(sentence: str, item: Item) -> bool:
    """Whether a sentence of an item says that something is to be done."""
    found = _find_open_cue(sentence)
    return found == "open" or (found == "dated" and _names_future_day(plain_line(sentence), item))


@lru_cache(maxsize=_MAX_CACHED_SENTENCES)
def _find_open_cue(sentence: str) -> str:
    """Return "open" if a sentence leaves something open, "dated" if only with a date ahead, else ""."""
    if is_question(sentence) or len(sentence) > _MAX_SENTENCE_CHARACTERS or "```" in sentence:
        return ""
    said = plain_line(sentence)
    if cue_pattern("opens").search(said) or cue_pattern("someday").search(said) or lists_what_is_open(said):
        return "open"
    return "dated" if cue_pattern("dated").search(said) else ""


def _names_future_day(sentence: str, item: Item) -> bool:
    """Whether a sentence names a day that was not over when it was said.

    Days that come again and again, as in "we deploy on Tuesdays", are habits and do not count.
    """
    once = cue_pattern("recurring").sub(" … ", sentence)
    return any(
        one.form in _WITHOUT_YEAR or one.span is None or one.span.until > item.created_at
        for one in find_dates(once, item.created_at)
        if one.form not in ("clock", "weekdays")
    )


def _add_places_of_list_items(sentences: Sequence[str], places: Sequence[int]) -> list[int]:
    """The places of sentences, and after each that heads a list the places of its items."""
    taken: dict[int, None] = {}
    for place in places:
        taken[place] = None
        if sentences[place].rstrip(" *_").endswith(":"):
            for at in range(place + 1, len(sentences)):
                if not _BULLET.match(sentences[at]):
                    break
                taken[at] = None
    return list(taken)


def _tasks_in_sentence(sentence: str, *, is_list: bool) -> list[frozenset[str]]:
    """The things to be done that a sentence names, each as a set of words.

    In a list these are all its entries; in another sentence, the clauses from its cue on.
    """
    text = plain_line(sentence)
    if is_list:
        text = text[match.end() :] if (match := open_tasks_heading_pattern().search(text)) else text
        pieces = [words for clause in _PART.split(text) if (words := task_words(clause))]
        return pieces or _whole_sentence_as_task(sentence)
    clauses = _PART.split(text)
    first = next((at for at, clause in enumerate(clauses) if _find_open_cue(clause)), 0)
    tasks = [words for clause in clauses[first:] if (words := _task_words_of_clause(clause))]
    return tasks or _whole_sentence_as_task(sentence)


def _task_words_of_clause(clause: str) -> frozenset[str]:
    """The words of a clause's task, without its condition unless little else is said; empty if too few."""
    unconditional = task_words(_CONDITION.split(clause)[0])
    words = unconditional if len(unconditional) >= _MIN_WORDS else task_words(clause)
    return words if len(words) >= _MIN_WORDS else frozenset()


def _whole_sentence_as_task(sentence: str) -> list[frozenset[str]]:
    """The words of a sentence as its only task; no task if it has no such words."""
    words = task_words(sentence)
    return [words] if words else []


# What closes ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _OpenList:
    """The open ends, updated item by item."""

    ends: list[OpenEnd] = field(default_factory=list)
    turns: dict[str, int] = field(default_factory=dict)
    opened_at: dict[int, int] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        """Close what the item closes, then open what it leaves open."""
        turn = self.turns[item.session or ""] = self.turns.get(item.session or "", 0) + 1
        self._close_by_run(item)
        if not is_tool_output(item):
            for closing in _sentences_that_close_something(item):
                self._close_by_words(closing, item, turn)
        end = read_open_end(item)
        if end is not None:
            self.ends = [older for older in self.ends if not _is_restated_by(older, end)]
            self.ends = [*self.ends[-_MAX_ENDS + 1 :], end]
            self.opened_at[id(item)] = turn

    def _close_by_run(self, item: Item) -> None:
        """Close the ends of earlier runs by the same runner; if all passed, also what was said to fail."""
        result = read_test_result(item)
        if result is not None:
            self.ends = [
                end
                for end in self.ends
                if end.runner != result.runner and (result.failed or end.runner or not _RED.search(end.text))
            ]

    def _close_by_words(self, sentence: str, item: Item, turn: int) -> None:
        """Close the parts of open ends that a sentence says are done or not needed any more."""
        words = task_words(sentence)
        clauses = [
            _words_naming_closed_task(clause) for clause in _PART.split(sentence) if _has_closing_cue(clause)
        ]
        is_bare = item.kind == "turn" and len(words) <= _BARE_WORDS and not sentence.count(",")
        kept = []
        for end in self.ends:
            near = end.item.session == item.session and turn - self.opened_at[id(end.item)] < _TURNS_NEAR
            if is_bare and near and _is_bare_closing(sentence):
                continue
            left = tuple(part for part in end.parts if not _closes_part(words, clauses, part))
            if left or not end.parts:
                kept.append(end if left == end.parts else replace(end, parts=left))
        self.ends = kept


def _sentences_that_close_something(item: Item) -> list[str]:
    """The sentences that say that something is done or not needed; a commit as a whole."""
    if item.kind == "commit":
        return [item.text.split("\n\n")[0]]
    text = item.text[:_MAX_CHARACTERS]
    return [sentence for sentence in _cached_sentences(text) if _is_closing(sentence, item)]


@lru_cache(maxsize=_MAX_CACHED_SENTENCES)
def _cached_sentences(text: str) -> tuple[str, ...]:
    return tuple(split_sentences(text))


def _is_closing(sentence: str, item: Item) -> bool:
    """Whether a sentence says that something is not needed, or done while it leaves nothing open."""
    how = _find_closing_cue(sentence)
    return how == "cancels" or (how == "done" and not leaves_something_open(sentence, item))


@lru_cache(maxsize=_MAX_CACHED_SENTENCES)
def _find_closing_cue(sentence: str) -> Literal["cancels", "done", ""]:
    """Return "cancels" if a sentence says that something is not needed, "done" if it is done, else ""."""
    said = plain_line(sentence)
    if is_question(sentence) or len(said) > _MAX_SENTENCE_CHARACTERS:
        return ""
    if _says_not_needed(said):
        return "cancels"
    return "done" if _has_closing_cue(said) else ""


@lru_cache(maxsize=_MAX_CACHED_SENTENCES)
def _has_closing_cue(clause: str) -> bool:
    """Whether a clause says that something is done or not needed any more."""
    said = plain_line(clause)
    return bool(cue_pattern("done").search(said)) or _says_not_needed(said)


def _says_not_needed(line: str) -> bool:
    return bool(cue_pattern("cancels").search(line) or cue_pattern("spares").search(line))


def _words_naming_closed_task(clause: str) -> frozenset[str]:
    """The words of a closing clause that name what it closes: without those that say it is not needed."""
    said = cue_pattern("spares").sub(" ", cue_pattern("cancels").sub(" ", plain_line(clause)))
    return task_words_without_stopwords(said) or task_words(clause)


def _is_bare_closing(sentence: str) -> bool:
    """Whether a few words such as "done" or "forget it" close whatever was just left open.

    "Drop the newsletter" names what it closes, and closes nothing else.
    """
    said = plain_line(sentence).strip(" .!")
    whole = cue_pattern("cancels").search(said) or cue_pattern("done").search(said)
    if whole is None or whole.start() > len("that's ") or len(said.split()) > _BARE_WORDS + 2:
        return False
    return (
        not task_words_without_stopwords(cue_pattern("cancels").sub(" ", said))
        or cue_pattern("cancels").search(said) is None
    )


def _closes_part(words: frozenset[str], clauses: Sequence[frozenset[str]], part: frozenset[str]) -> bool:
    """Whether a closing sentence has most words of a part, or one of its clauses speaks of nothing else."""
    shared = len(words & part)
    if shared < min(2, len(part)):
        return False
    about = (len(clause & part) >= max(2, _MIN_ABOUT * len(clause)) for clause in clauses)
    return shared >= _MIN_COVERED * len(part) or any(about)


def _is_restated_by(older: OpenEnd, newer: OpenEnd) -> bool:
    """Whether a newer end restates an older one: a list of the same things, or the same words."""
    same_session = older.item.session is not None and older.item.session == newer.item.session
    if older.runner or newer.runner:
        is_reported = same_session and bool(_RED.search(newer.text))
        return older.runner == newer.runner or (is_reported and not newer.runner)
    shared = older.words & newer.words
    if older.is_list and newer.is_list and (shared or same_session):
        return True
    fewest = min(len(older.words), len(newer.words))
    return bool(shared) and len(shared) >= _SAME_SHARE * fewest and len(newer.words) >= len(older.words) // 2
