"""How agents say, in English, that they lack something; and how they say what only looks like it.

Patterns for one sentence, in lower case, with straight apostrophes. Which of them decide is not said here.
"""

from __future__ import annotations

import re

_WHAT = r"(?:whether|which|what|how|if|who|whom|whose|why|where|when)"
_THINGS = r"(?:info|information|context|clarification|clarity|details?|background|guidance|specifics|inputs?)"
_SOMEBODY = r"(?:someone|somebody|anyone|anybody|one of you|the team)"
_WE = r"(?:^|\b(?:i|we)(?:'d|'ll|'ve| would| will| still| also| really| just)* )"
_NOT = r"(?:not|never|isn't|aren't|wasn't|weren't|hasn't been|haven't been|has not been|have not been)"
_DO_NOT = r"(?:do not|don't|does not|doesn't|did not|didn't|never|nowhere|only|fails? to)"
_CANNOT = r"(?:cannot|can't|can not|couldn't|could not|unable to|impossible to|hard to)"
_VAGUE = r"(?:unclear|ambiguous|underspecified|undefined|unspecified|vague)"
_PAPER = (
    r"(?:stor(?:y|ies)|tickets?|specs?|specification|briefs?|requirements?|docs?|documents?|documentation|minutes"
    r"|criteria|adrs?|contracts?|diagrams?|tasks?|issues?|description|readme|wiki|notes?|plans?|instructions?"
    r"|handbook|policy|guide|guidelines?)"
)
_SAYS = (
    r"(?:says?|mentions?|covers?|specif(?:y|ies)|defines?|states?|tells?|explains?|describes?|lists?|talks?)"
)
_TRACE = r"(?:record|mention|trace|documentation|description|definition|decision|explanation|word|answer)"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


LACK = _any(
    # It is unclear.
    rf"\b(?:is|are|it's|that's|remains?|still|seems?|requirements?) (?:\w+ ){{0,2}}{_VAGUE}\b",
    r"\b(?:unclear|ambiguous|unsure|uncertain|not (?:\w+ )?(?:clear|sure|certain)|isn't clear|confused)"
    rf"(?: (?:to me|yet|here|about|from the \w+))* {_WHAT}\b",
    r"\bi(?:'m| am) (?:\w+ )?(?:confused|puzzled|lost|in the dark|guessing)\b",
    # I do not know, and nobody told me.
    rf"\b(?:i|we) (?:do not|don't) (?:really |quite )?(?:know|understand|see) {_WHAT}\b|\bno idea {_WHAT}\b",
    rf"\b{_CANNOT} (?:tell|figure out|work out|make out|determine|find out|say|decide)\b[^,;]*\b{_WHAT}\b",
    rf"\b{_CANNOT} (?:figure|work|make|find) (?:\w+ )?out\b|\bno way (?:of knowing|to know|to tell)\b",
    rf"\b{_NOT} (?:been )?(?:told|given|informed)\b",
    r"\b(?:told|given|sent|handed|shown) (?:neither|no|nothing)\b",
    rf"\bnobody (?:has )?(?:told|tells|knows)\b|\bdoes {_SOMEBODY} know\b",
    rf"\b(?:until|unless) (?:{_SOMEBODY}|i|we|you|the \w+) (?:tells?|knows?|am told|hears?|explains?|clarif)",
    # I need to be told.
    rf"{_WE}needs? (?:\w+ ){{0,3}}{_THINGS}\b",
    rf"{_WE}need (?:to (?:know|understand)|an answer|that (?:to|before))\b",
    r"\bi(?:'d| would| still)* need the\b|\bneed (?:that|this|it|to know \w+) (?:before|to continue)\b",
    rf"\b(?:am|'m|is|are|we're) (?:still )?(?:missing|lacking) (?:\w+ ){{0,2}}{_THINGS}\b",
    rf"\b(?:i|we) lack (?:\w+ ){{0,2}}{_THINGS}\b",
    rf"\b(?:not enough|insufficient|too little) (?:{_THINGS}|to go on|to work with)\b",
    rf"\b(?:have no|do not have|don't have|without|no) (?:enough |any |the |more |further )?{_THINGS}"
    r" (?:on|about|to|was|were|is)\b",
    r"\b(?:i|we) (?:do not|don't) have (?:access to|(?:that|this|it) in my context)\b",
    rf"{_WE}{_CANNOT} (?:\w+ ){{1,4}}(?:without|until)\b|\bwithout (?:knowing|understanding)\b",
    rf"\bwithout (?:that|this|it|the \w+)\b[^.]*\b(?:i|we) {_CANNOT}\b",
    rf"\bwaiting (?:for|on) (?:\w+ ){{0,3}}(?:{_THINGS}|an? answer|answer|decision|policy)\b",
    rf"\bblocked (?:on|by|until)\b[^.]*\b(?:{_THINGS}|answer|decision|{_WHAT})\b",
    # Tell me.
    r"\bplease (?:clarify|explain|specify|elaborate|advise)\b",
    rf"\b(?:requesting|asking for|seeking) {_THINGS}\b",
    r"\b(?:can|could|would) you (?:please )?(?:clarify|explain|specify|elaborate|give me more)\b",
    rf"\b(?:can|could|would|will) {_SOMEBODY} (?:please )?(?:clarify|explain|specify|tell|point|say|help)\b",
    rf"\b{_SOMEBODY} (?:please )?(?:clarify|confirm|correct)\b",
    r"\bwhat (?:do|does|did) [^?]{1,60}\b(?:mean|stand for|refer to)\b|\bwhat is meant by\b",
    # Nobody wrote it down.
    rf"\b{_PAPER}\b[^.?!]{{0,30}}\b(?:(?:is|are) silent|{_DO_NOT} {_SAYS})\b",
    r"\bleaves? (?:it|this|that) (?:open|undecided|unanswered)\b|\bfound nothing (?:about|on)\b",
    rf"\b{_NOT} (?:mentioned|specified|defined|documented|stated|described|explained|decided|written down)\b",
    rf"\bno (?:\w+ )?{_TRACE} (?:of|on|about|for) {_WHAT}\b|\bthere(?:'s| is) no {_TRACE}\b",
    r"\b(?:no|missing) information (?:was|is|has been) (?:provided|given)\b",
)  # fmt: skip
"""The speaker lacks something."""

