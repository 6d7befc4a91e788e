"""A session in a few lines, in its own words.

Extractive, offline and always the same for the same turns. A session with an agent is told by what was asked,
decided, done and left open; a conversation between people is told in reported speech. What the web said is
not quoted beside what the people and the agent said, so that a summary cannot make foreign words look like
theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.knowledge.conversation import conversation
from foreword.knowledge.worklog import worklog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.knowledge.digest import Digest
    from foreword.types import Item


def summarise(turns: Sequence[Item], words: int = 120) -> str:
    """The session in at most this many words; empty when there is nothing to tell."""
    return digest(turns, words).text


def digest(turns: Sequence[Item], words: int = 120) -> Digest:
    """The summary of the turns, and which of them it quotes."""
    places = [at for at, turn in enumerate(turns) if turn.source.trust != "web"] or list(range(len(turns)))
    if any(turns[at].source.trust in ("agent", "tool") for at in places):
        return worklog(turns, places, words)
    return conversation(turns, places, words)
