"""Words of a question that stand for something said before: pronouns, ordinals, definite descriptions.

Knows which words refer and to what kind of thing; whom they mean is for `resolution`. An `it` that stands for
nothing (`is it raining`) is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from foreword.knowledge.claims import KIN, PET, ROLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foreword.types import EntityType

Way = Literal["he", "she", "they", "it", "there", "me", "ordinal", "role", "kin", "kind"]


@dataclass(frozen=True, slots=True)
class Reference:
    """A stretch of a question that refers: how, and what its words tell of what is meant."""

    way: Way
    text: str
    start: int
    end: int
    kinds: tuple[EntityType, ...] = ()
    noun: str = ""
    place: int = 0
    """Which of a list, from 0; negative from its end."""


MOST = 100
"""How many references of a question are looked at."""

_PRONOUNS: dict[str, Way] = {
    **dict.fromkeys(("he", "him", "his", "himself"), "he"),
    **dict.fromkeys(("she", "her", "hers", "herself"), "she"),
    **dict.fromkeys(("they", "them", "their", "theirs", "themselves"), "they"),
    **dict.fromkeys(("it", "its", "itself"), "it"),
    **dict.fromkeys(("i", "me", "my", "mine", "myself"), "me"),
    "there": "there",
}
_FIRM: tuple[EntityType, ...] = ("organisation", "thing")
_TOOL: tuple[EntityType, ...] = ("thing", "code")
_KINDS: dict[str, tuple[EntityType, ...]] = {
    **dict.fromkeys(("file", "script", "document", "module"), ("file",)),
    **dict.fromkeys(("ticket", "issue", "bug", "pr", "vulnerability"), ("ticket",)),
    **dict.fromkeys(("link", "url", "page", "site", "website"), ("url",)),
    **dict.fromkeys(("version", "release"), ("version",)),
    **dict.fromkeys(("function", "method", "class", "variable", "constant", "option", "commit"), ("code",)),
    **dict.fromkeys(("company", "firm", "organisation", "organization", "startup", "vendor"), _FIRM),
    **dict.fromkeys(("university", "school", "bank", "college", "hospital", "agency", "institute"), _FIRM),
    **dict.fromkeys(("city", "country", "place", "town", "island"), ("place",)),
    **dict.fromkeys(("person", "man", "woman", "guy", "girl", "lady", "boy"), ("person",)),
    **dict.fromkeys(("email", "e-mail", "address"), ("email",)),
    **dict.fromkeys(("tool", "library", "framework", "database", "service", "product", "language"), _TOOL),
    **dict.fromkeys(("project", "package"), ("thing",)),
}
_ORDINALS = {
    **dict.fromkeys(("first", "1st", "former"), 0),
    **dict.fromkeys(("second", "2nd"), 1),
    **dict.fromkeys(("third", "3rd"), 2),
    **dict.fromkeys(("fourth", "4th"), 3),
    **dict.fromkeys(("fifth", "5th"), 4),
    **dict.fromkeys(("last", "latter", "final"), -1),
}
_ANY = ("one", "option", "choice", "candidate", "item", "thing", "alternative", "suggestion")
_NOUN = "|".join(sorted({*_KINDS, *_ANY}, key=len, reverse=True))

_ORDINAL = re.compile(
    rf"\bthe\s+(?P<order>{'|'.join(_ORDINALS)})(?:\s+(?P<noun>{_NOUN})\b|(?=\s*(?:[.,;:?!)]|$|or\b|and\b)))"
    r"|\bthe\s+(?P<pair>former|latter)\b",
    re.IGNORECASE,
)
_DEFINITE = re.compile(rf"\b(?:the|that|this)\s+(?P<noun>{_NOUN})\b(?!\s+of\b)", re.IGNORECASE)
_ROLE = re.compile(rf"\b(?:the|our|my|your|that|this)\s+(?P<noun>{ROLE})", re.IGNORECASE | re.VERBOSE)
_KIN = re.compile(
    rf"\b(?:my|our)\s+(?:[a-z]{{3,10}}\s+)?(?P<noun>{KIN}|{PET})\b(?!,?\s+(?-i:[A-Z]))", re.IGNORECASE
)
_PRONOUN = re.compile(rf"(?<![\w'’])(?:{'|'.join(_PRONOUNS)})(?![\w])(?!['’](?!s))", re.IGNORECASE)
_WEATHER = (
    "raining|snowing|cold|warm|hot|late|early|time|possible|impossible|likely|clear|obvious|hard|easy|true"
    "|important|better|best|worth|safe|ok|okay|fine|because|not\\ clear"
)
_EMPTY = re.compile(
    rf"""\bhow(?:['’]s|\s+is|\s+was|\s+does)?\s+it\s+(?:go|going|feel)\b | \bwhat\s+time\s+is\s+it\b
      | \b(?:is|was|isn['’]t|will)\s+it\s+(?:be\s+)?(?:{_WEATHER})\b
      | \bit(?:['’]s|\s+is|\s+was|\s+will\s+be)\s+(?:{_WEATHER})\b
      | \bit\s+(?:seems?|appears?|rains?|snows?|turns?\s+out)\b
      | \bthere(?:['’]s|\s+(?:is|are|was|were|will|might|must|should|has|have))\b
      | \b(?:is|are|was|were)\s+there\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def references(query: str) -> list[Reference]:
    """What refers in a question, in order, none inside another, at most `MOST`."""
    taken, empty = bytearray(len(query)), bytearray(len(query))
    for match in _EMPTY.finditer(query):
        empty[match.start() : match.end()] = b"1" * len(match.group())
    found: list[Reference] = []
    for reference in (*_ordinals(query), *_named_by_noun(query), *_definite(query), *_pronouns(query)):
        where = slice(reference.start, reference.end)
        says_nothing = reference.way in ("it", "there") and any(empty[where])
        if not any(taken[where]) and not says_nothing:
            taken[where] = b"1" * len(reference.text)
            found.append(reference)
    return sorted(found, key=lambda reference: reference.start)[:MOST]


def _ordinals(query: str) -> Iterator[Reference]:
    for match in _ORDINAL.finditer(query):
        order = (match["order"] or match["pair"]).lower()
        noun = (match["noun"] or "").lower()
        kinds = () if noun in _ANY else _KINDS.get(noun, ())
        yield Reference("ordinal", match.group(), *match.span(), kinds, noun, _ORDINALS[order])


def _named_by_noun(query: str) -> Iterator[Reference]:
    """Somebody by what they do, or by what they are to the one who asks."""
    ways: tuple[tuple[Way, re.Pattern[str]], ...] = (("role", _ROLE), ("kin", _KIN))
    for way, pattern in ways:
        for match in pattern.finditer(query):
            yield Reference(way, match.group(), *match.span(), ("person",), match["noun"].lower())


def _definite(query: str) -> Iterator[Reference]:
    for match in _DEFINITE.finditer(query):
        noun = match["noun"].lower()
        if noun in _KINDS:
            yield Reference("kind", match.group(), *match.span(), _KINDS[noun], noun)


def _pronouns(query: str) -> Iterator[Reference]:
    for match in _PRONOUN.finditer(query):
        yield Reference(_PRONOUNS[match.group().lower()], match.group(), *match.span())
