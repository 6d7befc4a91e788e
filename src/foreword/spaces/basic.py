"""The spaces that need no encoder: words, typos, neighbours, and time.

Time alone never makes an item relevant, so the spaces of time propose nothing: they order what others found.
Recency proposes in one case only, when a question has no words to search by.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.text.words import content_words, split_words
from foreword.types import NeighboursProbe, RecentProbe, TypoProbe, WordsProbe

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.types import Query

MAX_WORDS = 64
"""At most this many words of a question are searched: a pasted stack trace has hundreds."""

_MAX_TYPO_WORDS = 12
_HOURS_NEAR = 2
_DAYS_NEAR = 2
_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]{3,120})[\"“”«»]")


class LexicalSpace:
    """Finds items that share words with the question."""

    name = "lexical"
    slow = False

    def probe(self, query: Query) -> WordsProbe | None:
        """The content words of the question; what it quotes counts once more, as a phrase."""
        wanted = (*_quoted_phrases(query.text), *content_words(query.text))[:MAX_WORDS]
        return WordsProbe(self.name, wanted) if wanted else None


def _quoted_phrases(text: str) -> tuple[str, ...]:
    """What a question quotes, if it is more than a word."""
    quoted = (" ".join(split_words(quote)) for quote in _QUOTED.findall(text))
    return tuple(dict.fromkeys(quote for quote in quoted if " " in quote))


class TrigramSpace:
    """Finds items through misspelt words: only those the workspace does not know are looked up."""

    name = "trigram"
    slow = False

    def probe(self, query: Query) -> TypoProbe | None:
        """The words of a short question; the store knows which of them are unknown.

        A long text has many words that nobody has written before, and few of them are mistakes.
        """
        wanted = content_words(query.text)
        return TypoProbe(self.name, wanted) if 0 < len(wanted) <= _MAX_TYPO_WORDS else None


class GraphSpace:
    """Finds what is one relation, or one place in a session, away from the best answers of other spaces."""

    name = "graph"
    slow = False

    def probe(self, query: Query) -> NeighboursProbe | None:
        """A probe for neighbours, unless the question has neither words nor a vector to find anything by."""
        return NeighboursProbe(self.name) if query.text.strip() or query.vector else None


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
