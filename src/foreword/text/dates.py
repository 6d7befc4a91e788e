"""Dates and times in text, and the span of time that each of them means at a given moment.

Knows English wordings, the weekdays of six more languages, and the shapes of written dates. `find_dates` is
for the texts of items, `find_time_asked_about` and `find_before_or_after_event` are for questions. A date
without a year (`Q3`, `on Tuesday`) means the latest one that has begun or, where the words before it speak of
the future (`will`, `by`, `due`), the first that is not over. Days begin at midnight in the zone of `now`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.text import date_meaning as meaning
from foreword.text.date_meaning import A_DAY, Moment, TimeSpan, part_of_day, widen_to_days
from foreword.text.words import content_words, fold_case

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class DateMention:
    """Words of a text that name a time, with their place and the span they mean (None if it is unknown).

    `form` names the way they are written: `iso`, `weekday`, `clock` for a bare time of day…
    """

    start: int
    end: int
    text: str
    span: TimeSpan | None
    form: str


def write_out_day(moment: datetime) -> str:
    """The day of a moment as people write it: `3 May 2026`."""
    return f"{moment.day} {moment:%B %Y}"


def find_time_asked_about(question: str, now: datetime) -> TimeSpan | None:
    """The time that a question asks about, in whole days; None if it names none.

    The first complete date or past time (`May 2023`, `last week`, `3 days ago`) wins over forms whose meaning
    is guessed (`in March`, `on Tuesday`).
    """
    plain = _PLAIN.search(fold_case(question))
    if plain is not None:
        span = meaning.resolve_date(plain.lastgroup, plain.group(), Moment.at(now))
        return span and widen_to_days(span)
    return next((widen_to_days(found.span) for found in find_dates(question, now) if found.span), None)


_EVENT = re.compile(r"\b(before|until|after|since)\s+(?:the|our|we|my|that|this)\s+(.{3,80}?)[\s?.!,;]*$")


def find_before_or_after_event(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Whether a question asks `before` or `after` an event, and the event's content words; None for others.

    `What broke after the migration` gives `("after", ("migration",))`.
    """
    match = _EVENT.search(fold_case(" ".join(text.split())))
    words = content_words(match.group(2)) if match else ()
    side = "before" if match and match.group(1) in ("before", "until") else "after"
    return (side, words) if words else None


def find_dates(text: str, now: datetime) -> list[DateMention]:
    """The times that a text names, in order, without overlaps."""
    folded, positions = _fold_with_positions(text)
    mentions: list[DateMention] = []
    place = 0
    while (match := _DATE.search(folded, place)) is not None:
        if not _is_date(match, folded, lambda at: text[positions[at]].isupper()):
            place = match.start() + 1
            continue
        before = folded[max(place, match.start() - _NEAR_CHARACTERS) : match.start()]
        ahead = bool(_LOOKS_AHEAD.search(before)) and not _LOOKS_BACK.search(before)
        moment = Moment.at(now, ahead=ahead)
        span = meaning.resolve_date(match.lastgroup, match.group(), moment)
        start, span = _apply_words_before_date(before, match.start(), span, moment)
        place, span = _apply_words_after_date(folded, match.end(), span)
        first, last = positions[start], positions[place - 1] + 1
        mentions.append(DateMention(first, last, text[first:last], span, match.lastgroup or ""))
    return mentions


def _fold_with_positions(text: str) -> tuple[str, Sequence[int]]:
    """The text with case and accents folded, and for each of its characters the position in the original."""
    if text.isascii():
        return text.lower(), range(len(text))
    pieces = {character: fold_case(character) for character in set(text)}
    folded = "".join(map(pieces.__getitem__, text))
    if all(len(piece) == 1 for piece in pieces.values()):
        return folded, range(len(text))
    return folded, [at for at, character in enumerate(text) for _ in pieces[character]]


# How dates are written -----------------------------------------------------------------------------------

