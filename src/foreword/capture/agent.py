"""Read the events that agents send to their hooks, as JSON in several dialects, and make items of them.

Tolerant on purpose: agents add fields and change shapes with every release, so a field that is missing, of
another type or too long is worked around, and reading never fails. Nothing is stored here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any

from foreword.capture.event_json import FOLDER_FIELDS, parse_event_json, redact_event_json
from foreword.capture.junk import junk_reason, remove_agent_tags
from foreword.capture.redact import redact, redact_json, remove_private_spans
from foreword.capture.tool_calls import ToolCall, build_call_record, folder_relative_to_project, is_shell_tool
from foreword.log import get_logger
from foreword.text.clean import remove_nul_and_surrogates
from foreword.text.frame import remove_frames
from foreword.text.shorten import keep_ends_and_note_gap
from foreword.types import Item, Source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from foreword.capture.session_secrets import SessionSecrets

_log = get_logger(__name__)

MAX_SPOKEN_CHARACTERS = 20_000
"""At most this many characters of a prompt or a message are kept: its beginning and its end."""

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
_SESSION_FIELDS = ("session_id", "sessionId", "conversation_id", "thread_id")
_NAME_FIELDS = ("hook_event_name", "hookEventName", "event", "agent_id", "agentId", "source")
_LABELS = frozenset((*_SESSION_FIELDS, *FOLDER_FIELDS, *_NAME_FIELDS, "tool_name", "toolName", "tool"))


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """One event of an agent's session, with the same names for every agent.

    `outcome` states how a tool's call ended (`exit 1`, `failed`, `interrupted`) and is empty if that is
    unknown. `subagent` is empty in the session's main agent.
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
    def context_id(self) -> str:
        """The id of the agent's context: the session, followed by the subagent if it is one."""
        return f"{self.session}/{self.subagent}" if self.session and self.subagent else self.session


def redact_event(body: Any, secrets: SessionSecrets | None = None) -> Any:  # noqa: ANN401  (any JSON)
    """The JSON of an event without its secrets, and without those that `secrets` knows of its session."""
    if secrets is None or not isinstance(body, dict):
        return redact_event_json(body)
    return secrets.redact_event(body, first_text_on_one_line(body, *_SESSION_FIELDS, *FOLDER_FIELDS), _LABELS)


def parse_hook_event(
    payload: bytes, at: datetime, agent: str = "", secrets: SessionSecrets | None = None
) -> AgentEvent | None:
    """The event that a hook received, without its secrets; None if it is not JSON or has no name.

    Secrets are removed before any text is cut, because a cut could split a key in two.
    """
    try:
        body = redact_event(parse_event_json(payload), secrets)
    except (ValueError, RecursionError) as error:
        _log.warning("an event is not JSON", agent=agent, problem=type(error).__name__)
        return None
    name = _read_event_name(body) if isinstance(body, dict) else ""
    if not name:
        return None
    answer = limit_and_clean_json(
        next((body[key] for key in ("tool_response", "tool_output", "error") if key in body), None)
    )
    output = answer_text(answer)
    outcome = read_outcome(answer, output) if name in _AFTER_TOOL else ""
    return AgentEvent(
        name=name,
        at=at if at.tzinfo else at.replace(tzinfo=UTC),
        session=first_text_on_one_line(body, *_SESSION_FIELDS),
        subagent=first_text_on_one_line(body, "agent_id", "agentId")[:_MAX_SUBAGENT_CHARACTERS],
        folder=first_text_on_one_line(body, *FOLDER_FIELDS),
        agent=agent,
        source=first_text_on_one_line(body, "source"),
        prompt=read_first_text(body, "prompt", "user_prompt"),
        tool=first_text_on_one_line(body, "tool_name", "toolName", "tool"),
        tool_input=_read_tool_input(body),
        tool_output=output,
        outcome=outcome or ("failed" if name == "PostToolUseFailure" else ""),
        message=read_first_text(body, "last_assistant_message", "prompt_response", "compact_summary"),
        stop_hook_active=body.get("stop_hook_active") is True,
    )


def _read_event_name(body: Mapping[str, Any]) -> str:
    """Our name for the event; if it has no name, the one that its fields suggest, or ""."""
    given = first_text_on_one_line(body, "hook_event_name", "hookEventName", "event")
    return _OUR_NAMES.get(given, given) or next(
        (name for key, name in _NAME_BY_FIELD.items() if key in body), ""
    )


