"""Detects agents that go round in circles: each repeats what it said a round ago, maybe in other words.

Agents take turns in a review as well, but its comments differ each time. So a round counts as a circle only
if it brings nothing new: no number, no name, and no report that anything was done.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from foreword.errors import EmbeddingError
from foreword.log import get_logger
from foreword.recipes.gap.vocabulary import PROGRESS_REPORT, text_similarity, word_prefixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.recipes.gap.state import Message

_log = get_logger("foreword.gap")

CompareTexts = Callable[[str, str], float]
"""From two texts to the cosine of their meanings, on the bundled encoder's scale."""

ROUND_LENGTHS = (2, 3)
"""How many agents may take turns in a circle."""

MIN_CIRCLE_WORDS = 3
"""In fewer content words than this, two messages may be alike by chance."""

MIN_CIRCLE_SIMILARITY = 0.65
"""The least similarity of a message to its speaker's last one with which it says almost the same."""

MIN_REWORDED_SIMILARITY, MIN_REWORDED_COSINE = 0.2, 0.75
"""The same for a message that says it in other words: the least similarity of words, or cosine.

Found on measure/lacks/circles_teach.jsonl: all circles have .20 or more, most exchanges with progress less.
"""

_NEWS = re.compile(
    r"\d+|(?<=[^.!?:\s]\s)[A-ZÀ-Þ][\w-]+"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|first|second|third|fourth|fifth)\b"
    r"|\b(?:too|also|as well)\b"
)
"""Numbers, names within a sentence, and words with which something is added."""


def find_newest_repeated_round(
    messages: Sequence[Message], compare: CompareTexts | None = None
) -> list[Message]:
    """The newest round of messages with the round that it repeats; empty if it repeats none."""
    for length in ROUND_LENGTHS:
        turns = newest_rounds(messages, length)
        if len(turns) < 2 * length:
            continue
        before, last = turns[-2 * length : -length], turns[-length:]
        pairs = list(zip(last, before, strict=True))
        if all(_says_almost_the_same(one, earlier) for one, earlier in pairs):
            return turns
        if not _brings_news(last, turns[:-length]) and all(
            _says_same_in_other_words(*pair, compare) for pair in pairs
        ):
            return turns
    return []


def newest_rounds(messages: Sequence[Message], length: int) -> list[Message]:
    """The newest messages in which `length` agents take turns in the same order, oldest first."""
    turns: list[Message] = []
    for message in reversed(messages):
        spoken = [turn.speaker for turn in turns]
        if len(turns) < length:
            if message.speaker in spoken:
                break
        elif message.speaker != spoken[-length]:
            break
        turns.append(message)
    return turns[::-1]


def _says_almost_the_same(message: Message, earlier: Message) -> bool:
    return _is_long_enough(message) and text_similarity(message.text, earlier.text) >= MIN_CIRCLE_SIMILARITY


def _says_same_in_other_words(message: Message, earlier: Message, compare: CompareTexts | None) -> bool:
    """Whether a message says the same as an earlier one, by its words or, with an encoder, its meaning."""
    if not _is_long_enough(message):
        return False
    if text_similarity(message.text, earlier.text) >= MIN_REWORDED_SIMILARITY:
        return True
    if compare is None:
        return False
    try:
        return compare(message.text, earlier.text) >= MIN_REWORDED_COSINE
    except EmbeddingError as error:
        _log.warning("a round of agents is compared by its words alone", problem=str(error))
        return False


def _brings_news(messages: Sequence[Message], earlier: Sequence[Message]) -> bool:
    """Whether messages name or count something that the earlier ones do not, or report progress."""
    known = "\n".join(message.text for message in earlier).casefold()
    for message in messages:
        if any(word.casefold() not in known for word in _NEWS.findall(message.text)):
            return True
        reported = PROGRESS_REPORT.search(message.text.casefold())
        if reported is not None and reported[0] not in known:
            return True
    return False


def _is_long_enough(message: Message) -> bool:
    return len(word_prefixes(message.text)) >= MIN_CIRCLE_WORDS
