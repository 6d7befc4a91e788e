"""The span of time that the words of a date mean at a given moment.

Knows the calendar and the English names in it. It does not find dates in a text: `dates` does. A date without
a year means the latest one that has begun or, where the words speak of the future, the first that is not
over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A span of time, from `since` (included) to `until` (excluded)."""

    since: datetime
    until: datetime

    def contains(self, moment: datetime) -> bool:
        """Whether a moment is inside the span."""
        return self.since <= moment < self.until


FIRST_MOMENT, LAST_MOMENT = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
"""The earliest and the latest moment that Python can write."""


MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
COUNTS = {word: number for number, word in enumerate(_NUMBERS, 1)}
COUNTS |= {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3}
VAGUE_COUNTS = ("several", "many")
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
UNITS = ("day", "night", "weekend", "week", "fortnight", "month", "quarter", "year", "decade")
UNMEASURED_UNITS = ("century", "sprint")
PARTS_OF_DAY = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
FEASTS = (
    *("easter", "christmas eve", "christmas day", "christmas", "new year's eve", "new year's day"),
    *("new years eve", "new years day", "thanksgiving", "black friday", "halloween", "valentine's day"),
)
MOVING_FEASTS = ("ramadan", "diwali", "hanukkah", "passover", "mother's day", "father's day")
_ABROAD = (  # from Monday on, without accents
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "montags dienstags mittwochs donnerstags freitags samstags sonntags",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miercoles jueves viernes sabado domingo",
    "lunedi martedi mercoledi giovedi venerdi sabato domenica",
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    "segunda-feira terca-feira quarta-feira quinta-feira sexta-feira",
)
WEEKDAYS_ABROAD = {name: day for line in _ABROAD for day, name in enumerate(line.split())} | {"sonnabend": 5}


