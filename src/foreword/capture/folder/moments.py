"""A time as a file or a commit tells it, as it can be kept: any number is the nearest time there is."""

from __future__ import annotations

from datetime import UTC, datetime

_EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
_LATEST = datetime(9999, 12, 31, tzinfo=UTC)
"""A day from either end of the calendar, so that every time zone can show them."""

_FIRST, _LAST = _EARLIEST.timestamp(), _LATEST.timestamp()


def moment(seconds: float) -> datetime:
    """The time so many seconds after 1970, or before it; of one that no calendar has, the nearest."""
    return datetime.fromtimestamp(min(max(seconds, _FIRST), _LAST), UTC)
