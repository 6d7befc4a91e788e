"""The spaces that need no encoder: words, typos, neighbours, and time.

Time alone never makes an item relevant, so the spaces of time find nothing: they order what others found.
Recency alone gives a probe, and only if a question has no words to search by.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.text.translate import to_english
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
        """A probe for the content words of the question, and for the phrases that it quotes."""
        words = dict.fromkeys((*content_words(query.text), *content_words(to_english(query.text))))
        wanted = (*_phrases_quoted_in_question(query.text), *words)[:MAX_WORDS]
        return WordsProbe(self.name, wanted) if wanted else None


def _phrases_quoted_in_question(text: str) -> tuple[str, ...]:
    """The phrases of two words or more that a question quotes."""
    quoted = (" ".join(split_words(quote)) for quote in _QUOTED.findall(text))
    return tuple(dict.fromkeys(quote for quote in quoted if " " in quote))


class TrigramSpace:
    """Finds items through misspelt words: only those the workspace does not know are looked up."""

    name = "trigram"
    slow = False

    def probe(self, query: Query) -> TypoProbe | None:
        """A probe for the words of a short question; the store finds out which of them are unknown.

        A long text has many words that are new to a workspace, and few of them are mistakes.
        """
        wanted = content_words(query.text)
        return TypoProbe(self.name, wanted) if 0 < len(wanted) <= _MAX_TYPO_WORDS else None


class GraphSpace:
    """Finds items that are one relation, or one place in a session, away from the best of other spaces."""

    name = "graph"
    slow = False

    def probe(self, query: Query) -> NeighboursProbe | None:
        """A probe for neighbours, unless the question has neither words nor a vector to find anything by."""
        return NeighboursProbe(self.name) if query.text.strip() or query.vector else None


class HourSpace:
    """Orders by the hour of the day: near within two hours, across midnight too."""

    name = "hour"

    def closeness(self, created_at: datetime, now: datetime) -> float:
        """1 at the same hour, falling to 0 beyond two hours."""
        apart = abs((created_at.hour + created_at.minute / 60) - (now.hour + now.minute / 60))
        apart = min(apart, 24 - apart)
        return max(0.0, 1 - apart / (_HOURS_NEAR + 1)) if apart <= _HOURS_NEAR else 0.0


class DaySpace:
    """Orders by the day: near if it is today or yesterday."""

    name = "day"

    def closeness(self, created_at: datetime, now: datetime) -> float:
        """1 today, a half yesterday, 0 before."""
        apart = abs((now.date() - created_at.date()).days)
        return 1 - apart / _DAYS_NEAR if apart < _DAYS_NEAR else 0.0


class RecencySpace:
    """Orders by age: the newer, the nearer."""

    name = "recency"
    slow = False

    def closeness(self, created_at: datetime, now: datetime) -> float:
        """One over one plus the days that have passed."""
        days = max(0.0, (now - created_at).total_seconds() / 86_400)
        return 1 / (1 + days)

    def probe(self, query: Query) -> RecentProbe | None:
        """A probe for the newest items, if the question has neither words nor a vector."""
        return None if query.text.strip() or query.vector else RecentProbe(self.name)
