"""Events of agents on other machines: they are answered and stored as the local service does it.

A laptop's own service sends an event with the workspace it belongs to, because folders differ between
machines. It gets the text to show and the id of this delivery, and reports afterwards whether it was shown.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from foreword.capture.agent import AgentEvent
from foreword.capture.redact import redact_json
from foreword.engine.defaults import make_chat_summariser
from foreword.engine.jsonl import item_as_json_line
from foreword.recipes.coding.companion import CodingCompanion, CompanionSaying
from foreword.store.base import ListRecent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from foreword.engine.context_engine import ContextEngine
    from foreword.types import Item

MAX_MIRRORED = 5_000
"""How many of a workspace's newest items are copied to a laptop at most."""
_MAX_LINES = 1_000
_MAX_DELIVERIES = 10_000
_TEXTS = (
    "name",
    "session",
    "subagent",
    "agent",
    "source",
    "prompt",
    "tool",
    "tool_output",
    "outcome",
    "message",
)
"""The fields of an event that are texts."""


class TeamHooks:
    """Answers the events that laptops send. Safe to use from many threads."""

    def __init__(self, engine: ContextEngine) -> None:
        self._engine = engine
        self._companion = CodingCompanion(engine, make_chat_summariser(engine.settings), find_workspace=str)
        self._deliveries: OrderedDict[str, tuple[str, CompanionSaying]] = OrderedDict()
        self._lock = threading.Lock()

    def answer(
        self, workspace: str, event: Mapping[str, Any], at: float, expires: float, caller: str
    ) -> tuple[str, str]:
        """The context for an event, and the id of its delivery; both empty if there is none.

        If the store does not answer before `expires`, its error is raised: the laptop's copy may know more.
        """
        left_ms = max(1.0, (expires - time.monotonic()) * 1000)
        saying = self._companion.say_or_raise(_read_event(workspace, event, at), left_ms)
        if not saying:
            return "", ""
        delivery = secrets.token_hex(12)
        with self._lock:
            self._deliveries[delivery] = (caller, saying)
            while len(self._deliveries) > _MAX_DELIVERIES:
                self._deliveries.popitem(last=False)
        return saying.text, delivery

    def keep(self, workspace: str, event: Mapping[str, Any], at: float) -> None:
        """Store what an event says; an event that comes twice is stored once."""
        self._companion.keep(_read_event(workspace, event, at))

    def note_delivery(self, delivery: str, caller: str, *, delivered: bool) -> bool:
        """Record whether an answer was shown; returns False if no answer to this caller has the id."""
        with self._lock:
            owner, saying = self._deliveries.get(delivery, ("", CompanionSaying()))
            if owner != caller:
                return False
            del self._deliveries[delivery]
        (self._companion.note_delivered if delivered else self._companion.note_undelivered)(saying)
        return True

    def list_changes_for_copy(self, workspace: str, known: Sequence[str]) -> dict[str, object]:
        """The newest items that a copy lacks, as lines of JSON, and the ids in it that no longer exist here.

        `known` are the ids that the copy has. `more` says that there are further lines, for another call.
        """
        found = self._engine.store.batch([ListRecent(workspace, limit=MAX_MIRRORED)])[0]
        newest = {item.id: item for item in cast("tuple[Item, ...]", found)}
        has = set(known)
        missing = [item for id_, item in newest.items() if id_ not in has]
        return {
            "lines": [item_as_json_line(item) for item in missing[:_MAX_LINES]],
            "gone": [id_ for id_ in known if id_ not in newest],
            "more": len(missing) > _MAX_LINES,
        }


def _read_event(workspace: str, event: Mapping[str, Any], at: float) -> AgentEvent:
    """The event without secrets, with the name of the workspace as its folder."""
    clean = redact_json(dict(event))
    texts = {name: str(clean[name]) for name in _TEXTS if name in clean}
    tool_input = clean.get("tool_input")
    return AgentEvent(
        at=datetime.fromtimestamp(at, UTC),
        folder=workspace,
        tool_input=tool_input if isinstance(tool_input, dict) else {},
        stop_hook_active=bool(clean.get("stop_hook_active")),
        **{"name": "", **texts},
    )
