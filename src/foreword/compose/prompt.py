"""A whole prompt from its parts: [SYSTEM], [CONTEXT], [KNOWLEDGE], [USER]; empty parts are left out.

In the middle of a tool loop, [TOOLS] follows: the calls since the query, and their answers. Only this module
writes headings: a line of a part that looks like one is escaped. The query is never left out and never cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foreword.compose.content_parts import anthropic_parts, count_image_tokens, openai_parts, parts_to_send
from foreword.compose.entity_context import entities_text
from foreword.compose.formatted_history import FormattedHistory, history_text
from foreword.compose.knowledge_chunk import knowledge_text
from foreword.compose.quoting import (
    escape_headings,
    escape_headings_only,
    heading_and_text,
    indent_after_label,
)
from foreword.compose.turns import ToolCall, count_image_tokens_of_turns, speaker_label, tool_calls
from foreword.compose.user_context import NO_USER, UserContext
from foreword.text.clean import remove_surrogates
from foreword.types import Turn

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from foreword.compose.entity_context import EntityContext
    from foreword.compose.knowledge_chunk import KnowledgeChunk
    from foreword.compose.quoting import PartName
    from foreword.compose.turns import FormattedTurn
    from foreword.text.tokens import Tokenizer

    Labelled = Collection[str]
    """The roles whose turns begin with their speaker, whether or not they have a name."""

NO_HISTORY = FormattedHistory()


@dataclass(frozen=True, slots=True)
class ContextContent:
    """The parts that a prompt is made of, each within its budget.

    `asked` is the query as a turn, if it has more than text or names who asks it; `since` are the turns after
    the query, in the middle of a tool loop.
    """

    query: str
    system: str = ""
    history: FormattedHistory = NO_HISTORY
    entities: tuple[EntityContext, ...] = ()
    rag_chunks: tuple[KnowledgeChunk, ...] = ()
    user: UserContext = NO_USER
    asked: Turn | None = None
    since: tuple[FormattedTurn, ...] = ()


def prompt_parts(content: ContextContent) -> dict[PartName, str]:
    """The parts that are not empty, by name, in their order; the user's is always there."""
    told = (content.user.text, content.history.text, entities_text(content.entities))
    context = "\n\n".join(filter(None, told))
    texts: dict[PartName, str] = {
        "SYSTEM": content.system,
        "CONTEXT": context,
        "KNOWLEDGE": knowledge_text(content.rag_chunks),
    }
    parts: dict[PartName, str] = {name: escape_headings(text) for name, text in texts.items() if text.strip()}
    parts["USER"] = escape_headings_only(_query_with_speaker(content))
    if content.since:
        parts["TOOLS"] = escape_headings("\n".join(turn.formatted for turn in content.since))
    return parts


def _query_with_speaker(content: ContextContent) -> str:
    """The query, after the name of the person who asks, if it is known."""
    if content.asked is None or not content.asked.name.strip():
        return content.query
    return f"{speaker_label(content.asked)}: {indent_after_label(content.query)}"


def prompt_text(content: ContextContent) -> str:
    """The prompt as one text."""
    return "\n\n".join(heading_and_text(name, text) for name, text in prompt_parts(content).items())


def prompt_tokens(content: ContextContent, tokenizer: Tokenizer) -> int:
    """The tokens of the prompt, including headings, joins and the images that are sent with it."""
    images = count_image_tokens_of_turns((*content.history.recent_turns, *content.since))
    images += count_image_tokens(content.asked.parts) if content.asked else 0
    return tokenizer.count(prompt_text(content)) + images


# Messages of chat APIs ------------------------------------------------------------------------------------


Message = dict[str, Any]

_EARLIER_LEFT_OUT, _ASSISTANT_BEGINS = "(Earlier turns are left out.)", "(The assistant begins.)"
"""The text of a first message of the user, for APIs where the assistant may not begin."""


_SYSTEM_LINE = re.compile(r"(?:\A|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])\s*system\s*[:：]", re.IGNORECASE)
"""A line that reads like a turn of the system where that has no role of its own."""


