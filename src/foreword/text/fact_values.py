"""Bring values that are written in several words, or in different ways, to one form.

60 seconds, 60s, 1 min          60 s
Nov 11, November 11th           -11-11
2 pm, 14:00, 14h00              14:00
every Monday                    every monday
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from foreword.text.date_meaning import WEEKDAYS
from foreword.text.fact_vocabulary import MONTH_NUMBERS, PERIODS, SECONDS, UNITS
from foreword.text.words import fold_case

Chunk = tuple[str, str]
"""A word in its normal spelling and as it is written. Filler words and stops have an empty spelling."""


class _JoinedValue(NamedTuple):
    """A value in its normal form, and how many chunks it is written in."""

    chunk_count: int
    text: str


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_NUMBER_UNIT = re.compile(r"([€$£]?)(-?\d[\d,.]*)(%|[^\W\d_]{1,12}|[€$£])?")
_CLOCK = re.compile(r"(\d{1,2})(?:[:h](\d\d)|h)?(am|pm|uhr)?")
_HALVES = ("am", "pm", "uhr")
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_NUMERIC_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_THOUSANDS, _DECIMAL_COMMA = re.compile(r"\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?"), re.compile(r"(\d+),(\d{1,2})")


def join_and_normalize_values(chunks: list[Chunk]) -> list[Chunk]:
    """The chunks, with every number, date and frequency joined into one chunk in its normal form."""
    joined: list[Chunk] = []
    at = 0
    while at < len(chunks):
        key, written = chunks[at]
        value = _JoinedValue(1, key)
        if key and (key[0].isdigit() or key[0] in "-€$£"):
            value = _read_number_value(chunks, at)
        elif key == "every":
            value = _read_every_period(chunks, at)
        elif fold_case(written).rstrip(".") in MONTH_NUMBERS:
            value = _read_month_value(chunks, at)
        joined.append((value.text, written if value.chunk_count == 1 else value.text))
        at += value.chunk_count
    return joined


def _read_every_period(chunks: list[Chunk], at: int) -> _JoinedValue:
    """The value of `every` and the day or period after it."""
    follows = chunks[at + 1][0] if at + 1 < len(chunks) else ""
    is_named = follows in WEEKDAYS or follows in PERIODS
    return _JoinedValue(2, f"every {follows}") if is_named else _JoinedValue(1, "every")


def _read_month_value(chunks: list[Chunk], at: int) -> _JoinedValue:
    """The value of a month, with the day and year after it."""
    month = MONTH_NUMBERS[fold_case(chunks[at][1]).rstrip(".")]
    places = [place for place in range(at + 1, min(at + 4, len(chunks))) if chunks[place][0]][:2]
    day = _DAY.fullmatch(chunks[places[0]][0]) if places else None
    if day and places[0] <= at + 2:
        year = chunks[places[1]][0] if len(places) > 1 and _YEAR.fullmatch(chunks[places[1]][0]) else ""
        end = places[1] if year else places[0]
        return _JoinedValue(end - at + 1, f"{year}-{month}-{int(day[1])}")
    if places and _YEAR.fullmatch(chunks[places[0]][0]):
        return _JoinedValue(places[0] - at + 1, f"{chunks[places[0]][0]}-{month}")
    return _JoinedValue(1, chunks[at][0])


def _read_number_value(chunks: list[Chunk], at: int) -> _JoinedValue:
    """The value of a number, with the unit or month after it."""
    key = chunks[at][0]
    follows = fold_case(chunks[at + 1][1]).replace(".", "") if at + 1 < len(chunks) else ""
    if day := _DAY.fullmatch(key):
        date = _read_day_month_value(chunks, at, int(day[1]))
        if date.chunk_count > 1:
            return date
    if follows in _HALVES and (clock := _CLOCK.fullmatch(key + follows)):
        return _JoinedValue(2, _format_24_hour_time(clock))
    if _NUMBER.fullmatch(key) and follows in UNITS:
        return _JoinedValue(2, _normalize_number_with_unit(key, UNITS[follows]))
    return _JoinedValue(1, _normalize_one_word_value(key))


def _normalize_one_word_value(key: str) -> str:
    """The normal form of a date, a time of day or a number with its unit that is written as one word."""
    if date := _ISO.fullmatch(key):
        return f"{date[1]}-{int(date[2])}-{int(date[3])}"
    if date := _NUMERIC_DATE.fullmatch(key):
        return f"{date[3]}-{int(date[2])}-{int(date[1])}"
    if (clock := _CLOCK.fullmatch(key)) and (clock[2] or clock[3]):
        return _format_24_hour_time(clock)
    amount = _NUMBER_UNIT.fullmatch(key)
    unit = UNITS.get(amount[1] or amount[3] or "") if amount else None
    return _normalize_number_with_unit(normalize_number(amount[2]), unit) if amount and unit else key


def _read_day_month_value(chunks: list[Chunk], at: int, day: int) -> _JoinedValue:
    """The value of a day, with the month and perhaps the year after it; else of the day alone."""
    for place in range(at + 1, min(at + 3, len(chunks))):
        month = MONTH_NUMBERS.get(fold_case(chunks[place][1]).rstrip("."))
        if month is not None:
            after = place + 1 if place + 1 < len(chunks) and chunks[place + 1][0] else place + 2
            year = chunks[after][0] if after < len(chunks) and _YEAR.fullmatch(chunks[after][0]) else ""
            return _JoinedValue((after if year else place) - at + 1, f"{year}-{month}-{day}")
        if chunks[place][0]:
            break
    return _JoinedValue(1, str(day))


def _format_24_hour_time(clock: re.Match[str]) -> str:
    """A time on the 24-hour clock, such as `14:00`."""
    hour, half = int(clock[1]), clock[3]
    if half in ("am", "pm") and hour <= 12:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return f"{hour}:{clock[2] or '00'}"


def _normalize_number_with_unit(number: str, unit: str) -> str:
    """A number with its unit; a span of time with a fixed length is given in seconds."""
    if unit not in SECONDS or not _NUMBER.fullmatch(number):
        return f"{number} {unit}"
    return f"{Fraction(number) * SECONDS[unit]} s"


def normalize_number(folded: str) -> str:
    """A number without thousands separators and with a decimal point; any other text unchanged."""
    if _THOUSANDS.fullmatch(folded):
        return re.sub("[,'’]", "", folded)
    decimal = _DECIMAL_COMMA.fullmatch(folded)
    return f"{decimal[1]}.{decimal[2]}" if decimal else folded
