"""What an agent tells its hooks: one event, read from JSON of several dialects, and the turns it leaves.

Tolerant on purpose: agents add fields and change shapes with every release, so whatever is missing, of
another type or too long is worked around, and reading never fails. Nothing is stored here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any

from foreword.capture.excerpt import keep_both_ends
from foreword.capture.junk import junk_reason, remove_wrappers
from foreword.capture.redact import redact, redact_json, remove_private_spans
from foreword.capture.tool_calls import ToolCall, read_call_record
from foreword.log import get_logger
from foreword.text.frame import remove_frames
from foreword.types import Item, Source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from foreword.capture.junk import RecentTexts

_log = get_logger(__name__)

MAX_SPOKEN_CHARACTERS = 20_000
"""How much of a prompt or a message is kept: its beginning and its end."""

_MAX_ABOUT_CHARACTERS = 200
_MAX_SUBAGENT_CHARACTERS = 100
_OUR_NAMES = {
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "PreCompress": "PreCompact",
}
_NAME_BY_FIELD = {
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
    `subagent` is empty in the session's main agent.
    """

    name: str
    at: datetime
    session: str = ""
    subagent: str = ""
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

    @property
    def context(self) -> str:
        """Whose context this is: the session's name, and for a subagent, whose context is its own, its id."""
        return f"{self.session}/{self.subagent}" if self.session and self.subagent else self.session


def parse_hook_event(payload: bytes, at: datetime, agent: str = "") -> AgentEvent | None:
    """The event that a hook was handed, without its secrets; None when nothing in it can be used.

    Secrets go before anything is cut: the end of a long text may part a key in two.
    """
    try:
        body = redact_json(json.loads(payload.decode("utf-8-sig", errors="replace")))
    except (ValueError, RecursionError) as error:
        _log.warning("an event is not JSON", agent=agent, problem=type(error).__name__)
        return None
    name = _read_event_name(body) if isinstance(body, dict) else ""
    if not name:
        return None
    answer = bounded_json(
        next((body[key] for key in ("tool_response", "tool_output", "error") if key in body), None)
    )
    output = answer_text(answer)
    outcome = read_outcome(answer, output) if name in _AFTER_TOOL else ""
    return AgentEvent(
        name=name,
        at=at if at.tzinfo else at.replace(tzinfo=UTC),
        session=first_label(body, "session_id", "sessionId", "conversation_id", "thread_id"),
        subagent=first_label(body, "agent_id", "agentId")[:_MAX_SUBAGENT_CHARACTERS],
        folder=first_label(body, "cwd", "working_directory", "workspace"),
        agent=agent,
        source=first_label(body, "source"),
        prompt=first_text(body, "prompt", "user_prompt"),
        tool=first_label(body, "tool_name", "toolName", "tool"),
        tool_input=_read_tool_input(body),
        tool_output=output,
        outcome=outcome or ("failed" if name == "PostToolUseFailure" else ""),
        message=first_text(body, "last_assistant_message", "prompt_response", "compact_summary"),
        stop_hook_active=body.get("stop_hook_active") is True,
    )


def _read_event_name(body: Mapping[str, Any]) -> str:
    """The event's name as we call it; an event without one is known by what it carries."""
    said = first_label(body, "hook_event_name", "hookEventName", "event")
    return _OUR_NAMES.get(said, said) or next(
        (name for key, name in _NAME_BY_FIELD.items() if key in body), ""
    )


