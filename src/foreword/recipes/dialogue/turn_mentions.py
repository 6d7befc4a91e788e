"""The mentions in a turn, stored with it, so that a conversation that is opened again need not find them.

They are stored as places in the text, without its words, and with a mark of the text and of the finder's
version. Where either has changed since, as after a secret was taken out, the mark differs and the mentions
are found again.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from foreword.capture.names.entities import FINDER_VERSION
from foreword.capture.names.shapes import Mention
from foreword.types import ENTITY_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foreword.knowledge.claims import MentionLike
    from foreword.knowledge.registry import Finder

_GENDERS = ("", "female", "male")
_MAX_STORED = 1000
"""Of a turn with more mentions, such as a pasted log, none are stored: metadata has its limits."""


def mentions_to_json(text: str, mentions: Sequence[MentionLike]) -> list[object] | None:
    """The mentions in a text as JSON: the mark, then start, end, type and gender of each, as numbers.

    Returns None for more mentions than are stored.
    """
    if len(mentions) > _MAX_STORED:
        return None
    return [_mark(text), *map(_place_of_mention, mentions)]


def mentions_of_turn(text: str, stored: object, find: Finder) -> Iterable[MentionLike]:
    """The mentions in a turn's text: as they were stored, or found where nothing valid was stored for it."""
    if isinstance(stored, list) and stored and stored[0] == _mark(text):
        try:
            return [_read_mention(text, *place) for place in stored[1:]]
        except (TypeError, ValueError, IndexError):  # somebody else wrote them
            pass
    return find(text)


def _read_mention(text: str, start: int, end: int, entity_type: int, gender: int) -> Mention:
    if not 0 <= start < end <= len(text):
        raise ValueError("a mention is outside of its text")
    attributes = {"gender": _GENDERS[gender]} if gender else {}
    return Mention(text[start:end], ENTITY_TYPES[entity_type], start, end, attributes)


def _place_of_mention(mention: MentionLike) -> list[int]:
    gender = mention.attributes.get("gender", "")
    return [mention.start, mention.end, ENTITY_TYPES.index(mention.entity_type), _GENDERS.index(gender)]


def _mark(text: str) -> int:
    """A number that stands for a text and for the version of what finds mentions in it."""
    return zlib.crc32(text.encode(errors="replace"), FINDER_VERSION)