DECIDED = _any(
    r"\bshould (?:i|we) (?:use|take|choose|pick|follow|apply|assume|expect)\b",
    r"\b(?:did|have|do) we (?:agree|agreed|decide|decided|settle|settled|choose|chosen|pick|say|promise)\b",
    r"\bwe (?:agreed|decided|settled|promised)\b|\b(?:our|house) (?:policy|style|convention|standard|rule)\b",
    r"\bdo we (?:use|have|keep|store)\b|\bis there an? (?:agreed|official|existing|documented)\b",
    r"\b(?:supposed|meant|allowed|expected) to\b|\bcorrect that\b",
    r"\b(?:documented|defined|decided|specified|agreed)\b",
)
"""A question for what was decided, which peers know and a memory may."""

SOUGHT = _any(
    r"\b(?:can't|cannot|couldn't|could not|didn't|did not|don't|haven't) (?:\w+ )?(?:find|see|know|want)\b",
    r"\bnothing (?:in|on|says|tells|about)\b|\bno (?:trace|mention) of\b|\b(?:i've|i have) been through\b",
    rf"\bcontradict|\bconflicting\b|\bdisagree\b|\b{_PAPER}\b[^.]*\bonly\b",
)
"""The speaker looked for an answer, or found two."""

ASKING = re.compile(r"\b(?:who|whom|whose|what|what's|which|where|when|why|how)\b|\bor\b")
"""A question for something, rather than for a yes."""

TO_THE_USER = _any(
    r"\bwould you (?:like|prefer|rather)\b|\bdo you (?:want|need|have|prefer)\b|\b(?:shall|may|can) i\b",
    r"\bwant me to\b|\blet me know\b|\bfeel free\b|\byour\b|\bany ?thing else\b|\bready to\b|\bok with you\b",
    r"\bhelp you\b|\bif (?:anything|something|you)\b|\byou\b",
)
"""A question that is put to a user by design: an offer, a request for leave, an interview."""

POSED = _any(r"\bquestion \d+\b", r"\b[a-d]\) ", r"\bin your own words\b", r"\bwhy not\b")
"""A question that is posed, not asked: by a quiz, a tutor, a reviewer."""

HYPOTHETICAL = _any(
    r"^(?:if|when|should) (?:anything|something|you|there)\b",
    r"\blet me know if\b|\bno more information\b|\bneed to know more about\b[^.]*\?",
    rf"\b(?:when|whenever|if|in case) (?:the |a |any )?(?:\w+ ){{1,3}}(?:is|are|seems?) (?:\w+ )?{_VAGUE}\b",
    r"\b(?:users?|customers?|people|readers?|they) (?:don't|do not|doesn't|does not) (?:know|understand)\b",
)
"""What might be lacking, or is lacking to others."""

SETTLED = _any(
    r"\bnever ?mind\b|\bfound (?:it|the answer)\b|\bsettled it\b|\bmakes? it clear\b|\bno longer\b",
    r"\b(?:is|are|was|were|now) (?:settled|resolved|answered|clear)\b|\bno open questions\b",
    r"\bnothing is unclear\b|\bat first\b",
)
"""What was lacking is not lacking any more."""

SHRUG = _any(
    r"\b(?:don't|do not|doesn't|does not) know\b|\bnot sure\b|\bunsure\b|\bno idea\b|\bcan't (?:say|help)\b",
    r"\blet me (?:see|check|ask|find)\b|\bi(?:'ll| will) (?:ask|check|find out|look)\b",
    r"\b(?:no|0|zero) (?:results?|matches|hits|entries)\b|\bnot found\b|\bnothing (?:was )?found\b",
)
"""A reply that answers nothing."""

PROGRESS = _any(
    r"\b(?:done|finished|completed?|implemented|added|adds|committed|pushed|merged|migrated|written|wrote)\b",
    r"\b(?:fixed|passed|deployed|verified|shipped|renamed|created|kept|removed|updated|approved)\b",
    r"\btests? pass(?:es)?\b|\ball (?:\d+ )?tests pass\b",
)
"""Work that gets on."""
