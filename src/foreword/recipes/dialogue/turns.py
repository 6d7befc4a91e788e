"""The turns of one conversation as the workspace keeps them, and who and what they are about.

Whoever keeps or forgets a turn, here or in another process, need not tell: before anything is given out, one
short question to the store says whether it still holds the turns that are known, and no others. What was
added is read on from the last; after something was forgotten all is read anew, so that nothing of it stays.
The turns are known as they are kept, in the order in which they were.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from foreword.errors import StorageError
from foreword.knowledge.registry import EntityRegistry
from foreword.knowledge.speech_acts import speech_act
from foreword.recipes.dialogue.turn_items import item_turn
from foreword.store.base import Scan
from foreword.types import DialogueState, Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from foreword.knowledge.registry import Finder
    from foreword.store.base import Store
    from foreword.types import Item, SpeechAct, Turn

_PAGE = 1000
_MOMENT = timedelta(microseconds=1)


class FollowedTurns:
    """Follows one conversation. Safe to use from many threads: what is given out does not change."""

    def __init__(self, store: Store, workspace: str, session_id: str, find: Finder) -> None:
        self._store = store
        self._workspace = workspace
        self._session_id = session_id
        self._find = find
        self._filters = Filters(conversation=session_id)
        self._given: datetime | None = None
        self._lock = threading.Lock()
        self._know_nothing()
        self._read_on()

    def _know_nothing(self) -> None:
        self._turns: list[Turn] = []
        self._places: dict[str, int] = {}
        self._said: set[object] = set()
        self._act: SpeechAct | None = None
        self._read = 0
        self._end = ("", "")
        self._registry = EntityRegistry(self._find)

    def state(self) -> DialogueState:
        """The conversation as it is kept now."""
        with self._lock:
            self._catch_up()
            return DialogueState(tuple(self._turns), self._registry.snapshot(), self._session_id)

    def any_kept(self) -> bool:
        """Whether anything was said."""
        with self._lock:
            if not self._turns:
                self._catch_up()
            return bool(self._turns)

    def known(self, ids: Sequence[str]) -> list[Turn | None]:
        """The turns with these ids, or None for what is no turn of this conversation."""
        with self._lock:
            if any(one not in self._places for one in ids):
                self._catch_up()
            places = [self._places.get(one) for one in ids]
            return [None if place is None else self._turns[place] for place in places]

    def completed(self, turns: Sequence[Turn], now: Callable[[], datetime]) -> list[Turn]:
        """The turns as they are to be kept: with their times, and with what each does after the one before.

        A turn with an id that another conversation has gets a new one; one that is kept here already is that
        turn. Two with ids of their own are two, even if the same was said by the same in the same moment.
        """
        ids = [turn.turn_id for turn in turns if turn.turn_id]
        held = self._store.get(self._workspace, *ids) if ids else ()
        holders = {item.id: item for item in held if item is not None}
        with self._lock:
            if ids:
                self._catch_up()
            before = self._act
            said: set[object] = set()
            completed: list[Turn] = []
            for turn in turns:
                timed = self._timed(turn, holders.get(turn.turn_id), said, now)
                act = turn.speech_act if turn.speech_act is not None else speech_act(turn.text, after=before)
                completed.append(replace(timed, speech_act=act))
                said.add(_moment(timed))
                before = act
        return completed

    def were_kept(self, turns: Sequence[Turn]) -> None:
        """What is said next is said after these; they are read when somebody asks for them."""
        with self._lock:
            if turns:
                self._act = turns[-1].speech_act

    # Inside, with the lock held

    def _timed(self, turn: Turn, holder: Item | None, said: set[object], now: Callable[[], datetime]) -> Turn:
        if holder is not None:
            if holder.conversation == self._session_id and holder.kind == "turn":
                return replace(turn, timestamp=holder.created_at)
            turn = replace(turn, turn_id="")
        if turn.timestamp is None:
            return replace(turn, timestamp=self._next_moment(now()))
        while turn.turn_id and (_moment(turn) in self._said or _moment(turn) in said):
            turn = replace(turn, timestamp=turn.timestamp + _MOMENT)
        return turn

    def _next_moment(self, now: datetime) -> datetime:
        """Now, but later than what was given before: the order tells two turns apart that say the same."""
        if self._given is not None and now <= self._given:
            now = self._given + _MOMENT
        self._given = now
        return now

    def _catch_up(self) -> None:
        """Know what was added meanwhile; if something was forgotten, know nothing of it."""
        while not self._stands():
            if not self._read_on():
                self._know_nothing()
                self._read_on()
                return

    def _stands(self) -> bool:
        """Whether the workspace keeps what is known of the conversation, and nothing else."""
        count, last = self._store.tally(self._workspace, self._filters)
        return count == self._read and (last is None or (last.id, last.hash) == self._end)

    def _read_on(self) -> bool:
        """Take what was kept after the last turn that is known; whether there was anything."""
        before = self._read
        full = True
        while full:
            page = self._page()
            for item in page:
                if item.id in self._places:  # forgotten, and kept again under its old name
                    return False
                self._take(item)
            full = len(page) == _PAGE
        return self._read > before

    def _page(self) -> tuple[Item, ...]:
        after = self._end[0] or None
        try:
            page = self._store.batch([Scan(self._workspace, self._filters, after, _PAGE)])[0]
        except StorageError:
            if after is None:
                raise
            return ()  # the turn after which to go on was forgotten
        return cast("tuple[Item, ...]", page)

    def _take(self, item: Item) -> None:
        """One item more was read; what is kept beside the turns of a conversation is only counted."""
        self._read += 1
        self._end = (item.id, item.hash)
        if item.kind == "turn":
            turn = item_turn(item)
            self._places[item.id] = len(self._turns)
            self._registry.observe(turn, len(self._turns))
            self._turns.append(turn)
            self._act = turn.speech_act
            self._said.add(_moment(turn))


def _moment(turn: Turn) -> object:
    """Who says what when: what the store takes for the same turn."""
    return turn.speaker, turn.text, turn.timestamp
