"""Whether an agent asks for what it would have to know: a request for clarification that nobody answered.

A question mark is no sign of a gap. An agent offers, asks for permission, interviews a user, or asks itself
and answers; none of that lacks context. It lacks context when it says so (unclear, cannot go on, not
documented), or asks its peers for what was decided. A request that was answered since is none any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foreword.recall.gap_phrases import (
    ASKING,
    DECIDED,
    HYPOTHETICAL,
    LACK,
    POSED,
    PROGRESS,
    SETTLED,
    SHRUG,
    SOUGHT,
    TO_THE_USER,
)
from foreword.recall.gap_types import Sign
from foreword.recall.gap_words import own_voice, roots, sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.recall.gap_state import Message

RECENT = 12
"""How many messages back a request may still stand open."""

FLAGGED, STATED, ASKED, LEAST = 0.95, 0.9, 0.75, 0.55
"""How sure a flag, a stated lack and a question to peers make us; and the least for a request to count."""

_NO = ("no", "none", "false")


def request(messages: Sequence[Message]) -> Sign | None:
    """The newest request for clarification that still stands open, if there is one."""
    recent = messages[-RECENT:]
    for at in range(len(recent) - 1, -1, -1):
        sign = asks(recent[at])
        if sign is not None and not answered(recent[at], recent[at + 1 :]):
            return sign
    return None


def asks(message: Message) -> Sign | None:
    """Whether an agent's message asks for what it lacks, how surely, and the words in which it does."""
    if message.role != "agent":
        return None
    if str(message.flags.get("clarification_needed") or "no").casefold() not in _NO:
        evidence = "clarification_needed_flag"
        return Sign("clarification_requested", FLAGGED, evidence, message.text, message.name, message.at)
    said = sentences(own_voice(message.text))
    if SETTLED.search(" ".join(said).casefold()):
        return None
    sure = _how_sure(said, calls_tools=message.calls_tools)
    if sure < LEAST:
        return None
    needs = " ".join(_telling(said))
    evidence = "lack_stated" if sure >= STATED else "question_to_peers"
    return Sign("clarification_requested", sure, evidence, needs, message.name, message.at)


def answered(asked: Message, later: Sequence[Message]) -> bool:
    """Whether somebody answered since, or the one who asked went on without."""
    return any(_answers(asked, message) for message in later)


def _how_sure(said: Sequence[str], *, calls_tools: bool) -> float:
    if any(_lacks(sentence) for sentence in said):
        return STATED
    asked = [sentence for sentence in said if _asks_peers(sentence)]
    interviews = any(sentence.endswith("?") and TO_THE_USER.search(sentence.casefold()) for sentence in said)
    if not asked or interviews or calls_tools:  # whoever calls a tool is looking for the answer
        return 0.0
    if any(SOUGHT.search(sentence.casefold()) for sentence in said):
        return STATED
    if any(DECIDED.search(sentence.casefold()) for sentence in asked):
        return ASKED
    # A question that more words follow was answered by the one who asked it.
    return LEAST if said[-1] in asked else 0.0


def _lacks(sentence: str) -> bool:
    plain = sentence.casefold()
    return bool(LACK.search(plain)) and not (HYPOTHETICAL.search(plain) or PROGRESS.search(plain))


def _asks_peers(sentence: str) -> bool:
    """Whether a sentence asks for knowledge, rather than for a user's wish, leave or data."""
    plain = sentence.casefold()
    if not plain.endswith("?") or TO_THE_USER.search(plain) or POSED.search(plain):
        return False
    return bool(ASKING.search(plain) or DECIDED.search(plain))


def _telling(said: Sequence[str]) -> list[str]:
    """The sentences that say what is lacking; the whole when each alone says too little."""
    told = [sentence for sentence in said if _lacks(sentence) or _asks_peers(sentence)]
    return told if len(roots(" ".join(told))) > 2 else list(said)


def _answers(asked: Message, message: Message) -> bool:
    if message.role == "system" or not message.text:
        return False
    if message.role == "agent" and message.speaker == asked.speaker:
        return asks(message) is None and not message.calls_tools
    plain = " ".join(sentences(own_voice(message.text))).casefold()
    if SHRUG.search(message.text.casefold()) or plain.endswith("?"):
        return False
    shared = roots(asked.text) & roots(message.text)
    return bool(shared) or message.role == "user" or not PROGRESS.search(plain)
