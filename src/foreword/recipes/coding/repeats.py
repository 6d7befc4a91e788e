"""Recognise a turn that only repeats the turn before it, so that it is not stored again.

A prompt that is sent a second time, a message that two events report, a command that is run over and over
while nothing happens: each is stored once. With anything in between, the same words say something new: tests
that fail again after they passed, a rule that holds again. So a turn is compared with the latest item of its
workspace and with no other. The store is asked, so that nothing forgotten or closed counts as said.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from foreword.knowledge.open_ends import CLOSED
from foreword.text.words import fold_case
from foreword.types import Filters

if TYPE_CHECKING:
    from foreword.store.base import Store
    from foreword.types import Item

_KINDS = ("turn", "memory", "commit")
_INSTANT = timedelta(microseconds=1)
_CHANGING = re.compile(
    r"\d\d\d\d-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?z?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|seconds|minutes)\b|\b0x[0-9a-f]{6,16}\b|\bpid[ =:]+\d+\b"
)


def is_repeat(store: Store, turn: Item) -> bool:
    """Whether the latest item before a turn says the same, from the same source in the same session.

    Items of the same moment are not compared: they are the same event, delivered twice.
    """
    before = Filters(kinds=_KINDS, until=turn.created_at - _INSTANT)
    for last in store.recent(turn.workspace, before, 1):
        return _is_still_valid(last) and _says_same_from_same_source(last, turn)
    return False


def _is_still_valid(item: Item) -> bool:
    """Whether an item still holds: nothing has superseded it, and nobody has closed what it left open."""
    return item.superseded_by is None and not item.metadata.get(CLOSED)


def _says_same_from_same_source(last: Item, turn: Item) -> bool:
    if (last.session, last.source) != (turn.session, turn.source):
        return False
    return have_same_wording(last.text, turn.text, loosely=turn.source.trust in ("tool", "web"))


def have_same_wording(text: str, other: str, *, loosely: bool = False) -> bool:
    """Whether two texts are the same but for case and spacing.

    With `loosely`, texts that differ only in times, durations and addresses, as outputs do, are the same.
    """
    return _normalise_wording(text, loosely=loosely) == _normalise_wording(other, loosely=loosely)


def _normalise_wording(text: str, *, loosely: bool) -> str:
    folded = fold_case(text)
    return " ".join((_CHANGING.sub(" ", folded) if loosely else folded).split())
