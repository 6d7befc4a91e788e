"""What can be told of a question by its looks: its angles, and the time it speaks of.

Pure and quick. Knows English dates and the names of programming languages; a question it does not understand
is simply one angle with no time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from foreword.text.words import fold, telling

_LONG = 200
_LANGUAGES = (
    r"\b(?:in |using |with )?(?:python|java|javascript|typescript|golang|rust|ruby|php|kotlin|swift|scala|"
    r"bash|c\+\+|c#)\s?[23]?(?![\w+#])"
)
_LANGUAGE = re.compile(_LANGUAGES, re.IGNORECASE)


def angles(text: str) -> tuple[str, ...]:
    """The texts whose meanings together are the question's.

    A long question is its first line, usually a title, as much as the whole. A short one that names a
    programming language is asked once more without: in a project of that language the name tells nothing.
    """
    text = text.strip()
    title = text.partition("\n")[0].strip()
    if len(text) > _LONG and title and len(title) < len(text) / 2:
        return (title, text)
    without = " ".join(_LANGUAGE.sub(" ", text).split())
    return (text, without) if without and without != text and len(text) <= _LONG else (text,)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, from its first moment up to its last."""

    since: datetime
    until: datetime

    def holds(self, moment: datetime) -> bool:
        """Whether a moment is within."""
        return self.since <= moment < self.until


FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
"""Before everything, and after."""

_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
_MONTH = "|".join(f"{name}|{name[:3]}" for name in _MONTHS)
_DATE = re.compile(
    rf"""\b(?:
        (?P<iso>\d{{4}}-\d\d-\d\d)
      | (?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m1>{_MONTH})\.?,?\s+(?P<y1>\d{{4}})
      | (?P<m2>{_MONTH})\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y2>\d{{4}})
      | (?P<m3>{_MONTH})\.?,?\s+(?:of\s+)?(?P<y3>\d{{4}})
      | (?:in|during|since|of)\s+(?P<y4>(?:19|20)\d\d)
      | (?P<yesterday>yesterday) | (?P<today>today|this\ morning|this\ afternoon|tonight)
      | (?P<ago>\d+)\s+(?P<unit>day|week|month|year)s?\s+ago
      | last\s+(?P<last>week|month|year|{"|".join(_SEASONS)}|{"|".join(_DAYS)})
      | this\s+(?P<this>week|month|year)
    )\b""",
    re.VERBOSE,
)


def when(text: str, now: datetime) -> Span | None:
    """The time that a question speaks of, if it names one."""
    match = _DATE.search(fold(text))
    if match is None:
        return None
    try:
        return _span({name: value for name, value in match.groupdict().items() if value is not None}, now)
    except (ValueError, OverflowError):  # the thirtieth of February, the year 9999
        return None


_AROUND = re.compile(r"\b(before|until|after|since)\s+(?:the|our|we|my|that|this)\s+(.{3,80}?)[\s?.!,;]*$")


def around(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The event that a question is before or after, as its words: `what broke after the migration`."""
    match = _AROUND.search(fold(" ".join(text.split())))
    words = telling(match.group(2)) if match else ()
    side = "before" if match and match.group(1) in ("before", "until") else "after"
    return (side, words) if words else None


def _span(said: dict[str, str], now: datetime) -> Span:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    match said:
        case {"iso": date}:
            return _day(datetime.fromisoformat(date).replace(tzinfo=UTC))
        case {"d1": day, "m1": month, "y1": year} | {"d2": day, "m2": month, "y2": year}:
            return _day(datetime(int(year), _month(month), int(day), tzinfo=UTC))
        case {"m3": month, "y3": year}:
            return _months(datetime(int(year), _month(month), 1, tzinfo=UTC), 1)
        case {"y4": year}:
            return _months(datetime(int(year), 1, 1, tzinfo=UTC), 12)
        case {"yesterday": _}:
            return _day(today - timedelta(days=1))
        case {"today": _}:
            return _day(today)
        case {"ago": number, "unit": unit}:
            return _ago(int(number), unit, today)
        case {"this": unit}:
            return _current(unit, today)
        case _:
            return _last(said["last"], today)


def _month(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))


def _day(start: datetime) -> Span:
    return Span(start, start + timedelta(days=1))


def _months(start: datetime, count: int) -> Span:
    last = start.month - 1 + count
    return Span(start, start.replace(year=start.year + last // 12, month=last % 12 + 1))


def _ago(number: int, unit: str, today: datetime) -> Span:
    """About then: as wide as the unit is vague."""
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    middle, slack = today - timedelta(days=number * days), timedelta(days=max(1, days // 2))
    return Span(middle - slack, middle + slack + timedelta(days=1))


def _current(unit: str, today: datetime) -> Span:
    match unit:
        case "week":
            monday = today - timedelta(days=today.weekday())
            return Span(monday, monday + timedelta(days=7))
        case "month":
            return _months(today.replace(day=1), 1)
        case _:
            return _months(today.replace(month=1, day=1), 12)


def _last(unit: str, today: datetime) -> Span:
    if unit in _DAYS:
        return _day(today - timedelta(days=(today.weekday() - _DAYS.index(unit) - 1) % 7 + 1))
    if unit in _SEASONS:
        start = today.replace(month=_SEASONS[unit], day=1)
        season = _months(start, 3)
        return season if season.until <= today else _months(start.replace(year=start.year - 1), 3)
    current = _current(unit, today)
    if unit == "week":
        return Span(current.since - timedelta(days=7), current.since)
    months = 1 if unit == "month" else 12
    before = current.since.month - 1 - months
    start = current.since.replace(year=current.since.year + before // 12, month=before % 12 + 1)
    return Span(start, current.since)
