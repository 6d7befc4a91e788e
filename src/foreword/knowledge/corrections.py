"""Finds the statement that a bare correction corrects: "no, Thursday", "sorry, I meant Lyon", "scrap that".

Such a turn means nothing alone, so no search finds what it corrects: a statement made just before it in the
same session. If it names a value (a day, a time, a number, a name), it corrects the latest statement with
another value of that sort, and whatever repeats that statement. If it only takes something back, it corrects
the last thing that the same person stated.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from foreword.knowledge.command_results import is_tool_output
from foreword.knowledge.progress_cues import cue, is_question, task_words
from foreword.knowledge.settled import read_settled
from foreword.text.clean import plain_line
from foreword.text.sentences import split_sentences
from foreword.text.statements import only_asks
from foreword.text.words import STOPWORDS, content_words, fold_case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.types import Item

MAX_TURNS_BACK = 6
"""At most how many turns back a bare correction may reach in its session."""

MAX_CHARACTERS = 160
"""At most how many characters a bare correction has."""

_MAX_WORDS, _MAX_WORDS_UNMARKED, _MAX_WORDS_LEFT = 16, 4, 2
_MAX_CACHED_TEXTS = 8_192
_MAX_TURNS_UNNAMED = 3
"""At most how many turns back a statement may be that is taken back without being named."""

_SURE, _LIKELY, _POSSIBLE = 0.9, 0.8, 0.6
_MIN_ECHOED = 0.6
"""A turn repeats a statement if it has at least this share of its words."""

_DAYS = (
    "monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|wed|thurs?|fri|montag|dienstag"
    "|mittwoch|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes"
    "|martes|miércoles|jueves|viernes|sábado|domingo"
)
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|januar|februar"
    "|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre"
    "|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre"
    "|diciembre"
)
_SORTS: Mapping[str, re.Pattern[str]] = {
    "day": re.compile(rf"\b(?:{fold_case(_DAYS)})s?\b"),
    "month": re.compile(rf"\b(?:{fold_case(_MONTHS)})\b"),
    "time": re.compile(r"\b\d{1,2}(?::\d\d)?\s?(?:am|pm|uhr|h)\b|\b\d{1,2}:\d\d\b|\bnoon\b|\bmidnight\b"),
    "number": re.compile(
        r"\b\d+(?:[.,]\d+)*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty"
        r"|thirty|forty|fifty|sixty|eighty|hundred|thousand)\b"
    ),
}
_NAME = re.compile(r"(?<![\w'])(?:[A-Z][\w&.-]*\w|[A-Z]{2,})(?:'s)?")
_IDENTIFIER = re.compile(r"\b\w*[a-z]\w*(?:[_./@-]\w+)+\b|\bv\d[\w.]*\b|\b0x[0-9a-f]+\b")
_DENIAL = re.compile(r"\b(?:not|nicht|kein\w*|pas|no|instead of|rather than|statt)\s+(?P<rest>[^,;.!]{1,40})")
_MARKS = " ,.!;:–—-"
_WEAK_MARKS = re.compile(
    r"(?:(?:ah|oh|hm+|well|its|it's|it is|that's|just|only)\b[\s,.!:–—-]*)+", re.IGNORECASE
)
"""Words before a value that as often begin praise: "it's Maja", "it's lovely"."""

_CLAUSE_END = re.compile(r"[,;.!:–—]\s+|\s-\s|\s(?:and|but|und|et|y)\s")


class Corrected(NamedTuple):
    """An earlier item that a correction makes untrue, and how probably it does."""

    item: Item
    chance: float


def find_corrected(item: Item, earlier: Sequence[Item]) -> list[Corrected]:
    """The earlier items that a bare correction corrects; empty for other turns.

    `earlier` are the items before it in its session, newest first.
    """
    line = _line_of_possible_correction(item.text) if item.kind == "turn" and not is_tool_output(item) else ""
    if not line:
        return []
    near = [one for one in earlier[:MAX_TURNS_BACK] if _states_something(one)]
    if not near:
        return []
    is_answer = only_asks(earlier[0].text)
    by_value = _find_corrected_by_value(item, line, near, is_answer=is_answer)
    return by_value or _find_corrected_without_value(item, line, near, is_answer=is_answer)


def may_be_correction(text: str) -> bool:
    """Whether a turn may be a bare correction, by its length and its wording."""
    return bool(_line_of_possible_correction(text))


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _line_of_possible_correction(text: str) -> str:
    """The text of a turn on one line, if it may be a bare correction; else ""."""
    if len(text) > MAX_CHARACTERS or is_question(text):
        return ""
    line = plain_line(" ".join(one for one in split_sentences(text) if not is_question(one)))
    words = len(line.split())
    marked = cue("contradicts").match(line) or any(
        cue(name).search(line) for name in ("corrects", "revokes", "cancels")
    )
    return line if words <= _MAX_WORDS_UNMARKED or (marked and words <= _MAX_WORDS) else ""


def is_revocation(text: str) -> bool:
    """Whether a text only takes something back, and puts nothing in its place.

    "scrap that", "forget about Kafka, too much work"; not "scrap that, blue" or "forget it, we stay with
    Postgres".
    """
    line = plain_line(text)
    if not (cue("revokes").search(line) or cue("cancels").search(line)):
        return False
    clauses = (clause.strip(_MARKS) for clause in _CLAUSE_END.split(line))
    others = [
        one for one in clauses if one and not (cue("revokes").search(one) or cue("cancels").search(one))
    ]
    return not any(_names_replacement(clause) for clause in others)


def _names_replacement(clause: str) -> bool:
    """Whether a clause beside a revocation names something in place of what is taken back."""
    is_value = len(clause.split()) <= _MAX_WORDS_LEFT and not cue("fillers").search(clause)
    return is_value or bool(read_settled(clause))


def _states_something(item: Item) -> bool:
    """Whether an item is a turn or a memory that is not superseded and makes a statement."""
    if item.kind not in ("turn", "memory") or is_tool_output(item) or item.superseded_by:
        return False
    return _has_statement(item.text)


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _has_statement(text: str) -> bool:
    """Whether a text states something: not only a question, and more than one content word."""
    return not only_asks(text) and len(content_words(text)) > 1


# By the value that it names -------------------------------------------------------------------------------


def _find_corrected_by_value(
    item: Item, line: str, near: Sequence[Item], *, is_answer: bool
) -> list[Corrected]:
    """The latest statement with another value of the same sort, and those nearby that repeat that value."""
    corrects_own = bool(cue("corrects").search(line))
    beginning = cue("contradicts").match(line)
    marked = corrects_own or beginning is not None
    is_short = len(line.split()) <= _MAX_WORDS_UNMARKED
    if not marked and (is_answer or not is_short):
        return []
    new = _read_new_values(_drop_correction_words(line), _names_of_speakers(item, near))
    denied = _denied_words(line)
    candidates = _sort_own_words_first(item, near) if corrects_own else near
    if not marked:
        candidates = near[:1]
    if not marked or (beginning and not (corrects_own or is_short) and _WEAK_MARKS.fullmatch(beginning[0])):
        # "Oh, Mia, how lovely!" addresses somebody, and "it's called Doreen, it never stops" names something.
        new = {sort: values for sort, values in new.items() if sort != "name"}
    for older in candidates:
        change = _changed_values(new, denied, read_values(older.text))
        if change is not None:
            sort, gone, fresh = change
            alike = [one for one in near if _has_value(one, sort, gone) and not _has_value(one, sort, fresh)]
            return [Corrected(one, _SURE if marked else _POSSIBLE) for one in alike]
    return []


def _read_new_values(line: str, speakers: frozenset[str]) -> dict[str, frozenset[str]]:
    """The values that a correction names, by sort.

    A name counts in the first sentence only, since words that begin others are capitalised ("No, thanks. Let
    me know"), and not if it is that of somebody who is spoken to ("That's great, Sam!").
    """
    values = dict(read_values(line))
    names = read_values(next(iter(split_sentences(line)), "")).get("name", frozenset())
    values["name"] = frozenset(name for name in names if not _is_address(name, speakers))
    return values


def _is_address(name: str, speakers: frozenset[str]) -> bool:
    """Whether a name, or the short form of one, is that of a speaker."""
    return any(speaker.startswith(name) for speaker in speakers)


def _names_of_speakers(item: Item, near: Sequence[Item]) -> frozenset[str]:
    """Who speaks in these turns, as far as they have names."""
    return frozenset(fold_case(str(one.metadata["name"])) for one in (item, *near) if "name" in one.metadata)


def _sort_own_words_first(item: Item, near: Sequence[Item]) -> list[Item]:
    """The items with the speaker's own first: "I meant" corrects one's own words."""
    return sorted(near, key=lambda one: one.source.trust != item.source.trust)


def _changed_values(
    new: Mapping[str, frozenset[str]], denied: frozenset[str], old: Mapping[str, frozenset[str]]
) -> tuple[str, frozenset[str], frozenset[str]] | None:
    """The sort of value that a correction changes, the old values and the new ones; None if there is none."""
    for sort, values in new.items():
        there = old.get(sort, frozenset())
        fresh = values - there - denied
        gone = (there & denied) or (there - values)
        if fresh and gone and not (values & there - denied):
            return sort, gone, fresh
    return None


def _has_value(item: Item, sort: str, values: frozenset[str]) -> bool:
    """Whether an item names one of these values of a sort."""
    return bool(read_values(item.text).get(sort, frozenset()) & values)


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def read_values(text: str) -> dict[str, frozenset[str]]:
    """The values that a text names, by sort; a time is not also a number, nor a day a name."""
    folded = fold_case(text)
    found: dict[str, frozenset[str]] = {}
    for sort, pattern in _SORTS.items():
        values = frozenset(match.group().rstrip("s") if sort == "day" else match.group()
                           for match in pattern.finditer(folded))  # fmt: skip
        if values:
            found[sort] = values
        folded = pattern.sub(" ", folded)
    names = {fold_case(match.group().removesuffix("'s")) for match in _NAME.finditer(text)}
    known = frozenset(name for name in names if name not in STOPWORDS and _is_name(name, found))
    identifiers = frozenset(match.group() for match in _IDENTIFIER.finditer(fold_case(text)))
    return found | ({"name": known} if known else {}) | ({"identifier": identifiers} if identifiers else {})


def _is_name(word: str, found: Mapping[str, frozenset[str]]) -> bool:
    """Whether a capitalised word is a name, and not a day, a month or a word that opens a correction."""
    values = {value for sort in ("day", "month") for value in found.get(sort, ())}
    return word.rstrip("s") not in values and word not in values and not cue("contradicts").match(word)


def _denied_words(line: str) -> frozenset[str]:
    """The words and values that a correction denies: "not Paris", "instead of Friday"."""
    folded = fold_case(line)
    return frozenset(
        value
        for match in _DENIAL.finditer(folded)
        for values in (*read_values(match["rest"]).values(), frozenset(match["rest"].split()))
        for value in values
    )


# By what was said last ------------------------------------------------------------------------------------


def _find_corrected_without_value(
    item: Item, line: str, near: Sequence[Item], *, is_answer: bool
) -> list[Corrected]:
    """The last statement of the same person, and what repeats it, if the turn takes something back.

    After a question, a bare "no" is an answer and takes nothing back.
    """
    takes_back = bool(cue("corrects").search(line)) or (not is_answer and _is_bare_revocation(line))
    unknown_value = not takes_back and not is_answer and _names_bare_value(line)
    if not (takes_back or unknown_value):
        return []
    recent = near[: 1 if unknown_value else _MAX_TURNS_UNNAMED]
    own = next((one for one in recent if one.source.trust == item.source.trust), recent[0])
    words = task_words(own.text)
    echoes = [one for one in recent if one is not own and _share_most_words(task_words(one.text), words)]
    return [Corrected(one, _LIKELY if takes_back else _POSSIBLE) for one in (own, *echoes)]


def _is_bare_revocation(line: str) -> bool:
    """Whether a turn takes something back without naming it."""
    match = cue("revokes").search(line) or cue("cancels").search(line)
    begins = match is not None and len(content_words(line[: match.start()])) <= 1
    return begins and match is not None and len(content_words(line[: match.end()])) <= _MAX_WORDS_LEFT


def _names_bare_value(line: str) -> bool:
    """Whether nothing but a word or two follows a word that plainly contradicts: "no, lyon"."""
    match = cue("contradicts").match(line)
    if match is None or not cue("contradicts").match(_WEAK_MARKS.sub("", line, count=1)):
        return False
    left = _drop_correction_words(line).split()
    return 1 <= len(left) <= _MAX_WORDS_LEFT and not cue("fillers").search(line[match.end() :])


def _drop_correction_words(line: str) -> str:
    """A correction without the words that only mark it as one, such as "no" and "I meant"."""
    match = cue("contradicts").match(line)
    while match is not None and match.end() > 0:
        line = line[match.end() :].lstrip(_MARKS)
        match = cue("contradicts").match(line)
    return cue("corrects").sub(" ", line).strip(" .!,")


def _share_most_words(words: frozenset[str], stated: frozenset[str]) -> bool:
    """Whether two texts share most words of the one with fewer words."""
    return bool(words) and len(words & stated) >= _MIN_ECHOED * min(len(words), len(stated))
