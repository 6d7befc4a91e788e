"""When: days, weeks, months, seasons and years, as people write them, absolute and relative.

Knows words for time in English, the weekdays of its neighbours, and the shapes of written dates. Times of
day are left to others, and nothing is computed: what is found stays as it was said.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.capture.names.shapes import Mention
from foreword.capture.names.word_lists import GENDERS
from foreword.text.words import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\b\.?)"
)
_DAY = r"(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_YEAR = r"(?:1[5-9]|20)\d\d"
_WEEKDAY = "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_WEEKDAY_ABROAD = (
    "(?:(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend)s?|lundi|mardi|mercredi|jeudi|vendredi"
    "|samedi|dimanche|lunes|martes|miércoles|miercoles|jueves|viernes|sábado|sabado|domingo|lunedì|martedì"
    "|mercoledì|giovedì|venerdì|domenica|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag"
    "|segunda-feira|terça-feira|quarta-feira|quinta-feira|sexta-feira"
)
_SEASON = "(?:spring|summer|autumn|winter)"
_SPAN = "(?:day|week|weekend|month|quarter|year|decade|century|sprint)"
_COUNT = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several"
    r"|a\ few|a\ couple\ of|couple\ of|many)"
)
_FEAST = (
    r"(?:easter|christmas(?:\ (?:eve|day))?|new\ year['’]?s?(?:\ (?:eve|day))|thanksgiving|halloween|ramadan"
    r"|diwali|hanukkah|passover|valentine['’]s\ day|mother['’]s\ day|father['’]s\ day|black\ friday)"
)

_DATES = re.compile(
    rf"""(?<![\w.-])(?=\w)(?:
        (?P<written>{_YEAR}-[01]\d-[0-3]\d(?:T[\d:.]{{4,16}}Z?)? | [0-3]?\d/[0-3]?\d/(?:{_YEAR}|\d\d)
          | [0-3]?\d\.[01]?\d\.{_YEAR} | {_YEAR}/[01]?\d/[0-3]?\d
          | {_DAY}\ (?:of\ )?{_MONTH}(?:,?\ {_YEAR})?
          | {_MONTH}\ {_DAY}(?:,?\ {_YEAR})?(?![:\d]) | {_MONTH},?\ {_YEAR}
          | q[1-4](?:[\ /'-]?(?:{_YEAR}|\d\d))? | {_YEAR[:-4]}\d0s)
      | (?P<relative>today | tomorrow | yesterday | tonight | the\ day\ (?:after\ tomorrow|before\ yesterday)
          | (?:(?:early|late|earlier|later)\ )?(?:this|next|last|coming)
                \ (?:{_SPAN}|{_SEASON}|{_WEEKDAY}|{_MONTH})
          | this\ (?:morning|afternoon|evening) | last\ night
          | {_COUNT}\ (?:business\ |working\ )?{_SPAN}s?\ (?:ago|from\ now) | in\ {_COUNT}\ {_SPAN}s?
          | the\ (?:end|beginning|start|middle)\ of\ (?:the|this|next|last)\ {_SPAN}
          | (?:mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays) | {_WEEKDAY}
          | (?-i:Mon|Tues?|Wed|Thu(?:rs)?|Fri)\b | {_FEAST})
      | (?P<day>the\ {_DAY[:-1]}(?=\s*(?:[.,;!?)]|$|and\b|or\b|at\b|in\b)))
      | (?P<abroad>{_WEEKDAY_ABROAD})
      | (?P<month>{_MONTH}) | (?P<year>{_YEAR}) )(?![\w-]|\.\d)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BEFORE = re.compile(r"([^\W\d_]{1,12})\s$")
_NEAR = 14
_INTRODUCE = frozenset(
    {
        *("about", "after", "and", "around", "before", "between", "by", "during", "each", "early"),
        *("every", "for", "from", "in", "last", "late", "mid", "next", "of", "since", "this", "through"),
        *("till", "to", "until", "year"),
    }
)
_ALSO_WORDS = ("may", "march", "mar", "dec", "sep", "jan", "jun")


def dates(text: str) -> Iterator[Mention]:
    """The days, weeks, months and years that a text names, in order."""
    for match in _DATES.finditer(text):
        shape, value = match.lastgroup, match.group()
        if shape == "abroad" and fold(_word_before(text, match)) in GENDERS:
            continue  # somebody whose family is called like a day
        if shape == "month" and not _is_month(text, match):
            continue
        if shape == "year" and _word_before(text, match) not in _INTRODUCE:
            continue
        yield Mention(value, "date", match.start(), match.end())


def _is_month(text: str, match: re.Match[str]) -> bool:
    """Whether a month stands alone as one: with a capital, and not a plain word unless it is introduced."""
    value = match.group()
    if not value[0].isupper():
        return False
    return value.lower().rstrip(".") not in _ALSO_WORDS or _word_before(text, match) in _INTRODUCE - {
        "to",
        "and",
    }


def _word_before(text: str, match: re.Match[str]) -> str:
    before = _BEFORE.search(text, max(0, match.start() - _NEAR), match.start())
    return before.group(1).lower() if before else ""
