"""The English words and phrases in which agents ask, lack something, answer, and report progress.

Also takes a text apart: without quotations, into sentences, into words. What any of it says about a message
is decided by other modules.
"""

from __future__ import annotations

import re
from functools import lru_cache

from foreword.text.words import STOPWORDS, split_words

WORD_GROUPS = {
    "I": "i me my mine myself",
    "WE": "we us our ours",
    "YOU": "you your yours yourself",
    "THEY": "they them their he she his her him customer user client reader people visitor",
    "SOMEBODY": "someone somebody anyone anybody whoever everyone everybody team folks guys all",
    "NOBODY": "nobody none neither",
    "NOT": "not never hardly",
    "NO": "no zero",
    "NOTHING": "nothing nowhere",
    "WITHOUT": "without lacking minus",
    "WH": "what which who whom whose where why how",
    "WHEN": "when while once after since",
    "IF": "if whether",
    "OR": "or versus vs either nor",
    "SHOULD": "should shall must ought may might",
    "CAN": "can could able",
    "UNABLE": "unable impossible",
    "WOULD": "would will",
    "BE": "is are am was were be been being 's",
    "DO": "do does did doing done",
    "HAVE": "have has had having got get",
    "PAPER": (
        "story ticket spec specification brief requirement doc document documentation minutes adr contract "
        "diagram task issue description readme wiki note plan instruction handbook policy guide guideline "
        "runbook page section prd rfc schema log changelog comment confluence jira thread email mail "
        "agreement report design mockup wireframe figma sheet playbook appendix charter history repo "
        "repository file card backlog epic proposal transcript channel slack message manifest glossary "
        "template paper manual archive calendar correspondence folder drive codebase slide deck memo "
        "bulletin annex clause paragraph chapter checklist roadmap criteria statement sow standard "
        "recording handover handoff briefing"
    ),
    "SAY": (
        "say mention cover specify define state explain describe list talk address spell record indicate "
        "contain include imply clarify answer refer name cite outline give provide supply hand elaborate "
        "said told gave given written write tell"
    ),
    "KNOW": (
        "know understand grasp recall remember sure certain aware infer deduce judge determine figure "
        "decipher parse work make knew known understood clue idea picture follow see"
    ),
    "VAGUE": (
        "unsure uncertain unclear ambiguous vague undefined unspecified underspecified unknown undecided "
        "unresolved open confusing confused puzzled puzzling lost stuck dark guess assumption assume "
        "stumped murky fuzzy contradict contradictory conflicting conflict disagree inconsistent mismatch "
        "contradiction ambiguity unanswered undocumented unstated blurry foggy hazy cryptic mystery "
        "mysterious blind tbd silent clash discrepancy unsaid baffled dunno wonder doubt clueless"
    ),
    "FIND": (
        "find locate spot trace search look dig check read scan grep hunt scour comb browse went found came"
    ),
    "LACK": (
        "missing miss lack need require want gap hole insufficient incomplete empty blank omit omitted "
        "short shortage absent absence"
    ),
    "ENOUGH": "enough sufficient much more further",
    "INFO": (
        "info information context clarification clarity details background guidance specifics input "
        "decision definition number value threshold rationale reason explanation pointer hint direction "
        "confirmation word steer ruling feedback reply response owner date deadline limit target format "
        "meaning insight"
    ),
    "DECIDE": (
        "decide agree settle choose chosen chose pick approve promise commit intend intention suppose mean "
        "meant expect allow authoritative right correct official current canonical binding still sign "
        "prevail win apply"
    ),
    "DONE": (
        "finish complete implement add push merge fix pass deploy verify ship rename create remove update "
        "close built build wired landed green works working wrote replaced cleaned moved refactored tested "
        "ready reverted corrected patched rewrote published uploaded attached bumped migrated"
    ),
    "CLEAR": (
        "clear resolved answered confirmed confirm clarified cleared turns turned obvious learned solved "
        "sorted"
    ),
    "ASK": (
        "please kindly remind share send point advise weigh help ping question ask pls plz hello hi hey "
        "quick shed"
    ),
    "HOLD": "wait hold paused parked stopped stop stalled blocked halt held blocker impasse",
    "GO": "proceed continue start begin move go before until unless till",
    "OFFER": "like prefer rather let feel free happy glad anything",
    "THIS": "this that it these those there here",
    "BUT": "but however although though yet except",
    "SO": "so therefore thus hence because",
}
"""Words that do the same work in a sentence, by the name of their group.

"The ticket does not say" and "the brief leaves out" mean the same, so the classifier looks at groups as well
as words, and few examples teach it about many sentences. A word in several groups belongs to the first. The
names are part of the features in `weights.json`.
"""


