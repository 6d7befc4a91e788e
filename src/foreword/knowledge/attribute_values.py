"""Which value of which attribute a memory states, where its words leave no doubt.

    The staging database is now Postgres 16.      staging database · is a name · postgres 16
    Deploy target: fly.io                         deploy target · is · fly.io
    We use Redis for caching.                     caching · is a name · redis
    We no longer use Redis for caching.           the same, revoked

Knows a few plain English forms in which a thing has one value at a time, and refuses the rest: questions,
other denials, guesses, conditions, lists, states ("is slow"), kinds ("is a library"), what was or will be.
Metadata overrides this: `subject` and `attribute`, and `value` or else the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from foreword.knowledge.word_lists import word_list
from foreword.text.sentences import sentence_spans
from foreword.text.words import split_words

if TYPE_CHECKING:
    from foreword.types import Item

_MAX_SENTENCE_CHARACTERS = 240
_MAX_SUBJECT_WORDS, _MAX_VALUE_WORDS = 9, 5
_KEY_MARK = "\x1f"
"""The first character of every key; no name in a text begins with it."""


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """The value of an attribute of a subject; if `is_revoked`, a value that it no longer has.

    `key` is the same for all statements about this attribute of this subject.
    """

    key: str
    value: tuple[str, ...]
    is_revoked: bool = False

    @property
    def lookup_keys(self) -> tuple[str, str]:
        """The keys under which a statement is indexed: its key alone, and its key with its value."""
        return self.key, f"{self.key}={' '.join(self.value)}"

    def contradicts(self, older: AttributeValue) -> bool:
        """Whether this value contradicts an older one of the same key; one that only says less does not.

        A revocation contradicts the value that it revokes, and any value contradicts a revocation.
        """
        if older.is_revoked:
            return not self.is_revoked
        return self.is_revoked == (set(self.value) <= set(older.value))


class StatedAttribute(NamedTuple):
    """What a sentence states, in its own words: a subject, an attribute of it, and the value of that."""

    subject: str
    attribute: str
    value: str


def read_attribute_value(item: Item) -> AttributeValue | None:
    """The attribute and value that a memory states; None for other items and doubtful words."""
    if item.kind != "memory":
        return None
    subject, attribute = (item.metadata.get(name) for name in ("subject", "attribute"))
    if (
        isinstance(subject, str)
        and isinstance(attribute, str)
        and split_words(subject)
        and split_words(attribute)
    ):
        value = str(item.metadata.get("value") or item.text)
        return _build_attribute_value(subject, attribute, value, item.about)
    sentence, is_revoked = _extract_plain_sentence_and_revocation(item.text)
    parts = _match_sentence_forms(sentence) if sentence else None
    if parts is None:
        return None
    subject, attribute, value = parts
    owner = item.source.name if "my" in split_words(subject) else ""
    return _build_attribute_value(subject, attribute, value, f"{item.about} {owner}", is_revoked=is_revoked)


def read_stated_attribute(sentence: str) -> StatedAttribute | None:
    """What a plain sentence states of a subject; None for other sentences."""
    plain, is_revoked = _extract_plain_sentence_and_revocation(sentence)
    return _match_sentence_forms(plain) if plain and not is_revoked else None


def _build_attribute_value(
    subject: str, attribute: str, value: str, scope: str, *, is_revoked: bool = False
) -> AttributeValue:
    """The value with its key, which is made of scope, subject and attribute."""
    parts = (" ".join(part) for part in (split_words(scope), _subject_words(subject), split_words(attribute)))
    return AttributeValue(_KEY_MARK + "|".join(parts), tuple(split_words(value)) or (value,), is_revoked)


# Sentences -----------------------------------------------------------------------------------------------

_DOUBT_WORDS = word_list("doubt")
_INTRODUCTION = re.compile(
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
_SEVERAL_LINES_OR_QUESTION = re.compile(r"\n|;\s|\?")
_LOWER_CASE_DOUBT = frozenset(("may", "will"))  # May is a month, Will is a name
_TOKEN = re.compile(r"[\w'.-]*[\w']")


def _extract_plain_sentence_and_revocation(text: str) -> tuple[str, bool]:
    """The plain sentence that a text consists of, and whether it revokes a value; "" for other texts.

    The sentence comes without its introduction and its reason.
    """
    text = text.strip()
    if len(text) > _MAX_SENTENCE_CHARACTERS or _SEVERAL_LINES_OR_QUESTION.search(text):
        return "", False
    if len(sentence_spans(text)) != 1:
        return "", False
    sentence = " ".join(text.replace("\u2019", "'").split()).rstrip(".! ")
    introduction = _INTRODUCTION.match(sentence)
    sentence = _REASON.sub("", sentence[introduction.end() if introduction else 0 :])
    sentence, is_revoked = _remove_no_longer_phrase(sentence)
    tokens = _TOKEN.findall(sentence)
    doubtful = _LOWER_CASE_DOUBT.intersection(tokens) or _DOUBT_WORDS.intersection(map(str.lower, tokens))
    return ("" if doubtful else sentence), is_revoked


def _remove_no_longer_phrase(sentence: str) -> tuple[str, bool]:
    """A sentence without its `no longer` or `not … any more`, and whether it had one."""
    if match := _NOT_ANY_MORE.fullmatch(sentence):
        return match[1] + match[2], True
    plain, count = _NO_LONGER.subn("", sentence, count=1)
    return plain, bool(count)


# Forms ---------------------------------------------------------------------------------------------------

_ATTRIBUTES = word_list("attributes")
_ANY_WORD_ATTRIBUTES = word_list("any_word_attributes")
_NAMED_THINGS = word_list("named_things")
_TALKING_POINTS = word_list("talking_points")
_PURPOSES = word_list("purposes")
_NOW = r"(?:now\s+|currently\s+)?"
_THEY = r"(?:we|i|they)(?:'ve|\s+have)?\s+(?:just\s+|now\s+)?"
_CHANGE_VERB = r"(?P<change>moved|switched|migrated|changed|upgraded|downgraded|bumped)"
_VERSION_CHANGE = re.compile(r"upgraded|downgraded|bumped", re.IGNORECASE)
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
        rf"{_THEY}{_CHANGE_VERB}\s+(?P<subject>.+?)\s+from\s+(?P<old>.+?)\s+to\s+(?P<value>.+)",
        # We switched from Jest to Vitest for the unit tests.
        rf"{_THEY}{_CHANGE_VERB}\s+from\s+(?P<old>.+?)\s+to\s+(?P<value>.+?)\s+for\s+(?P<subject>.+)",
        # The API moved from REST to GraphQL.
        rf"(?P<subject>[^:,=]+?)\s+(?:has\s+)?(?:just\s+|now\s+)?{_CHANGE_VERB}\s+"
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


def _match_sentence_forms(sentence: str) -> StatedAttribute | None:
    """The subject, attribute and value that a sentence states, by the first form that fits; else None."""
    scope = ""
    if match := _SCOPE.fullmatch(sentence):
        scope, sentence = match["scope"], match["rest"]
    for form in _FORMS:
        if match := form.fullmatch(sentence):
            return _read_matched_form(match.groupdict(), scope)
    return None


def _read_matched_form(groups: dict[str, str | None], scope: str) -> StatedAttribute | None:
    """The subject, attribute and value in the groups of a matched form; None if one of them is not plain."""
    value, value_scope = _split_value_and_scope(groups.get("value") or groups.get("used") or "")
    subject = _read_subject(groups.get("port") or groups.get("label") or groups.get("subject") or "")
    if not value or not subject:
        return None
    shape = _value_shape(value)
    if groups.get("port"):
        subject = f"{subject} port"
    elif shape == "number" and _VERSION_CHANGE.fullmatch(groups.get("change") or ""):
        subject = f"{subject} version"
    attribute = _attribute_name(subject, shape, groups)
    return StatedAttribute(f"{subject} {scope} {value_scope}", attribute, value) if attribute else None


def _attribute_name(subject: str, shape: str, groups: dict[str, str | None]) -> str:
    """The attribute of a subject that a value of this shape belongs to; "" if there may be several."""
    noun = _main_noun(subject)
    if groups.get("how"):
        return str(groups["how"]).partition(" ")[0].lower()
    if noun in _TALKING_POINTS or (groups.get("used") and noun in _PURPOSES):
        return ""
    if noun in _ANY_WORD_ATTRIBUTES or (groups.get("label") and _CONSTANT.fullmatch(subject)):
        return "is"
    if noun in _ATTRIBUTES:
        return "" if shape == "word" else "is"
    if groups.get("used"):
        return "is a name"
    is_definite = not groups.get("label") and _DEFINITE.match(subject)
    known = groups.get("change") or noun in _NAMED_THINGS or is_definite
    return f"is a {shape}" if known and shape != "word" else ""


# Subjects ------------------------------------------------------------------------------------------------

_CLAUSE_WORDS = word_list("clause")
_LINKING_WORDS = frozenset({"of", "in", "on", "for", "at", "from", "with", "to", "under", "by"})
"""Words between a noun and what belongs to it."""

_UNSPECIFIC_WORDS = frozenset({"the", "our", "your", "s"})
"""Words that do not distinguish one subject from another."""

_INDEFINITE = re.compile(
    r"(?:an?|one|another|this|that|these|those|its?|their|his|her|he|she|they|there|here|what|which|who|how|"
    r"why|where|all|each|every|everything|nothing|someone|everyone|something|we|i|you)\b",
    re.IGNORECASE,
)
_DEFINITE = re.compile(r"(?:the|our|my|your)\s|.*\w's\s", re.IGNORECASE)


def _read_subject(text: str) -> str:
    """A subject as it was written, if it is one definite thing; else ""."""
    text = text.strip(" \"'`*-")
    distinct = _subject_words(text)
    if not 0 < len(distinct) <= _MAX_SUBJECT_WORDS or _INDEFINITE.match(text):
        return ""
    return "" if _CLAUSE_WORDS.intersection(distinct) or len("".join(distinct)) < 2 else text


def _subject_words(subject: str) -> list[str]:
    """The words that distinguish a subject from others."""
    return [word for word in split_words(subject) if word not in _UNSPECIFIC_WORDS]


def _main_noun(subject: str) -> str:
    """The noun that says what a subject is: the last before `of`, `in` and the like."""
    distinct = _subject_words(subject)
    end = next((at for at, word in enumerate(distinct) if word in _LINKING_WORDS and at), len(distinct))
    return distinct[end - 1]


# Values --------------------------------------------------------------------------------------------------

_DESCRIPTION_STARTS = word_list("description_starts")
_STATES = word_list("states")
_WITHIN = re.compile(
    r"(?P<value>.+?)\s+(?:in|on|for|at|within|under)\s+(?P<within>[\w .'-]{2,40})", re.IGNORECASE
)
_TAIL = re.compile(r"(?:,?\s+(?:now|again|instead|today|these days|anymore|as of .*))+$", re.IGNORECASE)
_LIST = re.compile(r",|\s[&+]\s|\s/\s")
_STATE_WORD = re.compile(r"[a-z-]+(?:ing|ed|able|ible|ful|ous|less|ly)|[A-Za-z-]+i[sz]ed")
_NUMBER = re.compile(r"[v~$€£]?\d", re.IGNORECASE)
_NAME = re.compile(r"[^\sA-Z]*[A-Z]|\S*\w[._/:@-]\w|\S*\d")


def _split_value_and_scope(text: str) -> tuple[str, str]:
    """A value and the scope in which it holds; two empty strings if it is not a single thing."""
    text, scope = _TAIL.sub("", text.strip()), ""
    if match := _WITHIN.fullmatch(text):
        text, scope = match["value"], match["within"]
    text = text.strip(" \"'`*")
    parts = text.split()
    if not 0 < len(parts) <= _MAX_VALUE_WORDS or _LIST.search(text):
        return "", ""
    return (text, scope) if _is_name_of_thing(parts) else ("", "")


def _is_name_of_thing(parts: list[str]) -> bool:
    """Whether words name a thing rather than describe one."""
    first = parts[0].lower()
    if first in _DESCRIPTION_STARTS or first in _STATES or any("'s" in word for word in parts):
        return False
    return _NUMBER.match(first) is not None or not _STATE_WORD.fullmatch(parts[0])


def _value_shape(value: str) -> str:
    """The shape of a value: "number", "name", or "word" for a plain word."""
    if _NUMBER.match(value):
        return "number"
    return "name" if _NAME.match(value) else "word"
