"""Families of words that do the same work when somebody asks, lacks, looks, or reports: a spec is a ticket.

Whoever says that the ticket does not tell and whoever says that the brief leaves out say the same thing. A
sentence is judged by its words and by their families, so that few examples teach about many sentences.
English; a word in several families belongs to the first.
"""

from __future__ import annotations

from functools import lru_cache

FAMILIES = {
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


def stem(word: str) -> str:
    """A word without the endings that English puts to nouns and verbs."""
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _table(*, stemmed: bool) -> dict[str, str]:
    table: dict[str, str] = {}
    for name, members in FAMILIES.items():
        for word in members.split():
            table.setdefault(stem(word) if stemmed else word, name)
    return table


_BY_WORD, _BY_STEM = _table(stemmed=False), _table(stemmed=True)


@lru_cache(maxsize=4096)
def family(word: str) -> str | None:
    """The family of a word, in lower case, whatever its endings; None when it has none."""
    return _BY_WORD.get(word) or (_BY_STEM.get(stem(word)) if len(word) > 3 else None)
