"""Compares the turns that an application sends with those that are stored of the conversation.

An application sends the whole conversation each time, or its end, or its end after a summary of its own. Its
user may edit a message or ask for an answer again: the messages then go on otherwise than what is stored, and
what was stored after that point was taken back.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import TYPE_CHECKING

from foreword.text.clean import join_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.types import Turn

    TurnKey = tuple[str, ...]

_MAX_CACHED_TURNS, _MAX_CACHED_CHARACTERS = 4096, 2000


def find_stored_turns_also_sent(stored: Sequence[Turn], sent: Sequence[Turn]) -> list[Turn]:
    """The stored turns that an application sends, too."""
    words = {turn_key(turn) for turn in sent}
    return [turn for turn in stored if turn_key(turn) in words]


def find_new_turns(stored: Sequence[Turn], sent: Sequence[Turn]) -> list[Turn]:
    """The turns at the end of `sent` that are not stored yet, in order.

    A turn that was said twice counts as two turns.
    """
    before, now = [turn_key(turn) for turn in stored], [turn_key(turn) for turn in sent]
    matcher = difflib.SequenceMatcher(None, before, now, autojunk=False)
    ends = (block.b + block.size for block in matcher.get_matching_blocks() if block.size)
    end = max(ends, default=0)
    return list(sent[end:])


def find_stored_turns_before(stored: Sequence[Turn], sent: Sequence[Turn]) -> list[Turn]:
    """The stored turns that were said before the first one that is sent.

    None, if the messages begin where the conversation does. All, if none of them is stored, as where an
    application sends only what is asked.
    """
    before = [turn_key(turn) for turn in stored]
    now = [turn_key(turn) for turn in sent if turn.role != "system"]
    asked = max((at for at, key in enumerate(now) if key[0] == "user"), default=-1)
    for at, key in enumerate(now):
        places = [place for place, known in enumerate(before) if known == key]
        if at == asked:  # words that are asked again in the midst of a conversation are a new question
            places = [place for place in places if place in (0, _index_of_last_user_turn(before))]
        if places:
            return list(
                stored[: max(places, key=lambda place: _rank_continuation_at(before, now[at:], place))]
            )
    return list(stored)


def _rank_continuation_at(
    before: Sequence[TurnKey], now: Sequence[TurnKey], place: int
) -> tuple[int, bool, bool, int]:
    """How well the turns sent go on from a place among those stored.

    Most stored turns in a row count first, then that these are the last ones or begin the conversation.
    """
    run = 0
    while place + run < len(before) and run < len(now) and before[place + run] == now[run]:
        run += 1
    return run, place + run == len(before), place == 0, place


def _index_of_last_user_turn(keys: Sequence[TurnKey]) -> int:
    return max((place for place, key in enumerate(keys) if key[0] == "user"), default=-1)


def turn_key(turn: Turn) -> TurnKey:
    """A key that is equal when the same turn is sent again: role, words, and calls made or answered."""
    calls = (str(call.get("id") or "") for call in turn.tool_calls)
    is_short = len(turn.text) <= _MAX_CACHED_CHARACTERS
    words = _join_lines_cached(turn.text) if is_short else join_lines(turn.text)
    return turn.role, words, turn.call_id, *calls


_join_lines_cached = lru_cache(_MAX_CACHED_TURNS)(join_lines)
"""`join_lines` with a cache, since the same turns are sent with every request."""