def _compile_alternatives(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


# The first three are matched against lower case with straight apostrophes.

NO_ANSWER = _compile_alternatives(
    r"\b(?:don't|do not|doesn't|does not) know\b|\bnot sure\b|\bunsure\b|\bno idea\b|\bcan't (?:say|help)\b",
    r"\blet me (?:see|check|ask|find)\b|\bi(?:'ll| will) (?:ask|check|find out|look)\b",
    r"\b(?:no|0|zero) (?:results?|matches|hits|entries)\b|\bnot found\b|\bnothing (?:was )?found\b",
)
"""A reply that does not answer: "I don't know", "let me check", "no results"."""

ACKNOWLEDGEMENT = _compile_alternatives(
    r"\W*(?:(?:ok(?:ay)?|thanks|thank you|sure|fine|all ?right|please|go (?:on|ahead)|continue|proceed"
    r"|carry on|wait|hold on|just|(?:a|one) (?:moment|second))\b\W*)+",
)
"""A reply that only keeps the conversation going: "ok, thanks", "go on"."""

PROGRESS_REPORT = _compile_alternatives(
    r"\b(?:done|finished|completed?|implemented|added|adds|committed|pushed|merged|migrated|written|wrote)\b",
    r"\b(?:fixed|passed|deployed|verified|shipped|renamed|created|kept|removed|updated|approved)\b",
    r"\btests? pass(?:es)?\b|\ball (?:\d+ )?tests pass\b",
)
"""A report that work was done."""

EXPLICIT_REQUEST = _compile_alternatives(
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
"""A request for clarification in so many words, in upper or lower case; it counts whatever else is said."""

PREFIX_CHARACTERS = 6
"""Words that share their first six letters count as the same: retry, retries; migrate, migration."""

MAX_SENTENCE_CHARACTERS = 400
"""At most how much of a sentence is read, from its end: longer ones are seldom sentences."""

_FENCED = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t)[^\n]*(?:\n|\Z))+")
_QUOTED_LINES = re.compile(r"^\s*>.*$", re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]*`")
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|‘[^’\n]{1,400}’(?!\w)|«[^»\n]{1,400}»|(?<!\w)'[^'\n]{2,400}'(?!\w)"
)
_SENTENCE_END = re.compile(r"(?<=[.!?…:;])[\"')\]]*\s+|\n+")
_SQL = re.compile(r"\bselect\b.{1,200}?\bfrom\b.{1,200}", re.IGNORECASE)


def remove_quotations(text: str) -> str:
    """The text without code, quotations, quoted lines and addresses; apostrophes are made straight."""
    for quotation in (_FENCED, _INDENTED, _QUOTED_LINES, _INLINE, _ADDRESS, _SQL, _QUOTED):
        text = quotation.sub(" ", text)
    return text.replace("’", "'")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text; a colon, a semicolon or a line break ends one too."""
    split = (" ".join(sentence.split()) for sentence in _SENTENCE_END.split(text))
    return [sentence[-MAX_SENTENCE_CHARACTERS:] for sentence in split if sentence]


def word_prefixes(text: str) -> frozenset[str]:
    """The words of a text without stopwords, each cut to its first letters so that inflections are equal."""
    return frozenset(word[:PREFIX_CHARACTERS] for word in split_words(text) if word not in STOPWORDS)


def text_similarity(one: str, other: str) -> float:
    """How many of the words of two texts are in both, 0 to 1; 0 when their numbers differ."""
    first, second = word_prefixes(one), word_prefixes(other)
    union = first | second
    if not union or any(character.isdigit() for word in first ^ second for character in word):
        return 0.0
    return len(first & second) / len(union)


def stem(word: str) -> str:
    """A word without the endings that English adds to nouns and verbs."""
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


_MEMBERS = [(word, group) for group, members in WORD_GROUPS.items() for word in members.split()][::-1]
_GROUP_BY_WORD = dict(_MEMBERS)  # in reverse, so that the first group of a word is the one that stays
_GROUP_BY_STEM = {stem(word): group for word, group in _MEMBERS}


@lru_cache(maxsize=4096)
def word_group(word: str) -> str | None:
    """The group of a word, given in lower case, whatever its endings; None when it has none."""
    return _GROUP_BY_WORD.get(word) or (_GROUP_BY_STEM.get(stem(word)) if len(word) > 3 else None)
