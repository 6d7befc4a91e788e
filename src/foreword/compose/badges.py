"""What time says of a memory, in a word or two: badges such as `[Recent activity]`.

Badges never make a memory relevant; they help its reader. Days and hours are those of the zone in which the
time of the question is given.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from foreword.text.tokens import Tokenizer

SAME_TIME = "Same time of day"
YESTERDAY = "Continuation from yesterday"
JUST_NOW = "Just discussed"
RECENT = "Recent activity"

_HOURS_NEAR = 2


class Dated(Protocol):
    """A memory, as far as time is concerned."""

    @property
    def created_at(self) -> datetime:
        """When it was made."""
        ...


class TemporalEnrichmentProvider:
    """Makes badges from the time of a memory and the time of a question."""

    def generate_badges(self, memory: Dated, query_time: datetime) -> list[str]:
        """The badges that a memory has earned. A time ahead of the clock counts like one as far behind it."""
        made = memory.created_at.astimezone(query_time.tzinfo)
        age = abs(query_time - made)
        badges = []
        if _hours_apart(made.hour, query_time.hour) <= _HOURS_NEAR:
            badges.append(SAME_TIME)
        if made.date() == query_time.date() - timedelta(days=1):
            badges.append(YESTERDAY)
        if age < timedelta(minutes=30):
            badges.append(JUST_NOW)
        elif age < timedelta(hours=2):
            badges.append(RECENT)
        return badges

    @staticmethod
    def format_badges(badges: Sequence[str]) -> str:
        """The badges between brackets; nothing when there are none."""
        return f"[{', '.join(badges)}]" if badges else ""

    def should_include_temporal(self, memory: Dated, query_time: datetime) -> bool:
        """Whether a memory has earned any badge."""
        return bool(self.generate_badges(memory, query_time))

    def badges_within(
        self, memories: Sequence[Dated], query_time: datetime, budget: int, tokenizer: Tokenizer
    ) -> list[tuple[str, ...]]:
        """The badges to show for each memory, first come first served: when the budget is spent, none."""
        given: list[tuple[str, ...]] = []
        for memory in memories:
            badges = _news(self.generate_badges(memory, query_time))
            cost = tokenizer.count(" " + self.format_badges(badges)) if badges else 0
            given.append(badges if cost <= budget else ())
            budget -= cost if cost <= budget else 0
        return given


def _news(badges: list[str]) -> tuple[str, ...]:
    """What was said within these two hours was, of course, said at the same time of day."""
    recent = JUST_NOW in badges or RECENT in badges
    return tuple(badge for badge in badges if not (recent and badge == SAME_TIME))


def _hours_apart(one: int, other: int) -> int:
    """How far two hours of the day are apart, the short way round the clock."""
    apart = abs(one - other)
    return min(apart, 24 - apart)
