"""What a statement settles: the value of an attribute of a subject, where its words leave no doubt.

    The staging database is now Postgres 16.      staging database · is a name · postgres 16
    Deploy target: fly.io                         deploy target · is · fly.io
    We use Redis for caching.                     caching · is a name · redis
    We no longer use Redis for caching.           the same, and that it is over

Knows a few plain English forms in which a thing has one value at a time, and refuses the rest: questions,
other denials, guesses, conditions, lists, states ("is slow"), kinds ("is a library"), what was or will be.
Whoever wants it otherwise says it in metadata: `subject` and `attribute`, and `value` or else the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foreword.knowledge.settling_words import (
    ATTRIBUTES,
    CLAUSE,
    DOUBT,
    LINK,
    NO_VALUE,
    PLAIN,
    REASONS,
    STATES,
    TALK,
    THINGS,
    WORDED,
)
from foreword.text.words import words

if TYPE_CHECKING:
    from foreword.types import Item

_MOST_CHARACTERS = 240
_MOST_SUBJECT, _MOST_VALUE = 9, 5
"""A longer subject or value, in words, is a story."""

_MARK = "\x1f"
"""How a key begins, which no named thing does."""


@dataclass(frozen=True, slots=True)
class Settled:
    """That a subject's attribute has a value, or has it no longer (`over`).

    `key` is the same for all that is said about the attribute.
    """

    key: str
    value: tuple[str, ...]
    over: bool = False

    @property
    def names(self) -> tuple[str, str]:
        """By what it is found again: its key; and its key with its value."""
        return self.key, f"{self.key}={' '.join(self.value)}"

    def differs(self, other: Settled) -> bool:
        """Whether this says something else than an older one does; to say less of the same is not that.

        That a value is over, differs from what says that value; and any value from that one is over.
        """
        if other.over:
            return not self.over
        return self.over == (set(self.value) <= set(other.value))


def settled_by(item: Item) -> Settled | None:
    """What a memory settles; None for other kinds, and where that is not plain."""
    if item.kind != "memory":
        return None
    subject, attribute = (item.metadata.get(name) for name in ("subject", "attribute"))
    if isinstance(subject, str) and isinstance(attribute, str) and words(subject) and words(attribute):
        return _made(subject, attribute, str(item.metadata.get("value") or item.text), item.about)
    said, over = _sentence(item.text)
    read = _read(said) if said else None
    if read is None:
        return None
    subject, attribute, value = read
    whose = item.source.name if "my" in words(subject) else ""
    return _made(subject, attribute, value, f"{item.about} {whose}", over=over)


def _made(subject: str, attribute: str, value: str, around: str, *, over: bool = False) -> Settled:
    told = (" ".join(part) for part in (words(around), _named(subject), words(attribute)))
    return Settled(_MARK + "|".join(told), tuple(words(value)) or (value,), over)


# A sentence ----------------------------------------------------------------------------------------------

_LEAD = re.compile(
    r"(?:(?:update|correction|fyi|note|decision|reminder|fact):\s*|"
    r"(?:actually|now|currently|from now on|as of (?:now|today)|today|remember that|remember),?\s+)+",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"(?:\s+(?:because|since|so that|instead of|rather than|over|in order to)\b|"
    r"\s*(?:\(|—|\u2013|,\s*(?:which|as|so)\b)|\s-\s).*$",
    re.IGNORECASE,
)
_NO_LONGER = re.compile(r"\bno longer\s+", re.IGNORECASE)
_NOT_ANY_MORE = re.compile(r"(.+?\s(?:is|are))(?:n't|\s+not)(\s.+)\sany\s?more", re.IGNORECASE)
_SCOPE = re.compile(r"(?:in|on|for|at)\s+(?P<scope>[^,:]{1,40}),\s+(?P<rest>.+)", re.IGNORECASE)
_BROKEN = re.compile(r"[.!;]\s+\S|\n\s*\S|\?")
_DOUBT_AS_WRITTEN = frozenset(("may", "will"))  # May is a month, Will is a name
_TOKEN = re.compile(r"[\w'.-]*[\w']")


def _sentence(text: str) -> tuple[str, bool]:
    """A text as one plain sentence, and whether what it says is over; "" for others.

    It is without what only introduces it or gives its reason.
    """
    text = text.strip()
    if len(text) > _MOST_CHARACTERS or _BROKEN.search(text):
        return "", False
    said = " ".join(text.replace("\u2019", "'").split()).rstrip(".! ")
    lead = _LEAD.match(said)
    said, over = _once_held(_REASON.sub("", said[lead.end() if lead else 0 :]))
    tokens = _TOKEN.findall(said)
    doubtful = _DOUBT_AS_WRITTEN.intersection(tokens) or DOUBT.intersection(map(str.lower, tokens))
    return ("" if doubtful else said), over


def _once_held(said: str) -> tuple[str, bool]:
    """A sentence as it was while it held, and whether it says that it does no longer."""
    if there := _NOT_ANY_MORE.fullmatch(said):
        return there[1] + there[2], True
    plain, over = _NO_LONGER.subn("", said, count=1)
    return plain, bool(over)


# Forms ---------------------------------------------------------------------------------------------------

_NOW = r"(?:now\s+|currently\s+)?"
_THEY = r"(?:we|i|they)(?:'ve|\s+have)?\s+(?:just\s+|now\s+)?"
_CHANGED = r"(?P<change>moved|switched|migrated|changed|upgraded|downgraded|bumped)"
_VERSIONED = re.compile(r"upgraded|downgraded|bumped", re.IGNORECASE)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        # The API listens on port 8080.
        rf"(?P<port>[^:,=]+?)\s+(?:is\s+)?{_NOW}(?:listens|runs|listening|running)\s+on\s+port\s+"
        r"(?P<value>\d+)",
        # The service is deployed to Fly.
        rf"(?P<subject>[^:,=]+?)\s+(?:is|are)\s+{_NOW}(?P<how>hosted\s+(?:on|at|by)|deployed\s+(?:to|on)|"
        r"(?:owned|maintained|led)\s+by|written\s+in|pinned\s+(?:to|at)|stored\s+(?:in|on|at)|called|named)\s+"
        r"(?P<value>.+)",
        # We moved the deploy target from Heroku to Fly.
        rf"{_THEY}{_CHANGED}\s+(?P<subject>.+?)\s+from\s+(?P<old>.+?)\s+to\s+(?P<value>.+)",
        # We switched from Jest to Vitest for the unit tests.
        rf"{_THEY}{_CHANGED}\s+from\s+(?P<old>.+?)\s+to\s+(?P<value>.+?)\s+for\s+(?P<subject>.+)",
        # The API moved from REST to GraphQL.
        rf"(?P<subject>[^:,=]+?)\s+(?:has\s+)?(?:just\s+|now\s+)?{_CHANGED}\s+"
        r"from\s+(?P<old>.+?)\s+to\s+(?P<value>.+)",
        # We use Redis for caching.
        rf"(?:(?:we|i|the\s+team)(?:'re|'m|\s+are|\s+am|\s+is)?\s+)?(?:{_NOW}|always\s+)(?:use|using|uses)\s+"
        r"(?P<used>.+?)\s+(?:for|as\s+(?:our|the))\s+(?P<subject>.+)",
        # Deploy target: fly.io
        r"(?P<label>[^:,=]{2,60}?)\s*(?::\s+|\s=\s|=)(?P<value>.+)",
        # The staging database is Postgres 14.
        rf"(?P<subject>[^:,=]+?)\s+is\s+{_NOW}(?:set\s+to\s+)?(?P<value>.+)",
    )
)


def _read(said: str) -> tuple[str, str, str] | None:
    """The subject, the attribute and the value that a sentence names, in the first form that it has."""
    scope = ""
    if there := _SCOPE.fullmatch(said):
        scope, said = there["scope"], there["rest"]
    for form in _FORMS:
        if found := form.fullmatch(said):
            return _told(found.groupdict(), scope)
    return None


def _told(found: dict[str, str | None], scope: str) -> tuple[str, str, str] | None:
    """What a form found, if it is a subject that has one value at a time, and a value."""
    value, within = _value(found.get("value") or found.get("used") or "")
    subject = _subject(found.get("port") or found.get("label") or found.get("subject") or "")
    if not value or not subject:
        return None
    shape = _shape(value)
    if found.get("port"):
        subject = f"{subject} port"
    elif shape == "number" and _VERSIONED.fullmatch(found.get("change") or ""):
        subject = f"{subject} version"
    attribute = _attribute(subject, shape, found)
    return (f"{subject} {scope} {within}", attribute, value) if attribute else None


def _attribute(subject: str, shape: str, found: dict[str, str | None]) -> str:
    """Which attribute of a subject a value of this shape tells; "" when there may be several."""
    head = _head(subject)
    if found.get("how"):
        return str(found["how"]).partition(" ")[0].lower()
    if head in TALK or (found.get("used") and head in REASONS):
        return ""
    if head in WORDED or (found.get("label") and _CONSTANT.fullmatch(subject)):
        return "is"
    if head in ATTRIBUTES:
        return "" if shape == "word" else "is"
    if found.get("used"):
        return "is a name"
    known = found.get("change") or head in THINGS or (not found.get("label") and _DEFINITE.match(subject))
    return f"is a {shape}" if known and shape != "word" else ""


# Subjects ------------------------------------------------------------------------------------------------

_VAGUE = re.compile(
    r"(?:an?|one|another|this|that|these|those|its?|their|his|her|he|she|they|there|here|what|which|who|how|"
    r"why|where|all|each|every|everything|nothing|someone|everyone|something|we|i|you)\b",
    re.IGNORECASE,
)
_DEFINITE = re.compile(r"(?:the|our|my|your)\s|.*\w's\s", re.IGNORECASE)


def _subject(said: str) -> str:
    """A subject as it was said, if it is one definite thing; else ""."""
    said = said.strip(" \"'`*-")
    told = _named(said)
    vague = not told or len(told) > _MOST_SUBJECT or bool(_VAGUE.match(said))
    return "" if vague or CLAUSE.intersection(told) or len("".join(told)) < 2 else said


def _named(subject: str) -> list[str]:
    """The words that tell a subject from others."""
    return [word for word in words(subject) if word not in PLAIN]


def _head(subject: str) -> str:
    """The noun that says what a subject is: the last before what belongs to it."""
    told = _named(subject)
    ends = next((at for at, word in enumerate(told) if word in LINK and at), len(told))
    return told[ends - 1]


# Values --------------------------------------------------------------------------------------------------

_WITHIN = re.compile(
    r"(?P<value>.+?)\s+(?:in|on|for|at|within|under)\s+(?P<within>[\w .'-]{2,40})", re.IGNORECASE
)
_TAIL = re.compile(r"(?:,?\s+(?:now|again|instead|today|these days|anymore|as of .*))+$", re.IGNORECASE)
_LIST = re.compile(r",|\s[&+]\s|\s/\s")
_STATE = re.compile(r"[a-z-]+(?:ing|ed|able|ible|ful|ous|less|ly)|[A-Za-z-]+i[sz]ed")
_NUMBER = re.compile(r"[v~$€£]?\d", re.IGNORECASE)
_NAME = re.compile(r"[^\sA-Z]*[A-Z]|\S*\w[._/:@-]\w|\S*\d")


def _value(said: str) -> tuple[str, str]:
    """A value, and where it holds; "" when it is no single thing."""
    said, within = _TAIL.sub("", said.strip()), ""
    if there := _WITHIN.fullmatch(said):
        said, within = there["value"], there["within"]
    said = said.strip(" \"'`*")
    told = said.split()
    if not 0 < len(told) <= _MOST_VALUE or _LIST.search(said):
        return "", ""
    return (said, within) if _is_a_thing(told) else ("", "")


def _is_a_thing(told: list[str]) -> bool:
    """Whether words name something, and do not describe it."""
    first = told[0].lower()
    if first in NO_VALUE or first in STATES or any("'s" in word for word in told):
        return False
    return _NUMBER.match(first) is not None or not _STATE.fullmatch(told[0])


def _shape(value: str) -> str:
    """What a value looks like: a number, a name, or a plain word."""
    if _NUMBER.match(value):
        return "number"
    return "name" if _NAME.match(value) else "word"