@dataclass(frozen=True, slots=True)
class _SendableTurn:
    """A turn to send: its words, and its tool calls that are answered, each with its answer."""

    role: str
    text: str
    calls: tuple[tuple[ToolCall, str], ...] = ()
    turn: Turn | None = None
    """The turn itself, if it has more than text."""


def openai_messages(content: ContextContent) -> list[Message]:
    """The prompt for the chat completions API: system, recent turns, query, and turns since the query."""
    messages: list[Message] = []
    if content.system.strip():
        messages.append({"role": "system", "content": prompt_parts(content)["SYSTEM"]})
    labelled: Labelled = {"user"} if _is_any_user_named(content) else set()
    messages += _openai_turn_messages(content.history.recent_turns, labelled)
    question = _context_followed_by_query(content, labelled)
    asked = openai_parts(content.asked, question) if content.asked and content.asked.parts else question
    return [*messages, {"role": "user", "content": asked}, *_openai_turn_messages(content.since, labelled)]


def _openai_turn_messages(turns: Sequence[FormattedTurn], labelled: Labelled) -> list[Message]:
    """The messages of these turns, with tool calls and their answers."""
    messages: list[Message] = []
    for turn in _sendable_turns(turns, labelled):
        words = openai_parts(turn.turn, turn.text) if turn.turn else turn.text
        message: Message = {"role": turn.role, "content": words or None}
        if turn.calls:
            message["tool_calls"] = [_format_openai_tool_call(call) for call, _ in turn.calls]
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": call.call_id, "content": answer} for call, answer in turn.calls
        ]
    return messages


def anthropic_messages(content: ContextContent) -> tuple[str, list[Message]]:
    """The system prompt, and messages that alternate between user and assistant, the user first.

    Turns of several users, and of the system, share a message. Each then begins with its speaker, and its
    further lines are indented, so that nobody can speak for another.
    """
    labelled: Labelled = {"user", "system"} if _is_label_needed(content) else set()
    messages: list[tuple[str, list[Message]]] = []
    _append_anthropic_turns(messages, content.history.recent_turns, labelled)
    if messages and messages[0][0] == "assistant":
        first = _ASSISTANT_BEGINS if content.history.has_recent_turns_from_start else _EARLIER_LEFT_OUT
        messages.insert(0, ("user", _text_as_content_blocks(first)))
    question = _context_followed_by_query(content, labelled)
    asked = anthropic_parts(content.asked, question) if content.asked and content.asked.parts else []
    _append_blocks(messages, "user", asked or [{"type": "text", "text": question}])
    _append_anthropic_turns(messages, content.since, labelled)
    system = prompt_parts(content).get("SYSTEM", "")
    return system, [{"role": role, "content": _collapse_text_blocks(blocks)} for role, blocks in messages]


def _is_any_user_named(content: ContextContent) -> bool:
    """Whether anybody who speaks as the user is named, so that the turns must say who speaks."""
    turns = (*content.history.recent_turns, *content.since)
    said = [turn.turn for turn in turns] + ([content.asked] if content.asked else [])
    return any(turn.role == "user" and turn.name.strip() for turn in said)


def _is_label_needed(content: ContextContent) -> bool:
    """Whether messages of the user must say who speaks: one has a name, is the system, or may pass for it."""
    if _is_any_user_named(content) or _SYSTEM_LINE.search(content.query):
        return True
    turns = (*content.history.recent_turns, *content.since)
    return any(
        turn.turn.role == "system" or (turn.turn.role == "user" and _SYSTEM_LINE.search(turn.content))
        for turn in turns
    )


