"""What an agent tells its hooks: one event, read from JSON of several dialects, and the turns it leaves.

Tolerant on purpose: agents add fields and change shapes with every release, so whatever is missing, of
another type or too long is worked around, and reading never fails. Nothing is stored here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any

from foreword.capture.excerpt import both_ends
from foreword.capture.junk import is_junk, without_wrappers
from foreword.capture.payload import as_text, label, outcome, parsed, plain, spoken
from foreword.capture.redact import redact, redact_json
from foreword.capture.tools import Call, kept
from foreword.log import get_logger
from foreword.text.frame import without_frames
from foreword.types import Item, Source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from foreword.capture.junk import Repeats

_log = get_logger(__name__)

SPOKEN_CHARACTERS = 20_000
"""How much of a prompt or a message is kept: its beginning and its end."""

_LONGEST_ABOUT = 200
_NAMES = {
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "PreCompress": "PreCompact",
}
_KNOWN_BY = {
    "tool_response": "PostToolUse",
    "tool_name": "PreToolUse",
    "prompt": "UserPromptSubmit",
    "last_assistant_message": "Stop",
}
_AFTER_TOOL = ("PostToolUse", "PostToolUseFailure")


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """One thing that happened in an agent's session, under the same names whichever agent it was.

    `outcome` says how a tool's call ended (`exit 1`, `failed`, `interrupted`) and is empty when nobody said.
    """

    name: str
    at: datetime
    session: str = ""
    folder: str = ""
    agent: str = ""
    source: str = ""
    prompt: str = ""
    tool: str = ""
    tool_input: Mapping[str, Any] = field(default_factory=dict)
    tool_output: str = ""
    outcome: str = ""
    message: str = ""
    stop_hook_active: bool = False


def read_event(payload: bytes, at: datetime, agent: str = "") -> AgentEvent | None:
    """The event that a hook was handed, or None when nothing in it can be used."""
    try:
        body = json.loads(payload.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:
        _log.warning("an event is not JSON", agent=agent, problem=type(error).__name__)
        return None
    name = _name(body) if isinstance(body, dict) else ""
    if not name:
        return None
    answer = plain(
        next((body[key] for key in ("tool_response", "tool_output", "error") if key in body), None)
    )
    said = as_text(answer)
    return AgentEvent(
        name=name,
        at=at if at.tzinfo else at.replace(tzinfo=UTC),
        session=label(body, "session_id", "sessionId", "conversation_id", "thread_id"),
        folder=label(body, "cwd", "working_directory", "workspace"),
        agent=agent,
        source=label(body, "source"),
        prompt=spoken(body, "prompt", "user_prompt"),
        tool=label(body, "tool_name", "toolName", "tool"),
        tool_input=_given(body),
        tool_output=said,
        outcome=_ended(name, answer, said),
        message=spoken(body, "last_assistant_message", "prompt_response", "compact_summary"),
        stop_hook_active=body.get("stop_hook_active") is True,
    )


def _name(body: Mapping[str, Any]) -> str:
    """The event's name as we call it; an event without one is known by what it carries."""
    said = label(body, "hook_event_name", "hookEventName", "event")
    return _NAMES.get(said, said) or next((name for key, name in _KNOWN_BY.items() if key in body), "")


def _given(body: Mapping[str, Any]) -> Mapping[str, Any]:
    given = plain(next((body[key] for key in ("tool_input", "toolInput", "tool_args") if key in body), {}))
    if isinstance(given, str):  # some agents hand over the arguments as the model wrote them
        given = parsed(given)
    return given if isinstance(given, dict) else {"input": given} if given else {}


def _ended(name: str, answer: Any, said: str) -> str:  # noqa: ANN401  (any JSON)
    if name not in _AFTER_TOOL:
        return ""
    return outcome(answer, said) or ("failed" if name == "PostToolUseFailure" else "")


def turns(event: AgentEvent, workspace: str, repeats: Repeats | None = None) -> list[Item]:
    """What an event leaves worth remembering: a prompt, an answer, or a tool's call with its result.

    Secrets go before anything is cut, since half a secret would not be known as one. With `repeats`, what
    the session had lately is not kept again.
    """
    match event.name:
        case "UserPromptSubmit":
            items = _said(event, workspace, event.prompt, "user", Source("user", "user"))
        case "Stop" | "PostCompact":
            items = _said(event, workspace, event.message, "assistant", Source("agent", "agent"))
        case name if name in _AFTER_TOOL:
            items = _done(event, workspace)
        case _:
            items = []
    return [item for item in items if repeats is None or not _again(repeats, item)]


def _again(repeats: Repeats, item: Item) -> bool:
    loosely = item.source.trust in ("tool", "web")
    return repeats.again(item.session or "", item.text, item.created_at, loosely=loosely)


def _said(event: AgentEvent, workspace: str, words: str, speaker: str, source: Source) -> list[Item]:
    """What somebody said, without what was injected or wrapped around it; nothing when that tells nothing."""
    text = without_wrappers(redact(without_frames(words)))
    if is_junk(text):
        return []
    return [_turn(event, workspace, both_ends(text, SPOKEN_CHARACTERS), speaker, source)]


def _done(event: AgentEvent, workspace: str) -> list[Item]:
    """What a tool did, if it is worth keeping."""
    given = redact_json(_unframed(event.tool_input))
    output = redact(without_frames(event.tool_output))
    left = kept(Call(event.tool, given, output, event.outcome, event.folder))
    if left is None:
        return []
    purpose = given.get("description")
    parts = [event.tool, left.file, purpose if isinstance(purpose, str) else ""]
    about = ", ".join(" ".join(part.split())[:_LONGEST_ABOUT] for part in parts if part)
    facts = {"tool": event.tool, "file": left.file, "outcome": event.outcome}
    return [_turn(event, workspace, left.text, about, left.source, facts)]


def _unframed(value: Any) -> Any:  # noqa: ANN401  (any JSON)
    """The value without what Foreword said, in every text of it."""
    match value:
        case str():
            return without_frames(value)
        case list():
            return [_unframed(part) for part in value]
        case dict():
            return {name: _unframed(part) for name, part in value.items()}
        case _:
            return value


def _turn(
    event: AgentEvent,
    workspace: str,
    text: str,
    about: str,
    source: Source,
    facts: Mapping[str, str] | None = None,
) -> Item:
    known = {"agent": event.agent, **(facts or {})}
    return Item(
        text=text,
        workspace=workspace,
        kind="turn",
        about=about,
        created_at=event.at,
        session=event.session or None,
        conversation=event.session or None,
        source=source,
        metadata={name: value for name, value in known.items() if value},
    )
