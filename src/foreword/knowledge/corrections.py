"""Finds the statement that a bare correction corrects: "no, Thursday", "sorry, I meant Lyon", "scrap that".

Such a turn means nothing alone, so no search finds what it corrects: a statement made just before it in the
same session. If it names a value (a day, a phone number, an amount, a name), it corrects the latest statement
with another value that it fits, and whatever repeats that value; `stated_values` says what fits. If it only
takes something back, it corrects the last thing that the same person stated.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from foreword.knowledge.command_results import is_tool_output
from foreword.knowledge.progress_cues import cue_pattern, is_question, task_words
from foreword.knowledge.settled import find_what_statement_settles
from foreword.knowledge.stated_values import CLOSELY, closeness_of_fit, read_values
from foreword.text.clean import plain_line
from foreword.text.sentences import split_sentences
from foreword.text.statements import is_bare_question
from foreword.text.words import STOPWORDS, content_words, fold_case, share_most_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.knowledge.stated_values import Value
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
_MIN_NAMED = 0.6
"""A statement is meant if it has at least this share of the words that name what is taken back."""

_DENIAL = re.compile(r"\b(?:not|nicht|kein\w*|pas|no|instead of|rather than|statt)\s+(?P<rest>[^,;.!]{1,40})")
_SLIP = re.compile(r"(?:no+,? )?(?:wait|sorry|oops|whoops|ups|sry)\b", re.IGNORECASE)
"""How people begin who correct a slip of their own."""

_OWN_SUBJECT = re.compile(r"(?:i|i'm|we|we're|my|our) \w", re.IGNORECASE)
_WAIT = re.compile(r"\Await\s*[,.:–—-]+\s*", re.IGNORECASE)
_MARKS = " ,.!;:–—-"
_WEAK_MARKS = re.compile(
    r"(?:(?:ah|oh|hm+|well|its|it's|it is|that's|just|only)\b[\s,.!:–—-]*)+", re.IGNORECASE
)
"""Words before a value that as often begin praise: "it's Maja", "it's lovely"."""

_BARE_NO = re.compile(r"(?:no|not|kein\w*|nicht|pas|sin) ", re.IGNORECASE)
_LEADS_TO_VALUE = re.compile(r"\A(?:(?:at|on|in|for|to|from|with) )?(?:(?:the|an?) )?", re.IGNORECASE)
_SHAPED = ("digits", "email", "version", "address")
_COUNTED = ("number", "time")
"""The kinds of values that are known by their shape, and those that may also be said in plain words."""

_POINTING_WORDS = r"(?:that|it|this|them|those|das|ça|cela|eso)"
_POINTS_LAST = re.compile(rf"\b{_POINTING_WORDS}\Z", re.IGNORECASE)
_POINTS_FIRST = re.compile(rf"\s*{_POINTING_WORDS}\b", re.IGNORECASE)
_POINTING_NOUNS = "plan idea order decision rule booking reservation request appointment anymore"
"""Words for what was said before that need not stand in it: "cancel the order" after "send two crates"."""

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
    near = [one for one in earlier[:MAX_TURNS_BACK] if _is_current_statement(one)]
    if not near:
        return []
    is_answer = is_bare_question(earlier[0].text)
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
    marked = cue_pattern("contradicts").match(line) or any(
        cue_pattern(name).search(line) for name in ("corrects", "revokes", "cancels")
    )
    return line if words <= _MAX_WORDS_UNMARKED or (marked and words <= _MAX_WORDS) else ""


def is_revocation(text: str) -> bool:
    """Whether a text only takes something back, and puts nothing in its place.

    "scrap that", "forget about Kafka, too much work"; not "scrap that, blue" or "forget it, we stay with
    Postgres".
    """
    line = plain_line(text)
    if not (cue_pattern("revokes").search(line) or cue_pattern("cancels").search(line)):
        return False
    clauses = (clause.strip(_MARKS) for clause in _CLAUSE_END.split(line))
    others = [
        one
        for one in clauses
        if one and not (cue_pattern("revokes").search(one) or cue_pattern("cancels").search(one))
    ]
    return not any(_names_replacement(clause) for clause in others)


def _names_replacement(clause: str) -> bool:
    """Whether a clause beside a revocation names something in place of what is taken back."""
    is_value = len(clause.split()) <= _MAX_WORDS_LEFT and not cue_pattern("fillers").search(clause)
    return is_value or bool(find_what_statement_settles(clause))


def _is_current_statement(item: Item) -> bool:
    """Whether an item is a turn or a memory that is not superseded and makes a statement."""
    if item.kind not in ("turn", "memory") or is_tool_output(item) or item.superseded_by:
        return False
    return _has_statement(item.text)


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _has_statement(text: str) -> bool:
    """Whether a text states something: not only a question, and more than one content word."""
    return not is_bare_question(text) and len(content_words(text)) > 1


# By the value that it names -------------------------------------------------------------------------------


def _find_corrected_by_value(
    item: Item, line: str, near: Sequence[Item], *, is_answer: bool
) -> list[Corrected]:
    """The statement with a value that the new one fits best, and those nearby that repeat that value."""
    corrects_own = bool(cue_pattern("corrects").search(line))
    beginning = cue_pattern("contradicts").match(line)
    marked = corrects_own or beginning is not None
    is_short = len(line.split()) <= _MAX_WORDS_UNMARKED
    if not marked and (is_answer or not is_short):
        return []
    new = _read_values_of_correction(line, _names_of_speakers(item, near))
    is_weak = beginning is not None and not (corrects_own or is_short) and _WEAK_MARKS.fullmatch(beginning[0])
    if is_weak and not _opens_with_value(_drop_correction_words(line)):
        return []  # "It's a family of four."
    if not marked or is_weak:
        # "Oh, Mia, how lovely!" addresses somebody, and "it's called Doreen, it never stops" names something.
        new = frozenset(value for value in new if value.kind != "name")
    if _opens_with_forbidding_no(line) and not (corrects_own or is_short):
        near = [one for one in near if not task_words(line).isdisjoint(task_words(one.text))]
    is_slip = corrects_own or _SLIP.match(line) is not None
    candidates = _sort_own_words_first(item, near) if is_slip else near
    change = _find_change(line, new, candidates if marked else near[:1])
    if change is None:
        return []
    alike = [one for one in near if one is change.item or _has_values_change_takes_away(one, change)]
    return [Corrected(one, _SURE if marked else _POSSIBLE) for one in alike]


def _opens_with_forbidding_no(line: str) -> bool:
    """Whether a turn begins with a "no" that belongs to the next words: "no meat for the two of us"."""
    bare = _BARE_NO.match(line)
    return bare is not None and not (
        cue_pattern("contradicts").match(line, bare.end()) or _opens_with_value(line[bare.end() :])
    )


def _opens_with_value(said: str) -> bool:
    """Whether a text begins with a value, after an article or a preposition at most."""
    first = _LEADS_TO_VALUE.sub("", said, count=1).split()[:1]
    return bool(first) and bool(read_values(first[0], opens_with_name=True))


class _Change(NamedTuple):
    """An item of which a correction changes values: which go and which come, and how closely they fit."""

    item: Item
    gone: frozenset[Value]
    fresh: frozenset[Value]
    fit: int


def _find_change(line: str, new: frozenset[Value], candidates: Sequence[Item]) -> _Change | None:
    """The change of the first of the items that the new values fit most closely; None if they fit none.

    They fit an item that shares a word with the correction more closely, since that names what is corrected:
    "the room is 14". Only such an item is changed by a part of a value, as by the 14 of "Room 14".
    """
    denied = _denied_words(line)
    words = frozenset(word for word in task_words(line) if not word.isdigit())
    said = _drop_correction_words(line)
    is_short = len(said.split()) <= _MAX_WORDS_UNMARKED and not _OWN_SUBJECT.match(said)
    found: list[_Change] = []
    for item in candidates:
        is_named = not words.isdisjoint(task_words(item.text))
        fitting = frozenset(value for value in new if is_named or not value.is_part)
        change = _find_values_replaced_by_new(item, fitting, denied)
        # A whole sentence ("actually I live in Berlin") says itself what it is about.
        if change is not None and (is_named or is_short or change.fit == CLOSELY):
            found.append(change._replace(fit=change.fit + is_named))
    return max(found, key=lambda one: one.fit, default=None)


def _find_values_replaced_by_new(item: Item, new: frozenset[Value], denied: frozenset[str]) -> _Change | None:
    """Which values of an item the new ones take the place of; None if there are none."""
    old = read_values(item.text)
    gone_if_denied = frozenset(value for value in old if not denied.isdisjoint(value.words))
    fresh = [value for value in new if denied.isdisjoint(value.words)]
    fresh = [value for value in fresh if not any(value.is_same(one) for one in old)]
    left = [value for value in old if not any(value.is_same(one) for one in new)]
    pairs = [(closeness_of_fit(come, go), go, come) for come in fresh for go in gone_if_denied or left]
    best = max((closeness for closeness, _, _ in pairs), default=0)
    if not best:
        return None
    changed = [(go, come) for closeness, go, come in pairs if closeness == best]
    return _Change(item, frozenset(go for go, _ in changed), frozenset(come for _, come in changed), best)


def _has_values_change_takes_away(item: Item, change: _Change) -> bool:
    """Whether an item has all the values that a change takes away, and none that it brings."""
    values = read_values(item.text)
    has_gone = all(any(gone.is_same(value) for value in values) for gone in change.gone)
    return has_gone and not any(fresh.is_same(value) for value in values for fresh in change.fresh)


def _read_values_of_correction(line: str, speakers: frozenset[str]) -> frozenset[Value]:
    """The values that a correction names.

    A name counts in the first sentence only, since words that begin others are capitalised ("No, thanks. Let
    me know"), and not if it is that of somebody who is spoken to ("That's great, Sam!").
    """
    said = _drop_correction_words(line)
    first = read_values(next(iter(split_sentences(said)), ""), opens_with_name=True)
    names = (value for value in first if value.kind == "name" and not _names_a_speaker(value, speakers))
    return frozenset((*names, *(value for value in read_values(said) if value.kind != "name")))


def _names_a_speaker(name: Value, speakers: frozenset[str]) -> bool:
    """Whether a name, or the short form of one, is that of a speaker."""
    return any(speaker.startswith(" ".join(name.words)) for speaker in speakers)


def _names_of_speakers(item: Item, near: Sequence[Item]) -> frozenset[str]:
    """Who speaks in these turns, as far as they have names."""
    return frozenset(fold_case(str(one.metadata["name"])) for one in (item, *near) if "name" in one.metadata)


def _sort_own_words_first(item: Item, near: Sequence[Item]) -> list[Item]:
    """The items with the speaker's own first: "I meant" corrects one's own words."""
    return sorted(near, key=lambda one: one.source.trust != item.source.trust)


def _denied_words(line: str) -> frozenset[str]:
    """The words and values that a correction denies: "not Paris", "instead of Friday"."""
    return frozenset(
        word
        for match in _DENIAL.finditer(fold_case(line))
        for words in (*(value.words for value in read_values(match["rest"])), match["rest"].split())
        for word in words
    )


# By what was said last ------------------------------------------------------------------------------------


def _find_corrected_without_value(
    item: Item, line: str, near: Sequence[Item], *, is_answer: bool
) -> list[Corrected]:
    """The last statement of the same person, and what repeats it, if the turn takes something back.

    After a question, a bare "no" is an answer and takes nothing back.
    """
    takes_back = bool(cue_pattern("corrects").search(line)) or (
        not is_answer and _begins_with_revocation(line)
    )
    unknown_value = not takes_back and not is_answer and _is_contradiction_with_bare_value(line)
    if not (takes_back or unknown_value):
        return []
    recent = near[: 1 if unknown_value else _MAX_TURNS_UNNAMED]
    revoked = _words_of_what_is_taken_back(line)
    recent = [one for one in recent if not revoked or _says_most_of(one, revoked)]
    own = next((one for one in recent if one.source.trust == item.source.trust), next(iter(recent), None))
    if own is None or not _may_name_value_being_corrected(own, line):
        return []
    words = task_words(own.text)
    echoes = [one for one in recent if one is not own and share_most_words(task_words(one.text), words)]
    return [Corrected(one, _LIKELY if takes_back else _POSSIBLE) for one in (own, *echoes)]


def _may_name_value_being_corrected(item: Item, line: str) -> bool:
    """Whether an item may name, in words of its own, a value of the kind that a correction names.

    "A few" may become 5, but nothing other than a phone number becomes one; and where an item has numbers
    that the correction does not fit, it is about something else.
    """
    kinds = {value.kind for value in read_values(_drop_correction_words(line)) if not value.is_part}
    if not kinds.isdisjoint(_SHAPED):
        return False
    return kinds.isdisjoint(_COUNTED) or all(value.kind not in _COUNTED for value in read_values(item.text))


def _begins_with_revocation(line: str) -> bool:
    """Whether a turn begins by taking something back."""
    match = _find_revocation(line)
    if match is None or len(content_words(line[: match.start()])) > 1:
        return False
    return len(content_words(line[: match.end()])) <= _MAX_WORDS_LEFT


def _find_revocation(line: str) -> re.Match[str] | None:
    """The first words that take something back."""
    matches = [match for name in ("revokes", "cancels") if (match := cue_pattern(name).search(line))]
    return min(matches, key=lambda match: match.start(), default=None)


def _words_of_what_is_taken_back(line: str) -> frozenset[str]:
    """The words that name what a turn takes back; empty if it only points at it ("scrap that plan").

    "We don't want to fly with layovers" takes back flights with layovers, and nothing else that was said.
    """
    match = _find_revocation(line)
    rest = _CLAUSE_END.split(line[match.end() :], maxsplit=1)[0] if match else ""
    if match is None or _POINTS_LAST.search(match.group()) or _POINTS_FIRST.match(rest):
        return frozenset()
    words = (word for word in content_words(cue_pattern("fillers").sub(" ", rest)) if word not in STOPWORDS)
    return task_words(" ".join(words)) - task_words(_POINTING_NOUNS)


def _is_contradiction_with_bare_value(line: str) -> bool:
    """Whether nothing but a word or two follows a word that plainly contradicts: "no, lyon"."""
    match = cue_pattern("contradicts").match(line)
    if match is None or not cue_pattern("contradicts").match(_WEAK_MARKS.sub("", line, count=1)):
        return False
    left = _drop_correction_words(line).split()
    rest = _WAIT.sub("", line[match.end() :])
    return 1 <= len(left) <= _MAX_WORDS_LEFT and not cue_pattern("fillers").search(rest)


def _drop_correction_words(line: str) -> str:
    """A correction without the words that only mark it as one, such as "no" and "I meant"."""
    match = cue_pattern("contradicts").match(line)
    while match is not None and match.end() > 0:
        line = line[match.end() :].lstrip(_MARKS)
        match = cue_pattern("contradicts").match(line)
    return cue_pattern("corrects").sub(" ", line).strip(" .!,")


def _says_most_of(item: Item, words: frozenset[str]) -> bool:
    """Whether an item has most of these words."""
    return len(words & task_words(item.text)) >= _MIN_NAMED * len(words)