_MONTH_BEGINNINGS = tuple(month[:3] for month in MONTHS)
_NUMBER = re.compile(r"\d+")
_AN_HOUR, A_DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment at which the words of a date are read, and whether they speak of the future (`ahead`)."""

    now: datetime
    ahead: bool = False

    @classmethod
    def at(cls, now: datetime, *, ahead: bool = False) -> Moment:
        """A `Moment` with a time zone; a `now` without one is taken as UTC."""
        return cls(now if now.tzinfo else now.replace(tzinfo=UTC), ahead)

    @property
    def today(self) -> datetime:
        """The midnight with which the current day began."""
        return self.midnight_of(self.now.year, self.now.month, self.now.day)

    def midnight_of(self, year: int, month: int = 1, day: int = 1) -> datetime:
        """The midnight with which a day begins, in the time zone of this moment."""
        return datetime(year, month, day, tzinfo=self.now.tzinfo)

    def find_nearest_yearly_span(self, span_in_year: Callable[[int], TimeSpan]) -> TimeSpan | None:
        """The latest of yearly spans that has begun or, looking ahead, the first that is not over.

        `span_in_year` gives the span of one year; a year for which it raises a ValueError is skipped.
        """
        now = self.today
        for distance in range(-1, 9):  # the 29th of February may be eight years away
            year = now.year + distance if self.ahead else now.year - distance
            try:
                span = span_in_year(year)
            except ValueError:
                continue
            if span.until > now if self.ahead else span.since <= now:
                return span
        return None


def resolve_date(form: str | None, words: str, moment: Moment) -> TimeSpan | None:
    """The time span that the words of a date mean, or None if there is no such date, for example 30 February.

    `form` names the way the date is written, as in `dates`.
    """
    try:
        return _MEANINGS[form or ""](" ".join(words.split()), moment)
    except (ValueError, OverflowError):
        return None


def widen_to_days(span: TimeSpan) -> TimeSpan | None:
    """The span widened to whole days; None if that leaves the calendar."""
    try:
        since = span.since.replace(hour=0, minute=0, second=0, microsecond=0)
        until = span.until.replace(hour=0, minute=0, second=0, microsecond=0)
        return TimeSpan(since, until if until == span.until else until + A_DAY)
    except OverflowError:
        return None


def _span_of_day(start: datetime) -> TimeSpan:
    """The 24 hours from `start` on."""
    return TimeSpan(start, start + A_DAY)


def _span_of_days(start: datetime, first: int, count: int) -> TimeSpan:
    """A span of `count` days that begins `first` days after `start`."""
    return TimeSpan(start + first * A_DAY, start + (first + count) * A_DAY)


def _add_months_to_first_of_month(start: datetime, months: int) -> datetime:
    """The first day of a month, moved by a number of months."""
    years, month = divmod(start.month - 1 + months, 12)
    return start.replace(year=start.year + years, month=month + 1)


def _span_of_months(start: datetime, count: int) -> TimeSpan:
    """A span of `count` months from the first day of a month on."""
    return TimeSpan(start, _add_months_to_first_of_month(start, count))


def _month_number(words: str) -> int:
    """The number, from 1 to 12, of the month that the words name."""
    names = (word[:3] for word in re.findall(r"[a-z]+", words))
    return next(_MONTH_BEGINNINGS.index(name) + 1 for name in names if name in _MONTH_BEGINNINGS)


def _read_iso_date(words: str, moment: Moment) -> TimeSpan:
    """The day of `2026-05-03`, or the minute if a time is written after it."""
    written = datetime.fromisoformat(words.upper())
    if written.tzinfo is None:
        written = written.replace(tzinfo=moment.now.tzinfo)
    return _span_of_day(written) if len(words) == 10 else TimeSpan(written, written + timedelta(minutes=1))


def _read_week(words: str, moment: Moment) -> TimeSpan | None:
    """The calendar week of `2026-W18` or `week 18`."""
    numbers = [int(number) for number in _NUMBER.findall(words)]
    week = numbers.pop(0 if words.startswith("week") else -1)

    def in_year(year: int) -> TimeSpan:
        monday = datetime.fromisocalendar(year, week, 1)
        return _span_of_days(moment.midnight_of(monday.year, monday.month, monday.day), 0, 7)

    return in_year(numbers[0]) if numbers else moment.find_nearest_yearly_span(in_year)


def _read_numeric_date(words: str, moment: Moment) -> TimeSpan | None:
    """The day of a date such as `3.5.2026`; None if its day and month could be swapped, as in `3/5/2026`."""
    first, second, third = (int(number) for number in _NUMBER.findall(words))
    if first > 31:
        return _span_of_day(moment.midnight_of(first, second, third))
    year = third if third > 99 else 2000 + third
    if "." in words or first > 12 or first == second:
        return _span_of_day(moment.midnight_of(year, second, first))
    return _span_of_day(moment.midnight_of(year, first, second)) if second > 12 else None


def _read_quarter_or_half_year(words: str, moment: Moment) -> TimeSpan | None:
    """The quarter or half year of words such as `Q3` or `second half of 2026`."""
    months = 6 if "h" in re.sub("third|fourth", "", words.split("quarter", maxsplit=1)[0]) else 3
    numbers = [int(number) for number in _NUMBER.findall(words)]
    ordinal = next((number for word, number in _ORDINALS.items() if word in words), 0)
    which = ordinal or numbers.pop(-1 if numbers[0] > 99 else 0)

    def in_year(year: int) -> TimeSpan:
        return _span_of_months(moment.midnight_of(year, 1 + (which - 1) * months), months)

    if not numbers:
        return moment.find_nearest_yearly_span(in_year)
    return in_year(numbers[0] if numbers[0] > 99 else 2000 + numbers[0])


def _read_day_month(words: str, moment: Moment) -> TimeSpan | None:
    """The day of words such as `3 May` or `May 3, 2026`."""
    day, *year = (int(number) for number in _NUMBER.findall(words))
    month = _month_number(words)
    if year:
        return _span_of_day(moment.midnight_of(year[0], month, day))
    return moment.find_nearest_yearly_span(lambda year: _span_of_day(moment.midnight_of(year, month, day)))


def _read_month(words: str, moment: Moment) -> TimeSpan | None:
    """The month of words such as `May` or `May 2026`."""
    month, year = _month_number(words), _NUMBER.search(words)
    if year:
        return _span_of_months(moment.midnight_of(int(year.group()), month), 1)
    return moment.find_nearest_yearly_span(lambda year: _span_of_months(moment.midnight_of(year, month), 1))


def _read_season(words: str, moment: Moment) -> TimeSpan | None:
    """The three months of words such as `the summer` or `summer 2026`."""
    month = next(month for name, month in SEASONS.items() if name in words)
    year = _NUMBER.search(words)
    if year:
        return _span_of_months(moment.midnight_of(int(year.group()), month), 3)
    return moment.find_nearest_yearly_span(lambda year: _span_of_months(moment.midnight_of(year, month), 3))


def _read_year(words: str, moment: Moment) -> TimeSpan:
    return _span_of_months(moment.midnight_of(int(words.rsplit(maxsplit=1)[-1])), 12)


def _read_decade(words: str, moment: Moment) -> TimeSpan:
    return _span_of_months(moment.midnight_of(int(words[:4])), 120)


def _read_day_word(words: str, moment: Moment) -> TimeSpan:
    """The day, or the part of it, of words such as `yesterday` or `this morning`."""
    distances = {"yesterday": -1, "tomorrow": 1, "the day before yesterday": -2, "the day after tomorrow": 2}
    day = _span_of_days(moment.today, distances.get(words, 0), 1)
    if words == "last night":
        return part_of_day(_span_of_days(moment.today, -1, 1), "night")
    if words == "tonight":
        return part_of_day(day, "evening")
    return part_of_day(day, words.removeprefix("this ")) if words.startswith("this ") else day


def part_of_day(day: TimeSpan, name: str) -> TimeSpan:
    """The hours of the `morning`, `afternoon`, `evening` or `night` of a day."""
    first, last = PARTS_OF_DAY[name]
    return TimeSpan(day.since + first * _AN_HOUR, day.since + last * _AN_HOUR)


def _read_count_and_unit(words: str) -> tuple[int, str] | None:
    """The number and the unit of words such as `a couple of weeks`; None if either has no fixed size."""
    *before, unit = words.split()
    unit, count = unit.removesuffix("s"), " ".join(before) or "a"
    known = int(count) if count.isdigit() else COUNTS.get(count)
    return None if known is None or unit in UNMEASURED_UNITS else (known, unit)


_UNIT_DAYS = {"day": 1, "night": 1, "week": 7, "weekend": 7, "fortnight": 14, "month": 30, "quarter": 91}
_UNIT_DAYS |= {"year": 365, "decade": 3652}
_UNIT_HOURS = {"minute": 1 / 60, "hour": 1.0}


def _read_time_ago_or_from_now(words: str, moment: Moment) -> TimeSpan | None:
    """The time around words such as `3 weeks ago`: the larger the unit, the wider the span."""
    past = words.endswith(" ago")
    counted = _read_count_and_unit(words.removesuffix(" ago").removesuffix(" from now").removeprefix("in "))
    if counted is None:
        return None
    count, unit = counted[0] * (-1 if past else 1), counted[1]
    if unit in _UNIT_HOURS:
        middle, half = moment.now + count * _UNIT_HOURS[unit] * _AN_HOUR, _UNIT_HOURS[unit] / 2 * _AN_HOUR
        return TimeSpan(middle - half, middle + half)
    days = _UNIT_DAYS[unit]
    slack = max(1, days // 2)
    return _span_of_days(moment.today, count * days - slack, 2 * slack + 1)


def _read_last_or_next_several(words: str, moment: Moment) -> TimeSpan | None:
    """The time up to now or from now on that words such as `last 3 days` or `next 2 weeks` mean."""
    step, _, rest = words.partition(" ")
    counted = _read_count_and_unit(rest)
    if counted is None:
        return None
    count, unit = counted
    length = count * (_UNIT_HOURS[unit] * _AN_HOUR if unit in _UNIT_HOURS else _UNIT_DAYS[unit] * A_DAY)
    if step in ("next", "coming"):
        return TimeSpan(moment.now, moment.now + length)
    return TimeSpan(moment.now - length, moment.now)


def _read_last_this_or_next(words: str, moment: Moment) -> TimeSpan | None:
    """The span of words such as `last week`, `this May` or `next Monday`; `the month` means this month."""
    word, _, what = words.partition(" ")
    step = {"last": -1, "next": 1, "coming": 1}.get(word, 0)
    if what in WEEKDAYS:
        return _find_weekday(WEEKDAYS.index(what), step, moment.today)
    if what in UNITS or what in UNMEASURED_UNITS:
        return _find_last_or_next_unit(what, step, moment.today)
    if what in SEASONS and step < 0:
        # From January on, "last winter" is the one that began in December, even if it still lasts.
        latest = _span_of_months(moment.midnight_of(moment.today.year, SEASONS[what]), 3)
        return (
            latest
            if latest.until <= moment.today
            else _span_of_months(_add_months_to_first_of_month(latest.since, -12), 3)
        )
    return _find_named_period(what, step, moment)


def _find_weekday(weekday: int, step: int, today: datetime) -> TimeSpan:
    """The last (-1) or next (1) day of this name, or the one in the current week (0)."""
    if step == 0:
        return _span_of_days(today, weekday - today.weekday(), 1)
    if step > 0:
        return _span_of_days(today, (weekday - today.weekday() - 1) % 7 + 1, 1)
    return _span_of_days(today, -((today.weekday() - weekday - 1) % 7 + 1), 1)


def _find_last_or_next_unit(unit: str, step: int, today: datetime) -> TimeSpan | None:
    """The last (-1), this (0) or the next (1) unit, such as a week; None for a unit without a fixed size."""
    first_of_month = today.replace(day=1)
    match unit:
        case "day" | "night":
            return _span_of_days(today, step, 1)
        case "week":
            return _span_of_days(today, 7 * step - today.weekday(), 7)
        case "weekend":
            return _span_of_days(today, 7 * step - today.weekday() + 5, 2)
        case "fortnight":
            return _span_of_days(today, 14 * step - today.weekday(), 14)
        case "month":
            return _span_of_months(_add_months_to_first_of_month(first_of_month, step), 1)
        case "quarter":
            return _span_of_months(
                _add_months_to_first_of_month(first_of_month, 3 * step - (today.month - 1) % 3), 3
            )
        case "year":
            return _span_of_months(today.replace(year=today.year + step, month=1, day=1), 12)
        case "decade":
            return _span_of_months(today.replace(year=today.year // 10 * 10 + 10 * step, month=1, day=1), 120)
    return None


def _find_named_period(name: str, step: int, moment: Moment) -> TimeSpan | None:
    """The last (-1), this (0) or the next (1) month, season or feast with this name."""
    if (feast := name.replace("’", "'")) in MOVING_FEASTS:
        return None
    today = moment.today

    def in_year(year: int) -> TimeSpan:
        if name in SEASONS:
            return _span_of_months(moment.midnight_of(year, SEASONS[name]), 3)
        if name[:3] in _MONTH_BEGINNINGS:
            return _span_of_months(moment.midnight_of(year, _month_number(name)), 1)
        return _feast_in_year(feast, year, moment)

    if step == 0:
        running = (in_year(year) for year in (today.year, today.year - 1))
        return next((span for span in running if span.contains(today)), in_year(today.year))
    for distance in range(3):
        span = in_year(today.year + step * distance)
        if span.until <= today if step < 0 else span.since > today:
            return span
    return None


def _read_weekday(words: str, moment: Moment) -> TimeSpan:
    """The last day with this name or, looking ahead, the next one."""
    short = [weekday[:3] for weekday in WEEKDAYS]
    weekday = WEEKDAYS_ABROAD[words] if words in WEEKDAYS_ABROAD else short.index(words[:3])
    return _find_weekday(weekday, 1 if moment.ahead else -1, moment.today)


def _read_day_of_month(words: str, moment: Moment) -> TimeSpan | None:
    """The latest day of words such as `the 15th` that has begun or, looking ahead, the first not yet over."""
    day = int(_NUMBER.findall(words)[0])
    for distance in range(3):
        month = _add_months_to_first_of_month(
            moment.today.replace(day=1), distance if moment.ahead else -distance
        )
        try:
            span = _span_of_day(month.replace(day=day))
        except ValueError:
            continue
        if span.until > moment.today if moment.ahead else span.since <= moment.today:
            return span
    return None


def _read_feast(words: str, moment: Moment) -> TimeSpan | None:
    """The days of a feast such as `Easter`; None for one whose date is not known here."""
    name = words.replace("’", "'")
    if name in MOVING_FEASTS:
        return None
    return moment.find_nearest_yearly_span(lambda year: _feast_in_year(name, year, moment))


def _feast_in_year(name: str, year: int, moment: Moment) -> TimeSpan:
    """The days of a feast in a year."""
    match name.replace("years", "year's"):
        case "easter":  # from Good Friday to Easter Monday
            return _span_of_days(_easter_sunday(year, moment), -2, 4)
        case "christmas":
            return _span_of_days(moment.midnight_of(year, 12, 24), 0, 3)
        case "new year":
            return _span_of_days(moment.midnight_of(year, 1, 1), -1, 2)
        case "thanksgiving" | "black friday" as feast:
            first = moment.midnight_of(year, 11, 1)
            return _span_of_days(first, (3 - first.weekday()) % 7 + 21 + (feast == "black friday"), 1)
        case feast:
            fixed = {"christmas eve": (12, 24), "christmas day": (12, 25), "new year's eve": (12, 31)}
            fixed |= {"new year's day": (1, 1), "halloween": (10, 31), "valentine's day": (2, 14)}
            return _span_of_day(moment.midnight_of(year, *fixed[feast]))


def _easter_sunday(year: int, moment: Moment) -> datetime:
    """Easter Sunday of a year: the Sunday after the first full moon of spring, by the Gregorian tables."""
    century, golden = year // 100, year % 19
    epact = (19 * golden + century - century // 4 - (8 * century + 13) // 25 + 15) % 30
    epact -= epact // 28 * (1 - 29 // (epact + 1) * ((21 - golden) // 11))
    weekday = (year + year // 4 + epact + 2 - century + century // 4) % 7
    return moment.midnight_of(year, 3, 1) + timedelta(days=epact - weekday + 27)


def _read_time_of_day(words: str, moment: Moment) -> TimeSpan:
    """The latest time of day, such as `14:30`, that has come or, looking ahead, the next one."""
    span = time_on_day(_span_of_day(moment.today), words)
    if moment.ahead and span.until <= moment.now:
        return TimeSpan(span.since + A_DAY, span.until + A_DAY)
    if not moment.ahead and span.since > moment.now:
        return TimeSpan(span.since - A_DAY, span.until - A_DAY)
    return span


def time_on_day(day: TimeSpan, words: str) -> TimeSpan:
    """The minute of a day that the words name, or the whole hour if they name no minute."""
    hour, *rest = (int(number) for number in _NUMBER.findall(words))
    if re.search(r"[ap]\.?m", words):
        hour = hour % 12 + (12 if "p" in words else 0)
    since = day.since.replace(hour=hour, minute=rest[0] if rest else 0)
    return TimeSpan(since, since + (timedelta(minutes=1) if rest else _AN_HOUR))


_MEANINGS: dict[str, Callable[[str, Moment], TimeSpan | None]] = {
    "iso": _read_iso_date,
    "week": _read_week,
    "numeric": _read_numeric_date,
    "part": _read_quarter_or_half_year,
    "day_month": _read_day_month,
    "month_year": _read_month,
    "month": _read_month,
    "season": _read_season,
    "year": _read_year,
    "decade": _read_decade,
    "day_word": _read_day_word,
    "window": _read_last_or_next_several,
    "stepped": _read_last_this_or_next,
    "distance": _read_time_ago_or_from_now,
    "weekday": _read_weekday,
    "weekdays": lambda _words, _moment: None,
    "short_weekday": _read_weekday,
    "abroad": _read_weekday,
    "feast": _read_feast,
    "ordinal": _read_day_of_month,
    "clock": _read_time_of_day,
}