_MONTH = rf"(?:{'|'.join(meaning.MONTHS)}|(?:jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\b\.?)"
_YEAR, _DAY, _TH = r"(?:1[5-9]|20)\d\d", r"(?:[12]\d|3[01]|0?[1-9])", "(?:st|nd|rd|th)"
_SEASON, _WEEKDAY = f"(?:{'|'.join(meaning.SEASONS)})", f"(?:{'|'.join(meaning.WEEKDAYS)})"
_UNIT = f"(?:{'|'.join(meaning.UNITS + meaning.UNMEASURED_UNITS)})"
_COUNT = rf"(?:\d{{1,4}}|{'|'.join(sorted((*meaning.COUNTS, *meaning.VAGUE_COUNTS), key=len, reverse=True))})"
_COUNTED = f"{_COUNT} (?:business |working )?(?:minute|hour|{_UNIT})s?"
_FEAST = f"(?:{'|'.join((*meaning.FEASTS, *meaning.MOVING_FEASTS))})".replace("'", "['’]")
_HALF = r"(?:[ap]m\b|[ap]\.m\b\.?)"
_CLOCK = rf"(?:(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?: ?{_HALF})?|[01]?\d ?{_HALF})"
_PART = "(?:q[1-4]|h[12])"
_FORMS = {
    "iso": rf"{_YEAR}-[01]\d-[0-3]\d(?:(?:t| )[0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d{{1,9}})?)?"
    r"(?:z|[+-]\d\d:?\d\d)?)?",
    "week": rf"{_YEAR}-?w[0-5]?\d|week [0-5]?\d(?:,? (?:of |in )?{_YEAR})?",
    "numeric": rf"(?<!/)(?:{_YEAR}/[01]?\d/[0-3]?\d|[0-3]?\d/[0-3]?\d/(?:{_YEAR}|\d\d))(?!/)"
    rf"|[0-3]?\d\.[01]?\d\.{_YEAR}",
    "part": rf"{_PART}(?: of | |[/'-])?{_YEAR}|q[1-4](?:[/'-]\d\d)?|{_YEAR}(?: |[/-])?{_PART}"
    rf"|(?:first|second|third|fourth) quarter(?: of {_YEAR})?|(?:first|second) half of {_YEAR}",
    "day_month": rf"{_DAY}{_TH}? (?:of )?{_MONTH}(?:(?:,|,? ){_YEAR})?"
    rf"|{_MONTH} {_DAY}{_TH}?(?:(?:,|,? ){_YEAR})?(?![:\d])",
    "month_year": rf"{_MONTH},? (?:of )?{_YEAR}",
    "season": rf"{_SEASON} (?:of )?{_YEAR}|(?<=in\s)the {_SEASON}",
    "decade": rf"{_YEAR[:-2]}0s",
    "day_word": "today|tomorrow|yesterday|tonight|the day (?:after tomorrow|before yesterday)"
    "|this (?:morning|afternoon|evening)|last night",
    "window": rf"(?:last|past|next|coming) {_COUNTED}|past (?:hour|{_UNIT})",
    "stepped": rf"(?:this|next|last|coming) (?:{_UNIT}|{_SEASON}|{_WEEKDAY}|{_MONTH}|{_FEAST}|new year)"
    r"|(?<=of\s)the (?:week|month|quarter|year|decade)",
    "distance": rf"{_COUNTED} (?:ago|from now)|in {_COUNTED}(?! ago)",
    "weekdays": f"{_WEEKDAY}s",
    "weekday": _WEEKDAY,
    "short_weekday": "mon|tues?|wed|thu(?:rs)?|fri|sat|sun",
    "feast": _FEAST,
    "ordinal": rf"the {_DAY}{_TH}(?=\s*(?:[.,;!?)]|$|and\b|or\b|at\b|in\b))",
    "abroad": "|".join(meaning.WEEKDAYS_ABROAD),
    "clock": rf"(?<=at\s){_CLOCK}|(?=[\d:]{{1,5}} ?[ap]\.?m){_CLOCK}",
    "month": _MONTH,
    "year": _YEAR,
}


_ANY_FORM = "|".join(f"(?P<{name}>{form})" for name, form in _FORMS.items()).replace(" ", r"(?:\s{1,4})")
_DATE = re.compile(rf"(?:(?<![\w.-])|(?<=\bmid-))(?=\w)(?:{_ANY_FORM})(?![\w-]|\.\d)")
"""Any of the forms, but not as a part of a longer word; a blank in a form matches any white space."""

_PLAIN_MONTH = "|".join(f"{name}|{name[:3]}" for name in meaning.MONTHS)
_PLAIN = re.compile(
    rf"""\b(?:
        (?P<iso>\d{{4}}-\d\d-\d\d)
      | (?P<day_month>\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{_PLAIN_MONTH})\.?,?\s+\d{{4}}
                    | (?:{_PLAIN_MONTH})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}})
      | (?P<month_year>(?:{_PLAIN_MONTH})\.?,?\s+(?:of\s+)?\d{{4}})
      | (?P<year>(?:in|during|since|of)\s+(?:19|20)\d\d)
      | (?P<day_word>yesterday|today|this\ morning|this\ afternoon|tonight)
      | (?P<distance>\d+\s+(?:day|week|month|year)s?\s+ago)
      | (?P<stepped>last\s+(?:week|month|year|{_SEASON}|{_WEEKDAY})|this\s+(?:week|month|year))
    )\b""",
    re.VERBOSE,
)
"""Complete dates and past times; a question is about the first of these."""