def _read_tool_input(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool's input as an object, whichever field it is in and however the agent wrote it."""
    tool_input = bounded_json(
        next((body[key] for key in ("tool_input", "toolInput", "tool_args") if key in body), {})
    )
    if isinstance(tool_input, str):  # some agents hand over the arguments as the model wrote them
        tool_input = parse_object(tool_input)
    return tool_input if isinstance(tool_input, dict) else {"input": tool_input} if tool_input else {}


def items_from_event(event: AgentEvent, workspace: str, repeats: RecentTexts | None = None) -> list[Item]:
    """What an event leaves worth remembering: a prompt, an answer, or a tool's call with its result.

    Secrets go before anything is cut, since half a secret would not be known as one. With `repeats`, what
    the session had lately is not kept again.
    """
    match event.name:
        case "UserPromptSubmit":
            items = _items_from_speech(event, workspace, event.prompt, "user", Source("user", "user"))
        case "Stop" | "PostCompact":
            items = _items_from_speech(event, workspace, event.message, "assistant", Source("agent", "agent"))
        case name if name in _AFTER_TOOL:
            items = _items_from_tool_call(event, workspace)
        case _:
            items = []
    return [item for item in items if repeats is None or not _is_repeated_item(repeats, item)]


def _is_repeated_item(repeats: RecentTexts, item: Item) -> bool:
    """Whether the session had this item lately; the outputs of tools are compared loosely."""
    loosely = item.source.trust in ("tool", "web")
    return repeats.is_repeat(item.session or "", item.text, item.created_at, loosely=loosely)


def _items_from_speech(
    event: AgentEvent, workspace: str, spoken_text: str, speaker: str, source: Source
) -> list[Item]:
    """What somebody said, without what was injected or wrapped around it; nothing when that tells nothing."""
    text = remove_wrappers(redact(remove_frames(spoken_text)))
    if junk_reason(text):
        return []
    return [_make_turn_item(event, workspace, keep_both_ends(text, MAX_SPOKEN_CHARACTERS), speaker, source)]


def _items_from_tool_call(event: AgentEvent, workspace: str) -> list[Item]:
    """What a tool did, if it is worth keeping."""
    tool_input = redact_json(_remove_frames_in_json(event.tool_input))
    output = redact(remove_frames(event.tool_output))
    record = read_call_record(ToolCall(event.tool, tool_input, output, event.outcome, event.folder))
    if record is None:
        return []
    purpose = tool_input.get("description")
    parts = [event.tool, record.file, purpose if isinstance(purpose, str) else ""]
    about = ", ".join(" ".join(part.split())[:_MAX_ABOUT_CHARACTERS] for part in parts if part)
    facts = {"tool": event.tool, "file": record.file, "outcome": event.outcome, "command": record.command}
    return [_make_turn_item(event, workspace, record.text, about, record.source, facts)]


def _remove_frames_in_json(value: Any) -> Any:  # noqa: ANN401  (any JSON)
    """The value without what Foreword said, in every text of it."""
    match value:
        case str():
            return remove_frames(value)
        case list():
            return [_remove_frames_in_json(part) for part in value]
        case dict():
            return {name: _remove_frames_in_json(part) for name, part in value.items()}
        case _:
            return value


def _make_turn_item(
    event: AgentEvent,
    workspace: str,
    text: str,
    about: str,
    source: Source,
    facts: Mapping[str, str] | None = None,
) -> Item:
    """An item of kind `turn`, with those facts that are not empty."""
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


# JSON of any shape ---------------------------------------------------------------------------------------

MAX_TEXT_CHARACTERS = 1_000_000
"""At most this many characters of a text are read: both its ends."""

_MAX_LABEL_CHARACTERS = 4_000
_MAX_VALUES = 2_000
_MAX_DEPTH = 8

_STREAMS = ("stdout", "stderr")
_ANSWERS = (
    *("output", "aggregated_output", "llmContent", "content"),
    *("text", "result", "returnDisplay", "message"),
)
_CODES = ("exit_code", "exitCode", "returncode", "return_code")
_EXIT_CODE = re.compile(
    r"^\s*(?:Error:\s*)?(?:Process exited with code|Exit code:?)\s+(-?\d{1,6})\b",
    re.IGNORECASE | re.MULTILINE,
)


def bounded_json(value: Any) -> Any:  # noqa: ANN401  (any JSON)
    """The value with clean texts, and no deeper, wider or longer than anyone would read.

    What was marked private goes before anything is cut: a cut could take the mark and leave what it marks.
    """
    remaining = _MAX_VALUES

    def cut_value(value: Any, depth: int) -> Any:  # noqa: ANN401
        nonlocal remaining
        remaining -= 1
        if remaining < 0 or depth > _MAX_DEPTH:
            return "…"
        match value:
            case str():
                text = remove_private_spans(_without_nul_and_surrogates(value))
                return keep_both_ends(text, MAX_TEXT_CHARACTERS)
            case list():
                return [cut_value(part, depth + 1) for part in value[: max(0, remaining)]]
            case dict():
                some = list(value.items())[: max(0, remaining)]
                return {
                    _without_nul_and_surrogates(name[:_MAX_LABEL_CHARACTERS]): cut_value(part, depth + 1)
                    for name, part in some
                }
            case _:
                return value

    return cut_value(value, 0)


def first_label(body: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that holds a text, on one line and not too long."""
    for name in names:
        value = body.get(name)
        if isinstance(value, str) and value.strip():
            return " ".join(_without_nul_and_surrogates(value[:_MAX_LABEL_CHARACTERS]).split())
    return ""


def first_text(body: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that says something, whatever its shape."""
    return next((said for name in names if (said := answer_text(bounded_json(body.get(name)))).strip()), "")


def parse_object(text: str) -> Any:  # noqa: ANN401  (any JSON)
    """The object that a text spells out, or the text itself."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return bounded_json(value) if isinstance(value, dict) else text


def answer_text(value: Any) -> str:  # noqa: ANN401  (any JSON)
    """What a tool answered, as text, whatever shape the agent gave it."""
    match value:
        case None | {"type": "image" | "audio" | "image_url"}:
            return ""
        case str():
            inner = parse_object(value)
            return answer_text(inner) if isinstance(inner, dict) and "output" in inner else value
        case list():
            return "\n".join(filter(None, map(answer_text, value)))
        case dict():
            return _text_of_json_object(value)
        case _:
            return json.dumps(value)


def _text_of_json_object(value: Mapping[str, Any]) -> str:
    """What an object that a tool answered says: its streams, its answer, its error; else its JSON."""
    streams = [answer_text(value[name]) for name in _STREAMS if name in value]
    answer = next((said for name in _ANSWERS if (said := answer_text(value.get(name)))), "")
    error = answer_text(value.get("error"))
    if any(name in value for name in (*_STREAMS, *_ANSWERS, "error")):
        return "\n".join(filter(None, [*streams, answer, "" if error in answer else error]))
    return json.dumps(value, ensure_ascii=False) if value else ""


def read_outcome(response: Any, output: str) -> str:  # noqa: ANN401  (any JSON)
    """How a call ended, as far as its answer says: `exit 1`, `failed`, `interrupted`, or nothing."""
    response = parse_object(response) if isinstance(response, str) else response
    facts = dict(response) if isinstance(response, dict) else {}
    if isinstance(facts.get("metadata"), dict):
        facts = {**facts["metadata"], **facts}
    if facts.get("interrupted") is True or facts.get("is_interrupt") is True:
        return "interrupted"
    codes = [facts[name] for name in _CODES if type(facts.get(name)) is int]
    codes += [int(code) for code in _EXIT_CODE.findall(f"{output[:300]}\n{output[-300:]}")]
    if codes:
        return f"exit {codes[0]}"
    wrong = facts.get("is_error") is True or facts.get("isError") is True or facts.get("success") is False
    return "failed" if wrong or facts.get("error") else ""


def _without_nul_and_surrogates(text: str) -> str:
    """The text without NUL, and with whole characters only."""
    text = text.replace("\0", "")
    return text if text.isascii() else text.encode(errors="replace").decode()
