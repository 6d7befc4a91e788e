"""Whether agents go round in circles: two hand the same thing to and fro, and neither says anything new.

A review goes to and fro as well. It is no circle, because its comments differ each time; numbers that differ
are news, too. Whoever keeps a `cycle_analysis` in the state is believed; otherwise the messages tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.recall.gaps.state import plain, value
from foreword.recall.gaps.types import Sign
from foreword.recall.gaps.words import likeness, roots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.recall.gaps.state import Message

RECENT = 16
"""How many messages of agents back a circle is looked for."""

ROUNDS = 4
"""So many messages in turn make a circle: each of the two says its part again."""

SAME = 0.65
"""So much of their words two messages of one agent have in common when the second is no news."""

TOPIC_WORDS = 3
"""A message of fewer telling words has no topic to go round."""

KNOWN, SEEN, BRIEFLY = 0.8, 0.8, 0.75
_ABOUT = ("topic", "issue", "patterns_found", "topic_exchanges", "cycles", "patterns")


def circle(state: object, messages: Sequence[Message]) -> Sign | None:
    """The sign that two agents are going round in circles, if they are."""
    analysis = value(state, "cycle_analysis")
    if analysis is None:
        return _seen(messages)
    if value(analysis, "circular_detected") is not True:
        return None
    topic = next((text for key in _ABOUT if (text := plain(value(analysis, key)))), "")
    return Sign("circular_logic", KNOWN, "cycle_analysis", topic)


def _seen(messages: Sequence[Message]) -> Sign | None:
    run = _exchange([message for message in messages if message.role == "agent" and message.text][-RECENT:])
    if len(run) < ROUNDS:
        return None
    if not (_says_the_same(run[-1], run[-3]) and _says_the_same(run[-2], run[-4])):
        return None
    sure = BRIEFLY if len(run) == ROUNDS else SEEN
    return Sign("circular_logic", sure, "agents_repeat_themselves", f"{run[-2].text}\n{run[-1].text}")


def _exchange(spoken: Sequence[Message]) -> list[Message]:
    """The newest messages in which the same two agents take turns, oldest first."""
    run: list[Message] = []
    for message in reversed(spoken):
        if run and message.speaker == run[-1].speaker:
            break
        if len(run) > 1 and message.speaker != run[-2].speaker:
            break
        run.append(message)
    return run[::-1]


def _says_the_same(message: Message, earlier: Message) -> bool:
    return len(roots(message.text)) >= TOPIC_WORDS and likeness(message.text, earlier.text) >= SAME
