"""Claims about named people and things, read from the words around each name: titles, addresses, relations.

Reads English wordings shortly before and after each name, and ignores what is asked or doubted.
Whether a claim is true is not judged. The speaker's own "I", "my" and "me" count as names.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from foreword.text.sentences import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from foreword.types import EntityType

SPEAKER = -1
"""Stands for the speaker where otherwise the number of a mention is given."""

_MAX_MENTIONS = 200
_CHARACTERS_AFTER = 140
_CHARACTERS_BETWEEN = 60

_FLAGS = re.VERBOSE | re.IGNORECASE
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
    "|husband|mom|mother|mum|nephew|niece|roommate|sister|son|uncle|wife|bird|budgie|cat|dog|goldfish|hamster"
    "|horse|kitten|parrot|pony|puppy|rabbit|tortoise"
)
"""Relatives, friends and pets, as a pattern without groups."""

_ATTRIBUTE = (
    "e-?mail|(?:mobile|cell|work)\\ phone|phone|telephone|mobile|cell|number|title|role|job|position"
    "|department|team|location|city|birthday|address|office|nickname|age|time\\ ?zone|website"
    "|favou?rite\\ [a-z]{2,20}"
)
_PLAIN_ATTRIBUTES = {
    "e-mail": "email",
    **dict.fromkeys(("telephone", "mobile", "cell", "number"), "phone"),
    **dict.fromkeys(("mobile phone", "cell phone", "work phone"), "phone"),
    **dict.fromkeys(("role", "job", "position"), "title"),
    "city": "location",
    "timezone": "time zone",
}
DEPARTMENTS = (
    "accounting|design|engineering|facilities|finance|hr|human\\ resources|it|legal|logistics|marketing"
    "|operations|procurement|product|purchasing|qa|research|sales|security|support"
)
"""Departments of a firm, as a pattern without groups."""

PHONE = r"(?!\d{1,4}[./-]\d{1,2}[./-]\d{2,4}\b)\+?\(?\d[\d\ ().-]{5,18}\d"
EMAIL = r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"
_IS_CALLED = r"(?:,|(?:['’]s\ name)?\ is|\ is\ (?:called|named)|\ was)?\ $"

# An apostrophe and an s mean "is" only before an article or the like: `Anna's doctor` is somebody else.
_WHICH = r"(?:also\ |now\ |still\ )?(?:(?:the|our|an?|my|your|their|his|her)\ )?(?:new\ |current\ )?"
_HAS_TITLE = re.compile(
    rf"""(?:,?\ who)?(?:\ is|['’]s(?=\ (?:the|our|an?|my|your|now|also|still)\ )|\ was|['’]m|\ am|\ became
          |\ works\ as)\ {_WHICH}(?P<title>{ROLE})(?=[\s,.;!?)]|$)""",
    _FLAGS,
)
# Between commas a role may begin the next clause: "when I rang Anna, the manager said no".
_TITLE_AFTER_COMMA = re.compile(rf",\ {_WHICH}(?P<title>{ROLE})(?=[,.;!?)]|\ (?:at|for|of|who)\b|$)", _FLAGS)
_HAS_ATTRIBUTE = re.compile(
    rf"""(?:['’]s?)?\ (?P<name>{_ATTRIBUTE})(?:\ address|\ number)?(?:\ is|\ was|:|\ =)(?:\ now)?\ (?:the\ )?
        (?!(?:like|so|very|really|not|too|always|never|going|doing|getting|also|just|still|great|good)\b)
        (?P<value>[^\n;!?]{{1,80}}?)(?=[.,](?:\s|$)|[;!?\n]|\ (?:and|but|not)\ |$)""",
    _FLAGS,
)
_IN_BRACKETS = re.compile(
    rf"\ \((?:(?P<title>{ROLE})|(?P<department>{DEPARTMENTS}))\b[^()\n]{{0,30}}\)", _FLAGS
)
_IN_DEPARTMENT = re.compile(
    r"(?:\ (?:works?|is|am|sits)|['’][ms])\ (?:in|on|from|with)\ (?:the\ )?"
    rf"(?P<department>{DEPARTMENTS})\b(?!['’])",
    _FLAGS,
)
_REACHED_AT = re.compile(
    rf"""(?:(?:(?:['’]m|\ am|(?:['’]ll|\ will|\ can)\ be)\ (?:reached|reachable|available)[^.\n]{{0,20}}?)?
          \ (?:back\ )?(?:at|on|under|via)(?:\ my\ [a-z]{{2,12}})?:?\ |:\ ?)
        (?:(?P<phone>{PHONE})|(?P<email>{EMAIL}))""",
    _FLAGS,
)
_PATTERNS_AFTER_NAME = (_HAS_TITLE, _TITLE_AFTER_COMMA, _IN_BRACKETS, _IN_DEPARTMENT, _REACHED_AT)
_TITLE_BEFORE = re.compile(
    rf"""(?<!\w)(?P<title>(?:{_PLAIN_ROLE}(?=\ of\ [^.;!?\n]{{1,40}}\ is\ $)|{ROLE}))
        (?:\ (?:at|for|of)\ [^.,;!?\n]{{1,40}})?(?:,|\ is|\ is\ (?:called|named))?\ $""",
    _FLAGS,
)
_KIN_BEFORE = re.compile(rf"\b(?:my|our)\ (?:[a-z]{{3,10}}\ )?(?P<relation>{KIN}){_IS_CALLED}", _FLAGS)
_KIN_AFTER = re.compile(
    r"(?:,?\ who)?(?:\ is|\ was|['’]s)\ (?:my|our)\ (?:[a-z]{3,10}\ )?"
    rf"(?P<relation>{KIN})\b(?!['’])",
    _FLAGS,
)
_RELATIVE_BETWEEN = re.compile(rf"(?:['’]s?)?\ (?P<relation>{KIN}|{ROLE}){_IS_CALLED}", _FLAGS)
_RELATIVE_AFTER = re.compile(rf"(?:['’]s?)?\ (?P<relation>{KIN}|{ROLE})\b", _FLAGS)
_RELATIVE_BESIDE = re.compile(rf"['’]s?\ (?P<relation>{KIN}|{ROLE})(?=[,.;!?)]|$)", _FLAGS)
_TELLS_OWN_NAME = re.compile(r"(?:\bmy\ name\ is|\bcall\ me|\bI\ am|\bI['’]m)\ $", _FLAGS)
_BEGINS = re.compile(
    r"(?:^|[.!?\n]\s*|\b(?:hi|hello|hey|good\ (?:morning|afternoon|evening|day))[,!]?\ )$", _FLAGS
)
_SPEAKS_HERE = re.compile(r"\ here(?=[,.!;]|$)|\ speaking\b", _FLAGS)
_ABOUT_WHAT_FOLLOWS = re.compile(r"(?:,|\ (?:is|was|called|named))\ $", _FLAGS)
_POSSESSIVE = ("'", "’")
_SPEAKER_WORDS = re.compile(r"\b(?:I|[Mm]y|me)\b")

_VERBS: Mapping[str, str] = {
    "works at": r"works?\ (?:at|for|with)|worked\ (?:at|for)|is\ employed\ (?:at|by)|joined|is\ (?:at|with)"
    rf"|(?:is|am|['’]m)\ (?:(?:the|an?|our)\ )?(?:new\ )?(?:{_PLAIN_ROLE}\ (?:at|of|for)|{ROLE}\ (?:at|for))",
    "manages": r"manages?|managed|supervises?|leads?",
    "reports to": r"reports?\ to|is\ managed\ by|works\ under",
    "owns": r"owns?|bought|acquired",
    "married to": r"married|is\ married\ to",
    "lives in": r"lives?\ in|(?:moved|relocated)(?:\ back)?\ to|is\ (?:based\ |located\ )?in",
    "depends on": r"depends?\ on|requires?|needs",
    "wrote": r"wrote|created|authored|maintains?",
}
_VERB = re.compile(
    r"(?:\ \([^()\n]{1,40}\))?(?:,?\ who)?(?:\ (?:now|still|also|currently|just|has|had|will|recently))*"
    r"(?:\ |(?=['’]m\ ))(?:"
    + "|".join(f"(?P<v{number}>{verb})" for number, verb in enumerate(_VERBS.values()))
    + r")(?:\ (?:the|an?|our|my))?\ $",
    _FLAGS,
)
_RELATIONS = tuple(_VERBS)
_IS_NO_HOME = re.compile(
    r"(?:['’]s)?\ (?:[a-z]+\ )?(?:office|team|branch|department|division|group|squad|unit|desk|project|site"
    r"|floor|room|side|campus|lab|studio|plant|warehouse|store|shop|school|board|crew|chapter|cluster|channel|meeting|call)\b",
    _FLAGS,
)
"""After the name of a place: it says which office or team is meant, and not where somebody lives."""

_FITTING_KINDS: Mapping[str, tuple[tuple[EntityType, ...], tuple[EntityType, ...]]] = {
    "works at": (("person", "thing"), ("organisation", "thing")),
    "lives in": (("person", "organisation"), ("place", "thing")),
    "married to": (("person", "thing"), ("person", "thing")),
    "reports to": (("person", "thing"), ("person", "thing", "organisation")),
}
"""The kinds of entity that some relations can join; all other relations can join any kinds but dates."""

_CLAUSE = re.compile(r"[^;]+;*")
_DOUBT = re.compile(
    r"""\b(?:doubt(?:s|ed|ful)? | wonder(?:s|ed|ing)? | unsure | uncertain | no\ idea | if | whether | unless
      | maybe | perhaps | possibly | suppos(?:e|ed|edly|ing) | assum(?:e|es|ed|ing) | allegedly | rumou?rs?
      | pretend(?:s|ed|ing)? | imagin(?:e|es|ed|ing) | wish(?:es|ed)? | i\ thought | in\ case )\b
      | (?:\b(?:not|never|cannot)|n['’]t)\ (?:(?:quite|so|really|entirely|at\ all)\ )?
        (?:sure|certain|true|clear|think|believe|know|say|said|remember)\b""",
    _FLAGS,
)
_ASKS = re.compile(r"\s*(?:is|are|was|were|does|did)(?:n['’]t)?\s", re.IGNORECASE)


class MentionLike(Protocol):
    """A part of a text that names something; any object with these properties will do.

    `attributes` holds what the wording of the name reveals, such as a gender.
    """

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def entity_type(self) -> EntityType: ...  # noqa: D102
    @property
    def start(self) -> int: ...  # noqa: D102
    @property
    def end(self) -> int: ...  # noqa: D102
    @property
    def attributes(self) -> Mapping[str, str]: ...  # noqa: D102


@dataclass(slots=True)
class Claims:
    """The claims of a turn about the entities it names; each entity is given by its mention's number."""

    attributes: list[tuple[int, str, str]] = field(default_factory=list)
    relations: list[tuple[int, str, int]] = field(default_factory=list)
    own_names: list[int] = field(default_factory=list)
    """Mentions in which speakers give their own names."""


class _NamedSpan(NamedTuple):
    """Where a text names an entity, and the number of that mention."""

    start: int
    end: int
    mention: int


def read_claims(text: str, mentions: Sequence[MentionLike]) -> Claims:
    """The claims that a text makes about the mentions in it, which are in order and do not overlap."""
    found = Claims()
    mentions = mentions[:_MAX_MENTIONS]
    speaker = [_NamedSpan(match.start(), match.end(), SPEAKER) for match in _SPEAKER_WORDS.finditer(text)]
    named = [_NamedSpan(mention.start, mention.end, at) for at, mention in enumerate(mentions)]
    names = sorted([*named, *speaker[:_MAX_MENTIONS]])
    kinds: dict[int, EntityType] = {
        SPEAKER: "person",
        **{at: mention.entity_type for at, mention in enumerate(mentions)},
    }
    read = [
        (name.start, _read_claims_of_name(text, name, following, kinds))
        for name, following in zip(names, [*names[1:], None], strict=False)
    ]
    said = [(start, claims) for start, claims in read if claims != Claims()]
    # Few texts claim anything, and this takes longest.
    doubtful = find_spans_that_assert_nothing(text) if said else []
    for start, claims in said:
        span = bisect_right(doubtful, start, key=itemgetter(0)) - 1
        if span < 0 or start >= doubtful[span][1]:
            found.attributes += claims.attributes
            found.relations += claims.relations
            found.own_names += claims.own_names
    return found


def _read_claims_of_name(
    text: str,
    name: _NamedSpan,
    following: _NamedSpan | None,
    kinds: Mapping[int, EntityType],
) -> Claims:
    """What the words around a name claim of it, and what it has to do with the following one."""
    found, (_, end, who) = Claims(), name
    if kinds[who] in ("person", "thing"):
        _add_claims_around_name(text, name, found, kinds[who])
    if following is not None and 0 < following.start - end <= _CHARACTERS_BETWEEN:
        relation = _relation_between(text, name, following)
        if relation and _is_possible_relation(relation[1], kinds[relation[0]], kinds[relation[2]]):
            found.relations.append(relation)
    return found


def find_spans_that_assert_nothing(text: str) -> list[tuple[int, int]]:
    """The spans of a text that assert nothing: questions, and clauses from a word of doubt on."""
    found: list[tuple[int, int]] = []
    clauses = (clause for span in sentence_spans(text) for clause in _CLAUSE.finditer(text, *span))
    for clause in clauses:
        if "?" in clause.group()[-3:] or _ASKS.match(clause.group()):
            found.append(clause.span())
        elif doubt := _DOUBT.search(text, *clause.span()):
            found.append((doubt.start(), clause.end()))
    return found


def _is_possible_relation(relation: str, kind: EntityType, other_kind: EntityType) -> bool:
    """Whether a relation can join an entity of the first kind to one of the other kind."""
    if "date" in (kind, other_kind) or (relation.endswith(" of") and kind not in ("person", "thing")):
        return False
    kinds, other_kinds = _FITTING_KINDS.get(relation, ((kind,), (other_kind,)))
    return kind in kinds and other_kind in other_kinds


def _add_claims_around_name(text: str, name: _NamedSpan, found: Claims, kind: EntityType) -> None:
    """Add to `found` the titles, addresses and departments that the words right around a name give."""
    start, end, who = name
    after = text[end : end + _CHARACTERS_AFTER]
    if who != SPEAKER:
        _add_claims_before_name(text, name, found, kind)
    patterns = (_REACHED_AT,) if text[start:end] == "me" else _PATTERNS_AFTER_NAME
    for match in filter(None, (pattern.match(after) for pattern in patterns)):
        found.attributes += [(who, key, value) for key, value in match.groupdict().items() if value]
    owned = _HAS_ATTRIBUTE.match(after)
    if owned:
        key = owned["name"].lower()
        found.attributes.append((who, _PLAIN_ATTRIBUTES.get(key, key), owned["value"].strip()))


def _add_claims_before_name(text: str, name: _NamedSpan, found: Claims, kind: EntityType) -> None:
    """Add to `found` whether a name is the speaker's own, and the title and kinship of whoever it names.

    "The doctor is Anna's brother" says nothing of what Anna is, "our doctor Anna's car" does.
    """
    start, end, who = name
    after, before = text[end : end + _CHARACTERS_AFTER], text[max(0, start - _CHARACTERS_BETWEEN) : start]
    if after.startswith(_POSSESSIVE) and _ABOUT_WHAT_FOLLOWS.search(before):
        return
    speaks = kind == "person" and _BEGINS.search(before) and _SPEAKS_HERE.match(after)
    if speaks or (_TELLS_OWN_NAME.search(before) and not after.startswith(_POSSESSIVE)):
        found.own_names.append(who)
    if title := _TITLE_BEFORE.search(before):
        found.attributes.append((who, "title", title["title"]))
    if kin := _KIN_BEFORE.search(before) or _KIN_AFTER.match(after):
        found.attributes.append((who, "relation", kin["relation"].lower()))


def _relation_between(text: str, one: _NamedSpan, other: _NamedSpan) -> tuple[int, str, int] | None:
    """The relation between two neighbouring names, as (who, relation, whom); None if the text states none."""
    (_, end, who), (start, stop, whom) = one, other
    between = text[end:start]
    relative = _RELATIVE_BETWEEN.match(between)
    if relative and whom != SPEAKER:
        return whom, f"{relative['relation'].lower()} of", who
    if verb := _VERB.match(between):
        relation = _RELATIONS[int((verb.lastgroup or "v0")[1:])]
        is_home = relation != "lives in" or not _IS_NO_HOME.match(text, stop)
        return (who, relation, whom) if is_home else None
    says_is = between in (" is ", " was ") or (whom == SPEAKER and between in ("'s ", "’s "))
    relative = _RELATIVE_AFTER.match(text, stop) if says_is else None
    if relative and (whom == SPEAKER or text[stop] in _POSSESSIVE):
        return who, f"{relative['relation'].lower()} of", whom
    beside = _RELATIVE_BESIDE.match(text, stop) if between == ", " and whom != SPEAKER else None
    return (who, f"{beside['relation'].lower()} of", whom) if beside else None
