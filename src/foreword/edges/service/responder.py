"""Answers one hook event, bytes in and bytes out: the JSON that agents document, and nothing else.

An answer that is too long is not given at all: an agent would show half of it. Answering, storing and
recording the delivery are three calls, because an answer does not wait for the disk, and only the caller that
sends the answer knows whether it arrived.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foreword.capture.agent import parse_hook_event, redact_event
from foreword.capture.event_json import parse_event_json
from foreword.capture.folder.workspace import workspace_of
from foreword.capture.privacy import EventGate
from foreword.capture.session_secrets import SessionSecrets
from foreword.edges.hook_client import MAX_ANSWER_CHARACTERS
from foreword.edges.service.run_folder import find_receipt_address
from foreword.edges.service.team_companion import TeamHookCompanion
from foreword.edges.service.team_link import make_team_link
from foreword.edges.shared.spool_files import write_to_spool
from foreword.engine.defaults import make_chat_summariser
from foreword.errors import StorageError
from foreword.log import get_logger
from foreword.recipes.coding.companion import CodingCompanion, CompanionSaying
from foreword.store.sqlite import SqliteStore
from foreword.types.deadlines import hold_deadline

if TYPE_CHECKING:
    from datetime import datetime

    from foreword.capture.agent import AgentEvent
    from foreword.engine.context_engine import ContextEngine

_log = get_logger("foreword.hook")

_RETURN_MS = 20.0
"""How many milliseconds of a deadline are reserved for sending the answer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The JSON for the agent, or nothing; `saying` is the context in it, whose delivery is recorded."""

    body: bytes = b""
    saying: CompanionSaying = CompanionSaying()


class HookResponder:
    """Answers the events of agents' hooks."""

    def __init__(self, engine: ContextEngine) -> None:
        self._engine = engine
        self._home = str(engine.settings.home)
        self._announces_recalls = engine.settings.recall_notice
        self._secrets = SessionSecrets()
        self._gate = EventGate(engine.settings.home, workspace_of)
        own = CodingCompanion(engine, make_chat_summariser(engine.settings))
        link = make_team_link(engine.settings)
        self._team = None if link is None else TeamHookCompanion(engine, link, own)
        self._companion = self._team or own

    def redact_payload(self, payload: bytes) -> bytes:
        """The event without its secrets and those that its session has shown, fit for the disk.

        Raises ValueError or RecursionError if it is not JSON.
        """
        return json.dumps(redact_event(parse_event_json(payload), self._secrets)).encode()

    def answer(self, payload: bytes, at: datetime, deadline_ms: float | None) -> Reply:
        """The reply to an event. Call it before `capture`: a stored prompt would find itself."""
        event = parse_hook_event(payload, at, secrets=self._secrets)
        if event is None:
            return Reply()
        if (refusal := self._gate.find_and_record_refusal(event)) is not None:
            return Reply(
                _format_hook_answer(payload, notice=refusal.notice if event.name == "SessionStart" else "")
            )
        allowed_ms = None if deadline_ms is None else max(1.0, deadline_ms - _RETURN_MS)
        with hold_deadline(None if allowed_ms is None else time.monotonic() + allowed_ms / 1000):
            return self._answer_event(event, payload, allowed_ms)

    def _answer_event(self, event: AgentEvent, payload: bytes, allowed_ms: float | None) -> Reply:
        """The reply to an event that may be answered."""
        saying = self._companion.say(event, allowed_ms)
        if not saying:
            return Reply(_format_hook_answer(payload, notice=self._describe_store_failure(event)))
        notice = self._describe_store_failure(event)
        if self._announces_recalls and event.name == "UserPromptSubmit":
            notice = self._describe_recalls(saying)
        body = _format_hook_answer(payload, saying.text, notice)
        if not body:
            self._companion.note_undelivered(saying)
            return Reply()
        return Reply(body, saying)

    def _describe_recalls(self, saying: CompanionSaying) -> str:
        """A line for the agent's user: how many memories were recalled, and the page that explains them."""
        count = sum(line.startswith("- ") for line in saying.text.splitlines())
        if not count:
            return ""
        page = find_receipt_address(self._home, saying.receipt.id) if saying.receipt else ""
        return f"Foreword: {count} recalled" + (f" · {page}" if page else "")

    def _describe_store_failure(self, event: AgentEvent) -> str:
        """When a session starts, why its database cannot be used; empty if it can, and for other events."""
        if event.name != "SessionStart":
            return ""
        store, workspace = self._engine.store, workspace_of(Path(event.folder))
        what = "is off in this project"
        try:
            store.get(workspace, "")
            what = "recalls in this project, but keeps nothing new"
            if isinstance(store, SqliteStore):
                store.check_writable(workspace)
        except StorageError as error:
            return f"Foreword {what}: {error}. For more: foreword doctor"
        return ""

    def capture(self, payload: bytes, at: datetime) -> None:
        """Store what an event says; raises StorageError if that is not possible now."""
        event = parse_hook_event(payload, at, secrets=self._secrets)
        if event is not None and self._gate.find_and_record_refusal(event) is None:
            self._companion.keep(event)

    def note_delivered(self, reply: Reply) -> None:
        """Record that the agent got the reply: its context counts as shown."""
        self._companion.note_delivered(reply.saying)

    def note_undelivered(self, reply: Reply) -> None:
        """Record that the reply did not reach its agent: its context does not count as shown."""
        self._companion.note_undelivered(reply.saying)

    def refresh_team_copies(self) -> None:
        """Update this machine's copies of the team's workspaces, if there is a team."""
        if self._team is not None:
            self._team.refresh_team_copies()

    def close(self) -> None:
        """Close the connections to the team's service, if there is a team."""
        if self._team is not None:
            self._team.close()

    def answer_and_store(self, payload: bytes, at: datetime, deadline_ms: float | None) -> bytes:
        """Answer and store an event in one call; the returned answer counts as delivered."""
        reply = self.answer(payload, at, deadline_ms)
        self.store_answered_event(payload, at, reply)
        return reply.body

    def store_answered_event(self, payload: bytes, at: datetime, reply: Reply) -> None:
        """Store an event whose reply was delivered; put it into the spool if the store cannot take it now."""
        try:
            self.capture(payload, at)
        except StorageError as error:
            file, _ = write_to_spool(self._home, f"{at.timestamp():.6f}", self.redact_payload(payload))
            _log.warning("an event waits in the spool", problem=str(error), file=file)
        self.note_delivered(reply)


def _format_hook_answer(payload: bytes, context: str = "", notice: str = "") -> bytes:
    """The JSON with the context for the model and the notice for its user; empty without both or if too long.

    The answer names the event as the agent itself named it.
    """
    answer: dict[str, Any] = {}
    if context:
        event = parse_event_json(payload)
        name = event.get("hook_event_name") or event.get("hookEventName") or "UserPromptSubmit"
        answer["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": context}
    if notice:
        answer["systemMessage"] = notice
    text = json.dumps(answer, ensure_ascii=False) if answer else ""
    if len(text) > MAX_ANSWER_CHARACTERS:
        _log.warning("an answer was too long for a hook", characters=len(text))
        return b""
    return text.encode()
