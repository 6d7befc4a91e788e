"""One hook event, bytes in and bytes out: the JSON that agents document, and nothing else.

An answer that would be too long is not given at all: an agent would show half of it. The answer does not wait
for the disk: what an event tells is kept beside it, and waited for only while there is time. What then fails
goes into the spool.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from foreword.capture.agent import read_event
from foreword.edges.hook import aside
from foreword.log import get_logger
from foreword.recipes.coding.companion import Companion

if TYPE_CHECKING:
    from concurrent.futures import Future
    from datetime import datetime

    from foreword.capture.agent import AgentEvent
    from foreword.config import Settings
    from foreword.engine.context_engine import ContextEngine
    from foreword.knowledge.sessions import Summariser

_log = get_logger("foreword.hook")

MOST_CHARACTERS = 9_900
"""Beyond some ten thousand, an agent replaces the output of a hook by a note that it was too long."""

_KEEPERS = 4
_REST_MS = 20.0
"""What is left of a deadline to the way back."""


class Responder:
    """Answers the events of agents' hooks."""

    def __init__(self, engine: ContextEngine) -> None:
        self._home = str(engine.settings.home)
        self._companion = Companion(engine, _summariser(engine.settings))
        self._keepers = ThreadPoolExecutor(_KEEPERS, thread_name_prefix="foreword-keep")

    def respond(self, payload: bytes, at: datetime, deadline_ms: float | None) -> bytes:
        """Keep what an event tells, and give what the agent should read: JSON, or nothing.

        The prompt is answered before it is kept, or it would find itself. What fails to be kept in time is
        raised, so that whoever brought the event can bring it again.
        """
        expires = None if deadline_ms is None else time.monotonic() + (deadline_ms - _REST_MS) / 1000
        event = read_event(payload, at)
        if event is None:
            return b""
        said = self._companion.say(event, None if deadline_ms is None else max(1.0, deadline_ms - _REST_MS))
        self._keep(event, payload, expires)
        return _worded(payload, said) if said else b""

    def capture(self, payload: bytes, at: datetime) -> None:
        """Keep what an event tells, and say nothing."""
        event = read_event(payload, at)
        if event is not None:
            self._companion.keep(event)

    def close(self) -> None:
        """Finish what is being kept."""
        self._keepers.shutdown(wait=True)

    def _keep(self, event: AgentEvent, payload: bytes, expires: float | None) -> None:
        kept = self._keepers.submit(self._companion.keep, event)
        try:
            kept.result(None if expires is None else max(0.0, expires - time.monotonic()))
        except TimeoutError:
            kept.add_done_callback(partial(_ended_late, self._home, event.at, payload))


def _summariser(settings: Settings) -> Summariser | None:
    """The model that words summaries, if the user named one; without it they are made of what was said."""
    if not settings.summary_url:
        return None
    from foreword.knowledge.remote_summary import connect_summariser

    return connect_summariser(settings.summary_url, settings.summary_key or None, settings.summary_model)


def _ended_late(home: str, at: datetime, payload: bytes, kept: Future[None]) -> None:
    """A disk that was too slow for the deadline may still fail: then the event waits for a better moment."""
    if (error := kept.exception()) is None:
        return
    try:
        aside.spool(home, f"{at.timestamp():.6f}", payload)
    except (OSError, ValueError) as failure:
        _log.warning("an event was lost", problem=str(error), spool=str(failure))
    else:
        _log.warning("an event waits in the spool: keeping it failed after its answer", problem=str(error))


def _worded(payload: bytes, said: str) -> bytes:
    """The answer under the name that the agent itself gave the event."""
    named = json.loads(payload.decode("utf-8-sig", errors="replace"))
    name = named.get("hook_event_name") or named.get("hookEventName") or "UserPromptSubmit"
    answer = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": said}}
    text = json.dumps(answer, ensure_ascii=False)
    if len(text) > MOST_CHARACTERS:
        _log.warning("an answer was too long for a hook", characters=len(text))
        return b""
    return text.encode()