def _append_anthropic_turns(
    messages: list[tuple[str, list[Message]]], turns: Sequence[FormattedTurn], labelled: Labelled
) -> None:
    """Append the messages of these turns, with tool calls and their answers."""
    for each in _sendable_turns(turns, labelled):
        role = "assistant" if each.role == "assistant" else "user"
        words = anthropic_parts(each.turn, each.text) if each.turn else _text_as_content_blocks(each.text)
        uses = [
            {"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.input}
            for call, _ in each.calls
        ]
        _append_blocks(messages, role, [*words, *uses])
        answers = [
            {"type": "tool_result", "tool_use_id": call.call_id, "content": answer}
            for call, answer in each.calls
        ]
        _append_blocks(messages, "user", answers)


def _sendable_turns(turns: Sequence[FormattedTurn], labelled: Labelled) -> list[_SendableTurn]:
    """The turns that APIs accept: none that is empty, and no answer of a tool without its call."""
    sendable: list[_SendableTurn] = []
    day = ""
    for at, turn in enumerate(turns):
        if turn.turn.role == "tool":
            continue
        calls = _pair_calls_with_answers(turns, at)
        text = _text_with_speaker(turn, labelled)
        if text and turn.stamp:
            text = _merge_stamps(turn.day if turn.day != day else "", turn.stamp) + text
            day = turn.day
        if text or calls:
            parts = turn.turn if parts_to_send(turn.turn) else None
            sendable.append(_SendableTurn(turn.turn.role, text, calls, parts))
    return sendable


def _pair_calls_with_answers(turns: Sequence[FormattedTurn], at: int) -> tuple[tuple[ToolCall, str], ...]:
    """The calls of a turn that are answered by the tool turns right after it, with the answers."""
    answers: dict[str, str] = {}
    for following in turns[at + 1 :]:
        if following.turn.role != "tool":
            break
        answers.setdefault(following.turn.call_id, following.content)
    calls = tool_calls(turns[at].turn) if turns[at].turn.role == "assistant" else ()
    known = {call.call_id: call for call in calls if call.call_id and call.call_id in answers}
    return tuple((call, answers[call_id]) for call_id, call in known.items())


def _text_with_speaker(turn: FormattedTurn, labelled: Labelled) -> str:
    """The text of a turn, after its speaker if that one is named or to be labelled."""
    text = turn.content.strip()
    if not text:
        return ""
    named = speaker_label(turn.turn) if turn.turn.name.strip() else ""
    if turn.turn.role in labelled:
        role = turn.turn.role.capitalize()
        named = f"{role} ({named})" if named and role == "System" else named or role
    return f"{named}: {indent_after_label(text)}" if named else text


def _merge_stamps(day: str, time: str) -> str:
    """A day and a time, each in brackets, in one pair of brackets; the time alone without a day."""
    return f"{day.removesuffix(']')} {time.removeprefix('[')}" if day else time


def _format_openai_tool_call(call: ToolCall) -> Message:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def _context_followed_by_query(content: ContextContent, labelled: Labelled) -> str:
    """The query after the context that was found for it; the query alone, as it came, if none was.

    Alone, it begins with its speaker where other turns of the user do.
    """
    history = content.history
    told = history_text(history.summary, history.recalled, (), history.template)
    parts = prompt_parts(replace(content, history=replace(history, text=told)))
    parts.pop("SYSTEM", None)
    parts.pop("TOOLS", None)
    if len(parts) == 1:
        asked = content.asked or Turn("")
        if labelled and not asked.name.strip():
            return remove_surrogates(f"{speaker_label(asked)}: {indent_after_label(content.query)}")
        return remove_surrogates(_query_with_speaker(content))
    return "\n\n".join(heading_and_text(name, text) for name, text in parts.items())


def _append_blocks(messages: list[tuple[str, list[Message]]], role: str, blocks: list[Message]) -> None:
    """Add blocks to the last message, if it is of this role; else append a new message."""
    if not blocks:
        return
    if messages and messages[-1][0] == role:
        messages[-1][1].extend(blocks)
    else:
        messages.append((role, blocks))


def _text_as_content_blocks(text: str) -> list[Message]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _collapse_text_blocks(blocks: list[Message]) -> str | list[Message]:
    """One text, if all blocks are text, with blank lines between them; else the blocks."""
    if all(block["type"] == "text" for block in blocks):
        return "\n\n".join(block["text"] for block in blocks)
    return blocks
