"""Time: the same hour of the day, the same or the day before, and how recent.

Time alone never makes an item relevant, so these spaces propose nothing: they order what others found.
Recency proposes in one case only, when a question has no words to search by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.types import RecentProbe

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.types import Query

_HOURS_NEAR = 2
_DAYS_NEAR = 2


class HourSpace:
    """Near when the hour of the day is within two hours, across midnight too."""

    name = "hour"

    def closeness(self, created_at: datetime, now: datetime) -> float:
        """1 at the same hour, falling to 0 beyond two hours."""
        apart = abs((created_at.hour + created_at.minute / 60) - (now.hour + now.minute / 60))
        apart = min(apart, 24 - apart)
        return max(0.0, 1 - apart / (_HOURS_NEAR + 1)) if apart <= _HOURS_NEAR else 0.0


class DaySpace:
    """Near when it was today or yesterday."""

    name = "day"

    def closeness(self, created_at: datetime, now: datetime) -> float:
        """1 today, a half yesterday, 0 before."""
        apart = abs((now.date() - created_at.date()).days)
        return 1 - apart / _DAYS_NEAR if apart < _DAYS_NEAR else 0.0


class RecencySpace:
    """Near when it was not long ago."""

    name = "recency"
    slow = False

    def closeness(self, created_at: datetime, now: datetime) -> float:
        """One over one plus the days that have passed."""
        days = max(0.0, (now - created_at).total_seconds() / 86_400)
        return 1 / (1 + days)

    def probe(self, query: Query) -> RecentProbe | None:
        """The newest items, when there is nothing else to go by."""
        return None if query.text.strip() or query.vector else RecentProbe(self.name)
