"""Who and what a text names: people, organisations, places, addresses, files, versions, tickets, dates, code.

Offline, by shape and by short lists: what has an unmistakable shape, and dates; then names in what is left.
The cost grows linearly with the text. A name that is in no list and has no cue beside it is a `thing`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from foreword.capture.names.proper import find_names
from foreword.capture.names.shapes import UNITS, Mention, find_shapes
from foreword.capture.names.word_lists import GENDERS
from foreword.text.dates import find_dates
from foreword.text.words import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Mention", "find_entities"]

MAX_CHARACTERS_READ = 1_000_000
"""At most this much of a text is read."""

_COVER = "|"
"""Replaces every character of what has been found, so that no name reaches across it."""

_ANY_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)
"""What a date means is not asked here, so it does not matter when."""

_MAX_GIVEN_NAME_CHARACTERS = 14
_HOURS = re.compile(r"\b(?:hour|minute)s?\b", re.IGNORECASE)
_MODEL_NUMBER = re.compile(r"[ -]\d{1,4}[A-Za-z]{0,2}+(?![\w%°€$£:/]|[.,]\d)")


def find_entities(text: str) -> tuple[Mention, ...]:
    """What a text names, in order; no two mentions overlap, and of two that would, the longer stays."""
    text = text[:MAX_CHARACTERS_READ]
    shaped = drop_overlaps([*find_shapes(text), *_dates(text)])
    covered = _cover(text, shaped)
    found = sorted((*shaped, *find_names(covered)), key=lambda mention: mention.start)
    return tuple(_with_model_number(mention, covered) for mention in found)


def _dates(text: str) -> Iterator[Mention]:
    """The days, weeks, months and years that a text names, in order; times of day alone are left out."""
    for found in find_dates(text, _ANY_MOMENT):
        before = text[max(0, found.start - _MAX_GIVEN_NAME_CHARACTERS) : found.start].split()
        if found.form == "abroad" and before and fold(before[-1]) in GENDERS:
            continue  # somebody whose family is called like a day
        if found.form != "clock" and not _HOURS.search(found.text):
            yield Mention(found.text, "date", found.start, found.end)


def drop_overlaps(mentions: Iterable[Mention]) -> list[Mention]:
    """Mentions without those that overlap a longer one, in order; of two as long, the first stays."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda mention: (mention.start, -mention.end)):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
        elif mention.end - mention.start > kept[-1].end - kept[-1].start:
            kept[-1] = mention
    return kept


def _cover(text: str, mentions: Iterable[Mention]) -> str:
    """The text with every mention covered; every character keeps its place."""
    parts, end = [], 0
    for mention in mentions:
        parts += [text[end : mention.start], _COVER * (mention.end - mention.start)]
        end = mention.end
    return "".join((*parts, text[end:]))


def _with_model_number(mention: Mention, covered: str) -> Mention:
    """A product with the number behind its name (`AirHub 200`), which tells it from its neighbours."""
    product = mention.entity_type == "thing" or (
        mention.entity_type == "code" and mention.text.isalpha() and mention.text[0].isupper()
    )
    number = _MODEL_NUMBER.match(covered, mention.end) if product else None
    if number is None or UNITS.match(covered, number.end()):
        return mention
    return replace(mention, text=mention.text + number.group(), entity_type="thing", end=number.end())
