"""Who stands beside people, and is spoken of as a person, is one: names that no list knows.

Looks at what was found in a whole text; changes only what was merely a `thing` and is written as people's
names are.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foreword.capture.names.shapes import Mention

_FULL_NAME = re.compile(r"[^\W\d_a-z][^\W\d_]+(?:[ -](?:[^\W\d_A-Z]{1,3} ){0,3}[^\W\d_a-z][^\W\d_]+){1,2}")
_LISTED_TOGETHER = re.compile(r",? (?:and|or|&) |, ")
_ARTICLE = re.compile(r"\b(?:the|an?|this|that)\ $", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:[Hh]e|[Ss]he)\b")
_REACH = 150


def in_company(text: str, found: Sequence[Mention]) -> Iterator[Mention]:
    """The names of a text, those among people and those of whom `she` is said as people."""
    candidates = sum(_may_be_somebody(text, one) for one in found)
    alone = candidates == 1 and not any(one.entity_type == "person" for one in found)
    before: Mention | None = None
    following = [*found[1:], None]
    for one, after in zip(found, following, strict=False):
        if _may_be_somebody(text, one):
            beside = _together(text, before, one) or _together(text, one, after)
            spoken_of = alone and _PRONOUN.search(text, one.end, one.end + _REACH)
            before = replace(one, entity_type="person") if beside or spoken_of else one
        else:
            before = one
        yield before


def _may_be_somebody(text: str, one: Mention) -> bool:
    """Whether an unlisted name is written as people's are: a few words with capitals, and no article."""
    if one.entity_type != "thing" or not _FULL_NAME.fullmatch(one.text) or one.text.isupper():
        return False
    return not _ARTICLE.search(text, max(0, one.start - 6), one.start)


def _together(text: str, one: Mention | None, other: Mention | None) -> bool:
    """Whether two names are listed together, and one of them is a person's."""
    if one is None or other is None or "person" not in (one.entity_type, other.entity_type):
        return False
    return bool(_LISTED_TOGETHER.fullmatch(text, one.end, other.start))
