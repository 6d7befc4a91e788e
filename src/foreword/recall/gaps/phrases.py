"""How English says that something is lacking, that a reply answers nothing, that work gets on.

Patterns for one sentence; all but the last in lower case, with straight apostrophes. Which of them decide is
not said here.
"""

from __future__ import annotations

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


SHRUG = _any(
    r"\b(?:don't|do not|doesn't|does not) know\b|\bnot sure\b|\bunsure\b|\bno idea\b|\bcan't (?:say|help)\b",
    r"\blet me (?:see|check|ask|find)\b|\bi(?:'ll| will) (?:ask|check|find out|look)\b",
    r"\b(?:no|0|zero) (?:results?|matches|hits|entries)\b|\bnot found\b|\bnothing (?:was )?found\b",
)
"""A reply that answers nothing."""

NOD = _any(
    r"\W*(?:(?:ok(?:ay)?|thanks|thank you|sure|fine|all ?right|please|go (?:on|ahead)|continue|proceed"
    r"|carry on|wait|hold on|just|(?:a|one) (?:moment|second))\b\W*)+",
)
"""A reply that only keeps the talk going."""

PROGRESS = _any(
    r"\b(?:done|finished|completed?|implemented|added|adds|committed|pushed|merged|migrated|written|wrote)\b",
    r"\b(?:fixed|passed|deployed|verified|shipped|renamed|created|kept|removed|updated|approved)\b",
    r"\btests? pass(?:es)?\b|\ball (?:\d+ )?tests pass\b",
)
"""Work that gets on."""

PLAINLY = _any(
    r"(?i)^(?:\W*\w+\W+){0,3}?(?:can|could|would) (?:you|someone|anyone)(?: please)? (?:clarify|explain)\b",
    r"\bi(?: still| really| also)? (?:need|lack|(?:am|['’]m) (?:missing|lacking))"
    r"(?: some| more| further| a bit more| the)* (?:info|information|clarification|context)\b",
    r"\bi(?: still)? (?:do not|don['’]t) understand (?:how|what|why|which|where|when|the)\b",
    r"^(?:\W*\w+\W+){0,2}?what do you mean\b",
    r"^\W*(?:still |rather |quite )?unclear\W*$",
    r"^\W*(?:but )?(?:it|this|that)(?:'s| is)(?: still| rather| quite)? unclear"
    r"(?:\W*$| (?:to me|which|what|whether|how|who|whose|when|where|why|if)\b)",
    r"\b(?:remains?|(?:is|are) still) unclear(?: to me)?\W*$",
)
"""Asking in so many words, in any case: whatever else the message says, this is meant."""
