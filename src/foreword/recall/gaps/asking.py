"""Whether an agent asks for what it would have to know: a request for clarification that nobody answered.

A question mark is no sign of a gap. An agent offers, asks for permission, interviews a user, or asks itself
and answers; none of that lacks context. It lacks context when it says so, or asks its peers for what was
decided. How that sounds is for `listener` to know; here it is who asked whom, and what came of it. A
request that was answered since is none any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.recall.gaps.listener import certainty, voice
from foreword.recall.gaps.phrases import PROGRESS, SHRUG
from foreword.recall.gaps.types import Sign
from foreword.recall.gaps.words import roots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.recall.gaps.listener import Encode
    from foreword.recall.gaps.state import Message

RECENT = 12
"""How many messages back a request may still stand open."""

ENCODED = 2
"""So many of them, the newest, are worth an encoder's time."""

FLAGGED, SURE, LIKELY = 0.95, 0.9, 0.75
"""How sure a flag makes us, a message that clearly asks, and one that only just does."""

CLEARLY = 1.0
"""So far beyond the threshold a message clearly asks."""

_NO = ("no", "none", "false")


def request(messages: Sequence[Message], encode: Encode | None = None) -> Sign | None:
    """The newest request for clarification that still stands open, if there is one."""
    recent = messages[-RECENT:]
    for at in range(len(recent) - 1, -1, -1):
        sign = asks(recent[at], encode if len(recent) - at <= ENCODED else None)
        if sign is not None and not answered(recent[at], recent[at + 1 :]):
            return sign
    return None


def asks(message: Message, encode: Encode | None = None) -> Sign | None:
    """Whether an agent's message asks for what it lacks, how surely, and the words in which it does."""
    if message.role != "agent":
        return None
    if str(message.flags.get("clarification_needed") or "no").casefold() not in _NO:
        evidence = "clarification_needed_flag"
        return Sign("clarification_requested", FLAGGED, evidence, message.text, message.name, message.at)
    said = voice(message.text)
    if not said or message.calls_tools:  # whoever calls a tool is looking for the answer
        return None
    beyond = certainty(said, encode)
    if beyond < 0:
        return None
    told = _telling(said)
    evidence = "question_to_peers" if told[-1].endswith("?") else "lack_stated"
    sure = SURE if beyond >= CLEARLY else LIKELY
    return Sign("clarification_requested", sure, evidence, " ".join(told), message.name, message.at)


def answered(asked: Message, later: Sequence[Message]) -> bool:
    """Whether somebody answered since, or the one who asked went on without."""
    return any(_answers(asked, message) for message in later)


def _telling(said: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences that say what is lacking; the whole when each alone says too little."""
    told = tuple(sentence for sentence in said if certainty((sentence,)) >= 0)
    return told if len(roots(" ".join(told))) > 2 else said


def _answers(asked: Message, message: Message) -> bool:
    if message.role == "system" or not message.text:
        return False
    if message.role == "agent" and message.speaker == asked.speaker:
        return not message.calls_tools and asks(message) is None
    plain = " ".join(voice(message.text)).casefold()
    if SHRUG.search(message.text.casefold()) or plain.endswith("?"):
        return False
    shared = roots(asked.text) & roots(message.text)
    return bool(shared) or message.role == "user" or not PROGRESS.search(plain)
