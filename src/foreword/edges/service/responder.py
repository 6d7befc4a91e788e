"""Answers one hook event, bytes in and bytes out: the JSON that agents document, and nothing else.

An answer that is too long is not given at all: an agent would show half of it. Answers do not wait for the
disk: what an event tells is stored in another thread, and waited for only while there is time. What fails
after that goes into the spool.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from foreword.capture.agent import parse_hook_event
from foreword.capture.privacy import EventGate
from foreword.edges.hook_client import MAX_ANSWER_CHARACTERS
from foreword.edges.shared.hook_fallback import write_to_spool
from foreword.engine.defaults import connect_summariser
from foreword.log import get_logger
from foreword.recipes.coding.companion import Companion
from foreword.workspace import workspace_of

if TYPE_CHECKING:
    from concurrent.futures import Future
    from datetime import datetime

    from foreword.capture.agent import AgentEvent
    from foreword.engine.context_engine import ContextEngine

_log = get_logger("foreword.hook")

_STORING_THREADS = 4
_RETURN_MS = 20.0
"""How many milliseconds of a deadline are kept for the way back."""


class Responder:
    """Answers the events of agents' hooks."""

    def __init__(self, engine: ContextEngine) -> None:
        self._home = str(engine.settings.home)
        self._announces_recalls = engine.settings.recall_notice
        self._gate = EventGate(engine.settings.home, workspace_of)
        self._companion = Companion(engine, connect_summariser(engine.settings))
        self._threads = ThreadPoolExecutor(_STORING_THREADS, thread_name_prefix="foreword-keep")

    def respond(self, payload: bytes, at: datetime, deadline_ms: float | None) -> bytes:
        """Store what an event tells, and give what the agent should read: JSON, or nothing.

        A prompt is answered before it is stored, or it would find itself. What cannot be stored in time is
        raised, so that whoever brought the event can bring it again.
        """
        allowed_ms = None if deadline_ms is None else deadline_ms - _RETURN_MS
        expires = None if allowed_ms is None else time.monotonic() + allowed_ms / 1000
        event = parse_hook_event(payload, at)
        if event is None:
            return b""
        if (refusal := self._gate.refuse(event)) is not None:
            return _hook_answer(payload, notice=refusal.notice if event.name == "SessionStart" else "")
        context = self._companion.say(event, None if allowed_ms is None else max(1.0, allowed_ms))
        self._store(event, payload, expires)
        recalls = context if self._announces_recalls and event.name == "UserPromptSubmit" else ""
        return _hook_answer(payload, context, _describe_recalls(recalls))

    def capture(self, payload: bytes, at: datetime) -> None:
        """Store what an event tells, and answer nothing."""
        event = parse_hook_event(payload, at)
        if event is not None and self._gate.refuse(event) is None:
            self._companion.keep(event)

    def close(self) -> None:
        """Wait until everything is stored."""
        self._threads.shutdown(wait=True)

    def _store(self, event: AgentEvent, payload: bytes, expires: float | None) -> None:
        stored = self._threads.submit(self._companion.keep, event)
        try:
            stored.result(None if expires is None else max(0.0, expires - time.monotonic()))
        except TimeoutError:
            stored.add_done_callback(partial(_spool_if_failed, self._home, event.at, payload))


def _spool_if_failed(home: str, at: datetime, payload: bytes, stored: Future[None]) -> None:
    """Spool an event whose storing was slower than the deadline and then failed, for another attempt."""
    if (error := stored.exception()) is None:
        return
    try:
        write_to_spool(home, f"{at.timestamp():.6f}", payload)
    except (OSError, ValueError) as failure:
        _log.warning("an event was lost", problem=str(error), spool=str(failure))
    else:
        _log.warning("an event waits in the spool: keeping it failed after its answer", problem=str(error))


def _describe_recalls(context: str) -> str:
    """The line that tells an agent's user how much was recalled; empty for nothing."""
    count = sum(line.startswith("- ") for line in context.splitlines())
    return f"Foreword: {count} recalled" if count else ""


def _hook_answer(payload: bytes, context: str = "", notice: str = "") -> bytes:
    """The context for the model and the notice for its user as JSON; nothing if both are empty, or too long.

    The event has the name that the agent itself gave it.
    """
    answer: dict[str, Any] = {}
    if context:
        event = json.loads(payload.decode("utf-8-sig", errors="replace"))
        name = event.get("hook_event_name") or event.get("hookEventName") or "UserPromptSubmit"
        answer["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": context}
    if notice:
        answer["systemMessage"] = notice
    text = json.dumps(answer, ensure_ascii=False) if answer else ""
    if len(text) > MAX_ANSWER_CHARACTERS:
        _log.warning("an answer was too long for a hook", characters=len(text))
        return b""
    return text.encode()
