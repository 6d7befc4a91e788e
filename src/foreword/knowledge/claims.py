"""What the words around a name claim: titles, addresses, departments, and what one has to do with another.

Knows English wordings, and reads a short stretch after each name; does not judge whether a claim is true, but
takes none from what is asked or doubted. The speaker's own "I", "my" and "me" count as names.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from foreword.knowledge.doubts import doubtful, is_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foreword.types import EntityType

SPEAKER = -1
"""Stands for the one who speaks, where others are numbers of mentions."""

_MOST_MENTIONS = 200
_REACH = 140
_GAP = 60

_WORDING = re.VERBOSE | re.IGNORECASE
_ROLE_NOUN = (
    "accountant|advisor|analyst|architect|artist|assistant|author|boss|ceo|cfo|chair|chairman|chairwoman|chef"
    "|ciso|coach|colleague|consultant|contractor|coo|cto|customer|dean|dentist|designer|developer|director"
    "|doctor|driver|editor|engineer|founder|co-founder|intern|journalist|judge|landlord|lawyer|lead|leader"
    "|librarian|maintainer|manager|mayor|mentor|minister|neighbou?r|nurse|officer|organi[sz]er|owner|painter"
    "|partner|photographer|pilot|plumber|president|principal|producer|professor|programmer|recruiter"
    "|researcher|reviewer|scientist|secretary|singer|student|supervisor|teacher|tester|therapist|trainer"
    "|translator|treasurer|vet|vp|writer"
)
_ADJECTIVE = (
    "acting|senior|junior|chief|vice|deputy|assistant|associate|product|project|software|data"
    "|sales|marketing|finance|legal|design|engineering|security|support|technical|executive|general|office"
    "|account|release|team|tech|qa|hr|it|lead|co|staff|principal|school|night"
)
_PLAIN_ROLE = rf"(?:(?:{_ADJECTIVE})[ -]){{0,3}}(?:{_ROLE_NOUN})\b"
ROLE = rf"(?:{_PLAIN_ROLE}(?-i:\ of\ [a-z]{{2,20}}\b)?|head\ of\ [a-z]{{2,20}}\b)"
"""A job or a position, as a pattern without groups."""

KIN = (
    "aunt|boyfriend|brother|cousin|dad|daughter|father|fianc[eé]e?|friend|girlfriend|grandfather|grandmother"
    "|husband|mom|mother|mum|nephew|niece|roommate|sister|son|uncle|wife"
)
PET = "bird|budgie|cat|dog|goldfish|hamster|horse|kitten|parrot|pony|puppy|rabbit|tortoise"
_ATTRIBUTE = (
    "e-?mail|(?:mobile|cell|work)\\ phone|phone|telephone|mobile|cell|number|title|role|job|position"
    "|department|team|location|city|birthday|address|office|nickname|age|time\\ ?zone|website"
    "|favou?rite\\ [a-z]{2,20}"
)
_NAMED_ATTRIBUTES = {
    "e-mail": "email",
    "telephone": "phone",
    "mobile": "phone",
    "cell": "phone",
    "mobile phone": "phone",
    "cell phone": "phone",
    "work phone": "phone",
    "number": "phone",
    "role": "title",
    "job": "title",
    "position": "title",
    "city": "location",
    "timezone": "time zone",
}
_DEPARTMENTS = (
    "accounting|design|engineering|facilities|finance|hr|human\\ resources|it|legal|logistics|marketing"
    "|operations|procurement|product|purchasing|qa|research|sales|security|support"
)
_PHONE = r"(?!\d{1,4}[./-]\d{1,2}[./-]\d{2,4}\b)\+?\(?\d[\d\ ().-]{5,18}\d"
_EMAIL = r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"

_IS = re.compile(
    rf"""(?:,?\ who)?(?:\ is|['’]s|\ was|['’]m|\ am|\ became|\ works\ as|,)\ (?:also\ |now\ |still\ )?
        (?:(?:the|our|an?|my|your|their|his|her)\ )?(?:new\ |current\ )?(?P<title>{ROLE})(?=[\s,.;!?)]|$)""",
    _WORDING,
)
_HAS = re.compile(
    rf"""(?:['’]s?)?\ (?P<name>{_ATTRIBUTE})(?:\ address|\ number)?(?:\ is|\ was|:|\ =)(?:\ now)?\ (?:the\ )?
        (?!(?:like|so|very|really|pretty|not|too|always|never|going|doing|getting|also|just|still|great|good)\b)
        (?P<value>[^\n;!?]{{1,80}}?)(?=[.,](?:\s|$)|[;!?\n]|\ (?:and|but|not)\ |$)""",
    _WORDING,
)
_ASIDE = re.compile(rf"\ \((?:(?P<title>{ROLE})|(?P<department>{_DEPARTMENTS}))\b[^()\n]{{0,30}}\)", _WORDING)
_TEAM = re.compile(
    rf"""\ (?:works?|is|['’]m|am|sits)\ (?:in|on|from|with)\ (?:the\ )?
        (?P<department>{_DEPARTMENTS})\b(?:\ (?:department|team|dept))?""",
    _WORDING,
)
_CALLED_AT = re.compile(
    rf"[^.\n]{{0,40}}?\b(?:at|on|phone|tel|number|call)[:\s](?:is\ )?(?P<phone>{_PHONE})", _WORDING
)
_REACHED = re.compile(
    rf"""(?:\ (?:back\ )?(?:at|on|under|via|by\ (?:phone|text|e-?mail)(?:\ (?:at|on))?)
            (?:\ my\ [a-z]{{2,12}})?:?\ |:\ ?)
        (?:(?P<phone>{_PHONE})|(?P<email>{_EMAIL}))""",
    _WORDING,
)
_REACHABLE = re.compile(
    rf"""(?:['’]m|\ am|(?:['’]ll|\ will|\ can|\ could)\ be)\ (?:reached|reachable|available|contacted|found)
        [^.\n]{{0,20}}?\ (?:at|on|under|via)\ (?:(?P<phone>{_PHONE})|(?P<email>{_EMAIL}))""",
    _WORDING,
)
_ROLE_BEFORE = re.compile(
    rf"(?<!\w)(?P<title>{ROLE})(?:\ (?:at|for)\ [^.,;!?\n]{{1,40}})?(?:,|\ is|\ is\ (?:called|named))?\ $",
    _WORDING,
)
_OF_SOMETHING = re.compile(rf"(?<!\w)(?P<title>{_PLAIN_ROLE})\ of\ [^.;!?\n]{{1,40}}\ is\ $", _WORDING)
_CALLED = r"(?:,|(?:['’]s\ name)?\ is|\ is\ (?:called|named)|\ was)?\ $"
_THEIRS = re.compile(rf"(?:['’]s?)?\ (?P<relation>{KIN}|{PET}|{ROLE}){_CALLED}", _WORDING)
_KIN_BEFORE = re.compile(rf"\b(?:my|our)\ (?:[a-z]{{3,10}}\ )?(?P<relation>{KIN}|{PET}){_CALLED}", _WORDING)
_KIN_SAID = re.compile(
    rf"(?:,?\ who)?\ (?:is|was)\ (?:my|our)\ (?:[a-z]{{3,10}}\ )?(?P<relation>{KIN}|{PET})\b", _WORDING
)
_KIN_MINE = re.compile(rf"\ (?P<relation>{KIN}|{PET}|{ROLE})\b", _WORDING)
_KIN_AFTER = re.compile(rf"['’]s?\ (?P<relation>{KIN}|{ROLE})\b", _WORDING)
_INTRODUCES = re.compile(r"(?:\bmy\ name\ is|\bcall\ me|\bI\ am|\bI['’]m)\ $", _WORDING)
_SPEAKING = re.compile(r"\b(?:I|[Mm]y|me)\b")

_VERBS: Mapping[str, str] = {
    "works at": r"works?\ (?:at|for|with)|worked\ (?:at|for)|is\ employed\ (?:at|by)|joined|is\ (?:at|with)"
    rf"|(?:is|am|['’]m)\ (?:(?:the|an?|our)\ )?(?:new\ )?(?:{_PLAIN_ROLE}\ (?:at|of|for)|{ROLE}\ (?:at|for))",
    "manages": r"manages?|managed|supervises?|leads?",
    "reports to": r"reports?\ to|is\ managed\ by|works\ under",
    "owns": r"owns?|bought|acquired",
    "founded": r"(?:co-)?founded|started",
    "married to": r"married|is\ married\ to",
    "lives in": r"lives?\ in|(?:moved|relocated)(?:\ back)?\ to|is\ (?:based\ |located\ )?in",
    "depends on": r"depends?\ on|requires?|needs",
    "uses": r"uses?",
    "blocks": r"blocks?",
    "replaces": r"replaces?|supersedes",
    "fixes": r"fixes|fixed|closes|closed",
    "wrote": r"wrote|created|authored|maintains?",
    "part of": r"(?:is\ )?part\ of|belongs?\ to",
    "teaches at": r"teaches\ at",
}
_VERB = re.compile(
    r"(?:\ \([^()\n]{1,40}\))?(?:,?\ who)?(?:\ (?:now|still|also|currently|just|has|had|will|recently))*"
    r"(?:\ |(?=['’]m\ ))(?:"
    + "|".join(f"(?P<v{number}>{verb})" for number, verb in enumerate(_VERBS.values()))
    + r")(?:\ (?:the|an?|our|my))?\ $",
    _WORDING,
)
_RELATIONS = tuple(_VERBS)
_FIT: Mapping[str, tuple[tuple[EntityType, ...], tuple[EntityType, ...]]] = {
    "works at": (("person", "thing"), ("organisation", "thing")),
    "teaches at": (("person", "thing"), ("organisation", "thing", "place")),
    "lives in": (("person", "organisation"), ("place", "thing")),
    "married to": (("person", "thing"), ("person", "thing")),
    "reports to": (("person", "thing"), ("person", "thing", "organisation")),
}
"""Between what kinds some relations can be; the others can be between any, but for dates."""


class Named(Protocol):
    """A stretch of a text that names something, whoever found it."""

    @property
    def text(self) -> str:
        """The stretch itself."""
        ...

    @property
    def entity_type(self) -> EntityType:
        """What it names."""
        ...

    @property
    def start(self) -> int:
        """Where it begins."""
        ...

    @property
    def end(self) -> int:
        """Where it ends."""
        ...

    @property
    def attributes(self) -> Mapping[str, str]:
        """What the naming itself tells."""
        ...


@dataclass(slots=True)
class Claims:
    """What a turn says of those it names, by the numbers of their mentions."""

    attributes: list[tuple[int, str, str]] = field(default_factory=list)
    relations: list[tuple[int, str, int]] = field(default_factory=list)
    introduced: list[int] = field(default_factory=list)
    """Mentions by which the speaker tells their own name."""


def claims(text: str, mentions: Sequence[Named]) -> Claims:
    """What a text says of the mentions in it, which are in order and apart."""
    found = Claims()
    mentions = mentions[:_MOST_MENTIONS]
    spoken = [(match.start(), match.end(), SPEAKER) for match in _SPEAKING.finditer(text)][:_MOST_MENTIONS]
    names = sorted([*((one.start, one.end, at) for at, one in enumerate(mentions)), *spoken])
    people = [start for start, _, who in names if who == SPEAKER or mentions[who].entity_type == "person"]
    unsure = doubtful(text)
    for name, following in zip(names, [*names[1:], None], strict=False):
        start, end, who = name
        if is_within(start, unsure):
            continue
        if who == SPEAKER:
            _said_of_speaker(text, start, end, found)
        elif mentions[who].entity_type in ("person", "thing"):
            other = bisect_right(people, start)
            _said_of_one(text, name, people[other] if other < len(people) else len(text), found)
        if following is not None and 0 < following[0] - end <= _GAP:
            _said_of_two(text, (end, who), following, found)
    kinds: dict[int, EntityType] = {
        SPEAKER: "person",
        **{at: one.entity_type for at, one in enumerate(mentions)},
    }
    found.relations = [told for told in found.relations if _fits(told[1], kinds[told[0]], kinds[told[2]])]
    return found


def _fits(relation: str, one: EntityType, other: EntityType) -> bool:
    if "date" in (one, other):
        return False
    ones, others = _FIT.get(relation, ((one,), (other,)))
    return one in ones and other in others


def _said_of_one(text: str, name: tuple[int, int, int], next_person: int, found: Claims) -> None:
    """Titles, addresses, departments: what stands right before and right after a name."""
    start, end, who = name
    after, before = text[end : end + _REACH], text[max(0, start - _GAP) : start]
    if _INTRODUCES.search(before) and after[:2] not in ("'s", "’s"):
        found.introduced.append(who)
    role = _OF_SOMETHING.search(before) or _ROLE_BEFORE.search(before)
    if role:
        found.attributes.append((who, "title", role["title"]))
    kin = _KIN_BEFORE.search(before) or _KIN_SAID.match(after)
    if kin:
        found.attributes.append((who, "relation", kin["relation"].lower()))
    _take(found, who, after, (_IS, _ASIDE, _TEAM, _REACHED))
    _take(found, who, text[end : min(end + _REACH, next_person)], (_CALLED_AT,))
    _owned(found, who, after)


def _said_of_speaker(text: str, start: int, end: int, found: Claims) -> None:
    """What the speaker tells of themselves: `me` only says where they are reached."""
    after = text[end : end + _REACH]
    if text[start:end] == "me":
        _take(found, SPEAKER, after, (_REACHED,))
    else:
        _take(found, SPEAKER, after, (_IS, _ASIDE, _TEAM, _REACHABLE))
        _owned(found, SPEAKER, after)


def _take(found: Claims, who: int, after: str, patterns: Iterable[re.Pattern[str]]) -> None:
    for match in filter(None, (pattern.match(after) for pattern in patterns)):
        found.attributes += [(who, name, value) for name, value in match.groupdict().items() if value]


def _owned(found: Claims, who: int, after: str) -> None:
    owned = _HAS.match(after)
    if owned:
        name = owned["name"].lower()
        found.attributes.append((who, _NAMED_ATTRIBUTES.get(name, name), owned["value"].strip()))


def _said_of_two(text: str, one: tuple[int, int], other: tuple[int, int, int], found: Claims) -> None:
    """What one has to do with the next that is named."""
    (end, who), (start, stop, whom) = one, other
    between = text[end:start]
    theirs = _THEIRS.match(between)
    if theirs and whom != SPEAKER:
        found.relations.append((whom, f"{theirs['relation'].lower()} of", who))
        return
    verb = _VERB.match(between)
    if verb:
        relation = _RELATIONS[int((verb.lastgroup or "v0")[1:])]
        found.relations.append((who, relation, whom))
    elif re.fullmatch(r"\ is|['’]s|\ was", between.rstrip()) and between.endswith(" "):
        kin = _KIN_AFTER.match(text, stop) or (_KIN_MINE.match(text, stop) if whom == SPEAKER else None)
        if kin:
            found.relations.append((who, f"{kin['relation'].lower()} of", whom))
