"""Whether an agent asks for what it would have to know: a request for clarification that nobody answered.

A question mark is no sign of a gap. An agent offers, asks for permission, interviews a user, or asks itself
and answers; none of that lacks context. It lacks context when it says so (unclear, cannot go on, not
documented), or asks its peers for what was decided. A request that was answered since is none any more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foreword.recall.gap_types import Sign
from foreword.recall.gap_words import own_voice, roots, sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.recall.gap_state import Message

RECENT = 12
"""How many messages back a request may still stand open."""

STATED, ASKED, LEAST = 0.9, 0.75, 0.55
"""How sure a stated lack and a question to peers make us; and the least for a request to count."""

_WHAT = r"(?:whether|which|what|how|if|who|why|where|when|that)"
_THINGS = r"(?:info|information|context|clarification|clarity|details?|background|guidance|specifics)"
_LACK = re.compile(
    "|".join(
        (
            r"\b(?:is|are|it's|that's|remains?|still|seems?|requirements?) (?:\w+ ){0,2}"
            r"(?:unclear|ambiguous|underspecified|undefined|unspecified)\b",
            rf"\b(?:unclear|ambiguous|unsure|uncertain|not (?:\w+ )?(?:clear|sure|certain)|isn't clear)"
            rf"(?: to me| yet| here| about)* {_WHAT}\b",
            r"\b(?:(?:do not|don't) (?:really )?(?:know|understand|see)|no idea|(?:can't|cannot) tell)"
            rf" {_WHAT}\b",
            rf"\bneeds? (?:\w+ ){{0,3}}{_THINGS}\b",
            r"\bi (?:still )?need (?:to know|that (?:to|before))\b",
            r"\bneed (?:that|this|it|to know \w+) (?:before|to continue)\b",
            rf"\b(?:am|'m|is|are|we're) (?:still )?(?:missing|lacking) (?:\w+ ){{0,2}}{_THINGS}\b",
            rf"\b(?:i|we) lack (?:\w+ ){{0,2}}{_THINGS}\b",
            rf"\b(?:not enough|insufficient|too little) {_THINGS}\b",
            rf"\b(?:have no|do not have|don't have|without|no) (?:enough |any |the |more |further )?{_THINGS}"
            r" (?:on|about|to|was|were|is)\b",
            r"\b(?:do not|don't) have (?:that|this|it) in my context\b",
            r"\b(?:cannot|can't|unable to) (?:\w+ ){1,3}(?:without|until)\b",
            r"\bwithout (?:that|this|it|knowing)\b[^.]*\b(?:cannot|can't)\b",
            r"\bnobody (?:has )?(?:told|tells)\b",
            r"\bplease (?:clarify|explain|specify|elaborate)\b",
            r"\b(?:can|could|would) (?:you|someone|somebody|anyone|anybody) (?:please )?"
            r"(?:clarify|explain|specify|elaborate|tell me|tell us|point me|point us)\b",
            r"\bwhat do(?:es)? (?:you|that|this|it) mean\b|\bwhat is meant by\b",
            r"\bwaiting (?:for|on) (?:\w+ ){0,2}(?:clarification|an answer|information|input|details)\b",
            r"\b(?:is|are) silent (?:on|about)\b",
            r"\b(?:doesn't|does not|don't|do not) (?:say|cover|specify|mention|define)\b",
            r"\bleaves? (?:it|this|that) open\b",
            r"\b(?:no|missing) information (?:was|is|has been) (?:provided|given)\b",
            r"\bfound nothing (?:about|on)\b",
        )
    )
)
_PEERS = re.compile(
    r"\b(?:should (?:i|we) (?:use|take|choose|pick|follow|apply|assume|expect)"
    r"|did we (?:agree|decide|settle|choose|pick|say)"
    r"|do we (?:use|have|keep|store)|is there an? (?:agreed|official|existing|documented)|supposed to"
    r"|(?:documented|defined|decided|specified|agreed)\b)"
)
_SOUGHT = re.compile(
    r"\b(?:can't|cannot|couldn't|could not|didn't|did not) find\b|\bno (?:trace|mention) of\b"
)
_TO_THE_USER = re.compile(
    r"\b(?:would you (?:like|prefer|rather)|do you (?:want|need|have|prefer)|shall i|may i|can i help"
    r"|want me to|let me know|feel free|your|anything else|ready to|ok with you|help you"
    r"|if (?:anything|something|you)|you (?:like|prefer|need|live|want))\b"
)
_YOU = re.compile(r"\byou\b")
_CONDITIONAL = re.compile(r"^(?:if|when|should) (?:anything|something|you|there)\b|\blet me know if\b")
_SETTLED = re.compile(
    r"\bnever ?mind\b|\bfound (?:it|the answer)\b"
    r"|\b(?:is|are|was|were|now) (?:settled|resolved|answered|clear)\b"
    r"|\bsettled it\b|\bmakes? it clear\b|\bno longer\b|\bno open questions\b"
    r"|\bnothing is unclear\b|\bat first\b"
)
_SHRUG = re.compile(
    r"\b(?:don't|do not|doesn't|does not) know\b|\bnot sure\b|\bunsure\b|\bno idea\b"
    r"|\blet me (?:see|check|ask|find)\b"
    r"|\bi(?:'ll| will) (?:ask|check|find out|look)\b|\b(?:no|0|zero) (?:results?|matches|hits|entries)\b"
    r"|\bnot found\b|\bnothing (?:was )?found\b|\bcan't (?:say|help)\b"
)
PROGRESS = re.compile(
    r"\b(?:done|finished|completed?|implemented|added|committed|pushed|merged|migrated|written|wrote|fixed"
    r"|passed|tests? pass(?:es)?|all (?:\d+ )?tests pass|deployed|verified|shipped|renamed|created)\b"
)


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
    if message.flags.get("clarification_needed"):
        return Sign(
            "clarification_requested", 0.95, "clarification_needed_flag", message.text, agent=message.name
        )
    said = sentences(own_voice(message.text))
    plain = " ".join(said).casefold()
    if _SETTLED.search(plain):
        return None
    sure = _how_sure(said, plain, calls_tools=message.calls_tools)
    if sure < LEAST:
        return None
    needs = " ".join(_telling(said))
    evidence = "lack_stated" if sure >= STATED else "question_to_peers"
    return Sign("clarification_requested", sure, evidence, needs, agent=message.name)


def answered(asked: Message, later: Sequence[Message]) -> bool:
    """Whether somebody answered since, or the one who asked went on without."""
    return any(_answers(asked, message) for message in later)


def _how_sure(said: Sequence[str], plain: str, *, calls_tools: bool) -> float:
    if any(_lacks(sentence) for sentence in said):
        return STATED
    asked = [sentence for sentence in said if _asks_peers(sentence)]
    if not asked or calls_tools:
        return 0.0
    if _SOUGHT.search(plain):
        return STATED
    if any(_PEERS.search(sentence.casefold()) for sentence in asked):
        return ASKED
    return LEAST if said[-1] in asked and len(asked) == len(said) else 0.0


def _lacks(sentence: str) -> bool:
    plain = sentence.casefold()
    return bool(_LACK.search(plain)) and not _CONDITIONAL.search(plain)


def _asks_peers(sentence: str) -> bool:
    """Whether a sentence asks for knowledge, rather than for a user's wish, leave or data."""
    plain = sentence.casefold()
    return plain.endswith("?") and not _TO_THE_USER.search(plain) and not _YOU.search(plain)


def _telling(said: Sequence[str]) -> list[str]:
    """The sentences that say what is lacking; the whole when each alone says too little."""
    told = [sentence for sentence in said if _lacks(sentence) or _asks_peers(sentence)]
    return told if len(roots(" ".join(told))) > 2 else list(said)


def _answers(asked: Message, message: Message) -> bool:
    plain = " ".join(sentences(own_voice(message.text))).casefold()
    if message.role == "system" or not message.text:
        return False
    if message.role == "agent" and message.speaker == asked.speaker:
        return asks(message) is None and not message.calls_tools
    if _SHRUG.search(message.text.casefold()) or plain.endswith("?"):
        return False
    shared = roots(asked.text) & roots(message.text)
    return bool(shared) or message.role == "user" or not PROGRESS.search(plain)