_NEAR_CHARACTERS = 40
_LOOKS_AHEAD = re.compile(r"(?:\b(?:will|shall|going to|due|by|until|till)\b|['’]ll\b)[^.!?;\n]*$")
_LOOKS_BACK = re.compile(r"\b(?:had|was|were|did)\b")
_SINCE = re.compile(r"\bsince\s(?:the\s)?$")
_THIRD = re.compile(
    r"\b(?:(?P<adverb>early|earlier|mid|late|later)[\s-](?:in\s)?"
    r"|(?:the\s)?(?P<noun>beginning|start|middle|end)\sof\s(?:the\s)?)$"
)
_THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_PART_OF_DAY = re.compile(rf"\s({'|'.join(meaning.PARTS_OF_DAY)})\b")
_TIME_AFTER = re.compile(rf"(?:,?\sat\s|,?\s)({_CLOCK})(?![\w:])".replace(" ", r"(?:\s)"))

_WORD_BEFORE = re.compile(r"([^\W\d_]{1,12})[\s-]$")
_INTRODUCE = frozenset(
    {
        *("about", "after", "and", "around", "before", "between", "by", "during", "each", "early"),
        *("every", "for", "from", "in", "last", "late", "mid", "next", "of", "since", "this", "through"),
        *("till", "to", "until", "year"),
    }
)
_INTRODUCE_LOWER_CASE = _INTRODUCE - {"and", "this", "to", "of", "for", "about", "year"}
_ALSO_WORDS = ("may", "march", "mar", "dec", "sep", "jan", "jun")
_ALSO_SHORT = ("sat", "sun")


def _is_date(match: re.Match[str], folded: str, is_capital: Callable[[int], bool]) -> bool:
    """Whether words that look like a date are one, judged by their capital letter and the word before."""
    words, start = match.group(), match.start()
    found = _WORD_BEFORE.search(folded, max(0, start - 14), start)
    before, capital = found[1] if found else "", is_capital(start)
    match match.lastgroup:
        case "year":
            opens = start <= _NEAR_CHARACTERS and not folded[:start].strip()
            return opens or before in _INTRODUCE or folded[start - 1] == "("
        case "month" if not capital:
            return before in _INTRODUCE_LOWER_CASE
        case "month":
            return words.rstrip(".") not in _ALSO_WORDS or before in _INTRODUCE - {"to", "and"}
        case "day_month":
            return capital or not words.startswith(("may", "mar")) or before in {*_INTRODUCE_LOWER_CASE, "on"}
        case "stepped":
            return words.split()[-1] != "may" or is_capital(match.end() - 3)
        case "short_weekday":
            return capital and (words not in _ALSO_SHORT or before in ("on", "this", "last", "next"))
        case "abroad":  # Maria Domingo is a person
            return found is None or len(before) < 3 or not is_capital(found.start(1))
    return True


# Words before and after a date ---------------------------------------------------------------------------


def _apply_words_before_date(
    before: str, start: int, span: TimeSpan | None, moment: Moment
) -> tuple[int, TimeSpan | None]:
    """The start and the span of a mention, changed by `early`, `the end of` or `since` before it."""
    found = _THIRD.search(before)
    if found is not None:
        start -= len(before) - found.start()
        span = span and _named_part_of_span(span, found["adverb"] or found["noun"], moment)
        before = before[: found.start()]
    if span is not None and span.since < moment.now and _SINCE.search(before):
        span = TimeSpan(span.since, max(span.until, moment.now))
    return start, span


def _named_part_of_span(span: TimeSpan, word: str, moment: Moment) -> TimeSpan | None:
    """The third of a span that a word such as `early` names.

    `earlier` and `later` divide a span that is running at the present moment.
    """
    if word in ("earlier", "later") and span.since < moment.now < span.until:
        return TimeSpan(span.since, moment.now) if word == "earlier" else TimeSpan(moment.now, span.until)
    third = _THIRDS[{"earlier": "early", "later": "late"}.get(word, word)]
    length = (span.until - span.since) / 3
    part = TimeSpan(span.since + third * length, span.since + (third + 1) * length)
    return widen_to_days(part) if length >= A_DAY else part


def _apply_words_after_date(folded: str, end: int, span: TimeSpan | None) -> tuple[int, TimeSpan | None]:
    """The end and the span of a mention, changed by a part of the day or a time of day after it."""
    if span is None or span.until - span.since != A_DAY:
        return end, span
    part = _PART_OF_DAY.match(folded, end)
    if part is not None:
        return part.end(), part_of_day(span, part[1])
    time = _TIME_AFTER.match(folded, end)
    return (time.end(), meaning.time_on_day(span, time[1])) if time else (end, span)
