"""What the proxy knows: the context for a request, and the conversation it keeps of requests and answers.

Called in threads. A context is found for the user's last words and stands before them again with every
further request of the same loop of tools. What is kept is what the application sent and the model answered,
each turn once, without secrets and without any context of ours.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from foreword.capture.privacy import reason_to_keep_nothing
from foreword.capture.redact import redact
from foreword.edges.shared.warm_up import warm_up_engine
from foreword.errors import StorePaused
from foreword.recipes.dialogue.addition import find_addition, new_turns
from foreword.recipes.dialogue.session import Session
from foreword.text.frame import remove_frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.edges.proxy.asker import Asker
    from foreword.engine.context_engine import ContextEngine
    from foreword.types import Turn

_MAX_SESSIONS = 256
_MAX_QUESTIONS = 1_024
_MAX_TURN_CHARACTERS = 20_000
"""At most how many characters of a turn are kept: of a longer one, both ends."""

_MAX_CACHED_CHARACTERS = 4_000
"""An application sends the same turns again and again; those up to this length are cleaned once."""

_MIN_ROOM = 64


@dataclass(frozen=True, slots=True)
class FoundContext:
    """A context, framed, or nothing; the receipt that says why, and a note where there is none."""

    text: str = ""
    receipt_id: str = ""
    note: str = ""


class ProxyMemory:
    """Finds contexts and keeps conversations. Safe to use from many threads."""

    def __init__(self, engine: ContextEngine, *, capture: bool = True) -> None:
        self._engine = engine
        self._capture = capture
        self._lock = threading.Lock()
        self._sessions: OrderedDict[tuple[str, str, str], Session] = OrderedDict()
        self._found: OrderedDict[tuple[str, str, str, str], FoundContext] = OrderedDict()

    def warm_up(self) -> None:
        """Load the models, so that the first request need not wait for them."""
        warm_up_engine(self._engine)

    def find(self, asker: Asker, turns: Sequence[Turn], room: int) -> FoundContext:
        """The context for the last words of the user, in at most `room` tokens; raises what goes wrong."""
        if reason := reason_to_keep_nothing(self._engine.settings.home, asker.workspace):
            raise StorePaused(reason)
        place = next((at for at in range(len(turns) - 1, -1, -1) if turns[at].role == "user"), None)
        if place is None:
            return FoundContext(note="there is no message of a user")
        if room < _MIN_ROOM:
            return FoundContext(note="the request leaves no room for context in the model's window")
        said = clean_turns(turns)
        question = replace(turns[place], raw_text=clean_text(turns[place].text), user=asker.user, parts=())
        key = (asker.workspace, asker.session_id, asker.user, f"{place} {question.text}")
        if place < len(turns) - 1 and (found := self._recently_found(key)) and found.text:
            return found
        added = find_addition(question, self._session(asker), said, room)
        found = FoundContext(added.text, added.receipt.id)
        self._note_found(key, found)
        return found

    def remember(self, asker: Asker, turns: Sequence[Turn], answer: Sequence[Turn]) -> None:
        """Keep what is new of a request, and its answer; nothing of a request that names nobody."""
        if not asker.is_known or not self._capture:
            return
        session = self._session(asker)
        said = new_turns(session.state.turns, clean_turns(turns))
        last = max((at for at, turn in enumerate(said) if turn.role == "user"), default=-1)
        said = [
            replace(turn, user=asker.user) if at == last and turn.name else turn
            for at, turn in enumerate(said)
        ]
        if both := [*said, *clean_turns(answer)]:
            session.add_all(both)

    def _session(self, asker: Asker) -> Session:
        key = (asker.workspace, asker.session_id, asker.user)
        with self._lock:
            session = self._sessions.get(key)
        if session is None:
            session = Session(self._engine, asker.workspace, asker.session_id, user=asker.user)
        with self._lock:
            session = self._sessions.setdefault(key, session)
            self._sessions.move_to_end(key)
            while len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return session

    def _recently_found(self, key: tuple[str, str, str, str]) -> FoundContext | None:
        with self._lock:
            return self._found.get(key)

    def _note_found(self, key: tuple[str, str, str, str], found: FoundContext) -> None:
        with self._lock:
            self._found[key] = found
            self._found.move_to_end(key)
            while len(self._found) > _MAX_QUESTIONS:
                self._found.popitem(last=False)


def clean_turns(turns: Sequence[Turn]) -> list[Turn]:
    """The turns as they are kept: without secrets, without contexts of ours, with marks for images."""
    cleaned = (replace(turn, raw_text=clean_text(turn.text), parts=()) for turn in turns)
    return [turn for turn in cleaned if turn.text.strip() or turn.tool_calls]


def clean_text(text: str) -> str:
    """A text as it is kept; the same for the same text, so that a turn is known again."""
    clean = (_clean_text_cached if len(text) <= _MAX_CACHED_CHARACTERS else _clean_text)(text)
    if len(clean) <= _MAX_TURN_CHARACTERS:
        return clean
    half = _MAX_TURN_CHARACTERS // 2
    left_out = len(clean) - 2 * half
    return f"{clean[:half]} [… {left_out:,} characters left out …] {clean[-half:]}"


def _clean_text(text: str) -> str:
    return redact(remove_frames(text))


_clean_text_cached = functools.lru_cache(4096)(_clean_text)
