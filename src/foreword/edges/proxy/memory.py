"""The proxy's memory: finds the context for a request, and stores requests and answers as conversations.

Called in threads. A context is found for the user's last message, and is put there again in every further
request of the same loop of tools. What the application sent and the model answered is stored, each turn
once, without secrets and without our own contexts.
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
from foreword.recipes.dialogue.addition import find_addition
from foreword.recipes.dialogue.sent_turns import find_new_turns, turn_key
from foreword.recipes.dialogue.session import Session
from foreword.text.frame import remove_frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreword.edges.proxy.asker import ProxyAsker
    from foreword.engine.context_engine import ContextEngine
    from foreword.types import Turn

    QuestionKey = tuple[str, str, str, int]

_MAX_SESSIONS = 256
_MAX_QUESTIONS = 1_024
_MAX_TURN_CHARACTERS = 20_000
"""How many characters of a turn are stored at most: of a longer one, the beginning and the end."""

_MAX_CACHED_CHARACTERS = 4_000
"""Turns of up to so many characters are cleaned once and cached, since applications send them repeatedly."""

_MIN_ROOM = 64


@dataclass(frozen=True, slots=True)
class FoundContext:
    """A framed context and the id of its receipt, or a note why there is none."""

    text: str = ""
    receipt_id: str = ""
    note: str = ""


class ProxyMemory:
    """Finds contexts and stores conversations. Safe to use from many threads."""

    def __init__(self, engine: ContextEngine, *, capture: bool = True) -> None:
        self._engine = engine
        self._capture = capture
        self._lock = threading.Lock()
        self._sessions: OrderedDict[tuple[str, str, str], Session] = OrderedDict()
        self._found_contexts: OrderedDict[QuestionKey, FoundContext] = OrderedDict()

    def warm_up(self) -> None:
        """Load the models, so that the first request need not wait for them."""
        warm_up_engine(self._engine)

    def find_context(self, asker: ProxyAsker, turns: Sequence[Turn], room: int) -> FoundContext:
        """The context for the user's last message, in at most `room` tokens; errors are raised."""
        if reason := reason_to_keep_nothing(self._engine.settings.home, asker.workspace):
            raise StorePaused(reason)
        place = next((at for at in range(len(turns) - 1, -1, -1) if turns[at].role == "user"), None)
        if place is None:
            return FoundContext(note="there is no message of a user")
        if room < _MIN_ROOM:
            return FoundContext(note="the request leaves no room for context in the model's window")
        said = clean_proxied_turns(turns)
        question = replace(
            turns[place], raw_text=clean_for_storing(turns[place].text), user=asker.user, parts=()
        )
        key = _question_key(asker, turns[: place + 1])
        if place < len(turns) - 1 and (found := self._get_cached(key)) and found.text:
            return found
        added = find_addition(question, self._open_session(asker), said, room)
        found = FoundContext(added.text, added.receipt.id)
        self._cache_found(key, found)
        return found

    def remember(self, asker: ProxyAsker, turns: Sequence[Turn], answer: Sequence[Turn]) -> None:
        """Store the new turns of a request, and its answer; nothing if the request names nobody."""
        if not asker.has_session or not self._capture:
            return
        session = self._open_session(asker)
        said = find_new_turns(session.state.turns, clean_proxied_turns(turns))
        last = max((at for at, turn in enumerate(said) if turn.role == "user"), default=-1)
        said = [
            replace(turn, user=asker.user) if at == last and turn.name else turn
            for at, turn in enumerate(said)
        ]
        if both := [*said, *clean_proxied_turns(answer)]:
            session.add_all(both)

    def _open_session(self, asker: ProxyAsker) -> Session:
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

    def _get_cached(self, key: QuestionKey) -> FoundContext | None:
        with self._lock:
            return self._found_contexts.get(key)

    def _cache_found(self, key: QuestionKey, found: FoundContext) -> None:
        with self._lock:
            self._found_contexts[key] = found
            self._found_contexts.move_to_end(key)
            while len(self._found_contexts) > _MAX_QUESTIONS:
                self._found_contexts.popitem(last=False)


def _question_key(asker: ProxyAsker, turns: Sequence[Turn]) -> QuestionKey:
    """A key for the last of these turns that stays the same while tools are called for it.

    A conversation whose name is derived has another one once it is answered, so its turns stand for it.
    """
    session = "" if asker.is_session_derived else asker.session_id
    return asker.workspace, session, asker.user, hash(tuple(map(turn_key, turns)))


def clean_proxied_turns(turns: Sequence[Turn]) -> list[Turn]:
    """The turns as they are stored: without secrets, without our contexts, with marks for images."""
    cleaned = (replace(turn, raw_text=clean_for_storing(turn.text), parts=()) for turn in turns)
    return [turn for turn in cleaned if turn.text.strip() or turn.tool_calls]


def clean_for_storing(text: str) -> str:
    """A text as it is stored; always the same for the same text, so that a turn is recognised again."""
    clean = (
        _remove_frames_and_secrets_cached
        if len(text) <= _MAX_CACHED_CHARACTERS
        else _remove_frames_and_secrets
    )(text)
    if len(clean) <= _MAX_TURN_CHARACTERS:
        return clean
    half = _MAX_TURN_CHARACTERS // 2
    left_out = len(clean) - 2 * half
    return f"{clean[:half]} [… {left_out:,} characters left out …] {clean[-half:]}"


def _remove_frames_and_secrets(text: str) -> str:
    return redact(remove_frames(text))


_remove_frames_and_secrets_cached = functools.lru_cache(4096)(_remove_frames_and_secrets)