def _read_tool_input(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool's input as an object, from whichever field and in whichever form the agent sent it."""
    tool_input = limit_and_clean_json(
        next((body[key] for key in ("tool_input", "toolInput", "tool_args") if key in body), {})
    )
    if isinstance(tool_input, str):  # some agents pass the arguments as the model wrote them
        tool_input = json_object_or_text(tool_input)
    return tool_input if isinstance(tool_input, dict) else {"input": tool_input} if tool_input else {}


def items_from_event(event: AgentEvent, workspace: str) -> list[Item]:
    """The items that an event gives: a prompt, an answer, or a tool's call with its result; often none.

    Secrets are removed before any text is cut, because half a secret would not be recognised.
    """
    match event.name:
        case "UserPromptSubmit":
            return _items_from_speech(event, workspace, event.prompt, "user", Source("user", "user"))
        case "Stop" | "PostCompact":
            return _items_from_speech(event, workspace, event.message, "assistant", Source("agent", "agent"))
        case name if name in _AFTER_TOOL:
            return _items_from_tool_call(event, workspace)
        case _:
            return []


def _items_from_speech(
    event: AgentEvent, workspace: str, spoken_text: str, speaker: str, source: Source
) -> list[Item]:
    """A prompt or an answer as an item, without injected frames and wrappers; nothing if the rest is junk."""
    text = remove_agent_tags(redact(remove_frames(spoken_text)))
    if junk_reason(text):
        return []
    text = keep_ends_and_note_gap(text, MAX_SPOKEN_CHARACTERS)
    return [_make_turn_item(event, workspace, text, speaker, source)]


def _items_from_tool_call(event: AgentEvent, workspace: str) -> list[Item]:
    """A tool's call as an item, if it is worth keeping; else nothing."""
    tool_input = redact_json(_remove_frames_in_json(event.tool_input))
    output = redact(remove_frames(event.tool_output))
    record = build_call_record(ToolCall(event.tool, tool_input, output, event.outcome, event.folder))
    if record is None:
        return []
    purpose = tool_input.get("description")
    parts = [event.tool, record.file, purpose if isinstance(purpose, str) else ""]
    about = ", ".join(" ".join(part.split())[:_MAX_ABOUT_CHARACTERS] for part in parts if part)
    facts = {"tool": event.tool, "file": record.file, "outcome": event.outcome, "command": record.command}
    if is_shell_tool(event.tool):
        facts["folder"] = folder_relative_to_project(event.folder, workspace) or ""
    return [_make_turn_item(event, workspace, record.text, about, record.source, facts)]


def _remove_frames_in_json(value: Any) -> Any:  # noqa: ANN401  (any JSON)
    """The value without what Foreword injected, in every text of it."""
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
    """An item of kind `turn`; the facts that are not empty become its metadata."""
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
"""At most this many characters of a text are read, from both its ends."""

_MAX_LABEL_CHARACTERS = 4_000
_MAX_VALUES = 2_000
_MAX_DEPTH = 8

_STREAMS = ("stdout", "stderr")
_ANSWERS = (
    *("output", "aggregated_output", "llmContent", "content"),
    *("text", "result", "returnDisplay", "message"),
)
_CODES = ("exit_code", "exitCode", "returncode", "bring_back_code")
_EXIT_CODE = re.compile(
    r"^\s*(?:Error:\s*)?(?:Process exited with code|Exit code:?)\s+(-?\d{1,6})\b",
    re.IGNORECASE | re.MULTILINE,
)


def limit_and_clean_json(value: Any) -> Any:  # noqa: ANN401  (any JSON)
    """The value, limited in depth, number of values and length of texts, without NUL and private spans.

    Private spans are removed before any text is cut, because a cut could remove the mark and leave the span.
    """
    remaining = _MAX_VALUES

    def limit_and_clean_nested_value(value: Any, depth: int) -> Any:  # noqa: ANN401
        nonlocal remaining
        remaining -= 1
        if remaining < 0 or depth > _MAX_DEPTH:
            return "…"
        match value:
            case str():
                text = remove_private_spans(remove_nul_and_surrogates(value))
                return keep_ends_and_note_gap(text, MAX_TEXT_CHARACTERS)
            case list():
                return [limit_and_clean_nested_value(part, depth + 1) for part in value[: max(0, remaining)]]
            case dict():
                some = list(value.items())[: max(0, remaining)]
                return {
                    remove_nul_and_surrogates(name[:_MAX_LABEL_CHARACTERS]): limit_and_clean_nested_value(
                        part, depth + 1
                    )
                    for name, part in some
                }
            case _:
                return value

    return limit_and_clean_nested_value(value, 0)


def first_text_on_one_line(body: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that has a text, shortened to one line; "" if none has."""
    for name in names:
        value = body.get(name)
        if isinstance(value, str) and value.strip():
            return " ".join(remove_nul_and_surrogates(value[:_MAX_LABEL_CHARACTERS]).split())
    return ""


def read_first_text(body: Mapping[str, Any], *names: str) -> str:
    """The text of the first of these fields that has one, whatever its shape; "" if none has."""
    texts = (answer_text(limit_and_clean_json(body.get(name))) for name in names)
    return next((text for text in texts if text.strip()), "")


def json_object_or_text(text: str) -> Any:  # noqa: ANN401  (any JSON)
    """The JSON object that a text holds, or the text itself if it holds none."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return limit_and_clean_json(value) if isinstance(value, dict) else text


def answer_text(value: Any) -> str:  # noqa: ANN401  (any JSON)
    """A tool's answer as text, whatever shape the agent gave it; images and sound give ""."""
    match value:
        case None | {"type": "image" | "audio" | "image_url"}:
            return ""
        case str():
            inner = json_object_or_text(value)
            return answer_text(inner) if isinstance(inner, dict) and "output" in inner else value
        case list():
            return "\n".join(filter(None, map(answer_text, value)))
        case dict():
            return _answer_object_text(value)
        case _:
            return json.dumps(value)


def _answer_object_text(value: Mapping[str, Any]) -> str:
    """The text of an answer that is a JSON object: its streams, answer and error, or else its JSON."""
    streams = [answer_text(value[name]) for name in _STREAMS if name in value]
    answer = next((text for name in _ANSWERS if (text := answer_text(value.get(name)))), "")
    error = answer_text(value.get("error"))
    if any(name in value for name in (*_STREAMS, *_ANSWERS, "error")):
        return "\n".join(filter(None, [*streams, answer, "" if error in answer else error]))
    return json.dumps(value, ensure_ascii=False) if value else ""


def read_outcome(response: Any, output: str) -> str:  # noqa: ANN401  (any JSON)
    """How a call ended, according to its answer: `exit 1`, `failed`, `interrupted`, or "" if unknown."""
    response = json_object_or_text(response) if isinstance(response, str) else response
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
